// What the encodings of this family share: options, frequencies, tables of cos and sin that are
// made once in double and grow with the positions asked for, and the rotation itself.
//
// R is the number of features of a head that turn, pairs r = 0 .. R/2 - 1 turn by theta_r a
// position, L is the training length that an extension starts from and s the factor it extends by.
#pragma once

#include <pesuite/pesuite.hpp>

#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <vector>

namespace rotary {

// ------------------------------------------------------------------------------------ options

namespace option {

constexpr pes_option base_of(const char* usual) {
  return pes::real("base", usual, 0, 1e12,
                   "pair r turns by base^(-2r/R) a position: wavelengths from 2 pi to almost 2 pi "
                   "base; 0: fits the training length as 10000 fits 2048");
}
constexpr pes_option layout_of(const char* usual) {
  return pes::choice("layout", usual, "half|interleaved",
                     "features of a pair: (r, r + R/2) or (2r, 2r+1)");
}
inline constexpr pes_option base = base_of("10000"), layout = layout_of("half");
inline constexpr pes_option features =
    pes::real("features", "0", 0, 1 << 16,
              "features R of each head that turn, the first ones; up to 1: this share of the head, "
              "rounded down; 0: all (partial rotary)");
inline constexpr pes_option log_n =
    pes::choice("log_n", "off", "off|position|length",
                "queries beyond the training length L grow: by ln(n+1)/ln L at position n, or all "
                "by ln T/ln L in a sequence of T tokens");
inline constexpr pes_option resonance =
    pes::flag("resonance", "false", "round wavelengths to whole positions (Resonance RoPE)");
inline constexpr pes_option factor =
    pes::real("factor", "0", 0, 1e6,
              "how many times the range grows; 0: longest length of the model / original");
inline constexpr pes_option scale = pes::real("scale", "0", 0, 1e6, "another name of factor");
inline constexpr pes_option original =
    pes::integer("original", "0", 0, 1e12,
                 "length that was trained without the extension; 0: the training length");
inline constexpr pes_option dynamic = pes::flag(
    "dynamic", "false", "extend by length / original of each sequence longer than original");
inline constexpr pes_option beta_fast =
    pes::real("beta_fast", "32", 1e-6, 1e12,
              "pairs that turn more often than this in original positions keep their frequency");
inline constexpr pes_option beta_slow = pes::real(
    "beta_slow", "1", 1e-6, 1e12, "pairs that turn less often than this are divided by the factor");

}  // namespace option

// R, from the option `features`.
inline std::int64_t turned(const pes_model& m, const pes::Values& v) {
  const double given = v.real("features");
  const double n = given == 0 ? m.head_dim : given <= 1 ? std::floor(given * m.head_dim) : given;
  if (n < 2 || n > m.head_dim || std::fmod(n, 2) != 0)
    throw pes::Refusal("needs an even number of features to turn, at most the head size " +
                       std::to_string(m.head_dim) + ", not features=" + v.text("features"));
  return static_cast<std::int64_t>(n);
}

// The features of a pair, from the option `layout`.
inline pes_pairs pairs_of(const pes::Values& v) {
  return v.is("layout", "interleaved") ? PES_PAIRS_INTERLEAVED : PES_PAIRS_HALF;
}

// For what turns R features of each head. Refuses an odd number.
inline void need_pairs(const pes_model& m, std::int64_t R) {
  if (R % 2 != 0)
    throw pes::Refusal("turns pairs of features and needs an even head size, not " +
                       std::to_string(m.head_dim));
}

// L, from the option `original`.
inline double trained(const pes_model& m, const pes::Values& v) {
  const auto given = static_cast<double>(v.integer("original"));
  return given > 0 ? given : m.train_length;
}

struct Extension {  // of a trained model's range
  double original;  // L
  double given;     // factor as asked for; 0: not
  double factor;    // s
  Extension(const pes_model& m, const pes::Values& v)
      : original(trained(m, v)),
        given(std::max(v.real("factor"), v.real("scale"))),
        factor(given > 0 ? given : std::max(1.0, m.max_length / original)) {
    if (v.real("factor") > 0 && v.real("scale") > 0 && v.real("factor") != v.real("scale"))
      throw pes::Refusal("factor and scale are two names of one number; give one of them");
  }
  // What a dynamic method extends by in a sequence of this length.
  double at(std::int64_t length) const {
    return std::max(1.0, static_cast<double>(length) / original);
  }
};

// Appends `count` distinct integers of 0 .. below-1 in order, each subset equally likely: Knuth,
// volume 2, algorithm 3.4.2 S.
inline void draw_ordered(pes::Random& random, std::int64_t count, std::int64_t below,
                         std::vector<double>& out) {
  for (std::int64_t x = 0; count > 0 && x < below; ++x)
    if (random.below(static_cast<std::uint32_t>(below - x)) < count) {
      out.push_back(static_cast<double>(x));
      --count;
    }
}

// Of the positions of a whole sequence those of the pass's tokens. Refuses too few, with a remedy.
inline std::vector<double> of_pass(const pes::Step& s, const std::vector<double>& all,
                                   const char* remedy) {
  const std::int64_t count = s.offset + s.length;
  if (std::ssize(all) < count)
    throw pes::Refusal(std::to_string(all.size()) + " positions for " + std::to_string(count) +
                       " tokens; " + remedy);
  return {all.begin() + s.offset, all.begin() + count};
}

// -------------------------------------------------------------------------------- frequencies

struct Angles {
  std::vector<double> frequencies;  // radians a position: [R/2], or [G, R/2], one row a key's head
  double factor = 1;                // of cos and sin: scores get its square
  bool whole = false;               // round wavelengths to integers
  bool operator==(const Angles&) const = default;
};

// base^(-2r/R), Su et al. 2021, section 3.2.2.
inline std::vector<double> powers(double base, std::int64_t R) {
  std::vector<double> f;
  for (std::int64_t r = 0; r < R / 2; ++r)
    f.push_back(std::pow(base, -2.0 * static_cast<double>(r) / static_cast<double>(R)));
  return f;
}
// The base that leaves pair 0 alone and divides the slowest by s ("NTK-aware").
inline double ntk_base(double base, double s, std::int64_t R) {
  return R == 2 ? base : base * std::pow(s, static_cast<double>(R) / static_cast<double>(R - 2));
}
// Share of its frequency that pair r keeps: 1 where it turns more than `fast` times in L positions,
// 0 where less than `slow` times, and linear in r between. Peng et al. 2023 (YaRN), as its code has
// it: the paper's equation 18 is linear in the number of turns instead.
inline std::vector<double> kept(double fast, double slow, double L, double base, std::int64_t R,
                                bool truncate = true) {
  if (base <= 1) throw pes::Refusal("needs a base above 1: wavelengths have to differ");
  const auto pair = [&](double turns) {  // the r that turns so often
    return static_cast<double>(R) * std::log(L / (turns * 2 * std::numbers::pi)) /
           (2 * std::log(base));
  };
  const double low = std::max(0.0, truncate ? std::floor(pair(fast)) : pair(fast));
  double high = std::min(static_cast<double>(R - 1), truncate ? std::ceil(pair(slow)) : pair(slow));
  if (low == high) high += 0.001;
  std::vector<double> share;
  for (std::int64_t r = 0; r < R / 2; ++r)
    share.push_back(1 - std::clamp((static_cast<double>(r) - low) / (high - low), 0.0, 1.0));
  return share;
}
inline double mix(double a, double b, double share_of_b) {
  return a * (1 - share_of_b) + b * share_of_b;
}

// ------------------------------------------------------------------------------ cos and sin

// Rows of cos and sin for a run of positions. Asking for more extends them; only other angles, or
// positions that do not join on, start again.
class Phases {
 public:
  void set(Angles a) {
    if (a == angles_) return;
    angles_ = std::move(a);
    cos_.clear();
    sin_.clear();
  }
  // The step's rows, [T, columns], columns the number of frequencies.
  void upload(const pes::Step& s, pes::Tensor& cos, pes::Tensor& sin) {
    const auto n = static_cast<std::int64_t>(angles_.frequencies.size());
    cover(s.offset, s.offset + s.length);
    const std::int64_t at = (s.offset - first_) * n;
    cos = s.upload({s.length, n}, cos_.data() + at);
    sin = s.upload({s.length, n}, sin_.data() + at);
  }
  // The same at positions that need not follow each other, one a token; not kept.
  void upload(const pes::Step& s, const std::vector<double>& at, pes::Tensor& cos,
              pes::Tensor& sin) const {
    const auto n = static_cast<std::int64_t>(angles_.frequencies.size());
    const auto turn = [&](std::int64_t i, std::int64_t r) {
      return angle(at[static_cast<std::size_t>(i)],
                   angles_.frequencies[static_cast<std::size_t>(r)]);
    };
    const double m = angles_.factor;
    cos = s.table({s.length, n}, [&](auto i, auto r) { return m * std::cos(turn(i, r)); });
    sin = s.table({s.length, n}, [&](auto i, auto r) { return m * std::sin(turn(i, r)); });
  }

