// Kernels of products. In bf16: exact against rounded inputs, the same with any number of threads,
// near fp32.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "backend/cpu/bf16.h"
#include "backend/cpu/outer.h"
#include "backend/cpu/panels.h"
#include "base/error.h"
#include "pesuite/random.hpp"
#include "tensor/ops.h"
#include "tests/support.h"

namespace pesuite {
namespace {

std::vector<float> values(std::size_t n, std::uint64_t seed) {
  pes::Random random(seed, pes::purpose("bf16 test"), 0);
  std::vector<float> out(n);
  for (float& x : out) x = static_cast<float>(random.normal());
  return out;
}
// To the nearest bf16, ties to even.
double rounded(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return std::bit_cast<float>((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u);
}

std::vector<Bf16> in_bf16(const std::vector<float>& x) {
  std::vector<Bf16> out(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) store(out[i], x[i]);
  return out;
}

TEST(OuterFp32, SumsProducts) {
  if (!outer_fp32_available()) GTEST_SKIP() << "no AVX-512 here";
  const struct {
    std::int64_t M, N, K;
  } sizes[] = {{1, 1, 1},      {7, 17, 3},     {12, 32, 256}, {50, 130, 600},
               {200, 33, 257}, {131, 900, 40}, {1600, 800, 5}};
  std::vector<Buffer> buffers(3);
  const std::span<Buffer> work = buffers;
  for (const auto& [M, N, K] : sizes)
    for (const bool add : {false, true}) {
      const auto a = values(static_cast<std::size_t>(K * M), 1);
      const auto b = values(static_cast<std::size_t>(K * N), 2);
      // a frame around c, which nobody writes to
      const auto before = values(static_cast<std::size_t>(M * N + 32), 3);
      auto one = before, three = before;
      outer_fp32(one.data() + 16, a.data(), b.data(), M, N, K, add, work.first(1));
      outer_fp32(three.data() + 16, a.data(), b.data(), M, N, K, add, work);
      EXPECT_EQ(one, three) << "threads change nothing";
      for (std::size_t i = 0; i < 16; ++i) {
        EXPECT_EQ(one[i], before[i]);
        EXPECT_EQ(one[one.size() - 1 - i], before[one.size() - 1 - i]);
      }
      for (std::int64_t m = 0; m < M; ++m)
        for (std::int64_t n = 0; n < N; n += 5) {
          const auto at = static_cast<std::size_t>(16 + m * N + n);
          double sum = add ? before[at] : 0, size = std::abs(sum);
          for (std::int64_t k = 0; k < K; ++k) {
            const double term = static_cast<double>(a[static_cast<std::size_t>(k * M + m)]) *
                                b[static_cast<std::size_t>(k * N + n)];
            sum += term, size += std::abs(term);
          }
          ASSERT_NEAR(one[at], sum, 1e-6 * size)
              << M << " " << N << " " << K << ", place " << m << " " << n;
        }
    }
}

TEST(OuterBf16, SumsProductsOfRoundedInputs) {
  if (!outer_bf16_available()) GTEST_SKIP() << "no AVX512-BF16 here";
  const struct {
    std::int64_t M, N, K;
  } sizes[] = {{1, 1, 1}, {7, 17, 3}, {48, 64, 512}, {50, 130, 1025}, {128, 384, 2048}};
  std::vector<Buffer> buffers(3);
  const std::span<Buffer> panels = buffers;
  for (const auto& [M, N, K] : sizes)
    for (const bool add : {false, true}) {
      const auto a = values(static_cast<std::size_t>(K * M), 1);
      const auto b = values(static_cast<std::size_t>(K * N), 2);
      const auto before = values(static_cast<std::size_t>(M * N), 3);
      auto one = before, three = before;
      outer_bf16(one.data(), {a.data(), true}, {b.data(), false}, M, N, K, add, panels.first(1));
      outer_bf16(three.data(), {a.data(), true}, {b.data(), false}, M, N, K, add, panels);
      EXPECT_EQ(one, three) << "threads change nothing";
      const auto a16 = in_bf16(a), b16 = in_bf16(b);
      auto half = before, stored = before;
      const Matrix left{a16.data(), true, Storage::bf16}, right{b16.data(), false, Storage::bf16};
      outer_bf16(half.data(), {a.data(), true}, right, M, N, K, add, panels);
      outer_bf16(stored.data(), left, right, M, N, K, add, panels);
      EXPECT_EQ(one, half) << "rounded here or there";
      EXPECT_EQ(one, stored);
      for (std::int64_t m = 0; m < M; ++m)
        for (std::int64_t n = 0; n < N; n += 5) {
          const auto at = static_cast<std::size_t>(m * N + n);
          double sum = add ? before[at] : 0;
          for (std::int64_t k = 0; k < K; ++k)
            sum += rounded(a[static_cast<std::size_t>(k * M + m)]) *
                   rounded(b[static_cast<std::size_t>(k * N + n)]);
          ASSERT_NEAR(one[at], sum, 2e-6 * static_cast<double>(K) + 1e-5)
              << M << " " << N << " " << K << ", place " << m << " " << n;
        }
    }
}

// As oneDNN's reorder makes them, which the tests of linear layers check besides.
TEST(Panels, HoldTheColumnsOfTheOperand) {
  if (!panels::available()) GTEST_SKIP() << "no AVX-512 here";
  const bool halves = bf16::best_kernel() != bf16::Kernel::none;
  const struct {
    std::int64_t K, N;
  } sizes[] = {{32, 64}, {64, 1}, {96, 80}, {32, 200}, {704, 130}};
  for (const auto& [K, N] : sizes) {
    const auto b = values(static_cast<std::size_t>(K * N), 1);  // [K, N]
    auto transposed = b;                                        // [N, K]
    for (std::int64_t k = 0; k < K; ++k)
      for (std::int64_t n = 0; n < N; ++n)
        transposed[static_cast<std::size_t>(n * K + k)] = b[static_cast<std::size_t>(k * N + n)];
    const auto count = static_cast<std::size_t>((N + 63) / 64 * 64 * K);
    const auto element = [&b, N = N](std::int64_t k, std::int64_t n) {
      return n < N ? b[static_cast<std::size_t>(k * N + n)] : 0.0f;
    };
    for (const int threads : {1, 2}) {
      std::vector<float> whole(count, -1), straight(count, -2);
      panels::pack(whole.data(), transposed.data(), true, K, N, threads);
      panels::pack(straight.data(), b.data(), false, K, N, threads);
      EXPECT_EQ(whole, straight) << K << " " << N;
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(count); ++i)
        ASSERT_EQ(whole[static_cast<std::size_t>(i)], element(i / 64 % K, i / 64 / K * 64 + i % 64))
            << K << " " << N << ", place " << i;
      std::vector<std::uint16_t> stored(transposed.size());
      std::vector<float> cut(transposed.size());
      for (std::size_t i = 0; i < cut.size(); ++i) {
        const Bf16 x = round_to_bf16(transposed[i]);
        stored[i] = x.bits, cut[i] = x;
      }
      panels::pack(whole.data(), cut.data(), true, K, N, threads);
      panels::pack(straight.data(), stored.data(), K, N, threads);
      EXPECT_EQ(whole, straight) << K << " " << N << ", of numbers in bf16";
      if (!halves) continue;
      std::vector<bf16::Word> rows(count / 2, 1), columns(count / 2, 2);
      panels::pack(rows.data(), b.data(), false, K, N, threads);
      panels::pack(columns.data(), transposed.data(), true, K, N, threads);
      EXPECT_EQ(rows, columns) << K << " " << N;
      std::fill(columns.begin(), columns.end(), 3);
      panels::pack(columns.data(), stored.data(), K, N, threads);
      EXPECT_EQ(rows, columns) << K << " " << N << ", of numbers that are in bf16 already";
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(count / 2); ++i) {
        const std::int64_t k = i / 64 % (K / 2), n = i / 64 / (K / 2) * 64 + i % 64;
        const bf16::Word wanted = round_to_bf16(element(2 * k, n)).bits |
                                  static_cast<bf16::Word>(round_to_bf16(element(2 * k + 1, n)).bits)
                                      << 16;
        ASSERT_EQ(rows[static_cast<std::size_t>(i)], wanted) << K << " " << N << ", word " << i;
      }
    }
  }
}

// Both kernels on the same words: exact products, sums in fp32.
TEST(BlockBf16, MultipliesRoundedInputs) {
  if (bf16::best_kernel() == bf16::Kernel::none) GTEST_SKIP() << "no AVX512-BF16 here";
  const struct {
    std::int64_t M, N, K, rows, width;
  } sizes[] = {
      {16, 16, 32, 16, 32}, {32, 48, 64, 29, 50}, {64, 64, 96, 64, 96}, {16, 80, 32, 3, 1}};
  for (const bf16::Kernel kernel : {bf16::Kernel::dots, bf16::Kernel::tiles}) {
    if (kernel > bf16::best_kernel()) continue;
    const bf16::Multiplier multiplier(kernel);
    for (const auto& [M, N, K, rows, width] : sizes)
      for (const bool add : {false, true}) {
        const auto a = values(static_cast<std::size_t>(rows * width), 1);
        const auto b = values(static_cast<std::size_t>(width * N), 2);
        const auto before = values(static_cast<std::size_t>(M * N), 3);
        auto c = before;
        std::vector<bf16::Word> left(static_cast<std::size_t>(M * K / 2));
        std::vector<bf16::Word> right(static_cast<std::size_t>(N * K / 2));
        bf16::pack_rows(left.data(), K / 2, a.data(), width, width, rows, 0.5f);
        bf16::pack_pairs(right.data(), K / 2, N, b.data(), N, N, width);
        multiplier.product(M, N, K / 2, left.data(), K / 2, right.data(), N, c.data(), N, add);
        for (std::int64_t m = 0; m < M; ++m)
          for (std::int64_t n = 0; n < N; ++n) {
            const auto at = static_cast<std::size_t>(m * N + n);
            double sum = add ? before[at] : 0;
            for (std::int64_t k = 0; k < width && m < rows; ++k)
              sum += rounded(a[static_cast<std::size_t>(m * width + k)] * 0.5f) *
                     rounded(b[static_cast<std::size_t>(k * N + n)]);
            ASSERT_NEAR(c[at], sum, 2e-6 * static_cast<double>(K) + 1e-5)
                << M << " " << N << " " << K << ", place " << m << " " << n;
          }
      }
  }
}

// A weight of numbers that bf16 has, in either storage, with few rows and with many.
TEST(LinearLayers, TakeWeightsInBf16) {
  const auto backend = open_backend("cpu", {.threads = 2});
  ASSERT_TRUE(backend->takes_bf16_weights());
  for (const std::int64_t rows : {1, 2, 3, 4, 5, 6, 7, 8, 13, 16, 17, 300})
    for (const auto& [K, N] : {std::pair<std::int64_t, std::int64_t>{64, 128}, {37, 70}, {9, 3}}) {
      std::vector<double> x(static_cast<std::size_t>(rows * K)), w(static_cast<std::size_t>(N * K));
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<double>(i));
      for (std::size_t i = 0; i < w.size(); ++i)
        w[i] = round_to_bf16(static_cast<float>(std::cos(static_cast<double>(i))));
      std::vector<std::vector<float>> found;
      for (const Storage storage : {Storage::own, Storage::bf16}) {
        Tape tape(*backend);
        const Tensor a = tape.constant({rows, K}, x.data());
        const Tensor weight = tape.make({N, K}, false, storage);
        backend->upload(tape.out(weight), w.data());
        const Tensor y = ops::linear(tape, a, weight, {}, {});
        ASSERT_FALSE(tape.failed()) << tape.failure();
        backend->download(found.emplace_back(static_cast<std::size_t>(rows * N)).data(),
                          tape.view(y));
      }
      EXPECT_EQ(found[0], found[1]) << rows << " " << K << " " << N;
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t n = 0; n < N; ++n) {
          double sum = 0;
          for (std::int64_t k = 0; k < K; ++k)
            sum += x[static_cast<std::size_t>(r * K + k)] * w[static_cast<std::size_t>(n * K + k)];
          ASSERT_NEAR(found[1][static_cast<std::size_t>(r * N + n)], sum,
                      1e-6 * static_cast<double>(K))
              << rows << " " << K << " " << N << ", place " << r << " " << n;
        }
    }
}

