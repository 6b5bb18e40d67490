#include "backend/cuda/tiled_attention.h"

#include <algorithm>
#include <array>

#include "backend/cuda/tiles.h"

namespace pesuite::cuda {

namespace {

constexpr float log2_e = 1.44269504088896340736f;

PESUITE_HD inline float two_to(float x) {
#ifdef __CUDA_ARCH__
  return exp2f(x);
#else
  return std::exp2(x);
#endif
}

struct TiledInput {
  const Bf16 *q, *k, *v, *dy;
  const float* table;  // null, or [H or 1, N]
  Index table_row, N;
  const float* keys;  // null, or a value for each key
  Index keys_example, keys_head;
  float scale;
  Index B, H, G, T;
  int D, E;

  PESUITE_HD MatrixRows queries(Index b, Index h, Index first) const {
    return {q + ((b * H + h) * T + first) * D, D, T - first, D};
  }
  PESUITE_HD MatrixRows keys_of(Index b, Index g, Index first) const {
    return {k + ((b * G + g) * T + first) * D, D, T - first, D};
  }
  PESUITE_HD MatrixRows values(Index b, Index g, Index first) const {
    return {v + ((b * G + g) * T + first) * E, E, T - first, E};
  }
  PESUITE_HD MatrixRows output_gradients(Index b, Index h, Index first) const {
    return {dy + ((b * T + first) * H + h) * E, H * E, T - first, E};
  }
  PESUITE_HD const float* table_of(Index h) const { return table + h * table_row; }
  PESUITE_HD const float* key_values(Index b, Index h) const {
    return keys + b * keys_example + h * keys_head;
  }
};

constexpr int slice_numbers = 128, float_bytes = static_cast<int>(sizeof(float));

// Two of the same: one is read while the other is filled.
template <class T>
struct Turns {
  T* data;
  int size;
  PESUITE_HD T* operator[](Index n) const { return data + (n % 2) * size; }
};
template <class T>
PESUITE_HD Turns<T> two(Pieces& memory, int size) {
  return {memory.take<T>(2 * size), size};
}

// A block: 64 queries of a head, the longest rows first.
template <int size>
struct Forward {
  static constexpr int threads = tile_threads, at_once = size > 64 ? 2 : 3, width = 64;
  static constexpr int bytes =
      bf16_bytes(tile_rows + 4 * width, size) + 2 * (slice_numbers + width) * float_bytes;
  TiledInput in;
  Bf16* y;
  float* lse;

  PESUITE_HD void operator()(Block& block) const {
    Index bh, h;
    const Index i = tiles_of(in.T) - 1 - divide(block.index(), in.B * in.H, bh);
    const Index b = divide(bh, in.H, h), g = h / (in.H / in.G), first = i * tile_rows;
    Pieces memory(block.shared());
    Bf16* const q = memory.take<Bf16>(tile_rows * pitch_of(size));
    const auto k = two<Bf16>(memory, width * pitch_of(size));
    const auto v = two<Bf16>(memory, width * pitch_of(size));
    const auto slice = two<float>(memory, slice_numbers), keys = two<float>(memory, width);
    const auto begin = [&](Index j) {
      const Index key = j * width;
      begin_rows<width, size>(block, k[j], in.keys_of(b, g, key));
      begin_rows<width, size>(block, v[j], in.values(b, g, key));
      if (in.table != nullptr)
        begin_numbers(block, slice[j], in.table_of(h), first - key - (width - 1), in.N,
                      tile_rows + width - 1);
      if (in.keys != nullptr)
        begin_numbers(block, keys[j], in.key_values(b, h), key, in.T, width);
      end_group();
    };
    begin_rows<tile_rows, size>(block, q, in.queries(b, h, first));
    begin(0);
    RowValues top, total;
    top.each([](TileRow, float& x) { x = -std::numeric_limits<float>::infinity(); });
    total.each([](TileRow, float& x) { x = 0; });
    Tile<size> sum;
    for (Index j = 0; j <= i; ++j) {
      if (j < i) {
        begin(j + 1);
        finish_all_but<1>();
      } else {
        finish_all_but<0>();
      }
      Tile<width> s;
      add_product_of_rows<size>(s, q, k[j]);
      add(s, slice[j], keys[j]);
      if (j == i)
        s.each([](TileRow r, int c, float& x) {
          if (c > r.row) x = -std::numeric_limits<float>::infinity();
        });
      weigh(s, sum, top, total);
      add_product(sum, Rounded<width>(s), v[j]);
      meet();
    }
    total.combine([](float one, float other) { return one + other; });
    sum.pairs([&](TileRow r, int c, float& one, float& other) {
      const Index row = first + r.row;
      if (row >= in.T || c >= in.E) return;
      Bf16* const to = y + ((b * in.T + row) * in.H + h) * in.E + c;
      to[0] = Bf16(one / total[r]), to[1] = Bf16(other / total[r]);
    });
    RowValues logarithm;
    logarithm.each([&](TileRow r, float& x) { x = top[r] + std::log(total[r]); });
    logarithm.once([&](int row, float x) {
      if (first + row < in.T) lse[bh * in.T + first + row] = x;
    });
  }

