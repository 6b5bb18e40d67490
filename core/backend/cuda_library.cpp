// The library of the CUDA backend, opened where it is asked for.
#include <dlfcn.h>

#include "backend/cuda/entry.h"
#include "backend/factory.h"
#include "backend/part.h"
#include "base/error.h"

namespace pesuite {

namespace {

constexpr std::size_t sentence_size = 1024;

const pesuite_cuda& open_cuda_library() {
  return open_part<pesuite_cuda>(
      {.file = "pesuite_cuda.so",
       .symbol = PESUITE_CUDA_SYMBOL,
       .abi = PESUITE_CUDA_ABI,
       .global = false,
       .missing = "this build has no CUDA part; with the CUDA 13 toolkit and cuDNN 9 installed, "
                  "configure and build again"});
}

}  // namespace

std::string why_no_driver() {
  // A name that the driver alone provides. Looking at it starts nothing.
  void* const driver = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (driver == nullptr)
    return "no CUDA device: there is no NVIDIA driver (libcuda.so.1) on this machine";
  ::dlclose(driver);
  return "";
}

std::string why_no_device() {
  char sentence[sentence_size] = {};
  return open_cuda_library().devices(sentence, sizeof sentence) > 0 ? "" : sentence;
}

std::unique_ptr<Backend> make_cuda_backend(const BackendOptions& options) {
  if (const std::string why = why_no_driver(); !why.empty())
    fail(Exit::device, "{}; use --device cpu", why);
  char sentence[sentence_size] = {};
  void* const backend = open_cuda_library().open(
      options.device, static_cast<std::int32_t>(options.precision), sentence, sizeof sentence);
  if (backend == nullptr) fail(Exit::device, "{}; use --device cpu", sentence);
  return std::unique_ptr<Backend>(static_cast<Backend*>(backend));
}

DeviceGroupId make_device_group_id() {
  DeviceGroupId id{};
  char sentence[sentence_size] = {};
  if (open_cuda_library().group_id(id.data(), sentence, sizeof sentence) != 1)
    fail(Exit::device, "{}", sentence);
  return id;
}

std::unique_ptr<Group> make_device_group(const DeviceGroup& g) {
  char sentence[sentence_size] = {};
  void* const group =
      open_cuda_library().join(g.id.data(), g.rank, g.size, g.device, sentence, sizeof sentence);
  if (group == nullptr) fail(Exit::device, "{}", sentence);
  return std::unique_ptr<Group>(static_cast<Group*>(group));
}

std::pair<int, std::string> count_devices() {
  if (std::string why = why_no_driver(); !why.empty()) return {0, std::move(why)};
  char sentence[sentence_size] = {};
  const int found = open_cuda_library().devices(sentence, sizeof sentence);
  return {found, sentence};
}

}  // namespace pesuite
