// Tasks that rewrite a string. The answer is written in one of two ways:
//
//   slots  the input, then EMPTY slots that are filled at once, each with a class of its own
//   lm     BOS input SEP answer EOS, token by token
//
// An answer whose length varies ends with a termination symbol, which is EOS in the lm form; what
// stands behind it is not scored.
#pragma once

#include <optional>
#include <pesuite/pesuite.hpp>
#include <vector>

#include "regular.h"

namespace chomsky {

inline constexpr pes_option mode_option =
    pes::choice("mode", "slots", "slots|lm",
                "slots: all answers at once in EMPTY slots; lm: behind SEP, token by token");

// `Rule` names the task (name, summary, taxonomy), its input `symbols` and output `classes`
// without termination, whether it is `terminated`, the `least` input, and says
//   static int answer_length(int n);  // longest answer to n symbols, without termination
//   static Word draw(pes::Random&, int n);
//   static Word solve(const Word&);   // without termination
//   static double blind(int n);       // accuracy of the best guess that sees the rank of a slot
//   static double distinct(int n);    // log10
// and where shortcuts are known, at a training length,
//   static std::vector<pes_shortcut> known(bool slots, int length);
template <class Rule>
struct StringTask : pes::Task {
  static constexpr pes_option options[] = {mode_option};
  static constexpr pes_card card = pes::card<StringTask>({.name = Rule::name,
                                                          .summary = Rule::summary,
                                                          .version = "2",
                                                          .taxonomy = Rule::taxonomy,
                                                          .paper = paper});
  static constexpr int empty = PES_FIRST_SYMBOL + Rule::symbols;

  bool slots;
  int divided = Rule::least;  // from so many symbols on problems are dealt to the splits
  std::vector<pes_shortcut> known;

  StringTask(const pes_use& use, const pes::Values& v) : slots(v.is("mode", "slots")) {
    head = slots ? PES_TAG : PES_LM;
    inputs = slots ? empty + 1 : PES_FIRST_SYMBOL + std::max(Rule::symbols, Rule::classes);
    outputs = slots ? Rule::classes + (Rule::terminated ? 1 : 0) : inputs;
    while (Rule::distinct(divided) < tasks::log10_divisible) ++divided;
    if constexpr (requires { Rule::known(true, 0); }) known = Rule::known(slots, use.train_length);
    for (const pes_shortcut& s : known) shortcuts.push_back(&s);
  }

  // Tokens of an example with n input symbols, at most.
  int length_of(int n) const {
    const int answer = n + Rule::answer_length(n);
    return slots ? answer + (Rule::terminated ? 1 : 0) : answer + 3;  // BOS, SEP, EOS
  }
  int problem_length(int length) const {
    pes::require_length(length, length_of(Rule::least), "the input and its answer must fit");
    int n = Rule::least;
    while (length_of(n + 1) <= length) ++n;
    return n;
  }

  void sample(const pes::Request& r, pes::Random& random, pes::Example& e) const {
    const int n = problem_length(r.length);
    Word x;
    do x = Rule::draw(random, n);
    while (n >= divided && !tasks::belongs_to(r.split, pes::hash64(Rule::name), x));
    std::fill(e.tokens.begin(), e.tokens.end(), std::int32_t{PES_PAD});
    auto at = e.tokens.begin();
    if (!slots) *at++ = PES_BOS;
    for (const int s : x) *at++ = PES_FIRST_SYMBOL + s;
    const std::vector<std::int32_t> answer = targets_of(Rule::solve(x));
    if (slots) {
      std::fill(at, e.tokens.begin() + length_of(n), std::int32_t{empty});
    } else {
      *at++ = PES_SEP;
      std::copy(answer.begin(), answer.end(), at);
    }
    pes::score_from(e.targets, first_target(x), answer);
    pes::certain(e);
  }
  // Where the first symbol of the answer is asked for.
  std::size_t first_target(const Word& x) const { return x.size() + (slots ? 0 : 1); }
  std::vector<std::int32_t> targets_of(const Word& answer) const {
    std::vector<std::int32_t> out;
    for (const int s : answer) out.push_back(slots ? s : PES_FIRST_SYMBOL + s);
    if (!slots)
      out.push_back(PES_EOS);
    else if (Rule::terminated)
      out.push_back(Rule::classes);
    return out;
  }
  void oracle(pes::Tokens tokens, pes::Targets targets) const {
    Word x;
    for (const std::int32_t token : tokens.subspan(slots ? 0 : 1)) {
      if (token == (slots ? empty : PES_SEP)) break;
      x.push_back(token - PES_FIRST_SYMBOL);
    }
    pes::score_from(targets, first_target(x), targets_of(Rule::solve(x)));
  }
  double chance(int length) const {
    const int n = problem_length(length), scored = Rule::answer_length(n);
    if (slots || Rule::terminated) return Rule::blind(n);
    return (scored * Rule::blind(n) + 1) / (scored + 1);  // EOS is certain
  }
  double distinct(int length) const { return Rule::distinct(problem_length(length)); }
};

inline Word draw_word(pes::Random& random, int n, int symbols) {
  Word x(static_cast<std::size_t>(n));
  for (int& s : x) s = static_cast<int>(random.below(static_cast<std::uint32_t>(symbols)));
  return x;
}

}  // namespace chomsky
