// The CUDA backend against the reference in double: every op that a tape records, and attention of
// all forms, forward and gradients.
#include <gmock/gmock.h>

#include <cmath>
#include <functional>

#include "tests/gpu/subject.h"
#include "tests/tensor/added_cases.h"
#include "tests/tensor/attention_cases.h"
#include "tests/tensor/op_cases.h"

namespace pesuite::testing {
namespace {

using ::testing::StartsWith;

void expect_equal_bits(const Result& a, const Result& b) {
  EXPECT_EQ(a.y.data, b.y.data);
  for (std::size_t i = 0; i < a.gradients.size(); ++i)
    EXPECT_EQ(a.gradients[i].data, b.gradients[i].data) << "gradient of input " << i;
}

class OpConformance : public ::testing::TestWithParam<OpCase> {
 protected:
  void SetUp() override {
    if (const std::string why = absent(); !why.empty()) GTEST_SKIP() << why;
  }
};

TEST_P(OpConformance, AgreesWithTheReference) {
  const OpCase& c = GetParam();
  const Result wanted = run(*open_backend("reference", {}), c.inputs, c.build);
  const Result actual = run(*subject(Precision::fp32), c.inputs, c.build);
  ASSERT_EQ(actual.failure, "");
  expect_close(actual.y, wanted.y, c.tolerance, "y");
  for (std::size_t i = 0; i < c.inputs.size(); ++i)
    expect_close(actual.gradients[i], wanted.gradients[i], 5 * c.tolerance,
                 "gradient of input " + std::to_string(i));
}

TEST_P(OpConformance, RepeatsBitByBit) {
  const OpCase& c = GetParam();
  expect_equal_bits(run(*subject(Precision::fp32), c.inputs, c.build),
                    run(*subject_backwards(), c.inputs, c.build));
}

INSTANTIATE_TEST_SUITE_P(Ops, OpConformance, ::testing::ValuesIn(op_cases()),
                         [](const auto& info) { return info.param.name; });

class AttentionConformance : public ::testing::TestWithParam<AttentionExample> {
 protected:
  void SetUp() override {
    if (const std::string why = absent(); !why.empty()) GTEST_SKIP() << why;
  }
};

TEST_P(AttentionConformance, AgreesWithTheReference) {
  const AttentionExample& c = GetParam();
  const Result wanted = run(*open_backend("reference", {}), inputs(c), fused(c));
  const auto backend = subject(Precision::fp32);
  const Result actual = run(*backend, inputs(c), fused(c));
  ASSERT_EQ(actual.failure, "");
  EXPECT_THAT(backend->attention_route(), StartsWith("composed backward: "));
  expect_close(actual.y, wanted.y, 5e-6, "y");
  for (std::size_t i = 0; i < wanted.gradients.size(); ++i)
    expect_close(actual.gradients[i], wanted.gradients[i], 2e-5,
                 "gradient of input " + std::to_string(i));
}

TEST_P(AttentionConformance, RepeatsBitByBit) {
  const AttentionExample& c = GetParam();
  expect_equal_bits(run(*subject(Precision::fp32), inputs(c), fused(c)),
                    run(*subject_backwards(), inputs(c), fused(c)));
}

TEST_P(AttentionConformance, RepeatsBitByBitInBf16) {
  const AttentionExample& c = GetParam();
  expect_equal_bits(run(*subject(Precision::bf16), inputs(c), fused(c)),
                    run(*subject(Precision::bf16), inputs(c), fused(c)));
}

TEST_P(AttentionConformance, OfOpsAgreesWithTheReference) {
  const AttentionExample& c = GetParam();
  const Result wanted = run(*open_backend("reference", {}), inputs(c), composed(c));
  const Result actual = run(*subject(Precision::fp32), inputs(c), composed(c));
  ASSERT_EQ(actual.failure, "");
  expect_close(actual.y, wanted.y, 5e-6, "y");
  for (std::size_t i = 0; i < wanted.gradients.size(); ++i)
    expect_close(actual.gradients[i], wanted.gradients[i], 2e-5,
                 "gradient of input " + std::to_string(i));
}

TEST_P(AttentionConformance, ByRowsAgreesWithTheReference) {
  const AttentionExample& c = GetParam();
  const Result wanted = run(*open_backend("reference", {}), inputs(c), fused(c));
  const Result actual = run(*subject(Precision::fp32), inputs(c), rewritten(c, untouched));
  ASSERT_EQ(actual.failure, "");
  expect_close(actual.y, wanted.y, 5e-6, "y");
  for (std::size_t i = 0; i < wanted.gradients.size(); ++i)
    expect_close(actual.gradients[i], wanted.gradients[i], 2e-5,
                 "gradient of input " + std::to_string(i));
}

TEST(AttentionByRows, AgreesWithTheReference) {
  if (const std::string why = absent(); !why.empty()) GTEST_SKIP() << why;
  for (const AddedCase& c : added_cases) {
    const Result wanted = result(*open_backend("reference", {}), c, By::slot);
    const Result actual = result(*subject(Precision::fp32), c, By::rewriter);
    ASSERT_EQ(actual.failure, "") << c.name;
    expect_close(actual.y, wanted.y, 1e-5, c.name + ", y");
    for (std::size_t i = 0; i < wanted.gradients.size(); ++i)
      expect_close(actual.gradients[i], wanted.gradients[i], 4e-5,
                   c.name + ", gradient of input " + std::to_string(i));
  }
}

void expect_near_the_reference(const AttentionExample& c, Precision precision, double of_y,
                               double of_gradients, double apart) {
  const Result wanted = run(*open_backend("reference", {}), inputs(c), fused(c));
  const Result actual = run(*subject(precision), inputs(c), fused(c));
  ASSERT_EQ(actual.failure, "");
  EXPECT_LT(relative(actual.y, wanted.y), of_y);
  if (c.T > 1) {
    EXPECT_GT(relative(actual.y, wanted.y), apart) << "it is another precision";
  }
  for (std::size_t i = 0; i < wanted.gradients.size(); ++i)
    EXPECT_LT(relative(actual.gradients[i], wanted.gradients[i]), of_gradients) << "of input " << i;
}
TEST_P(AttentionConformance, Bf16IsNearTheReference) {
  expect_near_the_reference(GetParam(), Precision::bf16, 1e-2, 2e-2, 1e-5);
}
TEST_P(AttentionConformance, Fp16IsNearTheReference) {
  expect_near_the_reference(GetParam(), Precision::fp16, 2e-3, 5e-3, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Attention, AttentionConformance, ::testing::ValuesIn(attention_cases()),
                         [](const auto& info) { return info.param.name; });

// Which way bf16 goes.
TEST(AttentionRoutes, AreThoseOfTheSlots) {
  if (const std::string why = absent(); !why.empty()) GTEST_SKIP() << why;
  const std::vector<std::pair<AttentionExample, std::string>> examples = {
      {{"plain", 2, 3, 3, 64, 16, 16}, "fused backward: the scores are those of q and k"},
      {{"narrow", 1, 2, 2, 40, 12, 16}, "fused backward: "},
      {{"grouped", 2, 4, 2, 70, 8, 8}, "fused backward: "},
      {{"table", 2, 3, 3, 70, 8, 8, {3, 70}},
       "fused backward: the table by distance is read tile by tile"},
      {{"keys", 2, 2, 2, 70, 8, 8, {0}, {2, 1, 1, 70}},
       "fused backward: the values for keys are read tile by tile"},
      {{"rows", 2, 2, 2, 70, 8, 8, {0}, {70, 1}}, "fused backward: the bias is constant"},
      {{"both", 1, 2, 1, 80, 8, 8, {2, 80}, {2, 80, 80}}, "bias-tensor backward: "},
      {{"long_table", 2, 4, 2, 130, 16, 8, {4, 140}},
       "fused backward: the table by distance is read tile by tile"},
      {{"long_shared", 2, 2, 1, 90, 12, 8, {1, 90}, {2, 1, 1, 90}},
       "fused backward: the table by distance and the values for keys are read tile by tile"},
      {{"table_and_rows", 2, 2, 1, 90, 12, 8, {1, 90}, {90, 1}},
       "fused backward: the table by distance is read tile by tile"},
      {{"table_and_map", 2, 2, 1, 90, 12, 8, {1, 90}, {90, 90}}, "bias-tensor backward: "},
      {{"wide_table", 1, 2, 1, 150, 128, 64, {2, 150}},
       "fused backward: the table by distance is read tile by tile"},
      {{"wide_keys", 2, 2, 1, 130, 96, 128, {0}, {2, 1, 130}},
       "fused backward: the values for keys are read tile by tile"},
      {{"long_keys", 2, 3, 3, 90, 8, 8, {0}, {3, 1, 90}},
       "fused backward: the values for keys are read tile by tile"},
      {{"keys_of_all", 2, 2, 2, 70, 8, 8, {0}, {1, 70}},
       "fused backward: the values for keys are read tile by tile"},
      {{"keys_of_heads", 2, 2, 2, 70, 8, 8, {0}, {2, 2, 1, 70}},
       "fused backward: the values for keys are read tile by tile"},
      {{"map_of_examples", 2, 2, 2, 70, 8, 8, {0}, {2, 1, 70, 70}},
       "bias-tensor backward: a bias of [2, 1, 70, 70] is read"},
      {{"map_of_all", 2, 2, 2, 70, 8, 8, {0}, {70, 70}},
       "bias-tensor backward: a bias of [1, 1, 70, 70] is read"},
      {{"map_of_each", 2, 2, 2, 70, 8, 8, {0}, {2, 2, 70, 70}},
       "bias-tensor backward: a bias of [2, 2, 70, 70] is read"},
      {{"long_map", 2, 2, 2, 90, 8, 8, {0}, {2, 90, 90}},
       "bias-tensor backward: a bias of [1, 2, 90, 90] is read"},
      {{"odd_values", 1, 3, 3, 13, 8, 5}, "composed backward: head sizes 8"},
      {{"one", 1, 2, 2, 1, 8, 8}, "composed backward: a backward pass of one query"},
      // Forward fused with a table less its largest entry, or without a bias: not so backward.
      {{"wide", 1, 2, 2, 40, 200, 200, {2, 40}}, "composed backward: head sizes 200"},
      {{"wide_rows", 1, 2, 2, 40, 200, 200, {0}, {40, 1}}, "composed backward: head sizes 200"},
      {{"drops", 2, 2, 2, 70, 8, 8, {0}, {0}, 0.25}, "composed backward: dropout"}};
  for (const auto& [c, route] : examples) {
    const auto backend = subject(Precision::bf16);
    const Result wanted = run(*open_backend("reference", {}), inputs(c), fused(c));
    const Result actual = run(*backend, inputs(c), fused(c));
    EXPECT_THAT(backend->attention_route(), StartsWith(route)) << c.name;
    EXPECT_LT(relative(actual.y, wanted.y), 1e-2) << c.name;
    for (std::size_t i = 0; i < wanted.gradients.size(); ++i)
      EXPECT_LT(relative(actual.gradients[i], wanted.gradients[i]), 2e-2)
          << c.name << ", input " << i;
  }
}

// A program computes at many lengths. Kernels of cuDNN that serve several give wrong numbers at all
// but the first (docs/gpu.md).
TEST(AttentionRoutes, StayRightFromLengthToLength) {
  if (const std::string why = absent(); !why.empty()) GTEST_SKIP() << why;
  const bool on_device = launches() < 0;
  const std::vector<std::int64_t> lengths =
      on_device ? std::vector<std::int64_t>{128, 512, 4096, 1000, 8192, 64, 2048}
                : std::vector<std::int64_t>{16, 40, 24};
  for (const bool line : {false, true}) {
    const auto backend = subject(Precision::bf16);
    for (const std::int64_t T : lengths)
      for (const std::int64_t B : {std::int64_t{1}, std::int64_t{3}}) {
        const std::int64_t size = on_device ? 64 : 8;
        const AttentionExample c = {"", B, 2, 2, T, size, size};
        const std::vector<double> slopes = {-0.25, -0.0625};
        const auto with_line = [&](Tape& t, Attention a) {
          Values table{{2, T}, {}};
          for (const double slope : slopes)
            for (std::int64_t d = 0; d < T; ++d)
              table.data.push_back(slope * static_cast<double>(d));
          if (line) a.distance = t.constant(table.shape, table.data.data());
          return a;
        };
        const Build one = [&](Tape& t, const std::vector<Tensor>& x) {
          return attend(t, with_line(t, attention(c, x)));
        };
        const Build other = [&](Tape& t, const std::vector<Tensor>& x) {
          Attention a = with_line(t, attention(c, x));
          a.rewrite.call = unchanged;
          return attend(t, a);
        };
        const Result actual = run(*backend, inputs(c), one);
        EXPECT_THAT(backend->attention_route(), StartsWith("fused backward")) << T;
        const Result wanted = run(*backend, inputs(c), other);
        EXPECT_LT(relative(actual.y, wanted.y), 1e-2) << T << " tokens, batch " << B;
        for (std::size_t i = 0; i < wanted.gradients.size(); ++i)
          EXPECT_LT(relative(actual.gradients[i], wanted.gradients[i]), 2e-2)
              << T << " tokens, batch " << B << ", input " << i;
      }
  }
}

// ---------------------------------------------------------------------- tables that are lines

// -slope[h] d of H heads, slope[h] = 2^-(h + 1) but for `odd`, in units in the last place of one
// entry.
Values line_table(std::int64_t H, std::int64_t N, int odd = 0) {
  Values table{{H, N}, {}};
  for (std::int64_t h = 0; h < H; ++h)
    for (std::int64_t d = 0; d < N; ++d)
      table.data.push_back(-std::ldexp(static_cast<double>(d), -1 - static_cast<int>(h)));
  auto& entry = table.data[static_cast<std::size_t>(N / 2)];
  for (int i = 0; i < odd; ++i) entry = std::nextafter(static_cast<float>(entry), 0.0f);
  return table;
}

// Attention over 70 tokens with a table that `make` makes of constants.
void expect_route_of_table(const std::string& route, const std::function<Tensor(Tape&)>& make) {
  const AttentionExample c = {"line", 2, 3, 3, 70, 8, 8};
  const Build build = [&](Tape& t, const std::vector<Tensor>& x) {
    Attention a = attention(c, x);
    a.distance = make(t);
    return attend(t, a);
  };
  const auto backend = subject(Precision::bf16);
  const Result wanted = run(*open_backend("reference", {}), inputs(c), build);
  const Result actual = run(*backend, inputs(c), build);
  EXPECT_THAT(backend->attention_route(), StartsWith(route));
  EXPECT_LT(relative(actual.y, wanted.y), 1e-2);
  for (std::size_t i = 0; i < wanted.gradients.size(); ++i)
    EXPECT_LT(relative(actual.gradients[i], wanted.gradients[i]), 2e-2) << "of input " << i;
}

TEST(LinearTables, AreSlopesWhereTheyAreConstants) {
  if (const std::string why = absent(); !why.empty()) GTEST_SKIP() << why;
  const std::string slope = "fused backward: the table is linear in the distance",
                    table = "fused backward: the table by distance is read";
  const Values line = line_table(3, 70), near = line_table(3, 70, 2), off = line_table(3, 70, 3),
               one = line_table(1, 90);
  const auto constant = [](Tape& t, const Values& v) { return t.constant(v.shape, v.data.data()); };
  expect_route_of_table(slope, [&](Tape& t) { return constant(t, line); });
  expect_route_of_table(slope, [&](Tape& t) { return constant(t, near); });
  expect_route_of_table(slope, [&](Tape& t) { return constant(t, one); });
  expect_route_of_table(table, [&](Tape& t) { return constant(t, off); });
  // A line bent by an op, and what an op makes of a line: nobody looks.
  expect_route_of_table(table,
                        [&](Tape& t) { return ops::unary(t, Unary::tanh, constant(t, line)); });
  expect_route_of_table(table, [&](Tape& t) { return ops::affine(t, constant(t, line), 2, 0); });
  // Memory of a line that holds something else by now.
  expect_route_of_table(table, [&](Tape& t) {
    const Tape::Pause pause(t);
    const Tape::Mark mark = t.mark();
    constant(t, line);
    t.release_since(mark);
    return constant(t, off);
  });
}

TEST(LinearTables, ThatLearnStayTables) {
  if (const std::string why = absent(); !why.empty()) GTEST_SKIP() << why;
  const AttentionExample c = {"line", 2, 3, 3, 70, 8, 8, {3, 70}};
  std::vector<Values> in = inputs(c);
  in[3] = line_table(3, 70);
  const auto backend = subject(Precision::bf16);
  const Result wanted = run(*open_backend("reference", {}), in, fused(c));
  const Result actual = run(*backend, in, fused(c));
  EXPECT_THAT(backend->attention_route(), StartsWith("fused backward: the table by distance is"));
  EXPECT_LT(relative(actual.gradients[3], wanted.gradients[3]), 2e-2);
}

}  // namespace
}  // namespace pesuite::testing
