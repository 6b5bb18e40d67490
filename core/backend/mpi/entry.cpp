#include "backend/mpi/entry.h"

#include <mpi.h>

#include <algorithm>
#include <climits>
#include <cstring>
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

// What a request is depends on the MPI: a pointer, or a number.
static_assert(sizeof(MPI_Request) <= sizeof(std::int64_t));
std::int64_t number(MPI_Request request) {
  std::int64_t n = 0;
  std::memcpy(&n, &request, sizeof request);
  return n;
}
MPI_Request request(std::int64_t number) {
  MPI_Request r;
  std::memcpy(&r, &number, sizeof r);
  return r;
}

template <class T>
std::int64_t begin(T* values, std::int64_t count, MPI_Datatype type) {
  if (count > INT_MAX) {
    sum(values, count, type);
    return number(MPI_REQUEST_NULL);
  }
  MPI_Request r = MPI_REQUEST_NULL;
  MPI_Iallreduce(MPI_IN_PLACE, values, static_cast<int>(count), type, MPI_SUM, MPI_COMM_WORLD, &r);
  return number(r);
}
std::int64_t begin_double(double* values, std::int64_t count) {
  return begin(values, count, MPI_DOUBLE);
}
std::int64_t begin_float(float* values, std::int64_t count) {
  return begin(values, count, MPI_FLOAT);
}
template <class F>
void each(std::int64_t* begun, std::size_t count, F f) {
  for (std::size_t i = 0; i < count; ++i) {
    MPI_Request r = request(begun[i]);
    if (r == MPI_REQUEST_NULL) continue;
    f(r);
    begun[i] = number(r);
  }
}
void advance(std::int64_t* begun, std::size_t count) {
  each(begun, count, [](MPI_Request& r) {
    int ignored = 0;
    MPI_Test(&r, &ignored, MPI_STATUS_IGNORE);
  });
}
void finish(std::int64_t* begun, std::size_t count) {
  each(begun, count, [](MPI_Request& r) { MPI_Wait(&r, MPI_STATUS_IGNORE); });
}

void share(void* bytes, std::int32_t count) {
  MPI_Bcast(bytes, count, MPI_BYTE, 0, MPI_COMM_WORLD);
}
void local(std::int32_t* rank, std::int32_t* size) {
  MPI_Comm machine = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
  int own = 0, all = 0;
  MPI_Comm_rank(machine, &own);
  MPI_Comm_size(machine, &all);
  MPI_Comm_free(&machine);
  *rank = own, *size = all;
}

void wait() {
  MPI_Barrier(MPI_COMM_WORLD);
}
void leave() {
  MPI_Finalize();
}

}  // namespace

extern "C" __attribute__((visibility("default")))
const pesuite_mpi pesuite_mpi_entry = {PESUITE_MPI_ABI,
                                       sizeof(pesuite_mpi),
                                       version,
                                       join,
                                       sum_double,
                                       sum_float,
                                       begin_double,
                                       begin_float,
                                       advance,
                                       finish,
                                       share,
                                       local,
                                       wait,
                                       leave};
