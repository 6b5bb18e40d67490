#include "backend/cuda/queue.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "backend/cuda/free_blocks.h"
#include "base/error.h"

namespace pesuite::cuda {

// Named, since Queue::Device holds what is in it.
namespace device_queue {

inline void check_call(cudaError_t error, const char* what) {
  if (error != cudaSuccess)
    fail(Exit::device, "CUDA: {} failed: {}", what, cudaGetErrorString(error));
}

struct Event {
  cudaEvent_t raw = nullptr;
  explicit Event(unsigned flags) {
    check_call(cudaEventCreateWithFlags(&raw, flags), "making an event");
  }
  ~Event() { cudaEventDestroy(raw); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record(cudaStream_t stream) {
    check_call(cudaEventRecord(raw, stream), "recording an event");
  }
  void wait() { check_call(cudaEventSynchronize(raw), "work on the device"); }
};

// Memory of the host that a device reads while the program goes on.
struct Pinned {
  void* raw = nullptr;
  explicit Pinned(std::size_t bytes) {
    if (bytes > 0)
      check_call(cudaHostAlloc(&raw, bytes, cudaHostAllocDefault), "reserving pinned memory");
  }
  ~Pinned() { cudaFreeHost(raw); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
};

// Uploads go through pinned memory in turns, so that the program need not wait for the device: it
// does only where all turns are still being read.
class Staging {
 public:
  static constexpr std::size_t bytes = std::size_t{1} << 20;

  void upload(void* to, const void* from, std::size_t n, cudaStream_t stream) {
    Turn& turn = turns_[next_++ % std::size(turns_)];
    turn.done.wait();
    std::memcpy(turn.memory.raw, from, n);
    check_call(cudaMemcpyAsync(to, turn.memory.raw, n, cudaMemcpyHostToDevice, stream),
               "an upload");
    turn.done.record(stream);
  }

 private:
  struct Turn {
    Pinned memory{bytes};
    Event done{cudaEventDisableTiming};
  };
  Turn turns_[8];
  std::size_t next_ = 0;
};

inline dim3 blocks_of(const Launch& l) {
  return {static_cast<unsigned>(l.blocks)};
}
inline dim3 threads_of(const Launch& l) {
  return {static_cast<unsigned>(l.threads)};
}

// A list as CUDA captured it: a node a kernel or upload, any number of them a call.
class CapturedGraph final : public LaunchGraph {
 public:
  CapturedGraph(const LaunchList& list, cudaStream_t stream)
      : stream_(stream), uploads_(bytes_of_uploads(list)) {
    auto* next = static_cast<std::byte*>(uploads_.raw);
    for (std::size_t i = 0; i < list.size(); ++i) {
      const Launch& l = list.launch(i);
      std::byte* const at = l.what == Launch::What::upload ? next : nullptr;
      parts_.push_back({nullptr, at});
      if (at == nullptr) continue;
      std::memcpy(at, list.argument(i), l.bytes);
      next += l.bytes;
    }
  }
  ~CapturedGraph() override {
    if (run_ != nullptr) cudaGraphExecDestroy(run_);
    if (graph_ != nullptr) cudaGraphDestroy(graph_);
  }
  CapturedGraph(const CapturedGraph&) = delete;
  CapturedGraph& operator=(const CapturedGraph&) = delete;

  // False where something in it cannot be captured.
  template <class Start>
  bool capture(const LaunchList& list, const Start& start) {
    if (cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal) != cudaSuccess)
      return false;
    bool good = true;
    try {
      for (std::size_t i = 0; i < list.size() && good; ++i) {
        const Launch& l = list.launch(i);
        if (l.what == Launch::What::upload)
          good = cudaMemcpyAsync(const_cast<void*>(l.function), parts_[i].upload, l.bytes,
                                 cudaMemcpyHostToDevice, stream_) == cudaSuccess;
        else
          start(l, list.argument(i));
        if (l.what == Launch::What::kernel) good = find_node(parts_[i].node);
      }
    } catch (const Error&) {
      good = false;
    }
    good = cudaStreamEndCapture(stream_, &graph_) == cudaSuccess && good;
    return good && cudaGraphInstantiate(&run_, graph_, 0) == cudaSuccess;
  }

