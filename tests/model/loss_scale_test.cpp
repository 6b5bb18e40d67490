// Losses that are scaled, as where gradients pass through fp16.
#include <gmock/gmock.h>

#include <limits>

#include "backend/factory.h"
#include "bench/timed_backend.h"
#include "model/preset.h"
#include "model/train.h"
#include "tests/catalog.h"
#include "tests/scratch.h"
#include "tests/support.h"

namespace pesuite::testing {
namespace {

constexpr double first = LossScale::first;

// Computes in fp32 and says fp16; gradients of losses scaled by more than `largest` overflow.
class Halves final : public bench::TimedBackend {
 public:
  Halves() : TimedBackend(open_backend("cpu", {})) {}
  bool rounds_to_fp16() const override { return says; }
  void adamw(Out norm, std::span<const Update> updates, const AdamW& o) override {
    scales.push_back(o.loss_scale), counts.push_back(o.step);
    if (o.loss_scale > largest) return fill(norm, std::numeric_limits<double>::infinity());
    TimedBackend::adamw(norm, updates, o);
  }
  bool says = true;
  double largest = std::numeric_limits<double>::infinity();
  std::vector<double> scales;        // by step
  std::vector<std::int64_t> counts;  // what the bias correction counts
};

struct Course {
  Halves backend;
  Task task{built_catalog(), parse_expression("toylag(document=256)"), 24, 96};
  std::unique_ptr<Model> model;
  TrainConfig config;
  TrainState state;
  std::vector<std::string> lines;

  Course() {
    ModelConfig c = preset("micro").config;
    c.vocabulary = c.classes = task.info().inputs;
    model = std::make_unique<Model>(backend, c,
                                    Encoding(built_catalog(), {"t5", {}}, shape_of(c, 24, 96)), 5);
    config.length = 24, config.batch = 10, config.micro_batch = 4, config.steps = 12;
    config.log_every = 3, config.optimizer.lr = 3e-3;
    config.health = true;
  }
  TrainOutcome train(const TrainPaths& paths = {},
                     std::int64_t until = std::numeric_limits<std::int64_t>::max()) {
    TrainWatch watch;
    watch.until = until;
    watch.log = [&](const std::string& line) { lines.push_back(line); };
    return pesuite::train(*model, task, config, 9, "id", paths, watch, state);
  }
  std::vector<std::vector<float>> weights() {
    std::vector<std::vector<float>> out;
    for (const Parameter& p : model->parameters()) {
      out.emplace_back(static_cast<std::size_t>(p.shape.count()));
      backend.download(out.back().data(), View{p.value, p.shape});
    }
    return out;
  }
  std::vector<double> observed(const std::string& metric) const {
    std::vector<double> out;
    for (const Observation& o : state.observations)
      if (o.metric == metric) out.push_back(o.value);
    return out;
  }
};

// A power of two moves exponents alone.
TEST(LossScales, LeaveNoTraceInWeightsAndNorms) {
  Course plain, scaled;
  plain.backend.says = false;
  ASSERT_EQ(plain.train(), TrainOutcome::finished);
  ASSERT_EQ(scaled.train(), TrainOutcome::finished);
  EXPECT_THAT(plain.backend.scales, ::testing::Each(1.0));
  EXPECT_THAT(scaled.backend.scales, ::testing::Each(first));
  EXPECT_EQ(scaled.weights(), plain.weights());
  for (const char* metric : {"nll", "grad_norm", "clipped", "part_grad_norm", "update_ratio"}) {
    EXPECT_EQ(scaled.observed(metric), plain.observed(metric)) << metric;
    EXPECT_FALSE(plain.observed(metric).empty()) << metric;
  }
  EXPECT_THAT(plain.observed("loss_scale"), ::testing::IsEmpty());
  EXPECT_THAT(scaled.observed("loss_scale"), ::testing::ElementsAre(first, first, first, first));
}

TEST(LossScales, FallWhereGradientsOverflow) {
  Course c;
  c.backend.largest = first / 16;
  ASSERT_EQ(c.train(), TrainOutcome::finished);
  using ::testing::ElementsAre;
  EXPECT_THAT(std::vector(c.backend.scales.begin(), c.backend.scales.begin() + 6),
              ElementsAre(first, first / 2, first / 4, first / 8, first / 16, first / 16));
  EXPECT_THAT(std::vector(c.backend.counts.begin(), c.backend.counts.begin() + 7),
              ElementsAre(1, 1, 1, 1, 1, 2, 3))
      << "updates that were left out do not count";
  EXPECT_EQ(c.state.loss_scale.left_out, 4);
  EXPECT_THAT(c.observed("left_out"), ElementsAre(3, 1, 0, 0));
  EXPECT_EQ(c.observed("grad_norm").size(), 3u) << "none of three updates that were left out";
  EXPECT_THAT(c.observed("grad_norm"), ::testing::Each(::testing::Lt(100)));
  const auto says = [&](const char* text) {
    return ::testing::Contains(::testing::HasSubstr(text));
  };
  EXPECT_THAT(c.lines, says("grad norm inf | clipped 0/0 |"));
  EXPECT_THAT(c.lines, says("| loss scale 8192, 3 updates left out"));
  EXPECT_THAT(c.lines, says("| loss scale 4096, 1 update left out"));
}

TEST(LossScales, RiseAfterManyUpdates) {
  LossScale s;
  s.factor = first;
  for (int i = 0; i < LossScale::patience - 1; ++i) EXPECT_FALSE(s.leave_out(true));
  EXPECT_TRUE(s.leave_out(false)) << "the count begins again";
  for (int i = 0; i < LossScale::patience - 1; ++i) EXPECT_FALSE(s.leave_out(true));
  EXPECT_EQ(s.factor, first / 2);
  EXPECT_FALSE(s.leave_out(true));
  EXPECT_EQ(s.factor, first);
  for (int i = 0; i < 40 * LossScale::patience; ++i) s.leave_out(true);
  EXPECT_EQ(s.factor, LossScale::most);
}

TEST(LossScales, ThatFallToOneEndInDivergence) {
  Course c;
  c.backend.largest = 0;
  c.config.steps = 40;
  EXPECT_EQ(c.train(), TrainOutcome::diverged);
  EXPECT_EQ(c.state.step, 17) << "16 halvings, and one more";
  EXPECT_THAT(c.state.reason, ::testing::HasSubstr("gradient norm inf"));
}

TEST(LossScales, GoOnFromACheckpoint) {
  const Scratch scratch;
  Course whole, begun, resumed;
  for (Course* c : {&whole, &begun, &resumed}) c->backend.largest = first / 4;
  ASSERT_EQ(whole.train(), TrainOutcome::finished);
  ASSERT_EQ(begun.train({scratch / "last", {}, {}}, 5), TrainOutcome::paused);
  load_checkpoint(scratch / "last", *resumed.model, resumed.state, "id");
  ASSERT_EQ(resumed.train(), TrainOutcome::finished);
  EXPECT_EQ(resumed.weights(), whole.weights());
  EXPECT_EQ(resumed.backend.scales.front(), first / 4);
  EXPECT_EQ(resumed.backend.counts,
            std::vector(whole.backend.counts.begin() + 5, whole.backend.counts.end()));
  EXPECT_EQ(resumed.observed("left_out"), whole.observed("left_out"));
}

}  // namespace
}  // namespace pesuite::testing
