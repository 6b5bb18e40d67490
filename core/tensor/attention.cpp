#include "tensor/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace pesuite {

namespace {

// A reason why the parts do not fit, or "".
std::string misfit(Tape& t, const Attention& a) {
  const Shape q = t.shape(a.q), k = t.shape(a.k), v = t.shape(a.v);
  const auto all = [&] { return fmt::format("q {}, k {}, v {}", q.text(), k.text(), v.text()); };
  if (q.rank() != 4 || k.rank() != 4 || v.rank() != 4)
    return fmt::format("attention: {}: each needs four axes", all());
  if (q[0] != k[0] || q[2] != k[2] || q[3] != k[3])
    return fmt::format("attention: {}: batch, length and head size of q and k must agree", all());
  if (v[0] != k[0] || v[1] != k[1] || v[2] != k[2])
    return fmt::format("attention: {}: batch, heads and length of k and v must agree", all());
  if (q[1] % k[1] != 0)
    return fmt::format("attention: {}: query heads are no multiple of key heads", all());
  if (a.distance) {
    const Shape d = t.shape(a.distance);
    if (d.rank() != 2 || (d[0] != 1 && d[0] != q[1]) || d[1] < q[2])
      return fmt::format("attention: the slot distance is {}, wanted [{} or 1, {} or more]",
                         d.text(), q[1], q[2]);
  }
  if (a.bias) {
    const Shape full = {q[0], q[1], q[2], k[2]};
    const auto b = broadcast(t.shape(a.bias), full);
    if (!b || !(*b == full))
      return fmt::format("attention: the slot bias is {}, which does not broadcast to {}",
                         t.shape(a.bias).text(), full.text());
  }
  return "";
}

AttentionInput kernel_input(Tape& t, const Attention& a) {
  return {t.view(a.q), t.view(a.k), t.view(a.v), t.view(a.distance),  t.view(a.bias),
          a.scale,     0,           a.dropout,   t.slopes(a.distance)};
}

Tensor fused(Tape& t, const Attention& given) {
  Attention a = given;
  if (t.storage(a.q) != t.storage(a.k) || t.storage(a.k) != t.storage(a.v))
    a.q = ops::own(t, a.q), a.k = ops::own(t, a.k), a.v = ops::own(t, a.v);
  const Shape q = t.shape(a.q);
  const bool needs = t.needs_grad(a.q) || t.needs_grad(a.k) || t.needs_grad(a.v) ||
                     t.needs_grad(a.distance) || t.needs_grad(a.bias);
  const Tensor y = t.make({q[0], q[2], q[1] * t.shape(a.v)[3]}, needs, t.backend().activations());
  const Tensor lse = t.make({q[0], q[1], q[2]}, false);
  t.backend().attention_forward(t.out(y), t.out(lse), kernel_input(t, a));
  if (t.needs_grad(y)) {
    for (const Tensor x : {a.q, a.k, a.v, a.distance, a.bias, y, lse}) t.keep(x);
    t.record(y, [=](Tape& t) {
      t.backend().attention_backward(t.grad(a.q), t.grad(a.k), t.grad(a.v), t.grad(a.distance),
                                     t.grad(a.bias), t.grad_view(y), t.view(y), t.view(lse),
                                     kernel_input(t, a));
    });
  }
  return y;
}

// Rows of a block: as many as keep a tensor of its scores near 512 KiB, so that the few that an op
// touches stay in the second-level caches, but a multiple of 16.
std::int64_t block_rows(const Shape& q) {
  const std::int64_t budget = (std::int64_t{512} << 10) / 4;
  const std::int64_t rows = budget / std::max<std::int64_t>(1, q[0] * q[1] * q[2]);
  return std::clamp<std::int64_t>(rows / 16 * 16, 16, std::max<std::int64_t>(16, q[2]));
}

struct Block {
  std::int64_t first, rows;
  std::int64_t keys() const { return first + rows; }
};

// value(i, j) of query `first` + i and key j, as a constant of `shape`.
template <class F>
Tensor by_place(Tape& t, const Shape& shape, Block b, F value) {
  thread_local std::vector<float> all;  // kept: steps after the first allocate nothing
  all.resize(static_cast<std::size_t>(b.rows * b.keys()));
  float* to = all.data();
  for (std::int64_t i = b.first; i < b.first + b.rows; ++i)
    for (std::int64_t j = 0; j < b.keys(); ++j) *to++ = value(i, j);
  return t.constant(shape, all.data());
}
Tensor visible(Tape& t, Block b) {  // 1 where the row sees the key
  return by_place(t, {b.rows, b.keys()}, b,
                  [](std::int64_t i, std::int64_t j) { return j <= i ? 1.0f : 0.0f; });
}
Tensor distances(Tape& t, Block b) {  // i - j, 0 where the row does not see the key
  return by_place(t, {1, b.rows, b.keys()}, b, [](std::int64_t i, std::int64_t j) {
    return static_cast<float>(std::max<std::int64_t>(0, i - j));
  });
}

// A gradient that is added to, block by block.
Out accumulator(Tape& t, Tensor x) {
  Out g = t.grad(x);
  if (g && !g.add) t.backend().fill(g, 0);
  g.add = true;
  return g;
}

// Probabilities of one block, [B, H, rows, keys].
Tensor probabilities(Tape& t, const Attention& a, View packed_k, Block b) {
  using namespace ops;
  const Shape sq = t.shape(a.q), sk = t.shape(a.k);
  const std::int64_t B = sq[0], H = sq[1], keys = b.keys();
  const Tensor q = t.later({B, H, b.rows, sq[3]},
                           [q = a.q, b](Tape& t) { return slice(t, q, 2, b.first, b.rows); });
  const Tensor k = t.later({B, sk[1], keys, sk[3]},
                           [k = a.k, keys](Tape& t) { return slice(t, k, 2, 0, keys); });
  const Tensor seen = t.later({b.rows, keys}, [b](Tape& t) { return visible(t, b); });
  Tensor scores = t.make({B, H, b.rows, keys}, t.needs_grad(a.q) || t.needs_grad(a.k));
  t.backend().score_rows_forward(t.out(scores), t.view(a.q), packed_k, b.first, a.scale);
  if (t.needs_grad(scores))
    t.record(scores, [scores, q = a.q, k = a.k, scale = a.scale, b](Tape& t) {
      t.backend().score_rows_backward(accumulator(t, q), accumulator(t, k), t.grad_view(scores),
                                      t.view(q), t.view(k), b.first, scale);
    });
  if (a.distance) {
    const Shape d = t.shape(a.distance);
    scores = binary(t, Binary::add, scores,
                    take(t, reshape(t, a.distance, {d[0], 1, d[1]}), distances(t, b)));
  }
  if (a.bias) {
    Tensor bias = a.bias;
    if (t.shape(bias)[-1] > 1) bias = slice(t, bias, -1, 0, keys);
    if (t.shape(bias).rank() > 1 && t.shape(bias)[-2] > 1)
      bias = slice(t, bias, -2, b.first, b.rows);
    scores = binary(t, Binary::add, scores, bias);
  }
  if (a.rewrite) scores = a.rewrite.call(a.rewrite.self, t, scores, q, k, seen, b.first);
  if (!scores) return {};
  if (!(t.shape(scores) == Shape{B, H, b.rows, keys}))
    return t.fail(fmt::format("the rewritten scores are {}, wanted {}", t.shape(scores).text(),
                              Shape{B, H, b.rows, keys}.text()));
  const Tensor p = softmax(t, t.now(scores), b.first);
  Dropout d = a.dropout;
  d.purpose += static_cast<std::uint32_t>(b.first);  // each block drops its own elements
  return dropout(t, p, d);
}

// k or v in the layout that the products of a block read.
Out packed(Tape& t, Tensor x) {
  const Out to = t.scratch(t.backend().packed_shape(t.shape(x)));
  t.backend().pack_keys(to, t.view(x));
  return to;
}

Tensor composed(Tape& t, const Attention& a) {
  const Shape q = t.shape(a.q);
  const std::int64_t length = q[2], step = block_rows(q);
  // what the rewriter reads besides (parameters, the layer's input) needs gradients too
  const bool needs = t.recording();
  const Tensor y = t.make({q[0], length, q[1] * t.shape(a.v)[3]}, needs);
  const auto each_block = [length, step](auto body) {
    for (std::int64_t first = 0; first < length; first += step)
      if (!body(Block{first, std::min(step, length - first)})) return false;
    return true;
  };
  const Out packed_k = packed(t, a.k);
  const bool done = each_block([&](Block b) {
    const Tape::Pause pause(t);
    const Tape::Mark mark = t.mark();
    const Tensor p = probabilities(t, a, packed_k.view(), b);
    if (p) t.backend().mix_rows_forward(t.out(y), t.view(p), t.view(a.v), b.first);
    t.release_since(mark);
    return static_cast<bool>(p);
  });
  t.release(packed_k);
  if (!done) return {};
  for (const Tensor x : {a.q, a.k, a.v, a.distance, a.bias}) t.keep(x);
  t.keep_all();
  if (needs)
    t.record(y, [=](Tape& t) {
      t.set_recording(true);
      const Out keys = packed(t, a.k), values = packed(t, a.v);
      each_block([&](Block b) {
        const Tape::Mark mark = t.mark();
        const Tensor p = probabilities(t, a, keys.view(), b);
        if (!p) return false;
        t.backend().mix_rows_backward(t.grad(p), accumulator(t, a.v), t.grad_view(y), t.view(p),
                                      values.view(), b.first);
        t.backward_to(mark);
        t.release_since(mark);
        return true;
      });
      t.release(values);
      t.release(keys);
    });
  return y;
}

}  // namespace

