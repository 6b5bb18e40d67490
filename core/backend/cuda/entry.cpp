#include "backend/cuda/entry.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <sstream>
#include <string>

#include "backend/cuda/cuda.h"
#include "backend/cuda/cudnn_runner.h"
#include "backend/cuda/device.h"
#include "backend/cuda/nccl_group.h"
#include "base/error.h"

namespace {

void write(const std::string& text, char* sentence, std::size_t capacity) {
  if (capacity == 0) return;
  const std::size_t n = std::min(text.size(), capacity - 1);
  text.copy(sentence, n);
  sentence[n] = 0;
}

// Error (device) where there is no such device.
pesuite::cuda::Device usable(const pesuite::cuda::Devices& found, std::int32_t number) {
  using pesuite::Exit, pesuite::fail;
  if (found.all.empty()) fail(Exit::device, "{}", found.sentence);
  if (number < 0 || number >= static_cast<std::int32_t>(found.all.size()))
    fail(Exit::device, "there is no CUDA device {}; there are {}", number, found.sentence);
  return found.all[static_cast<std::size_t>(number)];
}

// How attention is to run, to compare ways on one device: words of PESUITE_CUDA_ATTENTION.
struct AttentionChoice {
  bool composed = false, any_order = false, cudnn_alone = false, split = false;
};
AttentionChoice attention_choice() {
  AttentionChoice c;
  const char* const said = std::getenv("PESUITE_CUDA_ATTENTION");
  std::istringstream words(said != nullptr ? said : "");
  for (std::string word; std::getline(words, word, ',');) {
    if (word == "composed")
      c.composed = true;
    else if (word == "any_order")
      c.any_order = true;
    else if (word == "cudnn_alone")
      c.cudnn_alone = true;
    else if (word == "split")
      c.split = true;
    else
      pesuite::fail(pesuite::Exit::usage,
                    "PESUITE_CUDA_ATTENTION has '{}'; its words are composed, any_order, "
                    "cudnn_alone and split, with commas between them",
                    word);
  }
  return c;
}

// PESUITE_CUDA_GRAPHS: launches that are started together at most; 0: none are.
std::size_t graph_launches() {
  const char* const said = std::getenv("PESUITE_CUDA_GRAPHS");
  if (said == nullptr) return pesuite::cuda::Launches::usual;
  constexpr std::size_t most = 4096;
  std::size_t n = most + 1;
  const char* const end = said + std::strlen(said);
  if (const auto read = std::from_chars(said, end, n);
      read.ec != std::errc() || read.ptr != end || n > most)
    pesuite::fail(pesuite::Exit::usage,
                  "PESUITE_CUDA_GRAPHS is '{}', wanted is a number of launches from 0 (no CUDA "
                  "graphs) to {}",
                  said, most);
  return n;
}

// Fused attention where cuDNN starts; what keeps it from starting is no reason not to compute.
void give_runner(pesuite::cuda::CudaBackend& backend, const pesuite::cuda::Device& device,
                 const AttentionChoice& choice) {
  using namespace pesuite::cuda;
  if (choice.composed) return backend.compose("PESUITE_CUDA_ATTENTION asks for it");
  try {
    // A quarter of the memory is what one attention may use beside its inputs and outputs.
    DeviceFacts facts{device.sm, device.memory / 4};
    facts.cudnn_alone = choice.cudnn_alone;
    facts.splits = choice.split;
    backend.use(std::make_unique<CudnnRunner>(device.ordinal, facts));
  } catch (const pesuite::Error& e) {
    backend.compose(e.what());
  }
}

// No exception leaves what follows.
std::int32_t devices(char* sentence, std::size_t capacity) {
  try {
    const pesuite::cuda::Devices found = pesuite::cuda::find_devices();
    write(found.sentence, sentence, capacity);
    return static_cast<std::int32_t>(found.all.size());
  } catch (const std::exception& e) {
    write(e.what(), sentence, capacity);
  }
  return 0;
}

void* open(std::int32_t number, std::int32_t precision, char* sentence, std::size_t capacity) {
  using namespace pesuite;
  try {
    const cuda::Devices found = cuda::find_devices();
    const cuda::Device device = usable(found, number);
    cuda::CudaSettings settings;
    settings.device = device.ordinal;
    const AttentionChoice choice = attention_choice();
    settings.in_order = !choice.any_order;
    settings.precision = static_cast<Precision>(precision);
    settings.graph_launches = graph_launches();
    // A block of scores is 1/64 of the memory: the more rows the classifier multiplies at a time,
    // the less often the gradient of its weights is read and written.
    settings.block = std::clamp<cuda::Index>(device.memory / 64 / 4, 1 << 24, 1 << 28);
    settings.description =
        fmt::format("{}, products in {}", found.sentence, precision_name(settings.precision));
    for (const char* const name : {"PESUITE_CUDA_ATTENTION", "PESUITE_CUDA_GRAPHS"})
      if (const char* const value = std::getenv(name); value != nullptr)
        settings.description += fmt::format(", {}={}", name, value);  // records keep it
    auto backend = std::make_unique<cuda::CudaBackend>(settings);
    give_runner(*backend, device, choice);
    return static_cast<Backend*>(backend.release());
  } catch (const std::exception& e) {
    write(e.what(), sentence, capacity);
  }
  return nullptr;
}

std::int32_t group_id(char* id, char* sentence, std::size_t capacity) {
  using namespace pesuite::cuda;
  try {
    const Nccl nccl;
    const NcclId made = nccl.make_id();
    std::copy(std::begin(made.bytes), std::end(made.bytes), id);
    return 1;
  } catch (const std::exception& e) {
    write(e.what(), sentence, capacity);
  }
  return 0;
}

void* join(const char* id, std::int32_t rank, std::int32_t size, std::int32_t number,
           char* sentence, std::size_t capacity) {
  using namespace pesuite::cuda;
  try {
    const Device device = usable(find_devices(), number);
    NcclId given;
    std::copy_n(id, sizeof given.bytes, given.bytes);
    return static_cast<pesuite::Group*>(
        std::make_unique<NcclGroup>(Nccl(), given, rank, size, number, device.ordinal).release());
  } catch (const std::exception& e) {
    write(e.what(), sentence, capacity);
  }
  return nullptr;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const pesuite_cuda pesuite_cuda_entry = {
    PESUITE_CUDA_ABI, sizeof(pesuite_cuda), devices, open, group_id, join};
