// Rewriters that do no more than add to the scores: what each backend is tested with.
#pragma once

#include "tensor/attention.h"
#include "tests/support.h"

namespace pesuite::testing {

struct AddedCase {
  std::string name;
  std::int64_t B, H, G, T;
  std::vector<Shape> biases;  // each broadcasts to [H, T, T]
  double dropout = 0;
  bool distance = false;
};
inline void PrintTo(const AddedCase& c, std::ostream* out) {
  *out << c.name;
}

// More than 362 tokens of one head fall into several blocks.
inline const std::vector<AddedCase> added_cases = {
    {"one_block", 2, 2, 2, 21, {{2, 21, 21}}},
    {"blocks", 1, 1, 1, 410, {{1, 410, 410}}},
    {"blocks_grouped", 2, 4, 2, 200, {{4, 200, 200}}},
    {"blocks_dropout", 2, 2, 1, 300, {{2, 300, 300}}, 0.2},
    {"a_value_for_each_key", 2, 4, 4, 200, {{4, 1, 200}}},
    {"a_value_for_each_row", 2, 4, 4, 200, {{200, 1}}},
    {"shared_by_heads", 2, 4, 4, 200, {{200, 200}}},
    {"chain", 2, 2, 2, 300, {{2, 300, 300}, {300}, {2, 1, 300}}},
    {"chain_and_distance", 1, 2, 2, 300, {{2, 300, 300}, {300, 300}}, 0, true},
};

inline std::vector<Values> inputs_of(const AddedCase& c) {
  std::vector<Values> v = {random_values({c.B, c.H, c.T, 8}, 1),
                           random_values({c.B, c.G, c.T, 8}, 2),
                           random_values({c.B, c.G, c.T, 12}, 3)};
  for (const Shape& s : c.biases) v.push_back(random_values(s, 4 + v.size()));
  if (c.distance) v.push_back(random_values({c.H, c.T}, 9));
  return v;
}
inline Attention plain(const AddedCase& c, const std::vector<Tensor>& x) {
  Attention a;
  a.q = x[0], a.k = x[1], a.v = x[2];
  a.scale = 0.4;
  a.dropout = {c.dropout, 5, 17};
  if (c.distance) a.distance = x.back();
  return a;
}

// What a rewriter adds; alive until the backward pass is done.
struct AddedTerms {
  std::vector<Tensor> biases;
  bool content = false;  // ask for the scores first
};
inline Tensor add_all(const void* self, Tape& t, Tensor scores, Tensor, Tensor, Tensor,
                      std::int64_t first) {
  const auto& terms = *static_cast<const AddedTerms*>(self);
  const std::int64_t rows = t.shape(scores)[2], keys = t.shape(scores)[3];
  if (terms.content) scores = ops::affine(t, t.now(scores), 1, 0);
  for (Tensor bias : terms.biases) {
    if (t.shape(bias)[-1] > 1) bias = ops::slice(t, bias, -1, 0, keys);
    if (t.shape(bias).rank() > 1 && t.shape(bias)[-2] > 1)
      bias = ops::slice(t, bias, -2, first, rows);
    scores = ops::binary(t, Binary::add, bias, scores);
  }
  return scores;
}

// y with all that is added in the slot bias, by a rewriter, or by one that asks for the scores.
enum class By { slot, rewriter, content };
inline Result result(Backend& backend, const AddedCase& c, By by) {
  AddedTerms terms;
  AttentionPath taken{};
  const Result r = run(backend, inputs_of(c), [&](Tape& t, const std::vector<Tensor>& x) {
    Attention a = plain(c, x);
    terms.biases.assign(x.begin() + 3, x.end() - (c.distance ? 1 : 0));
    terms.content = by == By::content;
    if (by != By::slot) {
      a.rewrite = {&terms, add_all};
    } else {
      a.bias = terms.biases[0];
      for (std::size_t i = 1; i < terms.biases.size(); ++i)
        a.bias = ops::binary(t, Binary::add, a.bias, terms.biases[i]);
    }
    return attend(t, a, &taken);
  });
  EXPECT_EQ(taken, by == By::content ? AttentionPath::composed : AttentionPath::bias);
  return r;
}
}  // namespace pesuite::testing
