// A chain of variables, each equal to the one before it or to its opposite: BOS, clauses
// "v = + u" or "v = - u", the first of them with 1 as u, ASK, a variable, its sign.
#include <map>

#include "sized.h"

namespace {

using namespace tasks;

constexpr int plus = PES_FIRST_SYMBOL, minus = plus + 1, one = minus + 1, variable0 = one + 1;

struct Lego : Sized {
  static constexpr pes_option options[] = {
      pes::flag("shuffled", "false", "clauses stand in random order, not along the chain"),
      pes::integer("least", "4", 2, 65536, "clauses of the shortest chain"),
      pes::integer("variables", "128", 2, 65536, "names to choose from; no chain is longer")};
  static constexpr pes_card card =
      pes::card<Lego>({.name = "lego",
                       .summary = "the sign of a variable at the end of a chain of assignments",
                       .taxonomy = "composition",
                       .paper = "Zhang et al. 2022, arXiv:2206.04301"});

  static constexpr int clause = 3, tokens_around = 4;  // BOS, and ASK, variable, sign

  bool shuffled;
  int variables;

  Lego(const pes_use& use, const pes::Values& v)
      : shuffled(v.flag("shuffled")), variables(static_cast<int>(v.integer("variables"))) {
    inputs = outputs = variable0 + variables;
    head = PES_LM;
    determined = true;
    declare_sizes(use, static_cast<int>(v.integer("least")), clause, tokens_around, "clauses",
                  "clauses of the chain", variables);
  }
  // The variable asked for: number n/2 (rounded up) to n - 1 of the chain, as in the public data.
  static int first_asked(int n) { return (n + 1) / 2; }

  void sample(const pes::Request& r, pes::Random& random, pes::Example& e) const {
    const Range range = drawn_for(r, 0);
    const int size = random.between(range.low, range.high);
    const std::size_t n = size;
    std::vector<std::int32_t> chain(n), signs(n), order(n);
    const auto problem = e.tokens.subspan(1, clause * n + 2);
    std::fill(e.tokens.begin(), e.tokens.end(), PES_PAD);
    e.tokens[0] = PES_BOS;
    do {
      draw_distinct(random, chain, variable0, variables);
      draw_uniform(random, signs, plus, 2);
      std::iota(order.begin(), order.end(), 0);
      if (shuffled) draw_distinct(random, order, 0, size);
      for (std::size_t i = 0; i < n; ++i) {
        const auto to = problem.subspan(clause * static_cast<std::size_t>(order[i]), clause);
        to[0] = chain[i], to[1] = signs[i], to[2] = i == 0 ? one : chain[i - 1];
      }
      problem[clause * n] = PES_ASK;
      problem[clause * n + 1] = chain[random.between(first_asked(size), size - 1)];
    } while (splits_matter(size) && !belongs_to(r.split, pes::hash64(card.name), problem));
    const std::size_t answer = clause * n + tokens_around - 1;
    e.tokens[answer] = sign_of(e.tokens, answer - 1);
    score_tokens(e.targets, e.tokens, answer, 1);
  }
  // That of the variable at `asked`, behind the clauses and ASK; unscored where no chain leads
  // to 1.
  static std::int32_t sign_of(Tokens tokens, std::size_t asked) {
    std::map<std::int32_t, std::pair<std::int32_t, std::int32_t>> rules;  // sign, and of what
    for (std::size_t t = 1; t + clause < asked; t += clause)
      rules[tokens[t]] = {tokens[t + 1], tokens[t + 2]};
    bool opposite = false;
    std::int32_t at = tokens[asked];
    for (std::size_t steps = 0; at != one; ++steps) {
      const auto rule = rules.find(at);
      if (rule == rules.end() || steps > rules.size()) return unscored;
      opposite ^= rule->second.first == minus;
      at = rule->second.second;
    }
    return opposite ? minus : plus;
  }
  void oracle(Tokens tokens, Targets targets) const {
    std::fill(targets.begin(), targets.end(), unscored);
    const auto asked = static_cast<std::size_t>(std::find(tokens.begin(), tokens.end(), PES_ASK) -
                                                tokens.begin()) +
                       1;
    if (asked < tokens.size()) targets[asked] = sign_of(tokens, asked);
  }

  pes::Chance chance_at(const pes::Request&) const { return {.5, .5}; }
  double log10_problems(int n, int) const override {
    const double orders = shuffled ? std::lgamma(n + 1) / std::numbers::ln10 : 0;
    return log10_samples(variables, n) + orders +
           std::log10((n - first_asked(n)) * std::pow(2.0, n));
  }
};

}  // namespace

extern const pes_task lego = pes::task<Lego>;
