#include "backend/cuda/plan_store.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "pesuite/random.hpp"

namespace pesuite::cuda {

namespace fs = std::filesystem;

fs::path PlanStore::file(const std::string& key) const {
  return folder_ / fmt::format("{:016x}{:016x}.plan", pes::hash64(machine_), pes::hash64(key));
}

// cuDNN takes what it is given at its word, so it is given only what was written here.
std::string PlanStore::head(const std::string& key, std::string_view plan) const {
  return fmt::format("pesuite.plan/1\n{}\n{}\n{} bytes, {:016x}\n", machine_, key, plan.size(),
                     pes::hash64(plan));
}

std::optional<std::string> PlanStore::read(const std::string& key) const {
  if (folder_.empty()) return std::nullopt;
  std::ifstream in(file(key), std::ios::binary);
  std::ostringstream text;
  if (!in || !(text << in.rdbuf())) return std::nullopt;
  const std::string all = text.str();
  // The head ends with the line behind the key's; how many lines the machine's text has, it says.
  const std::string mark = fmt::format("\n{}\n", key);
  const std::size_t at = all.find(mark);
  const std::size_t end = at == std::string::npos ? at : all.find('\n', at + mark.size());
  if (end == std::string::npos) return std::nullopt;
  std::string plan = all.substr(end + 1);
  if (all.substr(0, end + 1) != head(key, plan)) return std::nullopt;
  return plan;
}

void PlanStore::write(const std::string& key, std::string_view plan) const {
  if (folder_.empty()) return;
  std::error_code error;
  fs::create_directories(folder_, error);
  const fs::path to = file(key), unfinished = to.string() + fmt::format(".{}", getpid());
  {
    std::ofstream out(unfinished, std::ios::binary);
    out << head(key, plan) << plan;
    out.close();
    if (!out) {
      fs::remove(unfinished, error);
      return;
    }
  }
  fs::rename(unfinished, to, error);
  if (error) fs::remove(unfinished, error);
}

fs::path plan_folder() {
  if (const char* const own = std::getenv("PESUITE_PLANS"); own != nullptr) return own;
  const char* const caches = std::getenv("XDG_CACHE_HOME");
  if (caches != nullptr && *caches == '/') return fs::path(caches) / "pesuite" / "plans";
  const char* const home = std::getenv("HOME");
  if (home == nullptr || *home != '/') return {};
  return fs::path(home) / ".cache" / "pesuite" / "plans";
}

}  // namespace pesuite::cuda
