// Numbers as they are stored: fp32, or bf16 where a View or Out says so.
#pragma once

#include <bit>
#include <cstdint>

#include "backend/backend.h"

namespace pesuite {

struct Bf16 {
  std::uint16_t bits;
  operator float() const { return std::bit_cast<float>(std::uint32_t{bits} << 16); }
};
// To the nearest, ties to even; NaN stays NaN.
inline Bf16 round_to_bf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if (x != x) return {0x7fc0};
  return {static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}
inline void store(float& to, float x) {
  to = x;
}
inline void store(Bf16& to, float x) {
  to = round_to_bf16(x);
}

// f(pointer to the first number) with the type that is stored.
template <class F>
decltype(auto) as_stored(const void* data, Storage storage, F f) {
  return storage == Storage::bf16 ? f(static_cast<const Bf16*>(data))
                                  : f(static_cast<const float*>(data));
}
template <class F>
decltype(auto) as_stored(void* data, Storage storage, F f) {
  return storage == Storage::bf16 ? f(static_cast<Bf16*>(data)) : f(static_cast<float*>(data));
}

// Where number `i` stands.
inline std::int64_t stored_bytes(Storage storage) {
  return storage == Storage::bf16 ? sizeof(Bf16) : sizeof(float);
}
inline const void* at(View v, std::int64_t i) {
  return static_cast<const char*>(v.data) + i * stored_bytes(v.storage);
}
inline void* at(Out o, std::int64_t i) {
  return static_cast<char*>(o.data) + i * stored_bytes(o.storage);
}

}  // namespace pesuite
