// NCCL, opened where several processes train on devices: libnccl.so.2 is on few machines, and
// large. Its C interface as documented by NVIDIA for 2.x, as far as it is used.
#pragma once

#include <cstddef>
#include <string>

struct CUstream_st;
struct ncclComm;

namespace pesuite::cuda {

struct NcclId {
  char bytes[128];
};

class Nccl {
 public:
  enum class Number : int { fp32 = 7, fp64 = 8 };

  // Error (device) where it is not found or lacks something.
  explicit Nccl(const char* file = "libnccl.so.2");

  std::string version() const;  // "2.28.9"
  // What follows is an Error (device) where NCCL says so.
  NcclId make_id() const;
  // On the device that the calling thread has chosen; by all processes at once.
  ncclComm* join(const NcclId&, int rank, int size) const;
  // In place, in the order of `stream`.
  void sum(void* values, std::size_t count, Number, ncclComm*, CUstream_st* stream) const;
  void leave(ncclComm*) const;

 private:
  void check(int result, const char* what) const;

  int (*get_version_)(int*);
  const char* (*error_string_)(int);
  int (*unique_id_)(NcclId*);
  int (*init_rank_)(ncclComm**, int size, NcclId, int rank);
  int (*all_reduce_)(const void* from, void* to, std::size_t count, int number, int operation,
                     ncclComm*, CUstream_st*);
  int (*destroy_)(ncclComm*);
};

}  // namespace pesuite::cuda
