// Fetches the rows of a matrix that will be read next into the second-level cache, a few lines at a
// time, while tiles are multiplied that need no memory.
#pragma once

#include <algorithm>
#include <cstdint>

namespace pesuite {

class Ahead {
 public:
  using Index = std::int64_t;

  // Columns first .. last - 1 of `rows` rows of x [.., columns]. Two such parts at most.
  template <class X>
  void add(const X* x, Index columns, Index first, Index last, Index rows) {
    constexpr Index size = sizeof(X);
    last = std::min(last, columns);
    if (rows <= 0 || first >= last) return;
    parts_[count_++] = {reinterpret_cast<const char*>(x + first), columns * size,
                        (last - first) * size, rows};
    lines_ += rows * ((last - first) * size / line + 1);
  }
  // The lines are shared out among so many calls of fetch().
  void share(Index calls) { each_ = (lines_ + calls - 1) / std::max<Index>(1, calls); }
  void fetch() {
    for (Index i = 0; i < each_ && at_ < count_; ++i) {
      Part& p = parts_[at_];
      __builtin_prefetch(p.data + column_, 0, 2);
      if (column_ += line; column_ < p.width) continue;
      column_ = 0;
      p.data += p.stride;
      if (--p.rows == 0) ++at_;
    }
  }

 private:
  static constexpr Index line = 64;
  struct Part {
    const char* data;
    Index stride, width, rows;  // bytes, but for rows
  };
  Part parts_[2] = {};
  int count_ = 0, at_ = 0;
  Index column_ = 0, lines_ = 0, each_ = 0;
};

}  // namespace pesuite
