// Gradients that are sent while the backward pass goes on: when they are complete, in how many
// pieces, and what processes without any do.
#include "model/gradient_sum.h"

#include <gtest/gtest.h>

#include <map>

#include "bench/timed_backend.h"
#include "model/preset.h"
#include "pesuite/random.hpp"
#include "tests/catalog.h"

namespace pesuite::testing {
namespace {

constexpr int tokens = 11, examples = 2, long_enough = 16;

struct Pass {
  ModelConfig config = preset("micro").config;
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Model> model;
  Batch batch;
  StepInfo info;

  explicit Pass(const std::string& encoding, const char* where = "cpu", bool tied = true,
                int width = 0)
      : Pass(encoding, open_backend(where, {}), tied, width) {}
  Pass(const std::string& encoding, std::unique_ptr<Backend> on, bool tied = true, int width = 0)
      : backend(std::move(on)) {
    config.vocabulary = config.classes = tokens;
    config.tied = tied, config.head_bias = !tied, config.qk_norm = QkNorm::before;
    if (width > 0) config.width = width, config.ff_width = 4 * width;
    model = std::make_unique<Model>(
        *backend, config,
        compose(built_catalog(), encoding, shape_of(config, long_enough, long_enough)), 1);
    batch.size = examples, batch.length = long_enough;
    pes::Random random(1, pes::purpose("gradients"), 0);
    for (int i = 0; i < examples * long_enough; ++i) {
      batch.tokens.push_back(static_cast<std::int32_t>(random.below(tokens)));
      batch.targets.push_back(static_cast<std::int32_t>(random.below(tokens)));
    }
    info.training = true, info.steps = 1, info.batch = examples, info.length = long_enough;
  }
  std::vector<double> gradient(std::size_t i) const {
    const Parameter& p = model->parameters()[i];
    std::vector<double> values(static_cast<std::size_t>(p.shape.count()));
    if (p.has_grad) backend->download(values.data(), View{p.grad, p.shape});
    return values;
  }
};

// A download waits for a device: before the backward pass it would leave the device idle.
TEST(Gradients, AreMadeBeforeTheLossIsDownloaded) {
  auto timed = std::make_unique<bench::TimedBackend>(open_backend("cpu", {}));
  const bench::TimedBackend& at_work = *timed;
  Pass p("rope", std::move(timed));
  int told = 0;
  p.model->learn(p.batch, p.info, 1, [&](ParameterRange) {
    ++told;
    EXPECT_FALSE(at_work.times().contains("download")) << "before part " << told;
  });
  EXPECT_GT(told, 1);
  EXPECT_EQ(at_work.times().at("download").calls, 2);  // nats and the likeliest classes
}

TEST(Gradients, AreCompleteWhenTheWalkSaysSo) {
  const auto names = built_catalog().encoding_names();
  ASSERT_GE(names.size(), 10u);
  for (const std::string& name : names)
    for (const bool tied : {true, false}) {
      Pass p(name, "cpu", tied);
      std::map<std::size_t, std::vector<double>> then;
      std::size_t at_once = 0;
      p.model->learn(p.batch, p.info, 1, [&](ParameterRange range) {
        at_once = std::max(at_once, range.last - range.first);
        for (std::size_t i = range.first; i < range.last; ++i) {
          EXPECT_FALSE(then.contains(i)) << p.model->parameters()[i].name;
          then[i] = p.gradient(i);
        }
      });
      ASSERT_EQ(then.size(), p.model->parameters().size()) << name;
      EXPECT_LT(at_once, then.size()) << "some while others are not";
      for (std::size_t i = 0; i < then.size(); ++i)
        EXPECT_EQ(then[i], p.gradient(i)) << name << ", " << p.model->parameters()[i].name;
    }
}

TEST(Gradients, AreCompleteWhereNothingIsScored) {
  Pass p("learned");
  p.batch.targets.assign(p.batch.targets.size(), -1);
  std::size_t told = 0;
  p.model->learn(p.batch, p.info, 1, [&](ParameterRange r) { told += r.last - r.first; });
  EXPECT_EQ(told, p.model->parameters().size());
}

// A second process that finds the same.
class Mirror : public Group {
 public:
  explicit Mirror(double factor) : factor_(factor) {}
  int size() const override { return 2; }
  void sum(std::span<double> values) override {
    for (double& v : values) v *= factor_;
  }
  void begin_sum(Backend&, std::span<double> values) override { pieces.push_back(values); }
  void finish_sums(Backend&) override {
    for (const std::span<double> piece : pieces)
      for (double& v : piece) v *= factor_;
    finished = true;
  }
  std::vector<std::span<double>> pieces;
  bool finished = false;

 private:
  double factor_;
};

TEST(Gradients, AreAddedUpInFewPieces) {
  for (const char* name : {"none", "learned", "t5"}) {
    Pass alone(name, "reference"), together(name, "reference");
    alone.model->learn(alone.batch, alone.info, 1);
    Mirror group(2);
    GradientSum sum(*together.model, group);
    together.model->learn(together.batch, together.info, 1, [&](ParameterRange r) { sum.send(r); });
    double more[] = {3};
    sum.finish(more);
    EXPECT_EQ(more[0], 6);
    EXPECT_TRUE(group.finished);
    EXPECT_GE(group.pieces.size(), 1u);
    EXPECT_LE(group.pieces.size(), 2u) << name << ": the model's, and the encoding's";
    for (std::size_t i = 0; i < alone.model->parameters().size(); ++i) {
      std::vector<double> wanted = alone.gradient(i);
      for (double& v : wanted) v *= 2;
      EXPECT_EQ(together.gradient(i), wanted) << alone.model->parameters()[i].name;
    }
  }
}

TEST(Gradients, OfALargeModelGoBeforeTheWalkEnds) {
  Pass p("none", "reference", true, 256);
  Mirror group(2);
  GradientSum sum(*p.model, group);
  std::size_t before_the_table = 0;
  p.model->learn(p.batch, p.info, 1, [&](ParameterRange r) {
    if (r.first == 0) before_the_table = group.pieces.size();
    sum.send(r);
  });
  EXPECT_GE(before_the_table, 1u);
  EXPECT_LT(before_the_table, p.model->parameters().size() / 4);
  sum.finish({});
}

TEST(Gradients, OfNoProcessAreNone) {
  Pass p("learned", "reference");
  Mirror group(2);
  GradientSum sum(*p.model, group);
  for (const ParameterRange r : p.model->gradient_order()) sum.send(r);
  sum.finish({});
  for (const Parameter& q : p.model->parameters()) EXPECT_FALSE(q.has_grad) << q.name;
  for (const auto piece : group.pieces)
    for (const double v : piece) EXPECT_EQ(v, 0);
}

}  // namespace
}  // namespace pesuite::testing
