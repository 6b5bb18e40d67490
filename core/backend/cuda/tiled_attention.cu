#include "backend/cuda/tiled_attention.h"

#include <algorithm>
#include <array>

#include "backend/cuda/diagonals.h"
#include "backend/cuda/tiles.h"

namespace pesuite::cuda {

namespace {

constexpr float log2_e = 1.44269504088896340736f;

PESUITE_HD inline float two_to(float x) {
#ifdef __CUDA_ARCH__
  float y;  // exp2f() also knows results below the smallest normal number, in four instructions
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return std::exp2(x);
#endif
}

PESUITE_HD inline float larger(float a, float b) {
#ifdef __CUDA_ARCH__
  return fmaxf(a, b);  // one instruction, where a comparison and a choice are two
#else
  return a < b ? b : a;
#endif
}

struct TiledInput {
  const Bf16 *q, *k, *v, *dy;
  const float* table;  // null, or [H or 1, N]
  int table_row, N;
  const float* keys;  // null, or a value for each key
  Index keys_example;
  int keys_head;
  float scale;
  int B, H, G, T, D, E;

  // Row i of a head, counted in [B, heads, T].
  PESUITE_HD Index row(int b, int head, int heads, int i) const {
    return (Index{b} * heads + head) * T + i;
  }
  PESUITE_HD MatrixRows queries(int b, int h, int first) const {
    return {q + row(b, h, H, first) * D, D, T - first, D};
  }
  PESUITE_HD MatrixRows keys_of(int b, int g, int first) const {
    return {k + row(b, g, G, first) * D, D, T - first, D};
  }
  PESUITE_HD MatrixRows values(int b, int g, int first) const {
    return {v + row(b, g, G, first) * E, E, T - first, E};
  }
  PESUITE_HD MatrixRows output_gradients(int b, int h, int first) const {
    return {dy + output(b, h, first), H * E, T - first, E};
  }
  PESUITE_HD Index output(int b, int h, int i) const {  // of [B, T, H, E]
    return ((Index{b} * T + i) * H + h) * E;
  }
  PESUITE_HD const float* table_of(int h) const { return table + Index{h} * table_row; }
  PESUITE_HD const float* key_values(int b, int h) const {
    return keys + b * keys_example + Index{h} * keys_head;
  }
};

constexpr int slice_numbers = 128, float_bytes = static_cast<int>(sizeof(float));

// Two of the same: one is read while the other is filled.
template <class T>
struct Turns {
  T* data;
  int size;
  PESUITE_HD T* operator[](int n) const { return data + (n % 2) * size; }
};
template <class T>
PESUITE_HD Turns<T> two(Pieces& memory, int size) {
  return {memory.take<T>(2 * size), size};
}

// The tiles of keys and values that a block of 64 queries visits, and what is added to its scores.
template <int width, int size>
struct KeyTiles {
  static constexpr int bytes =
      bf16_bytes(4 * width, size) + 2 * (slice_numbers + width) * float_bytes;
  Turns<Bf16> k, v;
  Turns<float> slice, values;  // of the table and of the bias
  PESUITE_HD explicit KeyTiles(Pieces& memory)
      : k(two<Bf16>(memory, width * pitch_of(size))),
        v(two<Bf16>(memory, width * pitch_of(size))),
        slice(two<float>(memory, slice_numbers)),
        values(two<float>(memory, width)) {}
  // Tile j, for the queries of a head from `first` on.
  PESUITE_HD void begin(Block& block, const TiledInput& in, int b, int h, int g, int first,
                        int j) const {
    const int key = j * width;
    begin_rows<width, size>(block, k[j], in.keys_of(b, g, key));
    begin_rows<width, size>(block, v[j], in.values(b, g, key));
    if (in.table != nullptr)
      begin_numbers(block, slice[j], in.table_of(h), first - key - (width - 1), in.N,
                    tile_rows + width - 1);
    if (in.keys != nullptr) begin_numbers(block, values[j], in.key_values(b, h), key, in.T, width);
    end_group();
  }
  // Scores of tile j from q.k. What is there is asked once a tile: a branch a number would keep the
  // others from being on their way.
  PESUITE_HD void add(Tile<width>& s, const TiledInput& in, int j) const {
    const float *const distances = slice[j], *const of_key = values[j];
    if (in.table != nullptr)
      s.each(
          [&](TileRow r, int c, float& x) { x = x * in.scale + distances[r.row - c + width - 1]; });
    else
      s.each([&](TileRow, int, float& x) { x *= in.scale; });
    if (in.keys != nullptr) s.each([&](TileRow, int c, float& x) { x += of_key[c]; });
  }
};

// A block: 64 queries of a head, the longest rows first.
template <int size>
struct Forward {
  static constexpr int threads = tile_threads, at_once = 2, width = 64;
  static constexpr int bytes = bf16_bytes(tile_rows, size) + KeyTiles<width, size>::bytes;
  TiledInput in;
  Bf16* y;
  float* lse;

