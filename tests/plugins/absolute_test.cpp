// What is added to the embeddings, where no vector of public code reaches: policies past a table,
// positions too long for a width, offsets.
#include <gmock/gmock.h>

#include <numeric>

#include "base/error.h"
#include "tests/plugins/hooks.h"

namespace pesuite::testing {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pointwise;

// A model of width 4; a learned table of 4 rows whose row n is n everywhere.
class LearnedTest : public ::testing::Test {
 protected:
  static constexpr int width = 4;
  static std::vector<double> first_column(const std::string& expression, int length,
                                          int offset = 0) {
    Hooks h(expression, {1, 1, 1, 4, width, 4, 4096});
    for (std::size_t i = 0; i < h.parameters[0].data.size(); ++i)
      h.parameters[0].data[i] = static_cast<double>(i / width);
    const std::vector<double> y = h.embed(zeros({1, length, width}), offset);
    std::vector<double> out;
    for (std::size_t i = 0; i < y.size(); i += width) out.push_back(y[i]);
    return out;
  }
};

TEST_F(LearnedTest, ClampTakesTheLastRow) {
  EXPECT_THAT(first_column("learned(rows=4, past=clamp)", 7), ElementsAre(0, 1, 2, 3, 3, 3, 3));
  EXPECT_THAT(first_column("learned(rows=4, past=clamp)", 2, 9), ElementsAre(3, 3));
}
TEST_F(LearnedTest, InterpolateSqueezesAllPositionsIntoTheTable) {
  EXPECT_THAT(first_column("learned(rows=4, past=interpolate)", 7),
              Pointwise(DoubleNear(1e-12), {0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0}));
  EXPECT_THAT(first_column("learned(rows=4, past=interpolate)", 3), ElementsAre(0, 1, 2));
}
TEST_F(LearnedTest, ErrorRefusesWithTheRowsThatThereAre) {
  EXPECT_THAT(first_column("learned(rows=4)", 4), ElementsAre(0, 1, 2, 3));
  try {
    first_column("learned(rows=4)", 5);
    FAIL() << "position 4 has no row";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("position 4 is past the table's 4 rows"));
  }
}
TEST_F(LearnedTest, UntrainedIsTheShareOfRowsThatTrainingNeverReached) {
  const ModelShape m{1, 1, 1, 4, 4, 4, 4096};
  EXPECT_EQ(Hooks("learned(rows=16)", m).encoding.untrained(16), 0.75);
  EXPECT_EQ(Hooks("learned(rows=4, past=clamp)", m).encoding.untrained(16), 0);
  EXPECT_EQ(Hooks("learned(rows=8, past=interpolate)", m).encoding.untrained(16), 0.5);
}

TEST(DigitsTest, WriteThePositionMostSignificantFirst) {
  const ModelShape m{1, 1, 1, 4, 4, 16, 4096};
  const auto row = [&](const char* expression, int position) {
    return Hooks(expression, m).embed(zeros({1, 1, 4}), position);
  };
  EXPECT_THAT(row("binary", 11), ElementsAre(1, 0, 1, 1));
  EXPECT_THAT(row("binary_norm", 4), ElementsAre(-1, 1, -1, -1));
  EXPECT_THAT(row("decimal", 407), ElementsAre(0, 4, 0, 7));
  EXPECT_THAT(row("decimal_norm", 90), ElementsAre(-1, -1, 1, -1));
}
TEST(IntegerTest, WritesThePositionIntoTheLastColumn) {
  const ModelShape m{1, 1, 1, 4, 4, 17, 4096};
  const auto row = [&](const char* expression, int position) {
    return Hooks(expression, m).embed(zeros({1, 1, 4}), position);
  };
  EXPECT_THAT(row("integer", 4), ElementsAre(0, 0, 0, 0.25));
  EXPECT_THAT(row("integer", 32), ElementsAre(0, 0, 0, 2)) << "past the training length it goes on";
  EXPECT_THAT(row("integer(normalized=false)", 4), ElementsAre(0, 0, 0, 4));
}
TEST(DigitsTest, RefuseAPositionWithMoreDigitsThanColumns) {
  const ModelShape m{1, 1, 1, 4, 4, 16, 4096};
  EXPECT_EQ(Hooks("binary", m).embed(zeros({1, 16, 4})).size(), 64u);
  EXPECT_THROW(Hooks("binary", {1, 1, 1, 4, 4, 17, 4096}), Error) << "nor can it train so far";
  try {
    Hooks("binary", m).embed(zeros({1, 17, 4}));
    FAIL() << "16 is 10000";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("position 16 has more than the 4 digits"));
  }
}

TEST(AbsoluteTest, AnOffsetContinuesTheSequence) {
  for (const char* expression : {"sinusoidal", "sinusoidal(layout=concat, exponent=endpoints)",
                                 "sinonly", "binary_norm", "decimal", "learned(rows=64)"}) {
    const golden::Values x = drawn({1, 12, 16}, 5);
    const std::vector<double> whole = Hooks(expression).embed(x);
    golden::Values end{{1, 5, 16}, {x.data.end() - 5 * 16, x.data.end()}};
    const std::vector<double> part = Hooks(expression).embed(end, 7);
    EXPECT_THAT(part,
                Pointwise(DoubleNear(0), std::vector<double>(whole.end() - 5 * 16, whole.end())))
        << expression;
  }
}
TEST(AbsoluteTest, TokenEmbeddingsAreScaledWhereAsked) {
  const golden::Values x = drawn({1, 3, 16}, 6);
  for (const char* name : {"sinusoidal", "sinonly", "binary", "decimal_norm", "integer"}) {
    const std::string text = name;
    const auto scaled = Hooks(text).embed(x);
    const auto plain = Hooks(text + "(scale_embedding=false)").embed(x);
    for (std::size_t i = 0; i < x.data.size(); ++i)
      EXPECT_NEAR(scaled[i] - plain[i], 3 * x.data[i], 1e-12) << text;  // sqrt(16) - 1
  }
}
TEST(AbsoluteTest, EndpointsReachOneOverBase) {
  const auto row =
      Hooks("sinusoidal(layout=concat, exponent=endpoints, base=100)").embed(zeros({1, 1, 16}), 1);
  EXPECT_NEAR(row[0], std::sin(1.0), 1e-15);
  EXPECT_NEAR(row[7], std::sin(0.01), 1e-15);
  EXPECT_NEAR(row[15], std::cos(0.01), 1e-15);
}

}  // namespace
}  // namespace pesuite::testing
