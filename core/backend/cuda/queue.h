// The queue of a device: its memory, and the kernels that run on it one after the other. Tests
// build the same kernels with PESUITE_CUDA_ON_HOST, where the queue is the host's memory and loops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>

#include "backend/cuda/block.h"
#include "backend/cuda/launches.h"

namespace pesuite::cuda {

template <class F>
struct EachOf {  // what Queue::each() gives its kernel
  F f;
  Index n;
};

#ifdef __CUDACC__
// One block at least: otherwise the compiler spills to make room for more.
template <class F>
__global__ void __launch_bounds__(most_threads, 1) each_kernel(EachOf<F> of) {
  const Index i = Index{blockIdx.x} * most_threads + threadIdx.x;
  if (i < of.n) of.f(i);
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
#elif defined(PESUITE_CUDA_ON_HOST)
// A kernel there: all its blocks, one after the other.
using HostKernel = void (*)(const void* argument, Index blocks, int threads, bool backwards);
template <class F>
void each_kernel(const void* argument, Index, int, bool backwards) {
  const auto& of = *static_cast<const EachOf<F>*>(argument);
  for (Index i = 0; i < of.n; ++i) of.f(backwards ? of.n - 1 - i : i);
}
template <class F>
void blocks_kernel(const void* argument, Index blocks, int threads, bool backwards) {
  for (Index b = 0; b < blocks; ++b) {
    Block block(backwards ? blocks - 1 - b : b, threads, backwards);
    (*static_cast<const F*>(argument))(block);
  }
}
template <class F>
void tiles_kernel(const void* argument, Index blocks, int threads, bool backwards) {
  blocks_kernel<F>(argument, blocks, threads, backwards);
}
#endif

using LibraryCall = void (*)(const void* argument, CUstream_st*);

class Queue {
 public:
  // At most `graph_launches` launches are started together (launches.h); 0: each at once.
  // On the host: device 0, or 1 for threads that run backwards.
  explicit Queue(int device, std::size_t graph_launches = 0);
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
  void follow(Queue& other);

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
  // Call::start(stream), of a library: with the copy of `call` that is made here, maybe later and
  // maybe once for many calls that are equal to the bit. So it takes no memory, and reads none of
  // the host that may change.
  template <class Call>
  void call(const Call& call);

  // Where more may be queued behind all that is in the queue now.
  CUstream_st* stream();
  const Launches& launches() const { return launches_; }
  // Before what they use goes: those that wait are not started.
  void drop_launches() { launches_.drop(); }

 private:
  struct Device;              // who starts launches
  struct Released;            // memory that the next op may have
  void give_back() noexcept;  // what is in released_
  template <class Argument>
  void kernel(const void* function, Index blocks, int threads, int shared, const Argument&);

  std::unique_ptr<Device> device_;
  Launches launches_;
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

template <class Argument>
void Queue::kernel(const void* function, Index blocks, int threads, int shared,
                   const Argument& argument) {
  static_assert(std::is_trivially_copyable_v<Argument> && alignof(Argument) <= 16);
  if (blocks == 0) return;
  launches_.add({Launch::What::kernel, function, blocks, threads, shared, sizeof argument},
                &argument);
}
template <class Call>
void Queue::call(const Call& call) {
  // bits that nobody wrote would make equal calls differ
  static_assert(std::has_unique_object_representations_v<Call> && alignof(Call) <= 16);
  const LibraryCall start = [](const void* argument, CUstream_st* stream) {
    static_cast<const Call*>(argument)->start(stream);
  };
  launches_.add({Launch::What::call, reinterpret_cast<const void*>(start), 0, 0, 0, sizeof call},
                &call);
}

#if defined(__CUDACC__) || defined(PESUITE_CUDA_ON_HOST)
template <class F>
void Queue::each(Index n, const F& f) {
  kernel(reinterpret_cast<const void*>(&each_kernel<F>), (n + most_threads - 1) / most_threads,
         most_threads, 0, EachOf<F>{f, n});
}
template <class F>
void Queue::blocks(Index n, Index width, const F& f) {
  kernel(reinterpret_cast<const void*>(&blocks_kernel<F>), n, threads_for(width), 0, f);
}
template <class F>
void Queue::tiles(Index n, const F& f) {
  static_assert(F::bytes <= most_shared_bytes);
  kernel(reinterpret_cast<const void*>(&tiles_kernel<F>), n, F::threads, F::bytes, f);
}
#endif

}  // namespace pesuite::cuda
