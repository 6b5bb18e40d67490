// Encodings that write the position as a number: digit by digit, the most significant first, padded
// with zeros to the width of the model. Small positions so differ in the last columns only.
#ifndef PESUITE_PLUGINS_ABSOLUTE_DIGITS_H_
#define PESUITE_PLUGINS_ABSOLUTE_DIGITS_H_

#include <pesuite/pesuite.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

struct Digits : pes::Encoding {
  static constexpr pes_option options[] = {
      pes::flag("scale_embedding", "true",
                "multiply token embeddings by sqrt(W) first, as the study that introduced the "
                "encoding does")};

  std::int64_t width, base;
  double center, unit;  // of a digit: what is added is (digit - center) / unit
  bool scale_embedding;
  std::vector<std::int64_t>
      worth;  // of a place of a number, the last first, of all an int can have
  pes::Table table;
  pes::Tensor rows;

  Digits(const pes_model& m, const pes::Values& v, std::int64_t digits, bool normalized)
      : width(m.width),
        base(digits),
        center(normalized ? static_cast<double>(digits - 1) / 2 : 0),
        unit(normalized ? static_cast<double>(digits - 1) / 2 : 1),
        scale_embedding(v.flag("scale_embedding")) {
    require(m.train_length);
    for (std::int64_t w = 1; w <= std::numeric_limits<int>::max(); w *= base) worth.push_back(w);
  }

  void require(std::int64_t length) const {
    if (std::pow(base, width) < static_cast<double>(length))
      throw pes::Refusal("position " + std::to_string(length - 1) + " has more than the " +
                         std::to_string(width) + " digits that a model of this width has columns");
  }

  // Digit W - 1 - c of n.
  double value(std::int64_t n, std::int64_t c) const {
    const auto k = static_cast<std::size_t>(width - 1 - c);
    const std::int64_t digit = k < worth.size() ? n / worth[k] % base : 0;
    return (static_cast<double>(digit) - center) / unit;
  }
  void begin(const pes::Step& s) {
    require(std::int64_t{s.offset} + s.length);
    rows = s.upload({s.length, width}, table.range(s.offset, s.length, width,
                                                   [&](auto n, auto c) { return value(n, c); }));
  }
  pes::Tensor embed(const pes::Step&, pes::Tensor x) const {
    return (scale_embedding ? x * std::sqrt(static_cast<double>(width)) : x) + rows;
  }
};

#endif  // PESUITE_PLUGINS_ABSOLUTE_DIGITS_H_
