// Started by mpirun: the id that rank 0 makes reaches the others over MPI, and all join with it, on
// the host and with a library that stands in for NCCL. 0 where they then agree.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "backend/cuda/nccl_group.h"
#include "backend/mpi/entry.h"

int main() {
  using namespace pesuite;
  ::unsetenv("NCCL_COMM_ID");
  void* const library = ::dlopen(PESUITE_MPI_LIBRARY, RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) return std::fprintf(stderr, "%s\n", ::dlerror()), 1;
  const auto& mpi = *static_cast<const pesuite_mpi*>(::dlsym(library, PESUITE_MPI_SYMBOL));
  std::int32_t rank = 0, size = 0, local_rank = 0, local_size = 0;
  if (mpi.join(&rank, &size) != 0) return 2;
  mpi.local(&local_rank, &local_size);
  const cuda::Nccl nccl(PESUITE_FAKE_NCCL);
  cuda::NcclId id{};
  if (rank == 0) id = nccl.make_id();
  mpi.share(id.bytes, sizeof id.bytes);
  bool sound = size == 2 && local_size == 2 && local_rank == rank && id.bytes[0] != 0;
  {
    cuda::NcclGroup group(nccl, id, rank, size, local_rank, 0);
    const std::vector<double> all = group.gather(rank + 5);
    sound = sound && all == std::vector<double>{5, 6};
  }
  mpi.leave();
  return sound ? 0 : 3;
}
