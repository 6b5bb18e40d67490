// Causal attention in blocks of 64 queries by 64 keys (Milakov & Gimelshein 2018; Rabe & Staats
// 2021; Dao et al. 2022): a block of scores is made, biased, masked, exponentiated and multiplied
// into the output while it is in the first-level cache. The backward pass makes each block again
// from the saved log-sum-exp. Blocks above the diagonal are never touched.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>

#include "backend/cpu/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/attention.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include "backend/cpu/attention-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pesuite::HWY_NAMESPACE {

struct Exponential {
  static HWY_INLINE V32 of(F32 d, V32 x) { return ExpUpToRange(d, x); }
};

constexpr I kGroup = 12;  // rows whose scores, biases and outputs are handled together

// Rows first_row .. first_row + rows - 1 (at most 64): y [rows, y_stride] and lse.
// work: 64 * 64 + 64 * P floats.
void ForwardBlock(const HeadBlocks& h, I first_row, I rows, float* y, I y_stride, bool add,
                  float* lse, float* work) {
  const F32 d;
  const I P = (h.E + kLanes - 1) / kLanes * kLanes;
  float* scores = work;               // [R, 64]
  float* o = work + kBlock * kBlock;  // [64, P]
  alignas(64) float keep[kBlock];
  PassingSoftmax softmax(rows);
  const I keys = std::min(h.S, h.first + first_row + rows), begin = FirstBlock(h, first_row);
  for (I j0 = begin; j0 < keys; j0 += kBlock) {
    const float* block = h.keys + j0 * h.D;
    for (I r = 0; r < rows; r += kGroup) {
      const I R = std::min(kGroup, rows - r);
      const I most = Visible(h, first_row + r + R - 1, j0);
      if (most == 0) continue;
      const I N = (most + kStep - 1) / kStep * kStep;
      Gemm(R, N, h.D, {h.q + (first_row + r) * h.q_stride, h.q_stride, 1}, block, kBlock, scores,
           kBlock, false);
      for (I m = 0; m < R; ++m) {
        const I i = first_row + r + m, visible = Visible(h, i, j0);
        float* s = scores + m * kBlock;
        AddBias(h, s, i, j0, N);
        softmax.pass<Exponential>(r + m, s, s, N, visible, j0 > begin ? o + (r + m) * P : nullptr,
                                  P);
        if (h.dropout.p > 0) {
          DropoutFactors(h, i, j0, keep);
          for (I j = 0; j < N; j += kLanes)
            hn::StoreU(hn::Mul(hn::LoadU(d, s + j), hn::LoadU(d, keep + j)), d, s + j);
        }
      }
      Gemm(R, P, most, {scores, kBlock, 1}, h.v + j0 * h.v_stride, h.v_stride, o + r * P, P,
           j0 > begin);
    }
  }
  for (I r = 0; r < rows; ++r) {
    const float total = softmax.total(r);
    lse[r] = softmax.top[r] + std::log(total);
    const V32 scale = hn::Set(d, 1.0f / total);
    for (I e = 0; e < h.E; e += kLanes)
      Put(d, hn::Mul(hn::LoadU(d, o + r * P + e), scale), y + r * y_stride + e,
          static_cast<std::size_t>(h.E - e), add);
  }
}

