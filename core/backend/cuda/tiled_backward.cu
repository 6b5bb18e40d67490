#include <algorithm>
#include <array>

#include "backend/cuda/bias_term.h"
#include "backend/cuda/diagonals.h"
#include "backend/cuda/tiled_input.h"

namespace pesuite::cuda {

namespace {

// The first `columns` numbers of the first `count` rows, times a factor, rows `columns` apart. They
// are added to what stands in the first `there` rows.
template <int size>
PESUITE_HD void write_rows(Tile<size>& from, Bf16* to, int count, int columns, float factor,
                           int there) {
  from.pairs([&](TileRow r, int c, float& one, float& other) {
    if (r.row >= count || c >= columns) return;
    Bf16* const two = to + r.row * columns + c;
    const bool add = r.row < there;
    put_two(two, one * factor + (add ? static_cast<float>(two[0]) : 0.0f),
            other * factor + (add ? static_cast<float>(two[1]) : 0.0f));
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
// `reach` last keys up to the queries.
struct KeptGradients {
  static constexpr int numbers = tile_rows * tile_rows;
  Bf16* data;
  Index tiles, reach;
  PESUITE_HD Index of_head() const {
    return (reach < tiles ? tiles * reach : tiles * (tiles + 1) / 2) * numbers;
  }
  PESUITE_HD Bf16* tile(Index head, Index i, Index j) const {  // of queries, of keys
    const Index before = reach < tiles ? (i + 1) * (reach - 1) : i * (i + 1) / 2;
    return data + head * of_head() + (before + j) * numbers;
  }
};
KeptGradients kept_gradients(const TiledInput& in) {
  const Index tiles = tiles_of(in.T);
  return {nullptr, tiles, std::min<Index>(tiles, in.window / tile_rows + 1)};
}

// A block: the gradients of 64 keys and values, from all queries that see them. What `window` costs
// in registers the others do not have.
template <int size, bool window>
struct KeyGradients {
  static constexpr int threads = tile_threads, at_once = window && size > 64 ? 1 : 2;
  static constexpr int width = size > 64 ? 32 : 64;  // of queries
  static constexpr int bytes =
      bf16_bytes(2 * tile_rows + 4 * width, size) + 2 * (slice_numbers + 2 * width) * float_bytes;
  TiledInput in;
  SomeHeads some;
  const float* of_rows;  // as OutputSums has them
  Bf16 *dk, *dv;
  KeptGradients kept;
  float* of_keys;  // null, or [B, H, T]: the sums of the scores' gradient

  PESUITE_HD void operator()(Block& block) const {
    const int index = static_cast<int>(block.index()), groups = some.examples * some.groups;
    const int group = index % groups, heads = some.heads_of_group;
    const auto [b, h0, g] = some.head(group * heads);
    const int j = index / groups, key = j * tile_rows;
    // Queries up to the end of the last tile, whether they are there or not: all of it is kept.
    int end = static_cast<int>(kept.tiles) * tile_rows;
    if constexpr (window) {
      const int reached = key + static_cast<int>(kept.reach) * tile_rows;
      end = reached < end ? reached : end;
    }
    Pieces memory(block.shared());
    Bf16* const k = memory.take<Bf16>(tile_rows * pitch_of(size));
    Bf16* const v = memory.take<Bf16>(tile_rows * pitch_of(size));
    const auto q = two<Bf16>(memory, width * pitch_of(size));
    const auto dy = two<Bf16>(memory, width * pitch_of(size));
    const auto slice = two<float>(memory, slice_numbers);
    const auto rows = two<float>(memory, 2 * width);  // norms and deltas
    const Index first_row = in.row(b, h0, in.H, 0), all_rows = in.row(in.B, 0, in.H, 0);
    const Bf16 *const queries = in.q + first_row * in.D, *const dys = in.dy + in.output(b, h0, 0);
    // Tile n of queries, from `first` on, of a head of the group.
    const auto begin = [&](int n, int own, int first) {
      const int row = own * in.T + first;
      begin_rows<width, size>(block, q[n],
                              {queries + static_cast<Index>(row) * in.D, in.D, in.T - first, in.D});
      begin_rows<width, size>(
          block, dy[n],
          {dys + (static_cast<Index>(first) * in.H + own) * in.E, in.H * in.E, in.T - first, in.E});
      begin_numbers<2, width>(block, rows[n], of_rows + first_row + own * in.T, all_rows, first,
                              in.T);
      if (in.table != nullptr)
        begin_numbers<1, tile_rows + width - 1>(block, slice[n], in.table_of(h0 + own), 0,
                                                first - key - (tile_rows - 1), in.N);
      end_group();
    };
    begin_rows<tile_rows, size>(block, k, in.keys_of(b, g).from(key));
    begin_rows<tile_rows, size>(block, v, in.values(b, g).from(key));
    begin(0, 0, key);
    Tile<size> key_sum, value_sum;
    RowValues added, sum;
    for (int n = 0, own = 0, first = key; own < heads; ++n) {
      const bool last = first + width == end;  // of this head
      const int next_own = own + last, next_first = last ? key : first + width;
      if (first == key) {
        added.each([&](TileRow r, float& x) {
          x = in.keys != nullptr && key + r.row < in.T ? in.key_values(b, h0 + own)[key + r.row]
                                                       : 0;
        });
        sum.each([](TileRow, float& x) { x = 0; });
      }
      if (next_own < heads) {
        begin(n + 1, next_own, next_first);
        finish_all_but<1>();
      } else {
        finish_all_but<0>();
      }
      Tile<width> p, ds;  // [keys, queries]
      add_product_of_rows<size>(p, k, q[n]);
      const float* const distances = slice[n];
      const auto* const norms = reinterpret_cast<const Two*>(rows[n]);
      const Two* const deltas = norms + width / 2;
      if (in.table != nullptr)
        p.each([&](TileRow r, int c, float& x) {
          x = x * in.scale + distances[c - r.row + tile_rows - 1];
        });
      else
        p.each([&](TileRow, int, float& x) { x *= in.scale; });
      if (in.keys != nullptr) p.each([&](TileRow r, int, float& x) { x += added[r]; });
      p.pairs([&](TileRow, int c, float& one, float& other) {
        const Two norm = norms[c / 2];
        one = two_to(one * log2_e - norm.x), other = two_to(other * log2_e - norm.y);
      });
      if (first < key + tile_rows || first + width > in.T)
        p.each([&](TileRow r, int c, float& x) {
          if (first + c < key + r.row || first + c >= in.T) x = 0;
        });
      if constexpr (window)
        if (first - key >= in.window)
          p.each([&](TileRow r, int c, float& x) {
            if (first + c - key - r.row >= in.window) x = 0;
          });
      add_product(value_sum, Rounded<width>(p), dy[n]);
      add_product_of_rows<size>(ds, v, dy[n]);
      ds.pairs([&](TileRow, int c, float& one, float& other) {
        const Two delta = deltas[c / 2];
        one -= delta.x, other -= delta.y;
      });
      ds.each_with(p, [](TileRow, int, float& x, float weight) { x *= weight; });
      if (of_keys != nullptr) ds.each([&](TileRow r, int, float& x) { sum[r] += x; });
      const Rounded<width> rounded(ds);
      rounded.write_blocks(kept.tile(group * heads + own, first / tile_rows, j) +
                           first % tile_rows * tile_rows);
      add_product(key_sum, rounded, q[n]);
      if (of_keys != nullptr && last) {
        sum.combine([](float one, float other) { return one + other; });
        sum.once([&](int row, float x) {
          if (key + row < in.T) of_keys[in.row(b, h0 + own, in.H, key + row)] = x;
        });
      }
      meet();
      own = next_own, first = next_first;
    }
    const Index row = in.row(b, g, in.G, key);
    const int there = window ? in.beyond() - key : 0;
    write_rows(key_sum, dk + row * in.D, in.T - key, in.D, in.scale, there);
    write_rows(value_sum, dv + row * in.E, in.T - key, in.E, 1, there);
  }
};

// A block: two numbers for each of 64 queries of a head, [2, B, H, T]: the binary logarithm of the
// sum of its weights, and delta = rowsum(dy y).
template <int size>
struct OutputSums {
  static constexpr int threads = tile_threads, at_once = 8, parts = size / 8;  // of a row
  static constexpr int bytes = tile_rows * parts * float_bytes;
  TiledInput in;
  const Bf16* y;
  const float* lse;
  float* to;
  PESUITE_HD void operator()(Block& block) const {
    const int tiles = static_cast<int>(tiles_of(in.T)), index = static_cast<int>(block.index());
    const int b = index / tiles / in.H, h = index / tiles % in.H, first = index % tiles * tile_rows;
    Pieces memory(block.shared());
    float* const sums = memory.take<float>(tile_rows * parts);
    block.all(tile_rows * parts, [&](int i) {
      const int row = first + i / parts, c = i % parts * 8;
      float x = 0;
      if (row < in.T && c < in.E) {
        const Index at = in.output(b, h, row) + c;
        const Some<8> one = some<8>(y + at), other = some<8>(in.dy + at);
        for (int n = 0; n < 8; ++n) x += one.x[n] * other.x[n];
      }
      sums[i] = x;
    });
    meet();
    block.all(tile_rows, [&](int i) {
      if (first + i >= in.T) return;
      float x = 0;
      for (int part = 0; part < parts; ++part) x += sums[i * parts + part];
      const Index row = in.row(b, h, in.H, first + i);
      to[row] = lse[row] * log2_e;
      to[in.row(in.B, 0, in.H, 0) + row] = x;
    });
  }
};

// Sums of the scores' gradient by distance, each over the 64 queries of a tile, of those that such
// queries have: strip [one of those heads, T / 64, distance].
struct Strips {
  float* data;
  Index tiles, reach;
  PESUITE_HD Index of_head() const { return tiles * distances(); }
  PESUITE_HD Index distances() const { return reach * tile_rows; }
  PESUITE_HD float* at(Index head, Index strip) const {
    return data + head * of_head() + strip * distances();
  }
};
// The sums of a strip, from what each warp has of its rows. A tile of keys after the other, warps
// come to a distance within two of them.
struct StripSums {
  static constexpr int warps = tile_threads / warp_threads, ring = 256, numbers = warps * ring;
  float* of_warp;  // in shared memory: [warps, distance modulo the ring]
  float* strip;
  PESUITE_HD void put(int warp, int distance, float x) const {
    of_warp[warp * ring + (distance & (ring - 1))] = x;
  }
  // The 64 distances from `first` on, once all threads have put theirs. Where the strip ends, a
  // warp has no more than its own rows.
  PESUITE_HD void write(Block& block, int first, bool ends) const {
    block.all(tile_rows, [&](int d) {
      float sum = 0;
      for (int warp = 0; warp < warps; ++warp)
        if (!ends || d < (warp + 1) * (tile_rows / warps))
          sum += of_warp[warp * ring + ((first + d) & (ring - 1))];
      strip[first + d] = sum;
    });
  }
};

// A block: the gradient of 64 queries of a head, the longest rows first.
template <int size>
struct QueryGradients {
  static constexpr int threads = tile_threads, at_once = size > 64 ? 3 : 4;
  static constexpr int bytes = 2 * bf16_bytes(tile_rows, size) +
                               2 * KeptGradients::numbers * static_cast<int>(sizeof(Bf16)) +
                               StripSums::numbers * float_bytes;
  TiledInput in;
  SomeHeads some;
  KeptGradients kept;
  Bf16* dq;
  Strips strips;  // without data they are not wanted

  PESUITE_HD void operator()(Block& block) const {
    const int index = static_cast<int>(block.index()), n = index % some.all_heads();
    const int i = static_cast<int>(kept.tiles) - 1 - index / some.all_heads();
    const auto [b, h, g] = some.head(n);
    const int first = i * tile_rows, first_tile = in.first_tile(i);
    Pieces memory(block.shared());
    const auto ds = two<Bf16>(memory, KeptGradients::numbers);
    const auto k = two<Bf16>(memory, tile_rows * pitch_of(size));
    const bool wanted = strips.data != nullptr;
    const StripSums sums{memory.take<float>(StripSums::numbers),
                         wanted ? strips.at(n, i) : nullptr};
    const MatrixRows keys = in.keys_of(b, g);
    const Bf16* const gradients = kept.tile(n, i, first_tile);
    const auto begin = [&](int j) {
      begin_all<KeptGradients::numbers>(block, ds[j],
                                        gradients + (j - first_tile) * KeptGradients::numbers);
      begin_rows<tile_rows, size>(block, k[j], keys.from(j * tile_rows));
      end_group();
    };
    begin(first_tile);
    Tile<size> sum;
    Diagonals<tile_rows> diagonals;
    for (int j = first_tile; j <= i; ++j) {
      if (j < i) {
        begin(j + 1);
        finish_all_but<1>();
      } else {
        finish_all_but<0>();
      }
      if (wanted && j > first_tile)
        sums.write(block, first - (j - 1) * tile_rows, j == first_tile + 1);
      const auto gradient = Rounded<tile_rows>::transposed(ds[j]);
      if (wanted)
        diagonals.add(gradient.widened(), [&](int warp, int d, float x) {
          sums.put(warp, first - j * tile_rows + 16 * warp + d, x);
        });
      add_product(sum, gradient, k[j]);
      meet();
    }
    if (wanted) sums.write(block, 0, i == first_tile);
    write_rows(sum, dq + in.row(b, h, in.H, first) * in.D, in.T - first, in.D, in.scale,
               first < in.window ? 0 : tile_rows);
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
    const Index rest = divide(term, strips.tiles, strip);
    if (d >= (strip + 1) * tile_rows) return 0;
    return strips.at(shared ? rest : rest * H + row, strip)[d];
  }
};

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

// What some heads add to the gradient of a table of N distances.
void sum_strips(Queue& queue, const Strips& strips, const SomeHeads& some, bool shared, Index N,
                Target dtable) {
  const bool first = some.example == 0 && (!shared || some.group == 0);
  const Index heads = some.heads(), rows = shared ? 1 : heads;
  const Index before = shared ? 0 : Index{some.group} * some.heads_of_group * N;
  reduce(queue, {dtable.data + before, dtable.add || !first}, rows * N,
         some.all_heads() / rows * strips.tiles, DistanceOfStrips{strips, heads, N, shared});
}

// A block: a row of a table's gradient, [N], of its first `window` numbers. The gradients of a
// query's scores add up to 0, so what is missing at these is that of the level part.
struct WithLevel {
  Target to;
  const float* near;
  Index window, N;
  PESUITE_HD void operator()(Block& block) const {
    const float* const row = near + block.index() * window;
    const float sum = block.sum(window, [&](Index d) { return row[d]; });
    block.each(N, [&](Index d) {
      to.put(block.index() * N + d, d < window ? row[d] : d == window ? -sum : 0);
    });
  }
};

struct LseBeyond {  // of all keys, less what the table adds there
  float* to;
  const float *lse, *table;
  Index table_row, H, T, window;
  PESUITE_HD void operator()(Index i) const {
    Index row, h;
    const Index head = divide(i, T - window, row);
    divide(head, H, h);
    to[i] = lse[head * T + window + row] - table[h * table_row + window];
  }
};

}  // namespace

void set_lse(Queue& queue, const Beyond& beyond, const AttentionRequest& r, const float* lse,
             const AddedByDistance& d) {
  queue.each(r.B * r.H * (r.T - beyond.window),
             LseBeyond{beyond.lse, lse, d.table, d.rows > 1 ? d.N : 0, r.H, r.T, beyond.window});
}

void tiled_backward(Queue& queue, const AttentionRequest& r, const Bindings& b,
                    const AddedByDistance& d, const AddedByKey& k, Target dtable, Target dbias,
                    Index groups, const Beyond& beyond) {
  const TiledInput in = input(r, b, d, k, beyond);
  const Scratch<float> of_rows(queue, 2 * r.B * r.H * r.T);
  const bool of_keys = dbias.data != nullptr, of_table = dtable.data != nullptr;
  const bool level = of_table && beyond.window > 0;
  const Scratch<float> sums(queue, of_keys ? r.B * r.H * r.T : 1);
  const Index distances = level ? beyond.window : d.N;
  const Scratch<float> near(queue, level ? d.rows * distances : 1);
  const Target by_distance = level ? Target{near.data(), false} : dtable;
  const auto part = [&]<int n>(Width<n>, const SomeHeads& some) {
    KeptGradients kept = kept_gradients(in);
    const Scratch<Bf16> gradients(queue, some.all_heads() * kept.of_head());
    kept.data = gradients.data();
    Strips strips{nullptr, kept.tiles, kept.reach};
    const Scratch<float> sums_by_distance(queue,
                                          of_table ? some.all_heads() * strips.of_head() : 1);
    if (of_table) strips.data = sums_by_distance.data();
    const auto of_keys_and_values = [&]<bool window>(const KeyGradients<n, window>& f) {
      queue.tiles(some.examples * some.groups * kept.tiles, f);
    };
    Bf16 *const dk = half(b, Slot::dk), *const dv = half(b, Slot::dv);
    float* const by_key = of_keys ? sums.data() : nullptr;
    if (beyond.window > 0)
      of_keys_and_values(KeyGradients<n, true>{in, some, of_rows.data(), dk, dv, kept, by_key});
    else
      of_keys_and_values(KeyGradients<n, false>{in, some, of_rows.data(), dk, dv, kept, by_key});
    queue.tiles(some.all_heads() * kept.tiles,
                QueryGradients<n>{in, some, kept, half(b, Slot::dq), strips});
    if (of_table) sum_strips(queue, strips, some, d.rows == 1, distances, by_distance);
  };
  by_size(std::max(r.D, r.E), [&]<int n>(Width<n> width) {
    queue.tiles(r.B * r.H * tiles_of(r.T),
                OutputSums<n>{in, half(b, Slot::y), fp32(b, Slot::lse), of_rows.data()});
    each_some(r, groups, [&](const SomeHeads& some) { part(width, some); });
  });
  if (level) queue.blocks(d.rows, most_threads, WithLevel{dtable, near.data(), distances, d.N});
  if (!of_keys) return;
  const Shape full = {r.B, r.H, 1, r.T};
  const BiasTerm f{sums.data(), parts<1>(full, k.shape, {full})};
  reduce(queue, dbias, k.shape.count(), f.parts.repeated.count(), f);
}

}  // namespace pesuite::cuda
