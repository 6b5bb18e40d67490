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
  const std::size_t space = t.find(' ');
  const std::string unit = space == std::string::npos ? "steps" : trim(t.substr(space));
  if (!parse_count(t.substr(0, space), x) || !sound(x)) return std::nullopt;
  if (unit == "steps" || unit == "step") return Extent{Extent::Unit::steps, x};
  if (unit == "tokens") return Extent{Extent::Unit::tokens, x};
  if (unit == "FLOPs" || unit == "flops") return Extent{Extent::Unit::flops, x};
  return std::nullopt;
}

std::int64_t Extent::in_steps(std::int64_t steps, double tokens, double flops) const {
  double n = value;
  switch (unit) {
    case Unit::steps: break;
    case Unit::share: n *= static_cast<double>(steps); break;
    case Unit::tokens: n /= tokens; break;
    case Unit::flops: n /= flops; break;
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
  }
  return "";
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

}  // namespace pesuite
