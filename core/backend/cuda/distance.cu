#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "backend/cuda/distance.h"

namespace pesuite::cuda {

namespace {

constexpr unsigned threads = 256;

unsigned blocks(std::int64_t n) {
  return static_cast<unsigned>((n + threads - 1) / threads);
}

// One block a row of the table, over the distances that occur.
__global__ void largest_kernel(float* largest, const float* table, DistanceShape s) {
  __shared__ float found[threads];
  const float* const row = table + blockIdx.x * s.N;
  const std::int64_t n = min(s.N, s.first + s.T);
  float most = row[0];
  for (std::int64_t d = threadIdx.x; d < n; d += threads) most = fmaxf(most, row[d]);
  found[threadIdx.x] = most;
  for (unsigned half = threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half)
      found[threadIdx.x] = fmaxf(found[threadIdx.x], found[threadIdx.x + half]);
  }
  if (threadIdx.x == 0) largest[blockIdx.x] = found[0];
}

// Threads along the keys, so that neighbours write neighbours.
template <class Number>
__global__ void expand_kernel(Number* bias, std::int64_t pitch, const float* table,
                              const float* largest, DistanceShape s) {
  const std::int64_t j = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  const std::int64_t i = blockIdx.y, row = blockIdx.z;
  if (j < s.S)
    bias[(row * s.T + i) * pitch + j] = Number(bias_element(table, largest, s, row, i, j));
}

// Threads along the distances: in a row of the gradient neighbours read neighbours.
template <class Number>
__global__ void sum_kernel(float* dtable, bool add, const Number* dbias, std::int64_t batch,
                           DistanceShape s) {
  const std::int64_t d = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  const std::int64_t row = blockIdx.y;
  if (d >= s.N) return;
  float* const to = dtable + row * s.N + d;
  *to = (add ? *to : 0) + diagonal_sum(dbias, batch, s, row, d);
}

}  // namespace

cudaError_t expand_distance(void* bias, Type type, std::int64_t pitch, float* largest,
                            const float* table, const DistanceShape& s, cudaStream_t stream) {
  largest_kernel<<<static_cast<unsigned>(s.rows), threads, 0, stream>>>(largest, table, s);
  const dim3 grid(blocks(s.S), static_cast<unsigned>(s.T), static_cast<unsigned>(s.rows));
  if (type == Type::bf16)
    expand_kernel<<<grid, threads, 0, stream>>>(static_cast<__nv_bfloat16*>(bias), pitch, table,
                                                largest, s);
  else
    expand_kernel<<<grid, threads, 0, stream>>>(static_cast<__half*>(bias), pitch, table, largest,
                                                s);
  return cudaGetLastError();
}

cudaError_t sum_distance(float* dtable, bool add, const void* dbias, Type type, std::int64_t batch,
                         const DistanceShape& s, cudaStream_t stream) {
  const dim3 grid(blocks(s.N), static_cast<unsigned>(s.rows));
  if (type == Type::bf16)
    sum_kernel<<<grid, threads, 0, stream>>>(dtable, add, static_cast<const __nv_bfloat16*>(dbias),
                                             batch, s);
  else
    sum_kernel<<<grid, threads, 0, stream>>>(dtable, add, static_cast<const __half*>(dbias), batch,
                                             s);
  return cudaGetLastError();
}

}  // namespace pesuite::cuda
