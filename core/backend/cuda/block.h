// A block of threads as a kernel sees it. A kernel is the program of a whole block: code outside of
// the calls below is the same for all threads, and each call ends with a barrier. On the host the
// same program runs with simulated threads, which add in the same order: so kernels are tested
// where there is no device.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <limits>

#ifdef __CUDACC__
#define PESUITE_HD __host__ __device__
#else
#define PESUITE_HD
#endif

namespace pesuite::cuda {

using Index = std::int64_t;

constexpr int warp_threads = 32, most_threads = 256;
constexpr int tile_bytes =
    42 * 1024;  // of shared memory for tiles; 48 KiB is what all devices have
constexpr int most_shared_bytes = 99 * 1024;  // that a kernel can ask for on all devices from sm_80

#ifdef __CUDACC__
// What the thread `by` lanes further has, word by word.
template <class T>
__device__ T from_lane(T own, int by) {
  static_assert(sizeof(T) % sizeof(int) == 0);
  constexpr int words = sizeof(T) / sizeof(int);
  int word[words];
  memcpy(word, &own, sizeof own);
  for (int& w : word) w = __shfl_down_sync(0xffffffffu, w, by);
  memcpy(&own, word, sizeof own);
  return own;
}
#endif

class Block {
 public:
  // threads: a multiple of 32, at most 256. On the host `backwards` runs the last thread first:
  // kernels whose threads do not get in each other's way give the same bits.
  PESUITE_HD Block(Index index, int threads, bool backwards = false)
      : index_(index), threads_(threads), backwards_(backwards) {}

  PESUITE_HD Index index() const { return index_; }  // of the block among all
  PESUITE_HD int threads() const { return threads_; }

  // f(i) for 0 .. n-1; thread t takes t, t + threads, ...
  template <class F>
  PESUITE_HD void each(Index n, F f) {
#ifdef __CUDA_ARCH__
    for (Index i = threadIdx.x; i < n; i += threads_) f(i);
    __syncthreads();
#else
    for (int t = 0; t < threads_; ++t)
      for (Index i = backwards_ ? threads_ - 1 - t : t; i < n; i += threads_) f(i);
#endif
  }

  // The same without a barrier.
  template <class F>
  PESUITE_HD void all(int n, F f) {
#ifdef __CUDA_ARCH__
    // A loop that stays one: the addresses of an unrolled copy take registers that tiles need.
#pragma unroll 1
    for (int i = static_cast<int>(threadIdx.x); i < n; i += threads_) f(i);
#else
    for (int i = 0; i < n; ++i) f(backwards_ ? n - 1 - i : i);
#endif
  }

  // f(0), ..., f(n-1) combined with `none`, which changes nothing: each thread's own in a row, then
  // by halves within a warp, then the warps in a row.
  template <class T, class F, class Combine>
  PESUITE_HD T combine(Index n, T none, F f, Combine with) {
#ifdef __CUDA_ARCH__
    __shared__ T of_warp[most_threads / warp_threads];
    T own = none;
    for (Index i = threadIdx.x; i < n; i += threads_) own = with(own, f(i));
    for (int half = warp_threads / 2; half > 0; half /= 2) own = with(own, from_lane(own, half));
    if (threadIdx.x % warp_threads == 0) of_warp[threadIdx.x / warp_threads] = own;
    __syncthreads();
    T all = of_warp[0];
    for (int w = 1; w < threads_ / warp_threads; ++w) all = with(all, of_warp[w]);
    __syncthreads();  // the next call writes where slower threads still read
    return all;
#else
    std::array<T, most_threads> own;
    for (int t = 0; t < threads_; ++t) {
      own[static_cast<std::size_t>(t)] = none;
      for (Index i = t; i < n; i += threads_)
        own[static_cast<std::size_t>(t)] = with(own[static_cast<std::size_t>(t)], f(i));
    }
    T all = none;
    for (int first = 0; first < threads_; first += warp_threads) {
      T* const lane = own.data() + first;
      for (int half = warp_threads / 2; half > 0; half /= 2)
        for (int l = 0; l < half; ++l) lane[l] = with(lane[l], lane[l + half]);
      all = first == 0 ? lane[0] : with(all, lane[0]);
    }
    return all;
#endif
  }
  template <class F>
  PESUITE_HD float sum(Index n, F f) {
    return combine(n, 0.0f, f, [](float a, float b) { return a + b; });
  }
  template <class F>
  PESUITE_HD float max(Index n, F f) {
    return combine(n, -std::numeric_limits<float>::infinity(), f,
                   [](float a, float b) { return b > a ? b : a; });
  }
  template <class F>
  PESUITE_HD Index min(Index n, Index none, F f) {
    return combine(n, none, f, [](Index a, Index b) { return b < a ? b : a; });
  }

  // 256 numbers that the threads share.
  PESUITE_HD float* memory() {
#ifdef __CUDA_ARCH__
    __shared__ float shared[most_threads];
    return shared;
#else
    return memory_.data();
#endif
  }
  // Of `bytes`, tile_bytes at most, aligned to 16; its contents are undefined at first.
  template <class T, int bytes = tile_bytes>
  PESUITE_HD T* tiles() {
    static_assert(bytes <= tile_bytes);
#ifdef __CUDA_ARCH__
    __shared__ __align__(16) unsigned char shared[bytes];
    return reinterpret_cast<T*>(shared);
#else
    return reinterpret_cast<T*>(tiles_);
#endif
  }
  // As many bytes as the kernel was started with, most_shared_bytes at most; aligned to 16.
  PESUITE_HD unsigned char* shared() {
#ifdef __CUDA_ARCH__
    extern __shared__ __align__(16) unsigned char dynamic[];
    return dynamic;
#else
    return shared_;
#endif
  }

 private:
  Index index_;
  int threads_;
  [[maybe_unused]] bool backwards_;
#ifndef __CUDA_ARCH__
  std::array<float, most_threads> memory_{};
  alignas(16) unsigned char tiles_[tile_bytes];
  alignas(16) unsigned char shared_[most_shared_bytes];
#endif
};

}  // namespace pesuite::cuda
