// Memory of one step. Blocks may be given back early; free neighbours become one block again,
// within what the backend allocated at once: no copy of a device goes over the border of two
// allocations. reset() forgets all of them at once. The first steps show how much is needed; later
// ones allocate nothing.
#pragma once

#include <algorithm>
#include <cstddef>
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
    high_water_ = std::max(high_water_, in_use_);
    auto best = free_.end();  // the smallest that is large enough, so that large ones stay whole
    for (auto it = free_.begin(); it != free_.end(); ++it)
      if (it->size >= bytes && (best == free_.end() || it->size < best->size)) best = it;
    if (best == free_.end()) {
      // as much again as there is: pages that nobody touches cost nothing
      std::size_t total = smallest;
      for (const Chunk& c : chunks_) total += c.size;
      add_chunk(std::max(bytes, total));
      best = find(chunks_.back().memory);
    }
    std::byte* p = best->at;
    best->at += bytes;
    best->size -= bytes;
    if (best->size == 0) free_.erase(best);
    for (Chunk& c : chunks_)
      if (p >= c.memory && p < c.memory + c.size)
        c.reached = std::max(c.reached, static_cast<std::size_t>(p - c.memory) + bytes);
    return p;
  }
  void give_back(void* p, std::size_t bytes) {
    bytes = round_up(bytes);
    in_use_ -= bytes;
    insert(static_cast<std::byte*>(p), bytes);
  }
  // Everything taken is gone. Where several chunks were needed they become one.
  void reset() {
    in_use_ = 0;
    if (chunks_.size() > 1) {
      std::size_t total = 0;
      for (const Chunk& c : chunks_) total += c.reached;
      release_chunks();
      add_chunk(total);
      return;
    }
    free_.clear();
    for (const Chunk& c : chunks_) free_.push_back({c.memory, c.size});
  }

  std::size_t high_water() const { return high_water_; }  // most bytes in use at once

 private:
  static constexpr std::size_t smallest = std::size_t{1} << 20;
  struct Chunk {
    std::byte* memory;
    std::size_t size, reached;  // bytes, and how far blocks went
  };
  struct Block {
    std::byte* at;
    std::size_t size;
  };
  static std::size_t round_up(std::size_t bytes) {
    return std::max<std::size_t>(1, (bytes + 255) / 256) * 256;
  }

  std::vector<Block>::iterator find(const std::byte* at) {  // the first block not below `at`
    return std::lower_bound(free_.begin(), free_.end(), at,
                            [](const Block& b, const std::byte* p) { return b.at < p; });
  }
  bool starts_chunk(const std::byte* at) const {
    return std::any_of(chunks_.begin(), chunks_.end(),
                       [&](const Chunk& c) { return c.memory == at; });
  }
  void insert(std::byte* at, std::size_t size) {
    auto next = find(at);
    if (next != free_.end() && at + size == next->at && !starts_chunk(next->at)) {
      next->at = at;
      next->size += size;
    } else {
      next = free_.insert(next, {at, size});
    }
    if (next == free_.begin()) return;
    const auto before = next - 1;
    if (before->at + before->size != next->at || starts_chunk(next->at)) return;
    before->size += next->size;
    free_.erase(next);
  }
  void add_chunk(std::size_t size) {
    auto* memory = static_cast<std::byte*>(backend_.allocate(size));
    chunks_.push_back({memory, size, 0});
    free_.insert(find(memory), {memory, size});
  }
  void release_chunks() {
    for (const Chunk& c : chunks_) backend_.release(c.memory);
    chunks_.clear();
    free_.clear();
  }

  Backend& backend_;
  std::vector<Chunk> chunks_;
  std::vector<Block> free_;  // by address
  std::size_t in_use_ = 0, high_water_ = 0;
};

}  // namespace pesuite
