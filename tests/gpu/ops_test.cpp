// The CUDA backend's ops called directly, against the reference: outputs that are added to, outputs
// that are not wanted, inputs that are missing, and the ops that no tape records.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>

#include "tensor/attention.h"
#include "tests/gpu/subject.h"
#include "tests/support.h"
#include "tests/tensor/head_cases.h"

namespace pesuite::testing {
namespace {

using Outs = std::vector<Out>;
using Views = std::vector<View>;
using Tokens = const std::int32_t*;

struct DirectCase {
  std::string name;
  std::vector<Shape> outputs, inputs;
  std::function<void(Backend&, const Outs&, const Views&, Tokens)> call;
  bool may_miss = true;         // an output without data is one that is not wanted
  std::int64_t indices_to = 0;  // the last input are indices below this
  std::int64_t tokens_to = 0;   // tokens below this
  double tolerance = 5e-6;
};
void PrintTo(const DirectCase& c, std::ostream* out) {
  *out << c.name;
}

DirectCase takes_backward(const std::string& of, std::int64_t rows, std::int64_t V,
                          std::int64_t terms) {
  return {
      "take_backward_of_" + of,
      {{rows, V}},
      {{rows, terms}, {terms}},
      [](Backend& b, const Outs& o, const Views& v, Tokens) { b.take_backward(o[0], v[0], v[1]); },
      false,
      V,
      0,
      terms > 1000 ? 5e-5 : 5e-6};
}
std::vector<DirectCase> direct_cases() {
  using B = Backend&;
  using O = const Outs&;
  using V = const Views&;
  std::vector<DirectCase> all = {
      {"unary",
       {{3, 7}},
       {{3, 7}},
       [](B b, O o, V v, Tokens) { b.unary_forward(o[0], v[0], Unary::sin); },
       false},
      {"unary_backward",
       {{3, 7}},
       {{3, 7}, {3, 7}, {3, 7}},
       [](B b, O o, V v, Tokens) { b.unary_backward(o[0], v[0], v[1], v[2], Unary::cos); },
       false},
      {"binary",
       {{4, 3, 5}},
       {{3, 1}, {4, 1, 5}},
       [](B b, O o, V v, Tokens) { b.binary_forward(o[0], v[0], v[1], Binary::mul); },
       false},
      {"binary_backward",
       {{3, 1}, {4, 1, 5}},
       {{4, 3, 5}, {3, 1}, {4, 1, 5}},
       [](B b, O o, V v, Tokens) { b.binary_backward(o[0], o[1], v[0], v[1], v[2], Binary::mul); }},
      {"binary_backward_to_one_number",
       {{1}, {40, 300}},
       {{40, 300}, {1}, {40, 300}},
       [](B b, O o, V v, Tokens) { b.binary_backward(o[0], o[1], v[0], v[1], v[2], Binary::mul); }},
      {"binary_backward_of_columns",
       {{37}, {900, 37}},
       {{900, 37}, {37}, {900, 37}},
       [](B b, O o, V v, Tokens) { b.binary_backward(o[0], o[1], v[0], v[1], v[2], Binary::sub); }},
      {"affine_stretches",
       {{2, 3, 5}},
       {{3, 1}},
       [](B b, O o, V v, Tokens) { b.affine(o[0], v[0], -2, 0.5); },
       false},
      {"dropout",
       {{3, 5, 7}},
       {{3, 5, 7}},
       [](B b, O o, V v, Tokens) {
         b.dropout(o[0], v[0], {0.4, 3, 9});
       },
       false},
      {"gate",
       {{5, 7}},
       {{5, 14}},
       [](B b, O o, V v, Tokens) { b.gate_forward(o[0], v[0]); },
       false},
      {"gate_backward",
       {{5, 14}},
       {{5, 7}, {5, 14}},
       [](B b, O o, V v, Tokens) { b.gate_backward(o[0], v[0], v[1]); },
       false},
      {"permute",
       {{5, 2, 3}},
       {{2, 3, 5}},
       [](B b, O o, V v, Tokens) {
         const int axes[] = {2, 0, 1};
         b.permute(o[0], v[0], axes);
       },
       false},
      {"copy_into_the_middle",
       {{2, 9, 3}},
       {{2, 5, 3}},
       [](B b, O o, V v, Tokens) {
         Out all = o[0];  // what is not copied to stays
         if (!all.add) b.fill(all, 1);
         b.copy(all, 4, v[0], 1, 1, 3);
       },
       false},
      {"sum_of_long_rows",
       {{3}},
       {{3, 40000}},
       [](B b, O o, V v, Tokens) { b.sum(o[0], v[0], 1); },
       false},
      {"sum_of_all_rows",
       {{5}},
       {{7000, 5}},
       [](B b, O o, V v, Tokens) { b.sum(o[0], v[0], 0); },
       false},
      {"cumsum_of_lines",
       {{3, 301}},
       {{3, 301}},
       [](B b, O o, V v, Tokens) { b.cumsum(o[0], v[0], 1, true); },
       false},
      {"cumsum_of_short_lines",
       {{3, 7}},
       {{3, 7}},
       [](B b, O o, V v, Tokens) { b.cumsum(o[0], v[0], 1, false); },
       false},
      {"take_backward",
       {{3, 1, 11}},
       {{3, 4, 6}, {4, 6}},
       [](B b, O o, V v, Tokens) { b.take_backward(o[0], v[0], v[1]); },
       false,
       13},
      {"interpolate",
       {{3, 4, 6}},
       {{3, 1, 11}, {4, 6}},
       [](B b, O o, V v, Tokens) { b.interpolate_forward(o[0], v[0], v[1]); },
       false,
       13},
      {"interpolate_backward",
       {{3, 1, 11}, {4, 6}},
       {{3, 4, 6}, {3, 1, 11}, {4, 6}},
       [](B b, O o, V v, Tokens) { b.interpolate_backward(o[0], o[1], v[0], v[1], v[2]); }},
      {"interpolate_backward_at_entries",
       {{3, 1, 11}, {4, 6}},
       {{3, 4, 6}, {3, 1, 11}, {4, 6}},
       [](B b, O o, V v, Tokens) { b.interpolate_backward(o[0], o[1], v[0], v[1], v[2]); },
       true,
       13},
      // Rows of each kernel's sizes, with terms of several tiles and chunks.
      takes_backward("many_rows", 2049, 3, 2050),
      takes_backward("many_terms", 2, 9, 5000),
      takes_backward("64_entries", 2, 64, 5000),
      takes_backward("65_entries", 3, 65, 2049),
      takes_backward("256_entries", 2, 256, 5000),
      takes_backward("257_entries", 2, 257, 5000),
      takes_backward("1999_entries", 2, 1999, 5000),
      takes_backward("wide_rows", 2, 2100, 40),
      {"interpolate_backward_of_many_terms",
       {{2, 11}, {5000}},
       {{2, 5000}, {2, 11}, {5000}},
       [](B b, O o, V v, Tokens) { b.interpolate_backward(o[0], o[1], v[0], v[1], v[2]); },
       true,
       13,
       0,
       5e-5},
      {"rows_backward",
       {{7, 5}},
       {{9, 5}, {9}},
       [](B b, O o, V v, Tokens) { b.rows_backward(o[0], v[0], v[1], false); },
       false,
       9},
      {"rows_backward_of_many",
       {{300, 5}},
       {{400, 5}, {400}},
       [](B b, O o, V v, Tokens) { b.rows_backward(o[0], v[0], v[1], false); },
       false,
       300},
      {"rotate_backward",
       {{2, 3, 4, 10}, {4, 3}, {4, 3}},
       {{2, 3, 4, 10}, {2, 3, 4, 10}, {4, 3}, {4, 3}},
       [](B b, O o, V v, Tokens) {
         b.rotate_backward(o[0], o[1], o[2], v[0], v[1], v[2], v[3], Pairs::half);
       }},
      {"matmul_sums_the_batch",
       {{4, 6}},
       {{2, 3, 5, 4}, {2, 3, 5, 6}},
       [](B b, O o, V v, Tokens) { b.matmul(o[0], v[0], v[1], true, false); },
       false},
      {"matmul_sums_an_axis",
       {{3, 5, 6}},
       {{2, 3, 5, 4}, {2, 1, 6, 4}},
       [](B b, O o, V v, Tokens) { b.matmul(o[0], v[0], v[1], false, true); },
       false},
      {"matmul_sums_the_inner_axis",
       {{2, 1, 5, 6}},
       {{2, 3, 5, 4}, {3, 4, 6}},
       [](B b, O o, V v, Tokens) { b.matmul(o[0], v[0], v[1], false, false); },
       false},
      {"matmul_of_both_transposed",
       {{2, 5, 6}},
       {{2, 4, 5}, {6, 4}},
       [](B b, O o, V v, Tokens) { b.matmul(o[0], v[0], v[1], true, true); },
       false},
      {"two_layers",
       {{2, 3, 30}},
       {{2, 3, 5}, {2, 3, 1}, {2, 5, 4}, {2, 5, 1}, {1, 4, 30}},
       [](B b, O o, V v, Tokens) {
         b.two_layers_forward(o[0], {v[0], v[1], v[2], v[3], v[4]});
       },
       false},
      {"two_layers_backward",
       {{2, 3, 5}, {2, 3, 1}, {2, 5, 4}, {2, 5, 1}, {1, 4, 30}},
       {{2, 3, 30}, {2, 3, 5}, {2, 5, 4}, {2, 5, 1}, {1, 4, 30}},
       [](B b, O o, V v, Tokens) {
         b.two_layers_backward({o[0], o[1], o[2], o[3], o[4]}, v[0], {v[1], {}, v[2], v[3], v[4]});
       }},
      {"linear",
       {{7, 5}},
       {{7, 4}, {5, 4}, {5}, {7, 5}},
       [](B b, O o, V v, Tokens) { b.linear_forward(o[0], v[0], v[1], v[2], v[3]); },
       false},
      {"linear_backward",
       {{7, 4}, {5, 4}, {5}},
       {{7, 5}, {7, 4}, {5, 4}},
       [](B b, O o, V v, Tokens) { b.linear_backward(o[0], o[1], o[2], v[0], v[1], v[2]); }},
      {"embed",
       {{40, 6}},
       {{9, 6}},
       [](B b, O o, V v, Tokens t) { b.embed_forward(o[0], v[0], t); },
       false,
       0,
       9},
      {"embed_backward",
       {{9, 6}},
       {{40, 6}},
       [](B b, O o, V v, Tokens t) { b.embed_backward(o[0], v[0], t); },
       false,
       0,
       7},
      {"softmax",
       {{2, 3, 40}},
       {{2, 3, 40}},
       [](B b, O o, V v, Tokens) { b.softmax_forward(o[0], v[0], 20); },
       false},
      {"softmax_backward",
       {{2, 3, 40}},
       {{2, 3, 40}, {2, 3, 40}},
       [](B b, O o, V v, Tokens) { b.softmax_backward(o[0], v[0], v[1]); },
       false},
      {"score_rows",
       {{2, 4, 3, 8}},
       {{2, 4, 9, 6}, {2, 2, 9, 6}},
       [](B b, O o, V v, Tokens) { b.score_rows_forward(o[0], v[0], v[1], 5, 0.3); },
       false},
      // dq holds the block's rows only, dk is added to
      {"score_rows_backward",
       {{2, 4, 9, 6}, {2, 2, 9, 6}},
       {{2, 4, 3, 8}, {2, 4, 9, 6}, {2, 2, 9, 6}},
       [](B b, O o, V v, Tokens) { b.score_rows_backward(o[0], o[1], v[0], v[1], v[2], 5, 0.3); }},
      {"mix_rows_grouped",
       {{3, 9, 4 * 5}},
       {{3, 4, 3, 8}, {3, 2, 9, 5}},
       [](B b, O o, V v, Tokens) { b.mix_rows_forward(o[0], v[0], v[1], 5); },
       false},
      {"mix_rows_of_few_examples",
       {{2, 9, 4 * 5}},
       {{2, 4, 3, 8}, {2, 4, 9, 5}},
       [](B b, O o, V v, Tokens) { b.mix_rows_forward(o[0], v[0], v[1], 5); },
       false},
      {"mix_rows_backward",
       {{2, 4, 3, 8}, {2, 4, 9, 5}},
       {{2, 9, 4 * 5}, {2, 4, 3, 8}, {2, 4, 9, 5}},
       [](B b, O o, V v, Tokens) { b.mix_rows_backward(o[0], o[1], v[0], v[1], v[2], 5); }},
      {"mix_rows_backward_grouped",
       {{3, 4, 3, 8}, {3, 2, 9, 5}},
       {{3, 9, 4 * 5}, {3, 4, 3, 8}, {3, 2, 9, 5}},
       [](B b, O o, V v, Tokens) { b.mix_rows_backward(o[0], o[1], v[0], v[1], v[2], 5); }},
  };
  for (const Norm kind : {Norm::layer, Norm::rms}) {
    const std::string k = kind == Norm::layer ? "layer" : "rms";
    const auto eps = 1e-3;
    all.push_back({k + "norm",
                   {{6, 37}, {6, 2}},
                   {{6, 37}, {37}, {37}},
                   [=](B b, O o, V v, Tokens) {
                     b.norm_forward(o[0], {o[1].data, o[1].shape}, v[0], v[1], v[2], kind, eps);
                   },
                   false});
    // stats need not be those of x: the backward pass reads what it is given
    all.push_back({k + "norm_backward",
                   {{6, 37}, {37}, {37}},
                   {{6, 37}, {6, 37}, {37}, {6, 2}},
                   [=](B b, O o, V v, Tokens) {
                     b.norm_backward(o[0], o[1], o[2], v[0], v[1], v[2], v[3], kind);
                   }});
  }
  // 700 rows of 50 classes: several blocks of rows on the host
  for (const auto& [classes, cap] : {std::pair(50, 0.0), {48, 0.0}, {3, 0.0}, {50, 5.0}, {48, 5.0}})
    all.push_back({fmt::format("classify_{}{}", classes, cap > 0 ? "_capped" : ""),
                   {{700, 8}, {classes, 8}, {classes}, {700}, {700}},
                   {{700, 8}, {classes, 8}, {classes}},
                   [cap](B b, O o, V v, Tokens t) {
                     auto* const best = static_cast<std::int32_t*>(b.allocate(700 * 4));
                     b.classify({o[3].data, o[3].shape}, best, o[0], o[1], o[2], v[0],
                                {v[1], v[2], cap}, t, 0.01);
                     std::vector<std::int32_t> found(700);
                     b.download_tokens(found, best);
                     b.release(best);
                     const std::vector<double> places(found.begin(), found.end());
                     b.upload(o[4], places.data());
                   },
                   true,
                   0,
                   classes});
  return all;
}

// `missing`: the output that is not wanted, -1 for none.
std::vector<std::vector<double>> outcome(Backend& b, const DirectCase& c, bool add, int missing) {
  std::vector<void*> memory;
  const auto make = [&](const Values& v) {
    memory.push_back(b.allocate(v.data.size() * b.element_size()));
    b.upload({memory.back(), v.shape}, v.data.data());
    return memory.back();
  };
  Outs outs;
  for (std::size_t i = 0; i < c.outputs.size(); ++i) {
    void* const m = make(random_values(c.outputs[i], 50 + i));
    outs.push_back({static_cast<int>(i) == missing ? nullptr : m, c.outputs[i], add});
  }
  Views views;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    Values v = random_values(c.inputs[i], 10 + i);
    if (c.indices_to > 0 && i + 1 == c.inputs.size())  // some before the first and after the last
      for (double& x : v.data) x = std::floor(x * static_cast<double>(c.indices_to));
    views.push_back({make(v), v.shape});
  }
  auto* const tokens = static_cast<std::int32_t*>(b.allocate(700 * 4));
  std::vector<std::int32_t> words(700);
  pes::Random r(4, pes::purpose("tokens"), 0);
  for (std::int32_t& w : words)
    w = static_cast<std::int32_t>(r.below(static_cast<std::uint32_t>(c.tokens_to + 1)) %
                                  std::max<std::int64_t>(1, c.tokens_to));
  b.upload_tokens(tokens, words);
  c.call(b, outs, views, tokens);
  std::vector<std::vector<double>> all;
  for (const Out& o : outs) {
    if (!o) continue;
    all.emplace_back(static_cast<std::size_t>(o.shape.count()));
    b.download(all.back().data(), o.view());
  }
  for (void* m : memory) b.release(m);
  b.release(tokens);
  return all;
}

class DirectOps : public ::testing::TestWithParam<DirectCase> {
 protected:
  void SetUp() override {
    if (const std::string why = absent(); !why.empty()) GTEST_SKIP() << why;
  }
  static void expect_agreement(bool add, int missing) {
    const DirectCase& c = GetParam();
    const auto wanted = outcome(*open_backend("reference", {}), c, add, missing);
    const auto actual = outcome(*subject(Precision::fp32), c, add, missing);
    ASSERT_EQ(actual.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const Shape flat = {static_cast<std::int64_t>(wanted[i].size())};
      expect_close({flat, actual[i]}, {flat, wanted[i]}, c.tolerance,
                   "output " + std::to_string(i) + (add ? ", added to" : "") +
                       (missing < 0 ? "" : ", without output " + std::to_string(missing)));
    }
  }
};

TEST_P(DirectOps, Replace) {
  expect_agreement(false, -1);
}
TEST_P(DirectOps, Add) {
  expect_agreement(true, -1);
}

class OptionalOutputs : public DirectOps {};
TEST_P(OptionalOutputs, AreLeftOut) {
  const auto outputs = static_cast<int>(GetParam().outputs.size());
  const int optional = GetParam().tokens_to > 0 ? outputs - 2 : outputs;  // not nats and best
  for (int missing = 0; missing < optional; ++missing) expect_agreement(false, missing);
}

std::vector<DirectCase> cases_that_may_miss() {
  std::vector<DirectCase> all = direct_cases();
  std::erase_if(all, [](const DirectCase& c) { return !c.may_miss; });
  return all;
}
INSTANTIATE_TEST_SUITE_P(Direct, OptionalOutputs, ::testing::ValuesIn(cases_that_may_miss()),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Direct, DirectOps, ::testing::ValuesIn(direct_cases()),
                         [](const auto& info) { return info.param.name; });

class HeadsOnDevice : public ::testing::TestWithParam<HeadCase> {};
TEST_P(HeadsOnDevice, AgreeWithTheReference) {
  if (const std::string why = absent(); !why.empty()) GTEST_SKIP() << why;
  expect_heads_as_the_reference(*subject(Precision::fp32), GetParam());
}
INSTANTIATE_TEST_SUITE_P(Heads, HeadsOnDevice, ::testing::ValuesIn(head_cases()),
                         [](const auto& info) { return info.param.name; });

// More tokens than one block sorts: all alike, all different, and some far more often than others.
TEST(EmbedGradient, AgreesWithTheReference) {
  if (const std::string why = absent(); !why.empty()) GTEST_SKIP() << why;
  constexpr std::int64_t N = 10000, W = 3;
  const Values dy = random_values({N, W}, 1);
  const auto gradient = [&](Backend& b, const std::vector<std::int32_t>& words) {
    auto* const tokens = static_cast<std::int32_t*>(b.allocate(N * sizeof(std::int32_t)));
    b.upload_tokens(tokens, words);
    const Out from{b.allocate(dy.data.size() * b.element_size()), dy.shape};
    const Out to{b.allocate(dy.data.size() * b.element_size()), dy.shape};
    b.upload(from, dy.data.data());
    b.embed_backward(to, from.view(), tokens);
    Values all{dy.shape, std::vector<double>(dy.data.size())};
    b.download(all.data.data(), to.view());
    b.release(tokens), b.release(from.data), b.release(to.data);
    return all;
  };
  pes::Random r(4, pes::purpose("tokens"), 0);
  std::vector<std::int32_t> alike(N, 7), different(N), often(N);
  for (std::int64_t n = 0; n < N; ++n) {
    different[static_cast<std::size_t>(n)] = static_cast<std::int32_t>(n * 7919 % N);
    often[static_cast<std::size_t>(n)] = static_cast<std::int32_t>(r.below(1 + r.below(N)));
  }
  for (const auto& words : {alike, different, often}) {
    const Values actual = gradient(*subject(Precision::fp32), words);
    expect_close(actual, gradient(*open_backend("reference", {}), words), 5e-6, "dtable");
    EXPECT_EQ(actual.data, gradient(*subject_backwards(), words).data);
  }
}

// Indices that rise are not sorted, and the gradient is the same to the last bit.
TEST(RowsGradient, OfRisingIndicesIsThatOfAny) {
  if (const std::string why = absent(); !why.empty()) GTEST_SKIP() << why;
  constexpr std::int64_t N = 9000, rows = 20000, W = 3;
  const Values dy = random_values({N, W}, 1);
  Values index{{N}, {}};
  for (std::int64_t n = 0; n < N; ++n)  // each row once, and the last of them 500 times
    index.data.push_back(static_cast<double>(2 * std::min(n, N - 500)));
  const auto gradient = [&](Backend& b, bool rising) {
    const Out from{b.allocate(dy.data.size() * b.element_size()), dy.shape};
    const Out at{b.allocate(index.data.size() * b.element_size()), index.shape};
    const Out to{b.allocate(rows * W * b.element_size()), {rows, W}};
    b.upload(from, dy.data.data());
    b.upload(at, index.data.data());
    const long before = launches();
    b.rows_backward(to, from.view(), at.view(), rising);
    const long started = launches() - before;
    Values all{to.shape, std::vector<double>(rows * W)};
    b.download(all.data.data(), to.view());
    for (const Out& o : {from, at, to}) b.release(o.data);
    return std::pair(all, started);
  };
  const auto [actual, few] = gradient(*subject(Precision::fp32), true);
  const auto [sorted, many] = gradient(*subject(Precision::fp32), false);
  EXPECT_EQ(actual.data, sorted.data);
  EXPECT_EQ(actual.data, gradient(*subject_backwards(), true).first.data);
  expect_close(actual, gradient(*open_backend("reference", {}), true).first, 5e-6, "dx");
  if (launches() >= 0) {
    EXPECT_LT(few, many);
  }

  const auto backend = subject(Precision::fp32);
  Tape tape(*backend);
  const auto rises = [&](std::vector<double> list) {
    return tape.rises(tape.constant({std::ssize(list)}, list.data()));
  };
  EXPECT_TRUE(rises({3}) && rises({0, 0, 2, 7}));
  EXPECT_FALSE(rises({0, 2, 1}) || rises({0, std::nan(""), 1}));
}

// One query after others, as when text is written: it sees all keys.
TEST(DecodingAttention, AgreesWithTheReference) {
  if (const std::string why = absent(); !why.empty()) GTEST_SKIP() << why;
  const Values q = random_values({2, 4, 3, 8}, 1), k = random_values({2, 2, 20, 8}, 2),
               v = random_values({2, 2, 20, 8}, 3), table = random_values({4, 30}, 4),
               bias = random_values({4, 1, 20}, 5);
  const auto attend = [&](Backend& b) {
    std::vector<void*> memory;
    const auto make = [&](const Values& x) {
      memory.push_back(b.allocate(x.data.size() * b.element_size()));
      b.upload({memory.back(), x.shape}, x.data.data());
      return View{memory.back(), x.shape};
    };
    const AttentionInput input{make(q), make(k), make(v), make(table), make(bias), 0.4, 17, {}};
    const Shape shape = {2, 3, 32}, rows = {2, 4, 3};
    const Out y{b.allocate(192 * b.element_size()), shape};
    const Out lse{b.allocate(24 * b.element_size()), rows};
    b.attention_forward(y, lse, input);
    std::vector<double> all(192 + 24);
    b.download(all.data(), y.view());
    b.download(all.data() + 192, lse.view());
    for (void* m : memory) b.release(m);
    b.release(y.data), b.release(lse.data);
    return Values{{216}, all};
  };
  expect_close(attend(*subject(Precision::fp32)), attend(*open_backend("reference", {})), 5e-6,
               "y and lse");
}

// Scores of which the softmax leaves nothing but the largest, and scores far below 0.
TEST(AdversarialAttention, AgreesWithTheReference) {
  if (const std::string why = absent(); !why.empty()) GTEST_SKIP() << why;
  for (const double shift : {-120.0, 0.0, 90.0}) {
    const std::vector<Values> in = {
        random_values({1, 2, 70, 8}, 1, 4), random_values({1, 2, 70, 8}, 2, 4),
        random_values({1, 2, 70, 8}, 3), random_values({2, 70, 70}, 4, 1, shift)};
    const Build build = [](Tape& t, const std::vector<Tensor>& x) {
      Attention a;
      a.q = x[0], a.k = x[1], a.v = x[2], a.bias = x[3];
      return attend(t, a);
    };
    const Result wanted = run(*open_backend("reference", {}), in, build);
    const Result actual = run(*subject(Precision::fp32), in, build);
    expect_close(actual.y, wanted.y, 5e-5, "y");
    for (std::size_t i = 0; i < in.size(); ++i)
      expect_close(actual.gradients[i], wanted.gradients[i], 2e-4,
                   "gradient of input " + std::to_string(i));
  }
}

}  // namespace
}  // namespace pesuite::testing
