// plugin manifest: what a library offers, written beside it.
#include <fmt/format.h>

#include "cli/arguments.h"
#include "cli/plugin.h"
#include "plugin/library.h"

namespace pesuite::cli {

int plugin_manifest(const std::vector<std::string>& words) {
  Arguments a(
      "plugin manifest LIBRARY... [--print]",
      "Writes X.plugin.toml beside each X.plugin.so: what the library offers, from its own "
      "descriptors, so that it can be\nlisted without being loaded. pesuite_plugin() of the "
      "CMake package does this at every build.");
  a.flags()("print", po::bool_switch(), "on stdout instead");
  a.positional("library", -1);
  if (!a.parse(words)) return 0;
  a.require("library", "a plugin file (X.plugin.so)");
  for (const std::string& file : a.texts("library")) {
    if (a.flag("print"))
      fmt::print("{}", to_toml(ask_library(file), file));
    else
      write_manifest(file);
  }
  return 0;
}

}  // namespace pesuite::cli
