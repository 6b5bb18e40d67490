// Rewriters that do no more than add to the scores, which run in the fused kernel by rows, and the
// two layers that make what such a rewriter adds.
#include "backend/cpu/bf16.h"
#include "tests/tensor/added_cases.h"

namespace pesuite::testing {
namespace {

void expect_same(const Result& actual, const Result& wanted, double tolerance) {
  ASSERT_EQ(actual.failure, "");
  expect_close(actual.y, wanted.y, tolerance, "y");
  for (std::size_t i = 0; i < wanted.gradients.size(); ++i)
    expect_close(actual.gradients[i], wanted.gradients[i], 4 * tolerance,
                 "gradient of input " + std::to_string(i));
}

class AddedTest : public ::testing::TestWithParam<AddedCase> {};

TEST_P(AddedTest, RunsFusedAndAgreesWithTheSlot) {
  const auto reference = open_backend("reference", {}), cpu = open_backend("cpu", {});
  const Result wanted = result(*reference, GetParam(), By::slot);
  expect_same(result(*reference, GetParam(), By::rewriter), wanted, 1e-12);
  expect_same(result(*cpu, GetParam(), By::rewriter), wanted, 1e-5);
}

TEST_P(AddedTest, AgreesWithTheComposedPath) {
  if (GetParam().dropout > 0) GTEST_SKIP() << "composed attention draws its dropout otherwise";
  const auto cpu = open_backend("cpu", {});
  expect_same(result(*cpu, GetParam(), By::content), result(*cpu, GetParam(), By::rewriter), 1e-5);
}

TEST_P(AddedTest, ThreadsChangeNoBit) {
  for (const Precision p : {Precision::fp32, Precision::bf16}) {
    if (p == Precision::bf16 && bf16::best_kernel() == bf16::Kernel::none) continue;
    const Result one = result(*open_backend("cpu", {.precision = p}), GetParam(), By::rewriter);
    const Result two =
        result(*open_backend("cpu", {.threads = 2, .precision = p}), GetParam(), By::rewriter);
    EXPECT_EQ(one.y.data, two.y.data);
    for (std::size_t i = 0; i < one.gradients.size(); ++i)
      EXPECT_EQ(one.gradients[i].data, two.gradients[i].data) << "of input " << i;
  }
}

// Root mean square of a - b, against that of b.
double apart(const Values& a, const Values& b) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < b.data.size(); ++i) {
    difference += std::pow(a.data[i] - b.data[i], 2);
    size += std::pow(b.data[i], 2);
  }
  const auto n = static_cast<double>(b.data.size());
  return std::sqrt(difference / n) / (std::sqrt(size / n) + 0.1);
}

