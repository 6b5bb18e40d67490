// Sizes and working memory of blocked attention, and the biases of a head as its kernels read them.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/cpu/cpu.h"
#include "backend/cpu/kernels.h"

namespace pesuite::attention {

constexpr Index block = 64;
static_assert(block == cpu_query_step);

struct Sizes {
  Index B, H, G, T, S, D, E, group;  // T and S: queries that the call is about, keys they see
  Index row, queries, keys;          // the first of those queries; rows of q and of k
  Index first;                       // query i of the call sees the keys j <= first + i
  Index DP, EP;                      // D and E rounded up to whole vectors
  Index blocks;                      // of keys
  Sizes(const AttentionInput& a, Index lanes)
      : B(a.q.shape[0]),
        H(a.q.shape[1]),
        G(a.k.shape[1]),
        T(a.own_rows()),
        S(a.keys()),
        D(a.q.shape[3]),
        E(a.v.shape[3]),
        group(H / G),
        row(a.row),
        queries(a.q.shape[2]),
        keys(a.k.shape[2]),
        first(a.first + a.row) {
    DP = (D + lanes - 1) / lanes * lanes;
    EP = (E + lanes - 1) / lanes * lanes;
    blocks = (S + block - 1) / block;
  }
  // Rows of q and lse, and of y, that stand before the call's first one.
  Index query(Index b, Index h) const { return (b * H + h) * queries + row; }
  Index mixed(Index b) const { return b * queries + row; }
  // The groups of heads, all examples of one after the other: a bias that those share stays in the
  // second-level cache.
  Index by_heads(Index i) const { return i % B * G + i / B; }
};

// Divides a workspace into arrays that start at cache lines. Without memory it only counts.
class Carver {
 public:
  explicit Carver(float* base) : base_(base) {}
  float* take(Index floats) {
    float* p = base_ == nullptr ? nullptr : base_ + used_;
    used_ += static_cast<std::size_t>((floats + 15) / 16 * 16);
    return p;
  }
  std::size_t used() const { return used_; }

 private:
  float* base_;
  std::size_t used_ = 0;
};

// The distance table of a head, reversed so that a row of scores reads it forwards: what (i, j)
// gets stands at centre[j - i]. 64 spare places on both sides keep whole vectors inside.
inline const float* reverse_distance(const AttentionInput& a, Index h, float* memory,
                                     Index length) {
  const Index row = a.distance.shape[0] > 1 ? h : 0;
  const float* d = in(a.distance) + row * a.distance.shape[1];
  float* centre = memory + length + block;
  std::fill_n(memory, length + 3 * block, 0.0f);
  for (Index n = 0; n < length; ++n) centre[-n] = d[n];
  return centre;
}

// The last distance at which a head sees keys, where its table (reverse_distance()) hides all
// behind it so far below all before it that the first key in sight sets what a row's exponentials
// are relative to, and those of hidden ones are 0: left out, they change no bit of the result. Else
// the last distance. `square` gives the sum of the squares of a row of q or k.
template <class Square>
Index reach_of(const AttentionInput& a, const Sizes& z, Index b, Index h, const float* centre,
               Square square) {
  constexpr float hiding = -1e4f;  // or less, where that is far enough below the rest
  const Index end = z.first + z.T - 1;
  Index last = end;
  while (last > 0 && centre[-last] <= hiding) --last;
  if (last == end || a.bias) return end;
  const auto longest = [&](View x, Index first, Index rows) {  // NaN where one is
    float most = 0;
    for (Index i = first; i < first + rows && !std::isnan(most); ++i) {
      const float now = square(x, i);
      most = now <= most ? most : now;
    }
    return std::sqrt(most);
  };
  // Of scores, in either direction; rounding to bf16 lets a row grow by 1 / 256 at most.
  const float most = 1.01f * std::abs(static_cast<float>(a.scale)) *
                     longest(a.q, z.query(b, h), z.T) *
                     longest(a.k, (b * z.G + h / z.group) * z.keys, z.S);
  float least = centre[0], hidden = -std::numeric_limits<float>::infinity();
  for (Index n = 1; n <= last; ++n) least = std::min(least, centre[-n]);
  for (Index n = last + 1; n <= end; ++n) hidden = std::max(hidden, centre[-n]);
  return hidden < least - 2 * most - 128 ? last : end;  // exponentials are 0 from -88 on
}

inline void set_bias(HeadBlocks& w, const AttentionInput& a, const Sizes& z, Index b, Index h) {
  if (!a.bias) return;
  const Strides s = broadcast_strides(a.bias.shape, {z.B, z.H, z.T, z.S});
  w.bias = in(a.bias) + b * s.s[0] + h * s.s[1];
  w.bias_row = s.s[2];
  w.bias_column = s.s[3];
}

// Where the keys begin that the queries of the call see, or null.
inline const std::int32_t* starts_of(const AttentionInput& a, const Sizes& z, Index b) {
  return a.starts.empty() ? nullptr : a.starts.data() + z.mixed(b);
}

inline void set_dbias(HeadBlocks& w, Out dbias, const Sizes& z, Index b, Index h) {
  if (!dbias) return;
  const Strides s = broadcast_strides(dbias.shape, {z.B, z.H, z.T, z.S});
  w.dbias = out(dbias) + b * s.s[0] + h * s.s[1];
  w.dbias_row = s.s[2];
  w.dbias_column = s.s[3];
}

// Parts of a backward pass over all (batch, group of heads). No two add to the same gradient of a
// bias: part t takes the groups t, t + tasks, ... in order.
inline Index tasks(Out dbias, const Sizes& z) {
  if (!dbias) return z.B * z.G;
  const Strides s = broadcast_strides(dbias.shape, {z.B, z.H, z.T, z.S});
  if (z.H > 1 && s.s[1] == 0) return 1;
  return z.B > 1 && s.s[0] == 0 ? z.G : z.B * z.G;
}

// Gradients of the distance table, one row a (batch, head), added up at the end, in order.
class DistanceGradients {
 public:
  DistanceGradients(Out to, const Sizes& z, Index length, std::vector<float>& rows)
      : to_(to), B_(z.B), H_(z.H), length_(length), rows_(rows) {
    if (to) rows.assign(static_cast<std::size_t>(B_ * H_ * length), 0.0f);
  }
  // of a head, as reverse_distance() places them
  void keep(Index b, Index h, const float* reversed) {
    if (!to_) return;
    float* const row = rows_.data() + (b * H_ + h) * length_;
    for (Index n = 0; n < length_; ++n) row[n] = reversed[length_ + block - n];
  }
  void add_up() {
    if (!to_) return;
    const Index width = to_.shape[1];
    for (Index b = 0; b < B_; ++b)
      for (Index h = 0; h < H_; ++h) {
        float* const to = out(to_) + (to_.shape[0] > 1 ? h * width : 0);
        for (Index n = 0; n < length_; ++n)
          to[n] += rows_[static_cast<std::size_t>((b * H_ + h) * length_ + n)];
      }
  }

 private:
  Out to_;
  Index B_, H_, length_;
  std::vector<float>& rows_;
};

}  // namespace pesuite::attention
