// Attention of products and a softmax, a block of query rows at a time: exact in fp32, any shape,
// memory linear in the length. The backward pass makes the scores again.
#include <cmath>

#include "backend/cuda/bias_term.h"
#include "backend/cuda/cuda.h"
#include "pesuite/random.hpp"

namespace pesuite::cuda {

namespace {

struct Kept {                     // what dropout multiplies a probability by
  std::uint64_t seed, threshold;  // 0 keeps all
  std::uint32_t purpose;
  float factor;
  PESUITE_HD float operator()(Index row, Index column) const {
    if (threshold == 0) return 1;
    const auto random =
        pes::philox4x32({static_cast<std::uint32_t>(column / 4), purpose,
                         static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(row >> 32)},
                        seed);
    const Index word = column % 4;
    const std::uint32_t own = word == 0   ? random[0]
                              : word == 1 ? random[1]
                              : word == 2 ? random[2]
                                          : random[3];
    return own < threshold ? 0 : factor;
  }
};

// A block of rows of all heads, and what is added to its scores.
struct ScoreBlock {
  Index H, T, R, K;       // the block is [B, H, R, K]
  Index first, position;  // of its first row among the queries, and among the keys
  Index bias_first;       // of the queries that the bias is about
  const float* distance;
  Index distance_row;  // from a head's table to the next one's; 0 where they share it
  const float* bias;
  Index bias_stride[4];
  Kept kept;