 private:
  PESUITE_HD void add(Tile<width>& s, const float* slice, const float* keys) const {
    if (in.table != nullptr)
      s.each([&](TileRow r, int c, float& x) {
        x = x * in.scale + slice[r.row - c + width - 1];
      });
    else
      s.each([&](TileRow, int, float& x) { x *= in.scale; });
    if (in.keys != nullptr) s.each([&](TileRow, int c, float& x) { x += keys[c]; });
  }
  // Scores become probabilities but for the factor that `total` is for; what was summed so far
  // goes along where the largest score changes.
  PESUITE_HD static void weigh(Tile<width>& s, Tile<size>& sum, RowValues& top, RowValues& total) {
    RowValues largest = top, base, factor;
    s.each([&](TileRow r, int, float& x) { largest[r] = largest[r] < x ? x : largest[r]; });
    largest.combine([](float one, float other) { return one < other ? other : one; });
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

// A block: the gradients of 64 keys and values, from all queries that see them.
template <int size>
struct KeyGradients {
  static constexpr int threads = tile_threads, at_once = 2;
  static constexpr int width = size > 64 ? 32 : 64;  // of queries
  static constexpr int bytes = bf16_bytes(2 * tile_rows + 4 * width, size) +
                               2 * (slice_numbers + 2 * width) * float_bytes;
  TiledInput in;
  const float *lse, *delta;
  Bf16 *dk, *dv;
  float* of_keys;  // null, or [B, H, T]: the sums of the scores' gradient

  PESUITE_HD void operator()(Block& block) const {
    Index bg, g;
    const Index j = divide(block.index(), in.B * in.G, bg), b = divide(bg, in.G, g);
    const Index key = j * tile_rows, heads = in.H / in.G;
    const Index from = key / width, count = (in.T + width - 1) / width - from;
    Pieces memory(block.shared());
    Bf16* const k = memory.take<Bf16>(tile_rows * pitch_of(size));
    Bf16* const v = memory.take<Bf16>(tile_rows * pitch_of(size));
    const auto q = two<Bf16>(memory, width * pitch_of(size));
    const auto dy = two<Bf16>(memory, width * pitch_of(size));
    const auto slice = two<float>(memory, slice_numbers);
    const auto norms = two<float>(memory, width), deltas = two<float>(memory, width);
    const auto begin = [&](Index n) {
      Index step;
      const Index h = g * heads + divide(n, count, step), first = (from + step) * width;
      begin_rows<width, size>(block, q[n], in.queries(b, h, first));
      begin_rows<width, size>(block, dy[n], in.output_gradients(b, h, first));
      begin_numbers(block, norms[n], lse + (b * in.H + h) * in.T, first, in.T, width);
      begin_numbers(block, deltas[n], delta + (b * in.H + h) * in.T, first, in.T, width);
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
    for (Index n = 0; n < heads * count; ++n) {
      Index step;
      const Index h = g * heads + divide(n, count, step), first = (from + step) * width;
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
      p.each([&](TileRow r, int c, float& x) {
        const float t = in.table != nullptr ? distances[c - r.row + tile_rows - 1] : 0;
        x = two_to((x * in.scale + t + added[r] - norm[c]) * log2_e);
      });
      if (first < key + tile_rows || first + width > in.T)
        p.each([&](TileRow r, int c, float& x) {
          if (first + c < key + r.row || first + c >= in.T) x = 0;
        });
      add_product(value_sum, Rounded<width>(p), dy[n]);
      add_product_of_rows<size>(ds, v, dy[n]);
      ds.each_with(p, [&](TileRow r, int c, float& x, float weight) {
        x = weight * (x - row_sum[c]);
        sum[r] += x;
      });
      add_product(key_sum, Rounded<width>(ds), q[n]);
      if (of_keys != nullptr && step + 1 == count) {
        sum.combine([](float one, float other) { return one + other; });
        sum.once([&](int row, float x) {
          if (key + row < in.T) of_keys[(b * in.H + h) * in.T + key + row] = x;
        });
      }
      meet();
    }
    const auto write = [&](Tile<size>& from_tile, Bf16* to, int columns, float factor) {
      from_tile.pairs([&](TileRow r, int c, float& one, float& other) {
        if (key + r.row >= in.T || c >= columns) return;
        Bf16* const at = to + (bg * in.T + key + r.row) * columns + c;
        at[0] = Bf16(one * factor), at[1] = Bf16(other * factor);
      });
    };
    write(key_sum, dk, in.D, in.scale);
    write(value_sum, dv, in.E, 1);
  }

};

// Sums along the diagonals of tiles: of each head of an example, tile of queries and tile of keys
// that it sees, `slice_numbers`.
struct DiagonalParts {
  float* data;
  Index tiles;
  int width;  // of a tile of keys
  PESUITE_HD Index of_queries(Index i) const { return i * (i + 1) / 2 * (tile_rows / width); }
  PESUITE_HD float* at(Index bh, Index i, Index j) const {
    return data + (bh * of_queries(tiles) + of_queries(i) + j) * slice_numbers;
  }
};

// A block: the gradient of 64 queries of a head, the longest rows first.
template <int size>
struct QueryGradients {
  static constexpr int threads = tile_threads, at_once = size > 64 ? 2 : 3;
  static constexpr int width = size > 64 ? 32 : 64;  // of keys
  static constexpr int bytes = bf16_bytes(2 * tile_rows + 4 * width, size) +
                               2 * (slice_numbers + width) * float_bytes +
                               Diagonals<width>::bytes;
  TiledInput in;
  const float *lse, *delta;
  Bf16* dq;
  DiagonalParts parts;  // without data they are not wanted
  Index examples;       // that `parts` is of, from `example` on
  Index example;

  PESUITE_HD void operator()(Block& block) const {
    Index bh, h;
    const Index i = parts.tiles - 1 - divide(block.index(), examples * in.H, bh);
    const Index b = example + divide(bh, in.H, h), g = h / (in.H / in.G), first = i * tile_rows;
    const Index seen = first + tile_rows < in.T ? first + tile_rows : in.T;
    const Index count = (seen + width - 1) / width;
    Pieces memory(block.shared());
    Bf16* const q = memory.take<Bf16>(tile_rows * pitch_of(size));
    Bf16* const dy = memory.take<Bf16>(tile_rows * pitch_of(size));
    const auto k = two<Bf16>(memory, width * pitch_of(size));
    const auto v = two<Bf16>(memory, width * pitch_of(size));
    const auto slice = two<float>(memory, slice_numbers), keys = two<float>(memory, width);
    float* const of_diagonals = memory.take<float>(4 * Diagonals<width>::part);
    const auto begin = [&](Index j) {
      const Index key = j * width;
      begin_rows<width, size>(block, k[j], in.keys_of(b, g, key));
      begin_rows<width, size>(block, v[j], in.values(b, g, key));
      if (in.table != nullptr)
        begin_numbers(block, slice[j], in.table_of(h), first - key - (width - 1), in.N,
                      tile_rows + width - 1);
      if (in.keys != nullptr)
        begin_numbers(block, keys[j], in.key_values(b, h), key, in.T, width);
      end_group();
    };
    begin_rows<tile_rows, size>(block, q, in.queries(b, h, first));
    begin_rows<tile_rows, size>(block, dy, in.output_gradients(b, h, first));
    begin(0);
    RowValues norm, row_sum;
    norm.each([&](TileRow r, float& x) {  // rows that are not there have probabilities of 0
      const Index row = (b * in.H + h) * in.T + first + r.row;
      const bool there = first + r.row < in.T;
      x = there ? lse[row] : std::numeric_limits<float>::infinity();
      row_sum[r] = there ? delta[row] : 0;
    });
    Tile<size> sum;
    for (Index j = 0; j < count; ++j) {
      if (j + 1 < count) {
        begin(j + 1);
        finish_all_but<1>();
      } else {
        finish_all_but<0>();
      }
      Tile<width> p, ds;
      add_product_of_rows<size>(p, q, k[j]);
      const float *const distances = slice[j], *const of_key = keys[j];
      p.each([&](TileRow r, int c, float& x) {
        x *= in.scale;
        if (in.table != nullptr) x += distances[r.row - c + width - 1];
        if (in.keys != nullptr) x += of_key[c];
        x = two_to((x - norm[r]) * log2_e);
      });
      if ((j + 1) * width > first)
        p.each([&](TileRow r, int c, float& x) {
          if (j * width + c > first + r.row) x = 0;
        });
      add_product_of_rows<size>(ds, dy, v[j]);
      ds.each_with(p, [&](TileRow r, int, float& x, float weight) {
        x = weight * (x - row_sum[r]);
      });
      if (parts.data != nullptr) {
        float* const to = parts.at(bh, i, j);
        Diagonals<width>::sum(block, ds, of_diagonals, [&](int w, float x) { to[w] = x; });
      }
      add_product(sum, Rounded<width>(ds), k[j]);
      meet();
    }
    sum.pairs([&](TileRow r, int c, float& one, float& other) {
      if (first + r.row >= in.T || c >= in.D) return;
      Bf16* const to = dq + ((b * in.H + h) * in.T + first + r.row) * in.D + c;
      to[0] = Bf16(one * in.scale), to[1] = Bf16(other * in.scale);
    });
  }

};

// An output is an entry of a table, a term a tile of queries of a head that uses it and one of the
// tiles of keys in which some of its keys are that far away.
struct DistanceOfParts {
  DiagonalParts parts;
  Index H, N, T;
  bool shared;  // by the heads
  PESUITE_HD Index terms_of_tile() const { return (tile_rows - 1) / parts.width + 2; }
  PESUITE_HD float operator()(Index o, Index term) const {
    Index d, i, nth;
    const Index row = divide(o, N, d);
    const Index rest = divide(divide(term, terms_of_tile(), nth), parts.tiles, i);
    const Index bh = shared ? rest : rest * H + row;
    // the distance from the tile's first query to its first key is d - w + width - 1
    const Index width = parts.width, least = i * tile_rows - d - (width - 1);
    const Index j = (least > 0 ? (least + width - 1) / width : 0) + nth;
    const Index w = d + width - 1 - (i * tile_rows - j * width);
    if (d >= T || w < 0 || w > tile_rows + width - 2) return 0;
    const Index seen = (i + 1) * tile_rows < T ? (i + 1) * tile_rows : T;
    return j * width < seen ? parts.at(bh, i, j)[w] : 0;
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

Bf16* half(const Bindings& b, Slot s) {
  return static_cast<Bf16*>(b[s]);
}
float* fp32(const Bindings& b, Slot s) {
  return static_cast<float*>(b[s]);
}

TiledInput input(const AttentionRequest& r, const Bindings& b, const AddedByDistance& d,
                 const AddedByKey& k) {
  TiledInput in{half(b, Slot::q),
                half(b, Slot::k),
                half(b, Slot::v),
                half(b, Slot::dy),
                d.table,
                d.rows > 1 ? d.N : 0,
                d.N,
                k.bias,
                0,
                0,
                b.scale,
                r.B,
                r.H,
                r.G,
                r.T,
                static_cast<int>(r.D),
                static_cast<int>(r.E)};
  if (k.bias != nullptr) {
    in.keys_example = k.shape[0] > 1 ? k.shape[1] * r.T : 0;
    in.keys_head = k.shape[1] > 1 ? r.T : 0;
  }
  return in;
}

constexpr Index most_parts = Index{1} << 26;  // numbers, of a table's gradient

// dq, and the sums of a table's gradient by as many examples at a time as there is room for.
template <int size>
void query_gradients(Queue& queue, const AttentionRequest& r, const Bindings& b,
                     const TiledInput& in, const float* delta, const AddedByDistance& d,
                     Target dtable) {
  using Kernel = QueryGradients<size>;
  DiagonalParts parts{nullptr, tiles_of(r.T), Kernel::width};
  const Index numbers = r.H * parts.of_queries(parts.tiles) * slice_numbers;  // of an example
  const bool wanted = dtable.data != nullptr;
  const Index most = wanted ? std::clamp<Index>(most_parts / numbers, 1, r.B) : r.B;
  for (Index example = 0; example < r.B; example += most) {
    const Index examples = std::min(most, r.B - example);
    const Scratch<float> sums(queue, wanted ? examples * numbers : 1);
    if (wanted) parts.data = sums.data();
    queue.tiles(examples * r.H * parts.tiles,
                Kernel{in, fp32(b, Slot::lse), delta, half(b, Slot::dq), parts, examples, example});
    if (!wanted) continue;
    const DistanceOfParts f{parts, r.H, d.N, r.T, d.rows == 1};
    reduce(queue, {dtable.data, dtable.add || example > 0}, d.rows * d.N,
           examples * (d.rows == 1 ? r.H : Index{1}) * parts.tiles * f.terms_of_tile(), f);
  }
}

}  // namespace

void sum_rows(Queue& queue, float* delta, const AttentionRequest& r, const Bindings& b) {
  queue.each(r.B * r.H * r.T,
             RowSums{delta, half(b, Slot::y), half(b, Slot::dy), r.H, r.T, r.E});
}

void tiled_forward(Queue& queue, const AttentionRequest& r, const Bindings& b,
                   const AddedByDistance& d, const AddedByKey& k) {
  const TiledInput in = input(r, b, d, k);
  by_size(std::max(r.D, r.E), [&]<int n>(Width<n>) {
    queue.tiles(r.B * r.H * tiles_of(r.T),
                Forward<n>{in, half(b, Slot::y), fp32(b, Slot::lse)});
  });
}

void tiled_backward(Queue& queue, const AttentionRequest& r, const Bindings& b,
                    const AddedByDistance& d, const AddedByKey& k, Target dtable, Target dbias) {
  const TiledInput in = input(r, b, d, k);
  const Scratch<float> delta(queue, r.B * r.H * r.T);
  sum_rows(queue, delta.data(), r, b);
  const bool of_keys = dbias.data != nullptr;
  const Scratch<float> sums(queue, of_keys ? r.B * r.H * r.T : 1);
  by_size(std::max(r.D, r.E), [&]<int n>(Width<n>) {
    queue.tiles(r.B * r.G * tiles_of(r.T),
                KeyGradients<n>{in, fp32(b, Slot::lse), delta.data(), half(b, Slot::dk),
                                half(b, Slot::dv), of_keys ? sums.data() : nullptr});
    query_gradients<n>(queue, r, b, in, delta.data(), d, dtable);
  });
  if (!of_keys) return;
  const Shape full = {r.B, r.H, 1, r.T};
  const KeySum f{sums.data(), parts<1>(full, k.shape, {full})};
  reduce(queue, dbias, k.shape.count(), f.parts.repeated.count(), f);
}

}  // namespace pesuite::cuda
