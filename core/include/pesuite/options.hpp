// options.hpp -- options with types, and cards. Included by pesuite.hpp.
#ifndef PESUITE_OPTIONS_HPP_
#define PESUITE_OPTIONS_HPP_

#include <pesuite/pesuite.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <limits>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace pes {

struct Refusal : std::runtime_error {  // thrown by a constructor: the sentence the user reads
  using std::runtime_error::runtime_error;
};

constexpr pes_option option(pes_type type, const char* name, const char* value, double low,
                            double high, const char* choices, const char* help) {
  return {sizeof(pes_option), name, value, help, type, low, high, choices};
}
inline constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr pes_option flag(const char* name, const char* value, const char* help) {
  return option(PES_BOOL, name, value, 0, 1, nullptr, help);
}
constexpr pes_option integer(const char* name, const char* value, double low, double high,
                             const char* help) {
  return option(PES_INT, name, value, low, high, nullptr, help);
}
constexpr pes_option real(const char* name, const char* value, double low, double high,
                          const char* help) {
  return option(PES_REAL, name, value, low, high, nullptr, help);
}
constexpr pes_option choice(const char* name, const char* value, const char* choices,
                            const char* help) {
  return option(PES_CHOICE, name, value, 0, 0, choices, help);
}
constexpr pes_option text(const char* name, const char* value, const char* help) {
  return option(PES_TEXT, name, value, 0, 0, nullptr, help);
}
constexpr pes_option reals(const char* name, const char* value, double low, double high,
                           const char* help) {
  return option(PES_REALS, name, value, low, high, nullptr, help);
}

// The options' values, already checked by the host, by name.
class Values {
 public:
  Values(std::span<const pes_option> options, const char* const* values)
      : options_(options), values_(values) {}

  const char* text(std::string_view name) const {
    for (std::size_t i = 0; i < options_.size(); ++i)
      if (name == options_[i].name) return values_[i];
    throw Refusal("the plugin reads an option '" + std::string(name) + "' that it never declared");
  }
  double real(std::string_view name) const { return std::strtod(text(name), nullptr); }
  std::int64_t integer(std::string_view name) const {
    return std::strtoll(text(name), nullptr, 10);
  }
  bool flag(std::string_view name) const { return std::string_view(text(name)) == "true"; }
  bool is(std::string_view name, std::string_view choice) const { return text(name) == choice; }
  std::vector<double> reals(std::string_view name) const {
    std::vector<double> out;
    const char* p = text(name) + 1;  // behind '['
    for (char* end = nullptr;; p = end + (*end == ',')) {
      const double value = std::strtod(p, &end);
      if (end == p) return out;
      out.push_back(value);
      while (*end == ' ') ++end;
    }
  }

 private:
  std::span<const pes_option> options_;
  const char* const* values_;
};

namespace detail {

inline void say(char* error, const char* sentence) {
  std::snprintf(error, PES_ERROR_SIZE, "%s", sentence);
}
template <class F>
bool guard(char* error, F body) {  // nothing throws across the line
  try {
    body();
    return true;
  } catch (const std::bad_alloc&) {
    say(error, "out of memory");
  } catch (const std::exception& e) {
    say(error, e.what());
  } catch (...) {
    say(error, "the plugin threw something that is not a std::exception");
  }
  return false;
}

// Has the members of both, so that `&BesideNames<T, Names>::x` is ambiguous, and no expression,
// where T has a member x of any kind: private, overloaded, a template.
template <class T, class Names>
struct BesideNames : T, Names {};
template <class T, class Names>
requires std::is_final_v<T>
struct BesideNames<T, Names> : Names {
};

template <class T>
constexpr auto option_span() {
  if constexpr (requires { T::options; })
    return std::span<const pes_option>(T::options);
  else
    return std::span<const pes_option>();
}
template <class T>
struct OptionPointers {
  static constexpr std::size_t count = option_span<T>().size();
  static constexpr auto pointers = [] {
    std::array<const pes_option*, count + 1> p{};
    if constexpr (count > 0)
      for (std::size_t i = 0; i < count; ++i) p[i] = &T::options[i];
    return p;
  }();
};

}  // namespace detail

// A card with the class's options; the rest is set by name: card<T>("rope", "...").
struct About {
  const char* name;
  const char* summary;
  const char* version = "1";
  const char* taxonomy = "";
  const char* used_in = nullptr;
  const char* paper = nullptr;
  const char* bibtex = nullptr;
  std::uint32_t claims = 0;
  const char* cost = nullptr;  // this and what follows: pes_card says what it may be
  const char* rating = nullptr;
  const char* extension = nullptr;
  const char* extends = nullptr;
  const char* use_if = nullptr;
  std::uint32_t uses = 0;
  const char* tune = nullptr;
};
template <class T>
constexpr pes_card card(About a) {
  return {sizeof(pes_card),
          a.name,
          a.summary,
          a.version,
          a.taxonomy,
          a.used_in,
          a.paper,
          a.bibtex,
          a.claims,
          detail::OptionPointers<T>::pointers.data(),
          a.cost,
          a.rating,
          a.extension,
          a.extends,
          a.use_if,
          a.uses,
          a.tune};
}
template <class T>
constexpr pes_card card(const char* name, const char* summary) {
  return card<T>(About{.name = name, .summary = summary});
}

}  // namespace pes

#endif  // PESUITE_OPTIONS_HPP_
