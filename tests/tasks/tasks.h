// Helpers of the tests of tasks: a task by its expression, examples, hashes.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "model/task.h"
#include "pesuite/random.hpp"

namespace pesuite::testing {

constexpr int S = PES_FIRST_SYMBOL;  // token of symbol 0
constexpr int bos = PES_BOS, sep = PES_SEP, eos = PES_EOS, ask = PES_ASK, pad = PES_PAD;

inline const Catalog& task_catalog() {
  static const Catalog catalog = open_catalog({PESUITE_TEST_PLUGINS, PESUITE_BROKEN_TASKS});
  return catalog;
}

inline Task make_task(const std::string& expression, int max_length = 256, int train_length = 64) {
  return {task_catalog(), parse_expression(expression, "task"), train_length, max_length};
}

// Every task of ours with what its options make another problem of, but text, which needs a file.
inline const std::vector<std::string>& variants() {
  static const std::vector<std::string> all = {
      "modsum_cls",
      "prefix_modsum",
      "prefix_modsum(m=5)",
      "prefix_modsum(m=2)",
      "prefix_modsum(inclusive=true)",
      "kback_copy",
      "kback_copy(k=1)",
      "kback_copy(k=16, symbols=10)",
      "kback_match",
      "kback_match(k=16)",
      "shift_pattern",
      "shift_pattern(variant=app)",
      "shift_pattern(variant=text)",
      "first_last",
      "first_last(variant=app)",
      "pair_match",
      "pair_match(variant=bucket)",
      "pair_match(variant=text)",
      "parity",
      "even_pairs",
      "cycle_nav",
      "mod_arith_simple",
      "stack",
      "stack(mode=lm)",
      "mod_arith",
      "mod_arith(mode=lm)",
      "solve_equation",
      "solve_equation(mode=lm)",
      "missing_duplicate",
      "missing_duplicate(mode=lm)",
      "odds_first",
      "odds_first(mode=lm)",
      "binary_addition",
      "binary_addition(mode=lm)",
      "binary_multiplication",
      "binary_multiplication(mode=lm)",
      "sqrt",
      "sqrt(mode=lm)",
      "addition",
      "addition(reversed=false)",
      "addition(pad=false)",
      "addition(pad=false, reversed=false)",
      "addition(index_hints=true)",
      "addition(coupled_ids=true)",
      "addition(index_hints=true, pad=false, reversed=false)",
      "subtraction",
      "subtraction(reversed=false)",
      "subtraction(pad=false)",
      "subtraction(index_hints=true)",
      "subtraction(coupled_ids=true)",
      "addition(scratchpad=icovr)",
      "addition(pad=false, scratchpad=cv)",
      "subtraction(scratchpad=icovr)",
      "polynomial",
      "polynomial(scratchpad=icovr)",
      "summation",
      "summation(modulus=2)",
      "summation(scratchpad=icovr)",
      "counting",
      "counting(variables=1)",
      "counting(variables=5)",
      "counting(preset=paper)",
      "flipflop",
      "majority",
      "majority(symbols=16)",
      "posgen",
      "posgen(variant=cot)",
      "posgen(variant=semi)",
      "brackets",
      "facts",
      "facts(keys=32, values=16, change=0.05)",
      "ledger",
      "ledger(mix=retrieval, document=1024)",
      "toylag",
      "passkey",
      "passkey(least=1)",
      "niah",
      "niah(variant=multi_key)",
      "niah(variant=multi_value)",
      "niah(variant=multi_query)",
      "variable_tracking",
      "common_words",
      "common_words(variant=frequent)",
      "copy_distance",
      "babilong",
      "babilong(supporting=2)",
      "babilong(supporting=3)",
      "copy",
      "copy(content=bits)",
      "copy(content=mixed)",
      "copy(unique=1)",
      "copy(unique=2)",
      "reverse",
      "reverse(content=bits)",
      "reverse(content=mixed)",
      "sort",
      "sort(content=mixed)",
      "sort(repeats=true)",
      "sort(scratchpad=ior)",
      "bucket_sort",
      "no_carry_addition",
      "lego",
      "lego(shuffled=true)",
      "lego(least=2, shuffled=true, scratchpad=icor)",
      "kinship",
      "kinship(shuffled=true)",
      "scan",
      "pcfg",
      "mqar(symbols=512)",
      "mqar(symbols=512, pairs=1)",
      "mqar(symbols=512, noise=blank, pairs=8)",
      "induction",
      "selective_copy",
      "indirect_index"};
  return all;
}
// A variant in letters and digits, as tests may be called.
inline std::string variant_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}

struct Example {
  std::vector<std::int32_t> tokens, targets;
  std::vector<double> optimum;
  bool operator==(const Example&) const = default;
};

inline Example sample(const Task& task, const Task::Request& r) {
  Example e;
  e.tokens.resize(r.length);
  e.targets.resize(r.length);
  e.optimum.resize(r.length);
  task.sample(r, e.tokens, e.targets, e.optimum);
  return e;
}
inline Example sample(const Task& task, int length, std::uint64_t index,
                      pes_split split = PES_SPLIT_TRAIN, std::vector<double> axes = {}) {
  return sample(task, {split, 1, index, length, -1, std::move(axes)});
}

inline std::vector<std::int32_t> solve(const Task& task, std::vector<std::int32_t> tokens) {
  std::vector<std::int32_t> targets(tokens.size());
  task.oracle(tokens, targets);
  return targets;
}

inline std::uint64_t hash(const Example& e) {
  std::uint64_t h = 0;
  for (const std::int32_t x : e.tokens) h = pes::mix64(h, static_cast<std::uint32_t>(x));
  for (const std::int32_t x : e.targets) h = pes::mix64(h, static_cast<std::uint32_t>(x));
  return h;
}

// The sentence of the Error that `body` throws.
template <class Body>
std::string error_of(Body body) {
  try {
    body();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

// Expects `count` of `n` independent events to be within 3.3 standard errors of probability p: one
// in a thousand such expectations fails by chance, and none twice, for the streams are fixed.
inline void expect_rate(double count, double n, double p, const std::string& what) {
  EXPECT_NEAR(count / n, p, 3.3 * std::sqrt(p * (1 - p) / n) + 1e-12) << what;
}

// Mean of independent values with its standard error.
struct Mean {
  double n = 0, sum = 0, squares = 0;
  void add(double x) {
    ++n;
    sum += x;
    squares += x * x;
  }
  double value() const { return sum / n; }
  double error() const {
    return std::sqrt(std::max(0.0, squares / n - value() * value()) / (n - 1));
  }
};
inline void expect_mean(const Mean& mean, double wanted, const std::string& what) {
  EXPECT_NEAR(mean.value(), wanted, 3 * mean.error() + 1e-9) << what << ", n = " << mean.n;
}

}  // namespace pesuite::testing