  PESUITE_HD void operator()(Block& block) const {
    const int index = static_cast<int>(block.index()), heads = in.B * in.H;
    const int i = static_cast<int>(tiles_of(in.T)) - 1 - index / heads;
    const int b = index % heads / in.H, h = index % in.H, g = h / (in.H / in.G);
    const int first = i * tile_rows;
    Pieces memory(block.shared());
    Bf16* const q = memory.take<Bf16>(tile_rows * pitch_of(size));
    const KeyTiles<width, size> keys(memory);
    begin_rows<tile_rows, size>(block, q, in.queries(b, h, first));
    end_group();
    keys.begin(block, in, b, h, g, first, 0);
    finish_all_but<1>();
    const Held<size> queries(q);
    RowValues top, total;
    top.each([](TileRow, float& x) { x = -std::numeric_limits<float>::infinity(); });
    total.each([](TileRow, float& x) { x = 0; });
    Tile<size> sum;
    for (int j = 0; j <= i; ++j) {
      if (j < i) {
        keys.begin(block, in, b, h, g, first, j + 1);
        finish_all_but<1>();
      } else {
        finish_all_but<0>();
      }
      Tile<width> s;
      add_product_of_rows(s, queries, keys.k[j]);
      keys.add(s, in, j);
      if (j == i)
        s.each([](TileRow r, int c, float& x) {
          if (c > r.row) x = -std::numeric_limits<float>::infinity();
        });
      weigh(s, sum, top, total);
      add_product(sum, Rounded<width>(s), keys.v[j]);
      meet();
    }
    total.combine([](float one, float other) { return one + other; });
    sum.pairs([&](TileRow r, int c, float& one, float& other) {
      if (first + r.row >= in.T || c >= in.E) return;
      Bf16* const to = y + in.output(b, h, first + r.row) + c;
      to[0] = Bf16(one / total[r]), to[1] = Bf16(other / total[r]);
    });
    RowValues logarithm;
    logarithm.each([&](TileRow r, float& x) { x = top[r] + std::log(total[r]); });
    logarithm.once([&](int row, float x) {
      if (first + row < in.T) lse[in.row(b, h, in.H, first + row)] = x;
    });
  }

