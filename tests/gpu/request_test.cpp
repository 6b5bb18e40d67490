// What the fused path refuses, each rule with its sentence; and what a plan is kept by.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "backend/cuda/request.h"

namespace pesuite::testing {
namespace {

using namespace cuda;
using ::testing::HasSubstr;

AttentionRequest request() {
  AttentionRequest r;
  r.B = 8, r.H = r.G = 12, r.T = r.S = 2048, r.D = r.E = 64;
  return r;
}
DeviceFacts device(int sm) {
  return {sm, std::int64_t{8} << 30};
}
BiasForm map_of(std::int64_t b, std::int64_t h) {
  return {{b, h, 2048, 2048}, Type::bf16, 2048};
}

constexpr Pass passes[] = {Pass::inference, Pass::forward, Pass::backward};
constexpr int devices[] = {80, 89, 90, 100, 120};

struct Refused {
  const char* name;
  std::function<void(AttentionRequest&)> change;
  Pass pass;
  int sm;
  const char* says;
};
void PrintTo(const Refused& r, std::ostream* to) {
  *to << r.name;
}

class Refusal : public ::testing::TestWithParam<Refused> {};

TEST_P(Refusal, IsASentence) {
  const Refused& c = GetParam();
  AttentionRequest r = request();
  ASSERT_EQ(refusal(r, c.pass, device(c.sm)), "");
  c.change(r);
  EXPECT_THAT(refusal(r, c.pass, device(c.sm)), HasSubstr(c.says));
}

INSTANTIATE_TEST_SUITE_P(
    Attention, Refusal,
    ::testing::Values(
        Refused{"Empty", [](auto& r) { r.B = 0; }, Pass::forward, 90, "must be 1 or more"},
        Refused{"Groups", [](auto& r) { r.G = 5; }, Pass::forward, 90, "no multiple of 5"},
        Refused{"PackedLengths",
                [](auto& r) { r.layout = Layout::packed, r.causal = false, r.T = 1; },
                Pass::inference, 90, "packed by token need one length"},
        Refused{"Fp32", [](auto& r) { r.io = Type::fp32; }, Pass::forward, 90, "bf16 and fp16"},
        Refused{"Multiples", [](auto& r) { r.D = 60; }, Pass::forward, 90, "multiples of 8"},
        Refused{"WideForward", [](auto& r) { r.D = r.E = 264; }, Pass::inference, 90,
                "at most 256"},
        Refused{"WideBackward", [](auto& r) { r.D = 136; }, Pass::backward, 80, "at most 128"},
        Refused{"UnprovenHopper", [](auto& r) { r.D = 256; }, Pass::backward, 90, "at most 192"},
        Refused{"WideBlackwell", [](auto& r) { r.D = 192; }, Pass::backward, 100, "at most 128"},
        Refused{"MaskOfTwoLengths", [](auto& r) { r.T = 64; }, Pass::inference, 90,
                "aligns it at the first key"},
        Refused{"KeysOfExamples",
                [](auto& r) {
                  r.biases = {{{8, 1, 1, 2048}, Type::fp32, 2048}};
                },
                Pass::backward, 90, "wrong gradients on an H100"},
        Refused{"OneQueryBackward", [](auto& r) { r.T = 1, r.causal = false; }, Pass::backward, 90,
                "NaN"},
        Refused{"TailWithoutMask", [](auto& r) { r.causal = false, r.T = r.S = 192; },
                Pass::backward, 90, "multiple of 128"},
        Refused{"ThreeBiases", [](auto& r) { r.biases.assign(3, map_of(1, 12)); }, Pass::forward,
                90, "two are the most"},
        Refused{"PartOfTheBatch", [](auto& r) { r.biases = {map_of(2, 12)}; }, Pass::forward, 90,
                "the others full or 1"},
        Refused{"PartOfTheHeads", [](auto& r) { r.biases = {map_of(1, 4)}; }, Pass::forward, 90,
                "the others full or 1"},
        Refused{"ConstantInARow",
                [](auto& r) {
                  r.biases = {{{1, 12, 2048, 1}, Type::bf16, 1}};
                },
                Pass::forward, 90, "last extent must be full"},
        Refused{"Pitch",
                [](auto& r) {
                  r.biases = {{{1, 12, 2048, 2048}, Type::bf16, 2050}};
                },
                Pass::forward, 90, "16 bytes"},
        Refused{"BiasType",
                [](auto& r) {
                  r.biases = {{{1, 12, 2048, 2048}, Type::int32, 2048}};
                },
                Pass::forward, 90, "the bias is int32"},
        Refused{"GradientType",
                [](auto& r) {
                  r.dbias = BiasForm{{1, 12, 2048, 2048}, Type::fp32, 2048};
                },
                Pass::backward, 90, "fp16 or bf16 only"},
        Refused{"GradientShape", [](auto& r) { r.dbias = map_of(3, 12); }, Pass::backward, 90,
                "the gradient of the bias is"},
        Refused{"GradientPitch",
                [](auto& r) {
                  r.dbias = BiasForm{{1, 12, 2048, 2048}, Type::bf16, 2056};
                },
                Pass::backward, 90, "without gaps"},
        Refused{"GradientLength",
                [](auto& r) {
                  r.T = r.S = 4224;
                  r.dbias = BiasForm{{1, 12, 4224, 4224}, Type::bf16, 4224};
                },
                Pass::backward, 90, "square of the length"},
        Refused{"Dropout", [](auto& r) { r.dropout = 1; }, Pass::forward, 90, "below 1"},
        Refused{"DropoutInInference", [](auto& r) { r.dropout = 0.1; }, Pass::inference, 90,
                "dropout in inference"},
        Refused{"DropoutInOrder", [](auto& r) { r.dropout = 0.1, r.deterministic = true; },
                Pass::backward, 100, "no engine on sm_100"},
        Refused{"DropoutWithGradient", [](auto& r) { r.dropout = 0.1, r.dbias = map_of(1, 12); },
                Pass::backward, 100, "no engine on sm_100"},
        Refused{"MoreThanAreStored", [](auto& r) { r.stored = 2000; }, Pass::forward, 90,
                "2048 queries and 2048 keys of 2000 tokens"},
        Refused{"SomeOfThosePackedByToken",
                [](auto& r) { r.stored = 4096, r.layout = Layout::by_token; }, Pass::forward, 90,
                "laid out by head"},
        Refused{"SomeKeysOfMore", [](auto& r) { r.stored = 4096, r.T = 1, r.causal = false; },
                Pass::inference, 90, "only as many of either"},
        Refused{"Workspace", [](auto& r) { r.T = r.S = 16384, r.deterministic = true; },
                Pass::backward, 90,
                "needed beside its inputs and outputs and 8.59 GB are free for them; they grow "
                "with the"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Request, IsTakenEverywhereInItsOrdinaryForms) {
  for (const int sm : devices)
    for (const Pass pass : passes) {
      EXPECT_EQ(refusal(request(), pass, device(sm)), "");
      AttentionRequest r = request();
      r.D = 128, r.E = 64, r.G = 4;
      EXPECT_EQ(refusal(r, pass, device(sm)), "");
      r.biases = {map_of(1, 12), {{8, 12, 1, 2048}, Type::fp32, 2048}};
      DeviceFacts trusted = device(sm);
      trusted.cudnn_alone = true;
      EXPECT_EQ(refusal(r, pass, trusted), "");
    }
  AttentionRequest r = request();
  r.D = 192, r.E = 128;
  EXPECT_EQ(refusal(r, Pass::backward, device(90)), "");
  EXPECT_EQ(refusal(r, Pass::backward, device(100)), "");
  EXPECT_NE(refusal(r, Pass::backward, device(120)), "");
}

TEST(Request, OfOneQueryThatSeesAllKeysIsForInference) {
  AttentionRequest r = request();
  r.T = 1, r.causal = false;
  EXPECT_EQ(refusal(r, Pass::inference, device(90)), "");
}

// The record says whether a run repeats bit by bit; it must not claim it of sums by atomic adds.
TEST(Request, SumsInOrderOnlyWhereTheGradientOfTheScoresIsStored) {
  AttentionRequest r = request();
  EXPECT_FALSE(sums_in_order(r));
  r.deterministic = true;
  EXPECT_TRUE(sums_in_order(r));
  r.deterministic = false;
  r.dbias = map_of(1, 12);
  EXPECT_TRUE(sums_in_order(r));
}

// Two requests that differ in what a graph holds must not share a plan.
TEST(PlanKey, TellsApartAllThatAGraphHolds) {
  const std::vector<std::function<void(AttentionRequest&)>> changes = {
      [](auto& r) { r.B = 4; },
      [](auto& r) { r.H = r.G = 24; },
      [](auto& r) { r.G = 4; },
      [](auto& r) { r.T = r.S = 1024; },
      [](auto& r) { r.S = 1024; },
      [](auto& r) { r.D = 128; },
      [](auto& r) { r.E = 128; },
      [](auto& r) { r.io = Type::fp16; },
      [](auto& r) { r.layout = Layout::by_token; },
      [](auto& r) { r.layout = Layout::packed; },
      [](auto& r) { r.T = r.S = 1024, r.stored = 2048; },
      [](auto& r) { r.causal = false; },
      [](auto& r) { r.slopes = true; },
      [](auto& r) { r.biases = {map_of(1, 12)}; },
      [](auto& r) { r.biases = {map_of(8, 12)}; },
      [](auto& r) {
        r.biases = {{{1, 12, 2048, 2048}, Type::fp32, 2048}};
      },
      [](auto& r) {
        r.biases = {{{1, 12, 2048, 2048}, Type::bf16, 2056}};
      },
      [](auto& r) { r.biases.assign(2, map_of(1, 12)); },
      [](auto& r) { r.dbias = map_of(1, 12); },
      [](auto& r) { r.dbias = map_of(8, 12); },
      [](auto& r) { r.dropout = 0.1; },
      [](auto& r) { r.dropout = 0.2; },
      [](auto& r) { r.deterministic = true; }};
  std::set<std::string> keys = {plan_key(request(), Pass::backward, 0)};
  for (const auto& change : changes) {
    AttentionRequest r = request();
    change(r);
    const std::string key = plan_key(r, Pass::backward, 0);
    EXPECT_TRUE(keys.insert(key).second) << key;
  }
  EXPECT_TRUE(keys.insert(plan_key(request(), Pass::forward, 0)).second);
  EXPECT_TRUE(keys.insert(plan_key(request(), Pass::inference, 0)).second);
  EXPECT_TRUE(keys.insert(plan_key(request(), Pass::backward, 1)).second);
}

TEST(PlanKey, OfTheForwardPassIgnoresTheGradients) {
  AttentionRequest r = request();
  const std::string key = plan_key(r, Pass::forward, 0);
  r.deterministic = true, r.dbias = map_of(1, 12);
  EXPECT_EQ(plan_key(r, Pass::forward, 0), key);
}

TEST(ScratchBytes, AreCopiesBiasesAndSums) {
  AttentionRequest r = request();  // 8 x 12 x 2048 rows of 64
  r.G = 4;
  const std::int64_t rows = 8 * 12 * 2048, keys = rows / 3;
  EXPECT_EQ(scratch_bytes(r, Pass::forward), (rows + keys) * 128 * 2);
  EXPECT_EQ(scratch_bytes(r, Pass::backward), (rows + keys) * 128 * 4 + rows * 65 * 4);
  const std::int64_t before = scratch_bytes(r, Pass::backward);
  r.biases = {map_of(1, 12)};
  r.dbias = map_of(8, 12);
  EXPECT_EQ(scratch_bytes(r, Pass::backward) - before, (12 + 96) * 2048 * 2048 * 2);
}

}  // namespace
}  // namespace pesuite::testing
