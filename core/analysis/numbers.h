// Numbers of several seeds: what is shown of them and how it is written.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "analysis/run_data.h"

namespace pesuite {

// What one seed says about one place of one encoding.
struct SeedValue {
  std::uint64_t seed = 0;
  double value = Number::none;  // may be infinite; NaN: none
  std::string lost;             // why there is none: "diverged", "nan", "crash", ..., "missing"
};

// Summary over seeds. Infinite values count like any other; seeds without a value are counted in
// `lost` and never silently left out.
struct Spread {
  double mean = Number::none, low = Number::none, high = Number::none;  // low, high: extremes
  double t_low = Number::none, t_high = Number::none;  // 95 % interval, from 5 seeds that differ on
  std::size_t n = 0, of = 0;
  std::map<std::string, std::size_t> lost;
};
Spread summarize(const std::vector<SeedValue>&);

// The values of an encoding at a place, one a seed of the task.
std::vector<SeedValue> values_at(const TaskData&, std::size_t encoding, const Place&);
// The same of any function of a cell; NaN where it has none.
std::vector<SeedValue> values_of(const TaskData&, std::size_t encoding,
                                 const std::function<double(const CellData&)>&);

// The optimum of a place, one a seed: from any encoding, since all saw the same tokens.
std::vector<SeedValue> optimum_at(const TaskData&, Place);

using Format = std::function<std::string(double)>;
std::string perplexity_text(double nats);  // of exp(nats): "6.34", "1234", "1.23e+07", "∞"
std::string nats_text(double nats);        // "1.8474"
std::string signed_nats_text(double nats);
std::string percent_text(double share);          // "51.1", "99.98": 100.0 and 0.0 are exact
std::string signed_percent_text(double points);  // "-48.9", of a share
// For an axis that ends at `last`: "1000", or "10³" and "3×10⁴" where it is long.
std::string axis_number(double x, double last);

// "6.34", "6.34 [6.31, 6.37]" with several seeds, "6.34 [6.31, 6.37] (1 of 3 diverged)".
std::string spread_text(const Spread&, const Format&);
std::string mean_text(const Spread&, const Format&);  // without the extremes

double median(std::vector<double> values);  // NaN where there is none
// Two-sided 95 % quantile of Student's t.
double t95(std::size_t degrees);

// `text` in at most `width` columns, its middle left out.
std::string shorten(const std::string& text, std::size_t width);

}  // namespace pesuite
