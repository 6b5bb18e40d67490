#include "check/project.h"

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "plugin/card.h"
#include "plugin/library.h"

namespace pesuite::checks {

namespace {

void require_usable(const std::string& name) {
  if (!is_lower_snake(name))
    fail(Exit::usage, "'{}' is not lower_snake, as names in suites are: write e.g. my_encoding",
         name);
  const std::vector<std::string> kept = {
      "all", "check", "clean", "edit_cache", "help", "install", "package", "rebuild_cache", "test"};
  if (std::find(kept.begin(), kept.end(), name) != kept.end())
    fail(Exit::usage, "'{}' is a target that CMake makes itself; take another name", name);
}

// my_encoding -> MyEncoding
std::string pascal_case(const std::string& name) {
  std::string out;
  for (const std::string& word : split(name, '_'))
    if (!word.empty())
      out += static_cast<char>(std::toupper(static_cast<unsigned char>(word[0]))) + word.substr(1);
  return out;
}

std::string replaced(std::string text, const std::string& name) {
  const std::pair<std::string, std::string> marks[] = {
      {"@name@", name}, {"@Name@", pascal_case(name)}, {"@prefix@", package_prefix().string()}};
  for (const auto& [mark, by] : marks)
    for (std::size_t at = 0; (at = text.find(mark, at)) != std::string::npos; at += by.size())
      text.replace(at, mark.size(), by);
  return text;
}

// Beside the program when it is installed, else in the source tree.
fs::path templates_folder() {
  for (const fs::path& p :
       {program_folder() / PESUITE_TEMPLATES_DIR, fs::path(PESUITE_TEMPLATES_SOURCE_DIR)})
    if (fs::is_directory(p)) return fs::weakly_canonical(p);
  fail(Exit::data,
       "the templates of new plugins are missing: {} is not there; install pesuite-dev, or pesuite "
       "again",
       (program_folder() / PESUITE_TEMPLATES_DIR).string());
}

}  // namespace

fs::path package_prefix() {
  return fs::weakly_canonical(program_folder().parent_path());
}

std::vector<fs::path> write_project(const std::string& kind, const std::string& name,
                                    const fs::path& folder) {
  if (kind != "encoding" && kind != "task")
    fail(Exit::usage, "a new plugin is an encoding or a task, not '{}'", kind);
  require_usable(name);
  if (fs::exists(folder) && (!fs::is_directory(folder) || !fs::is_empty(folder)))
    fail(Exit::usage, "{} is there already and not empty; name another with --folder",
         folder.string());
  const fs::path from = templates_folder() / kind;
  std::vector<fs::path> written;
  for (const auto& item : fs::recursive_directory_iterator(from))
    if (item.is_regular_file()) {
      written.push_back(folder / replaced(fs::relative(item.path(), from).string(), name));
      write_file_atomic(written.back(), replaced(read_file(item.path()), name));
    }
  std::sort(written.begin(), written.end());
  return written;
}

}  // namespace pesuite::checks
