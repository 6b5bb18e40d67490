#include "backend/cuda/nccl.h"

#include <dlfcn.h>

#include "base/error.h"

namespace pesuite::cuda {

namespace {

constexpr int success = 0, operation_sum = 0;

template <class F>
void find(void* library, const char* file, const char* name, F& function) {
  function = reinterpret_cast<F>(::dlsym(library, name));
  if (function == nullptr) fail(Exit::device, "{} is no NCCL: it has no {}", file, name);
}

}  // namespace

Nccl::Nccl(const char* file) {
  void* const library = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);  // never closed
  if (library == nullptr)
    fail(Exit::device,
         "several processes on devices need NCCL, and it cannot be opened: {}; install it (on "
         "Debian and Ubuntu: libnccl2), or name its folder in LD_LIBRARY_PATH",
         ::dlerror());
  find(library, file, "ncclGetVersion", get_version_);
  find(library, file, "ncclGetErrorString", error_string_);
  find(library, file, "ncclGetUniqueId", unique_id_);
  find(library, file, "ncclCommInitRank", init_rank_);
  find(library, file, "ncclAllReduce", all_reduce_);
  find(library, file, "ncclCommDestroy", destroy_);
}

void Nccl::check(int result, const char* what) const {
  if (result != success)
    fail(Exit::device, "NCCL {}: {} failed: {}; NCCL_DEBUG=INFO says more", version(), what,
         error_string_(result));
}

std::string Nccl::version() const {
  int v = 0;
  get_version_(&v);
  return fmt::format("{}.{}.{}", v / 10000, v / 100 % 100, v % 100);
}

NcclId Nccl::make_id() const {
  NcclId id{};
  check(unique_id_(&id), "making an id for the group");
  return id;
}

ncclComm* Nccl::join(const NcclId& id, int rank, int size) const {
  ncclComm* group = nullptr;
  check(init_rank_(&group, size, id, rank), "joining the group");
  return group;
}

void Nccl::sum(void* values, std::size_t count, Number number, ncclComm* group,
               CUstream_st* stream) const {
  check(all_reduce_(values, values, count, static_cast<int>(number), operation_sum, group, stream),
        "a sum");
}

void Nccl::leave(ncclComm* group) const {
  destroy_(group);
}

}  // namespace pesuite::cuda