  void change(std::size_t i, const Launch& l, const void* argument) override {
    if (l.what == Launch::What::upload) {
      done_.wait();  // the run before reads it
      std::memcpy(parts_[i].upload, argument, l.bytes);
      return;
    }
    void* arguments[] = {const_cast<void*>(argument)};
    cudaKernelNodeParams p{};
    p.func = const_cast<void*>(l.function);
    p.gridDim = blocks_of(l), p.blockDim = threads_of(l);
    p.sharedMemBytes = static_cast<unsigned>(l.shared);
    p.kernelParams = arguments;
    check_call(cudaGraphExecKernelNodeSetParams(run_, parts_[i].node, &p),
               "changing a kernel of a graph");
  }
  void run() override {
    check_call(cudaGraphLaunch(run_, stream_), "starting a graph");
    if (uploads_.raw != nullptr) done_.record(stream_);
  }

 private:
  struct Part {  // of the list
    cudaGraphNode_t node = nullptr;
    std::byte* upload = nullptr;  // in uploads_
  };
  static std::size_t bytes_of_uploads(const LaunchList& list) {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < list.size(); ++i)
      if (list.launch(i).what == Launch::What::upload) bytes += list.launch(i).bytes;
    return bytes;
  }
  // The node that was captured last.
  bool find_node(cudaGraphNode_t& node) {
    cudaStreamCaptureStatus status{};
    const cudaGraphNode_t* last = nullptr;
    std::size_t count = 0;
    if (cudaStreamGetCaptureInfo(stream_, &status, nullptr, nullptr, &last, nullptr, &count) !=
            cudaSuccess ||
        status != cudaStreamCaptureStatusActive || count != 1)
      return false;
    node = *last;
    return true;
  }

  cudaStream_t stream_;
  Pinned uploads_;
  std::vector<Part> parts_;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t run_ = nullptr;
  Event done_{cudaEventDisableTiming};
};

}  // namespace device_queue

using namespace device_queue;

struct Queue::Device final : Starter {
  explicit Device(int device) {
    check_call(cudaSetDevice(device), "choosing the device");
    check_call(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
    // What is released stays with the program: its next step asks for the same again.
    cudaMemPool_t pool = nullptr;
    check_call(cudaDeviceGetDefaultMemPool(&pool, device), "finding the memory pool");
    std::uint64_t keep = ~std::uint64_t{0};
    check_call(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep),
               "setting up the memory pool");
    reached.emplace(cudaEventDisableTiming);
    staging.emplace();
    arriving.emplace(Staging::bytes);
  }
  ~Device() override {
    staging.reset();
    cudaStreamDestroy(stream);
  }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  void start(const Launch& l, const void* argument) override {
    switch (l.what) {
      case Launch::What::kernel: return start_kernel(l, argument);
      case Launch::What::call:
        return reinterpret_cast<LibraryCall>(const_cast<void*>(l.function))(argument, stream);
      case Launch::What::upload:
        return staging->upload(const_cast<void*>(l.function), argument, l.bytes, stream);
    }
  }
  std::unique_ptr<LaunchGraph> graph(const LaunchList& list) override {
    const auto start_again = [this](const Launch& l, const void* argument) { start(l, argument); };
    try {
      auto graph = std::make_unique<CapturedGraph>(list, stream);
      if (graph->capture(list, start_again)) return graph;
    } catch (const Error&) {  // no pinned memory, say: launches can do without
    }
    cudaGetLastError();  // it would be found after the next kernel
    return nullptr;
  }
  void start_kernel(const Launch& l, const void* argument) {
    if (l.shared > 48 * 1024)  // what every kernel has
      check_call(
          cudaFuncSetAttribute(l.function, cudaFuncAttributeMaxDynamicSharedMemorySize, l.shared),
          "asking for shared memory");
    void* arguments[] = {const_cast<void*>(argument)};
    check_call(cudaLaunchKernel(l.function, blocks_of(l), threads_of(l), arguments,
                                static_cast<std::size_t>(l.shared), stream),
               "starting a kernel");
  }

