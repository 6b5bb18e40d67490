// Structs as hosts of other versions would pass them to a plugin.
#pragma once

#include <pesuite/pesuite.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace pesuite::checks {

// Which host the plugin seems to meet: this one; one that knows the fields of minor 0 only; or one
// whose structs have grown by fields that nobody knows yet.
enum class Host { current, oldest, newest };

// Bytes of the struct as minor 0 of this major defined it, up to and including `field`.
#define PESUITE_FIRST_SIZE(type, field) (offsetof(type, field) + sizeof(type::field))

inline std::size_t first_size(const pes_model*) {
  return PESUITE_FIRST_SIZE(pes_model, max_length);
}
inline std::size_t first_size(const pes_created*) {
  return PESUITE_FIRST_SIZE(pes_created, params);
}
inline std::size_t first_size(const pes_ops*) {
  return PESUITE_FIRST_SIZE(pes_ops, rotate);
}
inline std::size_t first_size(const pes_step*) {
  return PESUITE_FIRST_SIZE(pes_step, offset);
}
inline std::size_t first_size(const pes_attention*) {
  return PESUITE_FIRST_SIZE(pes_attention, rewrite);
}
inline std::size_t first_size(const pes_scores*) {
  return PESUITE_FIRST_SIZE(pes_scores, scores);
}

#undef PESUITE_FIRST_SIZE

// A copy of a struct at the end of a page, with a guard page behind it: reading or writing a field
// that the host did not declare crashes at once. For Host::current an ordinary copy. Its destructor
// writes back what the plugin wrote.
template <class T>
class Lent {
 public:
  Lent(T& original, Host host) : original_(original), at_(&copy_), copy_(original) {
    constexpr std::size_t unknown = 64;  // bytes of the fields of a newer host
    if (host == Host::current) return;
    const std::size_t align = alignof(T);
    bytes_ = host == Host::newest ? sizeof(T) + unknown
                                  : (first_size(&original) + align - 1) / align * align;
    page_ = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    memory_ =
        ::mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED)
      fail(Exit::internal, "cannot map two pages: {}", std::strerror(errno));
    ::mprotect(static_cast<char*>(memory_) + page_, page_, PROT_NONE);
    char* at = static_cast<char*>(memory_) + page_ - bytes_;
    std::memset(at, 0xAB, bytes_);
    std::memcpy(at, &original, std::min(bytes_, sizeof(T)));
    at_ = reinterpret_cast<T*>(at);
    at_->size = bytes_;
  }
  ~Lent() {
    const std::size_t size = original_.size;
    std::memcpy(&original_, at_, std::min(bytes_, sizeof(T)));
    original_.size = size;
    if (memory_ != nullptr) ::munmap(memory_, 2 * page_);
  }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;

  T* get() { return at_; }
  // False when the plugin wrote over what is the host's alone to write.
  bool size_untouched() const {
    return at_->size == (memory_ == nullptr ? original_.size : bytes_);
  }

 private:
  T& original_;
  T* at_;
  T copy_;
  std::size_t bytes_ = sizeof(T), page_ = 0;
  void* memory_ = nullptr;
};

}  // namespace pesuite::checks
