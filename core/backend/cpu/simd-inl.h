// Vector mathematics shared by the kernels, compiled once for each instruction set.
#if defined(PESUITE_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PESUITE_SIMD_INL_H_
#undef PESUITE_SIMD_INL_H_
#else
#define PESUITE_SIMD_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "backend/cpu/stored.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "pesuite/random.hpp"

HWY_BEFORE_NAMESPACE();
namespace pesuite::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// At most 16 lanes, so that blocks of 64 are a whole number of vectors everywhere.
using F32 = hn::CappedTag<float, 16>;
using V32 = hn::Vec<F32>;

// x rounded to a whole number n, ties to even, for |x| < 2^22: n, and n as an integer whose upper
// bits are not its own. Adding 1.5 * 2^23 leaves no place for a fraction; a conversion to integers
// would take care of numbers that are out of their range.
struct Whole {
  V32 n;
  hn::Vec<hn::RebindToSigned<F32>> bits;
};
HWY_INLINE Whole RoundToWhole(F32 d, V32 x) {
  const V32 shift = hn::Set(d, 12582912.0f), sum = hn::Add(x, shift);
  return {hn::Sub(sum, shift), hn::BitCast(hn::RebindToSigned<F32>(), sum)};
}

// e^x, 2 ulp, for x in [-87.3, 88.3].
HWY_INLINE V32 ExpInRange(F32 d, V32 x) {
  const hn::RebindToSigned<F32> di;
  // n = round(x / ln 2), e^x = 2^n e^r with |r| <= ln 2 / 2; ln 2 in two parts keeps r exact
  const Whole whole = RoundToWhole(d, hn::Mul(x, hn::Set(d, 1.44269504088896341f)));
  V32 r = hn::NegMulAdd(whole.n, hn::Set(d, 0.693359375f), x);
  r = hn::NegMulAdd(whole.n, hn::Set(d, -2.12194440e-4f), r);
  V32 p = hn::Set(d, 0.001381459679972153f);  // (e^r - 1 - r) / r^2, minimax, error 3e-9
  p = hn::MulAdd(p, r, hn::Set(d, 0.008368717525946732f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.041668388117730326f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.16666520625856046f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.4999999344736334f));
  p = hn::Add(hn::MulAdd(p, hn::Mul(r, r), r), hn::Set(d, 1.0f));
  const auto exponent = hn::ShiftLeft<23>(hn::Add(whole.bits, hn::Set(di, 127)));
  return hn::Mul(p, hn::BitCast(d, exponent));
}

// The same for x up to 88.3, 0 below; NaN stays NaN.
HWY_INLINE V32 ExpUpToRange(F32 d, V32 x) {
  return hn::IfThenElse(hn::Lt(x, hn::Set(d, -87.33654f)), hn::Zero(d), ExpInRange(d, x));
}

