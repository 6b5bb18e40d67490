#include "run/run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <thread>

#include "backend/group.h"
#include "base/file.h"
#include "base/signals.h"
#include "base/text.h"
#include "cell/record.h"
#include "cli/arguments.h"
#include "cli/checkpoint.h"
#include "cli/plan.h"
#include "cli/sides.h"
#include "cli/suite_flags.h"
#include "report/comparison.h"
#include "report/report.h"
#include "report/terminal.h"
#include "run/sandbox.h"
#include "run/tune.h"
#include "run/verify.h"
#include "suite/keys.h"

namespace pesuite::cli {

namespace {

int stop_code(const RunResult& r) {
  return r.stopped_by != 0 ? exit_code_of(r.stopped_by) : 0;
}

bool is_quiet(const RunOptions& o) {
  return o.progress == ProgressMode::none || o.progress == ProgressMode::json;
}

// Where a suite is to be tuned: trains what is not tried yet and puts what did best into the suite.
// An exit code other than 0 when a signal ended it.
int tune(Suite& suite, const RunOptions& options, const Problems& problems,
         std::vector<Chosen>& chosen) {
  if (!is_tuned(suite)) return 0;
  const Store store(options.out / "store");
  make_plan(suite, options.plugin_path, store, problems);  // is it sound?
  const Catalog catalog = open_catalog(plugin_search_path(options.plugin_path));
  std::vector<std::pair<Suite, RunData>> tried;
  const auto run_all = [&](const std::vector<Suite>& attempts) {
    for (const Suite& s : attempts) {
      const RunResult r = run_suite(s, make_plan(s, options.plugin_path, store), options);
      if (const int stopped = stop_code(r); stopped != 0) return stopped;
      tried.emplace_back(s, read_run(r.folder));
    }
    return 0;
  };
  if (const int stopped = run_all(rate_suites(suite)); stopped != 0) return stopped;
  if (const int stopped = run_all(knob_suites(suite, choose(tried), catalog)); stopped != 0)
    return stopped;
  chosen = choose(tried);
  if (!is_quiet(options))
    for (const Chosen& c : chosen)
      fmt::print(stderr, "{} on {}: {}\n", c.encoding, c.task, chosen_text(suite, c));
  use(suite, chosen);
  return 0;
}

// Computes all once more and says what came out otherwise. The exit code, 0 where nothing did.
int verify(const Suite& suite, const RunOptions& options) {
  fmt::print(stderr, "\ntraining these cells once more, to compare\n");
  const Verified v = verify_determinism(suite, options);
  if (const int stopped = stop_code(v.again); stopped != 0) return stopped;
  for (const std::string& d : v.different) fmt::print(stderr, "not the same: {}\n", d);
  if (!v.different.empty()) {
    fmt::print(stderr, "{} of {} came out otherwise; the second results lie in {}\n",
               v.different.size(), counted(v.different.size() + v.equal, "cell"),
               (options.out / "verify").string());
    return static_cast<int>(Exit::determinism);
  }
  fmt::print(stderr,
             "{} computed twice: all losses, records and weights are the same, bit by bit\n",
             counted(v.equal, "cell"));
  return 0;
}

// Error with every problem of the file.
void print_soundness(const fs::path& file, const Arguments& a) {
  Problems problems;
  const Suite suite = load_suite(file, suite_choices(a), problems);
  const Plan plan =
      make_plan(suite, a.plugin_path(), Store(fs::path(a.text("out")) / "store"), problems);
  check_tokens(suite);
  fmt::print("{} is sound: {}, {}, {}, {}, {}\n", file.string(),
             counted(suite.encodings.size(), "encoding"), counted(suite.tasks.size(), "task"),
             counted(suite.models.size(), "model"), counted(suite.seeds.size(), "seed"),
             counted(plan.cells.size(), "cell"));
}

void add_flags_of_run(Arguments& a) {
  add_choices(a);
  a.flags()("fail-fast", po::bool_switch(), "stop at the first cell that fails")(
      "retries", po::value<int>()->default_value(0),
      "times to try again after a crash, a time-out or want of memory")(
      "rerun", po::value<std::string>(), "failed, all, or a filter: cells to run again")(
      "resume", po::value<std::string>()->default_value("auto"),
      "auto: go on from checkpoints; never: begun cells start over")(
      "launch", po::value<std::string>(),
      "starts each cell as several processes that share its steps, e.g. 'mpirun -n 4'; needs MPI "
      "(Debian: openmpi-bin and libopenmpi-dev before the build, which ./pesuite installs for it)")(
      "dp", po::value<int>(),
      "processes that share the steps of each cell: --launch with mpirun and this many")(
      "shard", po::value<std::string>()->default_value("1/1"),
      "I/N: part I of N of the cells, each with what it waits for; others run the other parts")(
      "stage", po::value<int>(),
      "only cells of this stage: 0 waits for nothing, 1 for what 0 trains, ...")(
      "sandbox", po::bool_switch(),
      "for libraries that nobody vouches for: the run reaches no network and writes nothing "
      "outside --out; a cell that writes outside its own folder, opens a socket or starts a "
      "program "
      "fails; exit 11 where the system does not allow this")(
      "verify-determinism", po::bool_switch(),
      "then train these cells once more, elsewhere, and compare all numbers and weights bit by "
      "bit; "
      "exit 8 where they differ")("dry-run", po::bool_switch(), "show the plan and stop")(
      "no-report", po::bool_switch(), "write records only")(
      "baseline", po::value<std::string>(), "then hold the run against this baseline")(
      "baselines", po::value<std::string>()->default_value("baselines"), "folder of the baselines")(
      "gate", po::bool_switch(), "exit code 1 where a gated series is worse than the baseline's")(
      "require-conclusive", po::bool_switch(), "with --gate: exit code 7 where one may be")(
      "progress", po::value<std::string>()->default_value("auto"),
      join(progress_modes, ", ").c_str());
  a.choices("progress", progress_modes);
  a.choices("resume", {"auto", "never"});
  a.positional("suite");
}

// Words that start a cell as several processes.
std::vector<std::string> launcher_of(int processes) {
  if (processes == 1) return {};
  std::vector<std::string> words = {"mpirun"};
  if (::geteuid() == 0) words.emplace_back("--allow-run-as-root");
  if (processes > static_cast<int>(std::thread::hardware_concurrency()))
    words.emplace_back("--oversubscribe");
  words.insert(words.end(), {"-n", std::to_string(processes)});
  return words;
}

// "cuda:0,1": which devices cells are dealt to.
std::vector<int> devices_of(const std::string& text) {
  std::vector<int> out;
  if (text.find(':') == std::string::npos) return out;
  for (const std::string& part : split(text.substr(text.find(':') + 1), ',')) {
    double n = 0;
    if (!parse_count(part, n) || n < 0 || n > 1023 || n != std::floor(n) ||
        std::find(out.begin(), out.end(), static_cast<int>(n)) != out.end())
      fail(Exit::usage, "--device '{}': wants numbers of devices behind ':', each once; cuda:0,1",
           text);
    out.push_back(static_cast<int>(n));
  }
  return out;
}

RunOptions options_of(const Arguments& a, const std::vector<std::string>& words) {
  RunOptions options;
  options.command = {"pesuite", "run"};
  options.command.insert(options.command.end(), words.begin(), words.end());
  options.out = a.text("out");
  options.jobs = a.count("jobs");
  options.fail_fast = a.flag("fail-fast");
  options.retries = a.count("retries");
  options.rerun = a.text("rerun");
  options.progress = parse_progress(a.text("progress"));
  options.plugin_path = a.plugin_path();
  options.launch = po::split_unix(a.text("launch"));
  if (a.has("dp")) {
    if (!options.launch.empty()) fail(Exit::usage, "--dp starts mpirun itself: not with --launch");
    options.launch = launcher_of(a.count("dp", 1));
  }
  options.devices = devices_of(a.text("device"));
  options.shard = parse_shard("--shard", a.text("shard"));
  if (a.has("stage")) options.stage = a.count("stage");
  options.sandbox = a.flag("sandbox");
  if (options.sandbox && !options.launch.empty())
    fail(Exit::usage, "--sandbox: not with --launch, whose processes speak over sockets");
  if (const int n = launched_processes(); n > 1)
    fail(
        Exit::usage,
        "this is one of {0} processes that a launcher started, and each would run the suite; start "
        "one, and give it the launcher: --launch 'mpirun -n {0}'",
        n);
  if (const std::string resume = a.text("resume"); resume == "never")
    options.resume = false;
  else if (resume != "auto")
    fail(Exit::usage, "--resume is '{}'; known are auto and never", resume);
  return options;
}

// Tables and figures, where records are new or there are no tables yet; first what they say.
void report_on(const RunResult& r, bool quiet) {
  if (!r.last) return;
  if (!r.ran && !r.recorded && report_exists(r.folder)) return;
  if (r.done + r.diverged + r.skipped == 0) return;
  const ReportResult report = write_report(r.folder);
  if (quiet) return;
  fmt::print(stderr, "\n");
  fmt::print("{}", report.screen);
  std::fflush(stdout);
}

void print_nothing_to_do(const RunResult& r, const std::string& suite) {
  fmt::print(stderr, "nothing to do: all {} cells of '{}' are done; see {}\n", r.skipped, suite,
             (report_exists(r.folder) ? r.folder / "report.md" : r.folder).string());
}

std::vector<std::string> by_others(const RunResult& r) {
  std::vector<std::string> out;
  if (r.skipped > 0) out.push_back(fmt::format("{} before", r.skipped));
  if (r.elsewhere > 0) out.push_back(fmt::format("{} by other processes", r.elsewhere));
  return out;
}

void print_result(const RunResult& r) {
  const bool complete = r.left == 0;
  fmt::print(stderr, "\n{} done{}{}{}{} in {}\n", r.done + r.skipped,
             r.diverged > 0 ? fmt::format(", {} diverged", r.diverged) : "",
             r.failed > 0 ? fmt::format(", {} failed", r.failed) : "",
             complete ? "" : fmt::format(", {} left", r.left),
             r.skipped > 0 || r.elsewhere > 0 ? fmt::format(" ({})", join(by_others(r), ", ")) : "",
             r.folder.string());
  for (const std::string& f : r.failures) fmt::print(stderr, "failed: {}\n", printable(f));
  if (r.failed > 0) fmt::print(stderr, "'--rerun failed' tries failed cells again\n");
  if (!complete) fmt::print(stderr, "the same command goes on where this one stopped\n");
  if (!r.last)
    fmt::print(stderr,
               "other processes are still at this run; the last one writes its report, and "
               "'pesuite status {}' says what they do\n",
               r.folder.filename().string());
  else if (report_exists(r.folder))
    fmt::print(stderr, "report: {}\n  page: {}\n", (r.folder / "report.md").string(),
               (r.folder / "report.html").string());
}

// Holds the run against a baseline; the exit code of its gate, 0 without --gate.
int judge_run(const RunResult& r, const Arguments& a) {
  if (!a.has("baseline")) return 0;
  const Baseline b = read_baseline(baseline_file(a.text("baseline"), baselines_folder(a)));
  Measurement m = measure(read_run(r.folder));
  m.name = "run " + m.name;
  CompareOptions options;
  options.baseline = &b;
  const Changes c = compare(b.measured, m, options);
  write_file_atomic(r.folder / "gate.json", to_json(c).dump(1) + "\n");
  fmt::print("{}", terminal(comparison_document(c, ComparisonDetail::brief)));
  return a.flag("gate") ? verdict_code(c, a.flag("require-conclusive")) : 0;
}

// What the report reads beside the records.
void write_beside(const fs::path& folder, const Suite& suite, const Plan& plan,
                  const RunOptions& options, const std::vector<Chosen>& chosen) {
  write_file_atomic(folder / "references.bib",
                    bibliography(plan, open_catalog(plugin_search_path(options.plugin_path))));
  const Json tuning = chosen.empty() ? suite.tuning : to_json(suite, chosen);
  if (!tuning.is_null()) write_file_atomic(folder / "tuning.json", tuning.dump(1) + "\n");
}

// Shows what a run gave, checks what was asked for, and gives the exit code.
int conclude(const RunResult& r, const Suite& suite, const RunOptions& options,
             const Arguments& a) {
  const bool wants_report = !a.flag("no-report");
  if (!r.ran && !r.recorded && r.failed == 0 && (!wants_report || report_exists(r.folder))) {
    if (!is_quiet(options)) print_nothing_to_do(r, suite.name);
    const int code = a.flag("verify-determinism") ? verify(suite, options) : 0;
    return code != 0 ? code : judge_run(r, a);
  }
  if (wants_report) report_on(r, is_quiet(options));
  if (!is_quiet(options)) {
    print_result(r);
  } else {  // what went wrong is told all the same
    for (const std::string& n : r.untold) fmt::print(stderr, "note: {}\n", printable(n));
    for (const std::string& f : r.failures) fmt::print(stderr, "failed: {}\n", printable(f));
  }
  if (const int stopped = stop_code(r); stopped != 0) return stopped;
  if (a.flag("verify-determinism"))
    if (const int code = verify(suite, options); code != 0) return code;
  const int judged = judge_run(r, a);
  return r.failed > 0 ? static_cast<int>(Exit::cells_failed) : judged;
}

// A gate needs its baseline, sound, before hours are spent.
void check_gate(const Arguments& a) {
  if (a.flag("gate")) a.require("baseline", "--gate needs --baseline NAME, which");
  if (a.has("baseline")) read_baseline(baseline_file(a.text("baseline"), baselines_folder(a)));
}

}  // namespace

int run_verb(const std::vector<std::string>& words) {
  Arguments a("run SUITE [flags]",
              "Trains and evaluates every cell of a suite that is not done yet, several at a time, "
              "each in\n"
              "a process of its own, and writes records, tables and figures. A killed run goes on "
              "from its\n"
              "checkpoints; a finished one does nothing.");
  add_flags_of_run(a);
  if (!a.parse(words)) return 0;
  a.require("suite", "the suite");
  const RunOptions options = options_of(a, words);
  Problems problems;
  Suite suite = load_suite(find_suite(a.text("suite")), suite_choices(a), problems);
  if (a.flag("dry-run")) {
    print_plan(suite, options, problems, false, "");
    return 0;
  }
  check_gate(a);
  a.folder("out");
  if (options.sandbox) enter_sandbox(options.out);
  std::vector<Chosen> chosen;
  if (const int stopped = tune(suite, options, problems, chosen); stopped != 0) return stopped;
  const Plan plan = make_plan(suite, options.plugin_path, Store(options.out / "store"), problems);
  check_tokens(suite);
  const RunResult r = run_suite(suite, plan, options);
  write_beside(r.folder, suite, plan, options, chosen);
  if (r.last) seal_run(r.folder);
  return conclude(r, suite, options, a);
}

int validate_verb(const std::vector<std::string>& words) {
  Arguments a("validate SUITE... [flags]",
              "Reads suites, resolves their encodings and tasks, and reports every problem with "
              "file, line and column.");
  add_choices(a);
  a.flags()("keys", po::value<std::string>()->implicit_value(""),
            "print what can be written in suites instead: all keys, or with --keys=train.lengths "
            "that one and those below it");
  a.positional("suite", -1);
  if (!a.parse(words)) return 0;
  if (a.has("keys")) {
    for (const SuiteKey& k : suite_keys(a.text("keys")))
      fmt::print("{}  {}\n    {}\n", k.name, k.values, join(wrap(k.help, 96), "\n    "));
    return 0;
  }
  a.require("suite", "the suite");
  std::string wrong;
  Exit code = Exit::done;
  for (const std::string& name : a.texts("suite")) try {
      print_soundness(find_suite(name), a);
    } catch (const Error& e) {
      wrong += (wrong.empty() ? "" : "\n") + std::string(e.what());
      if (code == Exit::done) code = e.code();
    }
  if (!wrong.empty()) throw Error(code, wrong);
  return 0;
}

}  // namespace pesuite::cli
