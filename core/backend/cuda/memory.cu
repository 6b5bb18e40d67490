// Memory, and the way in and out.
#include <vector>

#include "backend/cuda/cuda.h"

namespace pesuite::cuda {

CudaBackend::CudaBackend(const CudaSettings& settings)
    : settings_(settings), queue_(settings.device), products_(queue_, settings.precision) {}

void* CudaBackend::allocate(std::size_t bytes) {
  return queue_.allocate(bytes);
}
void CudaBackend::release(void* memory) noexcept {
  queue_.release(memory);
}

void CudaBackend::upload(Out to, const double* from) {
  const std::vector<float> rounded(from, from + to.shape.count());
  queue_.upload(to.data, rounded.data(), rounded.size() * sizeof(float));
}
void CudaBackend::upload(Out to, const float* from) {
  queue_.upload(to.data, from, static_cast<std::size_t>(to.shape.count()) * sizeof(float));
}
void CudaBackend::upload_tokens(std::int32_t* to, std::span<const std::int32_t> from) {
  queue_.upload(to, from.data(), from.size_bytes());
}

void CudaBackend::download(float* to, View from) {
  queue_.download(to, from.data, static_cast<std::size_t>(from.shape.count()) * sizeof(float));
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
