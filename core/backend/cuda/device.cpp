#include "backend/cuda/device.h"

#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <fmt/format.h>

namespace pesuite::cuda {

namespace {

constexpr int oldest_sm = 80;

std::string versions() {
  int runtime = 0;
  cudaRuntimeGetVersion(&runtime);
  const std::size_t cudnn = cudnnGetVersion();
  return fmt::format("CUDA {}.{}, cuDNN {}.{}.{}", runtime / 1000, runtime / 10 % 100,
                     cudnn / 10000, cudnn / 100 % 100, cudnn % 100);
}

}  // namespace

Devices find_devices() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess)
    return {{},
            fmt::format("no CUDA device: the driver is missing or does not answer ({}); {}",
                        cudaGetErrorString(error), versions())};
  Devices out;
  std::string too_old;
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp p{};
    if (cudaGetDeviceProperties(&p, i) != cudaSuccess) continue;
    const Device d{i, p.name, p.major * 10 + p.minor, static_cast<std::int64_t>(p.totalGlobalMem)};
    std::string& text = d.sm < oldest_sm ? too_old : out.sentence;
    text += fmt::format("{}{} {} (sm_{}, {:.0f} GB)", text.empty() ? "" : ", ", i, d.name, d.sm,
                        static_cast<double>(d.memory) * 1e-9);
    if (d.sm >= oldest_sm) out.all.push_back(d);
  }
  if (out.all.empty())
    out.sentence = too_old.empty()
                       ? "no CUDA device: the driver names none"
                       : fmt::format("no CUDA device of sm_{} or later: {}", oldest_sm, too_old);
  out.sentence += "; " + versions();
  return out;
}

}  // namespace pesuite::cuda
