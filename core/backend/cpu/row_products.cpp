// Products with few rows. Those of attention that is composed from ops: a block of query rows
// against all keys up to its last one; each head is one task, and the blocks of keys stay in the
// second-level cache. And those of small matrices with long ones, as an MLP of every distance has.
#include <algorithm>
#include <cstddef>

#include "backend/backend.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/row_products.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include "backend/cpu/block_product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pesuite::HWY_NAMESPACE {

constexpr I kDepth = 128;  // rows of B that are multiplied before the next columns

// c [M, K] (+)= a [M, D] times the transpose of K rows that were packed in blocks: [blocks, D, 64].
// edge: M * 64 floats.
void TimesPacked(Operand a, const float* packed, float* c, I ldc, I M, I K, I D, bool add,
                 float* edge) {
  const F32 d;
  for (I j0 = 0; j0 < K; j0 += kBlock) {
    const I n = std::min(kBlock, K - j0), N = (n + kLanes - 1) / kLanes * kLanes;
    if (n == N) {
      Gemm(M, N, D, a, packed + j0 * D, kBlock, c + j0, ldc, add);
      continue;
    }
    Gemm(M, N, D, a, packed + j0 * D, kBlock, edge, kBlock, false);
    for (I m = 0; m < M; ++m)
      for (I j = 0; j < n; j += kLanes)
        Put(d, hn::LoadU(d, edge + m * kBlock + j), c + m * ldc + j0 + j,
            static_cast<std::size_t>(n - j), add);
  }
}

// c [M, N] (+)= a [M, K] b [K, N], N a whole number of vectors.
void Times(Operand a, const float* b, I ldb, float* c, I ldc, I M, I N, I K, bool add) {
  for (I k = 0; k < K; k += kDepth)
    Gemm(M, N, std::min(kDepth, K - k), {a.data + k * a.column, a.row, a.column}, b + k * ldb, ldb,
         c, ldc, add || k > 0);
}

I RowLanes() {
  return kLanes;
}

}  // namespace pesuite::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "backend/cpu/cpu.h"

