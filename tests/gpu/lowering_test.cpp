// How each slot of an encoding is lowered, and what is composed and why.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/cuda/lowering.h"

namespace pesuite::testing {
namespace {

using namespace cuda;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t B = 8, H = 12, T = 1024;

AttentionCase training(std::int64_t length = T, std::int64_t size = 64) {
  AttentionCase c;
  c.q = c.k = {B, H, length, size};
  c.v = {B, H, length, 64};
  c.training = true;
  return c;
}
// With cuDNN alone, its backward pass trusted with a value for each key; and as a device is found.
const DeviceFacts hopper = {90, std::int64_t{100} << 30, 4096, true};
const DeviceFacts as_found = {90, std::int64_t{100} << 30};

// Of table[h, d] = -(h + 1) / 8 * d
std::vector<float> some_slopes(std::int64_t rows) {
  std::vector<float> slopes;
  for (std::int64_t h = 0; h < rows; ++h) slopes.push_back(static_cast<float>(h + 1) / 8);
  return slopes;
}

void expect_composed(const AttentionCase& c, const char* reason, const DeviceFacts& on = hopper) {
  const Lowering to = lower(c, on);
  EXPECT_EQ(to.route, Route::composed);
  EXPECT_THAT(to.reason, HasSubstr(reason));
}

TEST(Lowering, OfQAndKAloneIsFused) {
  const Lowering to = lower(training(), hopper);
  EXPECT_EQ(to.route, Route::fused);
  EXPECT_EQ(to.reason, "the scores are those of q and k");
  EXPECT_EQ(to.request.D, 64);
  EXPECT_TRUE(to.request.causal);
  EXPECT_TRUE(to.request.biases.empty());
  EXPECT_FALSE(to.request.dbias);
}

TEST(Lowering, OfWiderQAndKIsFusedOnEveryDevice) {
  for (const int sm : {80, 89, 90, 100, 120}) {
    const Lowering to = lower(training(T, 128), {sm, hopper.workspace});
    EXPECT_EQ(to.route, Route::fused) << sm << ": " << to.reason;
    EXPECT_EQ(to.request.D, 128);
    EXPECT_EQ(to.request.E, 64);
  }
}

TEST(Lowering, PadsQAndKToMultiplesOf8) {
  AttentionCase c = training(T, 60);
  c.layout = Layout::packed;
  const Lowering to = lower(c, hopper);
  EXPECT_EQ(to.route, Route::fused);
  EXPECT_EQ(to.request.D, 64);
  EXPECT_EQ(to.padding, 4);
  EXPECT_EQ(to.request.layout, Layout::by_head) << "what is padded is a copy";
}

TEST(Lowering, OfALinearTableIsASlopeAHead) {
  const auto slopes = some_slopes(H);
  AttentionCase c = training();
  c.distance = Shape{H, T};
  c.slopes = slopes;
  const Lowering to = lower(c, hopper);
  EXPECT_EQ(to.route, Route::fused) << to.reason;
  EXPECT_THAT(to.reason, HasSubstr("slope"));
  ASSERT_EQ(to.slopes.size(), static_cast<std::size_t>(H));
  EXPECT_FLOAT_EQ(to.slopes[0], 1.0f / 8);  // slope (j - i) is the table's -(i - j) / 8
  EXPECT_FLOAT_EQ(to.slopes[11], 12.0f / 8);
  EXPECT_TRUE(to.request.slopes);
  EXPECT_FALSE(to.expand_distance);
  c.distance = Shape{1, T};
  c.slopes = std::span(slopes).first(1);
  EXPECT_EQ(lower(c, hopper).slopes, std::vector<float>(static_cast<std::size_t>(H), 1.0f / 8))
      << "a table of one row is shared by the heads";
}

TEST(Lowering, OfAnyOtherTableIsABiasTensor) {
  AttentionCase c = training();
  c.distance = Shape{H, T};
  Lowering to = lower(c, hopper);
  EXPECT_EQ(to.route, Route::bias_tensor) << to.reason;
  EXPECT_TRUE(to.expand_distance);
  ASSERT_EQ(to.request.biases.size(), 1u);
  EXPECT_EQ(to.request.biases[0], (BiasForm{{1, H, T, T}, Type::bf16, T}));
  EXPECT_FALSE(to.request.dbias) << "nothing learns from it";
  c.distance = Shape{1, T};
  to = lower(c, hopper);
  EXPECT_EQ(to.request.biases.at(0).shape, (Shape{1, 1, T, T}));
}

TEST(Lowering, OfALearnedTableAsksForTheGradientOfItsBias) {
  const auto slopes = some_slopes(H);
  AttentionCase c = training();
  c.distance = Shape{H, T};
  c.slopes = slopes;
  c.distance_gradient = true;
  Lowering to = lower(c, hopper);
  EXPECT_EQ(to.route, Route::bias_tensor) << "a linear table that learns will not stay linear";
  EXPECT_EQ(to.request.dbias->shape, (Shape{1, H, T, T}));
  c.training = false;
  EXPECT_FALSE(lower(c, hopper).request.dbias);
}

TEST(Lowering, SumsTheGradientsOfLongTablesAndBiasesOverScoresMadeAgain) {
  AttentionCase c = training(8192);
  c.distance = Shape{H, 8192};
  c.distance_gradient = true;
  Lowering to = lower(c, hopper);
  EXPECT_EQ(to.route, Route::bias_tensor) << to.reason;
  EXPECT_TRUE(to.sums_scores);
  EXPECT_FALSE(to.request.dbias);
  EXPECT_THAT(to.reason, HasSubstr("scores that are made again"));
  c.bias = Shape{B, H, 1, 8192};
  c.bias_gradient = true;
  EXPECT_TRUE(lower(c, hopper).sums_scores) << "of both";
  c.distance_gradient = c.bias_gradient = false;
  EXPECT_FALSE(lower(c, hopper).sums_scores) << "nothing learns";
  c = training(4096);
  c.distance = Shape{H, 4096};
  c.distance_gradient = true;
  to = lower(c, hopper);
  EXPECT_FALSE(to.sums_scores) << "cuDNN's own does up to here";
  EXPECT_TRUE(to.request.dbias);
}

TEST(Lowering, PadsTheRowsOfABias) {
  AttentionCase c = training(1001);
  c.distance = Shape{1, 1001};
  const Lowering to = lower(c, hopper);
  EXPECT_EQ(to.route, Route::bias_tensor) << to.reason;
  EXPECT_EQ(to.request.biases.at(0).pitch, 1008);
}

TEST(Lowering, OfABiasGoesByItsShape) {
  const struct {
    Shape shape;
    Route route;
    Shape form;
    Type type;
  } cases[] = {{{H, T, T}, Route::bias_tensor, {1, H, T, T}, Type::bf16},
               {{T, T}, Route::bias_tensor, {1, 1, T, T}, Type::bf16},
               {{B, 1, T, T}, Route::bias_tensor, {B, 1, T, T}, Type::bf16},
               {{B, H, T, T}, Route::bias_tensor, {B, H, T, T}, Type::bf16},
               {{B, H, 1, T}, Route::fused, {B, H, 1, T}, Type::fp32},
               {{T}, Route::fused, {1, 1, 1, T}, Type::fp32}};
  for (const auto& e : cases) {
    AttentionCase c = training();
    c.bias = e.shape;
    c.bias_gradient = true;
    const Lowering to = lower(c, hopper);
    EXPECT_EQ(to.route, e.route) << e.shape.text() << ": " << to.reason;
    ASSERT_EQ(to.request.biases.size(), 1u);
    EXPECT_TRUE(to.add_bias);
    EXPECT_EQ(to.request.biases[0].shape, e.form);
    EXPECT_EQ(to.request.biases[0].type, e.type);
    EXPECT_EQ(to.request.dbias->shape, e.form);
    EXPECT_EQ(to.request.dbias->type, Type::bf16);
  }
}

TEST(Lowering, OfTablesAndOfValuesForKeysThatTrainIsOurKernel) {
  for (const Shape& s : {Shape{B, H, 1, T}, {B, 1, 1, T}, {H, 1, T}, {T}}) {
    AttentionCase c = training();
    c.bias = s;
    c.bias_gradient = true;
    Lowering to = lower(c, as_found);
    EXPECT_EQ(to.route, Route::tiled) << s.text();
    EXPECT_TRUE(to.add_bias);
    EXPECT_EQ(to.reason, "the values for keys are read tile by tile");
    EXPECT_TRUE(to.request.biases.empty());
    c.distance = Shape{H, T};
    c.distance_gradient = true;
    to = lower(c, as_found);
    EXPECT_EQ(to.reason, "the table by distance and the values for keys are read tile by tile");
    c.distance = std::nullopt;
    c.training = c.bias_gradient = false;
    EXPECT_EQ(lower(c, as_found).route, Route::fused) << "cuDNN's forward pass is right";
    c = training(T, 192);
    c.bias = s;
    expect_composed(c, "wrong gradients on an H100", as_found);
  }
}

TEST(Lowering, OfATableIsOurKernelWhereItIsNoLine) {
  const auto slopes = some_slopes(H);
  AttentionCase c = training();
  c.distance = Shape{H, T};
  EXPECT_EQ(lower(c, as_found).route, Route::tiled);
  c.slopes = slopes;
  EXPECT_EQ(lower(c, as_found).route, Route::fused) << "a slope a head";
  c.distance_gradient = true;
  EXPECT_EQ(lower(c, as_found).route, Route::tiled) << "it will not stay a line";
  c.bias = Shape{T, 1};
  Lowering to = lower(c, as_found);
  EXPECT_EQ(to.route, Route::tiled);
  EXPECT_TRUE(to.bias_is_idle);
  c.bias = Shape{H, T, T};
  EXPECT_EQ(lower(c, as_found).route, Route::bias_tensor) << "which is read anyway";
  c.bias = std::nullopt;
  c.type = Type::fp32;
  expect_composed(c, "fp32", as_found);
  c.type = Type::bf16;
  c.v = {B, H, T, 60};
  expect_composed(c, "multiples of 8", as_found);
  c = training(131072);
  c.distance = Shape{H, 131072};
  c.distance_gradient = true;
  EXPECT_EQ(lower(c, as_found).route, Route::tiled) << "21.5 GB for each group of heads";
  EXPECT_EQ(lower(c, as_found).groups, 1);
  expect_composed(c, "they grow with the square", {90, std::int64_t{10} << 30});
  c = training(2048);
  c.distance = Shape{H, 2048};
  c.distance_gradient = true;
  EXPECT_EQ(lower(c, as_found).groups, B * H) << "5.4 MB for each head";
  EXPECT_EQ(lower(c, {90, std::int64_t{2} << 30}).groups, B * H);
}

TEST(Lowering, OfATableThatBecomesLevelLeavesThatToCudnn) {
  DeviceFacts splits = as_found;
  splits.splits = true;
  AttentionCase c = training();
  c.distance = Shape{H, T};
  c.distance_gradient = true;
  c.level = 113;
  EXPECT_EQ(lower(c, as_found).window, 0) << "where it is asked for";
  Lowering to = lower(c, splits);
  EXPECT_EQ(to.route, Route::tiled);
  EXPECT_EQ(
      to.reason,
      "the table by distance is read tile by tile up to a distance of 128, where it is level");
  EXPECT_EQ(to.window, 128);
  EXPECT_EQ(to.beyond.T, T - 128);
  EXPECT_EQ(to.beyond.S, T - 128);
  EXPECT_EQ(to.beyond.stored, T);
  EXPECT_TRUE(to.beyond.causal);
  EXPECT_EQ(to.examples, B);
  EXPECT_EQ(to.groups, B * H);
  c.level = 512;
  EXPECT_EQ(lower(c, splits).window, 512);
  c.level = 513;  // more than half
  EXPECT_EQ(lower(c, splits).window, 0);
  c.level = 0;
  EXPECT_EQ(lower(c, splits).window, 0);
  c.level = 128;
  c.bias = Shape{T};  // values for keys are not level
  EXPECT_EQ(lower(c, splits).route, Route::tiled);
  EXPECT_EQ(lower(c, splits).window, 0);
  c.bias = Shape{T, 1};
  EXPECT_EQ(lower(c, splits).window, 128);
  c = training(131072);  // what is kept grows with the length
  c.distance = Shape{H, 131072};
  c.distance_gradient = true;
  c.level = 128;
  EXPECT_EQ(lower(c, splits).groups, H) << "77 MB for each group of heads";
  c.deterministic = true;
  EXPECT_EQ(lower(c, splits).window, 0) << "the workspace of cuDNN does not fit: 412 GB";
}

TEST(Lowering, LeavesOutABiasThatIsConstantInEachRow) {
  for (const Shape& s : {Shape{B, H, T, 1}, {H, 1, 1}, {1}}) {
    AttentionCase c = training();
    c.bias = s;
    c.bias_gradient = true;
    const Lowering to = lower(c, hopper);
    EXPECT_EQ(to.route, Route::fused) << to.reason;
    EXPECT_TRUE(to.bias_is_idle);
    EXPECT_FALSE(to.add_bias);
    EXPECT_TRUE(to.request.biases.empty());
    EXPECT_FALSE(to.request.dbias) << "its gradient is 0";
  }
}

TEST(Lowering, OfTwoLearnedBiasesAsksForOneGradientThatHoldsBoth) {
  AttentionCase c = training();
  c.distance = Shape{H, T};
  c.distance_gradient = true;
  c.bias = Shape{B, 1, 1, T};
  c.bias_gradient = true;
  const Lowering to = lower(c, hopper);
  EXPECT_EQ(to.route, Route::bias_tensor) << to.reason;
  ASSERT_EQ(to.request.biases.size(), 2u);
  EXPECT_EQ(to.request.biases.front().shape, (Shape{1, H, T, T}));
  EXPECT_EQ(to.request.biases.back().shape, (Shape{B, 1, 1, T}));
  EXPECT_EQ(to.request.dbias->shape, (Shape{B, H, T, T}));
}

TEST(Lowering, OfOneQueryAgainstAllKeysHasNoMask) {
  AttentionCase c;
  c.q = {1, H, 1, 64};
  c.k = c.v = {1, 4, 777, 64};
  c.first = 776;
  const Lowering to = lower(c, hopper);
  EXPECT_EQ(to.route, Route::fused) << to.reason;
  EXPECT_FALSE(to.request.causal);
  EXPECT_EQ(to.request.G, 4);
}

TEST(Lowering, TakesAsManyExamplesAtATimeAsThereIsMemoryFor) {
  const DeviceFacts h200 = {90, std::int64_t{35} << 30, 4096, true};
  AttentionCase c = training(8192);
  c.deterministic = true;
  Lowering to = lower(c, h200);
  EXPECT_EQ(to.examples, B) << "12.9 GB";
  EXPECT_EQ(to.reason, "the scores are those of q and k");
  c = training(16384);
  c.deterministic = true;
  c.distance = Shape{H, 16384};
  c.distance_gradient = true;
  to = lower(c, h200);
  EXPECT_EQ(to.route, Route::bias_tensor) << to.reason;
  EXPECT_EQ(to.examples, 4) << "6.4 GB for the bias, 2 GB for copies, 6.4 GB for each example";
  EXPECT_THAT(to.reason, HasSubstr(", 4 of 8 examples at a time"));
  EXPECT_EQ(part_of(to.request, 4).biases[0].shape, (Shape{1, H, 16384, 16384}));
  c = training(2001);
  c.q = c.k = c.v = {B, 3, 2001, 64};
  c.deterministic = true;
  c.bias = Shape{B, 1, 1, 2001};
  // an example does not start at 16 bytes
  expect_composed(c, "GB are free", {90, 150'000'000, 4096, true});
}

// ---------------------------------------------------------------------------------- composed

TEST(Composed, IsWhatRewritesScores) {
  AttentionCase c = training();
  c.rewrite = true;
  expect_composed(c, "rewrites the scores");
}
TEST(Composed, IsFp32) {
  AttentionCase c = training();
  c.type = Type::fp32;
  expect_composed(c, "fp32");
}
TEST(Composed, IsWhatFp16HasNoTilesFor) {
  AttentionCase c = training();
  c.type = Type::fp16;
  EXPECT_EQ(lower(c, as_found).route, Route::fused);
  EXPECT_EQ(lower(c, as_found).request.io, Type::fp16);
  c.distance = Shape{H, T};
  c.distance_gradient = true;
  const Lowering to = lower(c, as_found);
  EXPECT_EQ(to.route, Route::bias_tensor) << "and not our tiles, which are in bf16";
  EXPECT_EQ(to.request.biases.front().type, Type::fp16);
  EXPECT_EQ(to.request.dbias->type, Type::fp16);
  c = training(8192);
  c.type = Type::fp16;
  c.distance = Shape{H, 8192};
  c.distance_gradient = true;
  expect_composed(c, "8192", as_found);
}
TEST(Composed, AreQueriesInTheMiddle) {
  AttentionCase c;
  c.q = {1, H, 64, 64};
  c.k = c.v = {1, H, 777, 64};
  c.first = 500;
  expect_composed(c, "start at position 500 of 777");
}
TEST(Composed, IsWhatTheDeviceHasNoRoomFor) {
  AttentionCase c = training(4096);
  c.deterministic = true;
  EXPECT_EQ(lower(c, hopper).route, Route::fused);
  expect_composed(c, "GB are free", {90, std::int64_t{1} << 29});
}
// Evaluation at 131072 tokens: of what is fused nothing grows with the square of the length.
TEST(LongEvaluation, IsFusedWhereMemoryIsLinear) {
  constexpr std::int64_t longest = 131072;
  const DeviceFacts h200 = {90, std::int64_t{35} << 30, 4096, true};
  const auto slopes = some_slopes(H);
  AttentionCase plain = training(longest);
  plain.training = false;
  AttentionCase line = plain, keys = plain;
  line.distance = Shape{H, longest};
  line.slopes = slopes;
  keys.bias = Shape{B, H, 1, longest};
  for (const AttentionCase& c : {plain, line, keys}) {
    const Lowering to = lower(c, h200);
    EXPECT_EQ(to.route, Route::fused) << to.reason;
    AttentionRequest half = to.request;
    half.T = half.S = longest / 2;
    for (BiasForm& b : half.biases)
      b.shape = {b.shape[0], b.shape[1], b.shape[2], longest / 2}, b.pitch = longest / 2;
    EXPECT_EQ(scratch_bytes(to.request, Pass::forward), 2 * scratch_bytes(half, Pass::forward));
    EXPECT_EQ(workspace_bytes(to.request, Pass::forward, h200),
              workspace_bytes(half, Pass::forward, h200));
  }
}

TEST(LongEvaluation, IsComposedWhereABiasWouldNotFit) {
  AttentionCase c = training(131072);
  c.training = false;
  c.distance = Shape{H, 131072};
  const auto cudnn = [](std::int64_t gib) { return DeviceFacts{90, gib << 30, 4096, true}; };
  expect_composed(c, "they grow with the square of the length", cudnn(35));
  EXPECT_EQ(lower(c, {90, std::int64_t{35} << 30}).route, Route::tiled) << "there is no bias";
  c = training(16384);
  c.training = false;
  c.distance = Shape{H, 16384};
  EXPECT_EQ(lower(c, cudnn(35)).route, Route::bias_tensor) << "6.4 GB";
  expect_composed(c, "GB are free", cudnn(5));
}

TEST(Composed, IsAHeadSizeThatTrainsElsewhere) {
  const AttentionCase c = training(T, 192);
  EXPECT_EQ(lower(c, hopper).route, Route::fused);
  expect_composed(c, "at most 128", {80, hopper.workspace});
  AttentionCase inference = c;
  inference.training = false;
  EXPECT_EQ(lower(inference, {80, hopper.workspace}).route, Route::fused);
}

}  // namespace
}  // namespace pesuite::testing
