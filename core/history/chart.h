// A series as SVG, without any other program: for pages with hundreds of them.
#pragma once

#include <string>

#include "history/trend.h"

namespace pesuite {

std::string chart_of(const HistorySeries&, const Trend&);      // with axes and marks
std::string sparkline_of(const HistorySeries&, const Trend&);  // for a cell of a table
// Rules of CSS that give both the colours of the page they stand in.
std::string chart_rules();
std::string short_number(double);                              // four digits that count

}  // namespace pesuite
