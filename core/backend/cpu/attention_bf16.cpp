// Blocked attention (attention.cpp) with products in bf16. The softmax between them and all sums
// stay fp32; probabilities and gradients of scores are rounded to bf16 where a product reads them.
#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/cpu/bf16.h"
#include "backend/cpu/kernels.h"
#include "hwy/cache_control.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/attention_bf16.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include "backend/cpu/attention-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pesuite::HWY_NAMESPACE {

constexpr I kRows = bf16::grain;  // of queries that are handled together
constexpr I kPairs = kBlock / 2;  // of keys, or queries, of a block

// e^x for x up to 88, relative error below 3e-6 (of bf16's rounding: 4e-3); below 2^-127 it is 0.
// NaN stays NaN: what it is compared with stands first.
struct RoughExponential {
  static HWY_INLINE V32 of(F32 d, V32 x) {
    const hn::RebindToSigned<F32> di;
    const V32 z = hn::Max(hn::Set(d, -127.0f), hn::Mul(x, hn::Set(d, 1.44269504088896341f)));
    const Whole whole = RoundToWhole(d, z);
    const V32 r = hn::Sub(z, whole.n);  // e^x = 2^n 2^r, |r| <= 1/2
    V32 p = hn::Set(d, 0.00958285f);
    p = hn::MulAdd(p, r, hn::Set(d, 0.05590643f));
    p = hn::MulAdd(p, r, hn::Set(d, 0.24024099f));
    p = hn::MulAdd(p, r, hn::Set(d, 0.69312419f));
    p = hn::MulAdd(p, r, hn::Set(d, 1.0f));
    return hn::BitCast(d, hn::Add(hn::BitCast(di, p), hn::ShiftLeft<23>(whole.bits)));
  }
};

// Asks for a quarter of an array that is read next: tiles' loads run into the second-level cache
// otherwise, which no prefetcher of the processor foresees.
HWY_INLINE void FetchQuarter(const bf16::Word* next, I words, I quarter) {
  constexpr I line = 64 / sizeof(bf16::Word);
  for (I at = words / 4 * quarter; at < words / 4 * (quarter + 1); at += line)
    hwy::Prefetch(next + at);
}

// Rows first_row .. first_row + rows - 1 (at most 64): y [rows, y_stride], stored as `storage`
// says, and lse. work: 16 * 64 + 16 * 32 + 64 * EP floats.
void ForwardBlock16(const HeadBlocks& h, const HeadWords& w, I first_row, I rows, void* y,
                    Storage storage, I y_stride, bool add, float* lse, float* work) {
  const F32 d;
  const bf16::Multiplier multiplier(bf16::best_kernel());
  float* const scores = work;                                      // [16, 64]
  auto* const p = reinterpret_cast<Bf16*>(work + kRows * kBlock);  // [16, 64]
  float* const o = work + kRows * (kBlock + kPairs);               // [64, EP]
  alignas(64) float keep[kBlock];
  PassingSoftmax softmax(rows);
  const I keys = std::min(h.S, h.first + first_row + rows), begin = FirstBlock(h, first_row);
  for (I j0 = begin; j0 < keys; j0 += kBlock)
    for (I r = 0; r < rows; r += kRows) {
      const I R = std::min(kRows, rows - r);
      const I most = Visible(h, first_row + r + R - 1, j0);
      if (most == 0) continue;
      const I N = (most + kStep - 1) / kStep * kStep, words = N > 32 ? kPairs : kPairs / 2;
      multiplier.product(kRows, N, w.DW, w.q + (first_row + r) * w.DW, w.DW, w.keys + j0 * w.DW,
                         kBlock, scores, kBlock, false);
      FetchQuarter(w.keys + (j0 + kBlock) * w.DW, kBlock * w.DW, r / kRows);
      FetchQuarter(w.v_pairs + (j0 + kBlock) / 2 * w.EP, kPairs * w.EP, r / kRows);
      for (I m = 0; m < R; ++m) {
        const I i = first_row + r + m, visible = Visible(h, i, j0);
        float* const s = scores + m * kBlock;
        AddBias(h, s, i, j0, N);
        float* const so_far = j0 > begin ? o + (r + m) * w.EP : nullptr;
        Bf16* const row = p + m * kBlock;
        if (h.dropout.p > 0) {
          softmax.pass<RoughExponential>(r + m, s, s, N, visible, so_far, w.EP);
          DropoutFactors(h, i, j0, keep);
          for (I j = 0; j < N; j += kLanes)
            Store(d, hn::Mul(hn::LoadU(d, s + j), hn::LoadU(d, keep + j)), row + j, kLanes);
        } else {
          softmax.pass<RoughExponential>(r + m, row, s, N, visible, so_far, w.EP);
        }
        std::fill(row + N, row + 2 * words, Bf16{});
      }
      multiplier.product(kRows, w.EP, words, reinterpret_cast<const bf16::Word*>(p), kPairs,
                         w.v_pairs + j0 / 2 * w.EP, w.EP, o + r * w.EP, w.EP, j0 > begin);
    }
  for (I r = 0; r < rows; ++r) {
    const float total = softmax.total(r);
    lse[r] = softmax.top[r] + std::log(total);
    const V32 scale = hn::Set(d, 1.0f / total);
    as_stored(y, storage, [&](auto* to) HWY_ATTR {
      for (I e = 0; e < h.E; e += kLanes)
        Put(d, hn::Mul(hn::LoadU(d, o + r * w.EP + e), scale), to + r * y_stride + e,
            static_cast<std::size_t>(h.E - e), add);
    });
  }
}