 private:
  void cover(std::int64_t first, std::int64_t end) {
    const std::size_t n = angles_.frequencies.size();
    auto last = first_ + static_cast<std::int64_t>(cos_.size() / n);
    if (first < first_ || first > last) {
      cos_.clear();
      sin_.clear();
      first_ = last = first;
    }
    for (; last < end; ++last)
      for (const double f : angles_.frequencies) {
        const double a = angle(static_cast<double>(last), f);
        cos_.push_back(angles_.factor * std::cos(a));
        sin_.push_back(angles_.factor * std::sin(a));
      }
  }
  // With whole wavelengths the columns repeat exactly (Wang et al. 2024, section 4).
  double angle(double n, double frequency) const {
    if (!angles_.whole || frequency == 0) return n * frequency;
    const double wavelength = std::max(1.0, std::nearbyint(2 * std::numbers::pi / frequency));
    return std::fmod(n, wavelength) * (2 * std::numbers::pi / wavelength);
  }

  Angles angles_;
  std::int64_t first_ = 0;
  std::vector<double> cos_, sin_;  // [positions from first_ on, columns]
};

// ------------------------------------------------------------------------------- the encoding

// Log-n scaling of queries, Su 2021 (kexue.fm/archives/8823), `position` as in Qwen.
class LogScaling {
 public:
  LogScaling(const pes::Values& v, double original)
      : position_(v.is("log_n", "position")),
        length_(v.is("log_n", "length")),
        log_original_(std::log(std::max(2.0, original))) {}
  void begin(const pes::Step& s) {
    const std::int64_t end = s.offset + s.length;
    all_ = length_ ? gain(end) : 1;
    each_ = {};
    if (!position_ || gain(end) == 1) return;
    const double* gains = table_.extend(end, 1, [&](auto n, auto) { return gain(n + 1); });
    each_ = s.upload({s.length, 1}, gains + s.offset);
  }
  bool stale(std::int64_t from, std::int64_t to) const {
    return length_ && gain(from) != gain(to);  // all queries have another scale
  }
  void act(pes::Attention& a) const {
    a.scale *= all_;
    if (each_.id.id != 0) a.q = a.q * each_;
  }

