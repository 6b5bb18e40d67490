#include "cli/find_run.h"

#include <algorithm>

#include "base/error.h"

namespace pesuite::cli {

fs::path run_named(const std::string& name, const fs::path& out) {
  if (fs::exists(fs::path(name) / "records.jsonl")) return name;
  fs::path latest;
  std::error_code error;
  for (const auto& item : fs::directory_iterator(out / "runs", error))
    if (item.path().filename().string().find(name) != std::string::npos &&
        fs::exists(item.path() / "records.jsonl"))
      latest = std::max(latest, item.path());
  return latest;
}

fs::path find_run(const std::string& name, const fs::path& out) {
  fs::path found = run_named(name, out);
  if (found.empty())
    fail(Exit::usage,
         "there is no run '{}': neither a folder with records.jsonl nor part of a name under {}",
         name, (out / "runs").string());
  return found;
}

}  // namespace pesuite::cli
