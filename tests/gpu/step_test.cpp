// Whole training steps of a small model with every encoding: losses, norms of gradients and
// weights against the reference in double.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "model/model.h"
#include "model/optimizer.h"
#include "model/preset.h"
#include "pesuite/random.hpp"
#include "tests/gpu/subject.h"
#include "tests/model/each_option.h"
#include "tests/model/forms.h"

namespace pesuite::testing {
namespace {

constexpr int steps = 6, batch_size = 3;

struct Course {
  std::vector<double> nats, norms;  // by step
  std::vector<double> weights;      // at the end
};

struct Drill {
  double weight = 0.02;  // of a target in the loss
  double loss_scale = 1;
  bool other_tokens = false;  // in each step
  int length = 24;
  bool all_scored = false;  // else four of five
};

Course course(Backend& backend, const std::string& encoding, const ModelConfig& config,
              const Drill& drill = {}) {
  const int length = drill.length;
  Model model(backend, config, compose(built_catalog(), encoding, shape_of(config, length, length)),
              3);
  Optimizer optimizer(backend, {});
  Batch batch;
  batch.size = batch_size, batch.length = length;
  pes::Random random(7, pes::purpose("steps"), 0);
  for (int i = 0; i < batch_size * length; ++i) {
    const bool scored = drill.all_scored || i % 5 != 0;
    batch.tokens.push_back(static_cast<std::int32_t>(random.below(19)));
    batch.targets.push_back(scored ? static_cast<std::int32_t>(random.below(19)) : -1);
  }
  Course c;
  const std::vector<std::int32_t> tokens = batch.tokens;
  for (int step = 0; step < steps; ++step) {
    if (drill.other_tokens)
      for (std::size_t i = 0; i < tokens.size(); ++i) batch.tokens[i] = (tokens[i] + step) % 19;
    StepInfo info;
    info.training = true;
    info.step = step, info.steps = steps, info.seed = static_cast<std::uint64_t>(step);
    info.batch = batch_size, info.length = length;
    const Scores scores = model.learn(batch, info, drill.weight * drill.loss_scale);
    c.nats.push_back(0);
    for (const double n : scores.nats) c.nats.back() += n / static_cast<double>(scores.nats.size());
    c.norms.push_back(optimizer.update(model.parameters(), 1, step, drill.loss_scale));
  }
  for (const Parameter& p : model.parameters()) {
    std::vector<double> values(static_cast<std::size_t>(p.shape.count()));
    backend.download(values.data(), View{p.value, p.shape});
    c.weights.insert(c.weights.end(), values.begin(), values.end());
  }
  return c;
}
Course course(Backend& backend, const std::string& encoding, double dropout,
              Activation activation = Activation::swiglu, const Drill& drill = {}) {
  ModelConfig config = preset("micro").config;
  config.vocabulary = config.classes = 19;
  config.dropout = dropout;
  config.activation = activation;
  return course(backend, encoding, config, drill);
}

void expect_near(const Course& actual, const Course& wanted, double tolerance,
                 const std::string& what) {
  for (std::size_t i = 0; i < wanted.nats.size(); ++i) {
    EXPECT_NEAR(actual.nats[i], wanted.nats[i], tolerance * wanted.nats[i])
        << what << ", step " << i;
    EXPECT_NEAR(actual.norms[i], wanted.norms[i], 10 * tolerance * wanted.norms[i])
        << what << ", step " << i;
  }
  double apart = 0, size = 0;
  for (std::size_t i = 0; i < wanted.weights.size(); ++i) {
    apart += std::pow(actual.weights[i] - wanted.weights[i], 2);
    size += std::pow(wanted.weights[i], 2);
  }
  EXPECT_LT(std::sqrt(apart / size), 10 * tolerance) << what;
}

class Steps : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = absent(); !why.empty()) GTEST_SKIP() << why;
  }
};

TEST_F(Steps, OfEveryEncodingAgreeWithTheReference) {
  const auto names = built_catalog().encoding_names();
  ASSERT_GE(names.size(), 10u) << PESUITE_TEST_PLUGINS;
  for (const std::string& name : names) {
    const Course wanted = course(*open_backend("reference", {}), name, 0);
    EXPECT_LT(wanted.nats.back(), wanted.nats.front()) << name << " learns";
    expect_near(course(*subject(Precision::fp32), name, 0), wanted, 1e-4, name);
  }
}

TEST_F(Steps, OfEachOptionAgreeWithTheReference) {
  if (launches() < 0) GTEST_SKIP() << "the same kernels as of each encoding: on the host alone";
  int held = 0;
  for (const std::string& encoding : with_one_option()) {
    Course wanted;
    try {
      wanted = course(*open_backend("reference", {}), encoding, 0);
    } catch (const Error&) {
      continue;  // the option wants another beside it, or shorter texts
    }
    expect_near(course(*subject(Precision::fp32), encoding, 0), wanted, 1e-4, encoding);
    ++held;
  }
  EXPECT_GE(held, 200);
}

TEST_F(Steps, WithDropoutDropTheSame) {
  for (const char* name : {"none", "t5", "cope"})
    expect_near(course(*subject(Precision::fp32), name, 0.2),
                course(*open_backend("reference", {}), name, 0.2), 1e-4, name);
}

