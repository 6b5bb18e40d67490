// Steps of the optimiser by the CUDA backend, against the reference.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/gpu/subject.h"
#include "tests/support.h"

namespace pesuite::testing {
namespace {

// Steps of the optimiser one after the other, over parameters of several sizes; the last without
// one of them.
std::vector<std::vector<double>> optimised(Backend& b, double clip, double poison) {
  const std::vector<Shape> shapes = {{3}, {40000}, {70, 33}, {4096}, {1}, {8193}};
  std::vector<void*> memory;
  std::vector<Update> updates;
  std::vector<Values> grads;
  const auto make = [&](const Values& v) {
    memory.push_back(b.allocate(v.data.size() * b.element_size()));
    b.upload({memory.back(), v.shape}, v.data.data());
    return memory.back();
  };
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    Values zero{shapes[i], std::vector<double>(static_cast<std::size_t>(shapes[i].count()))};
    Values grad = random_values(shapes[i], 20 + i);
    if (i == 1) grad.data[39999] += poison;
    Update u;
    u.value = {make(random_values(shapes[i], i)), shapes[i]};
    u.m = {make(zero), shapes[i]}, u.v = {make(zero), shapes[i]};
    u.grad = {make(grad), shapes[i]};
    u.weight_decay = i == 0 ? 0 : 0.1;
    updates.push_back(u);
  }
  const Out norm{make({{1}, {0}}), {1}};
  for (int step = 1; step <= 3; ++step)
    b.adamw(norm, std::span(updates).subspan(step == 3 ? 1 : 0),
            {.lr = 0.1 / step, .clip = clip, .step = step});
  std::vector<std::vector<double>> all(1, std::vector<double>(1));
  b.download(all[0].data(), norm.view());
  for (const Update& u : updates)
    for (const Out& o : {u.value, u.m, u.v}) {
      all.emplace_back(static_cast<std::size_t>(o.shape.count()));
      b.download(all.back().data(), o.view());
    }
  for (void* m : memory) b.release(m);
  return all;
}

TEST(Optimiser, AgreesWithTheReference) {
  if (const std::string why = absent(); !why.empty()) GTEST_SKIP() << why;
  for (const double clip : {0.0, 1.0, 1e6}) {
    const auto wanted = optimised(*open_backend("reference", {}), clip, 0);
    const auto actual = optimised(*subject(Precision::fp32), clip, 0);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const Shape flat = {static_cast<std::int64_t>(wanted[i].size())};
      expect_close({flat, actual[i]}, {flat, wanted[i]}, 3e-6, "part " + std::to_string(i));
    }
  }
}

TEST(Optimiser, StartsThreeKernelsForAllParameters) {
  if (const std::string why = absent(); !why.empty()) GTEST_SKIP() << why;
  const auto backend = subject(Precision::fp32);
  if (launches() < 0) GTEST_SKIP() << "a device does not count them";
  const Shape shape = {5000};
  std::vector<void*> memory;
  for (int i = 0; i < 41; ++i) memory.push_back(backend->allocate(5000 * sizeof(float)));
  std::vector<Update> updates(10);
  for (std::size_t i = 0; i < 10; ++i) {
    Update& u = updates[i];
    std::size_t part = 4 * i;
    for (Out* o : {&u.value, &u.m, &u.v}) {
      *o = {memory[part++], shape};
      backend->fill(*o, 0.5);
    }
    u.grad = {memory[4 * i + 3], shape};
    backend->fill({memory[4 * i + 3], shape}, 0.1);
  }
  const long before = launches();
  for (int step = 1; step <= 2; ++step) backend->adamw({memory[40], {1}}, updates, {.step = step});
  EXPECT_EQ(launches() - before, 6);
  for (void* m : memory) backend->release(m);
}

// Products in bf16 read a copy of a parameter that the optimiser keeps: it must be the parameter's
// after each step, and after an upload.
TEST(Optimiser, KeepsARoundedCopyOfAParameterUpToDate) {
  if (const std::string why = absent(); !why.empty()) GTEST_SKIP() << why;
  const Shape shape = {24, 16}, rows = {5, 16}, out = {5, 24};
  const Values start = random_values(shape, 1), grad = random_values(shape, 2);
  const Values other = random_values(shape, 3), x = random_values(rows, 4);
  const auto backend = subject(Precision::bf16);
  std::vector<void*> memory;
  const auto make = [&](Backend& b, const Values& v) {
    memory.push_back(b.allocate(v.data.size() * b.element_size()));
    b.upload({memory.back(), v.shape}, v.data.data());
    return Out{memory.back(), v.shape};
  };
  const Values zero{shape, std::vector<double>(24 * 16)}, none{out, std::vector<double>(5 * 24)};
  Update u{make(*backend, start), make(*backend, zero), make(*backend, zero),
           make(*backend, grad).view(), 0.1};
  const Out norm = make(*backend, {{1}, {0}}), input = make(*backend, x);
  const auto product = [&](Backend& b, View from, View w) {
    const Out y = make(b, none);
    b.linear_forward(y, from, w, {}, {});
    std::vector<double> all(none.data.size());
    b.download(all.data(), y.view());
    return all;
  };
  const auto of_fresh = [&](const std::vector<double>& w) {
    const auto fresh = subject(Precision::bf16);
    const std::size_t first = memory.size();
    const auto all = product(*fresh, make(*fresh, x).view(), make(*fresh, {shape, w}).view());
    for (; memory.size() > first; memory.pop_back()) fresh->release(memory.back());
    return all;
  };
  for (int step = 1; step <= 4; ++step) {
    backend->adamw(norm, {&u, 1}, {.lr = 0.1, .step = step});
    std::vector<double> w(start.data.size());
    backend->download(w.data(), u.value.view());
    EXPECT_EQ(product(*backend, input.view(), u.value.view()), of_fresh(w)) << "step " << step;
  }
  backend->upload(u.value, other.data.data());
  EXPECT_EQ(product(*backend, input.view(), u.value.view()), of_fresh(other.data));
  for (void* m : memory) backend->release(m);
}

TEST(Optimiser, UpdatesNothingWhereTheGradientIsNotFinite) {
  if (const std::string why = absent(); !why.empty()) GTEST_SKIP() << why;
  for (const double poison :
       {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    const auto wanted = optimised(*open_backend("reference", {}), 1, poison);
    const auto actual = optimised(*subject(Precision::fp32), 1, poison);
    EXPECT_FALSE(std::isfinite(actual[0][0]));
    for (std::size_t i = 1; i < wanted.size(); ++i) EXPECT_EQ(actual[i], wanted[i]);
  }
}

}  // namespace
}  // namespace pesuite::testing
