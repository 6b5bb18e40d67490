// The library of the CUDA backend, opened where it is asked for.
#include <dlfcn.h>

#include "backend/cuda/entry.h"
#include "backend/factory.h"
#include "base/error.h"
#include "base/file.h"

namespace pesuite {

namespace {

constexpr std::size_t sentence_size = 1024;

const pesuite_cuda& open_cuda_library() {
  for (const char* folder : {"../backends", PESUITE_BACKEND_INSTALL_DIR}) {
    const fs::path file = program_folder() / folder / "pesuite_cuda.so";
    std::error_code ignored;
    if (!fs::exists(file, ignored)) continue;
    void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);  // never closed
    if (library == nullptr) fail(Exit::device, "{} cannot be opened: {}", file.string(), dlerror());
    const auto* entry = static_cast<const pesuite_cuda*>(::dlsym(library, PESUITE_CUDA_SYMBOL));
    if (entry == nullptr || entry->abi != PESUITE_CUDA_ABI || entry->size < sizeof(pesuite_cuda))
      fail(Exit::device, "{} is of another version of pesuite; install both together",
           file.string());
    return *entry;
  }
  fail(Exit::device,
       "this build has no CUDA part; with the CUDA 13 toolkit and cuDNN 9 installed, configure and "
       "build again");
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
  void* const backend = open_cuda_library().open(0, options.precision == Precision::bf16 ? 1 : 0,
                                                 sentence, sizeof sentence);
  if (backend == nullptr) fail(Exit::device, "{}; use --device cpu", sentence);
  return std::unique_ptr<Backend>(static_cast<Backend*>(backend));
}

}  // namespace pesuite
