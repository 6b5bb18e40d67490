// doctor: whether runs work on this machine, and what would help them.
#include "run/doctor.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "run/environment.h"

namespace pesuite::cli {

namespace {

void print_symptoms(const std::vector<Symptom>& all) {
  constexpr const char* marks[] = {"ok", "note", "PROBLEM"};
  for (const Symptom& s : all) {
    fmt::print("{:<9}{:<11}{}\n", marks[static_cast<int>(s.health)], s.what, s.text);
    if (!s.advice.empty()) fmt::print("{:<20}to do: {}\n", "", s.advice);
  }
}

}  // namespace

int doctor_verb(const std::vector<std::string>& words) {
  Arguments a("doctor [flags]",
              "Looks at what runs need of this machine: processor and devices, libraries, plugins, "
              "cores, settings, room for\nresults, gnuplot, terminal. Each line is ok, a note, or "
              "a problem, with what to do.\nExit code 0, or 10 where a problem keeps every run "
              "from working.");
  a.flags()("out", po::value<std::string>()->default_value("results"), "folder of the results")(
      "json", po::bool_switch(), "as JSON, with what env.json of a run tells");
  if (!a.parse(words)) return 0;
  const std::vector<fs::path> path = plugin_search_path(a.plugin_path());
  const Catalog catalog = open_catalog(path);
  const std::vector<Symptom> all = examine(catalog, path, a.text("out"));
  const bool fit = std::none_of(all.begin(), all.end(),
                                [](const Symptom& s) { return s.health == Health::problem; });
  if (a.flag("json"))
    fmt::print("{}\n", Json({{"schema", "pesuite.doctor/1"},
                             {"fit", fit},
                             {"symptoms", to_json(all)},
                             {"environment", environment(catalog)}})
                           .dump(1));
  else
    print_symptoms(all);
  return static_cast<int>(fit ? Exit::done : Exit::unfit);
}

}  // namespace pesuite::cli
