#include "report/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "cli/find_run.h"
#include "cli/steps.h"
#include "report/gnuplot.h"

namespace pesuite::cli {

namespace {

ReportOptions options_of(const Arguments& a) {
  ReportOptions options;
  options.expect = a.texts("expect");
  options.slides = a.flag("slides");
  const std::string formats = a.text("figures");
  if (formats.empty()) return options;
  options.formats = split(formats, ',');
  for (const std::string& f : options.formats)
    if (std::count(picture_formats().begin(), picture_formats().end(), f) == 0)
      fail(Exit::usage, "--figures {}: '{}' is no format of pictures; there are {}", formats, f,
           join(picture_formats(), ", "));
  return options;
}

}  // namespace

int report_verb(const std::vector<std::string>& words) {
  Arguments a(
      "report RUN [flags]",
      "Writes a page (report.html), tables (Markdown, LaTeX, CSV) and figures (with data and "
      "script) of a run from its records alone.");
  a.flags()("out", po::value<std::string>()->default_value("results"), "folder of the results")(
      "expect", po::value<std::vector<std::string>>()->composing(),
      "a hypothesis to judge beside those of the suite, e.g. 'nll(A, 4x) < nll(B, 4x)'")(
      "figures", po::value<std::string>()->default_value("svg"),
      "formats of pictures, separated by commas: svg, pdf, png, tikz; svg is drawn in any case: "
      "pages show it")("slides", po::bool_switch(),
                       "slides.md too: the page as slides in Markdown, for Marp or pandoc")(
      "json", po::bool_switch(),
      "verdicts on hypotheses as JSON on stdout, and nothing else there");
  a.positional("run");
  if (!a.parse(words)) return 0;
  a.require("run", "the run");
  const fs::path run = find_run(a.text("run"), a.text("out"));
  const ReportOptions options = options_of(a);
  std::optional<Steps> steps(std::in_place, "reading " + (run / "records.jsonl").string());
  const ReportResult r = write_report(run, options);
  steps.reset();
  for (const std::string& n : r.notes) fmt::print(stderr, "note: {}\n", printable(n));
  if (a.flag("json")) {
    fmt::print("{}\n", r.verdicts.dump(1));
    return 0;
  }
  fmt::print("{}wrote {}, the same as a page, report.html, {}and {} beside it\n", r.screen,
             r.file.string(), options.slides ? "as slides, slides.md, " : "",
             counted(r.figures.size(), "figure"));
  return 0;
}

}  // namespace pesuite::cli
