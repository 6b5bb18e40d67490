// Tokens that none is scored behind need no last layer: the same numbers in less time.
#include <gtest/gtest.h>

#include <cmath>
#include <oneapi/dnnl/dnnl.hpp>

#include "backend/cpu/bf16.h"
#include "model/evaluate.h"
#include "model/model.h"
#include "model/preset.h"
#include "pesuite/random.hpp"
#include "tests/catalog.h"

namespace pesuite::testing {
namespace {

constexpr int inputs_known = 20;

Batch drawn(int size, int length) {
  Batch b;
  b.size = size, b.length = length;
  pes::Random random(7, 1, 1);
  for (int i = 0; i < size * length; ++i) {
    b.tokens.push_back(static_cast<std::int32_t>(random.below(inputs_known)));
    b.targets.push_back(static_cast<std::int32_t>(random.below(inputs_known)));
    b.starts.push_back(i % length < length / 3 ? 0 : length / 3);
  }
  return b;
}
// Row r is scored from `first` + r on.
Batch scored_from(Batch b, int first) {
  for (int i = 0; i < b.size * b.length; ++i)
    if (i % b.length < first + i / b.length) b.targets[static_cast<std::size_t>(i)] = -1;
  return b;
}

struct Kind {
  const char* encoding;
  const char* backend = "cpu";
  Precision precision = Precision::fp32;
  bool documents = false;  // Batch::starts
};

struct Fresh {
  Fresh(const Kind& k, const ModelConfig& given, int length) {
    backend = open_backend(k.backend, {.threads = 1, .precision = k.precision});
    ModelConfig c = given;
    c.vocabulary = c.classes = inputs_known;
    model = std::make_unique<Model>(
        *backend, c, compose(built_catalog(), k.encoding, shape_of(c, 64, length)), 1);
  }
  Scores score(const Batch& b, const Inspection& look = {}) {
    StepInfo s;
    s.batch = b.size, s.length = b.length, s.steps = s.step = 10;
    return model->score(b, s, look);
  }
  // Of the sum of losses, all parameters in a row.
  std::vector<double> gradients(const Batch& b, bool recompute) {
    StepInfo s;
    s.training = true, s.batch = b.size, s.length = b.length, s.steps = 10;
    for (Parameter& p : model->parameters()) p.has_grad = false;
    model->set_recompute(recompute);
    model->learn(b, s, 1);
    std::vector<double> out;
    for (const Parameter& p : model->parameters()) {
      const auto at = out.size();
      out.resize(at + static_cast<std::size_t>(p.shape.count()));
      if (p.has_grad) backend->download(&out[at], {p.grad, p.shape});
    }
    return out;
  }
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Model> model;
};

ModelConfig micro(int layers = 2) {
  ModelConfig c = preset("micro").config;
  c.layers = layers;
  return c;
}

void expect_the_same(const Kind& k, const ModelConfig& config, int length, int first) {
  SCOPED_TRACE(std::string(k.encoding) + " of " + std::to_string(length) + " tokens from " +
               std::to_string(first) + " on, " + k.backend);
  if (k.precision == Precision::bf16 && bf16::best_kernel() == bf16::Kernel::none) return;
  Fresh f(k, config, length);
  Batch b = drawn(3, length);
  if (!k.documents) b.starts.clear();
  const Scores all = f.score(b), some = f.score(scored_from(b, first));
  // oneDNN's products for AVX2 round the last rows of a matrix otherwise.
  const bool exact = f.backend->name() == "reference" ||
                     dnnl::get_effective_cpu_isa() >= dnnl::cpu_isa::avx512_core;
  const double tolerance = exact ? 0 : 1e-5;
  ASSERT_FALSE(some.place.empty());
  ASSERT_EQ(some.nats.size(), some.place.size());
  for (std::size_t i = 0; i < some.place.size(); ++i) {
    const auto at = static_cast<std::size_t>(some.place[i]);
    ASSERT_NEAR(some.nats[i], all.nats[at], tolerance) << at;
  }
}

TEST(Needed, EveryWayOfAttentionHasTheSameNumbers) {
  for (const char* encoding :
       {"rope", "alibi", "t5", "kerple", "fire", "cope", "dape", "fox", "grape_ap", "xpos", "pope",
        "learned(past=clamp)", "selective_rope", "repo", "rope + alibi", "layers[none, rope]"})
    for (const Kind& k :
         {Kind{encoding}, Kind{encoding, "reference"}, Kind{encoding, "cpu", Precision::bf16},
          Kind{.encoding = encoding, .documents = true}})
      expect_the_same(k, micro(), 150, 118);
}

TEST(Needed, EveryLengthAndPlaceHasTheSameNumbers) {
  for (const int length : {2, 63, 64, 65, 96, 129, 200, 512})
    for (const int first : {0, 1, length / 2, length - 33, length - 3})
      if (first >= 0 && first + 2 < length) expect_the_same({"rope"}, micro(), length, first);
}

TEST(Needed, EveryKindOfModelHasTheSameNumbers) {
  ModelConfig parallel = micro(), window = micro(3), single = micro(1);
  parallel.parallel = parallel.shared_norm = true, parallel.norm = Norm::layer;
  window.window = 40, window.qk_norm = QkNorm::after, window.kv_heads = 1;
  for (const ModelConfig& c : {parallel, window, single})
    for (const char* encoding : {"alibi", "cope"})
      for (const bool documents : {false, true})
        expect_the_same({.encoding = encoding, .documents = documents}, c, 200, 180);
}

// Behind its attention the last layer is made for scored tokens alone, in training too: what each
// of three sets of targets gives adds up to what all give, for which no token is left out.
void expect_sums(const Kind& k, const ModelConfig& config, bool recompute) {
  SCOPED_TRACE(std::string(k.encoding) + ", " + k.backend);
  if (k.precision == Precision::bf16 && bf16::best_kernel() == bf16::Kernel::none) return;
  Fresh f(k, config, 48);
  Batch b = drawn(3, 48);
  b.starts.clear();
  const std::vector<double> all = f.gradients(b, recompute);
  std::vector<double> sum(all.size());
  for (const int part : {0, 1, 2}) {  // 16, 49 and 79 targets of 144: 32, 64 and 96 rows
    Batch some = b;
    for (std::size_t i = 0; i < b.targets.size(); ++i)
      if ((i % 9 == 4 ? 0 : i % 8 < 3 ? 1 : 2) != part) some.targets[i] = -1;
    const std::vector<double> own = f.gradients(some, recompute);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += own[i];
  }
  double off = 0, size = 0;
  for (std::size_t i = 0; i < sum.size(); ++i)
    off += std::pow(sum[i] - all[i], 2), size += std::pow(all[i], 2);
  EXPECT_LT(std::sqrt(off / size), k.precision == Precision::bf16 ? 2e-2 : 1e-5);
}

TEST(Needed, GradientsOfSetsOfTargetsAddUp) {
  ModelConfig plain = micro(), parallel = micro(), gated = micro(), single = micro(1);
  parallel.parallel = parallel.shared_norm = true, parallel.norm = Norm::layer;
  gated.activation = Activation::geglu, gated.norm_place = NormPlace::both, gated.tied = true;
  for (const ModelConfig& c : {plain, parallel, gated, single})
    for (const Kind& k : {Kind{"rope"}, Kind{"t5", "reference"}, Kind{"cope"},
                          Kind{.encoding = "alibi", .precision = Precision::bf16}})
      for (const bool recompute : {false, true}) expect_sums(k, c, recompute);
}

TEST(Needed, TrainingOfFewTargetsTakesLessMemory) {
  Fresh f({"rope"}, micro(), 128);
  const auto memory = [&](const Batch& b) {
    f.gradients(b, false);
    return f.model->step_memory();
  };
  const Batch b = drawn(8, 128);
  const std::size_t few = memory(scored_from(b, 120)), all = memory(b);
  EXPECT_LT(static_cast<double>(few), 0.8 * static_cast<double>(all));
}

// A probe sees all rows of all layers.
TEST(Needed, WhoLooksSeesAllRows) {
  Fresh f({"rope", "reference"}, micro(), 150);
  const Batch b = scored_from(drawn(2, 150), 140);
  std::int64_t queries = 0, residuals = 0;
  Inspection attention, residual;
  attention.attention = [&](int, Tape& t, const Attention& a) { queries = t.shape(a.q)[2]; };
  residual.residual = [&](int, Tape& t, Tensor x) { residuals = t.shape(x)[1]; };
  const Scores plain = f.score(b), looked = f.score(b, attention);
  f.score(b, residual);
  EXPECT_EQ(queries, 150);
  EXPECT_EQ(residuals, 150);
  EXPECT_EQ(plain.nats, looked.nats);
}

TEST(Needed, FirstTokensByStepsOfABlock) {
  EXPECT_EQ(first_needed(496, 512, 64), 448);
  EXPECT_EQ(first_needed(448, 512, 64), 448);
  EXPECT_EQ(first_needed(511, 512, 1), 480);  // never fewer than 32 rows
  EXPECT_EQ(first_needed(60, 512, 64), 0);
  EXPECT_EQ(first_needed(20, 24, 1), 0);
  EXPECT_EQ(first_needed(496, 512, 0), 0);  // a device makes all
  ModelConfig c = micro();
  c.vocabulary = c.classes = inputs_known;
  EvalConfig e;
  e.lengths = {512}, e.examples = 3, e.train_length = 64,
  e.protocols = {parse_protocol("last(16)")};
  const double all = evaluation_flops(c, e, 512, 0), some = evaluation_flops(c, e, 512, 64);
  EXPECT_NEAR(all - some, 3 * 448 * flops_behind_keys(c, 448), 1e-9 * all);
}

}  // namespace
}  // namespace pesuite::testing
