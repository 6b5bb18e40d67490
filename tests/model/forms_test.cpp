// Forms of published models, and encodings with each option: counts, gradients by differences, both
// backends, recomputation.
#include "tests/model/forms.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "model/preset.h"
#include "pesuite/random.hpp"
#include "tests/model/each_option.h"

namespace pesuite::testing {
namespace {

constexpr int form_tokens = 13, form_rows = 2, form_length = 16;

struct FormLearner {
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Model> model;
  Batch batch;
  StepInfo info;

  FormLearner(ModelConfig c, const std::string& where, const std::string& encoding = "rope",
              double larger = 8)  // weights, than they are at first
      : backend(open_backend(where, {})) {
    c.vocabulary = c.classes = form_tokens;
    model = std::make_unique<Model>(
        *backend, c, compose(built_catalog(), encoding, shape_of(c, form_length, form_length)), 1);
    batch.size = form_rows, batch.length = form_length;
    pes::Random random(3, pes::purpose("forms"), 0);
    for (int i = 0; i < form_rows * form_length; ++i) {
      batch.tokens.push_back(static_cast<std::int32_t>(random.below(form_tokens)));
      batch.targets.push_back(static_cast<std::int32_t>(random.below(form_tokens)));
    }
    info.training = true, info.steps = 1, info.batch = form_rows, info.length = form_length;
    for (Parameter& p : model->parameters()) {  // gains that are all 1 would hide what they act on
      std::vector<double> v = values(p);
      if (p.shape.rank() == 1)
        for (double& x : v) x += 0.3 * random.uniform() - 0.15;
      else
        for (double& x : v) x *= larger;
      backend->upload({p.value, p.shape}, v.data());
    }
  }
  std::vector<double> values(const Parameter& p, bool gradient = false) const {
    std::vector<double> v(static_cast<std::size_t>(p.shape.count()));
    if (!gradient || p.has_grad)
      backend->download(v.data(), View{gradient ? p.grad : p.value, p.shape});
    return v;
  }
  double nats() {
    double sum = 0;
    for (const double n : model->score(batch, info).nats) sum += n;
    return sum;
  }
  std::vector<std::vector<double>> gradients() {
    model->learn(batch, info, 1);
    std::vector<std::vector<double>> all;
    for (const Parameter& p : model->parameters()) all.push_back(values(p, true));
    return all;
  }
};

TEST(Forms, CountWhatTheyHave) {
  for (auto [name, c] : other_forms()) {
    const auto backend = open_backend("reference", {});
    Model m(*backend, c, compose(built_catalog(), "none", shape_of(c, 8, 8)), 1);
    EXPECT_EQ(m.count(), parameter_count(c)) << name;
  }
}

TEST(Forms, HaveTheGradientsOfDifferences) {
  constexpr double step = 1e-5;
  for (const auto& [name, c] : other_forms()) {
    FormLearner l(c, "reference");
    const std::vector<std::vector<double>> gradients = l.gradients();
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      Parameter& p = l.model->parameters()[i];
      std::vector<double> v = l.values(p);
      const std::size_t at = (7 * i) % v.size();
      const double there = v[at];
      const auto nats = [&](double x) {
        v[at] = x;
        l.backend->upload({p.value, p.shape}, v.data());
        return l.nats();
      };
      const double slope = (nats(there + step) - nats(there - step)) / (2 * step);
      nats(there);
      EXPECT_NEAR(gradients[i][at], slope, 1e-6 * (1 + std::abs(slope))) << name << ", " << p.name;
    }
  }
}

TEST(Forms, AreTheSameOnTheCpuAndRecomputed) {
  for (const auto& [name, c] : other_forms()) {
    FormLearner reference(c, "reference"), cpu(c, "cpu"), again(c, "cpu");
    again.model->set_recompute(true);
    EXPECT_NEAR(cpu.nats(), reference.nats(), 1e-4 * reference.nats()) << name;
    const auto wanted = reference.gradients(), plain = cpu.gradients(),
               recomputed = again.gradients();
    double largest = 0, apart = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i)
      for (std::size_t k = 0; k < wanted[i].size(); ++k) {
        largest = std::max(largest, std::abs(wanted[i][k]));
        apart = std::max(apart, std::abs(wanted[i][k] - plain[i][k]));
      }
    EXPECT_LE(apart, 1e-4 * largest) << name;
    EXPECT_EQ(plain, recomputed) << name;
  }
}

