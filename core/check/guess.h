// Examples of a task, and the accuracy of rules that ignore most of the input: they test what a
// task promises about chance and shortcuts.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "model/task.h"

namespace pesuite {

struct Examples {  // of one length
  std::int32_t length = 0;
  std::size_t count = 0;
  std::vector<std::int32_t> tokens, targets;  // [count, length]
  std::vector<double> optimum;                // [count, length]

  template <class Array>
  auto row(Array& all, std::size_t i) const {
    return std::span(all).subspan(i * length, length);
  }
  std::span<const std::int32_t> tokens_of(std::size_t i) const { return row(tokens, i); }
  std::span<const std::int32_t> targets_of(std::size_t i) const { return row(targets, i); }
};

// Examples 0 .. count-1 as `request` describes them. With `as_many_as_exist`, ends where the task
// refuses to make another one. Throws Error as Task::sample does.
Examples make_examples(const Task&, Task::Request request, std::size_t count,
                       bool as_many_as_exist = false);

// What an accuracy is a share of: of all targets, as evaluations count, or of the targets of an
// example, on average over examples.
enum class Share { of_targets, of_each_example };

// Share of right guesses. Rules learn from the first half of the
// examples and are scored on the second.
struct Score {
  double accuracy = 0, standard_error = 0;  // the error respects that targets of one example go
                                            // together, and is not below that of `expected`
};

// A guesser who knows nothing but how many targets were asked for before this one.
Score score_blind(const Examples&, double expected, Share);
// A guesser who knows nothing gives the commonest whole answer; counts examples that are all right.
Score score_blind_exact(const Examples&, double expected);

// What a shortcut sees: nothing (majority); the token read last (last_token); its position; the
// length of the example; how often each token was read (bag); the last eight tokens, each by its
// distance (window). The last two are logistic regressions, the others tables.
inline constexpr const char* shortcut_names[] = {"majority", "last_token", "position",
                                                 "length",   "bag",        "window"};
Score score_shortcut(const Task&, std::span<const Examples> sets, double expected,
                     std::string_view shortcut, Share);
// The bag, with targets shuffled among the examples, so that labels tell nothing.
Score score_permuted(const Task&, const Examples&, double expected, Share);

}  // namespace pesuite