bool each_probability(Tape& t, const Attention& a,
                      const std::function<void(std::int64_t first, Tensor p)>& body) {
  if (!a.q || !a.k || !a.v) return false;
  if (std::string reason = misfit(t, a); !reason.empty()) {
    t.fail(std::move(reason));
    return false;
  }
  const Tape::Pause pause(t);
  Attention plain = a;
  plain.dropout.p = 0;
  const std::int64_t length = t.shape(a.q)[2], step = block_rows(t.shape(a.q));
  const Out packed_k = packed(t, a.k);
  bool made = true;
  for (std::int64_t first = 0; made && first < length; first += step) {
    const Tape::Mark mark = t.mark();
    const Tensor p =
        probabilities(t, plain, packed_k.view(), {first, std::min(step, length - first)});
    if (p) body(first, p);
    made = static_cast<bool>(p);
    t.release_since(mark);
  }
  t.release(packed_k);
  return made;
}

AttentionPath path_of(const Attention& a) {
  if (a.rewrite) return AttentionPath::composed;
  return a.bias ? AttentionPath::bias : AttentionPath::fused;
}

Tensor attend(Tape& t, const Attention& a) {
  if (!a.q || !a.k || !a.v) return {};
  if (std::string reason = misfit(t, a); !reason.empty()) return t.fail(std::move(reason));
  return path_of(a) == AttentionPath::composed ? composed(t, a) : fused(t, a);
}

}  // namespace pesuite
