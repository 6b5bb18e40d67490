// problem.hpp -- what tasks with a question and an answer have in common. Included by pesuite.hpp.
#ifndef PESUITE_PROBLEM_HPP_
#define PESUITE_PROBLEM_HPP_

#include <pesuite/task.hpp>

namespace pes {

using Tokens = std::span<const std::int32_t>;
using Targets = std::span<std::int32_t>;

inline constexpr std::int32_t unscored = -1;

// Throws Refusal when `length` is shorter than the `least` tokens that are needed for `reason`.
inline void require_length(int length, int least, const char* reason) {
  if (length < least)
    throw Refusal("length " + std::to_string(length) + " is too short, " + std::to_string(least) +
                  " tokens are needed: " + reason);
}

// Targets of a cls task: `label` at the last position.
inline void score_last(Targets targets, std::int32_t label) {
  std::fill(targets.begin(), targets.end(), unscored);
  targets.back() = label;
}

// Targets `answer` from position `first` on, and none elsewhere. What runs past the end is cut.
inline void score_from(Targets targets, std::size_t first, Tokens answer) {
  std::fill(targets.begin(), targets.end(), unscored);
  for (std::size_t i = 0; i < answer.size() && first + i < targets.size(); ++i)
    targets[first + i] = answer[i];
}

// The optimum of a task whose answers follow from what is seen: no nats.
inline void certain(Example& e) {
  for (std::size_t t = 0; t < e.optimum.size(); ++t)
    if (e.targets[t] >= 0) e.optimum[t] = 0;
}

// An lm example: the prompt, the answer, and PAD up to the example's length. The answer is scored,
// and certain to one who knows the rules.
inline void write_problem(Example& e, Tokens prompt, Tokens answer) {
  if (prompt.empty() || prompt.size() + answer.size() > e.tokens.size())
    throw Refusal("a prompt of " + std::to_string(prompt.size()) + " tokens and its answer of " +
                  std::to_string(answer.size()) + " do not fit into length " +
                  std::to_string(e.tokens.size()));
  const auto end = std::copy(prompt.begin(), prompt.end(), e.tokens.begin());
  std::fill(std::copy(answer.begin(), answer.end(), end), e.tokens.end(), std::int32_t{PES_PAD});
  score_from(e.targets, prompt.size() - 1, answer);
  certain(e);
}

// The accuracy of the best guess that sees nothing but how many answers were asked for before: on
// average over examples, each of which counts its answers alike. That is the chance level.
class BlindGuess {
 public:
  BlindGuess(int ranks, int symbols)
      : count_(static_cast<std::size_t>(ranks),
               std::vector<double>(static_cast<std::size_t>(symbols))),
        hits_(count_) {}

  // `p`: the probability that an example asks for this symbol at this rank; `hit`: the same,
  // divided by the number of answers that the example asks for.
  void add(int rank, int symbol, double p, double hit) {
    const auto r = static_cast<std::size_t>(rank), s = static_cast<std::size_t>(symbol);
    count_[r][s] += p;
    hits_[r][s] += hit;
  }
  double accuracy() const { return accuracy(*this); }
  // The same where `other` is what is guessed: for laws that are known from draws, of which those
  // that one learns from must not be those that one is tested on.
  double accuracy(const BlindGuess& other) const {
    double sum = 0;
    for (std::size_t r = 0; r < count_.size(); ++r) {
      const double most = *std::max_element(count_[r].begin(), count_[r].end());
      double hits = 0, ties = 0;  // of which any may be guessed
      for (std::size_t s = 0; s < count_[r].size(); ++s)
        if (count_[r][s] >= most * (1 - 1e-9)) {
          hits += other.hits_[r][s];
          ++ties;
        }
      sum += hits / ties;
    }
    return sum;
  }

 private:
  std::vector<std::vector<double>> count_, hits_;  // [rank][symbol]
};

}  // namespace pes

#endif  // PESUITE_PROBLEM_HPP_
