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

// to [4] = q [D] . rows of k [N, D], N <= 4.
template <int N, class T>
HWY_INLINE void ScoreRows(const float* q, const T* k, I D, float* to) {
  const F32 d;
  V32 sums[4];
  for (V32& sum : sums) sum = hn::Zero(d);
  for (I i = 0; i < D; i += kLanes) {
    const auto m = static_cast<std::size_t>(D - i);
    const V32 x = Load(d, q + i, m);
    for (int n = 0; n < N; ++n) sums[n] = hn::MulAdd(x, Load(d, k + n * D + i, m), sums[n]);
  }
  SumsOfFour(sums[0], sums[1], sums[2], sums[3], to);
}
// scores[j] = q [D] . k [S, D] for begin <= j < end, with room for three more.
template <class T>
HWY_INLINE void ScoreKeys(const float* q, const T* k, I D, I begin, I end, float* scores) {
  I j = begin;
  for (; j + 4 <= end; j += 4) ScoreRows<4>(q, k + j * D, D, scores + j);
  for (; j < end; ++j) ScoreRows<1>(q, k + j * D, D, scores + j);
}
// The largest of scores[j] over begin <= j < end.
HWY_INLINE float Largest(const float* scores, I begin, I end) {
  const F32 d;
  float top = -std::numeric_limits<float>::infinity();
  V32 tops = hn::Set(d, top);
  I j = begin;
  for (; j + kLanes <= end; j += kLanes) tops = hn::Max(tops, hn::LoadU(d, scores + j));
  for (; j < end; ++j) top = std::max(top, scores[j]);
  return std::max(top, MaxOf(d, tops));
}
// N vectors of o [E] from e on = sum of p[j] v [S, E] over begin <= j < end.
template <int N, class T>
HWY_INLINE void MixVectors(const float* p, const T* v, I E, I e, I begin, I end, float* o) {
  const F32 d;
  const auto of = [&](int n) { return static_cast<std::size_t>(E - e - n * kLanes); };
  V32 sums[N];
  for (V32& sum : sums) sum = hn::Zero(d);
  for (I j = begin; j < end; ++j) {
    const V32 x = hn::Set(d, p[j]);
    const T* row = v + j * E + e;
    for (int n = 0; n < N; ++n) sums[n] = hn::MulAdd(x, Load(d, row + n * kLanes, of(n)), sums[n]);
  }
  for (int n = 0; n < N; ++n) Store(d, sums[n], o + e + n * kLanes, of(n));
}
// The same of all: as many at a time as hide how long one sum takes.
template <class T>
HWY_INLINE void MixValues(const float* p, const T* v, I E, I begin, I end, float* o) {
  I e = 0;
  for (; e + 7 * kLanes < E; e += 8 * kLanes) MixVectors<8>(p, v, E, e, begin, end, o);
  for (; e + 3 * kLanes < E; e += 4 * kLanes) MixVectors<4>(p, v, E, e, begin, end, o);
  for (; e < E; e += kLanes) MixVectors<1>(p, v, E, e, begin, end, o);
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
  const float top = Largest(scores, begin, end);
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
