#include "tensor/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "base/error.h"

namespace pesuite {

namespace {

// A reason why the parts do not fit, or "".
std::string misfit(Tape& t, const Attention& a) {
  const Shape q = t.shape(a.q), k = t.shape(a.k), v = t.shape(a.v);
  const auto all = [&] { return fmt::format("q {}, k {}, v {}", q.text(), k.text(), v.text()); };
  if (q.rank() != 4 || k.rank() != 4 || v.rank() != 4)
    return fmt::format("attention: {}: each needs four axes", all());
  const std::int64_t keys = a.first + q[2];
  const bool long_enough = a.first > 0 ? k[2] >= keys : k[2] == keys;
  if (q[0] != k[0] || !long_enough || q[3] != k[3])
    return fmt::format("attention: {}: batch, length and head size of q and k must agree", all());
  if (v[0] != k[0] || v[1] != k[1] || v[2] != k[2])
    return fmt::format("attention: {}: batch, heads and length of k and v must agree", all());
  if (q[1] % k[1] != 0)
    return fmt::format("attention: {}: query heads are no multiple of key heads", all());
  if (a.distance) {
    const Shape d = t.shape(a.distance);
    if (d.rank() != 2 || (d[0] != 1 && d[0] != q[1]) || d[1] < keys)
      return fmt::format("attention: the slot distance is {}, wanted [{} or 1, {} or more]",
                         d.text(), q[1], keys);
  }
  if (a.bias) {
    const Shape full = {q[0], q[1], keys, keys};
    const auto b = broadcast(t.shape(a.bias), full);
    if (!b || !(*b == full))
      return fmt::format("attention: the slot bias is {}, which does not broadcast to {}",
                         t.shape(a.bias).text(), full.text());
  }
  PES_CHECK(a.starts.empty() || std::ssize(a.starts) == q[0] * q[2]);
  return "";
}

AttentionInput kernel_input(Tape& t, const Attention& a) {
  const Tape::Level level = t.level(a.distance);
  return {
      t.view(a.q), t.view(a.k), t.view(a.v), t.view(a.distance),   t.view(a.bias),
      a.scale,     a.first,     a.dropout,   t.slopes(a.distance), level.axis == 1 ? level.from : 0,
      a.starts};
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

struct Block {
  std::int64_t first, rows;
  std::int64_t keys() const { return first + rows; }
};

// query - key + more, or 0 where that is less: [rows, keys]. Made where the tape computes, as a
// number for each two tokens takes long to bring there; at once, as who asks is making a tensor of
// Tape::later.
Tensor ahead(Tape& t, Block b, float more) {
  thread_local std::vector<float> places;  // kept: steps after the first allocate nothing
  const auto counted = [&](const Shape& shape, float first) {
    places.resize(static_cast<std::size_t>(shape.count()));
    std::iota(places.begin(), places.end(), first);
    return t.constant(shape, places.data());
  };
  const Tensor queries = counted({b.rows, 1}, static_cast<float>(b.first) + more);
  const Tensor keys = counted({1, b.keys()}, 0);
  return t.now(ops::unary(t, Unary::relu, ops::binary(t, Binary::sub, queries, keys)));
}
Tensor visible(Tape& t, Block b) {  // 1 where the row sees the key, else 0
  const float one = 1;
  return t.now(ops::binary(t, Binary::min, ahead(t, b, 1), t.constant({1}, &one)));
}
Tensor distances(Tape& t, Block b) {  // i - j, 0 where the row does not see the key
  return ops::reshape(t, ahead(t, b, 0), {1, b.rows, b.keys()});
}

// [B, 1, rows, keys]: where `starts` hide the key from the row more than any score is, else 0.
// Finite, so that a kernel may begin with keys that are all hidden.
Tensor before_starts(Tape& t, const Attention& a, Block b) {
  const Shape q = t.shape(a.q);
  std::vector<float> mask(static_cast<std::size_t>(q[0] * b.rows * b.keys()), 0.0f);
  for (std::int64_t n = 0; n < q[0] * b.rows; ++n) {
    const std::int64_t i = n / b.rows * q[2] + b.first - a.first + n % b.rows;
    std::fill_n(mask.begin() + n * b.keys(), a.starts[static_cast<std::size_t>(i)], -1e30f);
  }
  return t.constant({q[0], 1, b.rows, b.keys()}, mask.data());
}

// A gradient that is added to, block by block.
Out accumulator(Tape& t, Tensor x) {
  Out g = t.grad(x);
  if (g && !g.add) t.backend().fill(g, 0);
  g.add = true;
  return g;
}

// k or v in the layout that the products of a block read, made when the first block wants it.
class Packed {
 public:
  Packed(Tape& t, Tensor x) : tape_(t), x_(x) {}
  Packed(const Packed&) = delete;
  Packed& operator=(const Packed&) = delete;
  ~Packed() {
    if (memory_) tape_.release(memory_);
  }
  View view() {
    if (!memory_) {
      memory_ = tape_.scratch(tape_.backend().packed_shape(tape_.shape(x_)));
      tape_.backend().pack_keys(memory_, tape_.view(x_));
    }
    return memory_.view();
  }

 private:
  Tape& tape_;
  Tensor x_;
  Out memory_;
};

// The block's part of the slot bias, which broadcasts to [B, H, T, S].
Tensor bias_rows(Tape& t, Tensor bias, Block b) {
  if (t.shape(bias)[-1] > 1) bias = ops::slice(t, bias, -1, 0, b.keys());
  if (t.shape(bias).rank() > 1 && t.shape(bias)[-2] > 1)
    bias = ops::slice(t, bias, -2, b.first, b.rows);
  return bias;
}

// Scores of one block before they are rewritten, [B, H, rows, keys].
Tensor score_rows(Tape& t, const Attention& a, View packed_k, Block b) {
  using namespace ops;
  const Shape q = t.shape(a.q);
  Tensor scores = t.make({q[0], q[1], b.rows, b.keys()}, t.needs_grad(a.q) || t.needs_grad(a.k));
  t.backend().score_rows_forward(t.out(scores), t.view(a.q), packed_k, b.first, a.scale);
  if (t.needs_grad(scores))
    t.record(scores, [scores, q = a.q, k = a.k, scale = a.scale, b](Tape& t) {
      t.backend().score_rows_backward(accumulator(t, q), accumulator(t, k), t.grad_view(scores),
                                      t.view(q), t.view(k), b.first, scale);
    });
  scores = softcapped(t, scores, a.softcap);
  if (a.distance) {
    const Shape d = t.shape(a.distance);
    scores = binary(t, Binary::add, scores,
                    take(t, reshape(t, a.distance, {d[0], 1, d[1]}), distances(t, b)));
  }
  return a.bias ? binary(t, Binary::add, scores, bias_rows(t, a.bias, b)) : scores;
}

// What a block's scores have become.
struct Rewritten {
  Tensor scores;       // [B, H, rows, keys]; null with a failure
  bool added = false;  // only `bias` was added to them, and they are not made
  Tensor bias;         // null: none; broadcasts to [B, H, rows, keys]
};
// `a` and `packed_k` must live until the tape has forgotten the block.
Rewritten rewritten(Tape& t, const Attention& a, Packed& packed_k, Block b) {
  const Shape sq = t.shape(a.q), sk = t.shape(a.k);
  const std::int64_t B = sq[0], H = sq[1], keys = b.keys();
  const Shape shape = {B, H, b.rows, keys};
  const Tensor q = t.later({B, H, b.rows, sq[3]},
                           [q = a.q, b](Tape& t) { return ops::slice(t, q, 2, b.first, b.rows); });
  const Tensor k = t.later({B, sk[1], keys, sk[3]},
                           [k = a.k, keys](Tape& t) { return ops::slice(t, k, 2, 0, keys); });
  const Tensor seen = t.later({b.rows, keys}, [b](Tape& t) { return visible(t, b); });
  const Tensor scores =
      t.later(shape, [&a, &packed_k, b](Tape& t) { return score_rows(t, a, packed_k.view(), b); });
  Tensor made = scores;
  if (a.rewrite) {
    const Tape::Patience patience(t);
    made = a.rewrite.call(a.rewrite.self, t, scores, q, k, seen, b.first);
  }
  if (!made) return {};
  if (!(t.shape(made) == shape)) {
    t.fail(
        fmt::format("the rewritten scores are {}, wanted {}", t.shape(made).text(), shape.text()));
    return {};
  }
  if (t.unmade(scores) && a.softcap == 0) {
    if (made.id == scores.id) return {made, true, {}};
    const Tape::Terms sum = t.terms(made);
    if (sum.how == Tape::Terms::sum && sum.a.id == scores.id) return {made, true, sum.b};
  }
  return {t.now(made), false, {}};
}

// Probabilities of a block's scores, [B, H, rows, keys].
Tensor probabilities(Tape& t, const Attention& a, Tensor scores, Block b) {
  scores = t.now(scores);
  if (!a.starts.empty()) scores = ops::binary(t, Binary::add, scores, before_starts(t, a, b));
  const Tensor p = ops::softmax(t, scores, b.first);
  Dropout d = a.dropout;
  d.purpose += static_cast<std::uint32_t>(b.first);  // each block drops its own elements
  return ops::dropout(t, p, d);
}

// Rows of a block: as many as keep a tensor of `examples` blocks of scores near the `numbers` that
// the backend makes at a time, but a multiple of `unit`.
std::int64_t block_rows(std::int64_t numbers, const Shape& q, std::int64_t examples,
                        std::int64_t unit) {
  const std::int64_t rows = numbers / std::max<std::int64_t>(1, examples * q[1] * q[2]);
  return std::clamp<std::int64_t>(rows / unit * unit, unit, std::max(unit, q[2]));
}
// Where probabilities drop, each block draws its own: blocks are then the same on every backend.
std::int64_t composed_rows(Tape& t, const Attention& a) {
  const Shape q = t.shape(a.q);
  constexpr std::int64_t for_all = std::int64_t{1} << 17;
  return block_rows(a.dropout.p > 0 ? for_all : t.backend().scores_at_a_time(), q, q[0], 16);
}
// The same where the rewriter does no more than add, tried on the first row: what it adds is mostly
// the same for all examples, and the fused kernel takes 64 rows at a time.
std::int64_t rewritten_rows(Tape& t, const Attention& a, Packed& packed_k) {
  const Shape q = t.shape(a.q);
  const Tape::Pause pause(t);
  const Tape::Mark mark = t.mark();
  const Rewritten r = rewritten(t, a, packed_k, {0, 1});
  const Shape bias = r.bias ? t.shape(r.bias) : Shape();
  t.release_since(mark);
  if (!r.added) return composed_rows(t, a);
  return block_rows(t.backend().scores_at_a_time(), q, bias.rank() == 4 ? bias[0] : 1, 64);
}

// A block whose rewriter did nothing but add: its part of the slots and what was added, in the
// fused kernel.
struct Added {
  Tensor bias;  // null: none
  AttentionInput input;
  Added(Tape& t, const Attention& a, Tensor more, Block b) : bias(more), input(kernel_input(t, a)) {
    if (a.bias) {
      bias = bias_rows(t, a.bias, b);
      if (more) bias = ops::binary(t, Binary::add, bias, more);
    }
    input.bias = t.view(bias);
    input.row = b.first, input.rows = b.rows;
  }
};

// The rows of y before `from` are not made. Rows that are skipped come with what else is in their
// block, as the numbers of a row depend on where its block ends.
Tensor by_blocks(Tape& t, const Attention& a, std::int64_t from, AttentionPath& taken) {
  const Shape q = t.shape(a.q);
  const std::int64_t length = q[2];
  // what the rewriter reads besides (parameters, the layer's input) needs gradients too
  const bool needs = t.recording();
  const Tensor y = t.make({q[0], length, q[1] * t.shape(a.v)[3]}, needs);
  const Tensor lse = t.make({q[0], q[1], length}, false);  // of blocks to which was added
  Tape::Watch watch(t);  // the backward pass asks the rewriter again
  Packed packed_k(t, a.k);
  const std::int64_t step = rewritten_rows(t, a, packed_k);
  const std::int64_t begin = a.skipped > 0 ? from / step * step : from;
  for (std::int64_t first = begin; first < length; first += step) {
    const Tape::Pause pause(t);
    const Tape::Mark mark = t.mark();
    const Block b{first, std::min(step, length - first)};
    const Rewritten r = rewritten(t, a, packed_k, b);
    if (r.added) {
      const Added block(t, a, r.bias, b);
      t.backend().attention_forward(t.out(y), t.out(lse), block.input);
      taken = std::max(taken, block.bias ? AttentionPath::bias : AttentionPath::fused);
    } else if (r.scores) {
      const Tensor p = probabilities(t, a, r.scores, b);
      t.backend().mix_rows_forward(t.out(y), t.view(p), t.view(a.v), first);
      taken = AttentionPath::composed;
    }
    t.release_since(mark);
    if (!r.scores) return {};
  }
  for (const Tensor x : {a.q, a.k, a.v, a.distance, a.bias, y, lse}) t.keep(x);
  watch.keep();
  if (needs)
    t.record(y, [=](Tape& t) {
      t.set_recording(true);
      Packed keys(t, a.k), values(t, a.v);
      // From the last block, which sees all keys, so that their gradients need not start as 0.
      for (std::int64_t first = (length - 1) / step * step; first >= 0; first -= step) {
        const Block b{first, std::min(step, length - first)};
        const Tape::Mark mark = t.mark();
        const Rewritten r = rewritten(t, a, keys, b);
        if (r.added) {
          const Added block(t, a, r.bias, b);
          t.backend().attention_backward(accumulator(t, a.q), t.grad(a.k), t.grad(a.v),
                                         t.grad(a.distance), t.grad(block.bias), t.grad_view(y),
                                         t.view(y), t.view(lse), block.input);
        } else if (r.scores) {
          const Tensor p = probabilities(t, a, r.scores, b);
          t.backend().mix_rows_backward(t.grad(p), accumulator(t, a.v), t.grad_view(y), t.view(p),
                                        values.view(), b.first);
        }
        t.backward_to(mark);
        t.release_since(mark);
        if (!r.scores) return;
      }
    });
  return y;
}

// The queries from row `from` of q on.
Tensor attend_rows(Tape& t, Attention a, std::int64_t from, AttentionPath& path) {
  const Block all{a.first, t.shape(a.q)[2]};
  if (a.bias && a.first > 0) a.bias = bias_rows(t, a.bias, all);
  if (!a.starts.empty() && !t.backend().takes_starts()) {
    const Tensor mask = before_starts(t, a, all);
    a.bias = a.bias ? ops::binary(t, Binary::add, a.bias, mask) : mask;
    a.starts = {};
  }
  path = a.bias ? AttentionPath::bias : AttentionPath::fused;
  return a.needs_scores() ? by_blocks(t, a, from, path) : fused(t, a);
}

// With the rows that are asked for alone. `starts`: memory for theirs.
void begin_behind(Tape& t, Attention& a, std::vector<std::int32_t>& starts) {
  const Shape q = t.shape(a.q);
  const std::int64_t skipped = std::exchange(a.skipped, 0), rows = q[2] - skipped;
  a.q = ops::slice(t, ops::own(t, a.q), 2, skipped, rows);
  a.first += skipped;
  if (a.starts.empty()) return;
  for (std::int64_t b = 0; b < q[0]; ++b) {
    const auto own = a.starts.subspan(static_cast<std::size_t>(b * q[2] + skipped));
    starts.insert(starts.end(), own.begin(), own.begin() + rows);
  }
  a.starts = starts;
}

// A rewriter reads queries where they stand among the keys: those before `first` are zeros.
Tensor composed_behind(Tape& t, Attention a, AttentionPath& path) {
  PES_CHECK(!t.recording());
  const Shape q = t.shape(a.q);
  const std::int64_t first = std::exchange(a.first, 0), length = first + q[2];
  const Tensor before = t.make({q[0], q[1], first, q[3]}, false);
  t.backend().fill(t.out(before), 0);
  a.q = ops::concat(t, before, ops::own(t, a.q), 2);
  for (Tensor* x : {&a.k, &a.v})
    if (t.shape(*x)[2] > length) *x = ops::slice(t, *x, 2, 0, length);
  std::vector<std::int32_t> starts(a.starts.empty() ? 0 : static_cast<std::size_t>(q[0] * length));
  for (std::int64_t b = 0; b < q[0] && !starts.empty(); ++b)
    std::copy_n(a.starts.begin() + b * q[2], q[2], starts.begin() + b * length + first);
  a.starts = starts;
  return ops::slice(t, attend_rows(t, a, first, path), 1, first, q[2]);
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
  const std::int64_t length = t.shape(a.q)[2], step = composed_rows(t, a);
  Packed packed_k(t, a.k);
  bool made = true;
  for (std::int64_t first = 0; made && first < length; first += step) {
    const Tape::Mark mark = t.mark();
    const Block b{first, std::min(step, length - first)};
    const Tensor scores = rewritten(t, plain, packed_k, b).scores;
    if (scores) body(first, probabilities(t, plain, scores, b));
    made = static_cast<bool>(scores);
    t.release_since(mark);
  }
  return made;
}

Tensor attend(Tape& t, const Attention& given, AttentionPath* taken) {
  AttentionPath path = AttentionPath::fused;
  if (!given.q || !given.k || !given.v) return {};
  if (std::string reason = misfit(t, given); !reason.empty()) return t.fail(std::move(reason));
  PES_CHECK(given.skipped == 0 || !t.recording());
  Attention a = given;
  std::vector<std::int32_t> starts;
  if (a.skipped > 0 && (!a.needs_scores() || a.first > 0)) begin_behind(t, a, starts);
  const bool behind = a.needs_scores() && a.first > 0;
  Tensor y = behind ? composed_behind(t, a, path) : attend_rows(t, a, a.skipped, path);
  if (y && a.skipped > 0) y = ops::slice(t, y, 1, a.skipped, t.shape(y)[1] - a.skipped);
  if (taken != nullptr) *taken = path;
  return y;
}

}  // namespace pesuite
