// Sums in a fixed order, whatever the device: every gradient of something that is used more than
// once. No kernel adds to the same number from several threads.
#pragma once

#include <algorithm>

#include "backend/cuda/queue.h"
#include "backend/cuda/stored.h"
#include "backend/cuda/walk.h"

namespace pesuite::cuda {

// part [chunk, output] = f(output, term) summed over the chunk's terms.
template <class F>
struct ChunkSums {
  static constexpr int at_a_time = 4;  // numbers that are on their way from memory
  F f;
  Target part;
  Index outputs, terms, chunk;
  PESUITE_HD void operator()(Index i) const {  // a thread each, side by side along the outputs
    Index o;
    const Index c = divide(i, outputs, o);
    const Index end = (c + 1) * chunk < terms ? (c + 1) * chunk : terms;
    Index r = c * chunk;
    float some[at_a_time] = {};
    for (; r + at_a_time <= end; r += at_a_time)
      for (int k = 0; k < at_a_time; ++k) some[k] += f(o, r + k);
    for (; r < end; ++r) some[0] += f(o, r);
    part.put(i, (some[0] + some[1]) + (some[2] + some[3]));
  }
  PESUITE_HD void operator()(Block& block) const {  // a block each, side by side along the terms
    Index o;
    const Index c = divide(block.index(), outputs, o);
    const Index first = c * chunk, n = first + chunk < terms ? chunk : terms - first;
    const float sum = block.sum(n, [&](Index r) { return f(o, first + r); });
    block.each(1, [&](Index) { part.put(block.index(), sum); });
  }
};
// y[o] = sum over terms of f(o, term): a block `width` outputs, which its threads sum in lanes.
template <class F>
struct LaneSums {
  F f;
  Target y;
  Index outputs, terms, width;
  PESUITE_HD void operator()(Block& block) const {
    constexpr int at_a_time = 8;  // numbers that are on their way from memory
    const Index first = block.index() * width, lanes = most_threads / width;
    float* const sums = block.memory();
    block.each(most_threads, [&](Index i) {
      Index o;
      const Index lane = divide(i, width, o);
      o += first;
      float some[at_a_time] = {};
      if (o < outputs)
        for (Index r = lane; r < terms; r += at_a_time * lanes)
          for (int k = 0; k < at_a_time; ++k)
            if (r + k * lanes < terms) some[k] += f(o, r + k * lanes);
      sums[i] = ((some[0] + some[1]) + (some[2] + some[3])) +
                ((some[4] + some[5]) + (some[6] + some[7]));
    });
    block.each(outputs - first < width ? outputs - first : width, [&](Index o) {
      float sum = 0;
      for (Index lane = 0; lane < lanes; ++lane) sum += sums[lane * width + o];
      y.put(first + o, sum);
    });
  }
};
template <class F>
void sum_in_lanes(Queue& queue, Target y, Index outputs, Index terms, const F& f) {
  // Lanes for the terms, and rows of at least the 32 bytes that memory reads at once.
  const Index width = terms < 64 ? warp_threads : 8;
  queue.blocks((outputs + width - 1) / width, most_threads,
               LaneSums<F>{f, y, outputs, terms, width});
}
struct Chunk {
  const float* part;  // [chunks, outputs]
  Index outputs;
  PESUITE_HD float operator()(Index o, Index chunk) const { return part[chunk * outputs + o]; }
};
inline void sum_chunks(Queue& queue, const float* part, Target y, Index outputs, Index chunks) {
  sum_in_lanes(queue, y, outputs, chunks, Chunk{part, outputs});
}

// The most chunks of the terms: enough threads for a large device, and enough terms for each.
constexpr Index most_chunks = 1024;

// In as many chunks of `terms` as are worth it, `launch(part, chunk, chunks)` and their sum.
template <class Launch>
void reduce_in_chunks(Queue& queue, Target y, Index outputs, Index terms, Index wanted,
                      Launch launch) {
  const Index most = std::clamp<Index>(wanted, 1, most_chunks);
  const Index chunk = std::max<Index>(1, (terms + most - 1) / most);
  const Index chunks = std::max<Index>(1, (terms + chunk - 1) / chunk);
  if (chunks == 1) return launch(y, chunk, chunks);
  const Scratch<float> part(queue, outputs * chunks);
  launch(Target{part.data(), false}, chunk, chunks);
  sum_chunks(queue, part.data(), y, outputs, chunks);
}

// The most terms that lanes sum without chunks: what a lane then adds, at most 16 numbers, takes
// less than a second kernel.
constexpr Index most_in_lanes = 512;

// y[o] = sum over terms of f(o, term), for o < outputs. Neighbouring outputs read neighbours.
template <class F>
void reduce(Queue& queue, Target y, Index outputs, Index terms, const F& f) {
  const Index wanted = std::min((terms + 15) / 16, (Index{1} << 18) / outputs);
  if (wanted > 1 && terms <= most_in_lanes) return sum_in_lanes(queue, y, outputs, terms, f);
  reduce_in_chunks(queue, y, outputs, terms, wanted, [&](Target part, Index chunk, Index chunks) {
    queue.each(outputs * chunks, ChunkSums<F>{f, part, outputs, terms, chunk});
  });
}
// The same where neighbouring terms read neighbours.
template <class F>
void reduce_rows(Queue& queue, Target y, Index outputs, Index terms, const F& f) {
  if (terms < 128) return reduce(queue, y, outputs, terms, f);
  reduce_in_chunks(
      queue, y, outputs, terms, outputs < 1024 ? (terms + 16383) / 16384 : 1,
      [&](Target part, Index chunk, Index chunks) {
        queue.blocks(outputs * chunks, chunk, ChunkSums<F>{f, part, outputs, terms, chunk});
      });
}

}  // namespace pesuite::cuda
