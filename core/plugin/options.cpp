#include "plugin/options.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/text.h"

namespace pesuite {

std::span<const pes_option* const> options_of(const pes_card& card) {
  std::size_t n = 0;
  if (card.options != nullptr)
    while (card.options[n] != nullptr) ++n;
  return {card.options, n};
}

std::string_view type_name(pes_type type) {
  switch (type) {
    case PES_BOOL: return "boolean";
    case PES_INT: return "integer";
    case PES_REAL: return "number";
    case PES_TEXT: return "text";
    case PES_CHOICE: return "choice";
    case PES_REALS: return "list of numbers";
  }
  return "unknown type";
}

namespace {

bool parse_real(std::string_view text, double& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() && !std::isnan(out);
}

// A reason why `value` is not one of `o`, or "".
std::string misfit(const pes_option& o, const std::string& value) {
  const auto bounded = [&](double x) -> std::string {
    if (x >= o.low && x <= o.high) return "";
    return fmt::format("is outside {} .. {}", format_number(o.low), format_number(o.high));
  };
  double x = 0;
  switch (o.type) {
    case PES_BOOL: return value == "true" || value == "false" ? "" : "is not true or false";
    case PES_INT:
      if (!parse_real(value, x) || x != std::floor(x) || std::fabs(x) > 9e15)
        return "is not an integer";
      return bounded(x);
    case PES_REAL:
      if (!parse_real(value, x)) return "is not a number";
      return bounded(x);
    case PES_TEXT: return "";
    case PES_CHOICE: {
      const std::vector<std::string> choices = split(o.choices, '|');
      if (std::find(choices.begin(), choices.end(), value) != choices.end()) return "";
      return fmt::format("is none of {}{}", join(choices, ", "), did_you_mean(value, choices));
    }
    case PES_REALS: {
      if (value.size() < 2 || value.front() != '[' || value.back() != ']')
        return "is not a list such as [1, 2.5]";
      const std::string inside = trim(std::string_view(value).substr(1, value.size() - 2));
      if (inside.empty()) return "";
      for (const std::string& part : split(inside, ',')) {
        if (!parse_real(trim(part), x)) return fmt::format("holds '{}', not a number", trim(part));
        if (std::string reason = bounded(x); !reason.empty()) return reason;
      }
      return "";
    }
  }
  return "has an option type this program does not know";
}

std::vector<double> reals_of(std::string_view list) {
  std::vector<double> out;
  const std::string inside = trim(list.substr(1, list.size() - 2));
  for (const std::string& part : inside.empty() ? std::vector<std::string>() : split(inside, ',')) {
    out.push_back(0);
    parse_real(trim(part), out.back());
  }
  return out;
}

std::string real_text(double x) {
  return fmt::format("{}", x == 0 ? 0.0 : x);  // shortest that reads back; no negative zero
}

// One text for one value, so that 1e4 and 10000 name one cell. Of a real that is the default, the
// card's own text: the default written out is the default left out.
std::string canonical_value(const pes_option& o, const std::string& value) {
  double x = 0, usual = 0;
  switch (o.type) {
    case PES_INT:  // plugins read plain decimals
      parse_real(value, x);
      return fmt::format("{}", static_cast<std::int64_t>(x));
    case PES_REAL:
      parse_real(value, x);
      return parse_real(o.value, usual) && x == usual ? o.value : real_text(x);
    case PES_REALS: {
      const std::vector<double> numbers = reals_of(value);
      if (misfit(o, o.value).empty() && reals_of(o.value) == numbers) return o.value;
      std::vector<std::string> texts;
      for (const double number : numbers) texts.push_back(real_text(number));
      return "[" + join(texts, ", ") + "]";
    }
    default: return value;
  }
}

}  // namespace

std::vector<std::string> resolve_options(const pes_card& card, const Options& given,
                                         std::string_view what) {
  const auto options = options_of(card);
  std::vector<std::string> names, values;
  for (const pes_option* o : options) names.emplace_back(o->name);
  for (const auto& [name, value] : given)
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      const std::string near = did_you_mean(name, names);
      fail(Exit::usage, "{} has no option '{}'{}", what, name,
           !near.empty()   ? near
           : names.empty() ? "; it has none"
                           : fmt::format("; it has {}", join(names, ", ")));
    }
  for (const pes_option* o : options) {
    const auto it = given.find(o->name);
    const std::string value = it == given.end() ? o->value : it->second;
    if (std::string reason = misfit(*o, value); !reason.empty())
      fail(Exit::usage, "{}: option '{}' = '{}' {}", what, o->name, value, reason);
    values.push_back(canonical_value(*o, value));
  }
  return values;
}

std::string expression_text(const pes_card& card, std::span<const std::string> values) {
  std::string inside;
  const auto options = options_of(card);
  for (std::size_t i = 0; i < options.size(); ++i) {
    if (values[i] == options[i]->value) continue;
    if (!inside.empty()) inside += ", ";
    const bool quoted = options[i]->type == PES_TEXT;
    inside +=
        fmt::format("{}={}{}{}", options[i]->name, quoted ? "'" : "", values[i], quoted ? "'" : "");
  }
  return inside.empty() ? card.name : fmt::format("{}({})", card.name, inside);
}

std::string full_text(const pes_card& card, const Options& given, std::string_view what) {
  const std::vector<std::string> values = resolve_options(card, given, what);
  std::string inside;
  const auto options = options_of(card);
  for (std::size_t i = 0; i < options.size(); ++i)
    inside += fmt::format("{}{}={}{}{}", i > 0 ? ", " : "", options[i]->name,
                          options[i]->type == PES_TEXT ? "'" : "", values[i],
                          options[i]->type == PES_TEXT ? "'" : "");
  return inside.empty() ? card.name : fmt::format("{}({})", card.name, inside);
}

}  // namespace pesuite
