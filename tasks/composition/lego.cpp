// A chain of variables, each equal to the one before it or to its opposite: BOS, clauses
// "v = + u" or "v = - u", the first of them with 1 as u, ASK, a variable, its sign. A scratchpad
// walks from 1 to the variable: v; the sign in front of u, and u with its sign; the sign of v; the
// clauses that are left.
#include <map>
#include <utility>

#include "scratchpad.h"

namespace {

using namespace tasks;

constexpr int plus = PES_FIRST_SYMBOL, minus = plus + 1, one = minus + 1, variable0 = one + 1;

// Of a clause v = + u or v = - u.
struct Rule {
  std::int32_t sign, of;
};
using Rules = std::map<std::int32_t, Rule>;  // by v

struct Lego : Worked<Lego> {
  static constexpr bool names_asked = true;
  static constexpr pes_option options[] = {
      pes::flag("shuffled", "false", "clauses stand in random order, not along the chain"),
      pes::integer("least", "4", 2, 65536, "clauses of the shortest chain"),
      pes::integer("variables", "128", 2, 65536, "names to choose from; no chain is longer"),
      Scratchpad::option(Scratchpad::icor)};
  static constexpr pes_card card =
      pes::card<Lego>({.name = "lego",
                       .summary = "the sign of a variable at the end of a chain of assignments",
                       .taxonomy = "composition",
                       .paper = "Zhang et al. 2022, arXiv:2206.04301"});

  static constexpr int clause = 3, tokens_around = 4;  // BOS, and ASK, variable, sign

  bool shuffled;
  int variables;

  Lego(const pes_use& use, const pes::Values& v)
      : Worked(v, variable0 + static_cast<int>(v.integer("variables"))),
        shuffled(v.flag("shuffled")),
        variables(static_cast<int>(v.integer("variables"))) {
    inputs = outputs = variable0 + variables + scratchpad.vocabulary();
    declare_sizes(use, static_cast<int>(v.integer("least")),
                  Cost{clause, tokens_around} + scratchpad.cost(1, 3, 1, 0, clause), "clauses",
                  "clauses of the chain", variables);
  }
  // The variable asked for: number n/2 (rounded up) to n - 1 of the chain, as in the public data.
  static int first_asked(int n) { return (n + 1) / 2; }

  // Clauses, ASK, and the variable asked for.
  std::vector<std::int32_t> drawn(pes::Random& random, int size) const {
    const std::size_t n = size;
    std::vector<std::int32_t> chain(n), signs(n), order(n), out(clause * n);
    draw_distinct(random, chain, variable0, variables);
    draw_uniform(random, signs, plus, 2);
    std::iota(order.begin(), order.end(), 0);
    if (shuffled) draw_distinct(random, order, 0, size);
    for (std::size_t i = 0; i < n; ++i) {
      const auto to = out.begin() + clause * order[i];
      to[0] = chain[i], to[1] = signs[i], to[2] = i == 0 ? one : chain[i - 1];
    }
    out.push_back(PES_ASK);
    out.push_back(chain[random.between(first_asked(size), size - 1)]);
    return out;
  }
  // The sign of the variable that is asked for, behind the steps to it; nothing where no chain
  // leads from it to 1.
  std::vector<std::int32_t> answer(Tokens problem) const {
    Rules rules;
    std::vector<std::int32_t> left(problem.begin(), problem.end() - 2);
    for (std::size_t t = 0; t + clause <= left.size(); t += clause)
      rules[left[t]] = {left[t + 1], left[t + 2]};
    std::vector<std::int32_t> chain;  // from the variable to the one that is said to be 1
    for (std::int32_t at = problem.back(); at != one; at = rules[at].of) {
      if (!rules.count(at) || chain.size() > rules.size()) return {};
      chain.push_back(at);
    }
    std::vector<Step> steps;
    std::int32_t sign = plus;
    for (auto v = chain.rbegin(); v != chain.rend(); ++v) {
      const Rule rule = rules[*v];
      const std::int32_t before = std::exchange(sign, rule.sign == sign ? plus : minus);
      if (!scratchpad.used()) continue;
      for (std::size_t t = 0; t < left.size(); t += clause)
        if (left[t] == *v) left.erase(left.begin() + t, left.begin() + t + clause);
      steps.push_back({.input = {*v},
                       .computation = {rule.sign, rule.of, before},
                       .output = {sign},
                       .variables = {},
                       .remaining = scratchpad.left(left)});
    }
    std::vector<std::int32_t> out;
    scratchpad.write(steps, out);
    out.push_back(sign);
    return out;
  }
  double blind(Range) const { return .5; }
  double log10_problems(int n, int) const override {
    const double orders = shuffled ? std::lgamma(n + 1) / std::numbers::ln10 : 0;
    return log10_samples(variables, n) + orders +
           std::log10((n - first_asked(n)) * std::pow(2.0, n));
  }
};

}  // namespace

extern const pes_task lego = pes::task<Lego>;
