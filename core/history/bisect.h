// The commit that made something worse, by git bisect in a work tree of its own: the user's is not
// touched.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "history/git.h"

namespace pesuite {

struct BisectOrder {
  fs::path repository = ".";
  std::string good, bad;             // any names of commits
  std::vector<std::string> command;  // run in the work tree of each commit
  std::string build;                 // by sh before it; where it fails the commit is skipped
  bool gate = false;   // exit codes are those of pesuite: 1 and 8 bad, others but 0 skip
  bool trust = false;  // do not try good and bad themselves first
};

struct Bisected {
  enum class End { found, skipped, stopped } end = End::found;
  Commit first_bad;
  std::vector<std::string> candidates;  // where all that is left was skipped
  std::size_t tried = 0, skipped = 0;
};

// `say`: a line of what goes on. Error (usage) for commits that are none, or where the good one is
// not good or the bad one not bad; (data) where git fails.
Bisected bisect(const BisectOrder&, const std::function<void(const std::string&)>& say);

}  // namespace pesuite
