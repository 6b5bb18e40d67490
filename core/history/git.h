// What git says of commits, by running it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"

namespace pesuite {

struct GitSaid {
  int code = 0;  // exit code; 127: there is no git
  std::string out;
};
// What git prints to stdout in a repository, and to stderr behind it where `both`.
GitSaid git(const fs::path& repository, std::vector<std::string> words, bool both = false);

struct Commit {
  std::string id;  // 12 hexadecimal digits, or as it was given
  std::string date, subject;
  std::int64_t position = 0;  // commits behind it, itself too; 0: not known
};
// As git knows a commit, by any name of it; none where git or the commit is not there.
std::optional<Commit> find_commit(const fs::path& repository, const std::string& name);

}  // namespace pesuite
