// Calls the hooks of a built encoding on given tensors, on the reference backend.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "golden/rig.h"
#include "tests/support.h"

namespace pesuite::testing {

class Hooks {
 public:
  explicit Hooks(const std::string& expression, ModelShape shape = {1, 2, 2, 8, 16, 64, 4096})
      : catalog_(open_catalog({PESUITE_TEST_PLUGINS})),
        backend_(open_backend("reference", {})),
        encoding(catalog_, parse_expression(expression), shape) {
    for (std::size_t i = 0; i < encoding.parameters().size(); ++i) {
      const Shape s = encoding.parameters()[i].shape;
      std::vector<float> start(static_cast<std::size_t>(s.count()));
      encoding.init(i, 7, start);
      parameters.push_back({s, {start.begin(), start.end()}});
    }
  }

  // What becomes of the embeddings x [1, T, W] whose first token is at `offset`.
  std::vector<double> embed(const golden::Values& x, int offset = 0) {
    return run({x}, static_cast<int>(x.shape[1]), offset, [&](Tape& t, std::span<const Tensor> in) {
      return std::vector<Tensor>{encoding.embed(t, in[0])};
    })[0];
  }
  // Scores [1, H, T, T] of q [1, H, T, D] and k [1, G, T, D] before the mask; the encoding must
  // have no bias. x [1, T, W]: the layer's input, for one that reads it.
  std::vector<double> scores(const golden::Values& q, const golden::Values& k, int offset = 0,
                             const golden::Values& x = {}) {
    std::vector<golden::Values> inputs = {q, k};
    if (!x.data.empty()) inputs.push_back(x);
    return run(inputs, static_cast<int>(q.shape[2]), offset,
               [&](Tape& t, std::span<const Tensor> in) {
                 Attention a;
                 a.q = in[0], a.k = in[1], a.v = in[1];
                 a.scale = 1 / std::sqrt(static_cast<double>(q.shape[3]));
                 encoding.attend(t, 0, in.size() > 2 ? in[2] : Tensor{}, a);
                 EXPECT_FALSE(a.distance || a.bias || a.rewrite);
                 const Tensor s = ops::matmul(t, a.q, a.k, true);
                 return std::vector<Tensor>{ops::affine(t, s, a.scale, 0)};
               })[0];
  }
  // q, k after the encoding.
  std::vector<std::vector<double>> turned(const golden::Values& q, const golden::Values& k,
                                          int offset = 0) {
    return run({q, k}, static_cast<int>(q.shape[2]), offset,
               [&](Tape& t, std::span<const Tensor> in) {
                 Attention a;
                 a.q = in[0], a.k = in[1], a.v = in[1];
                 encoding.attend(t, 0, {}, a);
                 return std::vector<Tensor>{a.q, a.k};
               });
  }

 private:
  template <class F>
  std::vector<std::vector<double>> run(std::vector<golden::Values> inputs, int length, int offset,
                                       F body) {
    const std::size_t own = inputs.size();
    inputs.insert(inputs.end(), parameters.begin(), parameters.end());
    std::vector<Tensor> leaves;
    const golden::Response r = golden::run(
        *backend_, inputs, [&](Tape& t, std::span<const Tensor> all) -> std::vector<Tensor> {
          leaves.assign(all.begin() + static_cast<std::ptrdiff_t>(own), all.end());
          StepInfo s;
          s.batch = 1, s.length = length, s.offset = offset;
          encoding.begin(t, s, leaves);
          return body(t, all.first(own));
        });
    std::vector<std::vector<double>> out;
    for (const golden::Values& v : r.outputs) out.push_back(v.data);
    return out;
  }

  Catalog catalog_;
  std::unique_ptr<Backend> backend_;

 public:
  Encoding encoding;
  std::vector<golden::Values> parameters;
};

inline golden::Values drawn(const Shape& shape, std::uint64_t seed) {
  const Values v = random_values(shape, seed);
  return {v.shape, v.data};
}
inline golden::Values zeros(const Shape& shape) {
  return {shape, std::vector<double>(static_cast<std::size_t>(shape.count()), 0.0)};
}

}  // namespace pesuite::testing
