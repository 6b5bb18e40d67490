#include "cli/find_run.h"

#include <algorithm>

#include "base/error.h"

namespace pesuite::cli {

fs::path run_named(const std::string& name, const fs::path& out, const std::string& file) {
  if (fs::exists(fs::path(name) / file)) return name;
  fs::path latest;
  std::error_code error;
  for (const auto& item : fs::directory_iterator(out / "runs", error))
    if (item.path().filename().string().find(name) != std::string::npos &&
        fs::exists(item.path() / file))
      latest = std::max(latest, item.path());
  return latest;
}

fs::path find_run(const std::string& name, const fs::path& out, const std::string& file) {
  fs::path found = run_named(name, out, file);
  if (found.empty() && name.empty())
    fail(Exit::usage, "there is no run under {} yet; --out FOLDER names another folder of results",
         (out / "runs").string());
  if (found.empty())
    fail(Exit::usage, "there is no run '{}': neither a folder with {} nor part of a name under {}",
         name, file, (out / "runs").string());
  return found;
}

}  // namespace pesuite::cli
