// A new project of a plugin, written from the templates that are installed with the program.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace pesuite::checks {

namespace fs = std::filesystem;

// Where find_package(pesuite) finds this program's package: an installation, or a build tree.
fs::path package_prefix();

// Writes the files of `kind` ("encoding" or "task") with `name` in place of @name@ and
// package_prefix() of @prefix@ into `folder`, and hands back what it wrote. Error (usage) when the
// name is not lower_snake or is one that CMake keeps for itself, when the folder holds files, or
// when there is no such kind.
std::vector<fs::path> write_project(const std::string& kind, const std::string& name,
                                    const fs::path& folder);

}  // namespace pesuite::checks
