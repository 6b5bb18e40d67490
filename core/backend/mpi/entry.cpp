#include "backend/mpi/entry.h"

#include <mpi.h>

#include <algorithm>
#include <climits>
#include <string>

namespace {

void version(char* text, std::size_t capacity) {
  char whole[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(whole, &length);
  // "Open MPI v4.1.4, package: ..., ident: ..."; others write a line for each such part
  const std::string all(whole, static_cast<std::size_t>(length));
  const std::string name = all.substr(0, all.find_first_of(",\n"));
  if (capacity == 0) return;
  const std::size_t n = std::min(name.size(), capacity - 1);
  name.copy(text, n);
  text[n] = 0;
}

std::int32_t join(std::int32_t* rank, std::int32_t* size) {
  int provided = 0;
  // other threads compute, and never call MPI
  if (const int error = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided))
    return error;
  int own = 0, all = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &own);
  MPI_Comm_size(MPI_COMM_WORLD, &all);
  *rank = own, *size = all;
  return 0;
}

// Counts are int in MPI 3. An error ends the program: MPI_ERRORS_ARE_FATAL is what it starts with.
template <class T>
void sum(T* values, std::int64_t count, MPI_Datatype type) {
  constexpr std::int64_t most = INT_MAX;
  for (std::int64_t done = 0; done < count; done += most)
    MPI_Allreduce(MPI_IN_PLACE, values + done, static_cast<int>(std::min(most, count - done)), type,
                  MPI_SUM, MPI_COMM_WORLD);
}

void sum_double(double* values, std::int64_t count) {
  sum(values, count, MPI_DOUBLE);
}
void sum_float(float* values, std::int64_t count) {
  sum(values, count, MPI_FLOAT);
}
void wait() {
  MPI_Barrier(MPI_COMM_WORLD);
}
void leave() {
  MPI_Finalize();
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const pesuite_mpi pesuite_mpi_entry = {
    PESUITE_MPI_ABI, sizeof(pesuite_mpi), version, join, sum_double, sum_float, wait, leave};
