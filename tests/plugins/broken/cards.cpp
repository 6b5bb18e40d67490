// Libraries whose descriptors have one mistake each, by MISTAKE.
#include <pesuite/pesuite.hpp>

namespace {

struct Sample : pes::Encoding {
  static constexpr pes_card card =
      pes::card<Sample>({.name = "sample",
                         .summary = "warms the scores",
                         .taxonomy = MISTAKE == 1 ? "relative, banana" : "relative or absolute",
                         .cost = MISTAKE == 2 ? "cheap" : "none"});
  Sample(const pes_model&, const pes::Values&) {}
  void attend(const pes::Step&, pes::Attention& a) const { a.scale *= 2; }
};

#if MISTAKE == 3  // no null pointer at the end, but what happens to stand there
const pes_encoding* const encodings[] = {&pes::encoding<Sample>,
                                         reinterpret_cast<const pes_encoding*>(8)};
#else
constexpr const pes_encoding* encodings[] = {&pes::encoding<Sample>, nullptr};
#endif

}  // namespace

extern "C" const pes_library pes_entry = {sizeof(pes_library),
                                          PES_ABI_MAJOR,
                                          PES_ABI_MINOR,
                                          "cards",
                                          "1.0.0",
                                          "MIT",
                                          encodings,
                                          nullptr,
                                          MISTAKE == 4 ? PES_ABI_MINOR + 1 : 0};
