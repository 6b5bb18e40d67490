// The law of programs that set and increment variables, and of what they print.
#pragma once

#include <array>
#include <pesuite/pesuite.hpp>
#include <vector>

namespace counting {

inline constexpr int most_variables = 5, most = 10;  // the highest value
inline constexpr int unset = -1;
enum Kind { set, pass, increment };
using Weights = std::array<int, 3>;  // of the kinds of lines

struct Line {
  Kind kind;
  int variable;
};
// Values of the variables, unset at first.
using State = std::array<int, most_variables>;
inline constexpr State nothing = {unset, unset, unset, unset, unset};

bool possible(const Line&, const State&);
void run(const Line&, State&);
// A line that is possible in this state: others are drawn again.
Line draw_line(pes::Random&, const Weights&, int variables, const State&);

// The law of what programs of `low` to `high` lines print, the number of lines uniform; given that
// something can be printed.
struct Law {
  std::array<double, most + 1> value{};
  double repeat = 0;  // P(two programs are the same)
};
Law law_of_programs(const Weights&, int variables, int low, int high);

}  // namespace counting
