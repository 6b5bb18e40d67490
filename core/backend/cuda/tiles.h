// Tiles of numbers that a block of four warps computes on tensor cores: products of bf16 with sums
// in fp32 (mma.sync m16n8k16, sm_80 and later). On a device a thread has its part of a tile in
// registers. On the host a tile is all of its numbers, so that kernels are tested there.
//
// What stands in shared memory has rows of `size` numbers, `pitch_of(size)` apart: 16 bytes more,
// so that eight rows lie in different banks.
#pragma once

#include <cuda_bf16.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "backend/cuda/stored.h"

namespace pesuite::cuda {

constexpr int tile_rows = 64, tile_threads = 128;  // each warp has 16 rows
constexpr Index tiles_of(Index T) {
  return (T + tile_rows - 1) / tile_rows;
}
constexpr int pitch_of(int size) {
  return size + 8;
}
// f(Width<n>) with the smallest n of 32, 64 and 128 that is no less than `size`.
template <class F>
void by_size(Index size, const F& f) {
  if (size <= 32) return f(Width<32>{});
  if (size <= 64) return f(Width<64>{});
  f(Width<128>{});
}

#ifdef __CUDA_ARCH__
__device__ inline unsigned shared_address(const void* at) {
  return static_cast<unsigned>(__cvta_generic_to_shared(at));
}
__device__ inline int own_lane() {
  return static_cast<int>(threadIdx.x) % warp_threads;
}
__device__ inline int own_warp() {
  return static_cast<int>(threadIdx.x) / warp_threads;
}
// Four 8 x 8 matrices; lane l gives where row l % 8 of matrix l / 8 starts.
__device__ inline void load_matrices(unsigned (&to)[4], const Bf16* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(row))
               : "memory");
}
__device__ inline void load_transposed(unsigned (&to)[4], const Bf16* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(row))
               : "memory");
}
__device__ inline void multiply_add(float (&c)[4], const unsigned (&a)[4], unsigned b0,
                                    unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ inline unsigned transposed_matrix(unsigned x) {  // 8 x 8
  unsigned y;
  asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(y) : "r"(x));
  return y;
}
__device__ inline unsigned two_as_bf16(float first, float second) {
  const __nv_bfloat162 two = __float22bfloat162_rn(make_float2(first, second));
  unsigned word;
  memcpy(&word, &two, sizeof word);
  return word;
}
#endif

// Two neighbours, at an address that is a multiple of theirs.
PESUITE_HD inline void put_two(Bf16* to, float first, float second) {
#ifdef __CUDA_ARCH__
  *reinterpret_cast<unsigned*>(to) = two_as_bf16(first, second);
#else
  to[0] = Bf16(first), to[1] = Bf16(second);
#endif
}

// What a thread sees of a row: its number, and where RowValues has it.
struct TileRow {
  int row, own;
};

// A number for each of the 64 rows. All four threads of a row have it.
class RowValues {
 public:
  PESUITE_HD float& operator[](TileRow r) { return x_[r.own]; }
  PESUITE_HD float operator[](TileRow r) const { return x_[r.own]; }
  // f(row, value)
  template <class F>
  PESUITE_HD void each(F f) {
#ifdef __CUDA_ARCH__
#pragma unroll
    for (int a = 0; a < 2; ++a) f(TileRow{16 * own_warp() + own_lane() / 4 + 8 * a, a}, x_[a]);
#else
    for (int r = 0; r < tile_rows; ++r) f(TileRow{r, r}, x_[r]);
#endif
  }
  // The same once a row, for what leaves the block.
  template <class F>
  PESUITE_HD void once(F f) {
    each([&](TileRow r, float& x) {
#ifdef __CUDA_ARCH__
      if (own_lane() % 4 != 0) return;
#endif
      f(r.row, x);
    });
  }
  // f(row, value, part, parts): a thread for each part of a row.
  template <class F>
  PESUITE_HD void by_parts(F f) {
#ifdef __CUDA_ARCH__
    each([&](TileRow r, float& x) { f(r, x, own_lane() % 4, 4); });
#else
    each([&](TileRow r, float& x) { f(r, x, 0, 1); });
#endif
  }
  // Where each thread has a part of a row's number: all of it, in a fixed order.
  template <class Combine>
  PESUITE_HD void combine([[maybe_unused]] Combine with) {
#ifdef __CUDA_ARCH__
#pragma unroll
    for (int a = 0; a < 2; ++a)
#pragma unroll
      for (int by = 1; by < 4; by *= 2)
        x_[a] = with(x_[a], __shfl_xor_sync(0xffffffffu, x_[a], by));
#endif
  }

