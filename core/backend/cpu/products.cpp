#include "backend/cpu/products.h"

#include <fmt/format.h>

#include <algorithm>
#include <dnnl.hpp>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "backend/cpu/bf16.h"
#include "backend/cpu/buffer.h"
#include "backend/cpu/outer.h"
#include "backend/cpu/panels.h"
#include "base/error.h"

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

using dnnl::memory;
using Dims = memory::dims;

// oneDNN's C++ calls make containers of their arguments each time; these are made once.
using Arguments = std::vector<dnnl_exec_arg_t>;

void execute(const dnnl::primitive& primitive, const dnnl::stream& stream, const Arguments& a) {
  dnnl::error::wrap_c_api(
      dnnl_primitive_execute(primitive.get(), stream.get(), static_cast<int>(a.size()), a.data()),
      "oneDNN could not run a primitive");
}

// One operand: as it is given, and, where the product wants another layout or precision, how it
// gets there.
enum class Way { as_given, rounded, widened, panels, reordered };
struct Operand {
  memory given, used;
  Way way = Way::as_given;
  std::optional<dnnl::reorder> reorder;
  Arguments reorder_arguments;
  std::size_t bytes = 0;  // of `used`
};

struct Product {
  dnnl::matmul primitive;
  Operand a, b;
  memory c, bias, plus;
  Arguments arguments;
  Buffer kept_b;
};

}  // namespace

struct Products::State {
  State(Precision p, int threads)
      : precision(p),
        outer(p == Precision::bf16 ? outer_bf16_available() && dnnl::get_effective_cpu_isa() ==
                                                                   dnnl::cpu_isa::avx512_core_bf16
                                   : outer_fp32_available() && dnnl::get_effective_cpu_isa() >=
                                                                   dnnl::cpu_isa::avx512_core),
        rounds(bf16::best_kernel() != bf16::Kernel::none),
        threads(threads),
        work(static_cast<std::size_t>(threads)) {}

  Precision precision;
  bool outer;   // outer_fp32() or outer_bf16() may be used
  bool rounds;  // and bf16::round() and panels::pack() are faster than its reorder
  int threads;
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  std::unordered_map<Key, Product, KeyHash> products;
  Buffer packed_a, packed_b;  // shared by all products: no two run at once
  std::vector<Buffer> work;   // of both, one a thread

  // `as_used`: the same layout in the type that the product multiplies.
  Operand operand(const memory::desc& given, const memory::desc& used,
                  const memory::desc& as_used) {
    Operand o;
    o.given = o.used = memory(given, engine, DNNL_MEMORY_NONE);
    if (given == used) return o;
    o.used = memory(used, engine, DNNL_MEMORY_NONE);
    o.bytes = used.get_size();
    if (used == as_used && precision == Precision::fp32) {
      o.way = Way::widened;
    } else if (used == as_used && rounds) {
      o.way = Way::rounded;
    } else {
      o.way = Way::reordered;
      o.reorder.emplace(o.given, o.used);
      o.reorder_arguments = {{DNNL_ARG_FROM, o.given.get()}, {DNNL_ARG_TO, o.used.get()}};
    }
    return o;
  }
  // Whether the product has the form of outer_fp32() or outer_bf16(), which are faster than oneDNN:
  // the former where each number of b that it packs meets many of a.
  bool outer_pays(const Call& c) const {
    return outer && c.batch == 1 && c.a.transposed && !c.b.transposed && c.bias == nullptr &&
           c.plus == nullptr && c.storage == Storage::own &&
           (precision == Precision::bf16 || c.M * c.N >= std::int64_t{1} << 19);
  }
  // Whether panels::pack() makes b as `used`.
  bool packs(const Call& c, const memory::desc& used) const {
    using tag = memory::format_tag;
    const bool stored = c.b.storage == Storage::bf16;
    if (c.batch != 1 || (stored && !c.b.transposed) || !panels::available()) return false;
    if (precision == Precision::bf16)
      return rounds && c.K % 32 == 0 &&
             used == memory::desc({c.K, c.N}, memory::data_type::bf16, tag::BA16a64b2a);
    return c.K % 16 == 0 && used == memory::desc({c.K, c.N}, memory::data_type::f32, tag::BA16a64b);
  }

