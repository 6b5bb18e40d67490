// GRAPE-A, Zhang et al. 2025, equation 4.6: ALiBi whose slope follows the query's and the key's
// content,
//   S_ij -= (i - j) w_h m_h (softplus(v.q_i / sqrt(D)) + softplus(u.k_j / sqrt(D)))
// with ALiBi's slopes m_h and unit vectors u and v of each head.
#include <pesuite/pesuite.hpp>

#include "grape.h"
#include "slopes.h"

namespace {

struct GrapeA : pes::Encoding {
  static constexpr pes_option options[] = {
      pes::choice("gate", "both", "both|query|key", "what sets the slope")};
  static constexpr pes_card card = pes::card<GrapeA>(
      {.name = "grape_a",
       .summary = "ALiBi whose slopes follow the content of queries and keys (GRAPE-A)",
       .taxonomy = "relative, learned, bias, contextual",
       .paper = grape_paper,
       .bibtex = grape_bibtex,
       .claims = PES_RELATIVE | PES_NORM_PRESERVING | PES_UNBOUNDED,
       .cost = "moderate",
       .use_if = "recency matters and content should decide how much"});

  std::int64_t heads, groups, D;
  bool by_query, by_key;
  pes::Param omega, u, v;
  pes::Tensor slopes;  // [H, 1, 1]

  GrapeA(const pes_model& m, const pes::Values& o)
      : heads(m.heads),
        groups(m.kv_heads),
        D(m.head_dim),
        by_query(!o.is("gate", "key")),
        by_key(!o.is("gate", "query")),
        omega(param("omega", {m.layers, m.heads, 1, 1}, pes::constant(std::log(std::expm1(1))))) {
    const pes::Init start = pes::normal(1 / std::sqrt(static_cast<double>(D)));
    if (by_key) u = param("u", {m.layers, m.heads, 1, m.head_dim}, start);
    if (by_query) v = param("v", {m.layers, m.heads, 1, m.head_dim}, start);
  }
  void begin(const pes::Step& s) {
    slopes = s.table({heads, 1, 1}, [&](auto h, auto) { return published_slope(h, heads); });
  }
  void attend(const pes::Step&, pes::Attention& a) const { a.rewrite = true; }

  pes::Tensor of_layer(const pes::Step& s, const pes::Scores& b, pes::Param p) const {  // [H, 1, n]
    const pes::Tensor x = slice(s[p], 0, b.layer, 1);
    return reshape(x, {heads, 1, x.extent(-1)});
  }
  pes::Tensor unit(const pes::Step& s, const pes::Scores& b, pes::Param p) const {
    const pes::Tensor x = of_layer(s, b, p);
    const pes::Tensor smallest = s.table({1}, [](auto, auto) { return 1e-6; });
    return x / max(sqrt(sum(x * x, -1)), smallest) / std::sqrt(static_cast<double>(D));
  }
  pes::Tensor of_queries(const pes::Step& s, const pes::Scores& b) const {  // [B, H, rows, 1]
    return softplus(matmul(b.q, unit(s, b, v), true));
  }
  pes::Tensor of_keys(const pes::Step& s, const pes::Scores& b) const {  // [B, H, 1, S]
    const std::int64_t keys = b.k.extent(2), share = heads / groups;
    const pes::Tensor vectors = reshape(unit(s, b, u), {groups, share, D});
    return reshape(softplus(matmul(vectors, b.k, true)), {s.batch, heads, 1, keys});
  }
  void rewrite(const pes::Step& s, pes::Scores& b) const {
    const std::int64_t rows = b.scores.extent(2), keys = b.scores.extent(3), first = b.first;
    const pes::Tensor behind = s.table({rows, keys}, [=](auto i, auto j) {
      return static_cast<double>(std::max<std::int64_t>(0, first + i - j));
    });
    const pes::Tensor rate = by_query && by_key ? of_queries(s, b) + of_keys(s, b)
                             : by_query         ? of_queries(s, b)
                                                : of_keys(s, b);
    b.scores = b.scores - rate * (softplus(of_layer(s, b, omega)) * slopes) * behind;
  }
};

}  // namespace

extern const pes_encoding grape_a = pes::encoding<GrapeA>;
