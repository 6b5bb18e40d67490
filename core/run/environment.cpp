#include "run/environment.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <clocale>
#include <cstring>
#include <fstream>
#include <thread>

#include "base/file.h"
#include "base/text.h"
#include "build_info.h"
#include "cell/cell.h"

extern char** environ;

namespace pesuite {

namespace {

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return trim(line.substr(line.find(':') + 1));
  return "unknown";
}

std::vector<int> affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> out;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    for (int i = 0; i < CPU_SETSIZE; ++i)
      if (CPU_ISSET(i, &set)) out.push_back(i);
  return out;
}

Json variables() {
  Json out = Json::object();
  for (char** e = environ; *e != nullptr; ++e)
    for (const char* prefix : {"OMP_", "ONEDNN_", "DNNL_", "PESUITE_", "GOMP_"})
      if (std::strncmp(*e, prefix, std::strlen(prefix)) == 0) {
        const std::string text = *e;
        const std::size_t equals = text.find('=');
        out[text.substr(0, equals)] = text.substr(equals + 1);
      }
  return out;
}

}  // namespace

std::string program_version() {
  return fmt::format("pesuite {}", build_info::version);
}

std::string build_date() {
  return build_info::date;
}

std::string build_summary() {
  return fmt::format("{} (commit {}{}, {}, {})", program_version(), build_info::commit,
                     build_info::dirty ? ", changed since" : "", build_info::compiler,
                     build_info::type);
}

Json environment(const Catalog& catalog) {
  utsname system{};
  uname(&system);
  Json plugins = Json::array();
  for (const Offer& offer : catalog.offers) {
    const Manifest& m = offer.manifest();
    plugins.push_back({{"name", m.name},
                       {"version", m.version},
                       {"file", offer.path().string()},
                       {"build", "sha256:" + sha256_file(offer.path()).substr(0, 16)},
                       {"abi", fmt::format("{}.{}", m.abi_major, m.abi_minor)}});
  }
  return {{"ts", utc_timestamp()},
          {"pesuite",
           {{"version", build_info::version},
            {"commit", build_info::commit},
            {"dirty", build_info::dirty},
            {"dirty_hash", build_info::dirty_hash},
            {"compiler", build_info::compiler},
            {"build_type", build_info::type},
            {"flags", build_info::flags},
            {"abi", fmt::format("{}.{}", PES_ABI_MAJOR, PES_ABI_MINOR)},
            {"numerics_epoch", numerics_epoch}}},
          {"system",
           {{"name", system.sysname}, {"release", system.release}, {"machine", system.machine}}},
          {"cpu",
           {{"model", cpu_model()},
            {"cores", std::thread::hardware_concurrency()},
            {"affinity", affinity()},
            {"governor", first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")}}},
          {"locale", std::setlocale(LC_ALL, nullptr)},
          {"variables", variables()},
          {"plugins", plugins}};
}

static Json starts_in(const fs::path& file) {
  Json starts = Json::array();
  if (!fs::exists(file)) return starts;
  Json old = Json::parse(read_file(file), nullptr, false);
  if (old.is_object() && old.contains("starts") && old["starts"].is_array()) {
    starts = old["starts"];
  } else if (old.is_object()) {  // pesuite.env/1 knew of one start alone
    old.erase("schema");
    starts.push_back(std::move(old));
  }
  return starts;
}

EnvironmentFile::EnvironmentFile(fs::path file, Json start)
    : file_(std::move(file)), own_(std::move(start)) {
  own_["cells"] = Json::array();
  Json starts = starts_in(file_);
  place_ = starts.size();
  starts.push_back(own_);
  write(starts);
}

void EnvironmentFile::add_cell(const std::string& cell, const Json& computed_by) {
  if (!cells_[computed_by.dump()].insert(cell).second) return;
  Json groups = Json::array();
  for (const auto& [text, cells] : cells_) {
    groups.push_back(Json::parse(text));
    groups.back()["count"] = cells.size();
  }
  own_["cells"] = std::move(groups);
  Json starts = starts_in(file_);  // others only add to them
  if (starts.size() <= place_) place_ = starts.size(), starts.push_back(nullptr);
  starts[place_] = own_;
  write(starts);
}

void EnvironmentFile::write(const Json& starts) const {
  write_file_atomic(file_, Json{{"schema", "pesuite.env/2"}, {"starts", starts}}.dump(1) + "\n");
}

}  // namespace pesuite
