#include <pesuite/pesuite.hpp>

namespace {
// Lowers scores by the logarithm of the distance.
struct LogDistance : pes::Encoding {
  static constexpr pes_card card =
      pes::card<LogDistance>({.name = "log_distance",
                              .summary = "lowers scores by the logarithm of the distance",
                              .taxonomy = "relative, fixed, bias",
                              .claims = PES_RELATIVE | PES_PARAMETER_FREE | PES_MONOTONE_DECAY});
  pes::Tensor distance;

  LogDistance(const pes_model&, const pes::Values&) {}
  void begin(const pes::Step& s) {
    distance = s.table({1, s.offset + s.length},
                       [](auto, auto d) { return -std::log1p(static_cast<double>(d)); });
  }
  void attend(const pes::Step&, pes::Attention& a) const { a.distance = distance; }
};

constexpr const pes_encoding* encodings[] = {&pes::encoding<LogDistance>, nullptr};

}  // namespace

PES_LIBRARY("log_distance", "1.0.0", "MIT", encodings, nullptr);
