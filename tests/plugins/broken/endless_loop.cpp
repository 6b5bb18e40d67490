// Two encodings that never come back: one when it is created, one in a step.
#include <pesuite/pesuite.hpp>

#include <condition_variable>
#include <mutex>

namespace {

struct LoopsInCreate : pes::Encoding {
  static constexpr pes_card card = pes::card<LoopsInCreate>(
      {.name = "loops_in_create", .summary = "computes without end", .taxonomy = "fixed"});
  LoopsInCreate(const pes_model&, const pes::Values&) {
    [[maybe_unused]] volatile std::uint64_t i = 0;
    for (;;) i = 1;
  }
};

struct WaitsInAttend : pes::Encoding {
  static constexpr pes_card card = pes::card<WaitsInAttend>(
      {.name = "waits_in_attend",
       .summary = "waits for something that never happens, without computing",
       .taxonomy = "fixed"});
  WaitsInAttend(const pes_model&, const pes::Values&) {}
  void attend(const pes::Step&, pes::Attention&) const {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable never;
    for (;;) never.wait(lock);
  }
};

constexpr const pes_encoding* encodings[] = {&pes::encoding<LoopsInCreate>,
                                             &pes::encoding<WaitsInAttend>, nullptr};

}  // namespace

PES_LIBRARY("endless_loop", "1.0.0", "MIT", encodings, nullptr);
