// The queue of a device: its memory, and the kernels that run on it one after the other. Tests
// build the same kernels with PESUITE_CUDA_ON_HOST, where the queue is the host's memory and loops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "backend/cuda/block.h"

struct CUstream_st;
struct CUevent_st;

namespace pesuite::cuda {

#ifdef __CUDACC__
// One block at least: otherwise the compiler spills to make room for more.
template <class F>
__global__ void __launch_bounds__(most_threads, 1) each_kernel(F f, Index n) {
  const Index i = Index{blockIdx.x} * most_threads + threadIdx.x;
  if (i < n) f(i);
}
template <class F>
__global__ void __launch_bounds__(most_threads, 1) blocks_kernel(F f) {
  Block block(blockIdx.x, static_cast<int>(blockDim.x));
  f(block);
}
template <class F>
__global__ void __launch_bounds__(F::threads, F::at_once) tiles_kernel(F f) {
  Block block(blockIdx.x, F::threads);
  f(block);
}
#endif

class Queue {
 public:
  // On the host: 0, or 1 for threads that run backwards.
  explicit Queue(int device);
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  ~Queue();

  void* allocate(std::size_t bytes);  // aligned to 256 bytes; std::bad_alloc
  void release(void*) noexcept;       // after what is in the queue
  // `from` may change as soon as this returns.
  void upload(void* to, const void* from, std::size_t bytes);
  void download(void* to, const void* from, std::size_t bytes);  // waits for it
  void wait();                                                   // until all is done
  // Seconds between the begin and the end of what `body` puts into the queue; waits for it.
  double elapsed(const std::function<void()>& body);
  // Work queued here from now on waits for the work that `other` has now.
  void follow(const Queue& other);

  // f(i) for 0 .. n-1, a thread each.
  template <class F>
  void each(Index n, const F& f);
  // f(block) for n blocks of threads, about as many as `width`.
  template <class F>
  void blocks(Index n, Index width, const F& f);
  // f(block) for n blocks of F::threads, which share F::bytes of memory beside; registers allow
  // F::at_once of them on one multiprocessor.
  template <class F>
  void tiles(Index n, const F& f);

  CUstream_st* stream() const { return stream_; }

 private:
  struct Staging;                                    // memory from which a device reads uploads
  struct Released;                                   // memory that the next op may have
  void give_back() noexcept;                         // what is in released_
  void allow_shared(const void* kernel, int bytes);  // of shared memory
  void launched();  // Error where the kernel before was not; on the host, counts

  int device_;
  CUstream_st* stream_ = nullptr;
  CUevent_st* reached_ = nullptr;  // where another queue was
  std::unique_ptr<Staging> staging_;
  std::unique_ptr<Released> released_;
};

// Memory for the time of one op.
template <class T>
class Scratch {
 public:
  Scratch(Queue& queue, Index count)
      : queue_(queue),
        data_(static_cast<T*>(queue.allocate(static_cast<std::size_t>(count) * sizeof(T)))) {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { queue_.release(data_); }
  T* data() const { return data_; }

 private:
  Queue& queue_;
  T* data_;
};

inline int threads_for(Index width) {
  int threads = warp_threads;
  while (threads < most_threads && threads < width) threads *= 2;
  return threads;
}

#ifdef __CUDACC__
template <class F>
void Queue::each(Index n, const F& f) {
  if (n == 0) return;
  const auto grid = static_cast<unsigned>((n + most_threads - 1) / most_threads);
  each_kernel<<<grid, most_threads, 0, stream_>>>(f, n);
  launched();
}
template <class F>
void Queue::blocks(Index n, Index width, const F& f) {
  if (n == 0) return;
  blocks_kernel<<<static_cast<unsigned>(n), static_cast<unsigned>(threads_for(width)), 0,
                  stream_>>>(f);
  launched();
}
template <class F>
void Queue::tiles(Index n, const F& f) {
  static_assert(F::bytes <= most_shared_bytes);
  if (n == 0) return;
  allow_shared(reinterpret_cast<const void*>(&tiles_kernel<F>), F::bytes);
  tiles_kernel<<<static_cast<unsigned>(n), F::threads, F::bytes, stream_>>>(f);
  launched();
}
#elif defined(PESUITE_CUDA_ON_HOST)
template <class F>
void Queue::each(Index n, const F& f) {
  for (Index i = 0; i < n; ++i) f(device_ == 1 ? n - 1 - i : i);
  launched();
}
template <class F>
void Queue::blocks(Index n, Index width, const F& f) {
  for (Index b = 0; b < n; ++b) {
    Block block(device_ == 1 ? n - 1 - b : b, threads_for(width), device_ == 1);
    f(block);
  }
  launched();
}
template <class F>
void Queue::tiles(Index n, const F& f) {
  static_assert(F::bytes <= most_shared_bytes);
  for (Index b = 0; b < n; ++b) {
    Block block(device_ == 1 ? n - 1 - b : b, F::threads, device_ == 1);
    f(block);
  }
  launched();
}
#endif

}  // namespace pesuite::cuda
