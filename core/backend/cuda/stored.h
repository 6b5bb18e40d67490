// Numbers as they are stored: fp32, or bf16 where a View or Out says so. Kernels compute in fp32
// and are templates of what they read and write.
#pragma once

#include <cuda_bf16.h>

#include <type_traits>

#include "backend/backend.h"
#include "backend/cuda/block.h"

namespace pesuite::cuda {

using Bf16 = __nv_bfloat16;
template <class T>
constexpr Storage stored_as = std::is_same_v<T, Bf16> ? Storage::bf16 : Storage::own;

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
template <class T = float>
TargetOf<T> target(Out o) {
  check_storage(!o || o.storage == stored_as<T>);
  return {static_cast<T*>(o.data), o.add};
}

// f(a number of the type that is stored)
template <class F>
void by_storage(Storage storage, const F& f) {
  if (storage == Storage::bf16)
    f(Bf16{});
  else
    f(float{});
}

inline Index stored_bytes(Storage storage) {
  return storage == Storage::bf16 ? Index{sizeof(Bf16)} : Index{sizeof(float)};
}
// Where number `i` stands.
inline const void* at(View v, Index i) {
  return static_cast<const char*>(v.data) + i * stored_bytes(v.storage);
}
inline void* at(Out o, Index i) {
  return static_cast<char*>(o.data) + i * stored_bytes(o.storage);
}

}  // namespace pesuite::cuda
