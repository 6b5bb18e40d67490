// What the figures of a report have in common: lines with bands over seeds, axes, names of lines.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "analysis/numbers.h"
#include "report/figure.h"

namespace pesuite {

// What an axis must hold.
struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  double smallest = std::numeric_limits<double>::infinity();  // positive value
  bool infinite = false, not_positive = false;

  void include(double x);
  bool empty() const { return low > high; }
  // Values that span more than this factor read better on a logarithmic axis.
  bool wide() const { return high > 20 * smallest; }
};

// A point of a line with its 95 % t interval, which there is from `seeds_for_t` seeds on; fewer
// seeds are shown one by one.
inline constexpr std::size_t seeds_for_t = 5;
struct Band {
  double value = Number::none, low = Number::none, high = Number::none;
};

using Transform = std::function<double(double)>;  // of recorded values to what is drawn

// Lines against x as the rows of a figure: kinds "mean", "seed" and what else a figure adds.
struct Lines {
  Rows rows = {{"encoding", "kind", "seed", "x", "value", "low", "high"}};
  Range range;
  std::map<std::string, std::set<std::uint64_t>> infinite, undefined;  // seeds of an encoding
  std::map<std::string, double> last;  // the value at the end of an encoding's line

  void add(const std::string& encoding, const std::string& kind, const std::string& seed, double x,
           const Band&);
  // An encoding's mean with its band, then each seed where there are too few for a band; at(i) are
  // the seeds' values at xs[i].
  void add_encoding(const std::string& id, const std::vector<double>& xs,
                    const std::function<std::vector<SeedValue>(std::size_t)>& at, const Transform&);
  bool empty() const { return rows.size() < 2; }
};

// Colour, marker and dash of each encoding of a run: those of its name, the same in every run;
// where two share a colour, the later one takes the next that is free.
std::vector<SeriesStyle> styles_of(const RunData&);
std::vector<Series> series_of(const RunData&, const std::vector<std::size_t>& encodings);
// For the encodings of a task; labels count seeds that have no line, or none that ends where it
// should.
std::vector<Series> series_of(const RunData&, const TaskData&, const Lines* = nullptr);

// Sets the x axis of lengths or distances, ascending, with a mark at the training length.
void set_length_axis(Figure&, const TaskData&, const std::vector<double>& xs, const char* label);
// Sets the y axis, with room at its edges for arrows towards what lies beyond them.
void set_y_axis(Figure&, const Range&, bool logarithmic);
// Places in [0, 1] as near to the wanted ones as a gap between any two lets them be.
std::vector<double> spread_out(const std::vector<double>& wanted, double gap);
// Names the lines at their right ends, apart from each other; the y axis and the series are set.
void name_line_ends(Figure&, const Lines&);

// "corpus · rope ..." and "Line: mean over 3 seeds; dots: the seeds."
std::string figure_title(const RunData&, const TaskData&, const std::string& what);
std::string band_sentence(const TaskData&);
// What is tinted right of the training length.
std::string tint_sentence(const RunData&, const TaskData&);
// What the arrows at the edges mean, where there are any.
std::string edge_sentence(const Range&, bool logarithmic);

}  // namespace pesuite
