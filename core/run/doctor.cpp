#include "run/doctor.h"

#include <fmt/format.h>
#include <langinfo.h>
#include <openssl/crypto.h>
#include <unistd.h>
#include <boost/version.hpp>

#include <algorithm>
#include <clocale>
#include <fstream>

#include "backend/backend.h"
#include "backend/choice.h"
#include "backend/group.h"
#include "base/error.h"
#include "base/isolate.h"
#include "base/machine.h"
#include "base/text.h"
#include "run/environment.h"
#include "run/progress.h"
#include "suite/suite.h"

namespace pesuite {

namespace {

constexpr double answer_seconds = 60;  // for a library that is opened, a driver that starts
constexpr double mib = 1 << 20;
constexpr double least_disk = 64 * mib, little_disk = 1024 * mib, little_memory = 1024 * mib;

Symptom examine_program(const Json& environment) {
  Symptom s{"program", Health::ok, build_summary(), ""};
  if (const std::string type = environment["pesuite"]["build_type"]; type == "Debug")
    s = {s.what, Health::note, s.text + ", which is slow",
         "configure the build with -DCMAKE_BUILD_TYPE=Release"};
  return s;
}

Symptom examine_libraries() {
  return {"libraries", Health::ok,
          fmt::format("{}; fmt {}.{}.{}, Boost {}.{}.{}, nlohmann_json {}.{}.{}",
                      OpenSSL_version(OPENSSL_VERSION), FMT_VERSION / 10000,
                      FMT_VERSION / 100 % 100, FMT_VERSION % 100, BOOST_VERSION / 100000,
                      BOOST_VERSION / 100 % 1000, BOOST_VERSION % 100, NLOHMANN_JSON_VERSION_MAJOR,
                      NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH),
          ""};
}

// What the processor has of the instruction sets that kernels are compiled for.
std::string instruction_sets() {
#if defined(__x86_64__)
  std::vector<std::string> all;
  const std::pair<const char*, bool> known[] = {
      {"AVX2", __builtin_cpu_supports("avx2") != 0},
      {"AVX-512", __builtin_cpu_supports("avx512f") != 0},
      {"AVX-512 bf16", __builtin_cpu_supports("avx512bf16") != 0}};
  for (const auto& [name, has] : known)
    all.push_back(fmt::format("{} {}", name, has ? "yes" : "no"));
  return join(all, ", ");
#else
  return "instruction sets not looked at";
#endif
}

std::string opened(const std::string& backend, Precision precision) {
  return open_backend(backend, {.threads = 1, .precision = precision})->description();
}

std::vector<Symptom> examine_processor(const Json& environment) {
  const auto ask = [](Precision p) {
    return run_isolated([p] { return opened("cpu", p); }, answer_seconds);
  };
  const std::string model = environment["cpu"]["model"];
  std::vector<Symptom> out = {
      {"processor", Health::ok, fmt::format("{}; {}", model, instruction_sets()), ""}};
  const Isolated fp32 = ask(Precision::fp32), bf16 = ask(Precision::bf16);
  if (fp32.end != Isolated::End::returned) {
    out.push_back(
        {"cpu", Health::problem, fp32.text, "install a oneDNN that knows this processor"});
    return out;
  }
  out.push_back({"cpu", Health::ok, fp32.text, ""});
  if (bf16.end != Isolated::End::returned)
    out.push_back(
        {"cpu", Health::note, bf16.text, "leave precision at fp32, which is the default"});
  else if (!bf16_is_faster("cpu"))
    out.push_back({"cpu", Health::note, "products are slower in bf16 than in fp32 here",
                   "leave precision at fp32, which is the default, or at auto"});
  return out;
}

Symptom examine_device() {
  const Choice choice = choose_backend("auto", {});
  if (choice.backend != "cuda")
    return {"cuda", Health::note, join(choice.notes, "; "),
            "nothing, where the CPU is to compute; docs/gpu.md"};
  const Isolated asked =
      run_isolated([] { return opened("cuda", usual_precision("cuda")); }, answer_seconds);
  if (asked.end != Isolated::End::returned)
    return {"cuda", Health::note, asked.text, "run with --device cpu, or see docs/gpu.md"};
  return {"cuda", Health::ok, asked.text, ""};
}

Symptom examine_processes() {
  const Isolated asked = run_isolated([] { return why_no_mpi(); }, answer_seconds);
  const std::string why = asked.text;
  if (!why.empty())
    return {"mpi", Health::note, why, "needed for 'run --launch' and 'mpirun pesuite train' alone"};
  const fs::path mpirun = find_program("mpirun");
  if (mpirun.empty())
    return {"mpi", Health::note, "the MPI part is there, and no mpirun is on PATH",
            "install openmpi-bin for 'run --launch'"};
  return {"mpi", Health::ok, mpirun.string(), ""};
}

Symptom examine_cores(const Json& environment) {
  const int usable = static_cast<int>(environment["cpu"]["affinity"].size());
  const int online = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  Symptom s{"cores", Health::ok, counted(static_cast<std::size_t>(usable), "core"), ""};
  if (usable < online) s.text += fmt::format(" of {}, as the affinity says", online);
  if (const double quota = own_limits().cores; quota > 0 && quota < usable)
    s.text += fmt::format(", of which a cgroup leaves the time of {:.3g}; so {} at a time", quota,
                          counted(static_cast<std::size_t>(usable_cores()), "cell"));
  return s;
}

Symptom examine_memory() {
  double free = static_cast<double>(::sysconf(_SC_AVPHYS_PAGES)) *
                static_cast<double>(::sysconf(_SC_PAGESIZE));
  std::ifstream in("/proc/meminfo");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("MemAvailable:")) free = 1024 * std::stod(line.substr(13));
  Symptom s{"memory", Health::ok, format_bytes(free) + " available", ""};
  if (const double most = own_limits().memory; most > 0 && most < free) {
    s.text = fmt::format("{} in this cgroup", format_bytes(most));
    free = most;
  }
  if (free < little_memory)
    s.health = Health::note, s.advice = "'pesuite plan SUITE' tells what its cells take";
  return s;
}

std::vector<Symptom> examine_plugins(const Catalog& catalog,
                                     const std::vector<fs::path>& search_path) {
  std::vector<Symptom> out;
  for (const fs::path& place : search_path) {
    std::size_t libraries = 0, encodings = 0, tasks = 0;
    for (const Offer& o : catalog.offers)
      if (o.path() == place || o.path().parent_path() == place) {
        ++libraries;
        encodings += o.manifest().encodings.size(), tasks += o.manifest().tasks.size();
      }
    out.push_back({"plugins", Health::ok,
                   fmt::format("{}: {}, {}, {}", place.string(), counted(libraries, "plugin"),
                               counted(encodings, "encoding"), counted(tasks, "task")),
                   ""});
  }
  for (const auto* list : {&catalog.problems, &catalog.notes})
    for (const std::string& p : *list) out.push_back({"plugins", Health::note, p, ""});
  const bool lacks_encodings = catalog.encoding_names().empty();
  if (lacks_encodings || catalog.task_names().empty())
    out.push_back(
        {"plugins", Health::problem,
         fmt::format("no library with {} was found", lacks_encodings ? "encodings" : "tasks"),
         "install pesuite again, or name a folder by --plugin-path or PESUITE_PLUGIN_PATH"});
  return out;
}

Symptom examine_suites() {
  const std::size_t found = known_suites().size();
  if (found == 0)
    return {"suites", Health::note, "no suite was found beside the program or in ./suites",
            "give 'run' the path of one, or install pesuite again"};
  return {"suites", Health::ok, counted(found, "suite"), ""};
}

// The folder, or where it would be made.
fs::path nearest_folder(const fs::path& out) {
  std::error_code ignored;
  fs::path p = fs::absolute(out, ignored);
  while (!fs::exists(p, ignored) && p.has_relative_path()) p = p.parent_path();
  return p;
}

Symptom examine_results(const fs::path& out) {
  const fs::path there = nearest_folder(out);
  const std::string name = fs::absolute(out).lexically_normal().string();
  Symptom s{"results", Health::problem, "", "give --out a folder of yours with room"};
  std::error_code error;
  if (!fs::is_directory(there, error)) return s.text = there.string() + " is no folder", s;
  if (::access(there.c_str(), W_OK | X_OK) != 0)
    return s.text = fmt::format("{}: nothing can be written in {}", name, there.string()), s;
  const auto room = static_cast<double>(fs::space(there, error).available);
  s.text = fmt::format("{}: {} free", name, format_bytes(room));
  if (error || room >= little_disk) return {s.what, Health::ok, error ? name : s.text, ""};
  if (room >= least_disk) s.health = Health::note;
  return s;
}

Symptom examine_gnuplot() {
  const fs::path program = find_program("gnuplot");
  if (program.empty())
    return {"gnuplot", Health::note, "not on PATH: reports have tables and no pictures",
            "install gnuplot-nox, then 'pesuite report RUN' draws them"};
  return {"gnuplot", Health::ok, program.string(), ""};
}

// Of the user's settings, not of the program's own.
Symptom examine_terminal() {
  const char* wanted = std::setlocale(LC_CTYPE, "");
  const std::string name = wanted == nullptr ? "one that is not installed" : wanted;
  const bool unicode = wanted != nullptr && std::string_view(::nl_langinfo(CODESET)) == "UTF-8";
  std::setlocale(LC_CTYPE, "C");
  Symptom s{"terminal", Health::ok,
            fmt::format("locale {}, {}{}", name,
                        ::isatty(STDERR_FILENO) != 0 ? "a terminal" : "no terminal",
                        use_color(stderr) ? " with colors" : ""),
            ""};
  if (!unicode) {
    s.health = Health::note, s.text += "; texts hold signs beyond ASCII";
    s.advice = "set LANG=C.UTF-8";
  }
  return s;
}

}  // namespace