  cudaStream_t stream = nullptr;
  std::optional<Event> reached;  // where another queue was
  std::optional<Staging> staging;
  std::optional<Pinned> arriving;  // a download that is small
  std::exception_ptr failed;       // where nothing could be thrown
};

struct Queue::Released : FreeBlocks {};

Queue::Queue(int device, std::size_t graph_launches)
    : device_(std::make_unique<Device>(device)),
      launches_(*device_, graph_launches),
      released_(std::make_unique<Released>()) {}
Queue::~Queue() {
  give_back();
  cudaStreamSynchronize(device_->stream);  // graphs may still run
}

void* Queue::allocate(std::size_t bytes) {
  const bool small = bytes <= FreeBlocks::largest;
  if (small) {
    bytes = FreeBlocks::rounded(bytes);
    if (void* const memory = released_->take(bytes); memory != nullptr) return memory;
  }
  void* memory = nullptr;
  cudaError_t error = cudaMallocAsync(&memory, bytes, device_->stream);
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // it would be found after the next kernel
    launches_.end();     // which may use what is given back
    give_back();
    error = cudaMallocAsync(&memory, bytes, device_->stream);
  }
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw std::bad_alloc();
  }
  check_call(error, "reserving memory");
  if (small) released_->add(memory, bytes);
  return memory;
}
void Queue::release(void* memory) noexcept {
  if (memory == nullptr || released_->give_back(memory)) return;
  try {
    launches_.end();  // those that use it are started before it is given back
  } catch (...) {
    device_->failed = std::current_exception();
  }
  cudaFreeAsync(memory, device_->stream);
}
void Queue::give_back() noexcept {
  released_->drop([this](void* memory) { cudaFreeAsync(memory, device_->stream); });
}

CUstream_st* Queue::stream() {
  launches_.end();
  if (device_->failed) std::rethrow_exception(std::exchange(device_->failed, nullptr));
  return device_->stream;
}

void Queue::upload(void* to, const void* from, std::size_t bytes) {
  constexpr std::size_t small = std::size_t{64} << 10;
  if (bytes > 0 && bytes <= small)
    return launches_.add({Launch::What::upload, to, 0, 0, 0, bytes}, from);
  const cudaStream_t behind = stream();
  for (std::size_t done = 0; done < bytes; done += Staging::bytes)
    device_->staging->upload(static_cast<char*>(to) + done, static_cast<const char*>(from) + done,
                             std::min(bytes - done, Staging::bytes), behind);
}
void Queue::download(void* to, const void* from, std::size_t bytes) {
  const bool small = bytes <= Staging::bytes;  // to other memory than pinned CUDA takes longer
  void* const at = small ? device_->arriving->raw : to;
  check_call(cudaMemcpyAsync(at, from, bytes, cudaMemcpyDeviceToHost, stream()), "a download");
  wait();
  if (small) std::memcpy(to, at, bytes);
}
void Queue::wait() {
  check_call(cudaStreamSynchronize(stream()), "work on the device");
}
double Queue::elapsed(const std::function<void()>& body) {
  Event begin(cudaEventDefault), end(cudaEventDefault);
  begin.record(stream());
  body();
  end.record(stream());
  end.wait();
  float milliseconds = 0;
  check_call(cudaEventElapsedTime(&milliseconds, begin.raw, end.raw), "timing");
  return 1e-3 * double{milliseconds};
}
void Queue::follow(Queue& other) {
  device_->reached->record(other.stream());
  check_call(cudaStreamWaitEvent(stream(), device_->reached->raw, 0), "waiting for an event");
}

}  // namespace pesuite::cuda
