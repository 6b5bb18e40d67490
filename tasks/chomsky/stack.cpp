// A stack of bits, bottom to top, then actions on it: what is on it in the end, top to bottom?
#include "strings.h"

namespace {

using chomsky::Word;

constexpr int pop = 2, push = 3;  // push + bit

struct Stack {
  static constexpr const char* name = "stack";
  static constexpr const char* summary = "what a stack holds after pushes and pops";
  static constexpr const char* taxonomy = "deterministic context-free";
  static constexpr int symbols = 5, classes = 2, least = 1;
  static constexpr bool terminated = true;

  static int answer_length(int n) { return n; }
  static Word draw(pes::Random& random, int n) {
    const int height = n == 1 ? 1 : random.between(1, n - 1);
    Word x = chomsky::draw_word(random, height, 2);
    for (int i = height; i < n; ++i) x.push_back(pop + static_cast<int>(random.below(3)));
    return x;
  }
  static Word solve(const Word& x) {
    Word stack;
    for (const int s : x)
      if (s != pop)
        stack.push_back(s < pop ? s : s - push);
      else if (!stack.empty())
        stack.pop_back();
    return {stack.rbegin(), stack.rend()};
  }

  // Law of the final height: stacks of all start heights walk up with 2/3 and down with 1/3.
  static std::vector<double> law_of_height(int n) {
    std::vector<double> law(static_cast<std::size_t>(n + 2));
    if (n == 1) law[1] = 1;
    for (int read = 1; read < n; ++read) {
      law[read] += 1.0 / (n - 1);  // the stacks whose bits end here; from now on they act
      std::vector<double> next(law.size());
      for (int h = 0; h <= read; ++h) {
        next[h + 1] += law[h] * 2 / 3;
        next[h > 0 ? h - 1 : 0] += law[h] / 3;
      }
      law = next;
    }
    return law;
  }
  // All bits are fair, so only the end of the stack can be guessed better.
  static double blind(int n) {
    const std::vector<double> law = law_of_height(n);
    pes::BlindGuess guess(n + 1, classes + 1);
    double higher = 1, weight = 0;  // P(height > rank), and its mean of 1/targets
    for (int h = 0; h <= n; ++h) weight += law[h] / (h + 1);
    for (int rank = 0; rank <= n; ++rank) {
      const double here = law[rank] / (rank + 1);
      higher -= law[rank];
      weight -= here;
      for (const int bit : {0, 1}) guess.add(rank, bit, higher / 2, weight / 2);
      guess.add(rank, classes, law[rank], here);
    }
    return guess.accuracy();
  }
  static constexpr const char* height =
      "how many symbols were pushed and popped tells how high the stack is";
  static std::vector<pes_shortcut> known(bool slots, int length) {
    return {slots
                ? tasks::measured_shortcut("bag", height, length,
                                           {{12, .79},
                                            {16, .74},
                                            {24, .68},
                                            {32, .66},
                                            {48, .62},
                                            {64, .60},
                                            {96, .58},
                                            {128, .57},
                                            {256, .53}})
                : tasks::measured_shortcut("bag", height, length,
                                           {{16, .72}, {24, .66}, {32, .63}, {48, .55}, {64, .53}}),
            {sizeof(pes_shortcut), "window", .51,
             slots ? "first slots stand behind the last actions, far ones are beyond the end"
                   : "the top of the stack stands behind the last actions"}};
  }
  // Were they equally likely: a stack of h bits has 2^h 3^(n-h) inputs.
  static double distinct(int n) {
    if (n == 1) return std::log10(2);
    double equals = 0;  // P(two inputs are the same)
    for (int h = 1; h < n; ++h) equals += std::pow(2, -h) * std::pow(3, h - n);
    return -std::log10(equals / (n - 1) / (n - 1));
  }
};

}  // namespace

extern const pes_task stack = pes::task<chomsky::StringTask<Stack>>;
