// baseline: small files in git that runs are held against.
#include "analysis/baseline.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "cli/arguments.h"
#include "cli/find_run.h"
#include "cli/gate.h"
#include "cli/list_results.h"
#include "cli/sides.h"
#include "cli/verbs.h"
#include "report/comparison.h"
#include "report/terminal.h"

namespace pesuite::cli {

namespace {

// The run, with nothing that a baseline may not hold.
Measurement measured_for_baseline(const std::string& name, const Arguments& a) {
  const fs::path folder = find_run(name, a.text("out"));
  const RunData run = read_run(folder);
  Measurement m = measure(run);
  const auto ok = std::count_if(m.cells.begin(), m.cells.end(),
                                [](const MeasuredCell& c) { return c.status != "missing"; });
  if (static_cast<std::size_t>(ok) < m.cells.size() || run.planned > run.cells)
    fail(Exit::data,
         "{} is half finished: {} of {} cells have records; the same 'pesuite run' finishes it, "
         "and a baseline is made of whole runs",
         folder.string(), ok, std::max(m.cells.size(), run.planned));
  if (!run.caution.empty()) fail(Exit::data, "{} is no baseline: {}", folder.string(), run.caution);
  if (m.series.empty())
    fail(Exit::data, "{} has no evaluation: there is nothing to hold a run against",
         folder.string());
  return m;
}

void note(Baseline& b, const char* what, const std::string& why) {
  b.history.push_back({utc_timestamp(), who_is_it(), what, why});
}

void add_prefix(Baseline& b, const Arguments& a) {
  if (a.flag("no-prefix")) return;
  std::vector<std::string> notes;
  b.prefix = prefix_of_run(find_run(a.text("run"), a.text("out")), a.plugin_path(), notes);
  for (const std::string& n : notes) fmt::print(stderr, "note: {}\n", n);
}
constexpr const char* no_prefix_help =
    "without the golden prefix, the first steps of each training, which take seconds";

int save_verb(const std::vector<std::string>& words) {
  Arguments a("baseline save NAME RUN [flags]",
              "Writes BASELINES/NAME.json from a finished run: values, seeds, digests, machine and "
              "gates, a line a series. Put it under version control.");
  add_side_flags(a);
  a.flags()("reason", po::value<std::string>()->default_value(""), "why, for the file's history")(
      "replace", po::bool_switch(),
      "also where there is such a baseline; its history and calibration are lost, see 'accept'")(
      "no-prefix", po::bool_switch(), no_prefix_help);
  a.positional("name"), a.positional("run");
  if (!a.parse(words)) return 0;
  a.require("name", "the baseline's name");
  a.require("run", "the run");
  const fs::path file = baseline_file(a.text("name"), baselines_folder(a));
  if (fs::exists(file) && !a.flag("replace"))
    fail(Exit::usage,
         "{} exists; 'pesuite baseline accept {} RUN --reason TEXT' takes a new run into it, "
         "--replace begins anew",
         file.string(), a.text("name"));
  Baseline b;
  b.name = file.stem().string();
  b.measured = measured_for_baseline(a.text("run"), a);
  add_prefix(b, a);
  note(b, "saved", a.text("reason"));
  write_baseline(file, b);
  fmt::print("wrote {}: {}\n", file.string(), summary_of(b));
  return 0;
}

int list_baselines_verb(const std::vector<std::string>& words) {
  Arguments a("baseline list [flags]", "The baselines of a folder, one a line.");
  add_side_flags(a);
  a.flags()("json", po::bool_switch(), "as JSON");
  return a.parse(words) ? list_baselines(a) : 0;
}

void print_baseline(const Baseline& b) {
  const Measurement& m = b.measured;
  fmt::print("{}: {}\n\nprogram   {}, numerics epoch {}\nmachine   {}\n", b.name, summary_of(b),
             m.program, m.epoch, m.machine.is_null() ? "not known" : m.machine.dump());
  if (!m.calibrated_by.empty())
    fmt::print("calibrated by pairs that differ in {}{}\n", m.calibrated_by,
               std::isnan(b.false_alarms)
                   ? ""
                   : fmt::format("; false alarms of such gates: {:.1f} %", 100 * b.false_alarms));
  for (const GateRule& g : m.gates) fmt::print("gate      {}\n", gate_text(g));
  for (const Suppression& s : b.suppressions)
    fmt::print("suppressed until {}: {} ({}: {})\n", s.until, s.series, s.who, s.why);
  std::vector<std::vector<std::string>> rows = {
      {"series", "mean", "seeds", "spread of pairs", "over seeds"}};
  for (const MeasuredSeries& s : m.series) {
    double sum = 0;
    for (const auto& [seed, number] : s.seeds) sum += number.value;
    const auto it = m.calibration.find(s.name);
    const bool known = it != m.calibration.end();
    rows.push_back({series_text(s.name, true),
                    format_fixed(sum / static_cast<double>(s.seeds.size()), 4),
                    std::to_string(s.seeds.size()),
                    known ? fmt::format("{:.2g}", std::sqrt(it->second.variance)) : "",
                    known ? fmt::format("{:.2g}", it->second.spread) : ""});
  }
  fmt::print("\n{}\n", plain_table(rows));
  for (const BaselineNote& n : b.history)
    fmt::print("{}  {} by {}{}\n", n.time, n.what, n.who, n.why.empty() ? "" : ": " + n.why);
}

int show_verb(const std::vector<std::string>& words) {
  Arguments a("baseline show NAME [flags]",
              "What a baseline holds: series, seeds, calibration, gates, suppressions, and who "
              "changed it why.");
  add_side_flags(a);
  a.positional("name");
  if (!a.parse(words)) return 0;
  a.require("name", "the baseline's name");
  print_baseline(read_baseline(baseline_file(a.text("name"), baselines_folder(a))));
  return 0;
}

// Series alarms of which are not to count for a while.
void suppress(Baseline& b, const Arguments& a) {
  Suppression s;
  s.series = a.text("suppress"), s.until = parse_day(a.text("until"));
  s.who = who_is_it(), s.why = a.text("reason");
  if (s.until < today())
    fail(Exit::usage, "--until {} is over; a suppression is for days to come", s.until);
  const bool fits =
      std::any_of(b.measured.series.begin(), b.measured.series.end(), [&](const MeasuredSeries& m) {
        return glob_match(s.series, series_text(m.name)) ||
               glob_match(s.series, series_text(m.name, true));
      });
  if (!fits)
    fail(Exit::usage, "--suppress '{}' fits no series of the baseline; one is called '{}'",
         s.series, series_text(b.measured.series.at(0).name));
  std::erase_if(b.suppressions, [&](const Suppression& o) { return o.series == s.series; });
  b.suppressions.push_back(s);
  note(b, "suppressed", fmt::format("{} until {}: {}", s.series, s.until, s.why));
}

// Series are shared, no seed is: nothing can be paired.
bool only_seeds_differ(const Measurement& before, const Measurement& now) {
  const auto had_seed = [&](std::uint64_t seed) { return before.seeds.count(seed) > 0; };
  const auto had_series = [&](const MeasuredSeries& s) {
    return std::any_of(before.series.begin(), before.series.end(),
                       [&](const MeasuredSeries& o) { return o.name == s.name; });
  };
  return std::none_of(now.seeds.begin(), now.seeds.end(), had_seed) &&
         std::any_of(now.series.begin(), now.series.end(), had_series);
}

// The numbers of a run instead of its own.
void take_in(Baseline& b, const Arguments& a) {
  Measurement m = measured_for_baseline(a.text("run"), a);
  try {
    if (only_seeds_differ(b.measured, m))
      fmt::print("no seed of {} was in the baseline: what changed cannot be told\n", m.name);
    else
      fmt::print("{}",
                 terminal(comparison_document(compare(b.measured, m), ComparisonDetail::brief)));
  } catch (const Error& e) {
    fail(e.code(), "{}; to begin a baseline of another suite, save it under another name",
         e.what());
  }
  for (const std::string& n : accept(b, std::move(m))) fmt::print(stderr, "note: {}\n", n);
  b.prefix = nullptr;  // of the program before
  add_prefix(b, a);
  note(b, "accepted", a.text("reason"));
}

int accept_verb(const std::vector<std::string>& words) {
  Arguments a("baseline accept NAME [RUN] --reason TEXT [flags]",
              "Takes the numbers of a run into a baseline and writes who, when and why into its "
              "history. With --suppress and --until instead of RUN: alarms of some series do not "
              "count for a while.");
  add_side_flags(a);
  a.flags()("reason", po::value<std::string>(),
            "why the numbers may change: for whoever reads the "
            "history")("suppress", po::value<std::string>(),
                       "series, e.g. 'rope on copy*', instead of a run")(
      "until", po::value<std::string>(), "the last day of a suppression, e.g. 2026-12-31")(
      "no-prefix", po::bool_switch(), no_prefix_help);
  a.positional("name"), a.positional("run");
  if (!a.parse(words)) return 0;
  a.require("name", "the baseline's name");
  if (trim(a.text("reason")).empty())
    fail(Exit::usage, "--reason is missing: say why the numbers may change");
  if (a.has("suppress") != a.has("until"))
    fail(Exit::usage, "--suppress and --until belong together: a suppression has an end");
  if (a.has("suppress") == a.has("run"))
    fail(Exit::usage, "give a run to accept, or --suppress SERIES --until DAY; one of the two");
  const fs::path file = baseline_file(a.text("name"), baselines_folder(a));
  Baseline b = read_baseline(file);
  a.has("suppress") ? suppress(b, a) : take_in(b, a);
  write_baseline(file, b);
  fmt::print("wrote {}: {}\n", file.string(), summary_of(b));
  return 0;
}

int rm_verb(const std::vector<std::string>& words) {
  Arguments a("baseline rm NAME [flags]", "Removes a baseline's file.");
  add_side_flags(a);
  a.positional("name");
  if (!a.parse(words)) return 0;
  a.require("name", "the baseline's name");
  const fs::path file = baseline_file(a.text("name"), baselines_folder(a));
  read_baseline(file);  // what is none is not removed
  fs::remove(file);
  fmt::print("removed {}\n", file.string());
  return 0;
}

int export_verb(const std::vector<std::string>& words) {
  Arguments a("baseline export NAME [flags]",
              "Every value of a baseline as CSV on stdout: a row a series and seed.");
  add_side_flags(a);
  a.positional("name");
  if (!a.parse(words)) return 0;
  a.require("name", "the baseline's name");
  const Baseline b = read_baseline(baseline_file(a.text("name"), baselines_folder(a)));
  std::vector<std::vector<std::string>> rows = {{"encoding", "task", "model", "train_len", "metric",
                                                 "protocol", "eval_len", "axes", "seed", "value"}};
  for (const MeasuredSeries& s : b.measured.series)
    for (const auto& [seed, number] : s.seeds) {
      const Place& p = s.name.place;
      std::vector<std::string> axes;
      for (const auto& [axis, value] : p.axes)
        axes.push_back(fmt::format("{}={}", axis, format_number(value)));
      rows.push_back({s.name.encoding, s.name.task, s.name.model,
                      std::to_string(s.name.train_length), p.metric, p.protocol,
                      std::to_string(p.length), join(axes, " "), std::to_string(seed),
                      std::isinf(number.value) ? "inf" : format_number(number.value)});
    }
  fmt::print("{}", csv_table(rows));
  return 0;
}

constexpr Verb baseline_verbs[] = {
    {"save", "write one from a finished run", save_verb},
    {"list", "all of a folder", list_baselines_verb},
    {"show", "what one holds, and its history", show_verb},
    {"accept", "take a run into it, or suppress series for a while", accept_verb},
    {"rm", "remove one", rm_verb},
    {"export", "its values as CSV", export_verb},
};

constexpr Verbs of_baseline = {"pesuite baseline", "COMMAND",
                               "Baselines are what runs are held against: small files that live in "
                               "git beside the code.",
                               "Then: pesuite compare NAME RUN, pesuite regress --baseline NAME",
                               baseline_verbs};

}  // namespace

int baseline_verb(const std::vector<std::string>& words) {
  return call(of_baseline, words);
}

}  // namespace pesuite::cli
