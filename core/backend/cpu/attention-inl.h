// What blocked attention does to a row of scores, in fp32 and in bf16.
#if defined(PESUITE_ATTENTION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PESUITE_ATTENTION_INL_H_
#undef PESUITE_ATTENTION_INL_H_
#else
#define PESUITE_ATTENTION_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "backend/cpu/block_product-inl.h"
#include "pesuite/random.hpp"

HWY_BEFORE_NAMESPACE();
namespace pesuite::HWY_NAMESPACE {

constexpr I kStep = 16;  // columns of a block are computed in multiples of this

// Number of keys of block `j0` that query i sees, 0 .. 64.
HWY_INLINE I Visible(const HeadBlocks& h, I i, I j0) {
  return std::clamp<I>(h.first + i - j0 + 1, 0, std::min(kBlock, h.S - j0));
}

// The block that holds the first key which the rows from `first_row` on see.
HWY_MAYBE_UNUSED inline I FirstBlock(const HeadBlocks& h, I first_row) {
  const I seen = h.starts == nullptr ? 0 : h.starts[first_row];
  return std::max(seen, h.first + first_row - h.reach) / kBlock * kBlock;
}

// Adds the biases of query i to its scores against the keys j0 .. j0 + n - 1, and hides those
// before its first one.
HWY_INLINE void AddBias(const HeadBlocks& h, float* s, I i, I j0, I n) {
  const F32 d;
  if (h.reversed != nullptr)
    for (I j = 0; j < n; j += kLanes)
      hn::StoreU(hn::Add(hn::LoadU(d, s + j), hn::LoadU(d, h.reversed + (j0 + j) - (h.first + i))),
                 d, s + j);
  if (h.bias != nullptr) {
    const float* row = h.bias + i * h.bias_row + j0 * h.bias_column;
    const I valid = std::min(n, h.S - j0);
    if (h.bias_column == 1)
      for (I j = 0; j < valid; j += kLanes) {
        const auto m = static_cast<std::size_t>(valid - j);
        Store(d, hn::Add(Load(d, s + j, m), Load(d, row + j, m)), s + j, m);
      }
    else
      for (I j = 0; j < valid; ++j) s[j] += row[j * h.bias_column];
  }
  if (h.starts != nullptr && h.starts[i] > j0)
    std::fill_n(s, std::min(n, h.starts[i] - j0), -std::numeric_limits<float>::infinity());
}

// Adds the gradients of query i's scores against the keys j0 .. j0 + n - 1 to that of the bias.
HWY_MAYBE_UNUSED inline void AddToBias(const HeadBlocks& h, const float* g, I i, I j0, I n) {
  const F32 d;
  float* to = h.dbias + i * h.dbias_row + j0 * h.dbias_column;
  if (h.dbias_column == 1)
    for (I j = 0; j < n; j += kLanes) {
      const auto m = static_cast<std::size_t>(n - j);
      Put(d, Load(d, g + j, m), to + j, m, true);
    }
  else
    for (I j = 0; j < n; ++j) to[j * h.dbias_column] += g[j];
}

// The softmax of up to 64 rows while blocks of their keys pass (Milakov & Gimelshein 2018). A row's
// reference for its exponentials need only be near its largest score: it moves when a score lies
// more than 8 above it, which is rare after the first block. So most blocks need no reduction over
// lanes. Scores of -inf, also of whole blocks, have the probability 0.
struct PassingSoftmax {
  alignas(64) float top[kBlock];            // what the scores of a row are reduced by
  alignas(64) float sums[kBlock * kLanes];  // of its exponentials, a lane each

