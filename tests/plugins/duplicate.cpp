// Offers an encoding under a name that another library has.
#include <pesuite/pesuite.hpp>

namespace {
struct Rope : pes::Encoding {
  static constexpr pes_card card = pes::card<Rope>("rope", "not the one you want");
  Rope(const pes_model&, const pes::Values&) {}
};
constexpr const pes_encoding* encodings[] = {&pes::encoding<Rope>, nullptr};
}  // namespace

PES_LIBRARY("duplicate", "1.0.0", "MIT", encodings, nullptr);
