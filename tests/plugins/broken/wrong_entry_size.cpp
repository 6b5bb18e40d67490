// A descriptor whose size says that nothing is in it: 'loads' must refuse the library.
#include <pesuite/pesuite.hpp>

namespace {

struct Nothing : pes::Encoding {
  static constexpr pes_card card =
      pes::card<Nothing>({.name = "nothing", .summary = "does nothing", .taxonomy = "fixed"});
  Nothing(const pes_model&, const pes::Values&) {}
};

constexpr pes_encoding short_descriptor = [] {
  pes_encoding e = pes::encoding<Nothing>;
  e.size = sizeof(std::size_t);
  return e;
}();
constexpr const pes_encoding* encodings[] = {&short_descriptor, nullptr};

}  // namespace

PES_LIBRARY("wrong_entry_size", "1.0.0", "MIT", encodings, nullptr);