 private:
#ifdef __CUDA_ARCH__
  float x_[2];
#else
  float x_[tile_rows];
#endif
};

// [64, N] sums in fp32.
template <int N>
class Tile {
 public:
  PESUITE_HD Tile() {
    each([](TileRow, int, float& x) { x = 0; });
  }
  // f(row, column, number)
  template <class F>
  PESUITE_HD void each(F f) {
#ifdef __CUDA_ARCH__
#pragma unroll
    for (int n = 0; n < N / 8; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e)
        f(TileRow{16 * own_warp() + own_lane() / 4 + 8 * (e / 2), e / 2},
          8 * n + 2 * (own_lane() % 4) + e % 2, x_[n][e]);
#else
    for (int r = 0; r < tile_rows; ++r)
      for (int c = 0; c < N; ++c) f(TileRow{r, r}, c, x_[r][c]);
#endif
  }
  // f(row, column, number, the other tile's)
  template <class F>
  PESUITE_HD void each_with(const Tile& other, F f) {
#ifdef __CUDA_ARCH__
#pragma unroll
    for (int n = 0; n < N / 8; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e)
        f(TileRow{16 * own_warp() + own_lane() / 4 + 8 * (e / 2), e / 2},
          8 * n + 2 * (own_lane() % 4) + e % 2, x_[n][e], other.x_[n][e]);
#else
    for (int r = 0; r < tile_rows; ++r)
      for (int c = 0; c < N; ++c) f(TileRow{r, r}, c, x_[r][c], other.x_[r][c]);
#endif
  }
  // f(row, column, number, that of the next column); the column is even
  template <class F>
  PESUITE_HD void pairs(F f) {
#ifdef __CUDA_ARCH__
#pragma unroll
    for (int n = 0; n < N / 8; ++n)
#pragma unroll
      for (int a = 0; a < 2; ++a)
        f(TileRow{16 * own_warp() + own_lane() / 4 + 8 * a, a}, 8 * n + 2 * (own_lane() % 4),
          x_[n][2 * a], x_[n][2 * a + 1]);
#else
    for (int r = 0; r < tile_rows; ++r)
      for (int c = 0; c < N; c += 2) f(TileRow{r, r}, c, x_[r][c], x_[r][c + 1]);
#endif
  }

#ifdef __CUDA_ARCH__
  float x_[N / 8][4];  // of row and column as each() says
#else
  float x_[tile_rows][N];
#endif
};

// What a kernel leaves to another of a tile: blocks of 16 x 16 numbers, those of 16 columns one after
// the other. A thread of a warp has eight numbers of a block side by side.
constexpr int block_side = 16, block_numbers = block_side * block_side;
constexpr int blocks_down = tile_rows / block_side;

