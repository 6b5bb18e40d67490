// The vector functions of the CPU backend against libm in double over all floats, one in 4,099 of
// each sign.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "backend/backend.h"

namespace pesuite::testing {
namespace {

struct Function {
  const char* name;
  Unary op;
  double (*exact)(double);
  double bound;  // of the relative error, where the result is a normal number
};

std::vector<float> floats() {
  std::vector<float> all;
  for (std::uint32_t bits = 0; bits < 0x7f800000; bits += 4099) {
    all.push_back(std::bit_cast<float>(bits));
    all.push_back(-all.back());
  }
  return all;
}

TEST(Functions, AreAccurateOverAllFloats) {
  constexpr double smallest = std::numeric_limits<float>::min();
  constexpr double largest = 0x1p127;  // above it exp may already say infinity
  const Function functions[] = {
      {"exp", Unary::exp, [](double x) { return std::exp(x); }, 2.4e-7},
      {"log", Unary::log, [](double x) { return std::log(x); }, 2.4e-7},
      {"tanh", Unary::tanh, [](double x) { return std::tanh(x); }, 1e-6},
      {"sigmoid", Unary::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, 4e-7},
      {"softplus", Unary::softplus, [](double x) { return x > 40 ? x : std::log1p(std::exp(x)); },
       1e-6}};
  const std::vector<float> x = floats();
  const auto backend = open_backend("cpu", {});
  const Shape shape = {static_cast<std::int64_t>(x.size())};
  const std::size_t bytes = x.size() * sizeof(float);
  void *in = backend->allocate(bytes), *out = backend->allocate(bytes);
  backend->upload({in, shape}, x.data());
  std::vector<float> y(x.size());
  for (const Function& f : functions) {
    backend->unary_forward({out, shape}, {in, shape}, f.op);
    backend->download(y.data(), {out, shape});
    double worst = 0;
    float at = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double exact = f.exact(static_cast<double>(x[i]));
      if (std::isnan(exact)) {
        ASSERT_TRUE(std::isnan(y[i])) << f.name << "(" << x[i] << ")";
      } else if (std::fabs(exact) > largest) {
        ASSERT_GE(std::fabs(y[i]), largest) << f.name << "(" << x[i] << ")";
      } else if (std::fabs(x[i]) >= smallest && std::fabs(exact) >= smallest) {
        const double error = std::fabs(y[i] / exact - 1);
        if (error > worst) worst = error, at = x[i];
      } else if (f.op != Unary::log) {  // of subnormal arguments log knows no more than -infinity
        ASSERT_NEAR(y[i], exact, 1.2 * smallest + f.bound * std::fabs(exact))
            << f.name << "(" << x[i] << ")";
      }
    }
    EXPECT_LE(worst, f.bound) << f.name << "(" << at << ")";
  }
  backend->release(in);
  backend->release(out);
}

}  // namespace
}  // namespace pesuite::testing