 private:
  // Scores become probabilities but for the factor that `total` is for; what was summed so far
  // goes along where the largest score changes.
  PESUITE_HD static void weigh(Tile<width>& s, Tile<size>& sum, RowValues& top, RowValues& total) {
    RowValues largest = top, base, factor;
    s.each([&](TileRow r, int, float& x) { largest[r] = larger(largest[r], x); });
    largest.combine([](float one, float other) { return larger(one, other); });
    base.each([&](TileRow r, float& x) {  // finite, also where all keys so far are hidden
      x = largest[r] == -std::numeric_limits<float>::infinity() ? 0 : largest[r] * log2_e;
      factor[r] = two_to(top[r] * log2_e - x);
      total[r] *= factor[r];
      top[r] = largest[r];
    });
    s.each([&](TileRow r, int, float& x) {
      x = two_to(x * log2_e - base[r]);
      total[r] += x;
    });
    sum.each([&](TileRow r, int, float& x) { x *= factor[r]; });
  }
};

// The first `columns` numbers of the first `count` rows, times a factor, rows `columns` apart.
template <int size>
PESUITE_HD void write_rows(Tile<size>& from, Bf16* to, int count, int columns, float factor) {
  from.pairs([&](TileRow r, int c, float& one, float& other) {
    if (r.row >= count || c >= columns) return;
    Bf16* const at = to + r.row * columns + c;
    at[0] = Bf16(one * factor), at[1] = Bf16(other * factor);
  });
}

// The heads that are computed at a time, of `groups` groups from `group` on of each of `examples`
// examples from `example` on.
struct SomeHeads {
  int example, examples, group, groups, heads_of_group;
  PESUITE_HD int heads() const { return groups * heads_of_group; }  // of an example
  PESUITE_HD int all_heads() const { return examples * heads(); }
  struct Head {
    int b, h, g;
  };
  PESUITE_HD Head head(int n) const {  // the n-th of all
    const int h = group * heads_of_group + n % heads();
    return {example + n / heads(), h, h / heads_of_group};
  }
};

// The gradient of the scores, by those heads: tiles of 64 keys by 64 queries, in blocks, of the
// keys up to the queries.
struct KeptGradients {
  static constexpr int numbers = tile_rows * tile_rows;
  Bf16* data;
  Index tiles;
  PESUITE_HD Index of_head() const { return tiles * (tiles + 1) / 2 * numbers; }
  PESUITE_HD Bf16* tile(Index head, Index i, Index j) const {  // of queries, of keys
    return data + head * of_head() + (i * (i + 1) / 2 + j) * numbers;
  }
};

// A block: the gradients of 64 keys and values, from all queries that see them.
template <int size>
struct KeyGradients {
  static constexpr int threads = tile_threads, at_once = 2;
  static constexpr int width = size > 64 ? 32 : 64;  // of queries
  static constexpr int bytes =
      bf16_bytes(2 * tile_rows + 4 * width, size) + 2 * (slice_numbers + 2 * width) * float_bytes;
  TiledInput in;
  SomeHeads some;
  const float *lse, *delta;
  Bf16 *dk, *dv;
  KeptGradients kept;
  float* of_keys;  // null, or [B, H, T]: the sums of the scores' gradient

