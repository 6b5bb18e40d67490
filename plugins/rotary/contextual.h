// Turns q and k by angles that depend on the tokens, not on their places alone.
#pragma once

#include "rotary.h"

namespace rotary {

// What a key's head has, for each of the query heads that share it: [B, G, T, n] -> [B, H, T, n].
// One head of [.., 1, T, n] is left to broadcast.
inline pes::Tensor for_queries(const pes::Step& s, pes::Tensor x, std::int64_t heads) {
  const std::int64_t B = x.extent(0), G = x.extent(1), T = x.extent(2), n = x.extent(3);
  if (G == heads || G == 1) return x;
  const pes::Tensor copies = s.table({1, heads / G, 1}, [](auto, auto) { return 0.0; });
  return reshape(reshape(x, {B * G, 1, T * n}) + copies, {B, heads, T, n});
}

// angles [B or 1, G or 1, T, R/2], in radians. Keys that serve several heads turn once, so that
// the queries of all of them have to turn as they do.
inline void turn(const pes::Step& s, pes::Attention& a, pes::Tensor angles, pes_pairs pairs) {
  const pes::Tensor cos = pes::cos(angles), sin = pes::sin(angles);
  const std::int64_t heads = a.q.extent(1);
  a.q = rotate(a.q, for_queries(s, cos, heads), for_queries(s, sin, heads), pairs);
  a.k = rotate(a.k, cos, sin, pairs);
}

// x [B, T, W] times a layer's matrix [W, n] of p [layers, W, n].
inline pes::Tensor project(const pes::Step& s, int layer, pes::Tensor x, pes::Param p) {
  return matmul(x, slice(s[p], 0, layer, 1));
}

// [B, T, G n] -> [B, G, T, n]
inline pes::Tensor by_head(pes::Tensor x, std::int64_t G) {
  const std::int64_t B = x.extent(0), T = x.extent(1), n = x.extent(2) / G;
  return permute(reshape(x, {B, T, G, n}), {0, 2, 1, 3});
}

// theta_r = base^(-2r/R) as [1, R/2].
inline pes::Tensor frequencies(const pes::Step& s, double base, std::int64_t R) {
  const std::vector<double> theta = powers(base, R);
  return s.upload({1, R / 2}, theta.data());
}

}  // namespace rotary