// A row's numbers depend neither on who else computes nor on the rows beside it.
void expect_few_rows_to_keep_their_bits(Precision precision, Storage storage, std::int64_t K) {
  constexpr std::int64_t N = 197;
  std::vector<double> x(static_cast<std::size_t>(16 * K)), w(static_cast<std::size_t>(N * K));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<double>(i));
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = std::cos(static_cast<double>(i));
  std::vector<float> of_all;
  for (std::int64_t rows = 16; rows > 0; --rows)
    for (const int threads : {1, 3}) {
      const auto backend = open_backend("cpu", {.threads = threads, .precision = precision});
      Tape tape(*backend);
      const Tensor a = tape.constant({rows, K}, x.data());
      const Tensor weight = tape.make({N, K}, false, storage);
      backend->upload(tape.out(weight), w.data());
      const Tensor y = ops::linear(tape, a, weight, {}, {});
      ASSERT_FALSE(tape.failed()) << tape.failure();
      std::vector<float> found(static_cast<std::size_t>(rows * N));
      backend->download(found.data(), tape.view(y));
      if (of_all.empty()) of_all = found;
      EXPECT_TRUE(std::ranges::equal(found, std::span(of_all).first(found.size())))
          << rows << " rows of " << K << ", " << threads << " threads";
    }
}
TEST(LinearLayers, OfFewRowsKeepTheirBits) {
  expect_few_rows_to_keep_their_bits(Precision::fp32, Storage::own, 1100);
  expect_few_rows_to_keep_their_bits(Precision::fp32, Storage::bf16, 1100);
}
TEST(PrecisionBf16, LinearLayersOfFewRowsKeepTheirBits) {
  if (bf16::best_kernel() == bf16::Kernel::none) GTEST_SKIP() << "no AVX512-BF16 here";
  for (const std::int64_t K : {1100, 1056, 32})  // AMX's tiles take multiples of 32
    expect_few_rows_to_keep_their_bits(Precision::bf16, Storage::bf16, K);
}
// Rows, columns and sums at the edges of AMX's tiles.
TEST(PrecisionBf16, LinearLayersOfFewRowsAreProductsOfRoundedInputs) {
  if (bf16::best_kernel() == bf16::Kernel::none) GTEST_SKIP() << "no AVX512-BF16 here";
  const auto backend = open_backend("cpu", {.threads = 2, .precision = Precision::bf16});
  for (const std::int64_t rows : {1, 2, 5, 15, 16})
    for (const std::int64_t N : {1, 15, 16, 33, 100})
      for (const std::int64_t K : {32, 64, 96, 37, 160}) {
        std::vector<double> x(static_cast<std::size_t>(rows * K)),
            w(static_cast<std::size_t>(N * K)), bias(static_cast<std::size_t>(N));
        const auto numbers = [](std::vector<double>& to, double step) {
          for (std::size_t i = 0; i < to.size(); ++i)
            to[i] = round_to_bf16(static_cast<float>(std::sin(step * static_cast<double>(i + 1))));
        };
        numbers(x, 0.7), numbers(w, 1.3), numbers(bias, 0.3);
        Tape tape(*backend);
        const Tensor a = tape.constant({rows, K}, x.data()), plus = tape.constant({N}, bias.data());
        const Tensor weight = tape.make({N, K}, false, Storage::bf16);
        backend->upload(tape.out(weight), w.data());
        const Tensor y = ops::linear(tape, a, weight, plus, {});
        ASSERT_FALSE(tape.failed()) << tape.failure();
        std::vector<float> found(static_cast<std::size_t>(rows * N));
        backend->download(found.data(), tape.view(y));
        for (std::int64_t r = 0; r < rows; ++r)
          for (std::int64_t n = 0; n < N; ++n) {
            double sum = bias[static_cast<std::size_t>(n)];
            for (std::int64_t k = 0; k < K; ++k)
              sum +=
                  x[static_cast<std::size_t>(r * K + k)] * w[static_cast<std::size_t>(n * K + k)];
            ASSERT_NEAR(found[static_cast<std::size_t>(r * N + n)], sum, 1e-5)
                << rows << " " << K << " " << N << ", place " << r << " " << n;
          }
      }
}

