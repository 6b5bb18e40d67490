#include <algorithm>

#include "backend/cuda/tiled_input.h"

namespace pesuite::cuda {

namespace {

// The tiles of keys and values that a block of 64 queries visits, and what is added to its scores.
template <int size>
struct KeyTiles {
  static constexpr int width = tile_rows;
  static constexpr int bytes =
      bf16_bytes(4 * width, size) + 2 * (slice_numbers + width) * float_bytes;
  MatrixRows all_keys, all_values;
  const float *table, *all_added;  // null: there is none
  int first;                       // query
  Turns<Bf16> k, v;
  Turns<float> slice, added;  // of the table and of the bias
  PESUITE_HD KeyTiles(Pieces& memory, const TiledInput& in, int b, int h, int g, int first_query)
      : all_keys(in.keys_of(b, g)),
        all_values(in.values(b, g)),
        table(in.table != nullptr ? in.table_of(h) : nullptr),
        all_added(in.keys != nullptr ? in.key_values(b, h) : nullptr),
        first(first_query),
        k(two<Bf16>(memory, width * pitch_of(size))),
        v(two<Bf16>(memory, width * pitch_of(size))),
        slice(two<float>(memory, slice_numbers)),
        added(two<float>(memory, width)) {}
  PESUITE_HD void begin(Block& block, const TiledInput& in, int j) const {
    const int key = j * width;
    begin_rows<width, size>(block, k[j], all_keys.from(key));
    begin_rows<width, size>(block, v[j], all_values.from(key));
    if (table != nullptr)
      begin_numbers<1, tile_rows + width - 1>(block, slice[j], table, 0, first - key - (width - 1),
                                              in.N);
    if (all_added != nullptr) begin_numbers<1, width>(block, added[j], all_added, 0, key, in.T);
    end_group();
  }
  // Scores of tile j from q.k. What is there is asked once a tile: a branch a number would keep the
  // others from being on their way.
  PESUITE_HD void add(Tile<width>& s, const TiledInput& in, int j) const {
    const float *const distances = slice[j], *const of_key = added[j];
    if (table != nullptr)
      s.each(
          [&](TileRow r, int c, float& x) { x = x * in.scale + distances[r.row - c + width - 1]; });
    else
      s.each([&](TileRow, int, float& x) { x *= in.scale; });
    if (all_added != nullptr) s.each([&](TileRow, int c, float& x) { x += of_key[c]; });
  }
};

// A block: 64 queries of a head, the longest rows first.
template <int size>
struct Forward {
  static constexpr int threads = tile_threads, at_once = 2, width = KeyTiles<size>::width;
  static constexpr int bytes = bf16_bytes(tile_rows, size) + KeyTiles<size>::bytes;
  TiledInput in;
  Bf16* y;
  float* lse;
  const float* beyond;  // the lse of what lies beyond the window

  PESUITE_HD void operator()(Block& block) const {
    const int index = static_cast<int>(block.index()), heads = in.B * in.H;
    const int i = static_cast<int>(tiles_of(in.T)) - 1 - index / heads;
    const int b = index % heads / in.H, h = index % in.H, g = h / (in.H / in.G);
    const int first = i * tile_rows, first_tile = in.first_tile(i);
    Pieces memory(block.shared());
    Bf16* const q = memory.take<Bf16>(tile_rows * pitch_of(size));
    const KeyTiles<size> keys(memory, in, b, h, g, first);
    begin_rows<tile_rows, size>(block, q, in.queries(b, h).from(first));
    end_group();
    keys.begin(block, in, first_tile);
    finish_all_but<1>();
    const Held<size> queries(q);
    RowValues top, total;
    Tile<size> sum;
    if (first < in.window) {
      top.each([](TileRow, float& x) { x = -std::numeric_limits<float>::infinity(); });
      total.each([](TileRow, float& x) { x = 0; });
    } else {
      begin_from(sum, top, total, b, h, first);
    }
    for (int j = first_tile; j <= i; ++j) {
      if (j < i) {
        keys.begin(block, in, j + 1);
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
      if (first - j * width == in.window)
        s.each([](TileRow r, int c, float& x) {
          if (c <= r.row) x = -std::numeric_limits<float>::infinity();
        });
      weigh(s, sum, top, total);
      add_product(sum, Rounded<width>(s), keys.v[j]);
      meet();
    }
    total.combine([](float one, float other) { return one + other; });
    sum.pairs([&](TileRow r, int c, float& one, float& other) {
      if (first + r.row >= in.T || c >= in.E) return;
      put_two(y + in.output(b, h, first + r.row) + c, one / total[r], other / total[r]);
    });
    RowValues logarithm;
    logarithm.each([&](TileRow r, float& x) { x = top[r] + std::log(total[r]); });
    logarithm.once([&](int row, float x) {
      if (first + row < in.T) lse[in.row(b, h, in.H, first + row)] = x;
    });
  }

 private:
  // What lies beyond is as one key with all its weight.
  PESUITE_HD void begin_from(Tile<size>& sum, RowValues& top, RowValues& total, int b, int h,
                             int first) const {
    const float level = in.table_of(h)[in.window];
    const Index row = (Index{b} * in.H + h) * in.beyond() + first - in.window;
    top.each(
        [&](TileRow r, float& x) { x = first + r.row < in.T ? beyond[row + r.row] + level : 0; });
    total.by_parts([](TileRow, float& x, int part, int) { x = part == 0 ? 1.0f : 0.0f; });
    sum.pairs([&](TileRow r, int c, float& one, float& other) {
      if (first + r.row >= in.T || c >= in.E) return;
      const Bf16* const two = y + in.output(b, h, first + r.row) + c;
      one = static_cast<float>(two[0]), other = static_cast<float>(two[1]);
    });
  }
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

}  // namespace

void tiled_forward(Queue& queue, const AttentionRequest& r, const Bindings& b,
                   const AddedByDistance& d, const AddedByKey& k, const Beyond& beyond) {
  const TiledInput in = input(r, b, d, k, beyond);
  by_size(std::max(r.D, r.E), [&]<int n>(Width<n>) {
    queue.tiles(r.B * r.H * tiles_of(r.T),
                Forward<n>{in, half(b, Slot::y), fp32(b, Slot::lse), beyond.lse});
  });
}

}  // namespace pesuite::cuda
