// Where the elements of a shape lie in tensors that are stretched to it.
#pragma once

#include <array>
#include <cmath>

#include "backend/cuda/block.h"
#include "base/shape.h"

namespace pesuite::cuda {

// i / by and i % by; in 32 bits where they fit, which takes a device a quarter of the time.
PESUITE_HD inline Index divide(Index i, Index by, Index& rest) {
  if (((i | by) >> 32) == 0) {
    const auto a = static_cast<std::uint32_t>(i), b = static_cast<std::uint32_t>(by);
    rest = a % b;
    return a / b;
  }
  rest = i % by;
  return i / by;
}

// A divisor that many numbers have: a product in place of a division, exact below 2^32.
class Divisor {
 public:
  explicit Divisor(Index by)
      : by_(by), inverse_(~std::uint64_t{0} / static_cast<std::uint64_t>(by) + 1) {}
  PESUITE_HD Index divide(Index i, Index& rest) const {
    if (i >> 32 != 0) return cuda::divide(i, by_, rest);
    const auto n = static_cast<std::uint64_t>(i);
#ifdef __CUDA_ARCH__
    const std::uint64_t whole = __umul64hi(inverse_, n);
#else
    __extension__ using Wide = unsigned __int128;
    const auto whole = static_cast<std::uint64_t>(static_cast<Wide>(inverse_) * n >> 64);
#endif
    const Index quotient = by_ == 1 ? i : static_cast<Index>(whole);  // 2^64 has no room
    rest = i - quotient * by_;
    return quotient;
  }

 private:
  Index by_;
  std::uint64_t inverse_;  // of by_, times 2^64, rounded up
};

// The entry of `count` that a number stands for: the nearest one.
PESUITE_HD inline Index place_of(float index, Index count) {
  const Index i = std::llround(index);
  return i < 0 ? 0 : i >= count ? count - 1 : i;
}

// Offsets in K tensors of the element i of a row-major shape. Axes that follow each other in all of
// the tensors are one.
template <int K>
struct Walk {
  int rank = 0;
  Index extent[Shape::max_rank] = {};  // the innermost axis first
  Index stride[Shape::max_rank][K] = {};

  // Adds an axis around those that are there.
  void around(Index n, const std::array<Index, K>& strides) {
    if (n == 1) return;
    bool follows = rank > 0;
    for (int k = 0; k < K && follows; ++k)
      follows = strides[static_cast<std::size_t>(k)] == extent[rank - 1] * stride[rank - 1][k];
    if (follows) {
      extent[rank - 1] *= n;
      return;
    }
    extent[rank] = n;
    for (int k = 0; k < K; ++k) stride[rank][k] = strides[static_cast<std::size_t>(k)];
    ++rank;
  }
  Index count() const {
    Index n = 1;
    for (int i = 0; i < rank; ++i) n *= extent[i];
    return n;
  }
  PESUITE_HD void at(Index i, Index (&to)[K]) const {
    for (int k = 0; k < K; ++k) to[k] = 0;
    for (int axis = 0; axis < Shape::max_rank; ++axis) {
      if (axis >= rank) break;
      Index here = i;
      if (axis + 1 < rank) i = divide(i, extent[axis], here);
      for (int k = 0; k < K; ++k) to[k] += here * stride[axis][k];
    }
  }
};

// Over all of `full`; each tensor is stretched to it.
template <int K>
Walk<K> walk(const Shape& full, const std::array<Shape, K>& tensors) {
  std::array<Strides, K> s;
  for (std::size_t k = 0; k < K; ++k) s[k] = broadcast_strides(tensors[k], full);
  Walk<K> w;
  for (int axis = full.rank() - 1; axis >= 0; --axis) {
    std::array<Index, K> strides;
    for (std::size_t k = 0; k < K; ++k) strides[k] = s[k].s[axis];
    w.around(full[axis], strides);
  }
  return w;
}

// The same in two parts: over the axes that `small`, stretched to `full`, has itself, in its own
// row-major order, and over those along which it is repeated. Offsets add up.
template <int K>
struct Parts {
  Walk<K> own, repeated;
};
template <int K>
Parts<K> parts(const Shape& full, const Shape& small, const std::array<Shape, K>& tensors) {
  const Strides own = broadcast_strides(small, full);
  std::array<Strides, K> s;
  for (std::size_t k = 0; k < K; ++k) s[k] = broadcast_strides(tensors[k], full);
  Parts<K> p;
  for (int axis = full.rank() - 1; axis >= 0; --axis) {
    std::array<Index, K> strides;
    for (std::size_t k = 0; k < K; ++k) strides[k] = s[k].s[axis];
    (own.s[axis] != 0 ? p.own : p.repeated).around(full[axis], strides);
  }
  return p;
}

}  // namespace pesuite::cuda
