// A figure as values: axes, series, data and what else its kind shows. report/gnuplot.h draws it.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace pesuite {

using Rows = std::vector<std::vector<std::string>>;  // the first is the heading

// Colour, marker and dash of an encoding.
struct SeriesStyle {
  std::string colour;  // "#0072B2"
  int marker = 0;      // as gnuplot counts its point types
  std::string dash;    // as gnuplot writes dashes: "1" for none, "(12,4)"
  bool operator==(const SeriesStyle&) const = default;
};
constexpr std::size_t palette_size = 36;
// The i-th of the palette. The first seven colours are those of Okabe and Ito, told apart by
// colour-blind readers.
SeriesStyle series_style(std::size_t i);
std::string faint(const std::string& colour);  // nearer to white

using Ticks = std::vector<std::pair<double, std::string>>;  // a text may have several lines

struct Series {
  std::string id;     // in the column "encoding" of the data
  std::string label;  // for people
  SeriesStyle style;
};

struct Figure {
  struct Axis {
    std::string label;
    double low = std::numeric_limits<double>::quiet_NaN(), high = low;  // what is shown; NaN: all
    bool logarithmic = false;
    Ticks ticks = {};  // empty: as the renderer chooses
  };
  using Value = std::variant<double, std::string, std::vector<double>, std::vector<std::string>,
                             Ticks, std::vector<Ticks>>;

  std::string name;  // of its files
  // Name of the figure that shows the same on the scale that suits it; pages let readers choose.
  std::string beside = {};
  std::string kind;  // of its template, plots/KIND.gp
  std::string title, caption;
  Axis x, y;
  std::vector<Series> series;
  std::map<std::string, Value> values;  // what else its kind shows, by the template's names
  Rows rows;                            // columns of numbers ("inf", "" for none) and names
};

// Ticks for a logarithmic axis from low to high, at most about eight.
std::vector<double> log_ticks(double low, double high);

}  // namespace pesuite
