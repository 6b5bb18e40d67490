// What writes a report's files. Each renderer stands in a file of its own,
// report/renderers/NAME.cpp, which defines
//
//   Renderer NAME_renderer();
//
// The build collects them: a new file is a new renderer, and nothing else names it.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "report/document.h"
#include "report/tables.h"

namespace pesuite {

struct Renderer {
  std::string extension;  // of tables/NAME.EXTENSION
  std::function<std::string(const TableFile&)> table;
  // Files of the whole report by name; `drawn` names the figures of which there is an SVG. Empty
  // for renderers of tables alone.
  std::function<std::map<std::string, std::string>(const Document&,
                                                   const std::set<std::string>& drawn)>
      pages = {};
};

const std::vector<Renderer>& renderers();

}  // namespace pesuite
