// plugin: tools for authors of plugins.
#include "cli/plugin.h"

#include "cli/arguments.h"
#include "cli/verbs.h"

namespace pesuite::cli {

namespace {

constexpr Verb subcommands[] = {
    {"check", "prove what plugin libraries promise, each check in a process of its own",
     plugin_check},
    {"bench", "time what a library's encodings add to a forward pass", plugin_bench},
    {"manifest", "write what libraries offer beside them", plugin_manifest},
    {"new", "write the project of a new plugin", plugin_new},
    {"golden", "compare encodings with golden vectors of public reference code", plugin_golden},
};

}  // namespace

int plugin_verb(const std::vector<std::string>& words) {
  return call({"pesuite plugin", "SUBCOMMAND", "Tools for authors of plugins.", "", subcommands},
              words);
}

}  // namespace pesuite::cli
