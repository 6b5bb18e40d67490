#include "backend/cpu/products.h"

#include <fmt/format.h>

#include <dnnl.hpp>
#include <tuple>
#include <unordered_map>

namespace pesuite {

namespace {

using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, unsigned>;
struct KeyHash {
  std::size_t operator()(const Key& k) const {
    std::uint64_t h = std::get<4>(k);
    for (const std::int64_t x : {std::get<0>(k), std::get<1>(k), std::get<2>(k), std::get<3>(k)})
      h = (h ^ static_cast<std::uint64_t>(x)) * 0x9e3779b97f4a7c15u;
    return h ^ (h >> 29);
  }
};

struct Product {
  dnnl::matmul primitive;
  dnnl::memory a, b, c, bias;
  std::unordered_map<int, dnnl::memory> arguments;
};

}  // namespace

struct Products::State {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  std::unordered_map<Key, Product, KeyHash> products;

  Product make(const Call& c) {
    using dt = dnnl::memory::data_type;
    using dims = dnnl::memory::dims;
    const auto layout = [](std::int64_t batch, std::int64_t rows, std::int64_t columns, bool t) {
      return dnnl::memory::desc(
          {batch, rows, columns}, dt::f32,
          t ? dims{rows * columns, 1, rows} : dims{rows * columns, columns, 1});
    };
    const auto a = layout(c.one_a ? 1 : c.batch, c.M, c.K, c.a.transposed);
    const auto b = layout(c.one_b ? 1 : c.batch, c.K, c.N, c.b.transposed);
    const auto y = layout(c.batch, c.M, c.N, false);
    const dnnl::memory::desc bias({1, 1, c.N}, dt::f32, dims{c.N, c.N, 1});
    dnnl::primitive_attr attributes;
    if (c.add) {
      dnnl::post_ops sum;
      sum.append_sum(1.0f);
      attributes.set_post_ops(sum);
    }
#if DNNL_VERSION_MAJOR >= 3
    const auto description = c.bias != nullptr
                                 ? dnnl::matmul::primitive_desc(engine, a, b, bias, y, attributes)
                                 : dnnl::matmul::primitive_desc(engine, a, b, y, attributes);
#else
    const auto operation =
        c.bias != nullptr ? dnnl::matmul::desc(a, b, bias, y) : dnnl::matmul::desc(a, b, y);
    const dnnl::matmul::primitive_desc description(operation, attributes, engine);
#endif
    Product p{dnnl::matmul(description),
              dnnl::memory(a, engine, DNNL_MEMORY_NONE),
              dnnl::memory(b, engine, DNNL_MEMORY_NONE),
              dnnl::memory(y, engine, DNNL_MEMORY_NONE),
              {},
              {}};
    p.arguments = {{DNNL_ARG_SRC, p.a}, {DNNL_ARG_WEIGHTS, p.b}, {DNNL_ARG_DST, p.c}};
    if (c.bias != nullptr) {
      p.bias = dnnl::memory(bias, engine, DNNL_MEMORY_NONE);
      p.arguments.emplace(DNNL_ARG_BIAS, p.bias);
    }
    return p;
  }
};

Products::Products() : state_(std::make_unique<State>()) {}
Products::~Products() = default;

void Products::run(const Call& c) {
  const unsigned flags = (c.a.transposed ? 1u : 0u) | (c.b.transposed ? 2u : 0u) |
                         (c.add ? 4u : 0u) | (c.bias != nullptr ? 8u : 0u) | (c.one_a ? 16u : 0u) |
                         (c.one_b ? 32u : 0u);
  const Key key{c.batch, c.M, c.N, c.K, flags};
  auto it = state_->products.find(key);
  if (it == state_->products.end()) it = state_->products.emplace(key, state_->make(c)).first;
  Product& p = it->second;
  // oneDNN's handles are void*, also of what it only reads
  p.a.set_data_handle(const_cast<float*>(c.a.data));
  p.b.set_data_handle(const_cast<float*>(c.b.data));
  p.c.set_data_handle(c.c);
  if (c.bias != nullptr) p.bias.set_data_handle(const_cast<float*>(c.bias));
  p.primitive.execute(state_->stream, p.arguments);
}

std::string Products::library() {
  const dnnl::version_t* v = dnnl::version();
  const char* isa = "plain";
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::sse41: isa = "sse41"; break;
    case dnnl::cpu_isa::avx: isa = "avx"; break;
    case dnnl::cpu_isa::avx2: isa = "avx2"; break;
    case dnnl::cpu_isa::avx2_vnni: isa = "avx2_vnni"; break;
    case dnnl::cpu_isa::avx512_core: isa = "avx512_core"; break;
    case dnnl::cpu_isa::avx512_core_vnni: isa = "avx512_core_vnni"; break;
    case dnnl::cpu_isa::avx512_core_bf16: isa = "avx512_core_bf16"; break;
    default: isa = "newer than avx512_core_bf16"; break;
  }
  return fmt::format("oneDNN {}.{}.{}, {}", v->major, v->minor, v->patch, isa);
}

}  // namespace pesuite