  Product make(const Call& c) {
    using dt = memory::data_type;
    const dt type = precision == Precision::bf16 ? dt::bf16 : dt::f32;
    // One product is described with two axes, several with three: what oneDNN's kernels know best.
    const auto layout = [&](dt t, std::int64_t batch, std::int64_t rows, std::int64_t columns,
                            bool transposed) {
      const std::int64_t row = transposed ? 1 : columns, column = transposed ? rows : 1;
      return c.batch == 1
                 ? memory::desc({rows, columns}, t, Dims{row, column})
                 : memory::desc({batch, rows, columns}, t, Dims{rows * columns, row, column});
    };
    const std::int64_t batch_a = c.one_a ? 1 : c.batch, batch_b = c.one_b ? 1 : c.batch;
    const auto stored = [](Storage s) { return s == Storage::bf16 ? dt::bf16 : dt::f32; };
    const auto given_a = layout(stored(c.a.storage), batch_a, c.M, c.K, c.a.transposed);
    const auto given_b = layout(stored(c.b.storage), batch_b, c.K, c.N, c.b.transposed);
    const auto a = layout(type, batch_a, c.M, c.K, c.a.transposed);
    // Packing b costs a pass over it. That pays for weights, which many rows meet; the activations
    // of a^T b in fp32 are themselves the long side, and oneDNN reads them as fast as they lie.
    const bool weights = c.b.transposed || (!c.a.transposed && panels::available());
    const bool widens = type == dt::f32 && c.b.storage == Storage::bf16 && !panels::available();
    const bool pack_b =
        c.batch == 1 && !widens && (type == dt::bf16 ? c.M >= 64 : c.M >= 256 && weights);
    const auto b = pack_b ? memory::desc({c.K, c.N}, type, memory::format_tag::any)
                          : layout(type, batch_b, c.K, c.N, c.b.transposed);
    const auto y = layout(stored(c.storage), c.batch, c.M, c.N, false);
    const auto bias = c.batch == 1 ? memory::desc({1, c.N}, dt::f32, Dims{c.N, 1})
                                   : memory::desc({1, 1, c.N}, dt::f32, Dims{c.N, c.N, 1});
    dnnl::primitive_attr attributes;
    dnnl::post_ops after;
    if (c.add) after.append_sum(1.0f);
    if (c.plus != nullptr) after.append_binary(dnnl::algorithm::binary_add, y);
    attributes.set_post_ops(after);
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
              operand(given_a, description.src_desc(), a),
              operand(given_b, description.weights_desc(), b),
              memory(y, engine, DNNL_MEMORY_NONE),
              {},
              {},
              {},
              {}};
    if (packs(c, description.weights_desc())) p.b.way = Way::panels;
    p.arguments = {{DNNL_ARG_SRC, p.a.used.get()},
                   {DNNL_ARG_WEIGHTS, p.b.used.get()},
                   {DNNL_ARG_DST, p.c.get()}};
    if (c.bias != nullptr) {
      p.bias = memory(bias, engine, DNNL_MEMORY_NONE);
      p.arguments.push_back({DNNL_ARG_BIAS, p.bias.get()});
    }
    if (c.plus != nullptr) {
      p.plus = memory(y, engine, DNNL_MEMORY_NONE);
      p.arguments.push_back({DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, p.plus.get()});
    }
    return p;
  }

  void round(std::uint16_t* to, const float* from, std::int64_t count) {
    constexpr std::int64_t chunk = 8192;
    const auto threads = static_cast<std::int64_t>(work.size()),
               chunks = (count + chunk - 1) / chunk;
#pragma omp parallel for schedule(static, 1) num_threads(static_cast <int>(threads))
    for (std::int64_t t = 0; t < threads; ++t) {
      const std::int64_t first = chunks * t / threads * chunk,
                         last = std::min(count, chunks * (t + 1) / threads * chunk);
      if (first < last) bf16::round(to + first, from + first, last - first);
    }
  }

  void widen(float* to, const Bf16* from, std::int64_t count) {
#pragma omp parallel for simd schedule(static) num_threads(threads)
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[i];
  }

  void give(Operand& o, const Matrix& x, std::int64_t K, std::int64_t N, Buffer& buffer,
            bool again = false) {
    // oneDNN's handles are void*, also of what it only reads
    o.given.set_data_handle(const_cast<void*>(x.data));
    if (o.way == Way::as_given) return;
    void* const to = buffer.reserve(o.bytes);
    o.used.set_data_handle(to);
    if (again) return;
    switch (o.way) {
      case Way::as_given: break;
      case Way::rounded:
        return round(static_cast<std::uint16_t*>(to), static_cast<const float*>(x.data),
                     static_cast<std::int64_t>(o.bytes / sizeof(std::uint16_t)));
      case Way::widened:
        return widen(static_cast<float*>(to), static_cast<const Bf16*>(x.data),
                     static_cast<std::int64_t>(o.bytes / sizeof(float)));
      case Way::panels: return pack(to, x, K, N);
      case Way::reordered: return execute(*o.reorder, stream, o.reorder_arguments);
    }
  }
  void pack(void* to, const Matrix& x, std::int64_t K, std::int64_t N) {
    const auto from = [&](auto* number) {
      if (x.storage == Storage::bf16)
        panels::pack(number, static_cast<const std::uint16_t*>(x.data), K, N, threads);
      else
        panels::pack(number, static_cast<const float*>(x.data), x.transposed, K, N, threads);
    };
    precision == Precision::bf16 ? from(static_cast<bf16::Word*>(to))
                                 : from(static_cast<float*>(to));
  }
};

