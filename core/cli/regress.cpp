// regress: are the numbers of this program worse than a baseline's?
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>

#include "analysis/gate_calibration.h"
#include "base/error.h"
#include "base/file.h"
#include "base/signals.h"
#include "cli/arguments.h"
#include "cli/gate.h"
#include "cli/sides.h"
#include "cli/suite_flags.h"
#include "report/comparison.h"
#include "run/prefix.h"
#include "run/run.h"
#include "suite/suite.h"

namespace pesuite::cli {

namespace {

void add_regress_flags(Arguments& a) {
  add_side_flags(a);
  a.flags()("baseline", po::value<std::string>(), "name or file of the baseline")(
      "suite", po::value<std::string>(), "the suite, where it is not the baseline's own")(
      "jobs,j", po::value<int>()->default_value(0), "cells at a time; 0: one a core")(
      "progress", po::value<std::string>()->default_value("auto"),
      join(progress_modes, ", ").c_str());
  a.choices("progress", progress_modes);
}

// What results of a program may be taken for another's: the same file, told to compute alike.
std::string program_digest() {
  std::string text = sha256_file("/proc/self/exe");
  for (const char* variable :
       {"ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "ONEDNN_DEFAULT_FPMATH_MODE"})
    if (const char* value = std::getenv(variable); value != nullptr)
      text += fmt::format(" {}={}", variable, value);
  return sha256(text).substr(0, 12);
}

struct Gate {  // a baseline, its suite, and where this program's results lie
  fs::path file;
  Baseline baseline;
  fs::path suite_file;
  RunOptions options;
};

Gate gate_of(const Arguments& a, const std::vector<std::string>& words) {
  a.require("baseline", "--baseline NAME");
  Gate g;
  g.file = baseline_file(a.text("baseline"), baselines_folder(a));
  g.baseline = read_baseline(g.file);
  g.suite_file = find_suite(a.text("suite", g.baseline.measured.suite));
  g.options.out = fs::path(a.folder("out")) / "regress" / program_digest();
  g.options.jobs = a.count("jobs");
  g.options.plugin_path = a.plugin_path();
  g.options.progress = parse_progress(a.text("progress"));
  g.options.command = {"pesuite", "regress"};
  g.options.command.insert(g.options.command.end(), words.begin(), words.end());
  return g;
}

Suite suite_with(const Gate& g, const std::vector<std::uint64_t>& seeds,
                 const std::vector<std::string>& set, Problems& problems) {
  SuiteChoices choices;
  choices.seeds = seeds, choices.set = set;
  return load_suite(g.suite_file, choices, problems);
}

// Trains and evaluates what is not done yet, with some seeds.
struct Ran {
  RunResult result;
  Measurement measured;
};
Ran run_seeds(const Gate& g, const std::vector<std::uint64_t>& seeds,
              const std::vector<std::string>& set = {}) {
  Problems problems;
  const Suite suite = suite_with(g, seeds, set, problems);
  const Plan plan =
      make_plan(suite, g.options.plugin_path, Store(g.options.out / "store"), problems);
  Ran out;
  out.result = run_suite(suite, plan, g.options);
  if (out.result.stopped_by == 0) {
    out.measured = measure(read_run(out.result.folder));
    out.measured.name = "run " + out.measured.name;
    out.measured.gates = suite.gates.empty() ? usual_gates() : suite.gates;
  }
  return out;
}

bool is_done(const Plan& plan) {
  return std::all_of(plan.cells.begin(), plan.cells.end(), [](const PlannedCell& c) {
    return c.state == PlannedCell::State::done || c.state == PlannedCell::State::diverged;
  });
}

Plan plan_of(const Gate& g, const std::vector<std::uint64_t>& seeds) {
  Problems problems;
  const Suite suite = suite_with(g, seeds, {}, problems);
  return make_plan(suite, g.options.plugin_path, Store(g.options.out / "store"), problems);
}

// Before anything is trained that could be held against nothing.
void expect_kin(const Gate& g, const Plan& plan) {
  const auto& known = g.baseline.measured.series;
  const bool kin = std::any_of(plan.cells.begin(), plan.cells.end(), [&](const PlannedCell& c) {
    return std::any_of(known.begin(), known.end(), [&](const MeasuredSeries& s) {
      return s.name.encoding == c.encoding && s.name.task == c.task && s.name.model == c.model;
    });
  });
  if (!kin)
    fail(Exit::usage,
         "{} trains nothing that {} has (an encoding on a task by a model); is it another "
         "suite?",
         g.suite_file.string(), g.baseline.measured.name);
}

// Exit code 8 where the first steps are not those of the baseline, else 0.
int check_first_steps(const Gate& g, const Plan& plan, const std::string& golden) {
  if (golden == "skip") return 0;
  if (g.baseline.prefix.is_null()) {
    fmt::print(stderr,
               "note: the baseline has no golden prefix; 'pesuite regress calibrate' and "
               "'baseline accept' write one\n");
    return 0;
  }
  const Json now = run_prefix(plan, g.options.plugin_path, jobs_of(g.options, 1, plan));
  const PrefixCheck check = check_prefix(g.baseline.prefix, now);
  if (check.violations.empty()) {
    fmt::print(stderr, "golden prefix: the first steps of {} are {}\n",
               counted(check.compared, "training"),
               check.same_bits ? "the same, bit by bit" : "the same but for rounding");
    return 0;
  }
  for (const std::string& v : check.violations) fmt::print(stderr, "golden prefix: {}\n", v);
  fmt::print(stderr, "the first steps of {} of {} are not those of the baseline\n",
             check.violations.size(), counted(check.compared, "training"));
  if (golden == "note") return 0;
  fmt::print(stderr,
             "a change that was meant: '--golden note' goes on and tests by how much results "
             "changed; 'pesuite baseline accept' takes them\n");
  return static_cast<int>(Exit::determinism);
}

// Those of the baseline that the suite can run; its own order.
std::vector<std::uint64_t> seeds_of(const Gate& g, const Arguments& a) {
  std::vector<std::uint64_t> out(g.baseline.measured.seeds.begin(),
                                 g.baseline.measured.seeds.end());
  const auto most = static_cast<std::size_t>(a.count("seeds", 0));
  if (most > out.size())
    fail(Exit::usage, "--seeds {}: the baseline has {}", most, counted(out.size(), "seed"));
  if (most > 0) out.resize(most);
  return out;
}

int end_of(const Changes& c, const Ran& ran, const Arguments& a) {
  write_file_atomic(ran.result.folder / "gate.json", to_json(c).dump(1) + "\n");
  const int code = show_changes(c, a);
  const bool failed = std::any_of(c.cells.begin(), c.cells.end(), [](const CellChange& x) {
    return x.worse && x.after.status != "diverged" && x.after.status != "missing";
  });
  return failed ? static_cast<int>(Exit::cells_failed) : code;
}

int regress(const Arguments& a, const std::vector<std::string>& words) {
  const Gate g = gate_of(a, words);
  const std::string golden = a.text("golden");
  if (golden != "stop" && golden != "note" && golden != "skip")
    fail(Exit::usage, "--golden is '{}'; known are stop, note and skip", golden);
  const std::vector<std::uint64_t> seeds = seeds_of(g, a);
  const Plan plan = plan_of(g, seeds);
  expect_kin(g, plan);
  bool checked = false;
  const auto before_training = [&](const Plan& next) {
    if (checked || is_done(next)) return 0;
    checked = true;
    return check_first_steps(g, plan, golden);
  };
  CompareOptions options;
  options.baseline = &g.baseline, options.some_seeds = true;
  // a program that computes the same says so with its first seed
  if (!a.flag("all-seeds") && seeds.size() > 1 && !is_done(plan)) {
    if (const int code = before_training(plan_of(g, {seeds[0]})); code != 0) return code;
    const Ran ran = run_seeds(g, {seeds[0]});
    if (ran.result.stopped_by != 0) return exit_code_of(ran.result.stopped_by);
    Changes c = compare(g.baseline.measured, ran.measured, options);
    if (c.identical()) {
      c.notes.push_back(fmt::format(
          "the first of {} seeds was computed and is the baseline's, bit by bit: the others were "
          "not ({} does)",
          seeds.size(), "--all-seeds"));
      return end_of(c, ran, a);
    }
  }
  if (const int code = before_training(plan); code != 0) return code;
  const Ran ran = run_seeds(g, seeds);
  if (ran.result.stopped_by != 0) return exit_code_of(ran.result.stopped_by);
  return end_of(compare(g.baseline.measured, ran.measured, options), ran, a);
}

// Other passes of a step sum its gradient in another order: the same to within rounding.
std::string other_passes(const Plan& plan) {
  int size = 0;
  for (const PlannedCell& c : plan.cells) {
    const int passes = c.config.train.pass_size();
    size = std::max(size, passes > 1 ? (passes + 1) / 2 : 0);
  }
  if (size == 0)
    fail(Exit::usage,
         "steps of one example have no other passes; calibrate with --pairs-differ seeds");
  return fmt::format("train.micro_batch={}", size);
}

void print_calibration(const GateCalibration& c) {
  fmt::print("{} series calibrated by {}, {} of them gated\n", c.series.size(),
             counted(c.pairs, "pair"), c.gated);
  if (c.gates > 0)
    fmt::print("false alarms in {} gates made of these pairs: {:.1f} %\n", c.gates,
               100 * c.false_alarms);
  std::vector<std::vector<std::string>> rows = {
      {"seeds", "margin, nats", "change that is called in 8 of 10"}};
  for (const GateCalibration::Advice& x : c.advice)
    rows.push_back(
        {std::to_string(x.seeds), format_number(x.margin), fmt::format("{:.3g}", x.detectable)});
  if (rows.size() > 1)
    fmt::print("proposed, so that nine of ten unchanged series are called equivalent:\n{}",
               plain_table(rows));
}

std::vector<std::uint64_t> fresh_seeds(const Baseline& b, std::size_t n) {
  std::vector<std::uint64_t> out;
  const std::uint64_t first = b.measured.seeds.empty() ? 0 : *b.measured.seeds.rbegin();
  for (std::uint64_t seed = first + 1; out.size() < n; ++seed) out.push_back(seed);
  return out;
}

// The second of each pair under the first's seed.
Measurement shifted(Measurement m, std::uint64_t by) {
  for (MeasuredSeries& s : m.series) {
    std::map<std::uint64_t, Number> seeds;
    for (auto& [seed, number] : s.seeds) seeds[seed - by] = number;
    s.seeds = std::move(seeds);
  }
  return m;
}

int calibrate_regress(const std::vector<std::string>& words) {
  Arguments a("regress calibrate --baseline NAME [flags]",
              "Trains pairs that should give the same, with fresh seeds, and writes into the "
              "baseline how much each series differs from itself; proposes margin and seeds.");
  add_regress_flags(a);
  a.flags()("pairs", po::value<int>()->default_value(20), "pairs, at least 12")(
      "pairs-differ", po::value<std::string>()->default_value("rounding"),
      "rounding: the second sums gradients in another order, as a harmless change of the program "
      "does; seeds: it has another seed");
  a.choices("pairs-differ", {"rounding", "seeds"});
  if (!a.parse(words)) return 0;
  Gate g = gate_of(a, words);
  const std::string kind = a.text("pairs-differ");
  if (kind != "rounding" && kind != "seeds")
    fail(Exit::usage, "--pairs-differ is '{}'; known are rounding and seeds", kind);
  const auto pairs = static_cast<std::size_t>(a.count("pairs", fewest_calibrating));
  const std::vector<std::uint64_t> seeds = fresh_seeds(g.baseline, pairs);
  Problems problems;
  const Plan plan = make_plan(suite_with(g, seeds, {}, problems), g.options.plugin_path,
                              Store(g.options.out / "store"), problems);
  const Ran first = run_seeds(g, seeds);
  if (first.result.stopped_by != 0) return exit_code_of(first.result.stopped_by);
  std::vector<std::uint64_t> others = seeds;
  if (kind == "seeds")
    for (std::uint64_t& s : others) s += pairs;
  const Ran second =
      kind == "seeds" ? run_seeds(g, others) : run_seeds(g, seeds, {other_passes(plan)});
  if (second.result.stopped_by != 0) return exit_code_of(second.result.stopped_by);
  const GateCalibration c = calibrate_gate(
      first.measured, kind == "seeds" ? shifted(second.measured, pairs) : second.measured,
      first.measured.gates, std::max<std::size_t>(3, g.baseline.measured.seeds.size()));
  const Suite one_seed = suite_with(g, {*g.baseline.measured.seeds.begin()}, {}, problems);
  const Plan prefix =
      make_plan(one_seed, g.options.plugin_path, Store(g.options.out / "store"), problems);
  keep_calibration(g.file, g.baseline, c, kind,
                   run_prefix(prefix, g.options.plugin_path, jobs_of(g.options, 1, prefix)));
  print_calibration(c);
  fmt::print("wrote {}\n", g.file.string());
  return 0;
}

}  // namespace

int regress_verb(const std::vector<std::string>& words) {
  if (!words.empty() && words[0] == "calibrate")
    return calibrate_regress({words.begin() + 1, words.end()});
  Arguments a(
      "regress [calibrate] --baseline NAME [flags]",
      "Trains the baseline's suite with its seeds by this program, and says whether "
      "numbers got worse: first whether they are the same; else a paired test of each "
      "series with the margin of its gate, Holm over all, and what calibration knows of its "
      "spread.\nExit code 0, 1 for a regression, 8 where the first steps differ already, 7 "
      "with --require-conclusive.\n'regress calibrate' measures the spread and proposes "
      "margin and seeds.");
  add_regress_flags(a);
  a.flags()("golden", po::value<std::string>()->default_value("stop"),
            "where the first steps of trainings are not the baseline's: stop, note or skip")(
      "seeds", po::value<int>()->default_value(0), "so many of the baseline's seeds; 0: all")(
      "all-seeds", po::bool_switch(),
      "compute all seeds also where the first is the baseline's, bit by bit");
  a.choices("golden", {"stop", "note", "skip"});
  add_verdict_flags(a);
  if (!a.parse(words)) return 0;
  return regress(a, words);
}

}  // namespace pesuite::cli