// [64, K] in bf16, as the left factor of a product: rounded sums.
template <int K>
class Rounded {
 public:
  PESUITE_HD explicit Rounded(const Tile<K>& t) {
#ifdef __CUDA_ARCH__
#pragma unroll
    for (int k = 0; k < K / 16; ++k)
#pragma unroll
      for (int a = 0; a < 4; ++a)
        x_[k][a] =
            two_as_bf16(t.x_[2 * k + a / 2][2 * (a % 2)], t.x_[2 * k + a / 2][2 * (a % 2) + 1]);
#else
    for (int r = 0; r < tile_rows; ++r)
      for (int k = 0; k < K; ++k) x_[r][k] = Bf16(t.x_[r][k]);
#endif
  }
  PESUITE_HD void write_blocks(Bf16* to) const {
#ifdef __CUDA_ARCH__
    to += own_warp() * block_numbers + 8 * own_lane();
#pragma unroll
    for (int k = 0; k < K / block_side; ++k)
      *reinterpret_cast<uint4*>(to + k * blocks_down * block_numbers) =
          make_uint4(x_[k][0], x_[k][1], x_[k][2], x_[k][3]);
#else
    for (int r = 0; r < tile_rows; ++r)
      for (int k = 0; k < K; ++k)
        to[block(r, k) * block_numbers + r % block_side * block_side + k % block_side] = x_[r][k];
#endif
  }
  // Of the transposed of the [64, 64] that were written.
  static PESUITE_HD Rounded transposed(const Bf16* from) {
    static_assert(K == tile_rows);
    Rounded y;
#ifdef __CUDA_ARCH__
    from += own_warp() * blocks_down * block_numbers + 8 * own_lane();
#pragma unroll
    for (int k = 0; k < K / block_side; ++k) {
      const uint4 x = *reinterpret_cast<const uint4*>(from + k * block_numbers);
      const unsigned by_quarter[] = {x.x, x.z, x.y, x.w};  // of 8 x 8: above the diagonal and below
#pragma unroll
      for (int a = 0; a < 4; ++a) y.x_[k][a] = transposed_matrix(by_quarter[a]);
    }
#else
    for (int r = 0; r < tile_rows; ++r)
      for (int k = 0; k < K; ++k)
        y.x_[r][k] =
            from[block(k, r) * block_numbers + k % block_side * block_side + r % block_side];
#endif
    return y;
  }
  PESUITE_HD Tile<K> widened() const {
    Tile<K> y;
#ifdef __CUDA_ARCH__
#pragma unroll
    for (int k = 0; k < K / 16; ++k)
#pragma unroll
      for (int a = 0; a < 4; ++a) {
        float* const two = &y.x_[2 * k + a / 2][2 * (a % 2)];
        two[0] = __uint_as_float(x_[k][a] << 16), two[1] = __uint_as_float(x_[k][a] & 0xffff0000u);
      }
#else
    for (int r = 0; r < tile_rows; ++r)
      for (int k = 0; k < K; ++k) y.x_[r][k] = static_cast<float>(x_[r][k]);
#endif
    return y;
  }

#ifdef __CUDA_ARCH__
  unsigned x_[K / 16][4];
#else
  Bf16 x_[tile_rows][K];
#endif

 private:
  Rounded() = default;
  static constexpr int block(int row, int column) {
    return column / block_side * blocks_down + row / block_side;
  }
};

// The same of what stands in shared memory, which must stay there.
template <int K>
class Held {
 public:
  PESUITE_HD explicit Held(const Bf16* x) {
#ifdef __CUDA_ARCH__
    x += (16 * own_warp() + own_lane() % 16) * pitch_of(K) + own_lane() / 16 * 8;
#pragma unroll
    for (int k = 0; k < K / 16; ++k) load_matrices(x_[k], x + 16 * k);
#else
    x_ = x;
#endif
  }
#ifdef __CUDA_ARCH__
  unsigned x_[K / 16][4];
#else
  const Bf16* x_;
#endif
};

