// Activation recomputation: the same numbers in less memory.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backend/cpu/bf16.h"
#include "model/mixture.h"
#include "model/model.h"
#include "model/preset.h"
#include "tests/catalog.h"

namespace pesuite::testing {
namespace {

struct Learned {
  std::vector<double> nats;
  std::vector<std::vector<double>> gradients;
  std::size_t memory = 0;
};

struct Learner {
  ModelConfig config = preset("micro").config;
  Precision precision = Precision::fp32;
  int batch = 4, length = 48;

  Learned pass(const std::string& encoding, bool recompute) const {
    const auto backend = open_backend("cpu", {.threads = 1, .precision = precision});
    const Task task(built_catalog(), {"kback_copy", {}}, length, length);
    ModelConfig c = config;
    c.vocabulary = task.info().inputs, c.classes = task.info().outputs, c.tied = false;
    const ModelShape shape = shape_of(c, length, length);
    Model model(*backend, c, compose(built_catalog(), encoding, shape), 1);
    model.set_recompute(recompute);
    const Batch b = Mixture(task).batch(0, PES_SPLIT_TRAIN, 1, 0, batch, length);
    StepInfo s;
    s.training = true, s.steps = 10, s.seed = 3, s.batch = batch, s.length = length;
    Learned out;
    for (int i = 0; i < 2; ++i)  // gradients of two passes add up
      out.nats = model.learn(b, s, 1.0 / 256).nats;
    for (const Parameter& p : model.parameters()) {
      out.gradients.emplace_back(static_cast<std::size_t>(p.shape.count()));
      if (p.has_grad) backend->download(out.gradients.back().data(), {p.grad, p.shape});
    }
    out.memory = model.step_memory();
    return out;
  }
};

class Recompute : public ::testing::TestWithParam<std::string> {};

TEST_P(Recompute, GivesTheSameBits) {
  Learner l;
  l.config.layers = 3, l.config.dropout = 0.1;
  const Learned kept = l.pass(GetParam(), false), again = l.pass(GetParam(), true);
  EXPECT_EQ(kept.nats, again.nats);
  ASSERT_EQ(kept.gradients.size(), again.gradients.size());
  for (std::size_t i = 0; i < kept.gradients.size(); ++i)
    EXPECT_EQ(kept.gradients[i], again.gradients[i]) << "parameter " << i;
}

std::vector<std::string> encodings() {
  std::vector<std::string> out = {"alibi + rope", "layers[rope, none, t5]"};
  for (const std::string& name : built_catalog().encoding_names()) out.push_back(name);
  return out;
}
std::string test_name(const ::testing::TestParamInfo<std::string>& p) {
  std::string out;
  for (const char c : p.param) out += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return out;
}
INSTANTIATE_TEST_SUITE_P(All, Recompute, ::testing::ValuesIn(encodings()), test_name);

TEST(RecomputeInBf16, GivesTheSameBits) {
  if (bf16::best_kernel() == bf16::Kernel::none) GTEST_SKIP() << "no bf16 here";
  Learner l;
  l.config.layers = 3, l.config.qk_norm = QkNorm::after, l.precision = Precision::bf16;
  for (const char* encoding : {"rope", "t5", "none"}) {
    const Learned kept = l.pass(encoding, false), again = l.pass(encoding, true);
    EXPECT_EQ(kept.nats, again.nats) << encoding;
    EXPECT_EQ(kept.gradients, again.gradients) << encoding;
  }
}

TEST(RecomputeInMemory, KeepsTheInputOfEachLayerAlone) {
  Learner l;
  l.length = 64, l.batch = 16, l.config.layers = 12;
  const Learned kept = l.pass("rope", false), again = l.pass("rope", true);
  EXPECT_LT(3 * again.memory, kept.memory) << "of twelve layers one is whole at a time";
  const std::size_t deep = again.memory;
  l.config.layers = 24;
  const std::size_t input = std::size_t{4} * 16 * 64 * 32;  // bytes of [16, 64, 32]
  EXPECT_LT(l.pass("rope", true).memory, deep + 12 * input * 5 / 4);
}

}  // namespace
}  // namespace pesuite::testing
