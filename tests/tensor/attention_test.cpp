// Attention: the blocked kernel against the plain loop, composed against fused, gradients against
// differences, memory linear in the length.
#include "tensor/attention.h"

#include <sys/resource.h>

#include <cmath>
#include <functional>
#include <limits>

#include "backend/cpu/bf16.h"
#include "tests/support.h"
#include "tests/tensor/attention_cases.h"

namespace pesuite::testing {
namespace {

class AttentionTest : public ::testing::TestWithParam<AttentionExample> {};

TEST_P(AttentionTest, GradientsOfTheReferenceAgreeWithDifferences) {
  const AttentionExample& c = GetParam();
  if (c.T > 70) GTEST_SKIP() << "the plain loop is slow; shorter cases cover it";
  expect_gradients(*open_backend("reference", {}), inputs(c), fused(c));
}

TEST_P(AttentionTest, CpuAgreesWithTheReference) {
  const AttentionExample& c = GetParam();
  const Result wanted = run(*open_backend("reference", {}), inputs(c), fused(c));
  const Result actual = run(*open_backend("cpu", {}), inputs(c), fused(c));
  ASSERT_EQ(actual.failure, "");
  expect_close(actual.y, wanted.y, 5e-6, "y");
  for (std::size_t i = 0; i < wanted.gradients.size(); ++i)
    expect_close(actual.gradients[i], wanted.gradients[i], 2e-5,
                 "gradient of input " + std::to_string(i));
}

// |a - b| / |b|; 0 where b is nothing but rounding
double distance(const Values& a, const Values& b) {
  double apart = 0, size = 0;
  for (std::size_t i = 0; i < b.data.size(); ++i) {
    apart += std::pow(a.data[i] - b.data[i], 2);
    size += std::pow(b.data[i], 2);
  }
  return std::sqrt(size > 1e-6 ? apart / size : 0);
}

// What a row's exponentials are relative to while blocks of keys pass: whole blocks that are not
// seen come first, or scores that grow from block to block, or fall.
TEST(AttentionOfExtremes, AgreesWithTheReference) {
  const AttentionExample c{"", 1, 2, 2, 200, 32, 32, {1, 200}};
  const double none = -std::numeric_limits<double>::infinity();
  const std::function<double(double)> biases[] = {
      [=](double n) { return n < 70 ? 0 : none; }, [](double n) { return -0.3 * n; },
      [](double n) { return 0.3 * n; }, [](double n) { return n < 70 ? 0 : -1e9; }};
  for (std::size_t which = 0; which < std::size(biases); ++which) {
    SCOPED_TRACE(which);
    std::vector<Values> x = inputs(c);
    for (std::size_t n = 0; n < x[3].data.size(); ++n)
      x[3].data[n] = biases[which](static_cast<double>(n));
    const Result wanted = run(*open_backend("reference", {}), x, fused(c));
    const Result actual = run(*open_backend("cpu", {}), x, fused(c));
    expect_close(actual.y, wanted.y, 5e-6, "y");
    for (std::size_t i = 0; i < wanted.gradients.size(); ++i)
      expect_close(actual.gradients[i], wanted.gradients[i], 2e-5,
                   "gradient of input " + std::to_string(i));
    if (bf16::best_kernel() == bf16::Kernel::none) continue;
    const Result half =
        run(*open_backend("cpu", {.threads = 1, .precision = Precision::bf16}), x, fused(c));
    EXPECT_LT(distance(half.y, wanted.y), 0.01);
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_LT(distance(half.gradients[i], wanted.gradients[i]), 0.03) << "of input " << i;
  }
}

TEST_P(AttentionTest, Bf16IsNearTheReference) {
  if (bf16::best_kernel() == bf16::Kernel::none) GTEST_SKIP() << "no AVX512-BF16 here";
  const AttentionExample& c = GetParam();
  const Result wanted = run(*open_backend("reference", {}), inputs(c), fused(c));
  const auto in_bf16 = [&](int threads) {
    return run(*open_backend("cpu", {.threads = threads, .precision = Precision::bf16}), inputs(c),
               fused(c));
  };
  const Result one = in_bf16(1), two = in_bf16(2);
  ASSERT_EQ(one.failure, "");
  EXPECT_LT(distance(one.y, wanted.y), 0.005) << "two roundings to 8 bits";
  if (c.T > 1) {
    EXPECT_GT(distance(one.y, wanted.y), 1e-5) << "it is another precision";
  }
  EXPECT_EQ(one.y.data, two.y.data) << "threads change nothing";
  for (std::size_t i = 0; i < wanted.gradients.size(); ++i) {
    EXPECT_LT(distance(one.gradients[i], wanted.gradients[i]), 0.02) << "of input " << i;
    EXPECT_EQ(one.gradients[i].data, two.gradients[i].data) << "of input " << i;
  }
}

TEST_P(AttentionTest, ComposedAgreesWithFused) {
  const AttentionExample& c = GetParam();
  if (c.dropout > 0) GTEST_SKIP() << "composed attention draws its dropout in another order";
  const auto reference = open_backend("reference", {}), cpu = open_backend("cpu", {});
  const Result wanted = run(*reference, inputs(c), fused(c));
  for (Backend* backend : {reference.get(), cpu.get()}) {
    const Result actual = run(*backend, inputs(c), composed(c));
    ASSERT_EQ(actual.failure, "");
    const double tolerance = backend == cpu.get() ? 5e-6 : 1e-12;
    expect_close(actual.y, wanted.y, tolerance, "y");
    for (std::size_t i = 0; i < wanted.gradients.size(); ++i)
      expect_close(actual.gradients[i], wanted.gradients[i], 4 * tolerance,
                   "gradient of input " + std::to_string(i));
  }
}

// Nobody asks for the scores: the fused kernel, a block of rows at a time, with the same dropout.
TEST_P(AttentionTest, ByRowsAgreesWithFused) {
  const AttentionExample& c = GetParam();
  const auto reference = open_backend("reference", {}), cpu = open_backend("cpu", {});
  const Result wanted = run(*reference, inputs(c), fused(c));
  for (Backend* backend : {reference.get(), cpu.get()}) {
    const Result actual = run(*backend, inputs(c), rewritten(c, untouched));
    ASSERT_EQ(actual.failure, "");
    const double tolerance = backend == cpu.get() ? 5e-6 : 1e-12;
    expect_close(actual.y, wanted.y, tolerance, "y");
    for (std::size_t i = 0; i < wanted.gradients.size(); ++i)
      expect_close(actual.gradients[i], wanted.gradients[i], 4 * tolerance,
                   "gradient of input " + std::to_string(i));
  }
}

TEST_P(AttentionTest, TwoThreadsGiveTheBitsOfOne) {
  const AttentionExample& c = GetParam();
  const Result one = run(*open_backend("cpu", {.threads = 1}), inputs(c), fused(c));
  const Result two = run(*open_backend("cpu", {.threads = 2}), inputs(c), fused(c));
  EXPECT_EQ(one.y.data, two.y.data);
  for (std::size_t i = 0; i < one.gradients.size(); ++i)
    EXPECT_EQ(one.gradients[i].data, two.gradients[i].data) << "gradient of input " << i;
}

INSTANTIATE_TEST_SUITE_P(Attention, AttentionTest, ::testing::ValuesIn(attention_cases()),
                         [](const auto& info) { return info.param.name; });

// A rewrite by content whose parameter learns: scores + sigmoid(scores) * w, visible keys only.
TEST(ComposedAttention, GradientsReachWhatTheRewriterReads) {
  const Build build = [](Tape& t, const std::vector<Tensor>& x) {
    Attention a;
    a.q = x[0], a.k = x[1], a.v = x[2];
    a.scale = 0.5;
    a.rewrite.self = &x[3];
    a.rewrite.call = [](const void* self, Tape& tape, Tensor scores, Tensor, Tensor, Tensor visible,
                        std::int64_t) {
      const Tensor w = *static_cast<const Tensor*>(self);
      tape.now(scores);
      const Tensor gate = ops::binary(tape, Binary::mul, ops::unary(tape, Unary::sigmoid, scores),
                                      tape.now(visible));
      return ops::binary(tape, Binary::add, scores,
                         ops::binary(tape, Binary::mul, ops::cumsum(tape, gate, -1, true), w));
    };
    return attend(t, a);
  };
  const std::vector<Values> in = {random_values({1, 2, 21, 4}, 1), random_values({1, 2, 21, 4}, 2),
                                  random_values({1, 2, 21, 4}, 3), random_values({2, 1, 1}, 4)};
  // x lives in run(); keep the handles alive for the backward pass
  static std::vector<Tensor> handles;
  const Build keep = [&](Tape& t, const std::vector<Tensor>& x) {
    handles = x;
    return build(t, handles);
  };
  expect_gradients(*open_backend("reference", {}), in, keep);
  const Result wanted = run(*open_backend("reference", {}), in, keep);
  const Result actual = run(*open_backend("cpu", {}), in, keep);
  for (std::size_t i = 0; i < in.size(); ++i)
    expect_close(actual.gradients[i], wanted.gradients[i], 2e-5, "gradient " + std::to_string(i));
}

// Keys that a distance hides are left out: no bit of output and gradients changes. A bias of zeros
// beside the distance keeps all of them in.
TEST(FarKeys, AreLeftOutWithoutAChange) {
  constexpr std::int64_t H = 2, T = 2300, D = 8;
  const double none = -std::numeric_limits<double>::infinity();
  const auto table = [&](const std::function<double(std::int64_t)>& of) {
    Values d{{H, T}, std::vector<double>(H * T)};
    for (std::int64_t h = 0; h < H; ++h)
      for (std::int64_t n = 0; n < T; ++n)
        d.data[static_cast<std::size_t>(h * T + n)] =
            h == 1 ? 0.01 * static_cast<double>(n) : of(n);
    return d;
  };
  const Values zeros{{1, 1, 1, 1}, {0}};
  const std::vector<Values> tables = {
      table([](std::int64_t n) { return n < 70 ? 0 : -1e9; }),
      table([&](std::int64_t n) { return n < 70 ? 0 : none; }),
      table([](std::int64_t n) { return -2.0 * static_cast<double>(n); }),
      table([](std::int64_t n) { return n < 70 ? -0.05 * static_cast<double>(n) : -1e6; }),
      // what hides counts after all, as keys in sight lie as low
      table([](std::int64_t n) { return n < 70 ? -999990 : -1e6; }),
      // nothing is hidden, and what a row is relative to hangs on where it begins
      table([](std::int64_t n) { return -0.08 * static_cast<double>(n); }),
      table([](std::int64_t n) { return n == 0 ? -1e9 : 0; })};  // a query that does not see itself
  std::vector<BackendOptions> ways = {{}, {.threads = 2}};
  if (bf16::best_kernel() != bf16::Kernel::none) ways.push_back({.precision = Precision::bf16});
  for (const BackendOptions& way : ways)
    for (std::size_t i = 0; i < tables.size(); ++i)
      for (const double size : {1.0, 6.0}) {
        const std::vector<Values> in = {random_values({1, H, T, D}, 1, size),
                                        random_values({1, H, T, D}, 2, size),
                                        random_values({1, H, T, D}, 3), tables[i], zeros};
        const auto result = [&](bool all) {
          return run(*open_backend("cpu", way), in, [all](Tape& t, const std::vector<Tensor>& x) {
            Attention a;
            a.q = x[0], a.k = x[1], a.v = x[2], a.distance = x[3];
            if (all) a.bias = x[4];
            a.scale = 0.35;
            return attend(t, a);
          });
        };
        const Result kept = result(true), left_out = result(false);
        EXPECT_EQ(kept.y.data, left_out.y.data) << "table " << i << ", size " << size;
        for (std::size_t n = 0; n < 4; ++n)
          EXPECT_EQ(kept.gradients[n].data, left_out.gradients[n].data)
              << "table " << i << ", size " << size << ", gradient of input " << n;
      }
}

// Scores are capped before anything is added to them, also where a rewriter does no more than add.
TEST(CappedAttention, IsItsDefinitionWithItsGradients) {
  constexpr std::int64_t H = 2, T = 37, D = 4;
  constexpr double scale = 0.7, cap = 0.9;
  const Values q = random_values({1, H, T, D}, 1), k = random_values({1, H, T, D}, 2),
               v = random_values({1, H, T, D}, 3), distance = random_values({H, T}, 4),
               bias = random_values({H, T, T}, 5);
  const auto at = [](const Values& x, std::int64_t i) {
    return x.data[static_cast<std::size_t>(i)];
  };
  Values wanted{{1, T, H * D}, std::vector<double>(T * H * D)};
  for (std::int64_t h = 0; h < H; ++h)
    for (std::int64_t i = 0; i < T; ++i) {
      double total = 0;
      std::vector<double> y(D);
      for (std::int64_t j = 0; j <= i; ++j) {
        double s = 0;
        for (std::int64_t d = 0; d < D; ++d)
          s += scale * at(q, (h * T + i) * D + d) * at(k, (h * T + j) * D + d);
        s = cap * std::tanh(s / cap) + at(distance, h * T + i - j) + at(bias, (h * T + i) * T + j);
        total += std::exp(s);
        for (std::int64_t d = 0; d < D; ++d)
          y[static_cast<std::size_t>(d)] += std::exp(s) * at(v, (h * T + j) * D + d);
      }
      for (std::int64_t d = 0; d < D; ++d)
        wanted.data[static_cast<std::size_t>((i * H + h) * D + d)] =
            y[static_cast<std::size_t>(d)] / total;
    }
  const std::vector<Values> in = {q, k, v, distance, bias};
  for (const bool rewrites : {false, true}) {
    const Build build = [rewrites](Tape& t, const std::vector<Tensor>& x) {
      Attention a;
      a.q = x[0], a.k = x[1], a.v = x[2], a.distance = x[3], a.bias = x[4];
      a.scale = scale, a.softcap = cap;
      if (rewrites) a.rewrite.call = untouched;
      AttentionPath path = AttentionPath::fused;
      const Tensor y = attend(t, a, &path);
      EXPECT_EQ(path, AttentionPath::composed);
      return y;
    };
    expect_gradients(*open_backend("reference", {}), in, build);
    const Result exact = run(*open_backend("reference", {}), in, build);
    const Result cpu = run(*open_backend("cpu", {}), in, build);
    expect_close(exact.y, wanted, 1e-12, "reference");
    expect_close(cpu.y, wanted, 5e-6, "cpu");
    for (std::size_t i = 0; i < in.size(); ++i)
      expect_close(cpu.gradients[i], exact.gradients[i], 2e-5, "gradient " + std::to_string(i));
  }
}

// What attend() weighs the values with: values that name their places give the probabilities back.
TEST_P(AttentionTest, ProbabilitiesAreThoseOfThePlainLoop) {
  const AttentionExample& c = GetParam();
  if (c.dropout > 0) GTEST_SKIP() << "probabilities are those without dropout";
  AttentionExample named = c;
  named.E = c.T;
  std::vector<Values> in = inputs(named);
  for (std::int64_t i = 0; i < in[2].shape.count(); ++i)
    in[2].data[static_cast<std::size_t>(i)] = i / c.T % c.T == i % c.T ? 1 : 0;
  const Result wanted =
      run(*open_backend("reference", {}), in, fused(named), false);  // [B, T, H T]
  for (const char* name : {"reference", "cpu"})
    for (const bool rewrites : {false, true}) {
      const auto backend = open_backend(name, {});
      std::vector<double> found(wanted.y.data.size(), -1);
      run(
          *backend, inputs(c),
          [&](Tape& t, const std::vector<Tensor>& x) {
            Attention a = attention(c, x);
            if (rewrites) a.rewrite.call = unchanged;
            EXPECT_TRUE(each_probability(t, a, [&](std::int64_t first, Tensor p) {
              const Shape s = t.shape(p);
              EXPECT_EQ(s[3], first + s[2]);
              std::vector<double> block(static_cast<std::size_t>(s.count()));
              t.backend().download(block.data(), t.view(p));
              for (std::int64_t b = 0; b < s[0]; ++b)
                for (std::int64_t h = 0; h < s[1]; ++h)
                  for (std::int64_t i = 0; i < s[2]; ++i)
                    for (std::int64_t j = 0; j < c.T; ++j)
                      found[static_cast<std::size_t>(((b * c.T + first + i) * c.H + h) * c.T + j)] =
                          j < s[3] ? block[static_cast<std::size_t>(
                                         ((b * s[1] + h) * s[2] + i) * s[3] + j)]
                                   : 0;
            }));
            return attend(t, a);
          },
          false);
      expect_close({wanted.y.shape, found}, wanted.y, std::string(name) == "cpu" ? 5e-6 : 1e-12,
                   name);
    }
}

// 8 heads at length 4096: all probabilities of a layer would take 512 MiB.
TEST(AttentionMemory, ProbabilitiesComeInBlocks) {
  const auto backend = open_backend("cpu", {});
  Tape tape(*backend);
  tape.set_recording(false);
  Attention a;
  a.q = tape.make({1, 8, 4096, 16}, false), a.k = tape.make({1, 8, 4096, 16}, false);
  a.v = a.k;
  for (const Tensor t : {a.q, a.k}) backend->fill(tape.out(t), 0.01);
  const std::size_t before = tape.memory();
  double sum = 0;
  ASSERT_TRUE(each_probability(tape, a, [&](std::int64_t, Tensor p) {
    std::vector<double> first_key(static_cast<std::size_t>(tape.shape(p).count()));
    backend->download(first_key.data(), tape.view(p));
    sum += first_key[0];
  }));
  EXPECT_LT(tape.memory() - before, std::size_t{64} << 20);
  EXPECT_GT(sum, 1);
}

// 8 heads of 64 at length 16,384: a forward pass takes less than 1 GiB beyond q, k and v.
TEST(AttentionMemory, IsLinearInTheLength) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "shadow memory is not the program's";
#endif
  const auto backend = open_backend("cpu", {});
  Tape tape(*backend);
  tape.set_recording(false);
  Attention a;
  a.q = tape.make({1, 8, 16384, 64}, false);
  a.k = tape.make({1, 8, 16384, 64}, false);
  a.v = tape.make({1, 8, 16384, 64}, false);
  for (const Tensor t : {a.q, a.k, a.v}) backend->fill(tape.out(t), 0.01);
  a.scale = 0.125;
  const auto peak = [] {
    rusage u{};
    getrusage(RUSAGE_SELF, &u);
    return u.ru_maxrss;  // KiB
  };
  const auto before = peak();
  const Tensor y = attend(tape, a);
  ASSERT_TRUE(y);
  EXPECT_LT(peak() - before, 1 << 20);
  double first = 0;
  std::vector<double> values(static_cast<std::size_t>(tape.shape(y).count()));
  backend->download(values.data(), tape.view(y));
  first = values[values.size() / 2];
  EXPECT_NEAR(first, 0.01, 1e-6);
}

TEST(AttentionFailures, SaySlotAndShapes) {
  const auto backend = open_backend("cpu", {});
  const Result r = run(*backend,
                       {random_values({1, 2, 5, 4}, 1), random_values({1, 2, 5, 4}, 2),
                        random_values({1, 2, 5, 4}, 3), random_values({3, 5}, 4)},
                       [](Tape& t, const std::vector<Tensor>& x) {
                         Attention a;
                         a.q = x[0], a.k = x[1], a.v = x[2], a.distance = x[3];
                         return attend(t, a);
                       });
  EXPECT_EQ(r.failure, "attention: the slot distance is [3, 5], wanted [2 or 1, 5 or more]");
}

}  // namespace
}  // namespace pesuite::testing
