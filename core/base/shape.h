// The extents of a tensor: up to four axes, row-major, the last axis fastest.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

namespace pesuite {

class Shape {
 public:
  static constexpr int max_rank = 4;

  Shape() = default;  // rank 0: one number
  Shape(std::initializer_list<std::int64_t> extents) {
    for (const std::int64_t e : extents) extent_[rank_++] = e;
  }
  static Shape of(int rank, const std::int64_t* extents) {
    Shape s;
    for (; s.rank_ < rank; ++s.rank_) s.extent_[s.rank_] = extents[s.rank_];
    return s;
  }

  int rank() const { return rank_; }
  std::vector<std::int64_t> extents() const { return {extent_, extent_ + rank_}; }
  // Negative axes count from the end; an axis in front of the first has extent 1.
  std::int64_t operator[](int axis) const {
    const int i = axis < 0 ? axis + rank_ : axis;
    return i < 0 ? 1 : extent_[i];
  }
  std::int64_t& at(int axis) { return extent_[axis < 0 ? axis + rank_ : axis]; }
  const std::int64_t* data() const { return extent_; }

  std::int64_t count() const { return span(0, rank_); }
  // Product of the extents of axes first .. last-1.
  std::int64_t span(int first, int last) const {
    std::int64_t n = 1;
    for (int i = first; i < last; ++i) n *= extent_[i];
    return n;
  }

  std::string text() const {
    std::string out = "[";
    for (int i = 0; i < rank_; ++i) out += (i > 0 ? ", " : "") + std::to_string(extent_[i]);
    return out + "]";
  }

  friend bool operator==(const Shape& a, const Shape& b) {
    if (a.rank_ != b.rank_) return false;
    for (int i = 0; i < a.rank_; ++i)
      if (a.extent_[i] != b.extent_[i]) return false;
    return true;
  }

 private:
  int rank_ = 0;
  std::int64_t extent_[max_rank] = {};
};

// Numpy's rule: axes aligned at the right, an extent of 1 stretches. Empty if they disagree.
inline std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
  const Shape& longer = a.rank() >= b.rank() ? a : b;
  Shape out = longer;
  for (int i = 1; i <= longer.rank(); ++i) {
    if (a[-i] != b[-i] && a[-i] != 1 && b[-i] != 1) return std::nullopt;
    out.at(-i) = a[-i] == 1 ? b[-i] : a[-i];
  }
  return out;
}

// Element strides of `x` when it is stretched to `to`: 0 along stretched and missing axes.
struct Strides {
  std::int64_t s[Shape::max_rank] = {};
};
inline Strides broadcast_strides(const Shape& x, const Shape& to) {
  Strides out;
  std::int64_t stride = 1;
  for (int i = 1; i <= x.rank(); ++i) {
    if (x[-i] != 1) out.s[to.rank() - i] = stride;
    stride *= x[-i];
  }
  return out;
}

}  // namespace pesuite
