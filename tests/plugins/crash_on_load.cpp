// Crashes when it is loaded, where PESUITE_TEST_CRASH is set: whoever loads it then, finds out.
#include <pesuite/pesuite.hpp>

#include <cstdlib>
#include <limits>

namespace {

[[gnu::constructor]] void crash() {
  if (std::getenv("PESUITE_TEST_CRASH") != nullptr) std::abort();
}

struct Fragile : pes::Encoding {
  static constexpr pes_option options[] = {
      pes::real("width", "1.5", 0, std::numeric_limits<double>::infinity(),
                "a \"width\"\nof two \\ lines"),
      pes::choice("side", "left", "left|right", "which side")};
  static constexpr pes_card card = pes::card<Fragile>({.name = "fragile",
                                                       .summary = "no UTF-8: caf\xe9",
                                                       .taxonomy = "relative, fixed, bias",
                                                       .claims = PES_RELATIVE});
  Fragile(const pes_model&, const pes::Values&) {}
  void attend(const pes::Step&, pes::Attention& a) const { a.scale *= 2; }
};
constexpr const pes_encoding* encodings[] = {&pes::encoding<Fragile>, nullptr};

}  // namespace

PES_LIBRARY("fragile", "1.0.0", "MIT", encodings, nullptr);