  explicit PassingSoftmax(I rows) {
    std::fill_n(top, rows, -std::numeric_limits<float>::infinity());
    std::fill_n(sums, rows * kLanes, 0.0f);
  }
  // e [N] = exponentials, by `Exp`, of the scores s of row r, of which it sees the first `visible`.
  // Rescales its output so far, o [P], where there is one. e may be s.
  template <class Exp, class E>
  HWY_INLINE void pass(I r, E* e, float* s, I N, I visible, float* o, I P) {
    const F32 d;
    const V32 none = hn::Set(d, -std::numeric_limits<float>::infinity());
    V32 largest = none;
    for (I j = 0; j < N; j += kLanes) {
      V32 x = hn::LoadU(d, s + j);
      if (j + kLanes > visible) {
        x = hn::IfThenElse(hn::FirstN(d, static_cast<std::size_t>(std::max<I>(0, visible - j))), x,
                           none);
        hn::StoreU(x, d, s + j);
      }
      largest = hn::Max(largest, x);
    }
    V32 sum = hn::LoadU(d, sums + r * kLanes);
    if (!hn::AllTrue(d, hn::Le(largest, hn::Set(d, top[r] + 8.0f)))) {
      const float now = std::max(top[r], MaxOf(d, largest));
      const V32 shrink = hn::Set(d, std::exp(top[r] - now));
      sum = hn::Mul(sum, shrink);
      if (o != nullptr)
        for (I p = 0; p < P; p += kLanes)
          hn::StoreU(hn::Mul(hn::LoadU(d, o + p), shrink), d, o + p);
      top[r] = now;
    }
    const bool seen = top[r] > -std::numeric_limits<float>::infinity();
    const V32 from = hn::Set(d, seen ? top[r] : 0.0f);  // -inf less -inf would be no number
    for (I j = 0; j < N; j += kLanes) {
      const V32 x = Exp::of(d, hn::Sub(hn::LoadU(d, s + j), from));
      sum = hn::Add(sum, x);
      Store(d, x, e + j, kLanes);
    }
    hn::StoreU(sum, d, sums + r * kLanes);
  }
  HWY_INLINE float total(I r) const {
    const F32 d;
    return SumOf(d, hn::LoadU(d, sums + r * kLanes));
  }
};

// Factors of the probabilities of query i against keys j0 .. j0 + 63: 0 or 1 / (1 - p).
HWY_INLINE void DropoutFactors(const HeadBlocks& h, I i, I j0, float* keep) {
  alignas(64) std::uint32_t words[kBlock];
  PhiloxRow64(h.dropout.seed, h.dropout.purpose, h.dropout_row + static_cast<std::uint64_t>(i),
              static_cast<std::uint32_t>(j0 / 4), words);
  const auto threshold = static_cast<std::uint32_t>(pes::probability(h.dropout.p));
  const float factor = static_cast<float>(1 / (1 - h.dropout.p));
  for (I j = 0; j < kBlock; ++j) keep[j] = words[j] < threshold ? 0.0f : factor;
}

// a [n] . b [n]
template <class A, class B>
HWY_INLINE float DotOf(const A* a, const B* b, I n) {
  const F32 d;
  V32 s = hn::Zero(d);
  for (I i = 0; i < n; i += kLanes) {
    const auto m = static_cast<std::size_t>(n - i);
    s = hn::MulAdd(Load(d, a + i, m), Load(d, b + i, m), s);
  }
  return SumOf(d, s);
}
HWY_MAYBE_UNUSED inline float Dot(const float* a, const float* b, I n) {
  return DotOf(a, b, n);
}

// y [width] (+)= scale x
template <class Y>
HWY_INLINE void PutScaledTo(Y* y, const float* x, I width, float scale, bool add) {
  const F32 d;
  for (I i = 0; i < width; i += kLanes) {
    const auto m = static_cast<std::size_t>(width - i);
    Put(d, hn::Mul(Load(d, x + i, m), hn::Set(d, scale)), y + i, m, add);
  }
}
HWY_MAYBE_UNUSED inline void PutScaled(float* y, const float* x, I width, float scale, bool add) {
  PutScaledTo(y, x, width, scale, add);
}

}  // namespace pesuite::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
