// Far tokens at positions that training has seen, for a model as it is: near ones keep their
// distance, and beyond them queries and keys turn by other positions, or are not seen.
#pragma once

#include "rotary.h"

#include <algorithm>

namespace rotary {

// The option `window` and its usual value, a share of the training length.
constexpr pes_option window_of(const char* help) {
  return pes::integer("window", "0", 0, 1 << 24, help);
}
inline std::int64_t window_or(const pes::Values& v, double usual) {
  const std::int64_t given = v.integer("window");
  return given > 0 ? given : std::max<std::int64_t>(1, std::llround(usual));
}

// Base of an encoding E with these members, of positions i of a query and j of a key:
//   near_from(i)        the first key that keeps its distance, as those behind it do
//   first_far()         the first query with a key that is not near
//   query_place(i), key_place(j)   where tokens stand for each other that are not near
template <class E>
class Remap : public Rotary<E> {
 public:
  Angles angles(std::int64_t) const { return {powers(base, this->R)}; }
  void begin(const pes::Step& s) { begin(s, s.length); }
  void attend(const pes::Step& s, pes::Attention& a) const {
    Rotary<E>::attend(s, a);
    a.rewrite = far;
  }
  void rewrite(const pes::Step& s, pes::Scores& b) const {
    if (reaches(b, self().first_far())) b.scores = mixed(s, b, b.scores);
  }

 protected:
  Remap(const pes_model& m, const pes::Values& v)
      : Rotary<E>(m, v),
        heads(m.heads),
        kv_heads(m.kv_heads),
        base(pes::base_of(m, v)),
        frequencies(powers(base, this->R)) {}

  const E& self() const { return static_cast<const E&>(*this); }
  // For far queries that see the first `n` keys.
  void begin(const pes::Step& s, std::int64_t n) {
    Rotary<E>::begin(s);
    start = s.offset;
    far = start + s.length > self().first_far();
    if (!far || n == 0) return;
    queries.turn(s, s.length, frequencies, [&](double i) { return self().query_place(i); });
    keys.turn(s, n, frequencies, [&](double j) { return self().key_place(j); });
  }
  bool reaches(const pes::Scores& b, std::int64_t position) const {
    return start + b.first + b.scores.extent(2) > position;
  }
  // `scores` [B, H, rows, n] for the block's first n keys where these are near, and where they are
  // not the scores of tokens at their places.
  pes::Tensor mixed(const pes::Step& s, const pes::Scores& b, pes::Tensor scores) const {
    const std::int64_t rows = scores.extent(2), n = scores.extent(3);
    const pes::Tensor moved = product(b, queries.apply(b.q, b.first, rows, this->pairs),
                                      keys.apply(first_keys(b, n), 0, n, this->pairs));
    // 0 where a key stands before the first that is near, else 1; made where the tape computes
    const pes::Tensor from = s.table({rows, 1}, [&](auto i, auto) {
      return static_cast<double>(self().near_from(start + b.first + i));
    });
    const pes::Tensor key =
        s.table({1, n}, [&](auto, auto j) { return static_cast<double>(start + j + 1); });
    const pes::Tensor near = 1.0 - relu(1.0 - relu(key - from));
    return moved + near * (scores - moved);
  }
  static pes::Tensor first_keys(const pes::Scores& b, std::int64_t n) {
    return n == b.k.extent(2) ? b.k : slice(b.k, 2, 0, n);
  }
  // q [B, H, rows, D] with k [B, G, n, D]; query heads that share a key head stand side by side.
  pes::Tensor product(const pes::Scores& b, pes::Tensor q, pes::Tensor k) const {
    const std::int64_t B = q.extent(0), rows = q.extent(2), D = q.extent(3), n = k.extent(2);
    const pes::Tensor grouped = reshape(q, {B, kv_heads, heads / kv_heads * rows, D});
    return reshape(matmul(grouped, k, true) * b.scale, {B, heads, rows, n});
  }

  std::int64_t heads, kv_heads;
  std::int64_t start = 0;  // position of the first token
  double base;
  std::vector<double> frequencies;
  bool far = false;  // the step has keys that are not near

 private:
  struct Turned {  // from where tokens stand to where they shall, [T, R/2]
    pes::Table cosines, sines;
    pes::Tensor cos, sin;

    template <class F>
    void turn(const pes::Step& s, std::int64_t count, const std::vector<double>& frequencies,
              F place) {
      const auto n = static_cast<std::int64_t>(frequencies.size());
      const auto angle = [&](auto i, auto r) {
        const auto from = static_cast<double>(i);
        return (place(from) - from) * frequencies[static_cast<std::size_t>(r)];
      };
      const auto rows = [&](pes::Table& table, auto value) {
        return s.upload({count, n}, table.range(s.offset, count, n, value));
      };
      cos = rows(cosines, [&](auto i, auto r) { return std::cos(angle(i, r)); });
      sin = rows(sines, [&](auto i, auto r) { return std::sin(angle(i, r)); });
    }
    pes::Tensor apply(pes::Tensor x, std::int64_t first, std::int64_t count,
                      pes_pairs pairs) const {
      return rotate(x, slice(cos, 0, first, count), slice(sin, 0, first, count), pairs);
    }
  };
  Turned queries, keys;
};

}  // namespace rotary