// Contribution of the keys j0 .. j0 + 63 against the rows first_row .. : dk [64, k_stride] and
// dv [64, v_stride] are added to, and dq and the biases' gradients in h. work: 2 * 64 * 64 floats.
void BackwardBlock(const HeadBlocks& h, I j0, I first_row, I rows, float* dk, I dk_stride,
                   float* dv, I dv_stride, float* work) {
  if (j0 + kBlock <= FirstBlock(h, first_row)) return;  // none of the rows sees the keys
  const F32 d;
  float* p = work;                     // [64, 64] probabilities after dropout
  float* ds = work + kBlock * kBlock;  // [64, 64] gradients of the scores
  alignas(64) float keep[kBlock];
  const I keys = std::min(kBlock, h.S - j0);
  for (I r = 0; r < rows; r += kGroup) {
    const I R = std::min(kGroup, rows - r);
    const I most = Visible(h, first_row + r + R - 1, j0);
    const I N = (most + kStep - 1) / kStep * kStep;
    float *pr = p + r * kBlock, *dr = ds + r * kBlock;
    if (most > 0) {
      Gemm(R, N, h.D, {h.q + (first_row + r) * h.q_stride, h.q_stride, 1}, h.keys + j0 * h.D,
           kBlock, pr, kBlock, false);
      Gemm(R, N, h.E, {h.dy + (first_row + r) * h.dy_stride, h.dy_stride, 1}, h.values + j0 * h.E,
           kBlock, dr, kBlock, false);
    }
    for (I m = 0; m < R; ++m) {
      const I i = first_row + r + m, visible = Visible(h, i, j0);
      float *s = pr + m * kBlock, *g = dr + m * kBlock;
      AddBias(h, s, i, j0, N);
      if (h.dropout.p > 0) DropoutFactors(h, i, j0, keep);
      const V32 lse = hn::Set(d, h.lse[i]), delta = hn::Set(d, h.delta[i]);
      for (I j = 0; j < N; j += kLanes) {
        V32 e = Exponential::of(d, hn::Sub(hn::LoadU(d, s + j), lse));
        if (j + kLanes > visible)
          e = hn::IfThenElseZero(
              hn::FirstN(d, static_cast<std::size_t>(std::max<I>(0, visible - j))), e);
        V32 dp = hn::LoadU(d, g + j), kept = e;
        if (h.dropout.p > 0) {
          const V32 f = hn::LoadU(d, keep + j);
          kept = hn::Mul(e, f);
          dp = hn::Mul(dp, f);
        }
        hn::StoreU(kept, d, s + j);
        hn::StoreU(hn::Mul(e, hn::Sub(dp, delta)), d, g + j);
      }
      if (h.dreversed != nullptr) {
        float* to = h.dreversed + j0 - (h.first + i);
        for (I j = 0; j < N; j += kLanes)
          hn::StoreU(hn::Add(hn::LoadU(d, to + j), hn::LoadU(d, g + j)), d, to + j);
      }
      if (h.dbias != nullptr) AddToBias(h, g, i, j0, visible);
    }
    if (most > 0)
      Gemm(R, h.q_stride, most, {dr, kBlock, 1}, h.k + j0 * h.k_stride, h.k_stride,
           h.dq + (first_row + r) * h.q_stride, h.q_stride, true);
  }
  // The transposed products, kStep keys at a time: on the diagonal the first rows see none of them.
  for (I c = 0; c < keys; c += kStep) {
    const I n = std::min(kStep, keys - c);
    const I skip = std::clamp<I>(j0 + c - h.first - first_row, 0, rows) / kGroup * kGroup;
    if (skip >= rows) continue;
    const float *pc = p + skip * kBlock + c, *dc = ds + skip * kBlock + c;
    Gemm(n, dv_stride, rows - skip, {pc, 1, kBlock}, h.dy + (first_row + skip) * h.dy_stride,
         h.dy_stride, dv + c * dv_stride, dv_stride, true);
    Gemm(n, dk_stride, rows - skip, {dc, 1, kBlock}, h.q + (first_row + skip) * h.q_stride,
         h.q_stride, dk + c * dk_stride, dk_stride, true);
  }
}

I Lanes() {
  return kLanes;
}
const char* Name() {
  return hwy::TargetName(HWY_TARGET);
}

}  // namespace pesuite::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "backend/cpu/attention.h"

