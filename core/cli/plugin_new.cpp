// plugin new: a project of a plugin to start from.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "check/project.h"
#include "cli/arguments.h"
#include "cli/plugin.h"
#include "plugin/library.h"

namespace pesuite::cli {

int plugin_new(const std::vector<std::string>& words) {
  Arguments a(
      "plugin new encoding|task NAME [--folder FOLDER]",
      "Writes a project that builds a plugin outside of pesuite: CMake, a working source to "
      "change, a test, a suite,\na page that says how to build, check and use it.");
  a.flags()("folder", po::value<std::string>(), "where to write it (default: a folder NAME here)");
  a.positional("kind");
  a.positional("name");
  if (!a.parse(words)) return 0;
  a.require("kind", "what it is (encoding or task)");
  a.require("name", "its name");
  const std::string kind = a.text("kind"), name = a.text("name");
  const Catalog catalog = open_catalog(plugin_search_path(a.plugin_path()));
  for (const auto& [taken, what] :
       {std::pair{catalog.encoding_names(), "encoding"}, std::pair{catalog.task_names(), "task"}})
    if (std::find(taken.begin(), taken.end(), name) != taken.end())
      fail(Exit::usage,
           "there is {} {} '{}' already, and the first one on the search path would "
           "hide the other; take another name",
           what == std::string_view("task") ? "a" : "an", what, name);
  for (const fs::path& file : checks::write_project(kind, name, a.text("folder", name)))
    fmt::print("{}\n", file.string());
  fmt::print(
      "\nNext: cmake -S {0} -B {0}/build, then as {0}/README.md says. It uses the pesuite of "
      "{1}.\n",
      a.text("folder", name), checks::package_prefix().string());
  return 0;
}

}  // namespace pesuite::cli
