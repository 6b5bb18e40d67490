// Sums over the gradient of scores, with kernels that run on the host, against plain loops in
// double over the same numbers in bf16.
#include "backend/cuda/score_gradient.h"

#include <cuda_bf16.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "pesuite/random.hpp"
#include "tests/gpu/subject.h"
#include "tests/tensor/attention_cases.h"

namespace pesuite::testing {
namespace {

using namespace cuda;
using Half = __nv_bfloat16;

struct Numbers16 {  // the same numbers in bf16 and in double
  std::vector<Half> half;
  std::vector<double> wide;
  Numbers16(Index count, std::uint64_t seed) {
    pes::Random random(seed, pes::purpose("scores"), 0);
    for (Index i = 0; i < count; ++i) {
      half.emplace_back(static_cast<float>(random.normal()));
      wide.push_back(static_cast<float>(half.back()));
    }
  }
  double operator[](Index i) const { return wide[static_cast<std::size_t>(i)]; }
};

struct Example {
  const char* name;
  Index B, H, G, T, D, E;
  bool slopes = false;
  std::vector<BiasForm> biases = {};
};

// An attention whose forward pass is computed in double, and the gradient of its scores.
class Attended {
 public:
  explicit Attended(const Example& e)
      : q_(e.B * e.H * e.T * e.D, 1),
        k_(e.B * e.G * e.T * e.D, 2),
        v_(e.B * e.G * e.T * e.E, 3),
        y_(e.B * e.H * e.T * e.E, 4),  // any: only its product with dy counts
        dy_(e.B * e.H * e.T * e.E, 5) {
    request.B = e.B, request.H = e.H, request.G = e.G, request.T = request.S = e.T;
    request.D = e.D, request.E = e.E;
    request.slopes = e.slopes, request.biases = e.biases;
    for (Index h = 0; h < e.H; ++h) slopes_.push_back(0.5f / static_cast<float>(h + 1));
    for (const BiasForm& b : e.biases) {
      biases_.emplace_back(b.shape.span(0, 3) * b.pitch, 6 + biases_.size());
      biases_fp32_.emplace_back(biases_.back().wide.begin(), biases_.back().wide.end());
    }
    scale_ = 1 / std::sqrt(static_cast<float>(e.D));
    compute();
    bindings[Slot::q] = q_.half.data(), bindings[Slot::k] = k_.half.data();
    bindings[Slot::v] = v_.half.data(), bindings[Slot::y] = y_.half.data();
    bindings[Slot::dy] = dy_.half.data(), bindings[Slot::lse] = lse_.data();
    bindings[Slot::slopes] = slopes_.data(), bindings.scale = scale_;
    for (std::size_t i = 0; i < biases_.size(); ++i)
      bindings[i == 0 ? Slot::bias_a : Slot::bias_b] =
          e.biases[i].type == Type::fp32 ? static_cast<void*>(biases_fp32_[i].data())
                                         : static_cast<void*>(biases_[i].half.data());
  }
  // body(b, h, i, j, the gradient of a score)
  void each(const std::function<void(Index, Index, Index, Index, double)>& body) const {
    const AttentionRequest& r = request;
    std::size_t next = 0;
    for (Index b = 0; b < r.B; ++b)
      for (Index h = 0; h < r.H; ++h)
        for (Index i = 0; i < r.T; ++i)
          for (Index j = 0; j <= i; ++j) body(b, h, i, j, ds_[next++]);
  }

  AttentionRequest request;
  Bindings bindings;

 private:
  double score(Index b, Index h, Index i, Index j) const {
    const AttentionRequest& r = request;
    double x = 0;
    for (Index d = 0; d < r.D; ++d)
      x += q_[((b * r.H + h) * r.T + i) * r.D + d] *
           k_[((b * r.G + h / (r.H / r.G)) * r.T + j) * r.D + d];
    x *= scale_;
    if (r.slopes) x += double{slopes_[static_cast<std::size_t>(h)]} * static_cast<double>(j - i);
    for (std::size_t n = 0; n < r.biases.size(); ++n) {
      const BiasForm& f = r.biases[n];
      const auto at = [&](int axis, Index place) { return f.shape[axis] > 1 ? place : 0; };
      x += biases_[n][((at(0, b) * f.shape[1] + at(1, h)) * f.shape[2] + at(2, i)) * f.pitch + j];
    }
    return x;
  }
  void compute() {
    const AttentionRequest& r = request;
    for (Index b = 0; b < r.B; ++b)
      for (Index h = 0; h < r.H; ++h)
        for (Index i = 0; i < r.T; ++i) {
          double total = 0, delta = 0;
          for (Index j = 0; j <= i; ++j) total += std::exp(score(b, h, i, j));
          lse_.push_back(static_cast<float>(std::log(total)));
          const auto out = [&](Index e) { return ((b * r.T + i) * r.H + h) * r.E + e; };
          for (Index e = 0; e < r.E; ++e) delta += dy_[out(e)] * y_[out(e)];
          for (Index j = 0; j <= i; ++j) {
            double dp = 0;
            for (Index e = 0; e < r.E; ++e)
              dp += dy_[out(e)] * v_[((b * r.G + h / (r.H / r.G)) * r.T + j) * r.E + e];
            ds_.push_back(std::exp(score(b, h, i, j)) / total * (dp - delta));
          }
        }
  }

