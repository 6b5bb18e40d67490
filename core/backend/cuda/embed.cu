// Rows of a table by tokens, or of any tensor by indices. The gradient of a row is a sum over the
// places of its token: places are sorted by token and then by place, and a run of places of one
// token is summed in that order. Where a table has few numbers, each looks at all places.
#include <algorithm>

#include "backend/cuda/cuda.h"

namespace pesuite::cuda {

namespace {

struct ByToken {
  const std::int32_t* tokens;
  PESUITE_HD Index operator()(Index n) const { return tokens[n]; }
};
struct ByIndex {
  const float* index;
  Index rows;
  PESUITE_HD Index operator()(Index n) const { return place_of(index[n], rows); }
};

template <class Row>
struct TakeRows {
  Target y;
  const float* table;
  Row row;
  Index W;
  PESUITE_HD void operator()(Index i) const {
    Index w;
    const Index n = divide(i, W, w);
    y.put(i, table[row(n) * W + w]);
  }
};

// ---- sorting (Batcher 1968): pairs `apart` from each other are put in order, upwards in every
// other stretch of `stretch` keys; all pairs at once, so that the steps follow from their number
// alone.

using Key = std::uint64_t;  // a token, and a place in the lower half

template <class Row>
struct MakeKeys {  // what fills up to a power of two comes last
  Key* keys;
  Row row;
  Index N;
  PESUITE_HD void operator()(Index n) const {
    keys[n] = n < N ? Key{static_cast<std::uint32_t>(row(n))} << 32 | static_cast<Key>(n) : ~Key{0};
  }
};
// Of the keys from `begin` on, in `some`.
PESUITE_HD inline void put_in_order(Key* some, Index begin, Index pair, Index stretch,
                                    Index apart) {
  const Index low = (pair & ~(apart - 1)) * 2 + (pair & (apart - 1)), high = low + apart;
  const bool up = ((begin + low) & stretch) == 0;
  if ((some[low] > some[high]) != up) return;
  const Key kept = some[low];
  some[low] = some[high];
  some[high] = kept;
}
struct SortStep {
  Key* keys;
  Index stretch, apart;
  PESUITE_HD void operator()(Index pair) const { put_in_order(keys, 0, pair, stretch, apart); }
};
constexpr Index most_in_tile = 4096;
static_assert(most_in_tile * sizeof(Key) <= tile_bytes);
struct SortTile {  // a block: the steps from one stretch to another whose pairs lie in its tile
  Key* keys;
  Index tile, first, last;
  PESUITE_HD void operator()(Block& block) const {
    const Index begin = block.index() * tile;
    Key* const own = block.tiles<Key>();
    block.each(tile, [&](Index i) { own[i] = keys[begin + i]; });
    for (Index stretch = first; stretch <= last; stretch *= 2)
      for (Index apart = stretch < tile ? stretch / 2 : tile / 2; apart > 0; apart /= 2)
        block.each(tile / 2, [&](Index pair) { put_in_order(own, begin, pair, stretch, apart); });
    block.each(tile, [&](Index i) { keys[begin + i] = own[i]; });
  }
};

// n: a power of two.
void sort(Queue& queue, Key* keys, Index n) {
  const Index tile = std::min(n, most_in_tile);
  queue.blocks(n / tile, tile / 2, SortTile{keys, tile, 2, tile});
  for (Index stretch = 2 * tile; stretch <= n; stretch *= 2) {
    for (Index apart = stretch / 2; apart >= tile; apart /= 2)
      queue.each(n / 2, SortStep{keys, stretch, apart});
    queue.blocks(n / tile, tile / 2, SortTile{keys, tile, stretch, stretch});
  }
}

// ---- sums. The sorted places are cut into pieces, so that a token that stands everywhere is
// summed by many threads as well.

struct SortedRows {
  const Key* keys;
  const float* dy;
  Index N, W, piece;
  PESUITE_HD std::uint32_t token(Index n) const {
    return static_cast<std::uint32_t>(keys[n] >> 32);
  }
  PESUITE_HD bool goes_on(Index n) const { return n > 0 && token(n - 1) == token(n); }
  // Over the run from n on, up to the end of its piece; n becomes where it ends.
  PESUITE_HD float sum(Index& n, Index w) const {
    const std::uint32_t own = token(n);
    const Index end = (n / piece + 1) * piece < N ? (n / piece + 1) * piece : N;
    float all = 0;
    for (; n < end && token(n) == own; ++n)
      all += dy[static_cast<Index>(keys[n] & 0xffffffffu) * W + w];
    return all;
  }
};
struct HeadSums {  // of the runs that go on from one piece to the next. [pieces, W]
  float* heads;
  SortedRows rows;
  PESUITE_HD void operator()(Index i) const {
    Index w;
    Index n = divide(i, rows.W, w) * rows.piece;
    if (rows.goes_on(n)) heads[i] = rows.sum(n, w);
  }
};
struct RunSums {  // whole runs, by their first place
  Target dtable;
  const float* heads;
  SortedRows rows;
  PESUITE_HD void operator()(Index i) const {
    Index w;
    Index n = divide(i, rows.W, w);
    if (rows.goes_on(n)) return;
    const std::uint32_t own = rows.token(n);
    float sum = rows.sum(n, w);
    for (; n < rows.N && n % rows.piece == 0 && rows.token(n) == own; n += rows.piece)
      sum += heads[n / rows.piece * rows.W + w];
    dtable.put(Index{own} * rows.W + w, sum);
  }
};

// The rows of dtable, which holds zeros or what is added to, that `row` names for the N rows of dy.
template <class Row>
void add_rows(Queue& queue, Target dtable, const float* dy, const Row& row, Index N, Index W,
              bool sorted) {
  Index n = 2, piece = 1;
  while (n < N) n *= 2;
  while (piece * piece < N) piece *= 2;
  const Scratch<Key> keys(queue, n);
  queue.each(n, MakeKeys<Row>{keys.data(), row, N});
  if (!sorted) sort(queue, keys.data(), n);
  const Index pieces = (N + piece - 1) / piece;
  const Scratch<float> heads(queue, pieces * W);
  const SortedRows rows{keys.data(), dy, N, W, piece};
  queue.each(pieces * W, HeadSums{heads.data(), rows});
  queue.each(N * W, RunSums{dtable, heads.data(), rows});
}

// The same without sorting, and for all rows: an output is a number of the table, a term a place.
template <class Row>
struct MatchedRow {
  const float* dy;
  Row row;
  Index W;
  PESUITE_HD float operator()(Index o, Index n) const {
    Index w;
    const Index own = divide(o, W, w);
    return row(n) == own ? dy[n * W + w] : 0;
  }
};
// Where looking at all places is less than the kernels of a sort.
bool are_few(Index outputs, Index N) {
  return outputs <= 1024 && N <= 8192;
}

}  // namespace

void CudaBackend::embed_forward(Out y, View table, const std::int32_t* tokens) {
  queue_.each(y.shape.count(), TakeRows<ByToken>{target(y), in(table), {tokens}, table.shape[1]});
}
void CudaBackend::embed_backward(Out dtable, View dy, const std::int32_t* tokens) {
  const Index W = dtable.shape[1];
  if (!dtable.add) fill(dtable, 0);
  add_rows(queue_, target(dtable), in(dy), ByToken{tokens}, dy.shape.count() / W, W, false);
}

void CudaBackend::rows_forward(Out y, View x, View index) {
  const Index rows = x.shape[0], W = x.shape.count() / rows;
  queue_.each(index.shape.count() * W, TakeRows<ByIndex>{target(y), in(x), {in(index), rows}, W});
}
void CudaBackend::rows_backward(Out dx, View dy, View index, bool rising) {
  const Index rows = dx.shape[0], W = dx.shape.count() / rows, N = index.shape.count();
  const ByIndex row{in(index), rows};
  if (are_few(rows * W, N))
    return reduce_rows(queue_, target(dx), rows * W, N, MatchedRow<ByIndex>{in(dy), row, W});
  if (!dx.add) fill(dx, 0);
  add_rows(queue_, target(dx), in(dy), row, N, W, rising);
}

}  // namespace pesuite::cuda
