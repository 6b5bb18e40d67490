// Small pieces of memory that wait for the next op that wants as much: one queue uses them all, one
// after the other, and the system takes microseconds, as long as a small kernel.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <unordered_map>
#include <vector>

namespace pesuite::cuda {

class FreeBlocks {
 public:
  static constexpr std::size_t largest = std::size_t{4} << 20;
  static std::size_t rounded(std::size_t bytes) {  // to what pieces have
    return std::bit_ceil(std::max<std::size_t>(bytes, 256));
  }

  // Of `bytes`, rounded; null where none is free.
  void* take(std::size_t bytes) {
    std::vector<void*>& free = free_[bytes];
    if (free.empty()) return nullptr;
    void* const memory = free.back();
    free.pop_back();
    bytes_[memory] = bytes;
    return memory;
  }
  // A new piece, in use.
  void add(void* memory, std::size_t bytes) { bytes_[memory] = bytes; }
  // False where it is none of these pieces.
  bool give_back(void* memory) {
    const auto at = bytes_.find(memory);
    if (at == bytes_.end()) return false;
    free_[at->second].push_back(memory);
    bytes_.erase(at);
    return true;
  }
  // f(memory) of each that is free, which then is no piece any more.
  template <class F>
  void drop(const F& f) {
    for (auto& [bytes, free] : free_) {
      for (void* const memory : free) f(memory);
      free.clear();
    }
  }

 private:
  std::unordered_map<std::size_t, std::vector<void*>> free_;  // by bytes
  std::unordered_map<void*, std::size_t> bytes_;              // of those in use
};

}  // namespace pesuite::cuda
