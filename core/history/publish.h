// The history as a static site: a grid of all series, a page each, a list of regressions. Nothing
// in it asks for anything outside of its folder.
#pragma once

#include "history/trend.h"

namespace pesuite {

struct Site {
  std::size_t pages = 0;
  std::size_t worse = 0, open = 0;  // regressions, and those that last
};
// `compare_url`: where a range of commits leads, with {before} and {after} in it; "" for nowhere.
Site publish(const std::vector<HistorySeries>&, const std::vector<Trend>&, const fs::path& folder,
             const std::string& compare_url);

}  // namespace pesuite
