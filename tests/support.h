// Helpers of the tests: tensors with values, runs of a small graph on a backend, comparisons.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "pesuite/random.hpp"
#include "tensor/host.h"
#include "tensor/ops.h"

namespace pesuite::testing {

using host::Values;

// Normal numbers times `scale` plus `shift`, rounded to float so that all backends get the same.
inline Values random_values(const Shape& shape, std::uint64_t seed, double scale = 1,
                            double shift = 0) {
  Values v{shape, {}};
  pes::Random r(seed, pes::purpose("test"), 0);
  for (std::int64_t i = 0; i < shape.count(); ++i)
    v.data.push_back(static_cast<float>(shift + scale * r.normal()));
  return v;
}

using Build = std::function<Tensor(Tape&, const std::vector<Tensor>&)>;

struct Result {
  std::string failure;
  Values y;
  std::vector<Values> gradients;  // of sum(cotangent y) in each input
};

// The cotangent of tests that do not bring their own.
inline Values default_cotangent(const Shape& y) {
  return random_values(y, 99);
}

// Runs `build` on parameters that hold `inputs`, and backwards from `cotangent` (null: the default
// one) unless `backward` is false.
inline Result run(Backend& backend, const std::vector<Values>& inputs, const Build& build,
                  bool backward = true, const Values* cotangent = nullptr) {
  host::Leaves parameters(backend, inputs);
  Tape tape(backend);
  const std::vector<Tensor> leaves = parameters.on(tape);
  Result result;
  const Tensor y = build(tape, leaves);
  result.failure = tape.failure();
  if (y) {
    result.y = host::download(backend, tape.view(y));
    if (backward) {
      const Values g = cotangent != nullptr ? *cotangent : default_cotangent(result.y.shape);
      if (const Out dy = tape.grad(y)) backend.upload(dy, g.data.data());
      tape.backward();
      result.gradients = parameters.gradients();
    }
  }
  return result;
}

// Tolerances are multiplied by PESUITE_TOLERANCE, for machines that round otherwise.
inline double tolerance_scale() {
  const char* text = std::getenv("PESUITE_TOLERANCE");
  return text == nullptr ? 1 : std::atof(text);
}

// |actual - wanted| <= tolerance * (largest |wanted| + 0.1), element by element: the addend is
// for gradients that are 0 but for rounding.
inline void expect_close(const Values& actual, const Values& wanted, double tolerance,
                         const std::string& what) {
  ASSERT_EQ(actual.shape.text(), wanted.shape.text()) << what;
  double largest = 0;
  for (const double w : wanted.data) largest = std::max(largest, std::fabs(w));
  const double bound = tolerance * tolerance_scale() * (largest + 0.1);
  for (std::size_t i = 0; i < wanted.data.size(); ++i)
    ASSERT_LE(std::fabs(actual.data[i] - wanted.data[i]), bound)
        << what << ": element " << i << " of " << wanted.shape.text() << " is " << actual.data[i]
        << ", wanted " << wanted.data[i];
}

// Checks the reference backend's gradients by central differences of its own forward pass. Three
// assertions that cannot pass by accident: some gradient is not zero, difference and gradient are
// not the same bits everywhere, and they agree.
inline void expect_gradients(Backend& reference, const std::vector<Values>& inputs,
                             const Build& build, double tolerance = 1e-6) {
  constexpr double step = 1e-5;
  const Result base = run(reference, inputs, build);
  ASSERT_EQ(base.failure, "");
  const Values cotangent = default_cotangent(base.y.shape);
  const auto loss = [&](const std::vector<Values>& at) {
    const Result r = run(reference, at, build, false);
    double sum = 0;
    for (std::size_t i = 0; i < r.y.data.size(); ++i) sum += r.y.data[i] * cotangent.data[i];
    return sum;
  };
  double largest = 0;
  bool differs = false;
  for (std::size_t n = 0; n < inputs.size(); ++n) {
    const std::size_t size = inputs[n].data.size(), stride = std::max<std::size_t>(1, size / 24);
    for (std::size_t i = 0; i < size; i += stride) {
      std::vector<Values> at = inputs;
      at[n].data[i] += step;
      const double up = loss(at);
      at[n].data[i] -= 2 * step;
      const double difference = (up - loss(at)) / (2 * step);
      const double gradient = base.gradients[n].data[i];
      largest = std::max(largest, std::fabs(gradient));
      differs |= gradient != difference;
      EXPECT_NEAR(gradient, difference, tolerance * (1 + std::fabs(gradient)))
          << "input " << n << ", element " << i;
    }
  }
  EXPECT_GT(largest, 1e-3) << "no gradient flows";
  EXPECT_TRUE(differs) << "the differences equal the gradients bit for bit";
}

}  // namespace pesuite::testing