Products::Products(Precision precision, int threads)
    : state_(std::make_unique<State>(precision, threads)) {
  if (precision == Precision::bf16 && dnnl::get_effective_cpu_isa() < dnnl::cpu_isa::avx512_core)
    fail(Exit::device,
         "precision bf16 needs AVX-512, which this processor does not have; fp32 does not: of a "
         "suite, --set defaults.precision=fp32");
  if (precision == Precision::fp16)
    fail(Exit::device,
         "precision fp16 is of CUDA devices alone: processors have no fast products in it; take "
         "fp32 or bf16, of a suite --set defaults.precision=fp32, or a device");
}
Products::~Products() = default;

void Products::run(const Call& c) {
  PES_CHECK(c.keep_b || !c.same_b);
  PES_CHECK(c.plus == nullptr || (!c.add && c.storage == Storage::own));
  if (state_->outer_pays(c)) {
    auto* const to = static_cast<float*>(c.c);
    if (state_->precision == Precision::bf16)
      outer_bf16(to, c.a, c.b, c.M, c.N, c.K, c.add, state_->work);
    else
      outer_fp32(to, static_cast<const float*>(c.a.data), static_cast<const float*>(c.b.data), c.M,
                 c.N, c.K, c.add, state_->work);
    return;
  }
  const unsigned flags = (c.a.transposed ? 1u : 0u) | (c.b.transposed ? 2u : 0u) |
                         (c.add ? 4u : 0u) | (c.bias != nullptr ? 8u : 0u) | (c.one_a ? 16u : 0u) |
                         (c.one_b ? 32u : 0u) | (c.plus != nullptr ? 64u : 0u) |
                         (c.a.storage == Storage::bf16 ? 128u : 0u) |
                         (c.b.storage == Storage::bf16 ? 256u : 0u) |
                         (c.storage == Storage::bf16 ? 512u : 0u) | (c.keep_b ? 1024u : 0u);
  const Key key{c.batch, c.M, c.N, c.K, flags};
  auto it = state_->products.find(key);
  if (it == state_->products.end()) it = state_->products.emplace(key, state_->make(c)).first;
  Product& p = it->second;
  state_->give(p.a, c.a, c.M, c.K, state_->packed_a);
  state_->give(p.b, c.b, c.K, c.N, c.keep_b ? p.kept_b : state_->packed_b, c.same_b);
  p.c.set_data_handle(c.c);
  if (c.bias != nullptr) p.bias.set_data_handle(const_cast<float*>(c.bias));
  if (c.plus != nullptr) p.plus.set_data_handle(const_cast<float*>(c.plus));
  execute(p.primitive, state_->stream, p.arguments);
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
