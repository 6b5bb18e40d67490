// plugin: tools for authors of plugins.
#include "cli/plugin.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/arguments.h"

namespace pesuite::cli {

namespace {

struct Subcommand {
  const char* name;
  const char* summary;
  int (*run)(const std::vector<std::string>&);
};
constexpr Subcommand subcommands[] = {
    {"check", "prove what plugin libraries promise, each check in a process of its own",
     plugin_check},
    {"bench", "time what a library's encodings add to a forward pass", plugin_bench},
    {"manifest", "write what libraries offer beside them", plugin_manifest},
    {"new", "write the project of a new plugin", plugin_new},
    {"golden", "compare encodings with golden vectors of public reference code", plugin_golden},
};

}  // namespace

int plugin_verb(const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const Subcommand& s : subcommands) {
    if (!words.empty() && words[0] == s.name) return s.run({words.begin() + 1, words.end()});
    names.emplace_back(s.name);
  }
  const bool help = words.empty() || words[0] == "--help" || words[0] == "-h";
  if (!help)
    fail(Exit::usage, "there is no 'plugin {}'{}", words[0],
         nearest(words[0], names).empty() ? "; 'pesuite plugin --help' shows all"
                                          : did_you_mean(words[0], names));
  fmt::print(
      "usage: pesuite plugin SUBCOMMAND [arguments]      pesuite plugin SUBCOMMAND --help\n\n");
  for (const Subcommand& s : subcommands) fmt::print("  {:<10}{}\n", s.name, s.summary);
  return words.empty() ? static_cast<int>(Exit::usage) : 0;
}

}  // namespace pesuite::cli
