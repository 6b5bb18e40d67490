#include "backend/cuda/stored.h"

#include "base/error.h"

namespace pesuite::cuda {

void check_storage(bool is_read_so) {
  PES_CHECK(is_read_so);
}

}  // namespace pesuite::cuda
