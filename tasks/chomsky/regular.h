// The tasks of regular languages: independent uniform symbols, one class after the last of them.
#pragma once

#include <numeric>
#include <pesuite/pesuite.hpp>
#include <vector>

#include "examples.h"

namespace chomsky {

inline constexpr const char* paper = "Deletang et al. 2022, arXiv:2207.02098";

using Word = std::vector<int>;  // symbols from 0 on

// `Rule` names the task (name, summary), its `symbols` and `classes`, and says
//   static int label(const Word&);
//   static double blind(int n);  // share of the commonest label of n symbols
template <class Rule>
struct RegularTask : pes::Task {
  static constexpr pes_card card = pes::card<RegularTask>({.name = Rule::name,
                                                           .summary = Rule::summary,
                                                           .version = "2",
                                                           .taxonomy = "regular",
                                                           .paper = paper});

  RegularTask(const pes_use&, const pes::Values&) {
    inputs = PES_FIRST_SYMBOL + Rule::symbols;
    outputs = Rule::classes;
    head = PES_CLS;
  }
  void sample(const pes::Request& r, pes::Random& random, pes::Example& e) const {
    do tasks::draw_uniform(random, e.tokens, PES_FIRST_SYMBOL, Rule::symbols);
    while (distinct(r.length) >= tasks::log10_divisible &&
           !tasks::belongs_to(r.split, pes::hash64(Rule::name), e.tokens));
    oracle(e.tokens, e.targets);
    pes::certain(e);
  }
  void oracle(pes::Tokens tokens, pes::Targets targets) const {
    Word word(tokens.begin(), tokens.end());
    for (int& x : word) x -= PES_FIRST_SYMBOL;
    pes::score_last(targets, Rule::label(word));
  }
  double chance(int length) const { return Rule::blind(length); }
  double distinct(int length) const { return length * std::log10(Rule::symbols); }
};

}  // namespace chomsky
