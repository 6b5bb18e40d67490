// An option, and a learned parameter for each layer and head: shown in docs/plugins.md.
#include <pesuite/pesuite.hpp>

namespace {
struct LearnedLog : pes::Encoding {
  static constexpr pes_option options[] = {
      pes::real("start", "1", 0, 100, "start value of every slope")};
  static constexpr pes_card card =
      pes::card<LearnedLog>({.name = "learned_log",
                             .summary = "lowers scores by a learned multiple of ln(1 + distance)",
                             .taxonomy = "relative, learned, bias",
                             .claims = PES_RELATIVE | PES_UNBOUNDED});
  int heads;
  pes::Param slope;
  pes::Tensor logs;

  LearnedLog(const pes_model& m, const pes::Values& v)
      : heads(m.heads),
        slope(param("slope", {m.layers * m.heads, 1}, pes::constant(v.real("start")))) {}
  void begin(const pes::Step& s) {
    logs = s.table({1, s.offset + s.length},
                   [](auto, auto d) { return -std::log1p(static_cast<double>(d)); });
  }
  void attend(const pes::Step& s, pes::Attention& a) const {
    a.distance = slice(s[slope], 0, a.layer * heads, heads) * logs;  // [H, 1] times [1, T]: [H, T]
  }
};

constexpr const pes_encoding* encodings[] = {&pes::encoding<LearnedLog>, nullptr};

}  // namespace

PES_LIBRARY("learned_log", "1.0.0", "MIT", encodings, nullptr);
