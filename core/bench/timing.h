// Compares times on a shared machine: windows of all subjects in turn, so that other load slows all
// of them, then medians with quartiles.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"

namespace pesuite::bench {

double seconds_now();  // of a steady clock

struct Quartiles {
  double low = 0, median = 0, high = 0;
};
Quartiles quartiles(std::vector<double> values);  // by linear interpolation; all 0 where empty
// Two of the values between which the median lies in at least 95 % of repetitions, whatever the
// distribution; not numbers where there are fewer than 6.
std::pair<double, double> median_interval(std::vector<double> values);

using Facts = std::vector<std::pair<std::string, double>>;

struct Subject {
  std::string name;              // "train/B/rope"
  std::function<void()> run;     // one iteration
  double flops = 0;              // useful floating-point operations of an iteration
  double tokens = 0;             // of an iteration; 0: not counted
  std::function<Facts()> facts;  // to stand beside the times, asked when all is timed
};

struct Timing {
  std::string name;
  double flops = 0, tokens = 0;
  Facts facts;
  std::vector<double> seconds;      // of an iteration, one a window
  std::vector<double> cpu_seconds;  // the same, of all threads
  std::int64_t iterations = 0;      // of a window

  Quartiles time() const { return quartiles(seconds); }
  double rate() const;               // FLOP/s at the median
  double tokens_per_second() const;  // at the median
};

struct Plan {
  int repetitions = 9;                               // windows of each subject
  double window = 0.3;                               // seconds, at least one iteration
  std::function<void(const std::string&)> progress;  // hears what goes on
  // Seconds of the work that a body queues; missing: by the program's own clock, since the body
  // returns when it is done.
  std::function<double(const std::function<void()>& body)> elapsed;
};

// Warms every subject up and times it. The windows of one repetition follow each other directly.
std::vector<Timing> interleave(std::span<const Subject>, const Plan&);

// For people: a row each, sorted as given. Shares are of `peak`, in FLOP/s, where it is not 0; what
// is above `believable` of it gets a sentence: so wrong kernels of a device were found.
constexpr double believable = 1.5;
std::string timing_table(std::span<const Timing>, double peak);
// The format of Google Benchmark: every window as an iteration, then median and quartiles.
Json google_benchmark(std::span<const Timing>, const Json& context);

}  // namespace pesuite::bench
