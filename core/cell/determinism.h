// What of a cell's numbers comes out bit by bit the same when it is computed again.
#pragma once

#include <string>

namespace pesuite {

// What repeats bit by bit, from what computes. Levels, the weakest first:
//   data    data, start values and their order; numbers differ in their last digits
//   run     numbers too, in the same program on the same kind of machine
//   strict  numbers too, on any machine that has the instruction set, which is fixed
struct Computing {
  std::string backend;
  int threads = 1, processes = 1;
};
std::string determinism_level(const Computing&);
// The weaker of two levels: what holds for numbers that both had a part in.
std::string weaker_level(const std::string& a, const std::string& b);
// Why it does not reach the level that is wanted, as the end of a sentence, with what to do; ""
// where it does, or will once fix_instructions() is called.
std::string why_not_determined(const std::string& wanted, const Computing&);
// In a process that is to compute on the CPU as `strict` has it, before it computes.
void fix_instructions();

}  // namespace pesuite