std::vector<Symptom> examine_variables(const Json& variables, int cores) {
  const auto value = [&](const char* name) { return variables.value(name, std::string()); };
  std::vector<Symptom> out;
  const auto note = [&](const char* name, const char* what, const std::string& advice = "") {
    out.push_back({"settings", Health::note, fmt::format("{}={}: {}", name, value(name), what),
                   advice.empty() ? fmt::format("unset {}", name) : advice});
  };
  std::string policy = value("OMP_WAIT_POLICY");
  std::transform(policy.begin(), policy.end(), policy.begin(), ::tolower);
  if (policy == "active") note("OMP_WAIT_POLICY", "waiting threads take the cores of other cells");
  double spins = 0;
  if (parse_count(value("GOMP_SPINCOUNT"), spins) && spins > 100000)
    note("GOMP_SPINCOUNT", "waiting threads take the cores of other cells");
  for (const char* name : {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY"})
    if (!value(name).empty() && value(name) != "false")
      note(name, "cells that run at a time may be bound to the same cores");
  double limit = 0;
  if (parse_count(value("OMP_THREAD_LIMIT"), limit) && limit < cores)
    note("OMP_THREAD_LIMIT", "there are more cores than that");
  if (value("OMP_DYNAMIC") == "true" || value("OMP_DYNAMIC") == "1")
    note("OMP_DYNAMIC", "the number of threads may change, and with it the last bits of results");
  for (const char* name : {"ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"})
    if (!value(name).empty())
      note(name, "products may use fewer instructions than the processor has, and round otherwise");
  for (const char* name : {"ONEDNN_VERBOSE", "DNNL_VERBOSE"})
    if (!value(name).empty() && value(name) != "0")
      note(name, "oneDNN prints a line for each product");
  if (out.empty())
    out.push_back({"settings", Health::ok, "none of OpenMP or oneDNN that hinders", ""});
  return out;
}

std::vector<Symptom> examine(const Catalog& catalog, const std::vector<fs::path>& search_path,
                             const fs::path& out) {
  const Json environment = pesuite::environment(catalog);
  std::vector<Symptom> all = {examine_program(environment), examine_libraries()};
  const auto add = [&](std::vector<Symptom> more) {
    std::move(more.begin(), more.end(), std::back_inserter(all));
  };
  add(examine_processor(environment));
  add({examine_device(), examine_processes(), examine_cores(environment), examine_memory()});
  add(examine_variables(environment["variables"],
                        static_cast<int>(environment["cpu"]["affinity"].size())));
  add(examine_plugins(catalog, search_path));
  add({examine_suites(), examine_results(out), examine_gnuplot(), examine_terminal()});
  return all;
}

std::vector<BackendFound> examine_backends() {
  std::vector<BackendFound> out = {{"reference", {"double"}, opened("reference", Precision::fp32)}};
  for (const char* name : {"cpu", "cuda"}) {
    BackendFound b{name, {}, ""};
    for (const Precision p : {Precision::fp32, Precision::bf16, Precision::fp16}) {
      const Isolated asked = run_isolated([&] { return opened(name, p); }, answer_seconds);
      const bool works = asked.end == Isolated::End::returned;
      if (works ? b.precisions.empty() : b.text.empty()) b.text = asked.text;
      if (works) b.precisions.emplace_back(precision_name(p));
    }
    out.push_back(std::move(b));
  }
  return out;
}

Json to_json(const std::vector<Symptom>& all) {
  constexpr const char* names[] = {"ok", "note", "problem"};
  Json out = Json::array();
  for (const Symptom& s : all) {
    out.push_back(
        {{"what", s.what}, {"health", names[static_cast<int>(s.health)]}, {"text", s.text}});
    if (!s.advice.empty()) out.back()["advice"] = s.advice;
  }
  return out;
}

}  // namespace pesuite
