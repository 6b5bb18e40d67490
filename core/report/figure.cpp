#include "report/figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace pesuite {

SeriesStyle series_style(std::size_t i) {
  // Okabe and Ito without their black (the optimum) and yellow (too faint on white); then Tol's
  // muted.
  static constexpr std::array colours = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                         "#E69F00", "#56B4E9", "#332288", "#882255",
                                         "#808000", "#7F7F7F", "#44AA99", "#A0522D"};
  static constexpr std::array markers = {7, 5, 9, 13, 11, 15, 6, 4, 8, 12, 10, 14};
  static constexpr std::array dashes = {"1", "(12,4)", "(3,3)", "(12,3,3,3)"};
  SeriesStyle s;
  s.colour = colours[i % colours.size()];
  s.marker = markers[(i + i / colours.size()) % markers.size()];
  s.dash = dashes[(i < 6 ? 0 : i / 6) % dashes.size()];
  return s;
}

std::string faint(const std::string& colour) {
  std::string out = "#";
  for (std::size_t i = 1; i < 7; i += 2) {
    const int x = std::stoi(colour.substr(i, 2), nullptr, 16);
    out += fmt::format("{:02X}", 255 - (255 - x) * 2 / 5);
  }
  return out;
}

std::vector<double> log_ticks(double low, double high) {
  static const std::vector<std::vector<double>> choices = {
      {1},
      {1, 3},
      {1, 2, 5},
      {1, 1.5, 2, 3, 5, 7},
      {1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9}};
  constexpr std::size_t wanted = 4, most = 9;
  std::vector<double> best;
  const int first = static_cast<int>(std::floor(std::log10(low))),
            last = static_cast<int>(std::ceil(std::log10(high)));
  const int stride = std::max(1, (last - first) / 8);  // decades
  for (const auto& mantissas : choices) {
    std::vector<double> ticks;
    for (int e = first; e <= last; e += stride)
      for (const double m : mantissas)
        if (const double x = m * std::pow(10.0, e); x >= low * 0.999 && x <= high * 1.001)
          ticks.push_back(x);
    if (ticks.size() > most) break;
    best = std::move(ticks);
    if (best.size() >= wanted) return best;
  }
  if (best.size() >= 3) return best;
  best.clear();  // a narrow range: even steps
  const double raw = (high - low) / 5, power = std::pow(10.0, std::floor(std::log10(raw)));
  const double step = power * (raw / power < 1.5   ? 1
                               : raw / power < 3.5 ? 2
                               : raw / power < 7.5 ? 5
                                                   : 10);
  for (double x = std::ceil(low / step) * step; x <= high; x += step) best.push_back(x);
  return best;
}

}  // namespace pesuite