// e^x, 2 ulp for |result| in [2^-126, 2^127]; below that 0, above infinity, NaN stays NaN.
HWY_INLINE V32 Exp(F32 d, V32 x) {
  V32 y = ExpUpToRange(d, x);
  y = hn::IfThenElse(hn::Gt(x, hn::Set(d, 88.37626f)), hn::Inf(d), y);
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

// 1 / (1 + e^-x), relative error below 4e-7 for x >= -87.336, where it stops to fall. NaN stays
// NaN: what it is compared with stands first.
HWY_INLINE V32 Sigmoid(F32 d, V32 x) {
  const V32 one = hn::Set(d, 1.0f), most = hn::Set(d, 87.336f), least = hn::Set(d, -87.336f);
  const V32 e = ExpInRange(d, hn::Min(most, hn::Max(least, hn::Neg(x))));
  const V32 y = hn::Add(one, e);
#if HWY_TARGET <= HWY_AVX3  // whose reciprocals have 14 bits: one step of Newton's makes all
  const V32 r = hn::ApproximateReciprocal(y);
  return hn::Mul(r, hn::NegMulAdd(y, r, hn::Set(d, 2.0f)));
#else
  return hn::Div(one, y);
#endif
}

// ln x, 2 ulp for normal x > 0; -inf for 0 and below the normal numbers, NaN for x < 0.
HWY_INLINE V32 Log(F32 d, V32 x) {
  const hn::RebindToSigned<F32> di;
  // x = 2^n m with m in [sqrt 1/2, sqrt 2): the exponent is counted from sqrt 1/2
  const auto bits = hn::BitCast(di, x), shifted = hn::Sub(bits, hn::Set(di, 0x3f3504f3));
  const V32 n = hn::ConvertTo(d, hn::ShiftRight<23>(shifted));
  const auto mantissa = hn::Add(hn::And(shifted, hn::Set(di, 0x007fffff)), hn::Set(di, 0x3f3504f3));
  // ln m = 2 artanh s = 2 s + s^3 p(s^2), s = (m - 1) / (m + 1)
  const V32 f = hn::Sub(hn::BitCast(d, mantissa), hn::Set(d, 1.0f));
  const V32 s = hn::Div(f, hn::Add(f, hn::Set(d, 2.0f))), z = hn::Mul(s, s);
  V32 p = hn::Set(d, 0.2358225411f);  // minimax, error of ln m 1e-11
  p = hn::MulAdd(p, z, hn::Set(d, 0.2853730378f));
  p = hn::MulAdd(p, z, hn::Set(d, 0.4000033525f));
  p = hn::MulAdd(p, z, hn::Set(d, 0.6666666565f));
  // f - s f + s^3 p: the large part f is exact
  V32 y = hn::Mul(s, hn::Sub(hn::Mul(z, p), f));
  y = hn::MulAdd(n, hn::Set(d, -2.12194440e-4f), y);  // ln 2 in two parts, as in Exp
  y = hn::MulAdd(n, hn::Set(d, 0.693359375f), hn::Add(y, f));
  y = hn::IfThenElse(hn::Lt(x, hn::Set(d, 1.17549435e-38f)), hn::Neg(hn::Inf(d)), y);
  y = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::NaN(d), y);
  return hn::IfThenElse(hn::Lt(x, hn::Inf(d)), y, x);  // infinity and NaN are their own
}

// ln(1 + x) for x >= 0, relative error below 3e-7: the rounding of 1 + x is corrected to first
// order.
HWY_INLINE V32 Log1p(F32 d, V32 x) {
  const V32 one = hn::Set(d, 1.0f), u = hn::Add(one, x), lost = hn::Sub(x, hn::Sub(u, one));
  return hn::IfThenElse(hn::Lt(x, hn::Inf(d)), hn::Add(Log(d, u), hn::Div(lost, u)), x);
}

// ln(1 + e^x)
HWY_INLINE V32 Softplus(F32 d, V32 x) {
  return hn::Add(Log1p(d, Exp(d, hn::Neg(hn::Abs(x)))), hn::Max(x, hn::Zero(d)));
}

// (e^x - e^-x) / (e^x + e^-x), relative error below 1e-6
HWY_INLINE V32 Tanh(F32 d, V32 x) {
  const V32 a = hn::Abs(x), z = hn::Mul(x, x), one = hn::Set(d, 1.0f);
  const V32 e = Exp(d, hn::Mul(a, hn::Set(d, -2.0f)));
  const V32 large = hn::CopySign(hn::Div(hn::Sub(one, e), hn::Add(one, e)), x);
  // below 0.625 the difference 1 - e would lose digits: x + x^3 p(x^2), minimax, error 4e-9
  V32 p = hn::Set(d, -0.005717047408f);
  p = hn::MulAdd(p, z, hn::Set(d, 0.02065058977f));
  p = hn::MulAdd(p, z, hn::Set(d, -0.053743499f));
  p = hn::MulAdd(p, z, hn::Set(d, 0.133314913f));
  p = hn::MulAdd(p, z, hn::Set(d, -0.3333328393f));
  const V32 small = hn::MulAdd(hn::Mul(p, z), x, x);
  return hn::IfThenElse(hn::Lt(a, hn::Set(d, 0.625f)), small, large);
}

