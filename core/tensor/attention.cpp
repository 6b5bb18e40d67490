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
  return {t.view(a.q),    t.view(a.k), t.view(a.v), t.view(a.distance),
          t.view(a.bias), a.scale,     0,           a.dropout};
}

Tensor fused(Tape& t, const Attention& a) {
  const Shape q = t.shape(a.q);
  const bool needs = t.needs_grad(a.q) || t.needs_grad(a.k) || t.needs_grad(a.v) ||
                     t.needs_grad(a.distance) || t.needs_grad(a.bias);
  const Tensor y = t.make({q[0], q[2], q[1] * t.shape(a.v)[3]}, needs);
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

// Rows of a block: as many as keep one block of scores near 4 MiB, but a multiple of 16.
std::int64_t block_rows(const Shape& q) {
  const std::int64_t budget = (std::int64_t{4} << 20) / 4;
  const std::int64_t rows = budget / std::max<std::int64_t>(1, q[0] * q[1] * q[2]);
  return std::clamp<std::int64_t>(rows / 16 * 16, 16, std::max<std::int64_t>(16, q[2]));
}

// [rows, S] of 1 where the key is visible, and the distances i - j, clamped at 0.
struct Geometry {
  Tensor visible, distances;
};
Geometry geometry(Tape& t, std::int64_t first, std::int64_t rows, std::int64_t keys) {
  std::vector<double> visible, distance;
  for (std::int64_t i = first; i < first + rows; ++i)
    for (std::int64_t j = 0; j < keys; ++j) {
      visible.push_back(j <= i ? 1 : 0);
      distance.push_back(static_cast<double>(std::max<std::int64_t>(0, i - j)));
    }
  return {t.constant({rows, keys}, visible.data()), t.constant({1, rows, keys}, distance.data())};
}

// One block of rows, first .. first + rows - 1: [B, rows, H E].
Tensor composed_rows(Tape& t, const Attention& a, std::int64_t first, std::int64_t rows) {
  using namespace ops;
  const Shape sq = t.shape(a.q), sk = t.shape(a.k);
  const std::int64_t B = sq[0], H = sq[1], G = sk[1], keys = first + rows;
  const std::int64_t E = t.shape(a.v)[3];
  const Geometry g = geometry(t, first, rows, keys);
  const Tensor q = slice(t, a.q, 2, first, rows);  // [B, H, rows, D]
  const Tensor k = slice(t, a.k, 2, 0, keys);      // [B, G, keys, D]
  const Tensor v = slice(t, a.v, 2, 0, keys);      // [B, G, keys, E]
  // the H / G heads of a group share their keys: they are rows of one product
  const Tensor grouped = reshape(t, q, {B, G, H / G * rows, sq[3]});
  Tensor scores = affine(t, matmul(t, grouped, k, true), a.scale, 0);
  scores = reshape(t, scores, {B, H, rows, keys});
  if (a.distance) {
    const Shape d = t.shape(a.distance);
    scores = binary(t, Binary::add, scores,
                    take(t, reshape(t, a.distance, {d[0], 1, d[1]}), g.distances));
  }
  if (a.bias) {
    Tensor bias = a.bias;
    if (t.shape(bias)[-1] > 1) bias = slice(t, bias, -1, 0, keys);
    if (t.shape(bias).rank() > 1 && t.shape(bias)[-2] > 1) bias = slice(t, bias, -2, first, rows);
    scores = binary(t, Binary::add, scores, bias);
  }
  scores = a.rewrite.call(a.rewrite.self, t, scores, q, k, g.visible, first);
  if (!scores) return {};
  if (!(t.shape(scores) == Shape{B, H, rows, keys}))
    return t.fail(fmt::format("the rewritten scores are {}, wanted {}", t.shape(scores).text(),
                              Shape{B, H, rows, keys}.text()));
  Tensor p = softmax(t, scores, first);
  if (a.dropout.p > 0) {
    Dropout d = a.dropout;
    d.purpose += static_cast<std::uint32_t>(first);  // each block drops its own elements
    p = dropout(t, p, d);
  }
  const Tensor y = matmul(t, reshape(t, p, {B, G, H / G * rows, keys}), v, false);
  const int axes[] = {0, 2, 1, 3};
  return reshape(t, permute(t, reshape(t, y, {B, H, rows, E}), axes), {B, rows, H * E});
}

Tensor composed(Tape& t, const Attention& a) {
  const Shape q = t.shape(a.q);
  const std::int64_t length = q[2], step = block_rows(q);
  // what the rewriter reads besides (parameters, the layer's input) needs gradients too
  const bool needs = t.recording();
  const Tensor y = t.make({q[0], length, q[1] * t.shape(a.v)[3]}, needs);
  for (std::int64_t first = 0; first < length; first += step) {
    const Tape::Pause pause(t);
    const std::int64_t rows = std::min(step, length - first);
    const Tape::Mark mark = t.mark();
    const Tensor block = composed_rows(t, a, first, rows);
    if (!block) return {};
    t.backend().copy(t.out(y), first, t.view(block), 0, 1, rows);
    t.release_since(mark);
  }
  for (const Tensor x : {a.q, a.k, a.v, a.distance, a.bias}) t.keep(x);
  if (needs)
    t.record(y, [=](Tape& t) {
      t.set_recording(true);
      for (std::int64_t first = 0; first < length; first += step) {
        const std::int64_t rows = std::min(step, length - first);
        const Tape::Mark mark = t.mark();
        const Tensor block = composed_rows(t, a, first, rows);
        if (!block) break;
        t.backend().copy(t.grad(block), 0, t.grad_view(y), first, 1, rows);
        t.backward_to(mark);
        t.release_since(mark);
      }
    });
  return y;
}

}  // namespace

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
