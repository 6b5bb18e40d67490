// The CUDA backend on the host: memory and loops in place of a device, plain sums in place of
// cuBLASLt, the interpreter of graphs in place of cuDNN. Fresh memory is full of NaN.
#include <cuda_bf16.h>
#include <gtest/gtest.h>

#include <bit>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>

#include "backend/cuda/attention_graph.h"
#include "backend/cuda/cuda.h"
#include "backend/cuda/free_blocks.h"
#include "tests/gpu/interpreter.h"
#include "tests/gpu/subject.h"

namespace pesuite::cuda {

static long started = 0;
long launches_on_host() {
  return started;
}

// A list that is run from a copy of its own, as a device does: what nobody gave it anew is what it
// was when the graph was made.
class HostGraph final : public LaunchGraph {
 public:
  HostGraph(Starter& starter, const LaunchList& list) : starter_(starter), list_(list) {}
  void change(std::size_t i, const Launch& l, const void* argument) override {
    ASSERT_EQ(l, list_.launch(i));
    ASSERT_NE(l.what, Launch::What::call);
    list_.replace_argument(i, argument);
  }
  void run() override {
    for (std::size_t i = 0; i < list_.size(); ++i)
      starter_.start(list_.launch(i), list_.argument(i));
  }

 private:
  Starter& starter_;
  LaunchList list_;
};

struct Queue::Device final : Starter {
  explicit Device(int d) : backwards(d == 1) {}
  void start(const Launch& l, const void* argument) override {
    void* const function = const_cast<void*>(l.function);
    switch (l.what) {
      case Launch::What::kernel:
        ++started;
        return reinterpret_cast<HostKernel>(function)(argument, l.blocks, l.threads, backwards);
      case Launch::What::call: return reinterpret_cast<LibraryCall>(function)(argument, nullptr);
      case Launch::What::upload: std::memcpy(function, argument, l.bytes);
    }
  }
  std::unique_ptr<LaunchGraph> graph(const LaunchList& list) override {
    return std::make_unique<HostGraph>(*this, list);
  }
  bool backwards;
};

// Where launches wait, memory comes back as on a device; else each piece is the system's, which
// finds what reads beyond it.
struct Queue::Released : FreeBlocks {
  bool reuses;
};
Queue::Queue(int device, std::size_t graph_launches)
    : device_(std::make_unique<Device>(device)),
      launches_(*device_, graph_launches),
      released_(std::make_unique<Released>()) {
  released_->reuses = graph_launches > 0;
}
Queue::~Queue() {
  give_back();
}

struct Spoil {  // memory that no op has written
  void* memory;
  std::size_t bytes;
  void start(CUstream_st*) const { std::memset(memory, 0xff, bytes); }
};
void* Queue::allocate(std::size_t bytes) {
  const bool small = released_->reuses && bytes <= FreeBlocks::largest;
  const std::size_t whole = small ? FreeBlocks::rounded(bytes) : (bytes / 256 + 1) * 256;
  if (small)
    if (void* const memory = released_->take(whole); memory != nullptr) {
      call(Spoil{memory, whole});
      return memory;
    }
  void* const memory = std::aligned_alloc(256, whole);
  if (memory == nullptr) throw std::bad_alloc();
  std::memset(memory, 0xff, whole);
  if (small) released_->add(memory, whole);
  return memory;
}
void Queue::release(void* memory) noexcept {
  if (memory == nullptr || released_->give_back(memory)) return;
  launches_.end();
  std::free(memory);
}
void Queue::give_back() noexcept {
  released_->drop([](void* memory) { std::free(memory); });
}
CUstream_st* Queue::stream() {
  launches_.end();
  return nullptr;
}
void Queue::upload(void* to, const void* from, std::size_t bytes) {
  launches_.add({Launch::What::upload, to, 0, 0, 0, bytes}, from);
}
void Queue::download(void* to, const void* from, std::size_t bytes) {
  wait();
  std::memcpy(to, from, bytes);
}
void Queue::wait() {
  stream();
}
void Queue::follow(Queue& other) {
  other.wait();
  wait();
}
double Queue::elapsed(const std::function<void()>& body) {
  wait();
  const auto start = std::chrono::steady_clock::now();
  body();
  wait();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct Products::Library {};
Products::Products(Queue&, Precision precision) : precision_(precision) {}
Products::~Products() = default;

void multiply_now(const Product& p) {
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

// A product in numbers that leave no bit unwritten.
struct ProductCall {
  Index M, N, K, c_row, c_batch, batches, storage;
  std::uint64_t scale;
  void* c;
  const void *added, *bias;
  struct Matrix {
    const void* data;
    Index row, transposed, batch, storage;
    explicit Matrix(const Operand& o)
        : data(o.data),
          row(o.row),
          transposed(o.transposed),
          batch(o.batch),
          storage(static_cast<Index>(o.storage)) {}
    Operand operand() const {
      return {data, row, transposed != 0, batch, static_cast<Storage>(storage)};
    }
  } a, b;
  void start(CUstream_st*) const {
    multiply_now({M, N, K, a.operand(), b.operand(), c, c_row, c_batch, batches,
                  std::bit_cast<double>(scale), added, bias, static_cast<Storage>(storage)});
  }
};
void Products::multiply(Queue& queue, const Product& p) {
  queue.call(ProductCall{p.M, p.N, p.K, p.c_row, p.c_batch, p.batches,
                         static_cast<Index>(p.storage), std::bit_cast<std::uint64_t>(p.scale), p.c,
                         p.added, p.bias, ProductCall::Matrix(p.a), ProductCall::Matrix(p.b)});
}

}  // namespace pesuite::cuda

namespace pesuite::testing {

namespace {

using namespace cuda;

constexpr std::int64_t plenty = std::int64_t{1} << 40;

class InterpretedGraphs final : public GraphRunner {
 public:
  InterpretedGraphs(std::int64_t bytes, bool alone, bool splits)
      : bytes_(bytes), alone_(alone), splits_(splits) {}
  // A host whose memory is counted is trusted with all that graphs can do.
  DeviceFacts facts() const override { return {90, bytes_, 72, alone_, splits_}; }
  std::string prepare(const AttentionRequest& r, Pass pass) override {
    return refusal(r, pass, facts());
  }
  void run(Queue& queue, const AttentionRequest& r, Pass pass, const Bindings& b) override {
    const auto at = asked_.try_emplace(plan_key(r, pass, 0), Asked{r, pass}).first;
    queue.call(GraphCall{&at->second, std::bit_cast<Bits>(b)});
  }

 private:
  struct Asked {
    AttentionRequest request;
    Pass pass;
  };
  using Bits = std::array<std::uint64_t, sizeof(Bindings) / sizeof(std::uint64_t)>;
  struct GraphCall {
    const Asked* asked;
    Bits bindings;
    void start(CUstream_st*) const {
      interpret(asked->request, asked->pass, std::bit_cast<Bindings>(bindings));
    }
  };
  static void interpret(const AttentionRequest& r, Pass pass, const Bindings& b) {
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

  std::int64_t bytes_;
  bool alone_;  // no tiles
  bool splits_;
  std::map<std::string, Asked> asked_;
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

std::unique_ptr<CudaBackend> on_host(Precision precision, int order, std::int64_t bytes = plenty,
                                     std::size_t graph_launches = 0, bool alone = false,
                                     bool splits = false) {
  CudaSettings settings;
  settings.graph_launches = graph_launches;
  settings.device = order;
  settings.precision = precision;
  settings.description = "kernels of the CUDA backend on the host";
  settings.block = 4096;  // so that small examples take several blocks too
  auto backend = std::make_unique<CudaBackend>(settings);
  backend->use(std::make_unique<InterpretedGraphs>(bytes, alone, splits));
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

std::unique_ptr<Backend> subject_with_graphs(Precision precision) {
  return on_host(precision, 0, plenty, cuda::Launches::usual);
}
std::unique_ptr<Backend> subject_without_graphs(Precision precision) {
  return subject(precision);
}
long graphs_run(Backend& backend) {
  return static_cast<cuda::CudaBackend&>(backend).queue().launches().counts().runs;
}

std::unique_ptr<Backend> subject_that_splits() {
  return on_host(Precision::bf16, 0, plenty, 0, false, true);
}
std::unique_ptr<Backend> subject_with(std::int64_t bytes_for_attention) {
  return on_host(Precision::bf16, 0, bytes_for_attention, 0, true);
}
std::unique_ptr<Backend> subject_with_tiles(std::int64_t bytes_for_attention) {
  return on_host(Precision::bf16, 0, bytes_for_attention, 0, false, true);
}

}  // namespace pesuite::testing
