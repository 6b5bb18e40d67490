#include "backend/cuda/queue.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <unordered_map>

#include "base/error.h"

namespace pesuite::cuda {

namespace {

void check_call(cudaError_t error, const char* what) {
  if (error != cudaSuccess)
    fail(Exit::device, "CUDA: {} failed: {}", what, cudaGetErrorString(error));
}

}  // namespace

// Uploads go through pinned memory in turns, so that the program need not wait for the device: it
// does only where all turns are still being read.
struct Queue::Staging {
  static constexpr std::size_t turns = 8, bytes = std::size_t{1} << 20;
  struct Turn {
    void* memory = nullptr;
    cudaEvent_t done = nullptr;
  };
  Turn all[turns];
  std::size_t next = 0;

  Staging() {
    for (Turn& t : all) {
      check_call(cudaHostAlloc(&t.memory, bytes, cudaHostAllocDefault), "reserving pinned memory");
      check_call(cudaEventCreateWithFlags(&t.done, cudaEventDisableTiming), "making an event");
    }
  }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  ~Staging() {
    for (const Turn& t : all) {
      if (t.done != nullptr) cudaEventDestroy(t.done);
      cudaFreeHost(t.memory);
    }
  }
};

// Small pieces of memory wait here for the next op that wants as much: one queue uses them all, one
// after the other, and the system takes microseconds, as long as a small kernel.
struct Queue::Released {
  static constexpr std::size_t largest = std::size_t{4} << 20;
  static std::size_t rounded(std::size_t bytes) {
    return std::bit_ceil(std::max<std::size_t>(bytes, 256));
  }
  std::unordered_map<std::size_t, std::vector<void*>> free;  // by bytes
  std::unordered_map<void*, std::size_t> bytes;              // of those in use
};

Queue::Queue(int device) : device_(device), released_(std::make_unique<Released>()) {
  check_call(cudaSetDevice(device), "choosing the device");
  check_call(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
  // What is released stays with the program: its next step asks for the same again.
  cudaMemPool_t pool = nullptr;
  check_call(cudaDeviceGetDefaultMemPool(&pool, device), "finding the memory pool");
  std::uint64_t keep = ~std::uint64_t{0};
  check_call(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep),
             "setting up the memory pool");
  check_call(cudaEventCreateWithFlags(&reached_, cudaEventDisableTiming), "making an event");
  staging_ = std::make_unique<Staging>();
}

Queue::~Queue() {
  give_back();
  cudaStreamSynchronize(stream_);
  staging_.reset();
  cudaEventDestroy(reached_);
  cudaStreamDestroy(stream_);
}

void* Queue::allocate(std::size_t bytes) {
  const bool small = bytes <= Released::largest;
  if (small) {
    bytes = Released::rounded(bytes);
    std::vector<void*>& free = released_->free[bytes];
    if (!free.empty()) {
      void* const memory = free.back();
      free.pop_back();
      released_->bytes[memory] = bytes;
      return memory;
    }
  }
  void* memory = nullptr;
  cudaError_t error = cudaMallocAsync(&memory, bytes, stream_);
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // it would be found after the next kernel
    give_back();
    error = cudaMallocAsync(&memory, bytes, stream_);
  }
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw std::bad_alloc();
  }
  check_call(error, "reserving memory");
  if (small) released_->bytes[memory] = bytes;
  return memory;
}
void Queue::release(void* memory) noexcept {
  if (memory == nullptr) return;
  const auto at = released_->bytes.find(memory);
  if (at == released_->bytes.end()) {
    cudaFreeAsync(memory, stream_);
    return;
  }
  released_->free[at->second].push_back(memory);
  released_->bytes.erase(at);
}
void Queue::give_back() noexcept {
  for (auto& [bytes, free] : released_->free) {
    for (void* const memory : free) cudaFreeAsync(memory, stream_);
    free.clear();
  }
}

void Queue::upload(void* to, const void* from, std::size_t bytes) {
  for (std::size_t done = 0; done < bytes; done += Staging::bytes) {
    const std::size_t n = std::min(bytes - done, Staging::bytes);
    Staging::Turn& turn = staging_->all[staging_->next++ % Staging::turns];
    check_call(cudaEventSynchronize(turn.done), "an upload");
    std::memcpy(turn.memory, static_cast<const char*>(from) + done, n);
    check_call(cudaMemcpyAsync(static_cast<char*>(to) + done, turn.memory, n,
                               cudaMemcpyHostToDevice, stream_),
               "an upload");
    check_call(cudaEventRecord(turn.done, stream_), "an upload");
  }
}
void Queue::download(void* to, const void* from, std::size_t bytes) {
  check_call(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream_), "a download");
  wait();
}
void Queue::wait() {
  check_call(cudaStreamSynchronize(stream_), "work on the device");
}
double Queue::elapsed(const std::function<void()>& body) {
  struct Event {
    cudaEvent_t event = nullptr;
    Event() { check_call(cudaEventCreate(&event), "making an event"); }
    ~Event() { cudaEventDestroy(event); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
  };
  const Event begin, end;
  check_call(cudaEventRecord(begin.event, stream_), "recording an event");
  body();
  check_call(cudaEventRecord(end.event, stream_), "recording an event");
  check_call(cudaEventSynchronize(end.event), "work on the device");
  float milliseconds = 0;
  check_call(cudaEventElapsedTime(&milliseconds, begin.event, end.event), "timing");
  return 1e-3 * double{milliseconds};
}
void Queue::follow(const Queue& other) {
  check_call(cudaEventRecord(reached_, other.stream_), "recording an event");
  check_call(cudaStreamWaitEvent(stream_, reached_, 0), "waiting for an event");
}
void Queue::allow_shared(const void* kernel, int bytes) {
  if (bytes <= 48 * 1024) return;  // what every kernel has
  check_call(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
             "asking for shared memory");
}
void Queue::launched() {
  check_call(cudaGetLastError(), "starting a kernel");
}

}  // namespace pesuite::cuda