  PESUITE_HD void operator()(Block& block) const {
    const int index = static_cast<int>(block.index()), groups = some.examples * some.groups;
    const int group = index % groups, heads = some.heads_of_group;
    const auto [b, h0, g] = some.head(group * heads);
    const int j = index / groups, key = j * tile_rows;
    // To the end of the last tile: all of it is kept.
    const int from = key / width, count = static_cast<int>(kept.tiles) * tile_rows / width - from;
    Pieces memory(block.shared());
    Bf16* const k = memory.take<Bf16>(tile_rows * pitch_of(size));
    Bf16* const v = memory.take<Bf16>(tile_rows * pitch_of(size));
    const auto q = two<Bf16>(memory, width * pitch_of(size));
    const auto dy = two<Bf16>(memory, width * pitch_of(size));
    const auto slice = two<float>(memory, slice_numbers);
    const auto norms = two<float>(memory, width), deltas = two<float>(memory, width);
    const auto begin = [&](int n) {
      const int h = h0 + n / count, first = (from + n % count) * width;
      const Index row = in.row(b, h, in.H, 0);
      begin_rows<width, size>(block, q[n], in.queries(b, h, first));
      begin_rows<width, size>(block, dy[n], in.output_gradients(b, h, first));
      begin_numbers(block, norms[n], lse + row, first, in.T, width);
      begin_numbers(block, deltas[n], delta + row, first, in.T, width);
      if (in.table != nullptr)
        begin_numbers(block, slice[n], in.table_of(h), first - key - (tile_rows - 1), in.N,
                      tile_rows + width - 1);
      end_group();
    };
    begin_rows<tile_rows, size>(block, k, in.keys_of(b, g, key));
    begin_rows<tile_rows, size>(block, v, in.values(b, g, key));
    begin(0);
    Tile<size> key_sum, value_sum;
    RowValues added, sum;
    for (int n = 0; n < heads * count; ++n) {
      const int own = n / count, h = h0 + own, step = n % count, first = (from + step) * width;
      if (step == 0) {
        added.each([&](TileRow r, float& x) {
          x = in.keys != nullptr && key + r.row < in.T ? in.key_values(b, h)[key + r.row] : 0;
        });
        sum.each([](TileRow, float& x) { x = 0; });
      }
      if (n + 1 < heads * count) {
        begin(n + 1);
        finish_all_but<1>();
      } else {
        finish_all_but<0>();
      }
      Tile<width> p, ds;  // [keys, queries]
      add_product_of_rows<size>(p, k, q[n]);
      const float* const distances = slice[n];
      const float *const norm = norms[n], *const row_sum = deltas[n];
      if (in.table != nullptr)
        p.each([&](TileRow r, int c, float& x) {
          x = x * in.scale + distances[c - r.row + tile_rows - 1];
        });
      else
        p.each([&](TileRow, int, float& x) { x *= in.scale; });
      if (in.keys != nullptr) p.each([&](TileRow r, int, float& x) { x += added[r]; });
      p.each([&](TileRow, int c, float& x) { x = two_to(x * log2_e - norm[c] * log2_e); });
      if (first < key + tile_rows || first + width > in.T)
        p.each([&](TileRow r, int c, float& x) {
          if (first + c < key + r.row || first + c >= in.T) x = 0;
        });
      add_product(value_sum, Rounded<width>(p), dy[n]);
      add_product_of_rows<size>(ds, v, dy[n]);
      ds.each_with(p,
                   [&](TileRow, int c, float& x, float weight) { x = weight * (x - row_sum[c]); });
      if (of_keys != nullptr) ds.each([&](TileRow r, int, float& x) { sum[r] += x; });
      const Rounded<width> rounded(ds);
      rounded.write_blocks(kept.tile(group * heads + own, first / tile_rows, j) +
                           first % tile_rows * tile_rows);
      add_product(key_sum, rounded, q[n]);
      if (of_keys != nullptr && step + 1 == count) {
        sum.combine([](float one, float other) { return one + other; });
        sum.once([&](int row, float x) {
          if (key + row < in.T) of_keys[in.row(b, h, in.H, key + row)] = x;
        });
      }
      meet();
    }
    const Index row = in.row(b, g, in.G, key);
    write_rows(key_sum, dk + row * in.D, in.T - key, in.D, in.scale);
    write_rows(value_sum, dv + row * in.E, in.T - key, in.E, 1);
  }
};

// Sums of the scores' gradient by distance, each over 16 queries of a head, of those that such
// queries have: strip [head of an example, T / 16, distance].
struct Strips {
  static constexpr int rows = 16, of_tile = tile_rows / rows;
  float* data;
  Index tiles;
  PESUITE_HD Index of_head() const { return tiles * of_tile * distances(); }
  PESUITE_HD Index distances() const { return tiles * tile_rows; }
  PESUITE_HD float* at(Index bh, Index strip) const {
    return data + bh * of_head() + strip * distances();
  }
};

// A block: delta [B, H, T] = rowsum(dy y), of 64 queries of a head.
template <int size>
struct Deltas {
  static constexpr int threads = tile_threads, at_once = 8, bytes = 0;
  TiledInput in;
  const Bf16* y;
  float* delta;
  PESUITE_HD void operator()(Block& block) const {
    const int tiles = static_cast<int>(tiles_of(in.T)), index = static_cast<int>(block.index());
    const int b = index / tiles / in.H, h = index / tiles % in.H, first = index % tiles * tile_rows;
    RowValues sum;
    sum.by_parts([&](TileRow r, float& x, int part, int parts) {
      x = 0;
      if (first + r.row >= in.T) return;
      const Index row = in.output(b, h, first + r.row);
      for (int c = part * (size / parts); c < (part + 1) * (size / parts) && c < in.E; c += 8) {
        const Some<8> one = some<8>(y + row + c), other = some<8>(in.dy + row + c);
        for (int n = 0; n < 8; ++n) x += one.x[n] * other.x[n];
      }
    });
    sum.combine([](float one, float other) { return one + other; });
    sum.once([&](int r, float x) {
      if (first + r < in.T) delta[in.row(b, h, in.H, first + r)] = x;
    });
  }
};

// A block: the gradient of 64 queries of a head, the longest rows first.
template <int size>
struct QueryGradients {
  static constexpr int threads = tile_threads, at_once = size > 64 ? 3 : 4;
  static constexpr int bytes =
      2 * bf16_bytes(tile_rows, size) + 2 * KeptGradients::numbers * static_cast<int>(sizeof(Bf16));
  TiledInput in;
  SomeHeads some;
  KeptGradients kept;
  Bf16* dq;
  Strips strips;  // without data they are not wanted

