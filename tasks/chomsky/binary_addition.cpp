// The sum of two binary numbers, least significant bit first. Inputs of one or two symbols hold a
// single number, which is its own answer.
#include "binary.h"

namespace {

using namespace chomsky;

// What is to come of a sum, seen from one of its bits: the probability that no further bit is set,
// that one is, and of the latter the mean of 1 / (targets).
struct Future {
  double none = 0, some = 0, hit = 0;
};

// Sums of uniform non-zero numbers of `bits_a` and `bits_b` bits, bit by bit. A state holds the
// carry and whether a one of a, of b was seen.
class SumLaw {
 public:
  SumLaw(int bits_a, int bits_b) : a_(bits_a), b_(bits_b), end_(std::max(a_, b_) + 1) {}

  // Adds the law of all such sums, which weigh `p` together.
  void add_to(pes::BlindGuess& guess, double p) const {
    const double numbers = (1 - std::ldexp(1, -a_)) * (1 - std::ldexp(1, -b_));
    const std::vector<States<Future>> future = futures();
    States<double> now{};
    now[0] = p / numbers;
    for (int i = 0; i < end_; ++i) {
      States<double> next{};
      for (int s = 0; s < states; ++s)
        for_each_move(i, s, [&](int to, int bit, double share) {
          const double flow = now[s] * share;
          next[to] += flow;
          const Future f = future[i + 1][to];
          const double last = flow * f.none;  // this set bit is the last one
          if (bit == 1) {
            guess.add(i, 1, flow * f.some + last, flow * f.hit + last / (i + 2));
            guess.add(i + 1, termination, last, last / (i + 2));
          } else {
            guess.add(i, 0, flow * f.some, flow * f.hit);
          }
        });
      now = next;
    }
  }

 private:
  static constexpr int states = 8, carry = 1, seen_a = 2, seen_b = 4;
  template <class T>
  using States = std::array<T, states>;

  // move(next state, bit of the sum, probability) for each pair of bits that may stand at `i`.
  template <class Move>
  void for_each_move(int i, int state, Move move) const {
    const int most_a = i < a_ ? 1 : 0, most_b = i < b_ ? 1 : 0;
    const double share = 1.0 / (1 + most_a) / (1 + most_b);
    for (int a = 0; a <= most_a; ++a)
      for (int b = 0; b <= most_b; ++b) {
        const int sum = a + b + (state & carry);
        move((state & ~carry) | sum / 2 | (a * seen_a) | (b * seen_b), sum % 2, share);
      }
  }
  std::vector<States<Future>> futures() const {
    std::vector<States<Future>> all(static_cast<std::size_t>(end_ + 1));
    all[end_][seen_a | seen_b].none = 1;  // numbers are not 0, and the last bit takes the carry
    for (int i = end_; i-- > 0;)
      for (int s = 0; s < states; ++s)
        for_each_move(i, s, [&](int to, int bit, double share) {
          const Future& f = all[i + 1][to];
          Future& here = all[i][s];
          here.some += share * (f.some + bit * f.none);
          here.hit += share * (f.hit + bit * f.none / (i + 2));
          here.none += share * (1 - bit) * f.none;
        });
    return all;
  }

  int a_, b_, end_;
};

struct BinaryAddition {
  static constexpr const char* name = "binary_addition";
  static constexpr const char* summary = "the sum of two binary numbers";
  static constexpr const char* taxonomy = "context-sensitive";
  static constexpr int symbols = 3, classes = 2, least = 1;
  static constexpr bool terminated = true;

  static int answer_length(int n) { return n; }
  static Word draw(pes::Random& random, int n) {
    if (n > 2) return draw_pair(random, n);
    Word x;
    for (int i = 0, number = random.between(0, (1 << n) - 2); i < n; ++i)
      x.push_back(number >> i & 1);
    return x;
  }
  static Word solve(const Word& x) {
    const auto [a, b] = split_pair(x);
    Word sum;
    int carry = 0;
    for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
      carry += (i < a.size() ? a[i] : 0) + (i < b.size() ? b[i] : 0);
      sum.push_back(carry % 2);
      carry /= 2;
    }
    sum.push_back(carry);
    trim(sum);
    return sum;
  }
  static double blind(int n) {
    pes::BlindGuess guess = blind_guess(n);
    if (n > 2)
      for (int a = 1; a <= n - 2; ++a) SumLaw(a, n - 1 - a).add_to(guess, 1.0 / (n - 2));
    else
      for (int number = 0; number <= (1 << n) - 2; ++number)
        add_answer(guess, number == 2 ? Word{0, 1} : Word{number}, 1.0 / ((1 << n) - 1));
    return guess.accuracy();
  }
  static std::vector<pes_shortcut> known(bool, int length) {
    return {tasks::measured_shortcut("bag", "of short numbers the bits that are set tell the sum",
                                     length, {{12, .74}, {16, .61}, {24, .52}, {32, .51}})};
  }
  static double distinct(int n) { return n > 2 ? distinct_pairs(n) : std::log10((1 << n) - 1); }
};

}  // namespace

extern const pes_task binary_addition = pes::task<StringTask<BinaryAddition>>;