// sum [64, N] += x y^T, of x [64, K] and y [N, K] in shared memory.
template <int K, int N>
PESUITE_HD void add_product_of_rows(Tile<N>& sum, const Bf16* x, const Bf16* y) {
  constexpr int pitch = pitch_of(K);
#ifdef __CUDA_ARCH__
  const int lane = own_lane();
  x += (16 * own_warp() + lane % 16) * pitch + lane / 16 * 8;
  y += (lane / 16 * 8 + lane % 8) * pitch + lane / 8 % 2 * 8;
#pragma unroll
  for (int k = 0; k < K / 16; ++k) {
    unsigned a[4];
    load_matrices(a, x + 16 * k);
#pragma unroll
    for (int n = 0; n < N / 16; ++n) {
      unsigned b[4];
      load_matrices(b, y + 16 * n * pitch + 16 * k);
      multiply_add(sum.x_[2 * n], a, b[0], b[1]);
      multiply_add(sum.x_[2 * n + 1], a, b[2], b[3]);
    }
  }
#else
  for (int r = 0; r < tile_rows; ++r)
    for (int n = 0; n < N; ++n)
      for (int k = 0; k < K; ++k)
        sum.x_[r][n] += static_cast<float>(x[r * pitch + k]) * static_cast<float>(y[n * pitch + k]);
#endif
}

template <int K, int N>
PESUITE_HD void add_product_of_rows(Tile<N>& sum, const Held<K>& x, const Bf16* y) {
#ifdef __CUDA_ARCH__
  y += (own_lane() / 16 * 8 + own_lane() % 8) * pitch_of(K) + own_lane() / 8 % 2 * 8;
#pragma unroll
  for (int k = 0; k < K / 16; ++k)
#pragma unroll
    for (int n = 0; n < N / 16; ++n) {
      unsigned b[4];
      load_matrices(b, y + 16 * n * pitch_of(K) + 16 * k);
      multiply_add(sum.x_[2 * n], x.x_[k], b[0], b[1]);
      multiply_add(sum.x_[2 * n + 1], x.x_[k], b[2], b[3]);
    }
#else
  add_product_of_rows<K>(sum, x.x_, y);
#endif
}

// sum [64, N] += x y, of y [K, N] in shared memory.
template <int K, int N>
PESUITE_HD void add_product(Tile<N>& sum, const Rounded<K>& x, const Bf16* y) {
  constexpr int pitch = pitch_of(N);
#ifdef __CUDA_ARCH__
  const int lane = own_lane();
  y += (lane / 8 % 2 * 8 + lane % 8) * pitch + lane / 16 * 8;
#pragma unroll
  for (int k = 0; k < K / 16; ++k)
#pragma unroll
    for (int n = 0; n < N / 16; ++n) {
      unsigned b[4];
      load_transposed(b, y + 16 * k * pitch + 16 * n);
      multiply_add(sum.x_[2 * n], x.x_[k], b[0], b[1]);
      multiply_add(sum.x_[2 * n + 1], x.x_[k], b[2], b[3]);
    }
#else
  for (int r = 0; r < tile_rows; ++r)
    for (int n = 0; n < N; ++n)
      for (int k = 0; k < K; ++k)
        sum.x_[r][n] += static_cast<float>(x.x_[r][k]) * static_cast<float>(y[k * pitch + n]);
#endif
}

// Copies to shared memory that are under way while the block computes: begun in groups, waited for
// by finish_all_but(). Bytes that are not there are zeros.
template <int bytes>
PESUITE_HD void begin_copy(void* to, const void* from, bool is_there) {
#ifdef __CUDA_ARCH__
  const int there = is_there ? bytes : 0;
  if constexpr (bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)),
                 "l"(from), "r"(there)
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared_address(to)),
                 "l"(from), "n"(bytes), "r"(there)
                 : "memory");
#else
  if (is_there)
    std::memcpy(to, from, bytes);
  else
    std::memset(to, 0, bytes);
