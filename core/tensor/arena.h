// Memory of one step. Blocks are handed out, may be given back early and are then reused by size;
// reset() forgets them all at once without freeing. After a first step has shown how much is
// needed, further steps allocate nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "backend/backend.h"

namespace pesuite {

class Arena {
 public:
  explicit Arena(Backend& backend) : backend_(backend) {}
  ~Arena() { release_chunks(); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  void* take(std::size_t bytes) {
    bytes = round_up(bytes);
    in_use_ += bytes;
    high_water_ = in_use_ > high_water_ ? in_use_ : high_water_;
    auto& free = free_[bytes];
    if (!free.empty()) {
      void* p = free.back();
      free.pop_back();
      return p;
    }
    return bump(bytes);
  }
  void give_back(void* p, std::size_t bytes) {
    bytes = round_up(bytes);
    in_use_ -= bytes;
    free_[bytes].push_back(p);
  }
  // Everything taken is gone. Where several chunks were needed they become one.
  void reset() {
    for (auto& [bytes, list] : free_) list.clear();
    in_use_ = 0;
    if (chunks_.size() > 1) {
      std::size_t total = 0;
      for (const Chunk& c : chunks_) total += c.size;
      release_chunks();
      add_chunk(total);
    }
    used_ = 0;
  }

  std::size_t high_water() const { return high_water_; }  // most bytes in use at once

 private:
  struct Chunk {
    std::byte* memory;
    std::size_t size;
  };
  static std::size_t round_up(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

  void* bump(std::size_t bytes) {
    if (chunks_.empty() || used_ + bytes > chunks_.back().size) {
      constexpr std::size_t smallest = std::size_t{1} << 20;
      const std::size_t wanted = chunks_.empty() ? smallest : chunks_.back().size / 2;
      add_chunk(bytes > wanted ? bytes : wanted);
      used_ = 0;
    }
    void* p = chunks_.back().memory + used_;
    used_ += bytes;
    return p;
  }
  void add_chunk(std::size_t size) {
    chunks_.push_back({static_cast<std::byte*>(backend_.allocate(size)), size});
  }
  void release_chunks() {
    for (const Chunk& c : chunks_) backend_.release(c.memory);
    chunks_.clear();
  }

  Backend& backend_;
  std::vector<Chunk> chunks_;
  std::size_t used_ = 0;  // of the last chunk
  std::unordered_map<std::size_t, std::vector<void*>> free_;
  std::size_t in_use_ = 0, high_water_ = 0;
};

}  // namespace pesuite
