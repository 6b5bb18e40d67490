// Matrix products by cuBLASLt.
#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <bit>
#include <compare>
#include <cstdint>
#include <map>

#include "backend/cuda/products.h"
#include "base/error.h"

namespace pesuite::cuda {

// Named, since Products::Library holds what is in it.
namespace product_library {

constexpr std::size_t product_workspace = std::size_t{32} << 20;

inline void check_product(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    fail(Exit::device, "cuBLASLt: {} failed: {}", what, cublasLtGetStatusString(status));
}

// A layout, description or preference, destroyed with the object.
template <class T, cublasStatus_t (*destroy)(T)>
struct Owned {
  T raw = nullptr;
  Owned() = default;
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (raw != nullptr) destroy(raw);
  }
};
using Description = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Matrix = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using Preference = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

// cuBLASLt's matrices are column-major: it is given the transposes, b^T a^T = c^T.
inline void describe(Matrix& m, cudaDataType type, Index rows, Index columns, Index row,
                     Index batches, Index batch) {
  check_product(cublasLtMatrixLayoutCreate(&m.raw, type, static_cast<std::uint64_t>(columns),
                                           static_cast<std::uint64_t>(rows), row),
                "describing a matrix");
  const auto count = static_cast<std::int32_t>(batches);
  const std::int64_t stride = batch;
  check_product(cublasLtMatrixLayoutSetAttribute(m.raw, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
                                                 sizeof count),
                "describing a batch");
  check_product(cublasLtMatrixLayoutSetAttribute(m.raw, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                                 &stride, sizeof stride),
                "describing a batch");
}

// The largest power of two up to 256 at which an address and the matrices after it lie.
inline std::uint32_t alignment(const void* p, Index row, Index batch, Storage storage) {
  const std::uintptr_t all = reinterpret_cast<std::uintptr_t>(p) |
                             static_cast<std::uintptr_t>((row | batch) * stored_bytes(storage)) |
                             256u;
  return static_cast<std::uint32_t>(all & (~all + 1));
}

// All that the choice of an algorithm depends on. Numbers, not a text: a small step starts a
// product every few microseconds.
struct Form {
  Index M, N, K, a_row, a_batch, b_row, b_batch, c_row, c_batch, batches;
  Storage storage, storage_of_c;
  bool a_transposed, b_transposed, has_bias, in_place;
  std::uint32_t align_a, align_b, align_c, align_added;
  auto operator<=>(const Form&) const = default;

  explicit Form(const Product& p)
      : M(p.M),
        N(p.N),
        K(p.K),
        a_row(p.a.row),
        a_batch(p.a.batch),
        b_row(p.b.row),
        b_batch(p.b.batch),
        c_row(p.c_row),
        c_batch(p.c_batch),
        batches(p.batches),
        storage(p.a.storage),
        storage_of_c(p.storage),
        a_transposed(p.a.transposed),
        b_transposed(p.b.transposed),
        has_bias(p.bias != nullptr),
        in_place(p.added == p.c),
        align_a(alignment(p.a.data, p.a.row, p.a.batch, p.a.storage)),
        align_b(alignment(p.b.data, p.b.row, p.b.batch, p.b.storage)),
        align_c(alignment(p.c, p.c_row, p.c_batch, p.storage)),
        align_added(p.added == nullptr ? align_c
                                       : alignment(p.added, p.c_row, p.c_batch, p.storage)) {}
};

// A product as cuBLASLt is told of it, made once for all products of a form.
struct Told {
  Description how;
  Matrix a, b, c;
  cublasLtMatmulAlgo_t algorithm{};

