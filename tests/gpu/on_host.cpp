// The CUDA backend on the host: memory and loops in place of a device, plain sums in place of
// cuBLASLt, the interpreter of graphs in place of cuDNN. Fresh memory is full of NaN.
#include <cuda_bf16.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>

#include "backend/cuda/attention_graph.h"
#include "backend/cuda/cuda.h"
#include "tests/gpu/interpreter.h"
#include "tests/gpu/subject.h"

namespace pesuite::cuda {

struct Queue::Staging {};
struct Queue::Released {};
Queue::Queue(int device) : device_(device) {}
Queue::~Queue() = default;

void* Queue::allocate(std::size_t bytes) {
  const std::size_t whole = (bytes / 256 + 1) * 256;
  void* const memory = std::aligned_alloc(256, whole);
  if (memory == nullptr) throw std::bad_alloc();
  std::memset(memory, 0xff, whole);
  return memory;
}
void Queue::release(void* memory) noexcept {
  std::free(memory);
}
void Queue::upload(void* to, const void* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
}
void Queue::download(void* to, const void* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
}
void Queue::wait() {}
void Queue::follow(const Queue&) {}
double Queue::elapsed(const std::function<void()>& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}
static long started = 0;
void Queue::launched() {
  ++started;
}
long launches_on_host() {
  return started;
}

struct Products::Library {};
Products::Products(Queue&, Precision precision) : precision_(precision) {}
Products::~Products() = default;

void Products::multiply(Queue&, const Product& p) {
  const auto read = [](const void* from, Index i, Storage storage) {
    switch (storage) {
      case Storage::bf16: return double{static_cast<float>(static_cast<const Bf16*>(from)[i])};
      case Storage::fp16: return double{static_cast<float>(static_cast<const Fp16*>(from)[i])};
      default: return double{static_cast<const float*>(from)[i]};
    }
  };
  const auto element = [&](const Operand& o, Index batch, Index row, Index column) {
    const Index in_matrix = o.transposed ? column * o.row + row : row * o.row + column;
    return read(o.data, batch * o.batch + in_matrix, o.storage);
  };
  for (Index n = 0; n < p.batches; ++n)
    for (Index i = 0; i < p.M; ++i)
      for (Index j = 0; j < p.N; ++j) {
        double sum = 0;
        for (Index k = 0; k < p.K; ++k) sum += element(p.a, n, i, k) * element(p.b, n, k, j);
        const Index at = n * p.c_batch + i * p.c_row + j;
        sum = p.scale * sum + (p.added != nullptr ? read(p.added, at, p.storage) : 0) +
              (p.bias != nullptr ? read(p.bias, j, p.storage) : 0);
        by_storage(p.storage, [&]<class T>(T) {
          static_cast<T*>(p.c)[at] = static_cast<T>(static_cast<float>(sum));
        });
      }
}

}  // namespace pesuite::cuda

namespace pesuite::testing {

namespace {

using namespace cuda;

constexpr std::int64_t plenty = std::int64_t{1} << 40;

class InterpretedGraphs final : public GraphRunner {
 public:
  explicit InterpretedGraphs(std::int64_t bytes) : bytes_(bytes) {}
  // A host whose memory is counted is trusted with all that graphs can do.
  DeviceFacts facts() const override { return {90, bytes_, 72, bytes_ < plenty}; }
  std::string prepare(const AttentionRequest& r, Pass pass) override {
    return refusal(r, pass, facts());
  }
  void run(Queue&, const AttentionRequest& r, Pass pass, const Bindings& b) override {
    const Graph graph = attention_graph(r, pass);
    std::map<Slot, Numbers> bound = {{Slot::scale, {double{b.scale}}},
                                     {Slot::keep, {double{b.keep}}},
                                     {Slot::inverse_keep, {double{b.inverse_keep}}},
                                     {Slot::minus_infinity, {double{b.minus_infinity}}}};
    for (const GraphTensor& t : graph.tensors) {
      if (t.slot == Slot::none || t.is_number()) continue;
      const void* const memory = at(b, t);
      ASSERT_NE(memory, nullptr) << slot_name(t.slot);
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 16, 0u) << slot_name(t.slot);
      Numbers& values = bound[t.slot];
      by_type(t.type, [&]<class T>(T) {
        for (std::size_t i = 0; i < room(t); ++i)
          values.push_back(double{static_cast<float>(static_cast<const T*>(memory)[i])});
      });
    }
    const Interpreter computed(graph, bound);
    for (const Node& n : graph.nodes) {
      const GraphTensor& t = graph.tensors[static_cast<std::size_t>(n.y)];
      if (t.slot == Slot::none) continue;
      const Numbers values = computed.dense(t.slot);
      std::size_t next = 0;
      each(t.extents, [&](const Four& place) {
        const auto value = static_cast<float>(values[next++]);
        by_type(t.type, [&]<class T>(T) {
          static_cast<T*>(at(b, t))[offset(t, place)] = static_cast<T>(value);
        });
      });
    }
  }

 private:
  std::int64_t bytes_;
  template <class F>
  static void by_type(Type type, const F& f) {
    switch (type) {
      case Type::bf16: return f(Bf16{});
      case Type::fp16: return f(Fp16{});
      default: return f(float{});
    }
  }
  static void* at(const Bindings& b, const GraphTensor& t) {
    return b.memory[static_cast<std::size_t>(t.slot)];
  }
};

std::unique_ptr<Backend> on_host(Precision precision, int order, std::int64_t bytes = plenty) {
  CudaSettings settings;
  settings.device = order;
  settings.precision = precision;
  settings.description = "kernels of the CUDA backend on the host";
  settings.block = 4096;  // so that small examples take several blocks too
  auto backend = std::make_unique<CudaBackend>(settings);
  backend->use(std::make_unique<InterpretedGraphs>(bytes));
  return backend;
}

}  // namespace

std::string absent() {
  return "";
}
std::unique_ptr<Backend> subject(Precision precision) {
  return on_host(precision, 0);
}
std::unique_ptr<Backend> subject_backwards() {
  return on_host(Precision::fp32, 1);
}
long launches() {
  return cuda::launches_on_host();
}

std::unique_ptr<Backend> subject_with(std::int64_t bytes_for_attention) {
  return on_host(Precision::bf16, 0, bytes_for_attention);
}

}  // namespace pesuite::testing