  struct Row {
    Index b, h, i, bh, visible;
  };
  PESUITE_HD Row row(Index index) const {
    Row to{};
    Index r;
    to.bh = divide(index, R, r);
    to.b = divide(to.bh, H, to.h);
    to.i = first + r;
    to.visible = position + r < K ? position + r + 1 : K;
    return to;
  }
  PESUITE_HD float added(const Row& r, Index j) const {
    float sum = 0;
    if (distance != nullptr) sum += distance[r.h * distance_row + position + (r.i - first) - j];
    if (bias != nullptr)
      sum += bias[r.b * bias_stride[0] + r.h * bias_stride[1] +
                  (r.i - bias_first) * bias_stride[2] + j * bias_stride[3]];
    return sum;
  }
};

struct Probabilities {  // a block of threads a row: scores become probabilities
  float *scores, *lse;
  ScoreBlock z;
  PESUITE_HD void operator()(Block& block) const {
    const ScoreBlock::Row r = z.row(block.index());
    float* const s = scores + block.index() * z.K;
    block.each(r.visible, [&](Index j) { s[j] += z.added(r, j); });
    const float top = block.max(r.visible, [&](Index j) { return s[j]; });
    const float total = block.sum(r.visible, [&](Index j) { return std::exp(s[j] - top); });
    block.each(1, [&](Index) { lse[r.bh * z.T + r.i] = top + std::log(total); });
    block.each(z.K, [&](Index j) {
      s[j] = j < r.visible ? std::exp(s[j] - top) / total * z.kept(r.bh * z.T + r.i, j) : 0;
    });
  }
};
// scores become the probabilities that v was weighed with, dp the gradient of the scores. A forward
// pass that was fused left out constants of a row, so its log-sum-exp is not that of these scores.
struct ScoreGradients {
  float *scores, *dp;
  ScoreBlock z;
  PESUITE_HD void operator()(Block& block) const {
    const ScoreBlock::Row r = z.row(block.index());
    float *const s = scores + block.index() * z.K, *const d = dp + block.index() * z.K;
    const auto kept = [&](Index j) { return z.kept(r.bh * z.T + r.i, j); };
    block.each(r.visible, [&](Index j) { s[j] += z.added(r, j); });
    const float top = block.max(r.visible, [&](Index j) { return s[j]; });
    const float total = block.sum(r.visible, [&](Index j) { return std::exp(s[j] - top); });
    block.each(r.visible, [&](Index j) { s[j] = std::exp(s[j] - top) / total; });
    const float delta = block.sum(r.visible, [&](Index j) { return s[j] * kept(j) * d[j]; });
    block.each(z.K, [&](Index j) {
      if (j >= r.visible) {
        s[j] = d[j] = 0;
        return;
      }
      const float keep = kept(j), p = s[j];
      d[j] = p * (keep * d[j] - delta);
      s[j] = p * keep;
    });
  }
};

// An output is an entry of a table, a term a row whose query has one key at that distance.
struct DistanceTerm {
  const float* ds;
  Index H, R, K, position, entries;
  bool shared;  // by the heads
  PESUITE_HD float operator()(Index o, Index term) const {
    Index d, r;
    const Index h = divide(o, entries, d), rest = divide(term, R, r);
    const Index bh = shared ? rest : rest * H + h;
    const Index j = position + r - d;
    return j >= 0 && j < K ? ds[(bh * R + r) * K + j] : 0;
  }
};
struct AddAt {
  float* y;
  const float* x;
  Walk<1> walk;
  PESUITE_HD void operator()(Index i) const {
    Index at[1];
    walk.at(i, at);
    y[at[0]] += x[i];
  }
};

struct AttentionSizes {
  Index B, H, S;
  Index start, end;  // queries
  Index rows;        // of a block
  AttentionSizes(const AttentionInput& a, Index numbers)
      : B(a.q.shape[0]), H(a.q.shape[1]), S(a.keys()), start(a.row), end(a.row + a.own_rows()) {
    rows = std::clamp<Index>(numbers / (B * H * S), 1, end - start);
  }
  Index keys(const AttentionInput& a, Index first, Index R) const {
    return std::min(S, a.first + first + R);
  }
};

ScoreBlock score_block(const AttentionInput& a, Index first, Index R, Index K) {
  const Strides s =
      broadcast_strides(a.bias.shape, {a.q.shape[0], a.q.shape[1], a.own_rows(), a.keys()});
  return {a.q.shape[1],
          a.q.shape[2],
          R,
          K,
          first,
          a.first + first,
          a.row,
          in(a.distance),
          a.distance && a.distance.shape[0] > 1 ? a.distance.shape[1] : 0,
          in(a.bias),
          {s.s[0], s.s[1], s.s[2], s.s[3]},
          {a.dropout.seed, pes::probability(a.dropout.p), a.dropout.purpose,
           static_cast<float>(1 / (1 - a.dropout.p))}};
}

void add_bias_gradient(Queue& queue, Out dbias, const float* ds, const Shape& block, Index first) {
  const Shape four = {dbias.shape[-4], dbias.shape[-3], dbias.shape[-2], dbias.shape[-1]};
  Shape part = four;  // what this block adds to
  for (int axis = 0; axis < 4; ++axis)
    if (part[axis] > 1) part.at(axis) = block[axis];
  const BiasTerm f{ds, parts<1>(block, part, {block})};
  const Scratch<float> sums(queue, part.count());
  const Walk<1>& terms = f.parts.repeated;
  const Target sum{sums.data(), false};
  if (terms.rank > 0 && terms.stride[0][0] == 1)
    reduce_rows(queue, sum, part.count(), terms.count(), f);
  else
    reduce(queue, sum, part.count(), terms.count(), f);
  Walk<1> to;
  for (int axis = 3; axis >= 0; --axis) to.around(part[axis], {four.span(axis + 1, 4)});
  queue.each(part.count(),
             AddAt{static_cast<float*>(dbias.data) + (four[2] > 1 ? first * four[3] : 0),
                   sums.data(), to});
}

void add_distance_gradient(Queue& queue, Out ddistance, const float* ds, const Shape& block,
                           Index position) {
  const Index rows = ddistance.shape[0], N = ddistance.shape[1], R = block[2];
  const Index entries = std::min(N, position + R);
  const DistanceTerm f{ds, block[1], R, block[3], position, entries, rows == 1};
  const Scratch<float> sums(queue, rows * entries);
  reduce(queue, {sums.data(), false}, rows * entries,
         block[0] * R * (rows == 1 ? block[1] : Index{1}), f);
  Walk<1> to;
  to.around(entries, {1});
  to.around(rows, {N});
  queue.each(rows * entries, AddAt{static_cast<float*>(ddistance.data), sums.data(), to});
}

// Products between probabilities [B, H, R, K] and rows of y [B, T, H E] have no one stride from a
// head of an example to the next: body(b, h, batches, along the heads) is called for each example
// or for each head.
template <class F>
void each_mix(Index B, Index H, Index G, F body) {
  if (H == G && B < H)
    for (Index b = 0; b < B; ++b) body(b, Index{0}, H, true);
  else
    for (Index h = 0; h < H; ++h) body(Index{0}, h, B, false);
}

}  // namespace

void CudaBackend::pack_keys(Out packed, View keys) {
  affine({packed.data, packed.shape, false}, keys, 1, 0);
}

void CudaBackend::score_rows_forward(Out scores, View q, View k, Index first, double scale) {
  const Index T = q.shape[2], D = q.shape[3], R = scores.shape[2], K = scores.shape[3];
  const Index group = q.shape[1] / k.shape[1];
  for (Index h = 0; h < group; ++h) {
    Product p{R, K, D};
    p.a = operand(q, (h * T + first) * D, D, false, group * T * D);
    p.b = operand(k, 0, D, true, k.shape[2] * D);
    p.write(scores, h * R * K, K, group * R * K);
    p.batches = k.shape[0] * k.shape[1], p.scale = scale;
    product(p);
  }
}

void CudaBackend::score_rows_backward(Out dq, Out dk, View ds, View q, View k, Index first,
                                      double scale) {
  const Index T = q.shape[2], D = q.shape[3], R = ds.shape[2], K = ds.shape[3];
  const Index group = q.shape[1] / k.shape[1];
  for (Index h = 0; h < group; ++h) {
    const Index rows = (h * T + first) * D;
    Product p{R, D, K, operand(ds, h * R * K, K, false, group * R * K),
              operand(k, 0, D, false, k.shape[2] * D)};
    p.batches = k.shape[0] * k.shape[1], p.scale = scale;
    if (dq) {
      p.write(dq, rows, D, group * T * D);
      product(p);
    }
    if (dk) {
      p.M = K, p.K = R;
      p.a.transposed = true;
      p.b = operand(q, rows, D, false, group * T * D);
      p.write(dk, 0, D, k.shape[2] * D);
      p.added = p.c;
      product(p);
    }
  }
}

void CudaBackend::mix_rows_forward(Out y, View probabilities, View v, Index first) {
  const Index B = probabilities.shape[0], H = probabilities.shape[1], R = probabilities.shape[2],
              K = probabilities.shape[3], G = v.shape[1], S = v.shape[2], E = v.shape[3],
              T = y.shape[1];
  each_mix(B, H, G, [&](Index b, Index h, Index batches, bool heads) {
    Product p{R, E, K};
    p.a = operand(probabilities, (b * H + h) * R * K, K, false, heads ? R * K : H * R * K);
    p.b = operand(v, (b * G + h / (H / G)) * S * E, E, false, heads ? S * E : G * S * E);
    p.write(y, ((b * T + first) * H + h) * E, H * E, heads ? E : T * H * E);
    p.batches = batches;
    product(p);
  });
}

void CudaBackend::mix_rows_backward(Out dp, Out dv, View dy, View probabilities, View v,
                                    Index first) {
  const Index B = probabilities.shape[0], H = probabilities.shape[1], R = probabilities.shape[2],
              K = probabilities.shape[3], G = v.shape[1], S = v.shape[2], E = v.shape[3],
              T = dy.shape[1];
  each_mix(B, H, G, [&](Index b, Index h, Index batches, bool heads) {
    const Index place = (b * H + h) * R * K, of_keys = (b * G + h / (H / G)) * S * E;
    const Operand g =
        operand(dy, ((b * T + first) * H + h) * E, H * E, false, heads ? E : T * H * E);
    const Index score_batch = heads ? R * K : H * R * K, key_batch = heads ? S * E : G * S * E;
    if (dp) {
      Product p{R, K, E, g, operand(v, of_keys, E, true, key_batch)};
      p.write(dp, place, K, score_batch);
      p.batches = batches;
      product(p);
    }
    if (dv) {
      Product p{K, E, R, operand(probabilities, place, K, true, score_batch), g};
      p.write(dv, of_keys, E, key_batch);
      p.batches = batches;
      p.added = p.c;
      product(p);
    }
  });
}

void CudaBackend::composed_forward(Out y, Out lse, const AttentionInput& a) {
  const AttentionSizes z(a, settings_.block);
  const Scratch<float> scores(queue_, z.B * z.H * z.rows * z.keys(a, z.end - z.rows, z.rows));
  for (Index first = z.start; first < z.end; first += z.rows) {
    const Index R = std::min(z.rows, z.end - first), K = z.keys(a, first, R);
    const Shape block = {z.B, z.H, R, K};
    score_rows_forward({scores.data(), block}, a.q, a.k, first, a.scale);
    queue_.blocks(z.B * z.H * R, K / 4,
                  Probabilities{scores.data(), target(lse).data, score_block(a, first, R, K)});
    mix_rows_forward(y, {scores.data(), block}, a.v, first);
  }
}

void CudaBackend::composed_backward(Out dq, Out dk, Out dv, Out ddistance, Out dbias, View dy,
                                    const AttentionInput& a) {
  const AttentionSizes z(a, settings_.block / 2);
  const Index most = z.B * z.H * z.rows * z.keys(a, z.end - z.rows, z.rows);
  const Scratch<float> scores(queue_, most), gradients(queue_, most);
  const auto from_zero = [&](Out o) {
    if (o && !o.add) fill(o, 0);
    o.add = true;
    return o;
  };
  // Blocks add up in fp32, whatever their sum is stored as.
  std::optional<Scratch<float>> of_keys, of_values;
  const auto in_fp32 = [&](Out o, std::optional<Scratch<float>>& memory) {
    if (!o || o.storage == Storage::own) return from_zero(o);
    memory.emplace(queue_, o.shape.count());
    return from_zero({memory->data(), o.shape});
  };
  const Out keys = in_fp32(dk, of_keys), values = in_fp32(dv, of_values);
  ddistance = from_zero(ddistance), dbias = from_zero(dbias);
  for (Index first = z.start; first < z.end; first += z.rows) {
    const Index R = std::min(z.rows, z.end - first), K = z.keys(a, first, R);
    const Shape block = {z.B, z.H, R, K};
    const View p{scores.data(), block}, ds{gradients.data(), block};
    score_rows_forward({scores.data(), block}, a.q, a.k, first, a.scale);
    mix_rows_backward({gradients.data(), block}, {}, dy, p, a.v, first);
    queue_.blocks(z.B * z.H * R, K / 4,
                  ScoreGradients{scores.data(), gradients.data(), score_block(a, first, R, K)});
    if (dv) mix_rows_backward({}, values, dy, p, a.v, first);
    score_rows_backward(dq, keys, ds, a.q, a.k, first, a.scale);
    if (dbias) add_bias_gradient(queue_, dbias, gradients.data(), block, first - z.start);
    if (ddistance)
      add_distance_gradient(queue_, ddistance, gradients.data(), block, a.first + first);
  }
  if (of_keys) affine(dk, keys.view(), 1, 0);
  if (of_values) affine(dv, values.view(), 1, 0);
}

}  // namespace pesuite::cuda