  template <class T>
  void set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
    check_product(cublasLtMatmulDescSetAttribute(how.raw, attribute, &value, sizeof value),
                  "describing a product");
  }
  explicit Told(const Product& p) {
    const auto type_of = [](Storage s) {
      return s == Storage::bf16 ? CUDA_R_16BF : s == Storage::fp16 ? CUDA_R_16F : CUDA_R_32F;
    };
    const cudaDataType type = type_of(p.a.storage), type_of_c = type_of(p.storage);
    check_product(cublasLtMatmulDescCreate(&how.raw, CUBLAS_COMPUTE_32F, CUDA_R_32F),
                  "describing a product");
    set(CUBLASLT_MATMUL_DESC_TRANSA, p.b.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, p.a.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    if (p.bias != nullptr) {
      set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
      set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias);
      set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type_of_c);
    }
    describe(a, type, p.a.transposed ? p.K : p.M, p.a.transposed ? p.M : p.K, p.a.row, p.batches,
             p.a.batch);
    describe(b, type, p.b.transposed ? p.N : p.K, p.b.transposed ? p.K : p.N, p.b.row, p.batches,
             p.b.batch);
    describe(c, type_of_c, p.M, p.N, p.c_row, p.batches, p.c_batch);
  }
  void choose(cublasLtHandle_t handle, const Form& form) {
    Preference wish;
    check_product(cublasLtMatmulPreferenceCreate(&wish.raw), "describing a preference");
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
      check_product(cublasLtMatmulPreferenceSetAttribute(wish.raw, attribute, &value, sizeof value),
                    "describing a preference");
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, product_workspace);
    // its first matrix is our second one
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, form.align_b);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, form.align_a);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, form.align_added);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, form.align_c);
    // Parts of a sum are added in a fixed order.
    prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
           static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
    cublasLtMatmulHeuristicResult_t best{};
    int count = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        handle, how.raw, b.raw, a.raw, c.raw, c.raw, wish.raw, 1, &best, &count);
    if (status != CUBLAS_STATUS_SUCCESS || count == 0)
      fail(Exit::device, "cuBLASLt has no algorithm for {} products of {} x {} and {} x {}: {}",
           form.batches, form.M, form.K, form.K, form.N, cublasLtGetStatusString(status));
    algorithm = best.algo;
  }
};

}  // namespace product_library

using namespace product_library;

struct Products::Library {
  explicit Library(Queue& queue) : workspace(queue, product_workspace) {
    check_product(cublasLtCreate(&handle), "starting");
  }
  ~Library() { cublasLtDestroy(handle); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  cublasLtHandle_t handle = nullptr;
  Scratch<char> workspace;
  std::map<Form, Told> told;

  Told& find(const Product& p) {
    const Form form(p);
    const auto [at, is_new] = told.try_emplace(form, p);
    if (is_new) try {
        at->second.choose(handle, form);
      } catch (...) {
        told.erase(at);
        throw;
      }
    return at->second;
  }

  struct Call {  // of a product that was told
    cublasLtHandle_t handle;
    Told* told;
    void* workspace;
    const void *a, *b, *added, *bias;
    void* c;
    std::uint32_t alpha, beta;  // the bits of floats
    void start(CUstream_st* stream) const {
      if (bias != nullptr) told->set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
      check_product(cublasLtMatmul(handle, told->how.raw, &alpha, b, told->b.raw, a, told->a.raw,
                                   &beta, added, told->c.raw, c, told->c.raw, &told->algorithm,
                                   workspace, product_workspace, stream),
                    "a product");
    }
  };
};

Products::Products(Queue& queue, Precision precision)
    : precision_(precision), library_(std::make_unique<Library>(queue)) {}
Products::~Products() = default;

void Products::multiply(Queue& queue, const Product& p) {
  const float beta = p.added != nullptr ? 1 : 0;
  queue.call(Library::Call{library_->handle, &library_->find(p), library_->workspace.data(),
                           p.a.data, p.b.data, p.added != nullptr ? p.added : p.c, p.bias, p.c,
                           std::bit_cast<std::uint32_t>(static_cast<float>(p.scale)),
                           std::bit_cast<std::uint32_t>(beta)});
}

}  // namespace pesuite::cuda
