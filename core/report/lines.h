// What the figures of a report have in common: lines with bands over seeds, axes, legends.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/numbers.h"
#include "report/figure.h"
#include "report/tables.h"

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

// A point of a line with its band over seeds: 95 % t interval of the mean from `seeds_for_t` seeds
// on, else lowest to highest.
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

  void add(const std::string& encoding, const std::string& kind, const std::string& seed, double x,
           const Band&);
  // An encoding's mean with its band, then each seed; at(i) are the seeds' values at xs[i].
  void add_encoding(const std::string& id, const std::vector<double>& xs,
                    const std::function<std::vector<SeedValue>(std::size_t)>& at, const Transform&);
  bool empty() const { return rows.size() < 2; }
};

using Ticks = std::vector<std::pair<double, std::string>>;  // a text may have several lines
void add_ticks(Settings&, const char* axis, const Ticks&);

// Ids, labels and line styles of encodings; style i belongs to the i-th of them.
void add_styles(Settings&, const RunData&, const std::vector<std::size_t>& encodings,
                const std::vector<std::string>& labels = {});
// The same, and the seeds, for the encodings of a task. Style i belongs to its i-th encoding and
// looks as series_style() of that encoding's place in the suite; style 100 + i is the same, faint.
// The labels count seeds that have no line, or none that ends where it should.
void add_series(Settings&, const RunData&, const TaskData&, const Lines* = nullptr);

// The x axis of lengths or distances, ascending, with a mark at the training length.
void add_length_axis(Settings&, const TaskData&, const std::vector<double>& xs, const char* label);
// The y axis, with room at its edges for arrows towards what lies beyond them.
void add_y_axis(Settings&, const Range&, bool logarithmic);

// "corpus · rope ..." and "Line: mean over 3 seeds; band: ...".
std::string figure_title(const RunData&, const TaskData&, const std::string& what);
std::string band_sentence(const TaskData&);
// What the arrows at the edges mean, where there are any.
std::string edge_sentence(const Range&, bool logarithmic);

}  // namespace pesuite
