// Attention end to end: the encoding acts on the embedding, on queries and keys or on the scores,
// and what is compared is what attention makes of it.
#include <algorithm>

#include "golden/golden.h"
#include "tensor/ops.h"

namespace pesuite::golden {

namespace {

Values leading_one(Values v) {  // [H, T, D] -> [1, H, T, D]
  std::int64_t e[Shape::max_rank] = {1, v.shape[0], v.shape[1], v.shape[2]};
  v.shape = Shape::of(v.shape.rank() + 1, e);
  return v;
}

// [1, T, H E] of attention as [1, H, T, E]
Tensor by_head(Tape& t, Tensor o, std::int64_t H) {
  const int axes[] = {0, 2, 1, 3};
  const Shape s = t.shape(o);
  return ops::permute(t, ops::reshape(t, o, {1, s[1], H, s[2] / H}), axes);
}

void compare_gradients(Case& c, const Rig& p, const Response& r,
                       const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < names.size(); ++i) c.compare(names[i], r.gradients[i].data);
  for (const auto& [name, gradient] : p.parameter_gradients(r, names.size()))
    c.compare(name, gradient);
}

// Queries, keys or values [1, H, T, D] from x [1, T, W].
struct Projection {
  std::int64_t T, H, D;
  bool transposed;    // weights are [out, in]
  double eps = 1e-6;  // of the normalisation over all heads together, where there is a gain [W]
  Tensor operator()(Tape& t, Tensor x, Tensor weight, Tensor gain = {}) const {
    const int axes[] = {0, 2, 1, 3};
    Tensor y = ops::matmul(t, x, weight, transposed);
    if (gain) y = ops::norm(t, y, gain, {}, Norm::rms, eps);
    return ops::permute(t, ops::reshape(t, y, {1, T, H, D}), axes);
  }
};

}  // namespace

void check_attention(Case& c) {
  Rig p = c.rig();
  const std::vector<Values> inputs = {leading_one(c.v.input("q")), leading_one(c.v.input("k")),
                                      leading_one(c.v.input("v"))};
  const Build build = [&](Tape& t, std::span<const Tensor> x) -> std::vector<Tensor> {
    return {by_head(t, attend(t, p.attend(t, x[0], x[1], x[2])), p.heads())};
  };
  // forward alone runs another kernel than a step that will go backwards
  c.compare("O", p(inputs, build).outputs[0].data);
  const Response r = p(inputs, build, {leading_one(c.v.input("dO"))});
  c.compare("O", r.outputs[0].data);
  compare_gradients(c, p, r, {"dq", "dk", "dv"});
}

// x [T, W], wq, wk, wv [in, out]: h = what the encoding makes of x; q = h wq.
void check_embedding_attention(Case& c) {
  Rig p = c.rig();
  const Values x0 = c.v.input("x");
  const Projection heads{x0.shape[0], p.heads(), p.head_dim(), false};
  const std::vector<Values> inputs = {x0, c.v.input("wq"), c.v.input("wk"), c.v.input("wv")};
  const Build build = [&](Tape& t, std::span<const Tensor> x) -> std::vector<Tensor> {
    const Tensor h = p.embed(t, ops::reshape(t, x[0], {1, heads.T, x0.shape[1]}));
    const Tensor q = heads(t, h, x[1]), k = heads(t, h, x[2]), v = heads(t, h, x[3]);
    return {by_head(t, attend(t, p.attend(t, q, k, v)), p.heads())};
  };
  const Response r = p(inputs, build, {leading_one(c.v.input("dO"))});
  c.compare("O", r.outputs[0].data);
  compare_gradients(c, p, r, {"d_x", "d_wq", "d_wk", "d_wv"});
}

// x [T, W], wq, wk, wv [out, in] as torch's Linear, no output projection; where the vector has
// gains q_norm and k_norm [W], queries and keys are normalised over all heads together first.
void check_module_attention(Case& c) {
  Rig p = c.rig();
  const Values x0 = c.v.input("x");
  const Projection heads{x0.shape[0], p.heads(), p.head_dim(), true, c.v.number("rms_eps", 1e-6)};
  std::vector<Values> inputs = {x0, c.v.input("wq"), c.v.input("wk"), c.v.input("wv")};
  std::vector<std::string> names = {"d_x", "d_wq", "d_wk", "d_wv"};
  const bool normed = c.v.has_input("q_norm");
  if (normed)
    for (const char* gain : {"q_norm", "k_norm"}) {
      inputs.push_back(c.v.input(gain));
      names.push_back(std::string("d_") + gain);
    }
  const Build build = [&](Tape& t, std::span<const Tensor> x) -> std::vector<Tensor> {
    const Tensor h = p.embed(t, ops::reshape(t, x[0], {1, heads.T, x0.shape[1]}));
    const Tensor none;
    const Tensor q = heads(t, h, x[1], normed ? x[4] : none),
                 k = heads(t, h, x[2], normed ? x[5] : none), v = heads(t, h, x[3]);
    return {attend(t, p.attend(t, q, k, v, h))};  // [1, T, W]
  };
  const Response r = p(inputs, build, {c.v.input("dO")});
  c.compare("O", r.outputs[0].data);
  compare_gradients(c, p, r, names);
}

// What the encoding adds to embeddings of zeros.
void check_table(Case& c) {
  Rig p = c.rig();
  const std::int64_t T = p.length(), W = c.v.count("d_model");
  const Values zeros{{1, T, W}, std::vector<double>(static_cast<std::size_t>(T * W), 0.0)};
  const Build build = [&](Tape& t, std::span<const Tensor> x) -> std::vector<Tensor> {
    return {p.embed(t, x[0])};
  };
  const std::string output = c.compare.wants("pe") ? "pe" : "table";
  const bool differentiated = c.v.has_input("G");
  const Response r = differentiated ? p({zeros}, build, {c.v.input("G")}) : p({zeros}, build);
  c.compare(output, r.outputs[0].data);
  if (const auto positions = p.scattered(); positions && c.compare.wants("sorted_indices"))
    c.compare("sorted_indices", {positions->begin(), positions->end()});
  if (!differentiated) return;
  for (const auto& [name, gradient] : p.parameter_gradients(r, 1)) c.compare(name, gradient);
}

}  // namespace pesuite::golden
