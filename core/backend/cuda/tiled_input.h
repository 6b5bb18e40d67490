// What the kernels of tiled attention read, forward and backward.
#pragma once

#include "backend/cuda/tiled_attention.h"
#include "backend/cuda/tiles.h"

namespace pesuite::cuda {

constexpr float log2_e = 1.44269504088896340736f;

PESUITE_HD inline float two_to(float x) {
#ifdef __CUDA_ARCH__
  float y;  // exp2f() also knows results below the smallest normal number, in four instructions
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return std::exp2(x);
#endif
}

PESUITE_HD inline float larger(float a, float b) {
#ifdef __CUDA_ARCH__
  return fmaxf(a, b);  // one instruction, where a comparison and a choice are two
#else
  return a < b ? b : a;
#endif
}

struct TiledInput {
  const Bf16 *q, *k, *v, *dy;
  const float* table;  // null, or [H or 1, N]
  int table_row, N;
  const float* keys;  // null, or a value for each key
  Index keys_example;
  int keys_head;
  float scale;
  int B, H, G, T, D, E;
  int window;  // distances from here on are not seen, a multiple of 64; there may be none

  // Row i of a head, counted in [B, heads, T].
  PESUITE_HD Index row(int b, int head, int heads, int i) const {
    return (Index{b} * heads + head) * T + i;
  }
  // Of a head.
  PESUITE_HD MatrixRows queries(int b, int h) const { return {q + row(b, h, H, 0) * D, D, T, D}; }
  PESUITE_HD MatrixRows keys_of(int b, int g) const { return {k + row(b, g, G, 0) * D, D, T, D}; }
  PESUITE_HD MatrixRows values(int b, int g) const { return {v + row(b, g, G, 0) * E, E, T, E}; }
  PESUITE_HD Index output(int b, int h, int i) const {  // of [B, T, H, E]
    return ((Index{b} * T + i) * H + h) * E;
  }
  // Of the tiles of keys that the i-th of queries sees.
  PESUITE_HD int first_tile(int i) const {
    const int before = window / tile_rows;
    return i > before ? i - before : 0;
  }
  // Of the queries, and of the keys, of which there is something beyond.
  PESUITE_HD int beyond() const { return T > window ? T - window : 0; }
  PESUITE_HD const float* table_of(int h) const { return table + Index{h} * table_row; }
  PESUITE_HD const float* key_values(int b, int h) const {
    return keys + b * keys_example + Index{h} * keys_head;
  }
};

// Neighbours, so that shared memory is read once for both.
struct alignas(8) Two {
  float x, y;
};
constexpr int slice_numbers = 128, float_bytes = static_cast<int>(sizeof(float));

// Two of the same: one is read while the other is filled.
template <class T>
struct Turns {
  T* data;
  int size;
  PESUITE_HD T* operator[](int n) const { return data + (n % 2) * size; }
};
template <class T>
PESUITE_HD Turns<T> two(Pieces& memory, int size) {
  return {memory.take<T>(2 * size), size};
}

inline Bf16* half(const Bindings& b, Slot s) {
  return static_cast<Bf16*>(b[s]);
}
inline float* fp32(const Bindings& b, Slot s) {
  return static_cast<float*>(b[s]);
}

constexpr int no_window = 1 << 30;  // of tiles

inline TiledInput input(const AttentionRequest& r, const Bindings& b, const AddedByDistance& d,
                        const AddedByKey& k, const Beyond& beyond) {
  const auto number = [](Index n) { return static_cast<int>(n); };
  TiledInput in{half(b, Slot::q),
                half(b, Slot::k),
                half(b, Slot::v),
                half(b, Slot::dy),
                d.table,
                d.rows > 1 ? number(d.N) : 0,
                number(d.N),
                k.bias,
                0,
                0,
                b.scale,
                number(r.B),
                number(r.H),
                number(r.G),
                number(r.T),
                number(r.D),
                number(r.E),
                beyond.window > 0 ? number(beyond.window) : no_window};
  if (k.bias != nullptr) {
    in.keys_example = k.shape[0] > 1 ? k.shape[1] * r.T : 0;
    in.keys_head = k.shape[1] > 1 ? in.T : 0;
  }
  return in;
}

}  // namespace pesuite::cuda
