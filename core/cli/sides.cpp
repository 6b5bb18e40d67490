#include "cli/sides.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "cli/find_run.h"
#include "report/comparison.h"
#include "report/renderers/markdown.h"
#include "report/terminal.h"

namespace pesuite::cli {

namespace {

void refuse_unmeasured(const Measurement& m, const std::vector<std::string>& metrics) {
  if (!metrics.empty() && m.series.empty())
    fail(Exit::usage, "--metric {}: {} has none of that name; --metric '*' shows all that it has",
         join(metrics, ","), m.name);
}

void keep_metrics(Measurement& m, const std::vector<std::string>& metrics) {
  if (metrics.empty()) return;
  std::erase_if(m.series, [&](const MeasuredSeries& s) {
    return std::none_of(metrics.begin(), metrics.end(), [&](const std::string& pattern) {
      return glob_match(pattern, s.name.place.metric);
    });
  });
  refuse_unmeasured(m, metrics);
}

}  // namespace

Side find_side(const std::string& name, const Arguments& a,
               const std::vector<std::string>& metrics) {
  const auto of_baseline = [&](const fs::path& file) {
    Side s;
    s.baseline = read_baseline(file);
    s.measured = s.baseline->measured;
    keep_metrics(s.measured, metrics);
    return s;
  };
  if (name.ends_with(".json")) return of_baseline(name);
  if (fs::is_directory(name) && !fs::exists(fs::path(name) / "records.jsonl"))
    fail(Exit::data, "{} is a folder without records.jsonl: no run, or one that has not begun",
         name);
  if (name.find('/') == std::string::npos && !fs::is_directory(name))
    if (const fs::path file = baselines_folder(a) / (name + ".json"); fs::exists(file))
      return of_baseline(file);
  const fs::path run = run_named(name, a.text("out"));
  if (run.empty())
    fail(Exit::usage,
         "there is no '{}': neither a folder with records.jsonl, nor part of a run's name under "
         "{}, nor a baseline in {}",
         name, (fs::path(a.text("out")) / "runs").string(), baselines_folder(a).string());
  Side s;
  s.measured = measure(read_run(run), metrics);
  s.measured.name = "run " + s.measured.name;
  refuse_unmeasured(s.measured, metrics);
  return s;
}

void add_side_flags(Arguments& a) {
  a.flags()("out", po::value<std::string>()->default_value("results"), "folder of the results")(
      "baselines", po::value<std::string>()->default_value("baselines"), "folder of the baselines");
}

fs::path baselines_folder(const Arguments& a) {
  return a.text("baselines");
}

void add_verdict_flags(Arguments& a) {
  a.flags()("require-conclusive", po::bool_switch(),
            "exit code 7 where a gated series is neither shown to be worse nor shown not to be")(
      "all", po::bool_switch(), "show series that are identical or equivalent, too")(
      "json", po::bool_switch(), "everything as JSON on stdout, and nothing else there")(
      "markdown", po::value<std::string>(), "file for the same as Markdown, e.g. for a comment");
}

int verdict_code(const Changes& c, bool require_conclusive) {
  if (c.regressed()) return static_cast<int>(Exit::regression);
  return require_conclusive && !c.conclusive() ? static_cast<int>(Exit::inconclusive) : 0;
}

int show_changes(const Changes& c, const Arguments& a) {
  if (a.has("markdown"))
    write_file_atomic(a.text("markdown"),
                      markdown(comparison_document(c, ComparisonDetail::whole), {}));
  if (a.flag("json"))
    fmt::print("{}\n", to_json(c).dump(1));
  else
    fmt::print("{}", terminal(comparison_document(
                         c, a.flag("all") ? ComparisonDetail::whole : ComparisonDetail::brief)));
  return verdict_code(c, a.flag("require-conclusive"));
}

}  // namespace pesuite::cli
