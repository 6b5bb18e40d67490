// Numbers as they are stored: fp32, or bf16 where a View or Out says so. Kernels compute in fp32
// and are templates of what they read and write. fp16 is in copies for products and for cuDNN.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include "backend/backend.h"
#include "backend/cuda/block.h"

namespace pesuite::cuda {

using Bf16 = __nv_bfloat16;
using Fp16 = __half;
template <class T>
constexpr Storage stored_as = std::is_same_v<T, Bf16>   ? Storage::bf16
                              : std::is_same_v<T, Fp16> ? Storage::fp16
                                                        : Storage::own;

// A bug where numbers are read in another type than they are stored in.
void check_storage(bool is_read_so);

template <class T = float>
const T* in(View v) {
  check_storage(!v || v.storage == stored_as<T>);
  return static_cast<const T*>(v.data);
}

template <class T>
struct TargetOf {  // of an Out
  T* data = nullptr;
  bool add = false;
  PESUITE_HD void put(Index i, float value) const {
    data[i] = static_cast<T>(add ? static_cast<float>(data[i]) + value : value);
  }
};
using Target = TargetOf<float>;

#ifdef __CUDACC__
// Eight numbers that start at 16 bytes, at once.
__device__ inline void load_eight(float (&to)[8], const Bf16* from) {
  const uint4 raw = *reinterpret_cast<const uint4*>(from);
  const auto* const pairs = reinterpret_cast<const __nv_bfloat162*>(&raw);
  for (int k = 0; k < 4; ++k) {
    const float2 two = __bfloat1622float2(pairs[k]);
    to[2 * k] = two.x, to[2 * k + 1] = two.y;
  }
}
__device__ inline void load_eight(float (&to)[8], const float* from) {
  const auto* const fours = reinterpret_cast<const float4*>(from);
  for (int k = 0; k < 2; ++k) {
    const float4 four = fours[k];
    to[4 * k] = four.x, to[4 * k + 1] = four.y, to[4 * k + 2] = four.z, to[4 * k + 3] = four.w;
  }
}
__device__ inline void store_eight(Bf16* to, const float (&from)[8]) {
  uint4 raw;
  auto* const pairs = reinterpret_cast<__nv_bfloat162*>(&raw);
  for (int k = 0; k < 4; ++k)
    pairs[k] = __float22bfloat162_rn(make_float2(from[2 * k], from[2 * k + 1]));
  *reinterpret_cast<uint4*>(to) = raw;
}
__device__ inline void store_eight(Fp16* to, const float (&from)[8]) {
  uint4 raw;
  auto* const pairs = reinterpret_cast<__half2*>(&raw);
  for (int k = 0; k < 4; ++k)
    pairs[k] = __float22half2_rn(make_float2(from[2 * k], from[2 * k + 1]));
  *reinterpret_cast<uint4*>(to) = raw;
}
__device__ inline void store_eight(float* to, const float (&from)[8]) {
  auto* const fours = reinterpret_cast<float4*>(to);
  for (int k = 0; k < 2; ++k)
    fours[k] = make_float4(from[4 * k], from[4 * k + 1], from[4 * k + 2], from[4 * k + 3]);
}
#endif

// N numbers side by side: one, or eight that start at 16 bytes.
template <int N>
struct Some {
  float x[N];
};
template <int N, class T>
PESUITE_HD Some<N> some(const T* from) {
  Some<N> s;
#ifdef __CUDA_ARCH__
  if constexpr (N == 8)
    load_eight(s.x, from);
  else
#endif
    for (int k = 0; k < N; ++k) s.x[k] = static_cast<float>(from[k]);
  return s;
}
template <int N, class T>
PESUITE_HD void store(T* to, const Some<N>& s) {
#ifdef __CUDA_ARCH__
  if constexpr (N == 8)
    store_eight(to, s.x);
  else
#endif
    for (int k = 0; k < N; ++k) to[k] = static_cast<T>(s.x[k]);
}
template <int N, class T>
PESUITE_HD void put(const TargetOf<T>& y, Index at, Some<N> s) {
  if (y.add) {
    const Some<N> before = some<N>(y.data + at);
    for (int k = 0; k < N; ++k) s.x[k] += before.x[k];
  }
  store(y.data + at, s);
}
// Whether a device reads and writes it at its fastest: 16 bytes at a time.
inline bool starts_at_16_bytes(const void* x) {
  return reinterpret_cast<std::uintptr_t>(x) % 16 == 0;
}
template <int N>
struct Width {
  static constexpr int value = N;
};
// f(Width<8>) where rows of `width` numbers and all `memory` can be read by eights, else
// f(Width<1>).
template <class F>
void by_eights(Index width, std::initializer_list<const void*> memory, const F& f) {
  bool can = width % 8 == 0;
  for (const void* m : memory) can = can && starts_at_16_bytes(m);
  if (can)
    f(Width<8>{});
  else
    f(Width<1>{});
}
template <class T = float>
TargetOf<T> target(Out o) {
  check_storage(!o || o.storage == stored_as<T>);
  return {static_cast<T*>(o.data), o.add};
}

// f(a number of the type that is stored), of kernels that do not know fp16
template <class F>
void by_storage(Storage storage, const F& f) {
  check_storage(storage != Storage::fp16);
  if (storage == Storage::bf16)
    f(Bf16{});
  else
    f(float{});
}

// The same of the two types in 16 bits.
template <class F>
void by_half(Storage storage, const F& f) {
  if (storage == Storage::fp16)
    f(Fp16{});
  else
    f(Bf16{});
}
// What products round their inputs to: `own` where they do not.
inline Storage rounded_by(Precision p) {
  return p == Precision::bf16 ? Storage::bf16 : p == Precision::fp16 ? Storage::fp16 : Storage::own;
}

inline Index stored_bytes(Storage storage) {
  return storage == Storage::own ? Index{sizeof(float)} : Index{sizeof(Bf16)};
}
// Where number `i` stands.
inline const void* at(View v, Index i) {
  return static_cast<const char*>(v.data) + i * stored_bytes(v.storage);
}
inline void* at(Out o, Index i) {
  return static_cast<char*>(o.data) + i * stored_bytes(o.storage);
}

}  // namespace pesuite::cuda
