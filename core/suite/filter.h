// Choosing cells by what they are: "encoding=rope* & seed=42", "task in (ledger, text)",
// "model!=micro". Values may hold * and ?.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace pesuite {

// encoding, task, model, seed; of series: encoding, task, model, protocol, metric, eval_len.
using Coordinates = std::map<std::string, std::string>;

class Filter {
 public:
  enum class Of { cells, series };
  // Error (usage) with the column when `text` is no filter, or names no coordinate of a cell.
  explicit Filter(std::string_view text, Of = Of::cells);
  bool matches(const Coordinates&) const;
  // Error (usage) where a pattern fits none of the values that cells have; `whose` they are stands
  // in the sentence: "the suite".
  void check(const std::map<std::string, std::vector<std::string>>& values,
             const std::string& whose) const;

 private:
  std::string text_;
  struct Condition {
    std::string key;
    bool negated;
    std::vector<std::string> patterns;  // one of them
  };
  std::vector<Condition> conditions_;  // all of them
};

}  // namespace pesuite