// The normal law's distribution function, relative error below 1e-6 for x > -12.
// Phi(-z sqrt 2) = erfc(z) / 2 = e^(-z^2) t P(t) / 2 with t = 1 / (1 + 0.3 z), P minimax.
HWY_INLINE V32 NormalCdf(F32 d, V32 x) {
  const V32 z = hn::Mul(hn::Abs(x), hn::Set(d, 0.70710678118654752f));
  const V32 t = hn::Div(hn::Set(d, 1.0f), hn::MulAdd(z, hn::Set(d, 0.3f), hn::Set(d, 1.0f)));
  V32 p = hn::Set(d, -0.12924656805668014f);
  p = hn::MulAdd(p, t, hn::Set(d, 0.4841086534220692f));
  p = hn::MulAdd(p, t, hn::Set(d, -0.508994557199725f));
  p = hn::MulAdd(p, t, hn::Set(d, 0.5435739463348653f));
  p = hn::MulAdd(p, t, hn::Set(d, -0.09145254531726882f));
  p = hn::MulAdd(p, t, hn::Set(d, 0.21338508733447398f));
  p = hn::MulAdd(p, t, hn::Set(d, 0.14879142695296876f));
  p = hn::MulAdd(p, t, hn::Set(d, 0.17064140763447327f));
  p = hn::MulAdd(p, t, hn::Set(d, 0.16919312973562234f));
  const V32 half = hn::Set(d, 0.5f);
  const V32 tail = hn::Mul(hn::Mul(half, hn::Mul(p, t)), Exp(d, hn::Neg(hn::Mul(z, z))));
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), tail, hn::Sub(hn::Set(d, 1.0f), tail));
}

// The random words of columns 4 counter .. 4 counter + 63 of row `row`: Philox4x32-10 as in
// pesuite/random.hpp, one counter a lane.
HWY_INLINE void PhiloxRow64(std::uint64_t key, std::uint32_t purpose, std::uint64_t row,
                            std::uint32_t counter, std::uint32_t* HWY_RESTRICT words) {
#if HWY_TARGET == HWY_SCALAR
  for (std::uint32_t i = 0; i < 16; ++i) {
    const pes::Block b = pes::philox4x32({counter + i, purpose, static_cast<std::uint32_t>(row),
                                          static_cast<std::uint32_t>(row >> 32)},
                                         key);
    for (std::uint32_t j = 0; j < 4; ++j) words[4 * i + j] = b[j];
  }
#else
  const hn::CappedTag<std::uint32_t, 16> d;
  using V = hn::Vec<decltype(d)>;
  const auto high = [&](V a, V b) HWY_ATTR {  // upper half of each product
    const V even = hn::BitCast(d, hn::MulEven(a, b));
    const V odd = hn::BitCast(d, hn::MulEven(hn::Shuffle2301(a), hn::Shuffle2301(b)));
    return hn::OddEven(odd, hn::Shuffle2301(even));
  };
  const V m0 = hn::Set(d, 0xD2511F53u), m1 = hn::Set(d, 0xCD9E8D57u);
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t i = 0; i < 16; i += lanes) {
    V c0 = hn::Iota(d, counter + static_cast<std::uint32_t>(i)), c1 = hn::Set(d, purpose),
      c2 = hn::Set(d, static_cast<std::uint32_t>(row)),
      c3 = hn::Set(d, static_cast<std::uint32_t>(row >> 32));
    auto k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round) {
      const V h0 = high(c0, m0), l0 = hn::Mul(c0, m0), h1 = high(c2, m1), l1 = hn::Mul(c2, m1);
      c0 = hn::Xor(hn::Xor(h1, c1), hn::Set(d, k0));
      c2 = hn::Xor(hn::Xor(h0, c3), hn::Set(d, k1));
      c1 = l1;
      c3 = l0;
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    hn::StoreInterleaved4(c0, c1, c2, c3, d, words + 4 * i);
  }
#endif
}