// Contribution of the keys j0 .. j0 + 63 against the rows first_row .. : their gradients are added
// to, transposed: dk [DP, 64] and dv [EP, 64]; so are dq and the biases' gradients. work: 2 * 16 *
// 64 + 16 * 32 + 2 * 32 * 64 floats.
void BackwardBlock16(const HeadBlocks& h, const HeadWords& w, I j0, I first_row, I rows, float* dk,
                     float* dv, float* work) {
  if (j0 + kBlock <= FirstBlock(h, first_row)) return;  // none of the rows sees the keys
  const F32 d;
  const bf16::Multiplier multiplier(bf16::best_kernel());
  float *const p = work, *const ds = work + kRows * kBlock;                        // [16, 64]
  auto* const ds_rows = reinterpret_cast<bf16::Word*>(work + 2 * kRows * kBlock);  // [16, 32]
  bf16::Word* const p_pairs = ds_rows + kRows * kPairs;                            // [32, 64]
  bf16::Word* const ds_pairs = p_pairs + kPairs * kBlock;                          // [32, 64]
  alignas(64) float keep[kBlock];
  I seen = 0;  // pairs of rows so far, and of rows that see none of the keys
  for (I r = 0; r < rows; r += kRows) {
    const I R = std::min(kRows, rows - r);
    const I most = Visible(h, first_row + r + R - 1, j0);
    const I N = (most + kStep - 1) / kStep * kStep;
    if (most > 0) {
      multiplier.product(kRows, N, w.DW, w.q + (first_row + r) * w.DW, w.DW, w.keys + j0 * w.DW,
                         kBlock, p, kBlock, false);
      multiplier.product(kRows, N, w.EW, w.dy + (first_row + r) * w.EW, w.EW, w.values + j0 * w.EW,
                         kBlock, ds, kBlock, false);
    }
    for (I m = 0; m < R; ++m) {
      const I i = first_row + r + m, visible = Visible(h, i, j0);
      float *const s = p + m * kBlock, *const g = ds + m * kBlock;
      AddBias(h, s, i, j0, N);
      if (h.dropout.p > 0) DropoutFactors(h, i, j0, keep);
      const V32 lse = hn::Set(d, h.lse[i]), delta = hn::Set(d, h.delta[i]);
      for (I j = 0; j < N; j += kLanes) {
        V32 e = RoughExponential::of(d, hn::Sub(hn::LoadU(d, s + j), lse));
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
    bf16::pack_pairs(p_pairs + r / 2 * kBlock, kRows / 2, kBlock, p, kBlock, N, R);
    bf16::pack_pairs(ds_pairs + r / 2 * kBlock, kRows / 2, kBlock, ds, kBlock, N, R);
    seen = r / 2 + kRows / 2;
    if (most > 0) {
      bf16::pack_rows(ds_rows, kPairs, ds, kBlock, N, R, 1);
      multiplier.product(kRows, w.DP, N > 32 ? kPairs : kPairs / 2, ds_rows, kPairs,
                         w.k_pairs + j0 / 2 * w.DP, w.DP, w.dq + (first_row + r) * w.DP, w.DP,
                         true);
    }
  }
  for (; seen % kRows != 0; seen += kRows / 2) {  // products take 16 pairs at a time
    std::fill_n(p_pairs + seen * kBlock, kRows / 2 * kBlock, 0u);
    std::fill_n(ds_pairs + seen * kBlock, kRows / 2 * kBlock, 0u);
  }
  // q and dy stand transposed in blocks of 64 pairs of rows
  const I columns = first_row / 128 * 64, at = first_row / 2 % 64;
  multiplier.product(w.EP, kBlock, seen, w.dy_columns + columns * w.EP + at, 64, p_pairs, kBlock,
                     dv, kBlock, true);
  multiplier.product(w.DP, kBlock, seen, w.q_columns + columns * w.DP + at, 64, ds_pairs, kBlock,
                     dk, kBlock, true);
}

// Sum of a b [n], both stored alike.
float StoredDot(const void* a, const void* b, Storage storage, I n) {
  return as_stored(a, storage, [&]<class T>(const T* first) HWY_ATTR {
    return DotOf(first, static_cast<const T*>(b), n);
  });
}

// y [width] (+)= scale x
void StoredPutScaled(void* y, Storage storage, const float* x, I width, float scale, bool add) {
  as_stored(y, storage, [&](auto* to) HWY_ATTR { PutScaledTo(to, x, width, scale, add); });
}

}  // namespace pesuite::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "backend/cpu/attention.h"

namespace pesuite {
HWY_EXPORT(ForwardBlock16);
HWY_EXPORT(BackwardBlock16);
HWY_EXPORT(TransposeBlocks);
HWY_EXPORT(StoredDot);
HWY_EXPORT(StoredPutScaled);

namespace {

using namespace attention;
using bf16::Word;

Index whole(Index n, Index of) {
  return (n + of - 1) / of * of;
}

// Working memory in floats, of which words are made where they are used.
Word* words(float* memory) {
  return reinterpret_cast<Word*>(memory);
}

// to [blocks, words, 64] = from [rows, words] transposed in blocks of 64 rows.
void transpose(Word* to, const Word* from, Index width, Index rows) {
  HWY_DYNAMIC_DISPATCH(TransposeBlocks)
  (reinterpret_cast<float*>(to), reinterpret_cast<const float*>(from), width, rows);
}

struct Sizes16 : Sizes {
  Index DW, EW;  // words of a row of q and k, and of v
  Index rows;    // T, whole tiles
  explicit Sizes16(const AttentionInput& a)
      : Sizes(a, bf16::grain),
        DW(whole(D, 2 * bf16::grain) / 2),
        EW(whole(E, 2 * bf16::grain) / 2),
        rows(whole(T, bf16::grain)) {}
};

// Fields of a head that both passes need.
HeadBlocks head_of(const AttentionInput& a, const Sizes16& z, Index b, Index h, float* distances) {
  HeadBlocks w{};
  w.T = z.T, w.S = z.S, w.D = z.D, w.E = z.E, w.first = z.first;
  if (a.distance) {
    w.reversed = reverse_distance(a, h, distances, z.first + z.T);
    w.reach = reach_of(a, z, b, h, w.reversed, [&](View x, Index row) {
      const void* const numbers = at(x, row * z.D);
      return HWY_DYNAMIC_DISPATCH(StoredDot)(numbers, numbers, x.storage, z.D);
    });
  }
  set_bias(w, a, z, b, h);
  w.starts = starts_of(a, z, b);
  w.dropout = a.dropout;
  w.dropout_row = static_cast<std::uint64_t>(z.query(b, h));
  return w;
}
// As those of bf16.h, from number `start` of x on.
void pack_rows(float* to, Index words_of_row, View x, Index start, Index stride, Index width,
               Index rows, float scale) {
  as_stored(at(x, start), x.storage, [&](auto* from) {
    bf16::pack_rows(words(to), words_of_row, from, stride, width, rows, scale);
  });
}
void pack_pairs(float* to, Index pairs, Index columns, View x, Index start, Index stride,
                Index width, Index rows) {
  as_stored(at(x, start), x.storage, [&](auto* from) {
    bf16::pack_pairs(words(to), pairs, columns, from, stride, width, rows);
  });
}

}  // namespace

void CpuBackend::attention_forward_bf16(Out y, Out lse, const AttentionInput& a) {
  const Sizes16 z(a);
  struct Memory {
    float *rows, *keys, *v_pairs, *q, *distances, *work;
    std::size_t floats;
    Memory(float* base, const Sizes16& z, const AttentionInput& a) {
      Carver c(base);
      rows = c.take(z.S * z.DW);  // k before it is transposed
      keys = c.take(z.blocks * block * z.DW);
      v_pairs = c.take(z.blocks * block / 2 * z.EP);
      q = c.take(z.rows * z.DW);
      distances = c.take(a.distance ? z.first + z.T + 3 * block : 0);
      work = c.take(bf16::grain * (block + block / 2) + block * z.EP);
      floats = c.used();
    }
  };
  const std::size_t floats = Memory(nullptr, z, a).floats;
  const bool few = z.B * z.G < threads_;  // heads: share the rows of each
  const auto group = [&](Index bg, const Memory& m) {
    const Index b = bg / z.G, g = bg % z.G;
    pack_rows(m.rows, z.DW, a.k, bg * z.keys * z.D, z.D, z.D, z.S, 1);
    transpose(words(m.keys), words(m.rows), z.DW, z.S);
    pack_pairs(m.v_pairs, z.blocks * block / 2, z.EP, a.v, bg * z.keys * z.E, z.E, z.E, z.S);
    for (Index h = g * z.group; h < (g + 1) * z.group; ++h) {
      const HeadBlocks w = head_of(a, z, b, h, m.distances);
      HeadWords n{};
      n.DW = z.DW, n.EP = z.EP;
      n.keys = words(m.keys), n.v_pairs = words(m.v_pairs), n.q = words(m.q);
      pack_rows(m.q, z.DW, a.q, z.query(b, h) * z.D, z.D, z.D, z.T, static_cast<float>(a.scale));
      const auto rows = [&](Index i0, float* work) {
        HWY_DYNAMIC_DISPATCH(ForwardBlock16)
        (w, n, i0, std::min(block, z.T - i0), at(y, (z.mixed(b) + i0) * z.H * z.E + h * z.E),
         y.storage, z.H * z.E, y.add, out(lse) + z.query(b, h) + i0, work);
      };
      if (few) {
        const Index chunks = (z.T + block - 1) / block;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads_)
        for (Index c = 0; c < chunks; ++c) {
          const int t = omp_get_thread_num();
          rows((chunks - 1 - c) * block, t == 0 ? m.work : workspace(t, floats));
        }
      } else {
        for (Index i0 = 0; i0 < z.T; i0 += block) rows(i0, m.work);
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

void CpuBackend::attention_backward_bf16(Out dq, Out dk, Out dv, Out ddistance, Out dbias, View dy,
                                         View y, View lse, const AttentionInput& a) {
  PES_CHECK(dy.storage == y.storage);
  const Sizes16 z(a);
  const Index length = z.first + z.T;  // of the distance table
  const Index table = a.distance ? length + 3 * block : 0;
  const Index pairs = whole(z.T, 2 * block) / 2;  // of queries, in blocks of 64
  struct Memory {
    float *rows, *keys, *values, *k_pairs, *pairs, *q, *q_columns, *dy, *dy_columns;
    float *delta, *dq, *dk, *dv, *row, *distances, *ddistances, *work;
    std::size_t floats;
    Memory(float* base, const Sizes16& z, Index pairs, Index table) {
      Carver c(base);
      rows = c.take(z.S * std::max(z.DW, z.EW));
      keys = c.take(z.blocks * block * z.DW);
      values = c.take(z.blocks * block * z.EW);
      k_pairs = c.take(z.blocks * block / 2 * z.DP);
      this->pairs = c.take(pairs * std::max(z.DP, z.EP));
      q = c.take(z.group * z.rows * z.DW);
      q_columns = c.take(z.group * pairs * z.DP);
      dy = c.take(z.group * z.rows * z.EW);
      dy_columns = c.take(z.group * pairs * z.EP);
      delta = c.take(z.group * z.T);
      dq = c.take(z.group * z.rows * z.DP);
      dk = c.take(block * z.DP);
      dv = c.take(block * z.EP);
      row = c.take(block * whole(std::max(z.DP, z.EP), block));
      distances = c.take(z.group * table);
      ddistances = c.take(z.group * table);
      work = c.take(bf16::grain * (2 * block + block / 2) + block * block);
      floats = c.used();
    }
  };
  const std::size_t floats = Memory(nullptr, z, pairs, table).floats;
  DistanceGradients distances(ddistance, z, length, partials_);
  if (dbias && !dbias.add) fill(dbias, 0);

  const auto group = [&](Index bg, const Memory& m) {
    const Index b = bg / z.G, g = bg % z.G;
    const Index k = bg * z.keys * z.D, v = bg * z.keys * z.E;
    pack_rows(m.rows, z.DW, a.k, k, z.D, z.D, z.S, 1);
    transpose(words(m.keys), words(m.rows), z.DW, z.S);
    pack_rows(m.rows, z.EW, a.v, v, z.E, z.E, z.S, 1);
    transpose(words(m.values), words(m.rows), z.EW, z.S);
    pack_pairs(m.k_pairs, z.blocks * block / 2, z.DP, a.k, k, z.D, z.D, z.S);
    std::fill_n(m.dq, z.group * z.rows * z.DP, 0.0f);
    if (ddistance) std::fill_n(m.ddistances, z.group * table, 0.0f);
    thread_local std::vector<HeadBlocks> heads;  // kept: steps after the first allocate nothing
    thread_local std::vector<HeadWords> operands;
    heads.clear(), operands.clear();
    for (Index n = 0; n < z.group; ++n) {
      const Index h = g * z.group + n, start = z.mixed(b) * z.H * z.E + h * z.E, row = z.H * z.E;
      const Index q = z.query(b, h) * z.D;
      const auto scale = static_cast<float>(a.scale);
      HeadBlocks w = head_of(a, z, b, h, m.distances + n * table);
      HeadWords o{};
      o.DW = z.DW, o.EW = z.EW, o.DP = z.DP, o.EP = z.EP;
      o.keys = words(m.keys), o.values = words(m.values), o.k_pairs = words(m.k_pairs);
      float* const packed_q = m.q + n * z.rows * z.DW;
      float* const packed_dy = m.dy + n * z.rows * z.EW;
      float* const q_columns = m.q_columns + n * pairs * z.DP;
      float* const dy_columns = m.dy_columns + n * pairs * z.EP;
      pack_rows(packed_q, z.DW, a.q, q, z.D, z.D, z.T, scale);
      pack_rows(packed_dy, z.EW, dy, start, row, z.E, z.T, 1);
      pack_pairs(m.pairs, pairs, z.DP, a.q, q, z.D, z.D, z.T);
      transpose(words(q_columns), words(m.pairs), z.DP, pairs);
      pack_pairs(m.pairs, pairs, z.EP, dy, start, row, z.E, z.T);
      transpose(words(dy_columns), words(m.pairs), z.EP, pairs);
      o.q = words(packed_q), o.dy = words(packed_dy);
      o.q_columns = words(q_columns), o.dy_columns = words(dy_columns);
      o.dq = m.dq + n * z.rows * z.DP;
      w.lse = in(lse) + z.query(b, h);
      w.delta = m.delta + n * z.T;
      for (Index i = 0; i < z.T; ++i)
        m.delta[n * z.T + i] = HWY_DYNAMIC_DISPATCH(StoredDot)(
            at(dy, start + i * row), at(y, start + i * row), y.storage, z.E);
      if (ddistance) w.dreversed = m.ddistances + n * table + length + block;
      set_dbias(w, dbias, z, b, h);
      heads.push_back(w);
      operands.push_back(o);
    }
    // columns of `from` [P, 64] as rows of `to`
    const auto put = [&](Out to, Index width, const float* from, Index P, float scale, Index j0) {
      if (!to) return;
      HWY_DYNAMIC_DISPATCH(TransposeBlocks)(m.row, from, block, P);
      for (Index j = j0; j < std::min(z.S, j0 + block); ++j)
        for (Index c = 0; c < width; c += block) HWY_DYNAMIC_DISPATCH(StoredPutScaled)
      (at(to, (bg * z.keys + j) * width + c), to.storage, m.row + c * block + (j - j0) * block,
       std::min(block, width - c), scale, to.add);
    };
    for (Index j0 = 0; j0 < z.S; j0 += block) {
      std::fill_n(m.dk, block * z.DP, 0.0f);
      std::fill_n(m.dv, block * z.EP, 0.0f);
      for (std::size_t n = 0; n < heads.size(); ++n)
        for (Index i0 = std::max<Index>(0, (j0 - z.first) / block * block); i0 < z.T; i0 += block)
          HWY_DYNAMIC_DISPATCH(BackwardBlock16)
      (heads[n], operands[n], j0, i0, std::min(block, z.T - i0), m.dk, m.dv, m.work);
      put(dk, z.D, m.dk, z.DP, static_cast<float>(a.scale), j0);
      put(dv, z.E, m.dv, z.EP, 1, j0);
    }
    for (Index n = 0; n < z.group; ++n) {
      const Index h = g * z.group + n;
      if (dq)
        for (Index i = 0; i < z.T; ++i) HWY_DYNAMIC_DISPATCH(StoredPutScaled)
      (at(dq, (z.query(b, h) + i) * z.D), dq.storage, m.dq + (n * z.rows + i) * z.DP, z.D,
       static_cast<float>(a.scale), dq.add);
      distances.keep(b, h, m.ddistances + n * table);
    }
  };
  each_group(tasks(dbias, z), floats, [&](Index task, float* memory) {
    const Memory m(memory, z, pairs, table);
    for (Index bg = task; bg < z.B * z.G; bg += tasks(dbias, z)) group(bg, m);
  });
  if (ddistance && !ddistance.add) fill(ddistance, 0);
  distances.add_up();
}

}  // namespace pesuite
#endif