// Forward and gradients of a linear layer, in both precisions.
TEST(PrecisionBf16, LinearLayersAreNearFp32) {
  std::vector<std::vector<float>> results;
  for (const Precision precision : {Precision::fp32, Precision::bf16}) {
    std::unique_ptr<Backend> backend;
    try {
      backend = open_backend("cpu", {.threads = 2, .precision = precision});
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Exit::device);
      GTEST_SKIP() << e.what();
    }
    Tape tape(*backend);
    Parameter x, w;
    x.shape = {300, 72}, w.shape = {130, 72};
    std::vector<float> all;
    for (Parameter* p : {&x, &w}) {
      const auto n = static_cast<std::size_t>(p->shape.count());
      p->value = backend->allocate(4 * n);
      p->grad = backend->allocate(4 * n);
      backend->upload({p->value, p->shape}, values(n, p == &x ? 4 : 5).data());
    }
    const Tensor y = ops::linear(tape, tape.leaf(x), tape.leaf(w), {}, {});
    const auto keep = [&](View v) {
      std::vector<float> out(static_cast<std::size_t>(v.shape.count()));
      backend->download(out.data(), v);
      all.insert(all.end(), out.begin(), out.end());
    };
    keep(tape.view(y));
    backend->affine(tape.grad(y), tape.view(y), 1, 0);
    tape.backward();
    keep({x.grad, x.shape});
    keep({w.grad, w.shape});
    for (Parameter* p : {&x, &w}) backend->release(p->value), backend->release(p->grad);
    results.push_back(all);
  }
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < results[0].size(); ++i) {
    difference += std::pow(results[1][i] - results[0][i], 2);
    size += std::pow(results[0][i], 2);
  }
  const double relative = std::sqrt(difference / size);
  EXPECT_LT(relative, 0.006) << "two roundings to 8 bits";
  EXPECT_GT(relative, 1e-5) << "it is another precision";
}

