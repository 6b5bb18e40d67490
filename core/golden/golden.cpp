#include "golden/golden.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/error.h"
#include "base/text.h"

namespace pesuite::golden {

namespace {

struct NamedKind {
  const char* name;
  Kind check;
};
constexpr NamedKind kinds[] = {
    {"attention", check_attention},
    {"embedding_attention", check_embedding_attention},
    {"module_attention", check_module_attention},
    {"qk", check_queries_and_keys},
    {"inv_freq", check_frequencies},
    {"solve", check_frequencies},
    {"factors", check_frequencies},
    {"cossin", check_cosines},
    {"bias", check_bias},
    {"buckets", check_buckets},
    {"slopes", check_slopes},
    {"logits", check_scores},
    {"positions", check_contextual_positions},
    {"scalar", check_temperature},
    {"search", check_search},
    {"table", check_table},
};

// Tolerances are multiplied by PESUITE_TOLERANCE, for machines that round otherwise.
double tolerance_scale() {
  const char* text = std::getenv("PESUITE_TOLERANCE");
  return text == nullptr ? 1 : std::atof(text);
}

}  // namespace

std::string Comparison::name_of(const std::string& output) const {
  const auto it = s_.outputs.find(output);
  return it == s_.outputs.end() ? output : it->second;
}

void Comparison::operator()(const std::string& output, const std::vector<double>& actual) {
  const std::string name = name_of(output);
  const Values wanted = v_.output(name);
  seen_.push_back(name);
  if (actual.size() != wanted.data.size()) {
    if (failure_.empty())
      failure_ = fmt::format("{} has {} numbers, wanted {} of {}", name, actual.size(),
                             wanted.data.size(), wanted.shape.text());
    return;
  }
  const double loose = output.starts_with("d") ? 1e-4 : 2e-5;
  const double abs = exact_ ? v_.tolerance("abs") : loose;
  const double rel = exact_ ? v_.tolerance("rel") : loose;
  double worst = worst_.tolerance > 0 ? worst_.error / worst_.tolerance : -1;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double bound = tolerance_scale() * (abs + rel * std::fabs(wanted.data[i]));
    const double error = std::fabs(actual[i] - wanted.data[i]);
    if (!(error <= bound) && failure_.empty())
      failure_ =
          fmt::format("{}[{}] is {}, wanted {}, off by {:.1e}, at most {:.1e} is allowed", name, i,
                      format_number(actual[i]), format_number(wanted.data[i]), error, bound);
    // a bound of 0 is met exactly or not at all
    const double share = bound > 0 ? error / bound : error > 0 ? error / 1e-300 : 0;
    if (share > worst || worst < 0) {
      worst = share;
      worst_ = {name, error, bound > 0 ? bound : std::numeric_limits<double>::min()};
    }
  }
}

void Comparison::leave(const std::string& pattern, const std::string& why) {
  for (const std::string& name : v_.output_names())
    if (glob_match(pattern, name)) {
      seen_.push_back(name);
      note_ += fmt::format("{}{} not compared: {}", note_.empty() ? "" : "; ", name, why);
    }
}

void Comparison::finish(Outcome& o) const {
  o.worst = worst_;
  o.note = note_;
  o.reason = failure_;
  for (const std::string& name : v_.output_names()) {
    const bool seen = std::find(seen_.begin(), seen_.end(), name) != seen_.end();
    if (seen || name.ends_with("_f32")) continue;
    const auto why = s_.ignore.find(name);
    if (why != s_.ignore.end())
      o.note += fmt::format("{}{} not compared: {}", o.note.empty() ? "" : "; ", name, why->second);
    else if (o.reason.empty())
      o.reason = fmt::format("nothing was computed for the output '{}'", name);
  }
  o.status = o.reason.empty() ? Status::passed : Status::failed;
}

Outcome check(const Vector& v, const Rules& rules, const Catalog& catalog, Backend& backend) {
  Outcome o{v.name(), v.kind(), std::string(backend.name()), "", Status::skipped, "", "", {}};
  try {
    const Spelling spelling = rules.spell(v);
    o.encoding = spelling.encoding;
    o.reason = spelling.skip;
    const auto kind = std::find_if(std::begin(kinds), std::end(kinds),
                                   [&](const NamedKind& k) { return v.kind() == k.name; });
    if (o.reason.empty() && kind == std::end(kinds))
      o.reason = fmt::format("this program knows no kind '{}'", v.kind());
    if (!o.reason.empty()) return o;
    Comparison compare(v, spelling, o.backend == "reference");
    Case c{v, rules, spelling, catalog, backend, compare};
    kind->check(c);
    compare.finish(o);
  } catch (const Error& e) {
    o.status = Status::failed;
    o.reason = e.what();
  }
  return o;
}

std::vector<fs::path> vector_files(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> files;
  if (!fs::is_directory(folder, error))
    fail(Exit::data, "{}: there is no such folder of golden vectors", folder.string());
  for (const auto& item : fs::directory_iterator(folder, error))
    if (item.path().extension() == ".json") files.push_back(item.path());
  if (files.empty()) fail(Exit::data, "{}: holds no golden vectors (*.json)", folder.string());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace pesuite::golden