  PESUITE_HD void operator()(Block& block) const {
    const int index = static_cast<int>(block.index()), n = index % some.all_heads();
    const int i = static_cast<int>(kept.tiles) - 1 - index / some.all_heads();
    const auto [b, h, g] = some.head(n);
    const int first = i * tile_rows;
    Pieces memory(block.shared());
    const auto ds = two<Bf16>(memory, KeptGradients::numbers);
    const auto k = two<Bf16>(memory, tile_rows * pitch_of(size));
    const auto begin = [&](int j) {
      begin_all<KeptGradients::numbers>(block, ds[j], kept.tile(n, i, j));
      begin_rows<tile_rows, size>(block, k[j], in.keys_of(b, g, j * tile_rows));
      end_group();
    };
    begin(0);
    Tile<size> sum;
    Diagonals<tile_rows> diagonals;
    for (int j = 0; j <= i; ++j) {
      if (j < i) {
        begin(j + 1);
        finish_all_but<1>();
      } else {
        finish_all_but<0>();
      }
      const auto gradient = Rounded<tile_rows>::transposed(ds[j]);
      if (strips.data != nullptr)
        diagonals.add(gradient.widened(), [&](int warp, int d, float x) {
          const int distance = first - j * tile_rows + Strips::rows * warp + d;
          if (distance >= 0) strips.at(n, i * Strips::of_tile + warp)[distance] = x;
        });
      add_product(sum, gradient, k[j]);
      meet();
    }
    write_rows(sum, dq + in.row(b, h, in.H, first) * in.D, in.T - first, in.D, in.scale);
  }
};

// An output is an entry of a table, a term a strip of a head that uses it.
struct DistanceOfStrips {
  Strips strips;
  Index H, N;   // H: heads of an example
  bool shared;  // by the heads
  PESUITE_HD float operator()(Index o, Index term) const {
    Index d, strip;
    const Index row = divide(o, N, d);
    const Index rest = divide(term, strips.tiles * Strips::of_tile, strip);
    if (d >= (strip + 1) * Strips::rows) return 0;
    return strips.at(shared ? rest : rest * H + row, strip)[d];
  }
};
struct KeySum {  // an output is a number of the bias, a term one that it is added to
  const float* of_keys;
  Parts<1> parts;
  PESUITE_HD float operator()(Index o, Index term) const {
    Index own[1], more[1];
    parts.own.at(o, own);
    parts.repeated.at(term, more);
    return of_keys[own[0] + more[0]];
  }
};

Bf16* half(const Bindings& b, Slot s) {
  return static_cast<Bf16*>(b[s]);
}
float* fp32(const Bindings& b, Slot s) {
  return static_cast<float*>(b[s]);
}

TiledInput input(const AttentionRequest& r, const Bindings& b, const AddedByDistance& d,
                 const AddedByKey& k) {
  const auto number = [](Index n) { return static_cast<int>(n); };
  TiledInput in{half(b, Slot::q),
                half(b, Slot::k),
                half(b, Slot::v),
                half(b, Slot::dy),
                d.table,
                d.rows > 1 ? number(d.N) : 0,
                number(d.N),
                k.bias,
                0,
                0,
                b.scale,
                number(r.B),
                number(r.H),
                number(r.G),
                number(r.T),
                number(r.D),
                number(r.E)};
  if (k.bias != nullptr) {
    in.keys_example = k.shape[0] > 1 ? k.shape[1] * r.T : 0;
    in.keys_head = k.shape[1] > 1 ? in.T : 0;
  }
  return in;
}

// f(some) for all heads, `most` groups at a time: whole examples, or groups of one.
template <class F>
void each_some(const AttentionRequest& r, Index most, const F& f) {
  const auto number = [](Index n) { return static_cast<int>(n); };
  const Index examples = std::max<Index>(1, most / r.G), groups = std::min(most, r.G);
  for (Index b = 0; b < r.B; b += examples)
    for (Index g = 0; g < r.G; g += groups)
      f(SomeHeads{number(b), number(std::min(examples, r.B - b)), number(g),
                  number(std::min(groups, r.G - g)), number(r.H / r.G)});
}

// The gradients of some heads; and what they add to a table's.
template <int size>
void some_backward(Queue& queue, const Bindings& b, const TiledInput& in, const SomeHeads& some,
                   const float* delta, float* of_keys, const AddedByDistance& d, Target dtable) {
  const bool wanted = dtable.data != nullptr;
  KeptGradients kept{nullptr, tiles_of(in.T)};
  Strips strips{nullptr, kept.tiles};
  const Scratch<Bf16> gradients(queue, some.all_heads() * kept.of_head());
  const Scratch<float> sums(queue, wanted ? some.all_heads() * strips.of_head() : 1);
  kept.data = gradients.data();
  if (wanted) strips.data = sums.data();
  queue.tiles(some.examples * some.groups * kept.tiles,
              KeyGradients<size>{in, some, fp32(b, Slot::lse), delta, half(b, Slot::dk),
                                 half(b, Slot::dv), kept, of_keys});
  queue.tiles(some.all_heads() * kept.tiles,
              QueryGradients<size>{in, some, kept, half(b, Slot::dq), strips});
  if (!wanted) return;
  const bool shared = d.rows == 1, first = some.example == 0 && (!shared || some.group == 0);
  const Index heads = some.heads(), rows = shared ? 1 : heads;
  const Index before = shared ? 0 : Index{some.group} * some.heads_of_group * d.N;
  reduce(queue, {dtable.data + before, dtable.add || !first}, rows * d.N,
         some.all_heads() / rows * strips.tiles * Strips::of_tile,
         DistanceOfStrips{strips, heads, d.N, shared});
}

}  // namespace

void tiled_forward(Queue& queue, const AttentionRequest& r, const Bindings& b,
                   const AddedByDistance& d, const AddedByKey& k) {
  const TiledInput in = input(r, b, d, k);
  by_size(std::max(r.D, r.E), [&]<int n>(Width<n>) {
    queue.tiles(r.B * r.H * tiles_of(r.T), Forward<n>{in, half(b, Slot::y), fp32(b, Slot::lse)});
  });
}

void tiled_backward(Queue& queue, const AttentionRequest& r, const Bindings& b,
                    const AddedByDistance& d, const AddedByKey& k, Target dtable, Target dbias,
                    Index groups) {
  const TiledInput in = input(r, b, d, k);
  const Scratch<float> delta(queue, r.B * r.H * r.T);
  const bool of_keys = dbias.data != nullptr;
  const Scratch<float> sums(queue, of_keys ? r.B * r.H * r.T : 1);
  by_size(std::max(r.D, r.E), [&]<int n>(Width<n>) {
    queue.tiles(r.B * r.H * tiles_of(r.T), Deltas<n>{in, half(b, Slot::y), delta.data()});
    each_some(r, groups, [&](const SomeHeads& some) {
      some_backward<n>(queue, b, in, some, delta.data(), of_keys ? sums.data() : nullptr, d,
                       dtable);
    });
  });
  if (!of_keys) return;
  const Shape full = {r.B, r.H, 1, r.T};
  const KeySum f{sums.data(), parts<1>(full, k.shape, {full})};
  reduce(queue, dbias, k.shape.count(), f.parts.repeated.count(), f);
}

}  // namespace pesuite::cuda