namespace pesuite {
HWY_EXPORT(Pad);
HWY_EXPORT(TransposeBlocks);
HWY_EXPORT(TimesPacked);
HWY_EXPORT(Times);
HWY_EXPORT(RowLanes);

namespace {

constexpr Index block = 64;

// Rows of a block and what they are multiplied with: x [B, H, R, W] of `row` and `head` strides.
struct Rows {
  Index B, H, G, R, K, group;  // K keys, first + R
  Rows(const Shape& scores, Index kv_heads)
      : B(scores[0]), H(scores[1]), G(kv_heads), R(scores[2]), K(scores[3]), group(H / kv_heads) {}
};

Index whole(Index n) {
  const Index lanes = HWY_DYNAMIC_DISPATCH(RowLanes)();
  return (n + lanes - 1) / lanes * lanes;
}

// Asks for rows of the next head while this one is multiplied: a block's rows of all heads lie far
// apart, and no prefetcher follows.
void ask_for(const float* rows, Index stride, Index width, Index count) {
  for (Index r = 0; r < count; ++r)
    for (Index c = 0; c < width; c += 16) hwy::Prefetch(rows + r * stride + c);
}

// c [M, N] += a [M, K] b [K, N] with rows of any width; spare: (K + M) whole(N) floats.
void times(const float* a, Index a_row, Index a_column, const float* b, Index ldb, float* c,
           Index ldc, Index M, Index N, Index K, bool add, float* spare) {
  const Index P = whole(N);
  if (P == N) {
    HWY_DYNAMIC_DISPATCH(Times)({a, a_row, a_column}, b, ldb, c, ldc, M, N, K, add);
    return;
  }
  float* wide = spare + K * P;
  HWY_DYNAMIC_DISPATCH(Pad)(spare, P, b, ldb, N, K, 1.0f);
  HWY_DYNAMIC_DISPATCH(Times)({a, a_row, a_column}, spare, P, wide, P, M, P, K, false);
  for (Index m = 0; m < M; ++m)
    for (Index n = 0; n < N; ++n) c[m * ldc + n] = wide[m * P + n] + (add ? c[m * ldc + n] : 0.0f);
}

}  // namespace

bool CpuBackend::flat_product(float* c, const float* a, Index a_row, Index a_column, const float* b,
                              Index M, Index N, Index K, bool add) {
  if (M > 64 || K > 64 || N < 1024) return false;
  const Index lanes = whole(1), vectors = N / lanes;
  parallel(vectors, std::max<Index>(1, 512 / lanes), [&](Index first, Index last) {
    HWY_DYNAMIC_DISPATCH(Times)
    ({a, a_row, a_column}, b + first * lanes, N, c + first * lanes, N, M, (last - first) * lanes, K,
     add);
  });
  for (Index m = 0; m < M; ++m)
    for (Index n = vectors * lanes; n < N; ++n) {
      float sum = add ? c[m * N + n] : 0.0f;
      for (Index k = 0; k < K; ++k) sum += a[m * a_row + k * a_column] * b[k * N + n];
      c[m * N + n] = sum;
    }
  return true;
}

Shape CpuBackend::packed_shape(const Shape& x) const {
  return {x[0], x[1], (x[2] + block - 1) / block, x[3] * block};
}
void CpuBackend::pack_keys(Out packed, View x) {
  const Index S = x.shape[2], W = x.shape[3], size = packed.shape[2] * packed.shape[3];
  parallel(x.shape[0] * x.shape[1], 1, [&](Index first, Index last) {
    for (Index i = first; i < last; ++i)
      HWY_DYNAMIC_DISPATCH(TransposeBlocks)(out(packed) + i * size, in(x) + i * S * W, W, S);
  });
}

void CpuBackend::score_rows_forward(Out scores, View q, View packed, Index first, double scale) {
  const Rows z(scores.shape, packed.shape[1]);
  const Index T = q.shape[2], D = q.shape[3], size = packed.shape[2] * packed.shape[3];
  parallel(z.B * z.H, 1, [&](Index begin, Index end) {
    float* scaled =
        workspace(omp_get_thread_num(), static_cast<std::size_t>(z.R * (whole(D) + block)));
    for (Index i = begin; i < end; ++i) {
      HWY_DYNAMIC_DISPATCH(Pad)
      (scaled, whole(D), in(q) + (i * T + first) * D, D, D, z.R, static_cast<float>(scale));
      if (i + 1 < end) ask_for(in(q) + ((i + 1) * T + first) * D, D, D, z.R);
      HWY_DYNAMIC_DISPATCH(TimesPacked)
      ({scaled, whole(D), 1}, in(packed) + i / z.group * size, out(scores) + i * z.R * z.K, z.K,
       z.R, z.K, D, scores.add, scaled + z.R * whole(D));
    }
  });
}

void CpuBackend::score_rows_backward(Out dq, Out dk, View dscores, View q, View k, Index first,
                                     double scale) {
  const Rows z(dscores.shape, k.shape[1]);
  const Index T = q.shape[2], S = k.shape[2], D = q.shape[3], P = whole(D);
  parallel(z.B * z.G, 1, [&](Index begin, Index end) {
    float* scaled = workspace(omp_get_thread_num(),
                              static_cast<std::size_t>(2 * z.R * P + (z.K + z.R) * P + z.K * P));
    float *product = scaled + z.R * P, *spare = product + z.R * P;
    for (Index bg = begin; bg < end; ++bg)
      for (Index i = bg * z.group; i < (bg + 1) * z.group; ++i) {
        const float* ds = in(dscores) + i * z.R * z.K;
        const Index rows = (i * T + first) * D, next = rows + T * D;
        if (i + 1 < end * z.group) ask_for(in(q) + next, D, D, z.R);
        if (dq) {
          times(ds, z.K, 1, in(k) + bg * S * D, D, product, D, z.R, D, z.K, false, spare);
          for (Index n = 0; n < z.R * D; ++n)
            out(dq)[rows + n] =
                static_cast<float>(scale) * product[n] + (dq.add ? out(dq)[rows + n] : 0.0f);
        }
        if (dk) {
          HWY_DYNAMIC_DISPATCH(Pad)
          (scaled, P, in(q) + rows, D, D, z.R, static_cast<float>(scale));
          times(ds, 1, z.K, scaled, P, out(dk) + bg * S * D, D, z.K, D, z.R, true, spare);
        }
      }
  });
}

void CpuBackend::mix_rows_forward(Out y, View p, View v, Index first) {
  const Rows z(p.shape, v.shape[1]);
  const Index T = y.shape[1], S = v.shape[2], E = v.shape[3], row = z.H * E;
  parallel(z.B * z.H, 1, [&](Index begin, Index end) {
    float* spare =
        workspace(omp_get_thread_num(), static_cast<std::size_t>((z.K + z.R) * whole(E)));
    for (Index i = begin; i < end; ++i)
      times(in(p) + i * z.R * z.K, z.K, 1, in(v) + i / z.group * S * E, E,
            out(y) + (i / z.H * T + first) * row + i % z.H * E, row, z.R, E, z.K, y.add, spare);
  });
}

void CpuBackend::mix_rows_backward(Out dp, Out dv, View dy, View p, View packed, Index first) {
  const Rows z(p.shape, packed.shape[1]);
  const Index T = dy.shape[1], E = packed.shape[3] / block, row = z.H * E;
  const Index size = packed.shape[2] * packed.shape[3];
  const Index S = dv ? dv.shape[2] : z.K;
  parallel(z.B * z.G, 1, [&](Index begin, Index end) {
    float* edge = workspace(omp_get_thread_num(),
                            static_cast<std::size_t>(z.R * block + (z.K + z.R) * whole(E)));
    for (Index bg = begin; bg < end; ++bg)
      for (Index i = bg * z.group; i < (bg + 1) * z.group; ++i) {
        const auto rows_of = [&](Index head) {
          return in(dy) + (head / z.H * T + first) * row + head % z.H * E;
        };
        const float* g = rows_of(i);
        if (i + 1 < end * z.group) ask_for(rows_of(i + 1), row, E, z.R);
        if (dp) HWY_DYNAMIC_DISPATCH(TimesPacked)
        ({g, row, 1}, in(packed) + bg * size, out(dp) + i * z.R * z.K, z.K, z.R, z.K, E, dp.add,
         edge);
        if (dv)
          times(in(p) + i * z.R * z.K, 1, z.K, g, row, out(dv) + bg * S * E, E, z.K, E, z.R, true,
                edge + z.R * block);
      }
  });
}

}  // namespace pesuite
#endif
