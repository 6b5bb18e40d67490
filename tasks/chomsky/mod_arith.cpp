// The value modulo 5 of an expression with brackets, such as ((1-2)*(-4)).
#include "expression.h"
#include "strings.h"

namespace {

using namespace chomsky;

struct ModArith {
  static constexpr const char* name = "mod_arith";
  static constexpr const char* summary = "the value of a bracketed expression modulo 5";
  static constexpr const char* taxonomy = "deterministic context-free";
  static constexpr int symbols = close + 1, classes = modulus, least = 1, operators = 3;
  static constexpr bool terminated = false;

  static int answer_length(int) { return 1; }
  static Word draw(pes::Random& random, int n) {
    Word x;
    draw_expression(random, n, operators, x);
    return x;
  }
  static Word solve(const Word& x) {
    std::size_t at = 0;
    return {evaluate(x, at)};
  }

  // Share of the commonest value: the laws of all shorter expressions, joined by each operator.
  static double blind(int n) {
    using Law = std::array<double, modulus>;
    std::vector<Law> law(static_cast<std::size_t>(std::max(n, 4) + 1));
    for (int k = 1; k <= 4; ++k) law[k].fill(1.0 / modulus);
    for (int k = 5; k <= n; ++k) {
      std::array<Law, modulus> pairs{};
      for (int left = 1; left <= k - 4; ++left)
        for (int a = 0; a < modulus; ++a)
          for (int b = 0; b < modulus; ++b) pairs[a][b] += law[left][a] * law[k - 3 - left][b];
      for (int a = 0; a < modulus; ++a)
        for (int b = 0; b < modulus; ++b)
          for (const int op : {plus, minus, times})
            law[k][apply(op, a, b)] += pairs[a][b] / (operators * (k - 4));
    }
    return *std::max_element(law[n].begin(), law[n].end());
  }
  static double distinct(int n) { return distinct_expressions(n, operators); }
};

}  // namespace

extern const pes_task mod_arith = pes::task<StringTask<ModArith>>;
