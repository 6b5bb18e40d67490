// A block of threads visits tiles of scores one after the other and adds what they sum to, so that
// no number is added to by two blocks.
#include "backend/cuda/score_gradient.h"

#include <algorithm>
#include <cmath>

#include "backend/cuda/tiles.h"
#include "backend/cuda/walk.h"

namespace pesuite::cuda {

namespace {

constexpr int tile_side = tile_rows;  // of a tile, in queries and in keys
constexpr int diagonals = 2 * tile_side - 1;

struct Corner {      // of a tile
  Index b, h, i, j;  // query head; i and j count tiles
};

// The tiles that one block visits: `count` of them along a line, in each of `heads` of each of
// `batch`, from the one at (b, h, i, j) on. Of all these in a row, first .. end - 1.
struct Tour {
  Index b, h, i, j, batch, heads, count;
  bool j_moves;  // the line is a diagonal, else a column
  Index first = 0, end = 0;

  PESUITE_HD Tour part(Index n, Index parts) const {
    Tour t = *this;
    const Index all = batch * heads * count;
    t.first = all * n / parts, t.end = all * (n + 1) / parts;
    return t;
  }
  PESUITE_HD Corner tile(Index n) const {
    Index step, head;
    const Index example = divide(divide(n, count, step), heads, head);
    return {b + example, h + head, i + step, j_moves ? j + step : j};
  }
};

struct Addend {  // a bias [B or 1, H or 1, T or 1, S]; no data: none
  const void* data = nullptr;
  bool fp32 = false;
  Index b = 0, h = 0, i = 0;  // strides
  PESUITE_HD float at(const Corner& t, Index row, Index column) const {
    const Index place = t.b * b + t.h * h + row * i + column;
    return fp32 ? static_cast<const float*>(data)[place]
                : static_cast<float>(static_cast<const Bf16*>(data)[place]);
  }
};

struct Scores {
  const Bf16 *q, *k, *v, *dy;
  const float *lse, *delta, *slopes;
  Addend biases[2];
  float scale;
  Index H, G, T, D, E;

