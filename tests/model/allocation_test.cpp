// Memory of a training step: after the first steps none is asked for again.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "backend/cpu/bf16.h"
#include "model/mixture.h"
#include "model/optimizer.h"
#include "model/preset.h"
#include "tests/catalog.h"

// operator new is malloc() here, which g++ does not look up
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

extern "C" const char __executable_start, etext;  // of this program, by the linker

namespace {
std::atomic<long> allocations{0};
// Only what this program asks for: oneDNN makes small things of its own in every product.
void* counted(std::size_t size, const void* caller) {
  const auto at = reinterpret_cast<std::uintptr_t>(caller);
  if (at >= reinterpret_cast<std::uintptr_t>(&__executable_start) &&
      at < reinterpret_cast<std::uintptr_t>(&etext))
    ++allocations;
  if (void* p = std::malloc(size > 0 ? size : 1)) return p;
  throw std::bad_alloc();
}
}  // namespace

void* operator new(std::size_t size) {
  return counted(size, __builtin_return_address(0));
}
void* operator new[](std::size_t size) {
  return counted(size, __builtin_return_address(0));
}
void operator delete(void* p) noexcept {
  std::free(p);
}
void operator delete[](void* p) noexcept {
  std::free(p);
}
void operator delete(void* p, std::size_t) noexcept {
  std::free(p);
}
void operator delete[](void* p, std::size_t) noexcept {
  std::free(p);
}

namespace pesuite::testing {
namespace {

// Allocations of a step: one to make gradients, one to use them up. `few`: of targets a quarter.
long of_a_step(const std::string& encoding, Precision precision, bool few = false) {
  ModelConfig c = preset("micro").config;
  const auto backend = open_backend("cpu", {.threads = 1, .precision = precision});
  const Task task(built_catalog(), {"kback_copy", {}}, 64, 64);
  const Mixture data(task);
  c.vocabulary = task.info().inputs, c.classes = task.info().outputs, c.tied = false;
  Model model(*backend, c, Encoding(built_catalog(), {encoding, {}}, shape_of(c, 64, 64)), 1);
  Optimizer optimizer(*backend, {});
  Batch batch = data.batch(0, PES_SPLIT_TRAIN, 1, 0, 4, 64);
  for (std::size_t i = 0; few && i < batch.targets.size(); ++i)
    if (i % 4 != 0) batch.targets[i] = -1;
  long before = 0;
  for (int step = 0; step < 4; ++step) {
    before = allocations;
    StepInfo s;
    s.training = true, s.step = step, s.steps = 10, s.batch = 4, s.length = 64;
    model.learn(batch, s, 1.0 / 256);
    optimizer.update(model.parameters(), 1, step);
  }
  return allocations - before;
}

// What remains are the scores that learn() gives back: vectors of places, nats, classes.
TEST(Allocation, StepsAfterTheFirstAskForNoMemory) {
  constexpr long scores = 3;
  const bool bf16 = bf16::best_kernel() != bf16::Kernel::none;
  for (const char* encoding : {"none", "sinusoidal", "rope", "alibi", "t5", "fire", "cope"})
    for (const Precision p : {Precision::fp32, bf16 ? Precision::bf16 : Precision::fp32})
      for (const bool few : {false, true})
        EXPECT_LE(of_a_step(encoding, p, few), scores) << encoding << " " << precision_name(p);
}

}  // namespace
}  // namespace pesuite::testing