  Numbers16 q_, k_, v_, y_, dy_;
  std::vector<Numbers16> biases_;
  std::vector<std::vector<float>> biases_fp32_;
  std::vector<float> slopes_, lse_;
  float scale_ = 1;
  std::vector<double> ds_;
};

const std::vector<Example> examples = {
    {"one tile", 2, 2, 2, 5, 8, 8},
    {"a whole tile", 1, 2, 2, 64, 16, 24},
    {"two tiles, groups", 2, 4, 2, 65, 24, 8, true},
    {"four tiles", 2, 3, 1, 200, 40, 16, false, {{{1, 3, 200, 200}, Type::bf16, 200}}},
    {"odd rows and keys",
     2,
     2,
     2,
     131,
     8,
     8,
     false,
     {{{1, 1, 131, 131}, Type::bf16, 136}, {{2, 1, 1, 131}, Type::fp32, 131}}}};

// What a sum is, replaced and added to, with threads in both orders.
void expect_sum(const Attended& a, Index count,
                const std::function<Index(Index, Index, Index, Index)>& place,
                const std::function<void(Queue&, Target)>& sum, const std::string& what) {
  std::vector<double> wanted(static_cast<std::size_t>(count));
  double size = 1;
  a.each([&](Index b, Index h, Index i, Index j, double ds) {
    wanted[static_cast<std::size_t>(place(b, h, i, j))] += ds;
  });
  for (const double w : wanted) size = std::max(size, std::abs(w));
  std::vector<float> bits;
  for (const int order : {0, 1})
    for (const bool add : {false, true}) {
      Queue queue(order);
      std::vector<float> actual(wanted.size(), add ? 2.0f : std::nanf(""));
      sum(queue, {actual.data(), add});
      for (std::size_t i = 0; i < wanted.size(); ++i)
        ASSERT_NEAR(actual[i], wanted[i] + (add ? 2 : 0), 2e-5 * size) << what << ", at " << i;
      if (add) continue;
      if (order == 0) bits = actual;
      EXPECT_EQ(actual, bits) << what << " repeats bit by bit";
    }
}

TEST(ScoreGradient, SumsByDistance) {
  for (const Example& e : examples) {
    const Attended a(e);
    for (const Index rows : {Index{1}, e.H})
      for (const Index N : {e.T, e.T + 70})
        expect_sum(
            a, rows * N,
            [&](Index, Index h, Index i, Index j) { return (rows > 1 ? h : 0) * N + i - j; },
            [&](Queue& queue, Target t) {
              sum_scores_by_distance(queue, t, rows, N, a.request, a.bindings);
            },
            fmt::format("{}, {} x {}", e.name, rows, N));
  }
}

TEST(ScoreGradient, SumsToEveryFormOfABias) {
  for (const Example& e : examples) {
    const Attended a(e);
    for (const Index examples_of : {Index{1}, e.B})
      for (const Index heads : {Index{1}, e.H})
        for (const Index queries : {Index{1}, e.T}) {
          const Shape s = {examples_of, heads, queries, e.T};
          expect_sum(
              a, s.count(),
              [&](Index b, Index h, Index i, Index j) {
                return (((s[0] > 1 ? b : 0) * s[1] + (s[1] > 1 ? h : 0)) * s[2] +
                        (s[2] > 1 ? i : 0)) *
                           s[3] +
                       j;
              },
              [&](Queue& queue, Target t) {
                sum_scores_to_bias(queue, t, s, a.request, a.bindings);
              },
              fmt::format("{}, {}", e.name, s.text()));
        }
  }
}

// On the host already from 73 tokens on; the numbers are AttentionRoutes'.
TEST(ScoreGradient, IsWhatLongTablesLearnFrom) {
  for (const auto& [T, again] : {std::pair<Index, bool>{72, false}, {73, true}}) {
    const AttentionExample c = {"table and map", 1, 2, 2, T, 8, 8, {2, T}, {T, T}};
    const auto backend = subject(Precision::bf16);
    run(*backend, inputs(c), fused(c));
    EXPECT_EQ(backend->attention_route().ends_with("summed over scores that are made again"), again)
        << backend->attention_route();
  }
}

// The backward pass of examples of which some at a time have room.
TEST(FusedBackward, GoesByParts) {
  const std::vector<std::pair<AttentionExample, std::string>> cases = {
      {{"keys", 4, 2, 2, 100, 16, 16, {0}, {4, 2, 1, 100}}, ", 2 of 4 examples at a time"},
      {{"table", 4, 2, 2, 100, 16, 16, {2, 100}}, ", 1 of 4 examples at a time"},
      {{"map", 4, 2, 1, 100, 16, 8, {0}, {4, 1, 100, 100}}, ", 1 of 4 examples at a time"}};
  for (const auto& [c, reason] : cases) {
    const auto backend = subject_with(400'000);
    const Result wanted = run(*open_backend("reference", {}), inputs(c), fused(c));
    const Result actual = run(*backend, inputs(c), fused(c));
    EXPECT_TRUE(backend->attention_route().ends_with(reason)) << backend->attention_route();
    EXPECT_LT(relative(actual.y, wanted.y), 1e-2) << c.name;
    for (std::size_t i = 0; i < wanted.gradients.size(); ++i)
      EXPECT_LT(relative(actual.gradients[i], wanted.gradients[i]), 2e-2)
          << c.name << ", input " << i;
  }
}
TEST(TiledBackward, GoesByParts) {
  constexpr Index T = 100, room = 128 * 192, strips = 2 * 128 * 4;  // bytes of a head
  for (const Shape& table : {Shape{4, T}, Shape{1, T}}) {
    const AttentionExample c = {"table " + table.text(), 5, 4, 2, T, 8, 8, table, {5, 4, 1, T}};
    const auto counted = [&](Backend& backend, long& kernels) {
      const long before = launches();
      Result result = run(backend, inputs(c), fused(c));
      kernels = launches() - before;
      return result;
    };
    long kernels = 0, by_parts = 0;
    const Result whole = counted(*subject(Precision::bf16), kernels);
    Index least = 0;  // bytes with which a group fits
    for (bool fits = false; !fits; least += fits ? 0 : 10'000) {
      const auto backend = subject_with_tiles(least);
      run(*backend, inputs(c), fused(c));
      fits = backend->attention_route().find("tile by tile") != std::string::npos;
    }
    // Of 2 groups in each of 5 examples: as many at a time, and so many times.
    for (const auto& [groups, parts] :
         {std::pair<Index, Index>{1, 10}, {2, 5}, {5, 3}, {9, 2}, {10, 1}}) {
      const Index bytes = least + (groups - 1) * 2 * (room + strips);
      const Result actual = counted(*subject_with_tiles(bytes), by_parts);
      EXPECT_EQ(by_parts, kernels + 3 * (parts - 1)) << groups << " groups at a time";
      EXPECT_EQ(actual.y.data, whole.y.data) << c.name;
      for (std::size_t i = 0; i < whole.gradients.size(); ++i)
        EXPECT_LT(relative(actual.gradients[i], whole.gradients[i]), i == 3 ? 1e-6 : 1e-30)
            << c.name << ", input " << i << ", " << groups << " groups at a time";
    }
  }
}

// Little memory: cuDNN's backward pass goes by examples and ours by groups of heads.
TEST(TiledBackward, GoesByPartsOnBothSidesOfTheLevel) {
  const AttentionExample c = {"", 4, 4, 2, 150, 16, 24, {4, 150}};
  const std::vector<Values> in = inputs_with_rows(c, 40);
  const Result whole = run(*subject_that_splits(), in, by_shared_rows(c, 40));
  int split = 0;
  for (const std::int64_t bytes : {850'000, 900'000, 950'000}) {
    const auto backend = subject_with_tiles(bytes);
    const Result actual = run(*backend, in, by_shared_rows(c, 40));
    split += backend->attention_route().find("level, 2 of 4 examples at") != std::string::npos;
    for (std::size_t i = 0; i < whole.gradients.size(); ++i)
      EXPECT_LT(relative(actual.gradients[i], whole.gradients[i]), 1e-2)
          << bytes << " bytes, input " << i;
  }
  EXPECT_GE(split, 1);
}

}  // namespace
}  // namespace pesuite::testing
