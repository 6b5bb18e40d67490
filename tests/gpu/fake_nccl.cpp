// Stands in for libnccl.so.2 among processes of one machine whose device is simulated on the host:
// the calls that are used, over memory that they share. Sums have the order of the ranks. Whoever
// calls for another sum than the others gets an error.
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

constexpr int fp32 = 7, fp64 = 8;
enum Result { success = 0, system_error = 2, invalid_argument = 4, invalid_usage = 5 };
constexpr std::size_t room = std::size_t{1} << 16;
constexpr int most = 8;

struct Id {
  char bytes[128];
};
struct Shared {
  std::atomic<int> arrived, turn;
  struct Slot {
    std::uint64_t count, number;
    alignas(16) char bytes[room];
  } slots[most];
};

template <class T>
void add_up(const Shared& s, int size, void* to, std::size_t count) {
  T* const out = static_cast<T*>(to);
  for (std::size_t i = 0; i < count; ++i) {
    T sum = 0;
    for (int r = 0; r < size; ++r) sum += reinterpret_cast<const T*>(s.slots[r].bytes)[i];
    out[i] = sum;
  }
}

struct Group {
  Shared* shared;
  int rank, size;

  bool meet() const {  // false after a minute
    const int turn = shared->turn;
    if (++shared->arrived == size) {
      shared->arrived = 0;
      ++shared->turn;
      return true;
    }
    const auto start = std::chrono::steady_clock::now();
    while (shared->turn == turn) {
      if (std::chrono::steady_clock::now() - start > std::chrono::minutes(1)) return false;
      sched_yield();
    }
    return true;
  }
};

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int ncclGetVersion(int* version) {
  *version = 29903;
  return success;
}
const char* ncclGetErrorString(int result) {
  return result == system_error ? "a failure that a test asked for" : "processes disagree";
}
int ncclGetUniqueId(Id* id) {
  const char* const place = std::getenv("NCCL_COMM_ID");
  const std::string text = place != nullptr ? place : "made-by-" + std::to_string(getpid());
  std::memset(id, 0, sizeof *id);
  text.copy(id->bytes, sizeof id->bytes - 1);
  return success;
}
int ncclCommInitRank(Group** out, int size, Id id, int rank) {
  if (std::getenv("FAKE_NCCL_FAILS") != nullptr) return system_error;
  if (rank < 0 || rank >= size || size > most) return invalid_argument;
  std::string file = std::string("/dev/shm/fake-nccl-") + id.bytes;
  std::replace(file.begin() + 9, file.end(), '/', '_');
  const int f = open(file.c_str(), O_RDWR | O_CREAT, 0600);
  if (f < 0 || ftruncate(f, sizeof(Shared)) != 0) return invalid_argument;
  void* const memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, f, 0);
  close(f);
  if (memory == MAP_FAILED) return invalid_argument;
  *out = new Group{static_cast<Shared*>(memory), rank, size};
  if (!(*out)->meet()) return invalid_usage;
  if (rank == 0) unlink(file.c_str());  // all have it
  return success;
}
int ncclAllReduce(const void* from, void* to, std::size_t count, int number, int operation,
                  Group* comm, void*) {
  if (operation != 0 || (number != fp32 && number != fp64)) return invalid_argument;
  const std::size_t bytes = number == fp32 ? 4 : 8;
  for (std::size_t done = 0; done < count || done == 0; done += room / bytes) {
    const std::size_t n = std::min(count - done, room / bytes);
    Shared::Slot& own = comm->shared->slots[comm->rank];
    own.count = count, own.number = static_cast<std::uint64_t>(number);
    std::memcpy(own.bytes, static_cast<const char*>(from) + done * bytes, n * bytes);
    if (!comm->meet()) return invalid_usage;
    for (int r = 0; r < comm->size; ++r)
      if (comm->shared->slots[r].count != count || comm->shared->slots[r].number != own.number)
        return invalid_usage;
    char* const out = static_cast<char*>(to) + done * bytes;
    if (number == fp32)
      add_up<float>(*comm->shared, comm->size, out, n);
    else
      add_up<double>(*comm->shared, comm->size, out, n);
    if (!comm->meet()) return invalid_usage;
  }
  return success;
}
int ncclCommDestroy(Group* comm) {
  comm->meet();
  munmap(comm->shared, sizeof(Shared));
  delete comm;
  return success;
}

}  // extern "C"
#pragma GCC visibility pop
