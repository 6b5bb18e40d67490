// Counter-based random numbers with portable distributions, shared by the host and by plugins.
//
// A stream is named by (seed, purpose, index): nobody passes a generator around, and asking in
// another order, on another thread or on another machine changes nothing. The generator is
// Philox4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"). No function
// here calls libm, whose last bits differ between platforms; compile with -ffp-contract=off.
#ifndef PESUITE_RANDOM_HPP_
#define PESUITE_RANDOM_HPP_

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string_view>

namespace pes {

// FNV-1a, for names of purposes and for keys made of several parts.
constexpr std::uint64_t hash64(std::string_view text, std::uint64_t h = 0xcbf29ce484222325u) {
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return h;
}
constexpr std::uint64_t mix64(std::uint64_t h, std::uint64_t value) {  // SplitMix64's finalizer
  std::uint64_t z = (h ^ value) + 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
constexpr std::uint32_t purpose(std::string_view name) {
  const std::uint64_t h = hash64(name);
  return static_cast<std::uint32_t>(h ^ (h >> 32));
}

using Block = std::array<std::uint32_t, 4>;

constexpr Block philox4x32(Block counter, std::uint64_t key) {
  auto k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * counter[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * counter[2];
    counter = {
        static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ k0, static_cast<std::uint32_t>(p1),
        static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ k1, static_cast<std::uint32_t>(p0)};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return counter;
}

// ln x for finite x > 0, to 2 ulp, from + - * / alone: the same bits everywhere.
constexpr double portable_log(double x) {
  auto bits = std::bit_cast<std::uint64_t>(x);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  if (exponent == -1023) {  // subnormal
    bits = std::bit_cast<std::uint64_t>(x * 0x1p54);
    exponent = static_cast<int>(bits >> 52) - 1023 - 54;
  }
  double m = std::bit_cast<double>((bits & 0xfffffffffffffu) | 0x3ff0000000000000u);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++exponent;
  }
  const double t = (m - 1) / (m + 1), t2 = t * t;  // ln m = 2 artanh t, |t| < 0.172
  double s = 0;
  for (int k = 23; k >= 3; k -= 2) s = (s + 1.0 / k) * t2;
  // ln 2 in two parts, so that the sum keeps its last bits
  return exponent * 0.693147180369123816490 +
         (2 * t + (2 * t * s + exponent * 1.90821492927058770002e-10));
}

// Quantile of the standard normal law for 0 < p < 1, relative error about 1e-16
// (Wichura 1988, algorithm AS 241, PPND16).
inline double normal_quantile(double p) {
  const auto ratio = [](double r, const double(&a)[8], const double(&b)[8]) {
    double num = a[7], den = b[7];
    for (int i = 6; i >= 0; --i) {
      num = num * r + a[i];
      den = den * r + b[i];
    }
    return num / den;
  };
  static constexpr double a[8] = {3.3871328727963666080e0, 1.3314166789178437745e2,
                                  1.9715909503065514427e3, 1.3731693765509461125e4,
                                  4.5921953931549871457e4, 6.7265770927008700853e4,
                                  3.3430575583588128105e4, 2.5090809287301226727e3};
  static constexpr double b[8] = {1.0,
                                  4.2313330701600911252e1,
                                  6.8718700749205790830e2,
                                  5.3941960214247511077e3,
                                  2.1213794301586595867e4,
                                  3.9307895800092710610e4,
                                  2.8729085735721942674e4,
                                  5.2264952788528545610e3};
  static constexpr double c[8] = {1.42343711074968357734e0,  4.63033784615654529590e0,
                                  5.76949722146069140550e0,  3.64784832476320460504e0,
                                  1.27045825245236838258e0,  2.41780725177450611770e-1,
                                  2.27238449892691845833e-2, 7.74545014278341407640e-4};
  static constexpr double d[8] = {1.0,
                                  2.05319162663775882187e0,
                                  1.67638483018380384940e0,
                                  6.89767334985100004550e-1,
                                  1.48103976427480074590e-1,
                                  1.51986665636164571966e-2,
                                  5.47593808499534494600e-4,
                                  1.05075007164441684324e-9};
  static constexpr double e[8] = {6.65790464350110377720e0,  5.46378491116411436990e0,
                                  1.78482653991729133580e0,  2.96560571828504891230e-1,
                                  2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                  2.71155556874348757815e-5, 2.01033439929228813265e-7};
  static constexpr double f[8] = {1.0,
                                  5.99832206555887937690e-1,
                                  1.36929880922735805310e-1,
                                  1.48753612908506148525e-2,
                                  7.86869131145613259100e-4,
                                  1.84631831751005468180e-5,
                                  1.42151175831644588870e-7,
                                  2.04426310338993978564e-15};
  const double q = p - 0.5;
  if (q >= -0.425 && q <= 0.425) return q * ratio(0.180625 - q * q, a, b);
  const double r = std::sqrt(-portable_log(q < 0 ? p : 1 - p));  // sqrt is exact in IEEE 754
  const double z = r <= 5 ? ratio(r - 1.6, c, d) : ratio(r - 5, e, f);
  return q < 0 ? -z : z;
}

class Random {
 public:
  Random(std::uint64_t seed, std::uint32_t purpose, std::uint64_t index)
      : key_(seed),
        counter_{0, purpose, static_cast<std::uint32_t>(index),
                 static_cast<std::uint32_t>(index >> 32)} {}

  std::uint32_t bits() {
    if (used_ == 4) {
      block_ = philox4x32(counter_, key_);
      ++counter_[0];
      used_ = 0;
    }
    return block_[static_cast<std::size_t>(used_++)];
  }
  std::uint64_t bits64() {
    const std::uint64_t high = bits();
    return high << 32 | bits();
  }

  // Uniform on 0 .. n-1, n >= 1, exactly (Lemire's multiply-shift with rejection).
  std::uint32_t below(std::uint32_t n) {
    std::uint64_t m = std::uint64_t{bits()} * n;
    if (static_cast<std::uint32_t>(m) < n) {
      const std::uint32_t floor = (0u - n) % n;
      while (static_cast<std::uint32_t>(m) < floor) m = std::uint64_t{bits()} * n;
    }
    return static_cast<std::uint32_t>(m >> 32);
  }
  // Uniform on low .. high, both included.
  std::int32_t between(std::int32_t low, std::int32_t high) {
    return low + static_cast<std::int32_t>(below(static_cast<std::uint32_t>(high - low) + 1));
  }
  std::uint64_t below64(std::uint64_t n) {  // the same for n up to 2^63
    const std::uint64_t floor = (0 - n) % n;
    std::uint64_t x = bits64();
    while (x < floor) x = bits64();
    return x % n;
  }

  // True with probability threshold / 2^32; see probability().
  bool event(std::uint64_t threshold) { return bits() < threshold; }

  double uniform() {  // [0, 1), 53 bits
    return static_cast<double>(bits64() >> 11) * 0x1p-53;
  }
  double normal() {  // mean 0, standard deviation 1
    return normal_quantile((static_cast<double>(bits64() >> 12) + 0.5) * 0x1p-52);
  }

 private:
  std::uint64_t key_;
  Block counter_;
  Block block_{};
  int used_ = 4;
};

// p in [0, 1] as a threshold for Random::event: round(p 2^32).
constexpr std::uint64_t probability(double p) {
  return static_cast<std::uint64_t>(p * 0x1p32 + 0.5);
}

}  // namespace pes

#endif  // PESUITE_RANDOM_HPP_