// Of a step along a direction of all parameters.
double slope_along(FormLearner& l, const std::vector<std::vector<double>>& along) {
  constexpr double step = 1e-6;
  std::vector<Parameter>& parameters = l.model->parameters();
  std::vector<std::vector<double>> start;
  for (const Parameter& p : parameters) start.push_back(l.values(p));
  const auto nats = [&](double by) {
    for (std::size_t i = 0; i < start.size(); ++i) {
      std::vector<double> v = start[i];
      for (std::size_t k = 0; k < v.size(); ++k) v[k] += by * along[i][k];
      l.backend->upload({parameters[i].value, parameters[i].shape}, v.data());
    }
    return l.nats();
  };
  return (nats(step) - nats(-step)) / (2 * step);
}

void expect_right(const std::string& encoding) {
  const ModelConfig c = preset("micro").config;
  FormLearner reference(c, "reference", encoding, 3), cpu(c, "cpu", encoding, 3),
      again(c, "cpu", encoding, 3);
  again.model->set_recompute(true);
  EXPECT_NEAR(cpu.nats(), reference.nats(), 1e-5 * reference.nats());
  const auto wanted = reference.gradients(), plain = cpu.gradients(),
             recomputed = again.gradients();
  EXPECT_EQ(plain, recomputed);
  pes::Random random(9, pes::purpose("along"), 0);
  std::vector<std::vector<double>> along;
  double largest = 0, apart = 0, slope = 0, size = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    along.emplace_back();
    for (std::size_t k = 0; k < wanted[i].size(); ++k) {
      largest = std::max(largest, std::abs(wanted[i][k]));
      apart = std::max(apart, std::abs(wanted[i][k] - plain[i][k]));
      along[i].push_back(random.uniform() - 0.5);
      slope += along[i][k] * wanted[i][k], size += std::abs(along[i][k] * wanted[i][k]);
    }
  }
  EXPECT_LE(apart, 1e-4 * largest);
  EXPECT_NEAR(slope_along(reference, along), slope, 1e-4 * size);
}

TEST(EachOption, HasTheGradientsOfDifferencesOnBothBackendsAndRecomputed) {
  int held = 0;
  for (const std::string& encoding : with_one_option()) {
    SCOPED_TRACE(encoding);
    try {
      expect_right(encoding);
    } catch (const Error&) {
      continue;  // the option wants another beside it, or shorter texts
    }
    ++held;
  }
  EXPECT_GE(held, 200);
}

// A token that a window hides reaches through the layers that have none, and only through them.
TEST(Forms, WindowsStandInSomeLayers) {
  const auto moved = [](int window, int every) {
    ModelConfig c = preset("micro").config;
    c.layers = 2, c.window = window, c.window_every = every;
    FormLearner l(c, "reference", "none");
    l.batch.targets.assign(l.batch.targets.size(), -1);
    l.batch.targets[form_length - 1] = 1;
    const double before = l.nats();
    l.batch.tokens[0] = (l.batch.tokens[0] + 1) % form_tokens;
    return l.nats() != before;
  };
  EXPECT_TRUE(moved(0, 0));
  EXPECT_FALSE(moved(3, 0));
  EXPECT_TRUE(moved(3, 2));
}

TEST(Forms, ThatDoNotFitAreRefused) {
  ModelConfig c = preset("micro").config;
  c.window_every = 2;
  EXPECT_THROW(check(c), Error);
  c.window = 8;
  check(c);
  c.norm_place = NormPlace::output, c.parallel = c.shared_norm = true;
  EXPECT_THROW(check(c), Error);
  c.shared_norm = false;
  check(c);
  for (const double cap : {-1.0, 1e-9, 1e9, std::nan("")}) {
    c.score_softcap = cap;
    EXPECT_THROW(check(c), Error) << cap;
    c.score_softcap = 0, c.logit_softcap = cap;
    EXPECT_THROW(check(c), Error) << cap;
    c.logit_softcap = 0;
  }
}

}  // namespace
}  // namespace pesuite::testing
