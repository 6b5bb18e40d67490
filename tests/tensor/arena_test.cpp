// The memory of a step.
#include "tensor/arena.h"

#include <gtest/gtest.h>

#include <vector>

#include "backend/factory.h"
#include "bench/timed_backend.h"

namespace pesuite::testing {
namespace {

// Allocations that follow each other without a gap, as those of a device may.
class Adjacent final : public bench::TimedBackend {
 public:
  Adjacent() : TimedBackend(open_backend("reference", {})), memory_(std::size_t{16} << 20) {}
  void* allocate(std::size_t bytes) override {
    borders.push_back(memory_.data() + used_);
    used_ += bytes;
    return borders.back();
  }
  void release(void*) noexcept override {}
  std::vector<char*> borders;  // where allocations start

 private:
  std::vector<char> memory_;
  std::size_t used_ = 0;
};

TEST(Arena, HandsOutNoBlockThatGoesOverTheBorderOfTwoAllocations) {
  Adjacent backend;
  Arena arena(backend);
  constexpr std::size_t mib = std::size_t{1} << 20;
  void* const first = arena.take(mib);
  void* const second = arena.take(mib);
  void* const third = arena.take(mib);
  ASSERT_EQ(backend.borders.size(), 2u) << "of 1 and 2 MiB";
  arena.give_back(third, mib);
  arena.give_back(first, mib);
  arena.give_back(second, mib);
  EXPECT_EQ(arena.take(2 * mib), second) << "free neighbours of one allocation are one block";
  arena.give_back(second, 2 * mib);
  const char* const large = static_cast<char*>(arena.take(2 * mib + 256));
  ASSERT_EQ(backend.borders.size(), 3u);
  EXPECT_EQ(large, backend.borders.back());
}

}  // namespace
}  // namespace pesuite::testing
