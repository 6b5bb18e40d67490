// Memory, and the way in and out.
#include <algorithm>
#include <vector>

#include "backend/cuda/cuda.h"

namespace pesuite::cuda {

CudaBackend::CudaBackend(const CudaSettings& settings)
    : settings_(settings),
      queue_(settings.device, settings.graph_launches),
      products_(queue_, settings.precision) {}

void* CudaBackend::allocate(std::size_t bytes) {
  return queue_.allocate(bytes);
}
void CudaBackend::release(void* memory) noexcept {
  rounded_.clear();  // parameters may have stood there
  queue_.release(memory);
}

void CudaBackend::upload(Out to, const double* from) {
  const std::vector<float> rounded(from, from + to.shape.count());
  upload(to, rounded.data());
}
void CudaBackend::upload(Out to, const float* from) {
  if (const auto at = rounded_.find(to.data); at != rounded_.end()) at->second.reset();
  const auto n = static_cast<std::size_t>(to.shape.count());
  if (to.storage == Storage::own) return queue_.upload(to.data, from, n * sizeof(float));
  std::vector<Bf16> rounded(n);
  std::transform(from, from + n, rounded.begin(), [](float x) { return Bf16(x); });
  queue_.upload(to.data, rounded.data(), n * sizeof(Bf16));
}
void CudaBackend::upload_tokens(std::int32_t* to, std::span<const std::int32_t> from) {
  queue_.upload(to, from.data(), from.size_bytes());
}

void CudaBackend::download(float* to, View from) {
  const auto n = static_cast<std::size_t>(from.shape.count());
  if (from.storage == Storage::own) return queue_.download(to, from.data, n * sizeof(float));
  std::vector<Bf16> stored(n);
  queue_.download(stored.data(), from.data, n * sizeof(Bf16));
  std::copy(stored.begin(), stored.end(), to);
}
void CudaBackend::download(double* to, View from) {
  std::vector<float> values(static_cast<std::size_t>(from.shape.count()));
  download(values.data(), from);
  std::copy(values.begin(), values.end(), to);
}
void CudaBackend::download_tokens(std::span<std::int32_t> to, const std::int32_t* from) {
  queue_.download(to.data(), from, to.size_bytes());
}

}  // namespace pesuite::cuda
