#include "report/report.h"

#include <fmt/format.h>

#include "base/error.h"
#include "cli/arguments.h"
#include "cli/steps.h"

namespace pesuite::cli {

namespace {

// A run's folder: as given, or the latest whose name contains it.
fs::path find_run(const std::string& name, const fs::path& out) {
  if (fs::exists(fs::path(name) / "records.jsonl")) return name;
  fs::path latest;
  std::error_code error;
  for (const auto& item : fs::directory_iterator(out / "runs", error))
    if (item.path().filename().string().find(name) != std::string::npos &&
        fs::exists(item.path() / "records.jsonl"))
      latest = std::max(latest, item.path());
  if (latest.empty())
    fail(Exit::usage,
         "there is no run '{}': neither a folder with records.jsonl nor part of a name under {}",
         name, (out / "runs").string());
  return latest;
}

}  // namespace

int report_verb(const std::vector<std::string>& words) {
  Arguments a("report RUN [flags]",
              "Writes tables (Markdown, CSV) and figures (SVG with data and script) of a run from "
              "its records alone.");
  a.flags()("out", po::value<std::string>()->default_value("results"), "folder of the results")(
      "expect", po::value<std::vector<std::string>>()->composing(),
      "a hypothesis to judge beside those of the suite, e.g. 'nll(A, 4x) < nll(B, 4x)'")(
      "json", po::bool_switch(),
      "verdicts on hypotheses as JSON on stdout, and nothing else there");
  a.positional("run");
  if (!a.parse(words)) return 0;
  a.require("run", "the run");
  const fs::path run = find_run(a.text("run"), a.text("out"));
  std::optional<Steps> steps(std::in_place, "reading " + (run / "records.jsonl").string());
  const ReportResult r = write_report(run, a.texts("expect"));
  steps.reset();
  for (const std::string& n : r.notes) fmt::print(stderr, "note: {}\n", n);
  if (a.flag("json")) {
    fmt::print("{}\n", r.verdicts.dump(1));
    return 0;
  }
  fmt::print("{}\n{}\nwrote {} and {} figures beside it\n", r.headline, r.findings, r.file.string(),
             r.figures.size());
  return 0;
}

}  // namespace pesuite::cli