  // The gradient of a tile's scores, 0 where a query does not see a key. [tile_side, tile_side]
  template <int size>
  PESUITE_HD const float* gradient(Block& block, const Corner& t) const {
    Pieces memory(block.shared());
    Bf16* const x = memory.take<Bf16>(tile_side * pitch_of(size));
    Bf16* const y = memory.take<Bf16>(tile_side * pitch_of(size));
    float* const to = memory.take<float>(tile_side * tile_side);
    const Index first = t.i * tile_side, key = t.j * tile_side, g = t.h / (H / G);
    const Index query_row = (t.b * H + t.h) * T + first, key_row = (t.b * G + g) * T + key;
    Tile<tile_side> s, ds;
    const auto multiply = [&](Tile<tile_side>& sum, const Bf16* rows, Index stride,
                              const Bf16* others, Index width) {
      const auto take = [&](Bf16* to, const Bf16* from, Index stride, Index count) {
        begin_rows<tile_side, size>(
            block, to,
            {from, static_cast<int>(stride), static_cast<int>(count), static_cast<int>(width)});
      };
      take(x, rows, stride, T - first);
      take(y, others, width, T - key);
      end_group();
      finish_all_but<0>();
      add_product_of_rows<size>(sum, x, y);
      meet();
    };
    multiply(s, q + query_row * D, D, k + key_row * D, D);
    multiply(ds, dy + ((t.b * T + first) * H + t.h) * E, H * E, v + key_row * E, E);
    ds.each_with(s, [&](TileRow r, int c, float& gradient, float score) {
      const Index i = first + r.row, j = key + c;
      float& mine = to[r.row * tile_side + c];
      mine = 0;
      if (i >= T || j > i) return;
      score *= scale;
      for (const Addend& bias : biases)
        if (bias.data != nullptr) score += bias.at(t, i, j);
      if (slopes != nullptr) score += slopes[t.h] * static_cast<float>(j - i);
      mine = std::exp(score - lse[query_row + r.row]) * (gradient - delta[query_row + r.row]);
    });
    meet();
    return to;
  }
};

struct RowSums {  // of 8 numbers at a time, E / 8 of them a row
  float* delta;
  const Bf16 *y, *dy;
  Index H, T, E;
  PESUITE_HD void operator()(Index row) const {
    Index h, i;
    const Index b = divide(divide(row, T, i), H, h), from = ((b * T + i) * H + h) * E;
    float sum = 0;
    for (Index e = from; e < from + E; e += 8) {
      const Some<8> one = some<8>(y + e), other = some<8>(dy + e);
      for (int n = 0; n < 8; ++n) sum += one.x[n] * other.x[n];
    }
    delta[row] = sum;
  }
};

// A sink says which tiles a block visits, how a tile's `width` sums are made, and where they go.
template <class Sink, int size>
struct Visit {
  static constexpr int threads = tile_threads, at_once = 2;
  static constexpr int bytes =
      bf16_bytes(2 * tile_side, size) + tile_side * tile_side * static_cast<int>(sizeof(float));
  Scores scores;
  Sink sink;
  PESUITE_HD void operator()(Block& block) const {
    const Tour tour = sink.tour(block.index());
    for (Index n = tour.first; n < tour.end; ++n) {
      const float* const ds = scores.gradient<size>(block, tour.tile(n));
      block.each(Sink::width, [&](Index w) {
        sink.put(block.index(), w, Sink::sum(ds, static_cast<int>(w)), n == tour.first);
      });
    }
    if (tour.first >= tour.end)
      block.each(Sink::width, [&](Index w) { sink.put(block.index(), w, 0, true); });
  }
};

// Sums of blocks that share what they sum to, `parts` of them: [owner, part, 2 tile_side].
struct PartSums {
  float* data;
  Index parts;
  PESUITE_HD void put(Index block, Index w, float value, bool replace) const {
    float& to = data[block * 2 * tile_side + w];
    to = replace ? value : to + value;
  }
  PESUITE_HD float sum(Index owner, Index w) const {
    float all = 0;
    for (Index n = 0; n < parts; ++n) all += data[(owner * parts + n) * 2 * tile_side + w];
    return all;
  }
};

// An owner: a row of the table and a diagonal of tiles, `band` below the main one.
struct ByDistance {
  static constexpr int width = diagonals;
  PartSums to;
  Index B, H, rows, bands;
  PESUITE_HD Tour tour(Index block) const {
    Index part, band;
    const Index row = divide(divide(block, to.parts, part), bands, band);
    const Tour all{0, row, band, 0, B, rows == 1 ? H : 1, bands - band, true};
    return all.part(part, to.parts);
  }
  PESUITE_HD static float sum(const float* ds, int w) {
    const int off = w - (tile_side - 1);  // the query's place in the tile less the key's
    const int first = off > 0 ? off : 0, end = off < 0 ? tile_side + off : tile_side;
    float all = 0;
    for (int r = first; r < end; ++r) all += ds[r * tile_side + r - off];
    return all;
  }
  PESUITE_HD void put(Index block, Index w, float value, bool replace) const {
    to.put(block, w, value, replace);
  }
};
struct FromBands {  // entry d of a row: in the upper half of a band and the lower half of the next
  Target y;
  PartSums from;
  Index N, bands;
  PESUITE_HD void operator()(Index o) const {
    Index d, place;
    const Index row = divide(o, N, d), band = divide(d, Index{tile_side}, place);
    float sum = 0;
    if (band < bands) sum += from.sum(row * bands + band, tile_side - 1 + place);
    if (band + 1 < bands && place > 0) sum += from.sum(row * bands + band + 1, place - 1);
    y.put(o, sum);
  }
};

struct ByKey {  // an owner: a column of tiles of an example or all, of a head or all
  static constexpr int width = tile_side;
  PartSums to;
  Index B, H, examples, heads, tiles;  // of the bias; tiles in a column at most
  PESUITE_HD Tour tour(Index block) const {
    Index part, j, h;
    const Index b = divide(divide(divide(block, to.parts, part), tiles, j), heads, h);
    const Tour all{b, h, j, j, examples == 1 ? B : 1, heads == 1 ? H : 1, tiles - j, false};
    return all.part(part, to.parts);
  }
  PESUITE_HD static float sum(const float* ds, int w) {
    float all = 0;
    for (int r = 0; r < tile_side; ++r) all += ds[r * tile_side + w];
    return all;
  }
  PESUITE_HD void put(Index block, Index w, float value, bool replace) const {
    to.put(block, w, value, replace);
  }
};
struct FromColumns {
  Target y;
  PartSums from;
  Index T, tiles;
  PESUITE_HD void operator()(Index o) const {
    Index key, w;
    const Index map = divide(o, T, key), j = divide(key, Index{tile_side}, w);
    y.put(o, from.sum(map * tiles + j, w));
  }
};

struct ByPlace {  // a block: one tile of an example or all, of a head or all
  static constexpr int width = tile_side * tile_side;
  Target y;
  Index B, H, examples, heads, tiles, T;
  PESUITE_HD Index place(Index block, Index& i, Index& j) const {
    return divide(divide(block, tiles, j), tiles, i);
  }
  PESUITE_HD Tour tour(Index block) const {
    Index i, j, h;
    const Index b = divide(place(block, i, j), heads, h);
    const Tour all{b, h, i, j, examples == 1 ? B : 1, heads == 1 ? H : 1, j <= i, false};
    return all.part(0, 1);
  }
  PESUITE_HD static float sum(const float* ds, int w) { return ds[w]; }
  PESUITE_HD void put(Index block, Index w, float value, bool replace) const {
    Index i, j;
    const Index map = place(block, i, j);
    const Index row = i * tile_side + w / tile_side, column = j * tile_side + w % tile_side;
    if (row >= T || column >= T) return;
    const Target to{y.data, y.add || !replace};
    to.put((map * T + row) * T + column, value);
  }
};

Addend addend(const BiasForm& b, const void* data) {
  const Index map = b.shape[2] * b.pitch;
  return {data, b.type == Type::fp32, b.shape[0] > 1 ? b.shape[1] * map : 0,
          b.shape[1] > 1 ? map : 0, b.shape[2] > 1 ? b.pitch : 0};
}

Scores scores_of(const AttentionRequest& r, const Bindings& b, const float* delta) {
  const auto half = [&](Slot s) { return static_cast<const Bf16*>(b[s]); };
  const auto fp32 = [&](Slot s) { return static_cast<const float*>(b[s]); };
  Scores s{half(Slot::q),
           half(Slot::k),
           half(Slot::v),
           half(Slot::dy),
           fp32(Slot::lse),
           delta,
           r.slopes ? fp32(Slot::slopes) : nullptr,
           {},
           b.scale,
           r.H,
           r.G,
           r.T,
           r.D,
           r.E};
  for (std::size_t i = 0; i < r.biases.size(); ++i)
    s.biases[i] = addend(r.biases[i], b[i == 0 ? Slot::bias_a : Slot::bias_b]);
  return s;
}

void row_sums(Queue& queue, float* delta, const AttentionRequest& r, const Bindings& b) {
  queue.each(r.B * r.H * r.T, RowSums{delta, static_cast<const Bf16*>(b[Slot::y]),
                                      static_cast<const Bf16*>(b[Slot::dy]), r.H, r.T, r.E});
}

template <class Sink>
void visit(Queue& queue, Index blocks, const Scores& scores, const Sink& sink) {
  by_size(std::max(scores.D, scores.E), [&]<int n>(Width<n>) {
    queue.tiles(blocks, Visit<Sink, n>{scores, sink});
  });
}

// Enough blocks for a large device, and few enough that their sums stay small.
Index parts_for(Index owners) {
  return std::clamp<Index>(4096 / owners, 1, 64);
}

}  // namespace

void sum_scores_by_distance(Queue& queue, Target dtable, Index rows, Index N,
                            const AttentionRequest& r, const Bindings& b) {
  const Scratch<float> delta(queue, r.B * r.H * r.T);
  row_sums(queue, delta.data(), r, b);
  const Index bands = tiles_of(r.T), owners = rows * bands, parts = parts_for(owners);
  const Scratch<float> sums(queue, owners * parts * 2 * tile_side);
  const PartSums to{sums.data(), parts};
  visit(queue, owners * parts, scores_of(r, b, delta.data()),
        ByDistance{to, r.B, r.H, rows, bands});
  queue.each(rows * N, FromBands{dtable, to, N, bands});
}

void sum_scores_to_bias(Queue& queue, Target dbias, const Shape& shape, const AttentionRequest& r,
                        const Bindings& b) {
  const Scratch<float> delta(queue, r.B * r.H * r.T);
  row_sums(queue, delta.data(), r, b);
  const Scores scores = scores_of(r, b, delta.data());
  const Index maps = shape[0] * shape[1], tiles = tiles_of(r.T);
  if (shape[2] > 1) {
    const ByPlace sink{dbias, r.B, r.H, shape[0], shape[1], tiles, r.T};
    return visit(queue, maps * tiles * tiles, scores, sink);
  }
  const Index owners = maps * tiles, parts = parts_for(owners);
  const Scratch<float> sums(queue, owners * parts * 2 * tile_side);
  const PartSums to{sums.data(), parts};
  visit(queue, owners * parts, scores, ByKey{to, r.B, r.H, shape[0], shape[1], tiles});
  queue.each(maps * r.T, FromColumns{dbias, to, r.T, tiles});
}

}  // namespace pesuite::cuda
