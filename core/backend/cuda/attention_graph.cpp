#include "backend/cuda/attention_graph.h"

#include <utility>

namespace pesuite::cuda {

namespace {

class Builder {
 public:
  explicit Builder(const AttentionRequest& r) : r_(r) {}

  Graph forward(bool keeps_lse) {
    const Id q = queries(Slot::q), k = turned_keys(Slot::k, r_.D), v = keys(Slot::v, r_.E);
    const Id y = outputs(Slot::y);
    Id x = inner_scores();
    g_.into(x, Op::matmul, q, k);
    x = masked(with_biases(g_.apply(Op::mul, x, g_.number(Slot::scale))));
    const Id most = g_.inner(row());
    g_.into(most, Op::row_max, x);
    const Id e = g_.apply(Op::exp, g_.apply(Op::sub, x, most));
    const Id total = g_.inner(row());
    g_.into(total, Op::sum, e);
    // Inference must have these two nodes as well, or no engine is found.
    const Id log = g_.apply(Op::log, total);
    const Id lse = keeps_lse ? g_.bound(Slot::lse, row(), Type::fp32) : g_.inner(row());
    g_.into(lse, Op::add, most, log);
    Id p;
    if (r_.dropout > 0) {
      draw();
      p = g_.apply(Op::mul, g_.apply(Op::div, e, total), kept_);
      p = g_.apply(Op::mul, p, inverse_keep_, r_.io);
    } else {
      p = g_.apply(Op::div, e, total, r_.io);
    }
    g_.into(y, Op::matmul, p, v);
    return std::move(g_);
  }

  Graph backward() {
    const Id q = queries(Slot::q), k = turned_keys(Slot::k, r_.D), v = turned_keys(Slot::v, r_.E);
    const Id dy = outputs(Slot::dy), lse = g_.bound(Slot::lse, row(), Type::fp32);
    const bool drops = r_.dropout > 0;
    if (drops) draw();
    const Id sums = row_sums(dy);

    const Id scale = g_.number(Slot::scale);
    Id x = inner_scores();
    g_.into(x, Op::matmul, q, k);
    x = with_biases(g_.apply(Op::mul, x, scale));
    // Unlike in the forward graph, the mask comes after the subtraction.
    const Id e = g_.apply(Op::exp, masked(g_.apply(Op::sub, x, lse)));
    Id p = e;
    if (drops) p = g_.apply(Op::mul, g_.apply(Op::mul, e, kept_), inverse_keep_);
    into_keys(Slot::dv, r_.E, turned(p), dy);

    Id dx = inner_scores();
    g_.into(dx, Op::matmul, dy, v);
    if (drops) dx = g_.apply(Op::mul, dx, kept_);
    dx = g_.apply(Op::mul, g_.apply(Op::sub, dx, sums), e);
    if (drops) dx = g_.apply(Op::mul, dx, inverse_keep_);
    if (r_.dbias) g_.into(bias_of(Slot::dbias, *r_.dbias), Op::sum, dx);
    dx = g_.apply(Op::mul, dx, scale);
    into_keys(Slot::dk, r_.D, turned(dx), q);
    into_queries(dx, k);
    return std::move(g_);
  }

 private:
  Four row() const { return {r_.B, r_.H, r_.T, 1}; }
  Id inner_scores() { return g_.inner({r_.B, r_.H, r_.T, r_.S}); }

  // Strides of [B, heads, length, size].
  Four strides(std::int64_t heads, std::int64_t length, std::int64_t size) const {
    if (r_.layout == Layout::by_head) return {heads * length * size, length * size, size, 1};
    const std::int64_t token =
        r_.layout == Layout::packed ? r_.H * r_.D + r_.G * (r_.D + r_.E) : heads * size;
    return {length * token, size, token, 1};
  }
  Id queries(Slot s) {
    return g_.bound(s, {r_.B, r_.H, r_.T, r_.D}, strides(r_.H, stored_queries(r_), r_.D), r_.io);
  }
  Id keys(Slot s, std::int64_t size) {
    return g_.bound(s, {r_.B, r_.G, r_.S, size}, strides(r_.G, stored_keys(r_), size), r_.io);
  }
  // The same memory as [B, G, size, S].
  Id turned_keys(Slot s, std::int64_t size) {
    Four st = strides(r_.G, stored_keys(r_), size);
    std::swap(st[2], st[3]);
    return g_.bound(s, {r_.B, r_.G, size, r_.S}, st, r_.io);
  }
  Id outputs(Slot s) {
    return g_.bound(s, {r_.B, r_.H, r_.T, r_.E},
                    {stored_queries(r_) * r_.H * r_.E, r_.E, r_.H * r_.E, 1}, r_.io);
  }
  Id bias_of(Slot s, const BiasForm& b) {
    const std::int64_t map = b.shape[2] * b.pitch;
    return g_.bound(s, {b.shape[0], b.shape[1], b.shape[2], b.shape[3]},
                    {b.shape[1] * map, map, b.pitch, 1}, b.type);
  }

