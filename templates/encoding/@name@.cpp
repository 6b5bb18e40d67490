// @name@: what it does, in a sentence. Paper, year, section and equation.
#include <pesuite/pesuite.hpp>

#include <cmath>

namespace {

// An example that works: lowers scores by a learned multiple of ln(1 + distance).
struct @Name@ : pes::Encoding {
  static constexpr pes_option options[] = {
      pes::real("start", "1", 0, 100, "start value of every head's slope")};
  static constexpr pes_card card = pes::card<@Name@>(
      {.name = "@name@",
       .summary = "lowers scores by a learned multiple of ln(1 + distance)",
       .taxonomy = "relative, learned, bias",
       .claims = PES_RELATIVE | PES_NORM_PRESERVING | PES_UNBOUNDED});

  pes::Param slope;      // learned, one a head: the host initialises, trains and saves it
  pes::Tensor distance;  // valid from begin() to the end of the step

  @Name@(const pes_model& m, const pes::Values& v)
      : slope(param("slope", {m.heads, 1}, pes::constant(v.real("start")))) {}

  // Once a step, on the host in double: tables.
  void begin(const pes::Step& s) {
    const pes::Tensor logs = s.table({1, s.offset + s.length}, [](auto, auto d) {
      return -std::log1p(static_cast<double>(d));
    });
    distance = s[slope] * logs;  // [H, 1] times [1, T] is [H, T]
  }
  // Once a layer: adds distance[h, i - j] to the score of query i and key j.
  void attend(const pes::Step&, pes::Attention& a) const { a.distance = distance; }
};

constexpr const pes_encoding* encodings[] = {&pes::encoding<@Name@>, nullptr};

}  // namespace

PES_LIBRARY("@name@", "1.0.0", "MIT", encodings, nullptr);
