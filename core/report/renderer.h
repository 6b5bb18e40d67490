// What writes a report's files. Each renderer stands in a file of its own,
// report/renderers/NAME.cpp, which defines
//
//   Renderer NAME_renderer();
//
// The build collects them: a new file is a new renderer, and nothing else names it.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "report/document.h"
#include "report/tables.h"

namespace pesuite {

using Pictures = std::map<std::string, std::string>;  // the SVGs that were drawn, by figure

struct Renderer {
  std::string extension;  // of tables/NAME.EXTENSION; "": of no tables
  std::function<std::string(const TableFile&)> table;
  // Files of the whole report by name. Empty for renderers of tables alone.
  std::function<std::map<std::string, std::string>(const Document&, const Pictures&)> pages = {};
  enum class When { always, asked } when = When::always;
};

const std::vector<Renderer>& renderers();

// Those of the figures that were drawn in a folder.
Pictures pictures_in(const std::filesystem::path& folder, const std::vector<const Figure*>&);

}  // namespace pesuite
