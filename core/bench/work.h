// What an op has to do at least: each number that it is given read once and each that it makes
// written once, and the arithmetic of its products. With the rates of a device that is a time below
// which the op cannot go, whatever its kernels.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include "backend/backend.h"

namespace pesuite::bench {

struct Work {
  double bytes = 0, flops = 0;
  Work& operator+=(const Work& w) {
    bytes += w.bytes, flops += w.flops;
    return *this;
  }
};

// Of a machine: as measured, or as its maker publishes them.
struct Rates {
  std::string of;
  double bytes = 0, flops = 0;  // a second; of products in the wanted precision
  double start = 0;             // seconds that any op takes, however small
  double seconds(const Work& w) const {
    return std::max({w.bytes / bytes, w.flops / flops, start});
  }
};
// Published figures of "h100" and others. Error (usage) with the names there are.
Rates published_rates(const std::string& device, Precision);

// Bytes of whatever an op is given. `size`: of a number of the backend's own.
class Bytes {
 public:
  explicit Bytes(std::size_t size) : size_(static_cast<double>(size)) {}
  template <class... All>
  double operator()(const All&... all) const {
    return (0.0 + ... + of(all));
  }

 private:
  template <class T>
  double of(const T&) const {
    return 0;  // a setting, or tokens: few
  }
  double of(const View& v) const { return v ? count(v.shape, v.storage) : 0; }
  double of(const Out& o) const { return o ? count(o.shape, o.storage) * (o.add ? 2 : 1) : 0; }
  double of(const Turn& t) const { return of(t.cos) + of(t.sin); }
  double of(const TwoLayers& m) const { return (*this)(m.w2, m.b2, m.w1, m.b1, m.x); }
  double of(const TwoLayerGradients& g) const { return (*this)(g.w2, g.b2, g.w1, g.b1, g.x); }
  double of(const AttentionInput& a) const { return (*this)(a.q, a.k, a.v, a.distance, a.bias); }
  double of(const std::span<const Update>& all) const {
    double sum = 0;
    for (const Update& u : all) sum += 2 * (*this)(u.value, u.m, u.v) + of(u.grad);
    return sum;
  }
  double count(const Shape& s, Storage storage) const {
    return static_cast<double>(s.count()) * (storage == Storage::bf16 ? 2 : size_);
  }

  double size_;
};

// Arithmetic of products; everything else is little beside what it reads.
inline double product_flops(const Shape& c, std::int64_t inner) {
  return 2 * static_cast<double>(c.count()) * static_cast<double>(inner);
}
inline double linear_flops(const View& x, const View& w) {
  return product_flops(x.shape, w.shape[0]);
}
inline double two_layer_flops(const TwoLayers& m) {
  const double columns =
      static_cast<double>(m.x.shape.count()) / static_cast<double>(m.x.shape[-2]);
  return 2 * columns * (static_cast<double>(m.w1.shape[-1]) + static_cast<double>(m.w2.shape[-2])) *
         static_cast<double>(m.w1.shape[-2]);
}
// Pairs of a query and a key that it sees, in all heads.
inline double seen_pairs(std::int64_t heads, std::int64_t queries, std::int64_t first,
                         std::int64_t keys) {
  double pairs = 0;
  for (std::int64_t i = 0; i < queries; ++i)
    pairs += static_cast<double>(std::min(keys, first + i + 1));
  return pairs * static_cast<double>(heads);
}
// Of `by_d` products over the head size of q and k, and `by_e` over that of v.
inline double attention_flops(const AttentionInput& a, int by_d, int by_e) {
  return 2 * seen_pairs(a.q.shape[0] * a.q.shape[1], a.own_rows(), a.first + a.row, a.k.shape[2]) *
         static_cast<double>(by_d * a.q.shape[3] + by_e * a.v.shape[3]);
}
inline double classify_flops(const View& h, const View& w, const Out& dh, const Out& dw) {
  return product_flops(h.shape, w.shape[0]) * (1 + (dh ? 1 : 0) + (dw ? 1 : 0));
}

}  // namespace pesuite::bench