// A layer's MLP whose activations are stored as the backend wants them, beside the reference, which
// stores all of them whole. x [2, 9, 40]; two products and a reader of the numbers themselves share
// the normalized x, so that its gradient is added to in bf16.
class StoredActivations : public ::testing::TestWithParam<Unary> {};

TEST_P(StoredActivations, AreNearTheReference) {
  if (bf16::best_kernel() == bf16::Kernel::none) GTEST_SKIP() << "no AVX512-BF16 here";
  constexpr std::int64_t W = 40, F = 72;
  const bool gelu = GetParam() == Unary::gelu;
  const auto values = [](const Shape& shape, std::uint64_t seed, double scale) {
    return testing::random_values(shape, seed, scale);
  };
  const std::vector<testing::Values> in = {values({2, 9, W}, 1, 1),
                                           values({W}, 2, 1),
                                           values({2 * F, W}, 3, 0.2),
                                           values({2 * F}, 4, 0.2),
                                           values({W, gelu ? 2 * F : F}, 5, 0.2),
                                           values({W, W}, 6, 0.2)};
  Storage seen{};
  const testing::Build build = [&](Tape& t, const std::vector<Tensor>& x) {
    const Storage stored = t.backend().activations();
    const Tensor h = ops::norm(t, x[0], x[1], {}, Norm::rms, 1e-6, stored);
    const Tensor up = ops::linear(t, h, x[2], x[3], {}, stored);
    const Tensor inner = gelu ? ops::unary(t, Unary::gelu, up) : ops::gate(t, up);
    seen = t.storage(inner);
    const Tensor side = ops::unary(t, Unary::tanh, ops::own(t, h));
    const Tensor sum = ops::binary(t, Binary::add, ops::linear(t, h, x[5]), side);
    return ops::linear(t, inner, x[4], {}, sum);
  };
  const testing::Result wanted = testing::run(*open_backend("reference", {}), in, build);
  EXPECT_EQ(seen, Storage::own);
  const auto in_bf16 = [&](int threads) {
    return testing::run(*open_backend("cpu", {.threads = threads, .precision = Precision::bf16}),
                        in, build);
  };
  const testing::Result one = in_bf16(1), two = in_bf16(2);
  EXPECT_EQ(seen, Storage::bf16);
  ASSERT_EQ(one.failure, "");
  const auto apart = [](const testing::Values& a, const testing::Values& b) {
    double difference = 0, size = 0;
    for (std::size_t i = 0; i < b.data.size(); ++i) {
      difference += std::pow(a.data[i] - b.data[i], 2);
      size += std::pow(b.data[i], 2);
    }
    return std::sqrt(difference / size);
  };
  EXPECT_LT(apart(one.y, wanted.y), 0.01);
  EXPECT_EQ(one.y.data, two.y.data) << "threads change nothing";
  for (std::size_t i = 0; i < in.size(); ++i) {
    EXPECT_LT(apart(one.gradients[i], wanted.gradients[i]), 0.015) << "of input " << i;
    EXPECT_GT(apart(one.gradients[i], wanted.gradients[i]), 1e-5) << "it is another precision";
    EXPECT_EQ(one.gradients[i].data, two.gradients[i].data) << "of input " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Mlp, StoredActivations, ::testing::Values(Unary::gelu, Unary::sigmoid),
                         [](const auto& info) {
                           return info.param == Unary::gelu ? "gelu" : "swiglu";
                         });

TEST(StoredActivations, KeepWhatIsNoNumber) {
  if (bf16::best_kernel() == bf16::Kernel::none) GTEST_SKIP() << "no AVX512-BF16 here";
  const auto backend = open_backend("cpu", {.threads = 1, .precision = Precision::bf16});
  Tape tape(*backend);
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> in = {1.0f,
                                 std::bit_cast<float>(0x7fffffffu),
                                 infinity,
                                 -infinity,
                                 std::bit_cast<float>(0x3f808000u),
                                 std::bit_cast<float>(0x3f818000u),
                                 std::bit_cast<float>(0x7f7fffffu)};
  const Shape shape = {static_cast<std::int64_t>(in.size())};
  const Tensor x = tape.constant(shape, in.data()), y = tape.make(shape, false, Storage::bf16);
  backend->affine(tape.out(y), tape.view(x), 1, 0);
  std::vector<float> out(in.size());
  backend->download(out.data(), tape.view(ops::own(tape, y)));
  EXPECT_EQ(out[0], 1.0f);
  EXPECT_TRUE(std::isnan(out[1]));
  EXPECT_EQ(out[2], infinity);
  EXPECT_EQ(out[3], -infinity);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(out[4]), 0x3f800000u) << "ties go to even";
  EXPECT_EQ(std::bit_cast<std::uint32_t>(out[5]), 0x3f820000u);
  EXPECT_EQ(out[6], infinity) << "rounded up";
}

}  // namespace
}  // namespace pesuite
