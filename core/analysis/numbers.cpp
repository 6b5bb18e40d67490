#include "analysis/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/statistics.h"
#include "base/text.h"

namespace pesuite {

Spread summarize(const std::vector<SeedValue>& values) {
  Spread s;
  s.of = values.size();
  double sum = 0;
  for (const SeedValue& v : values) {
    if (std::isnan(v.value)) {
      ++s.lost[v.lost];
      continue;
    }
    s.low = s.n == 0 ? v.value : std::min(s.low, v.value);
    s.high = s.n == 0 ? v.value : std::max(s.high, v.value);
    sum += v.value;
    ++s.n;
  }
  if (s.n == 0) return s;
  const auto n = static_cast<double>(s.n);
  s.mean = sum / n;
  if (s.n < fewest_for_interval || !std::isfinite(s.mean) || s.low == s.high) return s;
  double squares = 0;
  for (const SeedValue& v : values)
    if (!std::isnan(v.value)) squares += (v.value - s.mean) * (v.value - s.mean);
  const double half = t95(s.n - 1) * std::sqrt(squares / (n - 1) / n);
  s.t_low = s.mean - half, s.t_high = s.mean + half;
  return s;
}

std::vector<SeedValue> values_of(const TaskData& t, std::size_t encoding,
                                 const std::function<double(const CellData&)>& value) {
  std::vector<SeedValue> out;
  for (const std::uint64_t seed : t.seeds) {
    SeedValue v{seed, Number::none, "missing"};
    if (const CellData* c = t.cell(encoding, seed)) {
      v.value = value(*c);
      if (c->status != "ok") v.lost = c->status;
    }
    out.push_back(std::move(v));
  }
  return out;
}

std::vector<SeedValue> values_at(const TaskData& t, std::size_t encoding, const Place& p) {
  auto out = values_of(t, encoding, [&](const CellData& c) {
    const Number* n = c.find(p);
    return n == nullptr ? Number::none : n->value;
  });
  for (SeedValue& v : out) {  // recorded, and not a number
    if (!std::isnan(v.value) || v.lost != "missing") continue;
    const CellData* c = t.cell(encoding, v.seed);
    if (c != nullptr && c->find(p) != nullptr) v.lost = "nan";
  }
  return out;
}

std::vector<SeedValue> optimum_at(const TaskData& t, Place p) {
  p.metric = "optimum";
  std::vector<SeedValue> out;
  for (const std::uint64_t seed : t.seeds) {
    out.push_back({seed, Number::none, "missing"});
    for (const std::size_t e : t.encodings)
      if (const CellData* c = t.cell(e, seed))
        if (const Number* n = c->find(p); n != nullptr && std::isfinite(n->value)) {
          out.back().value = n->value;
          break;
        }
  }
  std::erase_if(out, [](const SeedValue& v) { return std::isnan(v.value); });
  return out;
}

namespace {

// With a sign, but none on what is written as zero.
std::string with_sign(double x, int digits) {
  const std::string text = format_fixed(x, digits);
  if (text.find_first_of("123456789∞n") == std::string::npos) return format_fixed(0, digits);
  return fmt::format("{}{}", x > 0 ? "+" : "", text);
}

std::string superscript(int n) {
  static constexpr const char* digits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string out = n < 0 ? "⁻" : "";
  for (const char c : std::to_string(std::abs(n))) out += digits[c - '0'];
  return out;
}

}  // namespace

std::string perplexity_text(double nats) {
  const double x = std::exp(nats);
  if (std::isfinite(nats) && (std::isinf(x) || x >= 1e6))  // exp overflows long before nats do
    return std::isinf(x) ? fmt::format("e^{:.0f}", nats) : fmt::format("{:.2e}", x);
  return format_fixed(x, x < 100 ? 2 : x < 1000 ? 1 : 0);
}

std::string nats_text(double nats) {
  return format_fixed(nats, 4);
}
std::string signed_nats_text(double nats) {
  return with_sign(nats, 4);
}
std::string signed_percent_text(double points) {
  return with_sign(100 * points, 1);
}

std::string percent_text(double share) {
  const std::string one = format_fixed(100 * share, 1), two = format_fixed(100 * share, 2);
  const bool rounded = (one == "100.0" && share < 1) || (one == "0.0" && share > 0);
  return rounded && two != "100.00" && two != "0.00" ? two : one;
}

std::string axis_number(double x, double last) {
  const double powers_from = last >= 1e5 ? 1e3 : 1e5;
  if (x == 0 || (std::abs(x) >= 1e-3 && std::abs(x) < powers_from)) return fmt::format("{:.6g}", x);
  const int exponent = static_cast<int>(std::floor(std::log10(std::abs(x)) + 1e-9));
  const double mantissa = x / std::pow(10.0, exponent);
  const std::string power = fmt::format("10{}", superscript(exponent));
  if (std::abs(mantissa - 1) < 1e-6) return power;
  return fmt::format("{:.3g}×{}", mantissa, power);
}

namespace {

std::string lost_text(const Spread& s) {
  std::string out;
  for (const auto& [why, count] : s.lost) {
    if (!out.empty()) out += ", ";
    out += s.lost.size() == 1 && count == s.of ? why : fmt::format("{} of {} {}", count, s.of, why);
  }
  return out;
}

std::string text_of(const Spread& s, const Format& format, bool extremes) {
  if (s.of == 0) return "–";
  if (s.n == 0) return lost_text(s);
  std::string out = format(s.mean);
  if (extremes && s.of > 1) out += fmt::format(" [{}, {}]", format(s.low), format(s.high));
  if (!s.lost.empty()) out += fmt::format(" ({})", lost_text(s));
  return out;
}

}  // namespace

std::string spread_text(const Spread& s, const Format& format) {
  return text_of(s, format, true);
}
std::string mean_text(const Spread& s, const Format& format) {
  return text_of(s, format, false);
}

double median(std::vector<double> values) {
  std::erase_if(values, [](double x) { return std::isnan(x); });
  if (values.empty()) return Number::none;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double t95(std::size_t degrees) {
  return t_quantile(0.975, static_cast<double>(degrees));
}

std::string shorten(const std::string& text, std::size_t width) {
  if (display_width(text) <= width) return text;
  const std::size_t tail = width / 3, head = width - tail - 1;
  std::vector<std::string> points;  // code points
  for (const char c : text) {
    if ((c & 0xC0) != 0x80) points.emplace_back();
    if (!points.empty()) points.back() += c;
  }
  std::string out;
  for (std::size_t i = 0; i < head; ++i) out += points[i];
  out += "…";
  for (std::size_t i = points.size() - tail; i < points.size(); ++i) out += points[i];
  return out;
}

}  // namespace pesuite
