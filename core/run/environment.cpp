#include "run/environment.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <clocale>
#include <cstring>
#include <fstream>
#include <thread>

#include "backend/backend.h"
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

std::string build_summary() {
  return fmt::format("pesuite {} (commit {}{}, {}, {})", build_info::version, build_info::commit,
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
                       {"file", offer.path().filename().string()},
                       {"abi", fmt::format("{}.{}", m.abi_major, m.abi_minor)}});
  }
  const auto backend = open_backend("cpu", {});
  return {{"schema", "pesuite.env/1"},
          {"ts", utc_timestamp()},
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
          {"backend", backend->description()},
          {"locale", std::setlocale(LC_ALL, nullptr)},
          {"variables", variables()},
          {"plugins", plugins}};
}

}  // namespace pesuite
