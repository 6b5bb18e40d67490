// Two encodings that take their process with them when they are created: 'creates' must say so.
#include <pesuite/pesuite.hpp>

#include <cstdlib>

namespace {

struct FollowsNull : pes::Encoding {
  static constexpr pes_card card = pes::card<FollowsNull>(
      {.name = "follows_null", .summary = "reads through a null pointer", .taxonomy = "fixed"});
  FollowsNull(const pes_model& m, const pes::Values&) {
    const volatile int* nowhere = nullptr;
    if (*nowhere == m.heads) throw pes::Refusal("never gets here");
  }
};

struct Aborts : pes::Encoding {
  static constexpr pes_card card = pes::card<Aborts>(
      {.name = "aborts", .summary = "aborts as a failed assertion does", .taxonomy = "fixed"});
  Aborts(const pes_model&, const pes::Values&) { std::abort(); }
};

constexpr const pes_encoding* encodings[] = {&pes::encoding<FollowsNull>, &pes::encoding<Aborts>,
                                             nullptr};

}  // namespace

PES_LIBRARY("crash_in_create", "1.0.0", "MIT", encodings, nullptr);
