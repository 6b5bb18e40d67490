// Sums of tiles by the distance of row and column: the gradient of a table by distance.
#pragma once

#include "backend/cuda/tiles.h"

namespace pesuite::cuda {

// Sums along diagonals over a row of tiles [64, N], each N columns to the right of the one before.
// Every warp sums its own 16 rows: numbers at row - column = d from its first row and the tile's
// first column.
template <int N>
class Diagonals {
 public:
  PESUITE_HD Diagonals() {
    each_line([](int, int, float& x) { x = 0; });
  }
  // put(warp, d, sum) for 16 - N <= d < 16, to which no further tile adds. Those below wait for the
  // next tile, where they are d + N; behind a tile that reaches the diagonal they are 0.
  template <class F>
  PESUITE_HD void add(const Tile<N>& t, F put) {
#ifdef __CUDA_ARCH__
    // A thread first adds what lies 8 rows and columns apart.
    float own[lines - 1][2] = {};
#pragma unroll
    for (int n = 0; n < N / 8; ++n)
#pragma unroll
      for (int a = 0; a < 2; ++a)
#pragma unroll
        for (int e = 0; e < 2; ++e) own[a - n + N / 8 - 1][e] += t.x_[n][2 * a + e];
    // Within 8 x 8 numbers, that of row g and column 2 t + e goes to the thread of row
    // g - 2 t - e; below 0 it belongs to the line before, 8 rows on.
    const int row = own_lane() / 4, column = own_lane() % 4 * 2;
#pragma unroll
    for (int line = 0; line < lines - 1; ++line)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const int from = row + column + e;
        const float x = __shfl_sync(0xffffffffu, own[line][e], from % 8 * 4 + own_lane() % 4);
        sums_[line + 1] += from < 8 ? x : 0;
        sums_[line] += from < 8 ? 0 : x;
      }
#pragma unroll
    for (int line = 2; line < lines; ++line) {
      float x = sums_[line];
      x += __shfl_xor_sync(0xffffffffu, x, 1);
      x += __shfl_xor_sync(0xffffffffu, x, 2);
      if (line % 4 == own_lane() % 4) put(own_warp(), 8 * line - N + row, x);
    }
#else
    for (int r = 0; r < tile_rows; ++r)
      for (int c = 0; c < N; ++c) {
        const int d = r % 16 - c + N;
        sums_[r / 16][d % 8][d / 8] += t.x_[r][c];
      }
    each_line([&](int warp_row, int line, float& x) {
      if (line >= 2) put(warp_row / 8, 8 * line - N + warp_row % 8, x);
    });
#endif
    each_line([this](int warp_row, int line, float& x) {
      x = line >= lines - 2 ? at(warp_row, line - (lines - 2)) : x;
    });
    each_line([](int, int line, float& x) { x = line >= lines - 2 ? x : 0; });
  }

 private:
  static constexpr int lines = N / 8 + 2;  // of 8 diagonals: the first starts at d = -N
  // f(8 warp + row, line, sum)
  template <class F>
  PESUITE_HD void each_line(F f) {
#ifdef __CUDA_ARCH__
#pragma unroll
    for (int line = 0; line < lines; ++line) f(0, line, sums_[line]);
#else
    for (int row = 0; row < 4 * 8; ++row)
      for (int line = 0; line < lines; ++line) f(row, line, sums_[row / 8][row % 8][line]);
#endif
  }
  PESUITE_HD float at([[maybe_unused]] int warp_row, int line) const {
#ifdef __CUDA_ARCH__
    return sums_[line];
#else
    return sums_[warp_row / 8][warp_row % 8][line];
#endif
  }

#ifdef __CUDA_ARCH__
  float sums_[lines];  // of the row of its lane; four threads have parts
#else
  float sums_[4][8][lines];
#endif
};

}  // namespace pesuite::cuda