HWY_INLINE float SumOf(F32 d, V32 v) {
  return hn::GetLane(hn::SumOfLanes(d, v));
}
#if HWY_TARGET != HWY_SCALAR
// to [4] = the sums of v's blocks of four lanes.
template <class D>
HWY_INLINE void StoreFolded(D d, hn::Vec<D> v, float* to) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    hn::StoreU(v, d, to);
  } else {
    const hn::Half<D> half;
    StoreFolded(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)), to);
  }
}
#endif
// to [4] = the sums of each one's lanes, by a tree over all four: the same for each of them,
// whatever the others are.
HWY_INLINE void SumsOfFour(V32 a, V32 b, V32 e, V32 f, float* to) {
  const F32 d;
#if HWY_TARGET == HWY_SCALAR
  to[0] = SumOf(d, a), to[1] = SumOf(d, b), to[2] = SumOf(d, e), to[3] = SumOf(d, f);
#else
  const hn::RepartitionToWide<F32> pairs;
  const auto ab =
      hn::BitCast(pairs, hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b)));
  const auto ef =
      hn::BitCast(pairs, hn::Add(hn::InterleaveLower(d, e, f), hn::InterleaveUpper(d, e, f)));
  StoreFolded(d,
              hn::Add(hn::BitCast(d, hn::InterleaveLower(pairs, ab, ef)),
                      hn::BitCast(d, hn::InterleaveUpper(pairs, ab, ef))),
              to);
#endif
}
HWY_INLINE float MaxOf(F32 d, V32 v) {
  return hn::GetLane(hn::MaxOfLanes(d, v));
}

// Applies body(vector index) to 0 .. n-1 in whole vectors, loading and storing what hangs over
// through `Load` and `Store` below.
HWY_INLINE V32 Load(F32 d, const float* p, std::size_t n) {  // n lanes, the others 0
  return n >= hn::Lanes(d) ? hn::LoadU(d, p) : hn::MaskedLoad(hn::FirstN(d, n), d, p);
}
HWY_INLINE void Store(F32 d, V32 v, float* p, std::size_t n) {
  if (n >= hn::Lanes(d))
    hn::StoreU(v, d, p);
  else
    hn::BlendedStore(v, hn::FirstN(d, n), d, p);
}
// The same of numbers in bf16, rounded to the nearest, ties to even; NaN stays NaN.
HWY_INLINE V32 Load(F32 d, const Bf16* p, std::size_t n) {
  const hn::Rebind<std::uint16_t, F32> d16;
  const hn::RebindToUnsigned<F32> d32;
  const std::uint16_t* bits = &p->bits;
#if HWY_TARGET != HWY_AVX3
  // A masked load of 16-bit lanes would be a whole one here, and an aligned one.
  std::uint16_t some[16] = {};
  if (n < hn::Lanes(d)) bits = std::copy_n(bits, n, some) - n;
  const auto half = hn::LoadU(d16, bits);
#else
  const auto half =
      n >= hn::Lanes(d) ? hn::LoadU(d16, bits) : hn::MaskedLoad(hn::FirstN(d16, n), d16, bits);
#endif
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(d32, half)));
}
HWY_INLINE void Store(F32 d, V32 v, Bf16* p, std::size_t n) {
  const hn::Rebind<std::uint16_t, F32> d16;
#if HWY_TARGET == HWY_AVX3
  // The instruction is younger than this target; Bf16 is only stored where bf16::best_kernel() has
  // found it.
  hn::VFromD<decltype(d16)> half;
  asm("vcvtneps2bf16 %1, %0" : "=v"(half.raw) : "v"(v.raw));
#else
  const hn::RebindToUnsigned<F32> d32;
  const hn::RebindToSigned<F32> i32;
  const auto bits = hn::BitCast(d32, v);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d32, 1u));
  auto high = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(d32, 0x7fffu))));
  high = hn::IfThenElse(hn::RebindMask(d32, hn::IsNaN(v)), hn::Set(d32, 0x7fc0u), high);
  const auto half = hn::DemoteTo(d16, hn::BitCast(i32, high));
#endif
  if (n >= hn::Lanes(d))
    hn::StoreU(half, d16, &p->bits);
  else
    hn::BlendedStore(half, hn::FirstN(d16, n), d16, &p->bits);
}
// Load of an array that is walked through once and lies in no near cache: asks for what is read in
// some hundred cycles, which the processor's own prefetchers do not do in time.
constexpr std::int64_t kAhead = 4096;  // bytes
template <class T>
HWY_INLINE V32 Stream(F32 d, const T* p, std::size_t n) {
  hwy::Prefetch(p + kAhead / sizeof(T));
  return Load(d, p, n);
}
template <class T>
HWY_INLINE void Put(F32 d, V32 v, T* p, std::size_t n, bool add) {
  Store(d, add ? hn::Add(v, Load(d, p, n)) : v, p, n);
}

}  // namespace pesuite::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