TEST_F(Steps, InBf16AreNear) {
  // cope rewrites the scores, path_attention and fox read the layer's input.
  for (const char* name :
       {"none", "rope", "alibi", "t5", "cope", "path_attention", "fox", "grape_a", "hard_alibi",
        "pose(target=512)", "selective_rope", "dual_chunk", "streaming_llm(window=8)"})
    for (const bool all : {false, true}) {
      const auto trained = [&](Backend& backend) {
        return course(backend, name, 0, Activation::swiglu, {.all_scored = all});
      };
      expect_near(trained(*subject(Precision::bf16)), trained(*open_backend("reference", {})), 1e-2,
                  name);
    }
}

TEST_F(Steps, OfPublishedFormsAreNear) {
  for (auto [name, form] : other_forms()) {
    form.vocabulary = form.classes = 19;
    const Course wanted = course(*open_backend("reference", {}), "rope", form);
    expect_near(course(*subject(Precision::fp32), "rope", form), wanted, 1e-4, name.c_str());
    expect_near(course(*subject(Precision::bf16), "rope", form), wanted, 1e-2, name.c_str());
  }
}

TEST_F(Steps, OfT5AreNearWhereCudnnHasTheLevelPartOfItsTable) {
  const auto trained = [](Backend& backend) {
    return course(backend, "t5(max_distance=60)", 0, Activation::swiglu, {.length = 150});
  };
  const auto backend = subject_that_splits();
  expect_near(trained(*backend), trained(*open_backend("reference", {})), 1e-2, "t5");
  EXPECT_NE(backend->attention_route().find("up to a distance of 64"), std::string::npos)
      << backend->attention_route();
}

TEST_F(Steps, InBf16WithGeluOrDropoutAreNear) {
  for (const double dropout : {0.0, 0.2})
    expect_near(course(*subject(Precision::bf16), "rope", dropout, Activation::gelu),
                course(*open_backend("reference", {}), "rope", dropout, Activation::gelu), 1e-2,
                "gelu");
}

TEST_F(Steps, InFp16AreNearerThanInBf16) {
  for (const char* name :
       {"none", "rope", "alibi", "t5", "cope", "path_attention", "fox", "grape_a", "hard_alibi",
        "pose(target=512)", "selective_rope", "dual_chunk", "streaming_llm(window=8)"}) {
    const auto backend = subject(Precision::fp16);
    EXPECT_TRUE(backend->rounds_to_fp16());
    expect_near(course(*backend, name, 0, Activation::swiglu, {.loss_scale = LossScale::first}),
                course(*open_backend("reference", {}), name, 0), 2e-3, name);
  }
}
// The gradient of a logit is 1e-8 at most, and fp16 holds nothing below 6e-8.
TEST_F(Steps, InFp16LoseSmallGradientsWhereTheLossIsNotScaled) {
  const auto norm = [](const std::string& of, double loss_scale) {
    const auto backend = of == "reference" ? open_backend(of, {}) : subject(Precision::fp16);
    return course(*backend, "rope", 0, Activation::swiglu, {1e-8, loss_scale}).norms.front();
  };
  const double wanted = norm("reference", 1);
  EXPECT_NEAR(norm("subject", LossScale::first), wanted, 1e-2 * wanted);
  EXPECT_LT(norm("subject", 1), 0.1 * wanted);
}

TEST_F(Steps, WithFixedSlopesReadNoTable) {
  const auto backend = subject(Precision::bf16);
  course(*backend, "alibi", 0);
  EXPECT_EQ(backend->attention_route(),
            "fused backward: the table is linear in the distance and becomes a slope a head");
}

TEST_F(Steps, RepeatBitByBit) {
  for (const char* name : {"rope", "t5", "cope"}) {
    const Course one = course(*subject(Precision::fp32), name, 0.2),
                 two = course(*subject_backwards(), name, 0.2);
    EXPECT_EQ(one.nats, two.nats) << name;
    EXPECT_EQ(one.weights, two.weights) << name;
  }
}

TEST_F(Steps, RepeatBitByBitInBf16) {
  for (const char* name : {"none", "rope", "alibi", "t5", "cope", "fire", "fox"}) {
    const Course one = course(*subject(Precision::bf16), name, 0),
                 two = course(*subject(Precision::bf16), name, 0);
    EXPECT_EQ(one.nats, two.nats) << name;
    EXPECT_EQ(one.weights, two.weights) << name;
  }
}

// Tokens, what dropout drops and the optimiser's factors are others in each step.
TEST_F(Steps, AsGraphsGiveTheSameBits) {
  const auto with = [&](std::unique_ptr<Backend> backend, const std::string& encoding,
                        double dropout, long& graphs) {
    Course c = course(*backend, encoding, dropout, Activation::swiglu, {.other_tokens = true});
    graphs = graphs_run(*backend);
    return c;
  };
  for (const Precision precision : {Precision::fp32, Precision::bf16})
    for (const std::string& name : built_catalog().encoding_names()) {
      const double dropout = precision == Precision::fp32 ? 0.2 : 0;
      long graphs = 0, none = 0;
      const Course one = with(subject_with_graphs(precision), name, dropout, graphs),
                   two = with(subject_without_graphs(precision), name, dropout, none);
      const std::string what = fmt::format("{} in {}", name, precision_name(precision));
      EXPECT_EQ(one.nats, two.nats) << what;
      EXPECT_EQ(one.norms, two.norms) << what;
      EXPECT_EQ(one.weights, two.weights) << what;
      EXPECT_TRUE(graphs != 0 || name == "clex") << what;  // whose lists need not come again
      EXPECT_LE(none, 0) << what;
    }
}

}  // namespace
}  // namespace pesuite::testing
