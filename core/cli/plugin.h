// The subcommands of `plugin`, one file each.
#pragma once

#include <string>
#include <vector>

namespace pesuite::cli {

// Words behind the subcommand in, exit code out.
int plugin_check(const std::vector<std::string>&);
int plugin_bench(const std::vector<std::string>&);
int plugin_manifest(const std::vector<std::string>&);
int plugin_new(const std::vector<std::string>&);
int plugin_golden(const std::vector<std::string>&);

}  // namespace pesuite::cli
