// Attention of a few queries against many keys, as when a model writes token by token: keys and
// values are read once, as they lie.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "backend/cpu/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/decode.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include "backend/cpu/attention-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pesuite::HWY_NAMESPACE {

// scores[j] = q [D] . k [S, D] for begin <= j < end, four keys side by side.
template <class T>
HWY_INLINE void ScoreKeys(const float* q, const T* k, I D, I begin, I end, float* scores) {
  const F32 d;
  I j = begin;
  for (; j + 4 <= end; j += 4) {
    const T* row = k + j * D;
    V32 a = hn::Zero(d), b = a, c = a, e = a;
    for (I i = 0; i < D; i += kLanes) {
      const auto m = static_cast<std::size_t>(D - i);
      const V32 x = Load(d, q + i, m);
      a = hn::MulAdd(x, Load(d, row + i, m), a);
      b = hn::MulAdd(x, Load(d, row + D + i, m), b);
      c = hn::MulAdd(x, Load(d, row + 2 * D + i, m), c);
      e = hn::MulAdd(x, Load(d, row + 3 * D + i, m), e);
    }
    scores[j] = SumOf(d, a), scores[j + 1] = SumOf(d, b);
    scores[j + 2] = SumOf(d, c), scores[j + 3] = SumOf(d, e);
  }
  for (; j < end; ++j) scores[j] = DotOf(q, k + j * D, D);
}
// o [E] = sum of p[j] v [S, E] over begin <= j < end, four vectors of it at a time.
template <class T>
HWY_INLINE void MixValues(const float* p, const T* v, I E, I begin, I end, float* o) {
  const F32 d;
  for (I e = 0; e < E; e += 4 * kLanes) {
    const auto m = static_cast<std::size_t>(E - e);
    const auto part = [&](std::size_t n) { return m > n * kLanes ? m - n * kLanes : 0; };
    V32 a = hn::Zero(d), b = a, c = a, f = a;
    for (I j = begin; j < end; ++j) {
      const V32 x = hn::Set(d, p[j]);
      const T* row = v + j * E + e;
      a = hn::MulAdd(x, Load(d, row, m), a);
      if (part(1) > 0) b = hn::MulAdd(x, Load(d, row + kLanes, part(1)), b);
      if (part(2) > 0) c = hn::MulAdd(x, Load(d, row + 2 * kLanes, part(2)), c);
      if (part(3) > 0) f = hn::MulAdd(x, Load(d, row + 3 * kLanes, part(3)), f);
    }
    Store(d, a, o + e, m);
    if (part(1) > 0) Store(d, b, o + e + kLanes, part(1));
    if (part(2) > 0) Store(d, c, o + e + 2 * kLanes, part(2));
    if (part(3) > 0) Store(d, f, o + e + 3 * kLanes, part(3));
  }
}

// Query i of a head, q [D] scaled, against the keys that it sees; o [E] without the division by the
// sum of exponentials, which is the result; lse. scores: as many as keys, and a vector more.
template <class T>
float OneQuery(const HeadBlocks& h, const T* k, const T* v, const float* q, I i, float* scores,
               float* o, float* lse) {
  const F32 d;
  const I begin = h.starts == nullptr ? 0 : h.starts[i];
  const I end = std::min(h.S, h.first + i + 1);
  ScoreKeys(q, k, h.D, begin, end, scores);
  if (h.reversed != nullptr)
    for (I j = begin; j < end; ++j) scores[j] += h.reversed[j - (h.first + i)];
  if (h.bias != nullptr)
    for (I j = begin; j < end; ++j) scores[j] += h.bias[i * h.bias_row + j * h.bias_column];
  float top = -std::numeric_limits<float>::infinity();
  for (I j = begin; j < end; ++j) top = std::max(top, scores[j]);
  const float from = top > -std::numeric_limits<float>::infinity() ? top : 0.0f;
  V32 sums = hn::Zero(d);
  for (I j = begin; j < end; j += kLanes) {
    const auto m = static_cast<std::size_t>(end - j);
    V32 x = ExpUpToRange(d, hn::Sub(hn::LoadU(d, scores + j), hn::Set(d, from)));
    if (m < static_cast<std::size_t>(kLanes)) x = hn::IfThenElseZero(hn::FirstN(d, m), x);
    hn::StoreU(x, d, scores + j);
    sums = hn::Add(sums, x);
  }
  const float total = SumOf(d, sums);
  MixValues(scores, v, h.E, begin, end, o);
  *lse = from + std::log(total);
  return total;
}

// The same as it is stored: y [E].
void OneQueryOf(const HeadBlocks& h, const void* k, const void* v, Storage storage, const float* q,
                I i, float* scores, float* o, float* lse, Out y) {
  const float total = storage == Storage::bf16
                          ? OneQuery(h, static_cast<const Bf16*>(k), static_cast<const Bf16*>(v), q,
                                     i, scores, o, lse)
                          : OneQuery(h, static_cast<const float*>(k), static_cast<const float*>(v),
                                     q, i, scores, o, lse);
  if (y.storage == Storage::bf16)
    PutScaledTo(static_cast<Bf16*>(y.data), o, h.E, 1 / total, y.add);
  else
    PutScaledTo(static_cast<float*>(y.data), o, h.E, 1 / total, y.add);
}

}  // namespace pesuite::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "backend/cpu/attention.h"

namespace pesuite {
HWY_EXPORT(OneQueryOf);

namespace {
using namespace attention;
constexpr Index few_queries = 4;
}  // namespace

bool CpuBackend::attention_of_few(Out y, Out lse, const AttentionInput& a) {
  const Sizes z(a, 16);
  if (z.T > few_queries || z.first < few_queries || a.dropout.p > 0) return false;
  struct Memory {
    float *q, *scores, *o, *distances;
    std::size_t floats;
    Memory(float* base, const Sizes& z, const AttentionInput& a) {
      Carver c(base);
      q = c.take(z.D);
      scores = c.take(z.S + 64);
      o = c.take(z.E);
      distances = c.take(a.distance ? z.first + z.T + 3 * block : 0);
      floats = c.used();
    }
  };
  const std::size_t floats = Memory(nullptr, z, a).floats;
  each_group(z.B * z.H, floats, [&](Index bh, float* memory) {
    const Memory m(memory, z, a);
    const Index b = bh / z.H, h = bh % z.H, bg = b * z.G + h / z.group;
    HeadBlocks w{};
    w.T = z.T, w.S = z.S, w.D = z.D, w.E = z.E, w.first = z.first;
    if (a.distance) w.reversed = reverse_distance(a, h, m.distances, z.first + z.T);
    set_bias(w, a, z, b, h);
    w.starts = starts_of(a, z, b);
    for (Index i = 0; i < z.T; ++i) {
      as_stored(a.q.data, a.q.storage, [&](auto* q) {
        const auto* from = q + (z.query(b, h) + i) * z.D;
        for (Index c = 0; c < z.D; ++c) m.q[c] = static_cast<float>(a.scale) * from[c];
      });
      HWY_DYNAMIC_DISPATCH(OneQueryOf)
      (w, at(a.k, bg * z.keys * z.D), at(a.v, bg * z.keys * z.E), a.k.storage, m.q, i, m.scores,
       m.o, out(lse) + z.query(b, h) + i,
       {at(y, ((z.mixed(b) + i) * z.H + h) * z.E), {z.E}, y.add, y.storage});
    }
  });
  return true;
}

}  // namespace pesuite
#endif
