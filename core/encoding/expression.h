// The texts that name tasks and encodings. Grammar of an encoding's, loosest first:
//
//   swap     = schedule [ "=>" sum ]
//   schedule = sum { "->" sum "@" extent { "," setting } }
//   sum      = factor { "+" factor }
//   factor   = term | "layers" "[" sum { "," sum } "]" | "(" swap ")"
//   term     = name [ "(" [ option "=" value { "," option "=" value } ] ")" ]
//   setting  = "optimizer" ("keep" | "reset") | "lr" number | "warmup" extent | "schedule" kind |
//              "length" count | "qk_norm" [ "before" | "after" | "off" | "q" | "k" ]
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "encoding/extent.h"
#include "plugin/options.h"

namespace pesuite {

struct Expression {  // a term: name(option=value, ...)
  std::string name;
  Options options;
};

// Values may be numbers, words, [lists] and 'quoted text'. Error (usage) with the column, counted
// from 1: "encoding 'rope(base=': expected a value at column 11".
Expression parse_expression(std::string_view text, std::string_view what = "encoding");

// Encodings that act together.
struct Sum {
  struct Factor {
    Expression term;           // or, where `pattern` is not empty:
    std::vector<Sum> pattern;  // layers[a, b, ...], repeated over the layers
    std::size_t column = 1;    // in the text that was parsed
  };
  std::vector<Factor> factors;
  bool empty() const { return factors.empty(); }
};

// Every encoding of a sum, those of patterns too, in the order of the text.
template <class F>
void each_term(const Sum& s, F body) {
  for (const Sum::Factor& f : s.factors)
    if (f.pattern.empty())
      body(f.term);
    else
      for (const Sum& layer : f.pattern) each_term(layer, body);
}

// "-> to @ at, settings": from then on, training goes on under `to`. What is not set stays.
struct Switch {
  Sum to;
  Extent at;
  bool reset_optimizer = false;  // its moments start from zero
  std::optional<double> lr;      // any of these three starts the learning rate's schedule anew
  std::optional<Extent> warmup;
  std::optional<std::string> schedule;
  std::optional<std::int64_t> length;  // of training sequences
  std::optional<std::string> qk_norm;
  std::size_t column = 1;
};

struct EncodingExpression {
  std::string source;  // as it was written, for messages
  Sum first;
  std::vector<Switch> switches;
  Sum evaluation;  // what is swapped in behind "=>"; empty: nothing
};

// Error (usage) with the column.
EncodingExpression parse_encoding(std::string_view text);

// Canonical text, which parses to the same again: options in the order of their names, values
// quoted where they must be, one space around operators.
std::string to_text(const Expression&);
// `term` writes the encodings; without it they are written as above.
using TermText = std::function<std::string(const Sum::Factor&)>;
std::string to_text(const Sum&, const TermText& term = {});
std::string to_text(const EncodingExpression&, const TermText& term = {});

}  // namespace pesuite
