// A figure of overheads: how much longer something takes with each encoding than with another one.
#pragma once

#include <string>
#include <vector>

#include "report/figure.h"
#include "report/lines.h"

namespace pesuite {

struct Overhead {
  std::size_t encoding = 0;          // of the run
  int length = 0;                    // tokens; 0: of no length in particular
  Band percent;                      // change of time, with its interval where there is one
  std::vector<double> measurements;  // that stand in for the interval where there is none; percent
};

// The bars of an encoding lie together, one a length, in the order given; kind "overhead".
Figure overhead_figure(const RunData&, const std::vector<Overhead>&);

}  // namespace pesuite