 private:
  double gain(std::int64_t tokens) const {
    return std::max(1.0, std::log(static_cast<double>(tokens)) / log_original_);
  }

  bool position_, length_;
  double log_original_, all_ = 1;
  pes::Table table_;
  pes::Tensor each_;  // [T, 1]
};

// Base of an encoding E with a member angles(length): the angles in a sequence of that length.
template <class E>
class Rotary : public pes::Encoding {
 public:
  void begin(const pes::Step& s) {
    const std::int64_t length = s.offset + s.length;
    if (length != length_) phases.set(static_cast<const E&>(*this).angles(length_ = length));
    phases.upload(s, cos, sin);
    scaling.begin(s);
  }
  void attend(const pes::Step&, pes::Attention& a) const {
    a.q = rotate(a.q, cos, sin, pairs);
    a.k = rotate(a.k, cos, sin, pairs);
    scaling.act(a);
  }
  bool stale(int from, int to) const {
    const E& self = static_cast<const E&>(*this);
    return !(self.angles(from) == self.angles(to)) || scaling.stale(from, to);
  }

 protected:
  Rotary(const pes_model& m, const pes::Values& v, std::int64_t features, double original)
      : R(features),
        pairs(pairs_of(v)),
        scaling(v, original) {
    need_pairs(m, R);
  }
  Rotary(const pes_model& m, const pes::Values& v) : Rotary(m, v, turned(m, v), m.train_length) {}
  Rotary(const pes_model& m, const pes::Values& v, const Extension& e)
      : Rotary(m, v, turned(m, v), e.original) {}

  std::int64_t R;
  pes_pairs pairs;
  Phases phases;
  LogScaling scaling;
  pes::Tensor cos, sin;  // of this step, [T, R/2]

 private:
  std::int64_t length_ = -1;  // of the angles in phases
};

}  // namespace rotary
