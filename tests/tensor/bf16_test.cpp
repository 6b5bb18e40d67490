// Products in bf16: exact against rounded inputs, the same with any number of threads, near fp32.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <memory>
#include <vector>

#include "backend/cpu/bf16.h"
#include "backend/cpu/outer_bf16.h"
#include "base/error.h"
#include "pesuite/random.hpp"
#include "tensor/ops.h"

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
      outer_bf16(one.data(), a.data(), b.data(), M, N, K, add, panels.first(1));
      outer_bf16(three.data(), a.data(), b.data(), M, N, K, add, panels);
      EXPECT_EQ(one, three) << "threads change nothing";
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

}  // namespace
}  // namespace pesuite
