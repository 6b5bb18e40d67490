// Reads the tables of a suite, each over what its struct holds already: what a table does not say
// stays as it is. Problems go to the reader.
#pragma once

#include "model/fields.h"
#include "suite/suite.h"

namespace pesuite {

inline constexpr double boundless = 1e18;

std::vector<std::uint64_t> read_seeds(Reader&, const std::vector<double>& otherwise);
Extent read_extent(Reader&, const std::string& key, Extent otherwise);
std::vector<Extent> read_extents(Reader&, const std::string& key);  // budgets
void read_train(Reader&, TrainSettings&);
void read_model(Reader&, SuiteModel&);
void read_task(Reader&, const std::string& name, SuiteTask&);
void read_eval(Reader&, EvalSettings&);

// A walk of the lists in model/fields.h.
struct SettingReader {
  Reader& r;

  template <class T>
  void operator()(const Field& f, T& value) {
    if constexpr (std::is_same_v<T, bool>)
      value = r.flag(f.name, value);
    else if constexpr (std::is_enum_v<T>)
      value = static_cast<T>(r.choice(f.name, value_names(value), static_cast<std::size_t>(value)));
    else if constexpr (std::is_same_v<T, Extent>)
      value = read_extent(r, f.name, value);
    else if constexpr (std::is_integral_v<T>)
      value = static_cast<T>(r.integer(f.name, value, static_cast<std::int64_t>(f.low),
                                       static_cast<std::int64_t>(f.high)));
    else
      value = r.number(f.name, value, f.low, f.high);
  }
  void either(const Field& f, bool& value, const char* no, const char* yes) {
    value = r.choice(f.name, {no, yes}, value ? 1 : 0) == 1;
  }
  void pair(const Field& f, double& a, double& b) {
    const std::vector<double> both = r.numbers(f.name, {a, b});
    if (both.size() == 2 && both[0] >= 0 && both[0] < 1 && both[1] >= 0 && both[1] < 1)
      a = both[0], b = both[1];
    else
      r.problem(f.name, "must be two numbers in [0, 1)");
  }
  void extents(const Field& f, std::vector<Extent>& value) {
    const std::vector<Extent> found = read_extents(r, f.name);
    if (r.has(f.name)) value = found;
  }
  void constant(const Field& f, const char* text) { r.choice(f.name, {text}, 0); }
  template <class Body>
  void group(const Field& f, bool there, Body body) {
    const auto read = [&](Reader& table) {
      SettingReader inner{table};
      body(inner);
    };
    there ? r.settings(f.name, read) : r.table(f.name, read);
  }
};

}  // namespace pesuite