#endif
}
#ifdef __CUDA_ARCH__
__device__ inline void begin_eight(unsigned to, const Bf16* from) {  // `to` in shared memory
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
#endif
PESUITE_HD inline void end_group() {
#ifdef __CUDA_ARCH__
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
// All groups but the latest `n` are there, and all threads have come so far.
template <int n>
PESUITE_HD void finish_all_but() {
#ifdef __CUDA_ARCH__
  asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory");
  __syncthreads();
#endif
}
PESUITE_HD inline void meet() {
#ifdef __CUDA_ARCH__
  __syncthreads();
#endif
}

// Shared memory, a piece after the other.
class Pieces {
 public:
  PESUITE_HD explicit Pieces(unsigned char* memory) : next_(memory) {}
  template <class T>
  PESUITE_HD T* take(int count) {
    T* const piece = reinterpret_cast<T*>(next_);
    next_ += count * static_cast<int>(sizeof(T));
    return piece;
  }

 private:
  unsigned char* next_;
};
constexpr int bf16_bytes(int rows, int size) {
  return rows * pitch_of(size) * static_cast<int>(sizeof(Bf16));
}

struct MatrixRows {  // in memory: `count` rows, `size` numbers of each, a multiple of 8
  const Bf16* data;
  int stride, count, size;
  PESUITE_HD MatrixRows from(int row) const {
    return {data + static_cast<Index>(row) * stride, stride, count - row, size};
  }
};
// [rows, size] to shared memory, zeros where x has less.
template <int rows, int size>
PESUITE_HD void begin_rows([[maybe_unused]] Block& block, Bf16* to, const MatrixRows& x) {
  constexpr int eights = size / 8;
  const auto copy = [&](int row, int column, const Bf16* from) {
    const bool there = row < x.count && column < x.size;
    begin_copy<16>(to + row * pitch_of(size) + column, there ? from : x.data, there);
  };
#ifdef __CUDA_ARCH__
  // A thread stays in its column, so that a row costs it a few additions.
  constexpr int step = tile_threads / eights;
  static_assert(rows % step == 0);
  const int own = static_cast<int>(threadIdx.x), column = own % eights * 8;
  const Bf16* from = x.data + own / eights * x.stride + column;
  if (x.count >= rows && x.size == size) {
    const unsigned at = shared_address(to + own / eights * pitch_of(size) + column);
#pragma unroll
    for (int n = 0; n < rows / step; ++n, from += step * x.stride)
      begin_eight(at + n * step * pitch_of(size) * static_cast<int>(sizeof(Bf16)), from);
    return;
  }
#pragma unroll 1
  for (int row = own / eights; row < rows; row += step, from += step * x.stride)
    copy(row, column, from);
#else
  block.all(rows * eights, [&](int i) {
    copy(i / eights, i % eights * 8, x.data + i / eights * x.stride + i % eights * 8);
  });
#endif
}
// Numbers as they stand in memory.
template <int numbers>
PESUITE_HD void begin_all([[maybe_unused]] Block& block, Bf16* to, const Bf16* from) {
  constexpr int step = 8 * tile_threads;
  static_assert(numbers % step == 0);
#ifdef __CUDA_ARCH__
  const int own = 8 * static_cast<int>(threadIdx.x);
  const unsigned at = shared_address(to + own);
#pragma unroll
  for (int n = 0; n < numbers; n += step)
    begin_eight(at + n * static_cast<int>(sizeof(Bf16)), from + own + n);
#else
  block.all(numbers / 8, [&](int i) { begin_copy<16>(to + 8 * i, from + 8 * i, true); });
#endif
}
// to[line, i] = from[line * stride + first + i] for i < count, 0 where first + i is outside of
// [0 .. end).
template <int lines, int count>
PESUITE_HD void begin_numbers(Block& block, float* to, const float* from, Index stride, int first,
                              int end) {
  static_assert(lines * count <= tile_threads);
  block.all(lines * count, [&](int i) {
    const int at = first + i % count;
    const bool there = at >= 0 && at < end;
    begin_copy<4>(to + i, there ? from + i / count * stride + at : from, there);
  });
}

}  // namespace pesuite::cuda
