// Memory on cache lines that grows on demand and is kept for the next use.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

#include "backend/cpu/pages.h"

namespace pesuite {

class Buffer {
 public:
  // At least so many bytes, of undefined content. Throws std::bad_alloc.
  void* reserve(std::size_t bytes) {
    if (bytes > size_) {
      size_ = 0;
      data_.reset();
      data_.reset(allocate_pages(bytes));
      size_ = bytes;
    }
    return data_.get();
  }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  std::unique_ptr<void, Free> data_;
  std::size_t size_ = 0;
};

}  // namespace pesuite
