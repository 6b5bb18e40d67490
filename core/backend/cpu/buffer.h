// Memory on cache lines that grows on demand and is kept for the next use.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace pesuite {

class Buffer {
 public:
  // At least so many bytes, of undefined content. Throws std::bad_alloc.
  void* reserve(std::size_t bytes) {
    if (bytes > size_) {
      size_ = 0;
      data_.reset();
      data_.reset(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
      if (data_ == nullptr) throw std::bad_alloc();
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
