#include "backend/cuda/distance.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "backend/cuda/walk.h"

namespace pesuite::cuda {

namespace {

struct Largest {  // a block a row of the table, over the distances that occur
  float* largest;
  const float* table;
  Index N, distances;
  PESUITE_HD void operator()(Block& block) const {
    const float* const row = table + block.index() * N;
    const float most = block.max(distances, [&](Index d) { return row[d]; });
    block.each(1, [&](Index) { largest[block.index()] = most; });
  }
};
constexpr int side_by_side = 8;
template <class Number>
struct alignas(16) Eight {
  Number x[side_by_side];
};
template <class Number>
struct Expand {  // eight keys a thread: rows are whole eights
  Eight<Number>* bias;
  Index eights;
  const float *table, *largest;
  DistanceShape s;
  PESUITE_HD void operator()(Index place) const {
    Index eight, i;
    const Index row = divide(divide(place, eights, eight), s.T, i), first = eight * side_by_side;
    const float* const own = table + row * s.N;
    Eight<Number> out;
    for (int k = 0; k < side_by_side; ++k) {
      const Index j = first + k, distance = s.first + i - j;
      const bool seen = j < s.S && distance >= 0;
      out.x[k] = Number(seen ? own[distance] - largest[row] : 0.0f);
    }
    bias[place] = out;
  }
};
template <class Number>
struct DiagonalTerm {  // a term is a query of an example
  const Number* dbias;
  DistanceShape s;
  PESUITE_HD float operator()(Index o, Index term) const {
    Index d, i;
    const Index row = divide(o, s.N, d), b = divide(term, s.T, i), j = s.first + i - d;
    if (j < 0 || j >= s.S) return 0;
    return static_cast<float>(dbias[((b * s.rows + row) * s.T + i) * s.S + j]);
  }
};

template <class Number>
void expand(Queue& queue, void* bias, Index pitch, const float* table, const DistanceShape& s) {
  const Scratch<float> largest(queue, s.rows);
  queue.blocks(s.rows, most_threads,
               Largest{largest.data(), table, s.N, std::min(s.N, s.first + s.T)});
  queue.each(s.rows * s.T * pitch / side_by_side,
             Expand<Number>{static_cast<Eight<Number>*>(bias), pitch / side_by_side, table,
                            largest.data(), s});
}
template <class Number>
void sum_diagonals(Queue& queue, Target dtable, const void* dbias, Index batch,
                   const DistanceShape& s) {
  reduce(queue, dtable, s.rows * s.N, batch * s.T,
         DiagonalTerm<Number>{static_cast<const Number*>(dbias), s});
}

}  // namespace

void expand_distance(Queue& queue, void* bias, Type type, Index pitch, const float* table,
                     const DistanceShape& s) {
  (type == Type::bf16 ? expand<__nv_bfloat16> : expand<__half>)(queue, bias, pitch, table, s);
}
void sum_distance(Queue& queue, Target dtable, const void* dbias, Type type, Index batch,
                  const DistanceShape& s) {
  (type == Type::bf16 ? sum_diagonals<__nv_bfloat16> : sum_diagonals<__half>)(queue, dtable, dbias,
                                                                              batch, s);
}

}  // namespace pesuite::cuda
