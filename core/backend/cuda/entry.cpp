#include "backend/cuda/entry.h"

#include <algorithm>
#include <exception>
#include <string>

#include "backend/cuda/device.h"

namespace {

// No exception leaves the library.
std::int32_t devices(char* sentence, std::size_t capacity) {
  std::int32_t count = 0;
  std::string text;
  try {
    const pesuite::cuda::Devices found = pesuite::cuda::find_devices();
    count = static_cast<std::int32_t>(found.all.size());
    text = found.sentence;
  } catch (const std::exception& e) {
    text = e.what();
  }
  if (capacity > 0) {
    const std::size_t n = std::min(text.size(), capacity - 1);
    text.copy(sentence, n);
    sentence[n] = 0;
  }
  return count;
}

}  // namespace

extern "C" __attribute__((visibility("default")))
const pesuite_cuda pesuite_cuda_entry = {PESUITE_CUDA_ABI, sizeof(pesuite_cuda), devices};