namespace pesuite {
HWY_EXPORT(ForwardBlock);
HWY_EXPORT(BackwardBlock);
HWY_EXPORT(Pad);
HWY_EXPORT(TransposeBlocks);
HWY_EXPORT(Dot);
HWY_EXPORT(PutScaled);
HWY_EXPORT(Lanes);
HWY_EXPORT(Name);

namespace {

using namespace attention;

// Fields of a head that both passes need. Packs q into `q`.
HeadBlocks head(const AttentionInput& a, const Sizes& z, Index b, Index h, float* q,
                float* distances) {
  HeadBlocks w{};
  w.T = z.T, w.S = z.S, w.D = z.D, w.E = z.E, w.first = z.first;
  HWY_DYNAMIC_DISPATCH(Pad)
  (q, z.DP, in(a.q) + z.query(b, h) * z.D, z.D, z.D, z.T, static_cast<float>(a.scale));
  w.q = q;
  w.q_stride = z.DP;
  if (a.distance) {
    w.reversed = reverse_distance(a, h, distances, z.first + z.T);
    w.reach = reach_of(a, z, b, h, w.reversed, [&](View x, Index row) {
      return HWY_DYNAMIC_DISPATCH(Dot)(in(x) + row * z.D, in(x) + row * z.D, z.D);
    });
  }
  set_bias(w, a, z, b, h);
  w.starts = starts_of(a, z, b);
  w.dropout = a.dropout;
  w.dropout_row = static_cast<std::uint64_t>(z.query(b, h));
  return w;
}

// Rows of `x` [rows, width], padded to P only where P differs.
const float* padded(const float* x, Index stride, Index width, Index P, Index rows, float* memory,
                    Index& stride_out) {
  if (P == width) {
    stride_out = stride;
    return x;
  }
  HWY_DYNAMIC_DISPATCH(Pad)(memory, P, x, stride, width, rows, 1.0f);
  stride_out = P;
  return memory;
}

}  // namespace

const char* CpuBackend::kernels() {
  return HWY_DYNAMIC_DISPATCH(Name)();
}

void CpuBackend::attention_forward(Out y, Out lse, const AttentionInput& a) {
  if (attention_of_few(y, lse, a)) return;
  if (bf16_) return attention_forward_bf16(y, lse, a);
  const Sizes z(a, HWY_DYNAMIC_DISPATCH(Lanes)());
  struct Memory {
    float *keys, *v, *q, *distances, *work;
    std::size_t floats;
    Memory(float* base, const Sizes& z, const AttentionInput& a) {
      Carver c(base);
      keys = c.take(z.blocks * block * z.D);
      v = c.take(z.EP != z.E ? z.S * z.EP : 0);
      q = c.take(z.T * z.DP);
      distances = c.take(a.distance ? z.first + z.T + 3 * block : 0);
      work = c.take(block * block + block * z.EP);
      floats = c.used();
    }
  };
  const std::size_t floats = Memory(nullptr, z, a).floats;
  const bool few = z.B * z.G < threads_;  // heads: share the rows of each
  const auto rows = [&](const HeadBlocks& w, Index b, Index h, Index i0, float* work) {
    HWY_DYNAMIC_DISPATCH(ForwardBlock)
    (w, i0, std::min(block, z.T - i0), out(y) + (z.mixed(b) + i0) * z.H * z.E + h * z.E, z.H * z.E,
     y.add, out(lse) + z.query(b, h) + i0, work);
  };
  const auto group = [&](Index bg, const Memory& m) {
    const Index b = bg / z.G, g = bg % z.G;
    HWY_DYNAMIC_DISPATCH(TransposeBlocks)(m.keys, in(a.k) + bg * z.keys * z.D, z.D, z.S);
    Index v_stride = 0;
    const float* v = padded(in(a.v) + bg * z.keys * z.E, z.E, z.E, z.EP, z.S, m.v, v_stride);
    for (Index h = g * z.group; h < (g + 1) * z.group; ++h) {
      HeadBlocks w = head(a, z, b, h, m.q, m.distances);
      w.keys = m.keys;
      w.v = v;
      w.v_stride = v_stride;
      if (few) {
#pragma omp parallel num_threads(threads_)
        {
          const Index chunks = (z.T + block - 1) / block;
          float* work = workspace(omp_get_thread_num(), floats);
          if (omp_get_thread_num() == 0) work = m.work;
#pragma omp for schedule(dynamic, 1)
          for (Index c = 0; c < chunks; ++c) rows(w, b, h, (chunks - 1 - c) * block, work);
        }
      } else {
        for (Index i0 = 0; i0 < z.T; i0 += block) rows(w, b, h, i0, m.work);
      }
    }
  };
  if (few) {
    for (Index bg = 0; bg < z.B * z.G; ++bg) group(bg, Memory(workspace(0, floats), z, a));
  } else {
    each_group(z.B * z.G, floats,
               [&](Index i, float* memory) { group(z.by_heads(i), Memory(memory, z, a)); });
  }
}

void CpuBackend::attention_backward(Out dq, Out dk, Out dv, Out ddistance, Out dbias, View dy,
                                    View y, View lse, const AttentionInput& a) {
  if (bf16_) return attention_backward_bf16(dq, dk, dv, ddistance, dbias, dy, y, lse, a);
  const Sizes z(a, HWY_DYNAMIC_DISPATCH(Lanes)());
  const Index length = z.first + z.T;  // of the distance table
  struct Memory {
    float *keys, *k, *values, *q, *dy, *delta, *dq, *dk, *dv, *distances, *ddistances, *work;
    std::size_t floats;
    Memory(float* base, const Sizes& z, const AttentionInput& a, Index length) {
      Carver c(base);
      const Index table = a.distance ? length + 3 * block : 0;
      keys = c.take(z.blocks * block * z.D);
      values = c.take(z.blocks * block * z.E);
      k = c.take(z.DP != z.D ? z.S * z.DP : 0);
      q = c.take(z.group * z.T * z.DP);
      dq = c.take(z.group * z.T * z.DP);
      dy = c.take(z.EP != z.E ? z.group * z.T * z.EP : 0);
      delta = c.take(z.group * z.T);
      dk = c.take(block * z.DP);
      dv = c.take(block * z.EP);
      distances = c.take(z.group * table);
      ddistances = c.take(z.group * table);
      work = c.take(2 * block * block);
      floats = c.used();
    }
  };
  const std::size_t floats = Memory(nullptr, z, a, length).floats;
  const Index table = a.distance ? length + 3 * block : 0;
  if (dbias && !dbias.add) fill(dbias, 0);
  DistanceGradients distances(ddistance, z, length, partials_);

  const auto group = [&](Index bg, const Memory& m) {
    const Index b = bg / z.G, g = bg % z.G;
    HWY_DYNAMIC_DISPATCH(TransposeBlocks)(m.keys, in(a.k) + bg * z.keys * z.D, z.D, z.S);
    HWY_DYNAMIC_DISPATCH(TransposeBlocks)(m.values, in(a.v) + bg * z.keys * z.E, z.E, z.S);
    Index k_stride = 0;
    const float* k = padded(in(a.k) + bg * z.keys * z.D, z.D, z.D, z.DP, z.S, m.k, k_stride);
    std::fill_n(m.dq, z.group * z.T * z.DP, 0.0f);
    if (ddistance) std::fill_n(m.ddistances, z.group * table, 0.0f);
    thread_local std::vector<HeadBlocks> heads;  // kept: steps after the first allocate nothing
    heads.clear();
    for (Index n = 0; n < z.group; ++n) {
      const Index h = g * z.group + n;
      HeadBlocks w = head(a, z, b, h, m.q + n * z.T * z.DP, m.distances + n * table);
      w.keys = m.keys;
      w.values = m.values;
      w.k = k;
      w.k_stride = k_stride;
      w.dq = m.dq + n * z.T * z.DP;
      const Index at = z.mixed(b) * z.H * z.E + h * z.E;
      w.dy = padded(in(dy) + at, z.H * z.E, z.E, z.EP, z.T, m.dy + n * z.T * z.EP, w.dy_stride);
      w.lse = in(lse) + z.query(b, h);
      float* delta = m.delta + n * z.T;
      for (Index i = 0; i < z.T; ++i)
        delta[i] =
            HWY_DYNAMIC_DISPATCH(Dot)(in(dy) + at + i * z.H * z.E, in(y) + at + i * z.H * z.E, z.E);
      w.delta = delta;
      if (ddistance) w.dreversed = m.ddistances + n * table + length + block;
      set_dbias(w, dbias, z, b, h);
      heads.push_back(w);
    }
    for (Index j0 = 0; j0 < z.S; j0 += block) {
      std::fill_n(m.dk, block * z.DP, 0.0f);
      std::fill_n(m.dv, block * z.EP, 0.0f);
      for (const HeadBlocks& w : heads)
        for (Index i0 = std::max<Index>(0, (j0 - z.first) / block * block); i0 < z.T; i0 += block)
          HWY_DYNAMIC_DISPATCH(BackwardBlock)
      (w, j0, i0, std::min(block, z.T - i0), m.dk, z.DP, m.dv, z.EP, m.work);
      for (Index j = j0; j < std::min(z.S, j0 + block); ++j) {
        if (dk) HWY_DYNAMIC_DISPATCH(PutScaled)
        (out(dk) + (bg * z.keys + j) * z.D, m.dk + (j - j0) * z.DP, z.D, 1.0f, dk.add);
        if (dv) HWY_DYNAMIC_DISPATCH(PutScaled)
        (out(dv) + (bg * z.keys + j) * z.E, m.dv + (j - j0) * z.EP, z.E, 1.0f, dv.add);
      }
    }
    for (Index n = 0; n < z.group; ++n) {
      const Index h = g * z.group + n;
      if (dq)
        for (Index i = 0; i < z.T; ++i) HWY_DYNAMIC_DISPATCH(PutScaled)
      (out(dq) + (z.query(b, h) + i) * z.D, m.dq + (n * z.T + i) * z.DP, z.D,
       static_cast<float>(a.scale), dq.add);
      distances.keep(b, h, m.ddistances + n * table);
    }
  };

  each_group(tasks(dbias, z), floats, [&](Index task, float* memory) {
    const Memory m(memory, z, a, length);
    for (Index bg = task; bg < z.B * z.G; bg += tasks(dbias, z)) group(bg, m);
  });
  if (ddistance && !ddistance.add) fill(ddistance, 0);
  distances.add_up();
}

}  // namespace pesuite
#endif
