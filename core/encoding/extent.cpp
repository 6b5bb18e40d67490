#include "encoding/extent.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace pesuite {

namespace {
bool sound(double x) {  // neither "nan" nor "inf" is a stretch
  return x >= 0 && x <= 1e300;
}
}  // namespace

std::optional<Extent> parse_extent(std::string_view text) {
  const std::string t = trim(text);
  double x = 0;
  if (t.ends_with("%")) {
    if (!parse_count(t.substr(0, t.size() - 1), x) || !sound(x)) return std::nullopt;
    return Extent{Extent::Unit::share, x / 100};
  }
  const std::size_t space = t.find_first_of(" N");
  const std::string unit = space == std::string::npos ? "steps" : trim(t.substr(space));
  if (!parse_count(t.substr(0, space), x) || !sound(x)) return std::nullopt;
  if (unit == "steps" || unit == "step") return Extent{Extent::Unit::steps, x};
  if (unit == "tokens") return Extent{Extent::Unit::tokens, x};
  if (unit == "N tokens") return Extent{Extent::Unit::per_parameter, x};
  if (unit == "FLOPs" || unit == "flops") return Extent{Extent::Unit::flops, x};
  return std::nullopt;
}

std::int64_t Extent::in_steps(std::int64_t steps, double tokens, double flops,
                              double parameters) const {
  double n = value;
  switch (unit) {
    case Unit::steps: break;
    case Unit::share: n *= static_cast<double>(steps); break;
    case Unit::tokens: n /= tokens; break;
    case Unit::flops: n /= flops; break;
    case Unit::per_parameter: n *= parameters / tokens; break;
  }
  return std::llround(std::min(n, 9e15));
}

std::string Extent::text() const {
  // twelve digits: enough for any count, and 7 % is 7 again, not 7.000000000000001
  switch (unit) {
    case Unit::steps: return fmt::format("{:.12g}", value);
    case Unit::share: return fmt::format("{:.12g}%", 100 * value);
    case Unit::tokens: return fmt::format("{:.12g} tokens", value);
    case Unit::flops: return fmt::format("{:.12g} FLOPs", value);
    case Unit::per_parameter: return fmt::format("{:.12g}N tokens", value);
  }
  return "";
}

std::string short_text(const Extent& e) {
  switch (e.unit) {
    case Extent::Unit::steps: return fmt::format("{:.12g}steps", e.value);
    case Extent::Unit::tokens: return format_count(e.value);
    case Extent::Unit::per_parameter: return fmt::format("{:.12g}N", e.value);
    default: return fmt::format("{:.4g}FLOPs", e.value);
  }
}

std::optional<int> parse_length(std::string_view text, int train_length, int least) {
  const std::string t = trim(text);
  const bool multiple = t.ends_with("x");
  double x = 0;
  if (!parse_count(std::string_view(t).substr(0, t.size() - (multiple ? 1 : 0)), x))
    return std::nullopt;
  const double tokens = multiple ? std::round(x * train_length) : x;
  if (!(tokens >= least && tokens <= longest_length) || tokens != std::floor(tokens))
    return std::nullopt;
  return static_cast<int>(tokens);
}

bool is_range(std::string_view text) {
  return text.find("..") != std::string_view::npos;
}

namespace {

struct LengthRange {  // its three lengths as they are written
  std::string_view first, last, step = "1";
};
LengthRange length_range(std::string_view text) {
  const std::size_t dots = text.find("..");
  LengthRange r{text.substr(0, dots), text.substr(dots + 2)};
  if (const std::size_t colon = r.last.find(':'); colon != std::string_view::npos)
    r.step = r.last.substr(colon + 1), r.last = r.last.substr(0, colon);
  return r;
}

}  // namespace

std::optional<std::vector<int>> parse_lengths(std::string_view text, int train_length, int least) {
  if (!is_range(text)) {
    const std::optional<int> one = parse_length(text, train_length, least);
    return one ? std::optional(std::vector{*one}) : std::nullopt;
  }
  const LengthRange r = length_range(text);
  const auto first = parse_length(r.first, train_length, least);
  const auto last = parse_length(r.last, train_length, least);
  const auto step = parse_length(r.step, train_length);
  if (!first || !last || !step || *last < *first || (*last - *first) / *step >= most_lengths)
    return std::nullopt;
  std::vector<int> out;
  for (std::int64_t l = *first; l <= *last; l += *step) out.push_back(static_cast<int>(l));
  return out;
}

bool is_lengths(std::string_view text) {
  const auto one = [](std::string_view l) {
    return parse_length(l, longest_length) || (trim(l).ends_with("x") && parse_length(l, 1, 0));
  };
  if (!is_range(text)) return one(text);
  const LengthRange r = length_range(text);
  return one(r.first) && one(r.last) && one(r.step);
}

}  // namespace pesuite
