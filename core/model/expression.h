// The text that names an encoding or a task: name(option=value, ...).
#pragma once

#include <string>
#include <string_view>

#include "model/options.h"

namespace pesuite {

struct Expression {
  std::string name;
  Options options;
};

// Values may be numbers, words, [lists] and 'quoted text'. Error (usage) with the column, counted
// from 1: "encoding 'rope(base=': expected a value at column 11".
Expression parse_expression(std::string_view text, std::string_view what = "encoding");

}  // namespace pesuite