  Id with_biases(Id x) {
    for (std::size_t i = 0; i < r_.biases.size(); ++i)
      x = g_.apply(Op::add, x, bias_of(i == 0 ? Slot::bias_a : Slot::bias_b, r_.biases[i]));
    if (!r_.slopes) return x;
    const Id i = g_.index(x, 2, Type::int32), j = g_.index(x, 3, Type::int32);
    const Id d = g_.apply(Op::sub, j, i, Type::int32, Type::int32);
    const Id slopes = g_.bound(Slot::slopes, {1, r_.H, 1, 1}, Type::fp32);
    return g_.apply(Op::add, x, g_.apply(Op::mul, d, slopes));
  }
  // By generated indices and never by -inf in a bias: only this covers the tail of the last tile.
  Id masked(Id x) {
    if (!r_.causal) return x;
    const Id i = g_.index(x, 2, Type::fp32), j = g_.index(x, 3, Type::fp32);
    const Id sees = g_.apply(Op::greater_equal, i, j, Type::boolean, Type::boolean);
    return g_.select(sees, x, g_.number(Slot::minus_infinity));
  }
  void draw() {
    const Id seed = g_.bound(Slot::seed, {1, 1, 1, 1}, Type::int64);
    const Id offset = g_.bound(Slot::offset, {1, 1, 1, 1}, Type::int64);
    kept_ = inner_scores();
    g_.into(kept_, Op::bernoulli, seed, offset);
    g_.nodes.back().probability = 1 - r_.dropout;
    inverse_keep_ = g_.number(Slot::inverse_keep);
  }
  // rowsum(dy y), times the probability of being kept, by which p was divided. The factor is 1
  // without dropout, and the node still has to be there.
  Id row_sums(Id dy) {
    const Id y = outputs(Slot::y);
    const std::int64_t T = r_.T, H = r_.H, E = r_.E;
    const Id product = g_.inner({r_.B, H, T, E}, {H * T * E, T * E, H * E, 1}, Type::fp32);
    g_.into(product, Op::mul, dy, y);
    const Id sum = g_.inner(row());
    g_.into(sum, Op::sum, product);
    const Id scaled = g_.bound(Slot::row_sums, row(), Type::fp32);
    g_.into(scaled, Op::mul, sum, g_.number(Slot::keep));
    return scaled;
  }
  // [B, H, S, T]: the transpose, as a view.
  Id turned(Id scores) {
    const std::int64_t T = r_.T, S = r_.S;
    const Id y = g_.inner({r_.B, r_.H, S, T}, {r_.H * T * S, T * S, 1, S}, r_.io);
    g_.into(y, Op::view, scores);
    return y;
  }
  // A gradient [B, G, S, size] = x y, summed over the query heads of a group.
  void into_keys(Slot s, std::int64_t size, Id x, Id y) {
    const Id to = keys(s, size);
    if (r_.G == r_.H) return g_.into(to, Op::matmul, x, y);
    const Id each = g_.inner({r_.B, r_.H, r_.S, size}, r_.io);
    g_.into(each, Op::matmul, x, y);
    g_.into(to, Op::sum, each);
  }
  void into_queries(Id dx, Id turned_k) {
    const Id k =
        g_.inner({r_.B, r_.G, r_.S, r_.D}, strides(r_.G, stored_keys(r_), r_.D), Type::fp32);
    g_.into(k, Op::view, turned_k);
    const Id dq = queries(Slot::dq);
    if (sums_in_order(r_)) return g_.into(dq, Op::matmul, dx, k);
    const Id sums = g_.bound(Slot::dq_sums, {r_.B, r_.H, r_.T, r_.D}, Type::fp32);
    g_.into(sums, Op::matmul, dx, k);
    g_.into(dq, Op::identity, sums);
  }

  const AttentionRequest& r_;
  Graph g_;
  Id kept_ = no_tensor, inverse_keep_ = no_tensor;
};

}  // namespace

Graph attention_graph(const AttentionRequest& r, Pass pass) {
  Builder builder(r);
  return pass == Pass::backward ? builder.backward() : builder.forward(pass == Pass::forward);
}

}  // namespace pesuite::cuda