// But for y and its gradient, which only the slot's attention stores in bf16.
TEST_P(AddedTest, Bf16RoundsAsTheSlotDoes) {
  if (bf16::best_kernel() == bf16::Kernel::none) GTEST_SKIP() << "no AVX512-BF16 here";
  const auto backend = open_backend("cpu", {.precision = Precision::bf16});
  const Result actual = result(*backend, GetParam(), By::rewriter);
  const Result slot = result(*backend, GetParam(), By::slot);
  const Result exact = result(*open_backend("reference", {}), GetParam(), By::slot);
  ASSERT_EQ(actual.failure, "");
  EXPECT_LT(apart(actual.y, slot.y), 0.003);
  for (std::size_t i = 0; i < slot.gradients.size(); ++i) {
    const Values nothing{exact.gradients[i].shape,
                         std::vector<double>(exact.gradients[i].data.size())};
    const bool cancels = apart(exact.gradients[i], nothing) < 1e-6;  // what is left is rounding
    EXPECT_LT(apart(actual.gradients[i], slot.gradients[i]), cancels ? 0.1 : 0.01)
        << "of input " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Added, AddedTest, ::testing::ValuesIn(added_cases),
                         [](const auto& info) { return info.param.name; });

// w2 relu(w1 x + b1) + b2 of 1027 columns, as ops say it. `patient`: in one kernel.
struct LayersCase {
  std::string name;
  Shape w2, b2, w1, b1, x;  // {0}: none
};
void PrintTo(const LayersCase& c, std::ostream* out) {
  *out << c.name;
}
const std::vector<LayersCase> networks = {
    {"biases", {4, 32}, {4, 1}, {32, 1}, {32, 1}, {1, 1027}},
    {"no_biases", {3, 5}, {0}, {5, 7}, {0}, {7, 1027}},
    {"one_for_each_head", {2, 1, 6}, {2, 1, 1}, {2, 6, 3}, {2, 6, 1}, {1, 3, 1027}},
    {"inputs_of_their_own", {2, 2, 6}, {0}, {2, 6, 3}, {2, 6, 1}, {2, 3, 1027}},
};
Build layers(const LayersCase& c, bool patient) {
  return [&c, patient](Tape& t, const std::vector<Tensor>& x) {
    std::unique_ptr<Tape::Patience> patience;
    if (patient) patience = std::make_unique<Tape::Patience>(t);
    std::size_t n = 3;
    Tensor h = ops::matmul(t, x[1], x[2], false);
    EXPECT_EQ(t.unmade(h), patient);
    if (!(c.b1 == Shape{0})) h = ops::binary(t, Binary::add, h, x[n++]);
    Tensor y = ops::matmul(t, x[0], ops::unary(t, Unary::relu, h), false);
    if (!(c.b2 == Shape{0})) y = ops::binary(t, Binary::add, y, x[n++]);
    EXPECT_EQ(t.unmade(y), patient);
    y = t.now(y);
    EXPECT_EQ(t.unmade(h), patient) << "nobody has asked for it";
    return y;
  };
}

class LayersTest : public ::testing::TestWithParam<LayersCase> {};

TEST_P(LayersTest, InOneKernelAreThoseOfTheOps) {
  const LayersCase& c = GetParam();
  std::vector<Values> in = {random_values(c.w2, 1), random_values(c.w1, 2), random_values(c.x, 3)};
  for (const Shape& s : {c.b1, c.b2})
    if (!(s == Shape{0})) in.push_back(random_values(s, 4 + in.size()));
  const auto reference = open_backend("reference", {});
  const Result wanted = run(*reference, in, layers(c, false));
  expect_same(run(*reference, in, layers(c, true)), wanted, 1e-12);
  const Result one = run(*open_backend("cpu", {}), in, layers(c, true)),
               two = run(*open_backend("cpu", {.threads = 2}), in, layers(c, true));
  expect_same(one, wanted, 5e-6);
  EXPECT_EQ(one.y.data, two.y.data);
  for (std::size_t i = 0; i < in.size(); ++i)
    EXPECT_EQ(one.gradients[i].data, two.gradients[i].data) << "of input " << i;
}

INSTANTIATE_TEST_SUITE_P(Layers, LayersTest, ::testing::ValuesIn(networks),
                         [](const auto& info) { return info.param.name; });

// Who asks for what is between the layers gets it, and the layers' result stays the same.
TEST(Layers, MayBeAskedForInParts) {
  const std::vector<Values> in = {random_values({4, 6}, 1), random_values({6, 2}, 2),
                                  random_values({2, 1030}, 3)};
  const auto build = [](bool patient) {
    return [patient](Tape& t, const std::vector<Tensor>& x) {
      std::unique_ptr<Tape::Patience> patience;
      if (patient) patience = std::make_unique<Tape::Patience>(t);
      const Tensor z = ops::matmul(t, x[1], x[2], false), h = ops::unary(t, Unary::relu, z);
      const Tensor y = ops::matmul(t, x[0], h, false);
      const Tensor sums = ops::sum(t, t.now(h), 0);  // [1, 1030]
      return ops::binary(t, Binary::mul, t.now(y), sums);
    };
  };
  for (const char* name : {"reference", "cpu"}) {
    const auto backend = open_backend(name, {});
    expect_same(run(*backend, in, build(true)), run(*backend, in, build(false)), 5e-6);
  }
}

}  // namespace
}  // namespace pesuite::testing
