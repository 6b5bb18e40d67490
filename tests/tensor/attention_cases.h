// Attention of all forms that encodings ask for: what each backend is tested with.
#pragma once

#include <map>

#include "tensor/attention.h"
#include "tests/support.h"

namespace pesuite::testing {

struct AttentionExample {
  std::string name;
  std::int64_t B, H, G, T, D, E;
  Shape distance = {0};  // {0}: none
  Shape bias = {0};
  double dropout = 0;
  std::vector<std::int64_t> begins = {};  // places at which documents begin, in all rows; in odd
                                          // ones 3 places later
};
inline void PrintTo(const AttentionExample& c, std::ostream* out) {
  *out << c.name;
}

inline bool given(const Shape& s) {
  return !(s == Shape{0});
}

// Of the rows of all examples, as Attention has them; as long as the program.
inline std::span<const std::int32_t> starts(const AttentionExample& c) {
  if (c.begins.empty()) return {};
  static std::map<std::string, std::vector<std::int32_t>> all;
  std::vector<std::int32_t>& of_case = all[c.name];
  of_case.assign(static_cast<std::size_t>(c.B * c.T), 0);
  for (std::int64_t b = 0; b < c.B; ++b)
    for (const std::int64_t begin : c.begins)
      for (std::int64_t i = begin + 3 * (b % 2); i < c.T; ++i)
        of_case[static_cast<std::size_t>(b * c.T + i)] =
            static_cast<std::int32_t>(begin + 3 * (b % 2));
  return of_case;
}

inline std::vector<Values> inputs(const AttentionExample& c) {
  std::vector<Values> v = {random_values({c.B, c.H, c.T, c.D}, 1),
                           random_values({c.B, c.G, c.T, c.D}, 2),
                           random_values({c.B, c.G, c.T, c.E}, 3)};
  if (given(c.distance)) v.push_back(random_values(c.distance, 4));
  if (given(c.bias)) v.push_back(random_values(c.bias, 5));
  return v;
}
inline Attention attention(const AttentionExample& c, const std::vector<Tensor>& x) {
  Attention a;
  a.q = x[0], a.k = x[1], a.v = x[2];
  a.scale = 1 / std::sqrt(static_cast<double>(c.D));
  std::size_t n = 3;
  if (given(c.distance)) a.distance = x[n++];
  if (given(c.bias)) a.bias = x[n++];
  a.dropout = {c.dropout, 5, 17};
  a.starts = starts(c);
  return a;
}
inline Build fused(const AttentionExample& c) {
  return [c](Tape& t, const std::vector<Tensor>& x) { return attend(t, attention(c, x)); };
}
// With a table made of rows that train, as T5's of buckets: distances from `level` on share one.
inline Build by_shared_rows(const AttentionExample& c, std::int64_t level) {
  return [c, level](Tape& t, const std::vector<Tensor>& x) {
    std::vector<double> index;
    for (std::int64_t d = 0; d < c.T; ++d) index.push_back(static_cast<double>(std::min(d, level)));
    const int turned[] = {1, 0};
    std::vector<Tensor> own = x;
    own[3] = ops::affine(
        t, ops::permute(t, ops::rows(t, x[3], t.constant({c.T}, index.data())), turned), 1.5, 0.25);
    return attend(t, attention(c, own));
  };
}
inline std::vector<Values> inputs_with_rows(const AttentionExample& c, std::int64_t level) {
  std::vector<Values> in = inputs(c);
  in[3] = random_values({level + 1, c.distance[0]}, 4);
  for (std::size_t i = 0; i < 3; ++i)
    for (double& x : in[i].data) x = std::round(x * 16) / 16;
  return in;
}
// A rewriter that asks for the scores and leaves them as they are.
inline Tensor unchanged(const void*, Tape& t, Tensor scores, Tensor, Tensor, Tensor, std::int64_t) {
  return t.now(scores);
}
// One that does not even ask.
inline Tensor untouched(const void*, Tape&, Tensor scores, Tensor, Tensor, Tensor, std::int64_t) {
  return scores;
}
inline Build rewritten(const AttentionExample& c, decltype(Rewriter::call) call) {
  return [c, call](Tape& t, const std::vector<Tensor>& x) {
    Attention a = attention(c, x);
    a.rewrite.call = call;
    return attend(t, a);
  };
}
inline Build composed(const AttentionExample& c) {
  return rewritten(c, unchanged);
}

inline std::vector<AttentionExample> attention_cases() {
  std::vector<AttentionExample> all = {
      {"one_token", 2, 3, 3, 1, 4, 4},
      {"small", 2, 2, 2, 5, 4, 4},
      {"odd", 1, 3, 3, 13, 7, 5},
      {"block", 2, 2, 2, 64, 32, 32},
      {"block_and_one", 1, 2, 2, 65, 32, 32},
      {"many_blocks", 1, 2, 2, 193, 16, 16},
      {"head_64", 1, 2, 2, 130, 64, 64},
      {"head_128_64", 1, 1, 1, 100, 128, 64},
      {"head_20", 1, 2, 2, 70, 20, 20},
      {"grouped", 2, 4, 2, 70, 8, 8},
      {"one_group", 2, 4, 1, 66, 8, 12},
      {"distance", 2, 3, 3, 70, 8, 8, {3, 70}},
      {"distance_shared", 2, 3, 3, 70, 8, 8, {1, 70}},
      {"distance_longer_table", 2, 2, 1, 37, 8, 8, {2, 50}},
      {"bias_head", 2, 3, 3, 70, 8, 8, {0}, {3, 70, 70}},
      {"bias_full", 2, 2, 2, 33, 8, 8, {0}, {2, 2, 33, 33}},
      {"bias_row", 2, 2, 2, 70, 8, 8, {0}, {70, 1}},
      {"bias_column", 2, 2, 2, 70, 8, 8, {0}, {2, 1, 1, 70}},
      {"bias_all", 2, 2, 2, 70, 8, 8, {0}, {70, 70}},
      {"bias_and_distance", 1, 2, 1, 80, 8, 8, {2, 80}, {2, 80, 80}},
      {"dropout", 2, 2, 2, 70, 8, 8, {0}, {0}, 0.25},
      {"dropout_distance", 1, 2, 2, 131, 8, 8, {2, 131}, {0}, 0.1},
      {"documents", 2, 2, 2, 70, 8, 8, {0}, {0}, 0, {1, 20, 66}},
      {"documents_long", 2, 2, 1, 300, 16, 16, {0}, {0}, 0, {63, 64, 200}},
      {"documents_distance", 2, 2, 2, 150, 8, 8, {2, 150}, {0}, 0, {100}},
      {"documents_bias", 2, 2, 2, 70, 8, 8, {0}, {2, 70, 70}, 0, {30, 65}},
      {"documents_dropout", 1, 2, 2, 131, 8, 8, {2, 131}, {0}, 0.1, {5, 70}},
  };
  return all;
}

}  // namespace pesuite::testing
