#include "suite/filter.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace pesuite {

Filter::Filter(std::string_view text, Of of) : text_(text) {
  static const std::vector<std::string> of_cells = {"encoding", "task", "model", "seed"};
  static const std::vector<std::string> of_series = {"encoding", "task",   "model",
                                                     "protocol", "metric", "eval_len"};
  const std::vector<std::string>& keys = of == Of::cells ? of_cells : of_series;
  std::size_t column = 1;
  for (const std::string& part : split(text, '&')) {
    const auto refuse = [&](const std::string& why) {
      fail(Exit::usage,
           "filter '{}', column {}: {}; a filter reads 'encoding=rope* & seed=42' or 'task in (a, "
           "b)'",
           text,
           column + part.size() -
               std::string_view(part)
                   .substr(std::min(part.size(), part.find_first_not_of(' ')))
                   .size(),
           why);
    };
    Condition c{"", false, {}};
    const std::string trimmed = trim(part);
    if (const std::size_t in = trimmed.find(" in ");
        in != std::string::npos && trimmed.ends_with(")")) {
      c.key = trim(trimmed.substr(0, in));
      const std::string list = trim(trimmed.substr(in + 4));
      if (list.front() != '(') refuse("a list stands in parentheses");
      for (const std::string& p : split(std::string_view(list).substr(1, list.size() - 2), ','))
        c.patterns.push_back(trim(p));
    } else {
      const std::size_t equals = trimmed.find('=');
      if (equals == std::string::npos || equals == 0)
        refuse(fmt::format("'{}' is no condition", trimmed));
      c.negated = trimmed[equals - 1] == '!';
      c.key = trim(trimmed.substr(0, equals - (c.negated ? 1 : 0)));
      c.patterns.push_back(trim(trimmed.substr(equals + 1)));
    }
    if (std::find(keys.begin(), keys.end(), c.key) == keys.end())
      refuse(fmt::format("a {} has no '{}'{}", of == Of::cells ? "cell" : "series", c.key,
                         did_you_mean(c.key, keys)));
    conditions_.push_back(std::move(c));
    column += part.size() + 1;
  }
}

void Filter::check(const std::map<std::string, std::vector<std::string>>& values,
                   const std::string& whose) const {
  for (const Condition& c : conditions_) {
    const std::vector<std::string>& known = values.at(c.key);
    for (const std::string& p : c.negated ? std::vector<std::string>() : c.patterns)
      if (std::none_of(known.begin(), known.end(),
                       [&](const std::string& v) { return glob_match(p, v); }))
        fail(Exit::usage, "filter '{}': {} has no {} '{}'{}; it has {}", text_, whose, c.key, p,
             did_you_mean(p, known), join(known, ", "));
  }
}

bool Filter::matches(const Coordinates& cell) const {
  return std::all_of(conditions_.begin(), conditions_.end(), [&](const Condition& c) {
    const std::string& value = cell.at(c.key);
    const bool any = std::any_of(c.patterns.begin(), c.patterns.end(),
                                 [&](const std::string& p) { return glob_match(p, value); });
    return any != c.negated;
  });
}

}  // namespace pesuite
