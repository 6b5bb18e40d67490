// Construction, memory, and the way in and out.
#include <cstdlib>
#include <cstring>

#include "backend/cpu/bf16.h"
#include "backend/cpu/cpu.h"
#include "backend/cpu/pages.h"
#include "backend/cpu/products.h"
#include "base/error.h"
#include "base/signals.h"
#include "hwy/targets.h"

namespace pesuite {

namespace {

// ONEDNN_MAX_CPU_ISA limits our kernels as it limits oneDNN's.
void limit_instruction_set() {
  const char* text = std::getenv("ONEDNN_MAX_CPU_ISA");
  if (text == nullptr) return;
  const std::string_view isa = text;
  if (isa == "SSE41" || isa == "AVX")
    hwy::DisableTargets(HWY_AVX2 | HWY_AVX3 | HWY_AVX3_DL);
  else if (isa.starts_with("AVX2"))
    hwy::DisableTargets(HWY_AVX3 | HWY_AVX3_DL);
}

}  // namespace

CpuBackend::CpuBackend(const BackendOptions& options)
    : threads_(options.threads),
      products_(std::make_unique<Products>(options.precision, options.threads)) {
  limit_instruction_set();
  bf16_ = options.precision == Precision::bf16 && bf16::best_kernel() != bf16::Kernel::none;
  omp_set_num_threads(threads_);  // oneDNN uses the same runtime
#pragma omp parallel num_threads(threads_) if (threads_ > 1)
  own_signal_stack();
  workspaces_.resize(static_cast<std::size_t>(threads_));
}
CpuBackend::~CpuBackend() = default;

std::string CpuBackend::description() const {
  return fmt::format("{}, kernels for {}, {} thread{}", Products::library(), kernels(), threads_,
                     threads_ == 1 ? "" : "s");
}

void* CpuBackend::allocate(std::size_t bytes) {
  return allocate_pages(bytes);
}
void CpuBackend::release(void* memory) noexcept {
  std::free(memory);
}

float* CpuBackend::workspace(int thread, std::size_t floats) {
  auto& w = workspaces_[static_cast<std::size_t>(thread)];
  if (w.size() < floats + 16) w.resize(floats + 16);
  const auto address = reinterpret_cast<std::uintptr_t>(w.data());
  return w.data() + (64 - address % 64) % 64 / sizeof(float);
}

void CpuBackend::upload(Out to, const double* from) {
  as_stored(to.data, to.storage, [&](auto* number) {
    for (Index i = 0; i < to.shape.count(); ++i) store(number[i], static_cast<float>(from[i]));
  });
}
void CpuBackend::upload(Out to, const float* from) {
  if (to.storage == Storage::bf16 && bf16_)
    return parallel(to.shape.count(), 16384, [&](Index first, Index last) {
      bf16::round(static_cast<std::uint16_t*>(to.data) + first, from + first, last - first);
    });
  as_stored(to.data, to.storage, [&](auto* number) {
    parallel(to.shape.count(), 16384, [&](Index first, Index last) {
      for (Index i = first; i < last; ++i) store(number[i], from[i]);
    });
  });
}
void CpuBackend::upload_tokens(std::int32_t* to, std::span<const std::int32_t> from) {
  std::copy(from.begin(), from.end(), to);
}
void CpuBackend::download(float* to, View from) {
  as_stored(from.data, from.storage,
            [&](auto* number) { std::copy_n(number, from.shape.count(), to); });
}
void CpuBackend::download(double* to, View from) {
  as_stored(from.data, from.storage,
            [&](auto* number) { std::copy_n(number, from.shape.count(), to); });
}
void CpuBackend::download_tokens(std::span<std::int32_t> to, const std::int32_t* from) {
  std::copy_n(from, to.size(), to.begin());
}
void CpuBackend::fill(Out y, double value) {
  parallel(y.shape.count(), 16384, [&](Index first, Index last) {
    std::fill_n(out(y) + first, last - first, static_cast<float>(value));
  });
}

bool cpu_bf16_is_fast() {
  return bf16::is_fast();
}

std::unique_ptr<Backend> make_cpu_backend(const BackendOptions& options) {
  return std::make_unique<CpuBackend>(options);
}

}  // namespace pesuite
