// plan: what a suite will run, for people and for other engines.
#include "cli/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "base/text.h"
#include "cli/checkpoint.h"
#include "cli/suite_flags.h"
#include "plan/formats.h"
#include "plan/why.h"
#include "run/tune.h"

namespace pesuite::cli {

namespace {

// For another machine.
void assume_rate(Plan& plan, const std::string& text) {
  double rate = 0;
  if (!parse_count(text, rate) || !(rate > 0))
    fail(Exit::usage, "--rate: '{}' is no number of FLOP/s such as 4e14", text);
  for (auto* cells : {&plan.cells, &plan.trunks})
    for (PlannedCell& c : *cells) c.seconds *= plan.rate / rate;
  plan.rate = rate;
}

}  // namespace

void check_tokens(const Suite& suite) {
  for (const SuiteModel& m : suite.models)
    for (const SuiteTask& t : suite.tasks)
      if (const std::string shards = shards_of(to_text(t.expression));
          !m.weights.empty() && !shards.empty())
        NamedModel(m.weights).with_text(shards, true);
}

void add_choices(Arguments& a) {
  add_suite_flags(a);
  a.flags()("out", po::value<std::string>()->default_value("results"), "folder of the results")(
      "jobs,j", po::value<int>()->default_value(0), "cells at a time; 0: one a core");
}

void print_plan(Suite& suite, const RunOptions& options, const Problems& problems, bool json,
                const std::string& rate) {
  const Store store(options.out / "store");
  std::vector<Suite> attempts;
  std::vector<Chosen> chosen;
  if (is_tuned(suite) &&
      !load_chosen(suite, options.out, open_catalog(plugin_search_path(options.plugin_path)),
                   chosen))
    attempts = rate_suites(suite);
  if (!chosen.empty()) use(suite, chosen);
  Plan plan = make_plan(suite, options.plugin_path, store, problems);
  check_tokens(suite);
  if (!rate.empty()) assume_rate(plan, rate);
  const int jobs = jobs_of(options, suite.threads, plan);
  if (!attempts.empty())
    plan.notes.push_back(fmt::format(
        "these cells will have what tuning chooses first: {} and {} more for each "
        "encoding, with seeds of their own",
        counted(attempts.size(), "learning rate"), counted(most_knobs(suite), "attempt")));
  for (const Suite& s : json ? std::vector<Suite>() : attempts)
    fmt::print("{}\n\n{}\n", s.name, plan_table(make_plan(s, options.plugin_path, store), s, jobs));
  if (json)
    fmt::print("{}\n", to_json(plan, suite).dump(1));
  else
    fmt::print("{}", plan_table(plan, suite, jobs));
  for (const std::string& p : plan.problems) fmt::print(stderr, "note: {}\n", printable(p));
}

Plan plan_to_deal(Suite& suite, const RunOptions& options, Problems problems,
                  const std::string& rate) {
  std::vector<Chosen> chosen;
  if (is_tuned(suite) &&
      !load_chosen(suite, options.out, open_catalog(plugin_search_path(options.plugin_path)),
                   chosen))
    fail(Exit::usage,
         "{} is tuned first, and its cells follow from that; 'pesuite run' tunes it, several "
         "processes at a time",
         suite.name);
  if (!chosen.empty()) use(suite, chosen);
  Plan plan =
      make_plan(suite, options.plugin_path, Store(options.out / "store"), std::move(problems));
  check_tokens(suite);
  if (!rate.empty()) assume_rate(plan, rate);
  return plan;
}

PlanCommand command_of(const Arguments& a, const Suite& suite, const RunOptions& options) {
  PlanCommand c;
  const std::string program = fs::read_symlink("/proc/self/exe").string();
  const std::string out = fs::absolute(options.out).lexically_normal().string();
  c.suite = suite.name, c.threads = suite.threads;
  c.run = {program, "run", fs::absolute(suite.file).lexically_normal().string(), "--out", out};
  c.portable = {"pesuite", "run", a.text("suite")};
  for (const char* flag : {"profile", "seeds", "device", "limit"})
    if (a.has(flag)) {
      const std::string value =
          flag == std::string_view("limit") ? std::to_string(a.count(flag)) : a.text(flag);
      for (auto* words : {&c.run, &c.portable})
        words->insert(words->end(), {std::string("--") + flag, value});
    }
  for (const char* flag : {"set", "only"})
    for (const std::string& value : a.texts(flag))
      for (auto* words : {&c.run, &c.portable})
        words->insert(words->end(), {std::string("--") + flag, value});
  c.portable.insert(c.portable.end(), {"--out", "results"});
  if (!options.plugin_path.empty()) {
    std::vector<std::string> whole;
    for (const std::string& p : options.plugin_path) whole.push_back(fs::absolute(p).string());
    c.run.insert(c.run.end(), {"--plugin-path", join(whole, ":")});
  }
  // runs are named TIME-SUITE-DIGEST
  const std::string folder = run_folder(suite, options.out).filename().string();
  c.report = {program, "report", folder.substr(folder.find('-') + 1), "--out", out};
  return c;
}

namespace {

RunOptions options_of_plan(const Arguments& a) {
  RunOptions options;
  options.out = a.text("out"), options.jobs = a.count("jobs");
  options.plugin_path = a.plugin_path();
  return options;
}

constexpr int most_parts = 1000;

void add_flags_of_plan(Arguments& a) {
  add_choices(a);
  a.flags()("json", po::bool_switch(), "the plan as JSON")(
      "rate", po::value<std::string>(),
      "FLOP/s of a cell on another machine, e.g. 4e14 for an H100 at 40 % (default: measured "
      "here)")("format", po::value<std::string>(),
               (join(plan_formats(), ", ") + ": for other engines, in parts").c_str())(
      "why", po::value<std::string>(),
      "cells, e.g. rope/facts/s42, an id or a filter: what of them is done, and what in the "
      "store is most like those that are not")(
      "parts", po::value<int>(), "of --format (default: a part a training, at most 1000)");
  a.choices("format", plan_formats());
  a.positional("suite");
}

}  // namespace

int plan_verb(const std::vector<std::string>& words) {
  Arguments a("plan SUITE [flags]",
              "Shows the cells of a suite with parameters, FLOPs, estimated time and memory, and "
              "what is done. Runs nothing.");
  add_flags_of_plan(a);
  if (!a.parse(words)) return 0;
  a.require("suite", "the suite");
  Problems problems;
  Suite suite = load_suite(find_suite(a.text("suite")), suite_choices(a), problems);
  const RunOptions options = options_of_plan(a);
  if (a.has("format")) {
    const std::string format = a.text("format");
    const std::vector<std::string> known = plan_formats();
    if (std::find(known.begin(), known.end(), format) == known.end())
      fail(Exit::usage, "--format: there is no format '{}'{}; known are {}", format,
           did_you_mean(format, known), join(known, ", "));
    const Plan plan = plan_to_deal(suite, options, problems, a.text("rate"));
    const int parts = a.has("parts") ? a.count("parts", 1) : parts_of(plan, most_parts);
    fmt::print("{}", plan_as(format, command_of(a, suite, options), parts));
    return 0;
  }
  if (a.has("why")) {
    const Plan plan = plan_to_deal(suite, options, problems, a.text("rate"));
    const auto cells = cells_named(plan, a.text("why"));
    const Store store(options.out / "store");
    fmt::print("{}", a.flag("json") ? why_json(cells, plan, store).dump(1) + "\n"
                                    : why_text(cells, plan, store));
    return 0;
  }
  print_plan(suite, options, problems, a.flag("json"), a.text("rate"));
  return 0;
}

namespace {

void add_flags_of_slurm(Arguments& a) {
  add_choices(a);
  a.flags()("to", po::value<std::string>(), "folder of the scripts (default OUT/slurm/SUITE)")(
      "submit", po::bool_switch(), "hand them to Slurm")(
      "cells-per-task", po::value<int>()->default_value(1), "trainings of a task of an array")(
      "max-array", po::value<int>()->default_value(1000),
      "most tasks of an array; Slurm's MaxArraySize less one")(
      "partition", po::value<std::string>(), "as sbatch has it")(
      "account", po::value<std::string>(), "as sbatch has it")("gres", po::value<std::string>(),
                                                               "as sbatch has it, e.g. gpu:1")(
      "mem", po::value<std::string>(),
      "memory of a task, as sbatch has it, or auto: half as much again as the plan estimates "
      "(default: none is asked for, as where Slurm does not manage it)")(
      "time", po::value<std::string>(),
      "limit of a task, as sbatch has it (default: three times the plan's estimate, 10 minutes at "
      "least)")("sbatch", po::value<std::vector<std::string>>()->composing(),
                "a further flag of sbatch, e.g. '--constraint=avx512'; may be repeated")(
      "rate", po::value<std::string>(), "FLOP/s of a cell there, for the limits");
  a.positional("suite");
}

SlurmOptions slurm_options(const Arguments& a, const RunOptions& options, const Suite& suite) {
  SlurmOptions o;
  o.partition = a.text("partition"), o.gres = a.text("gres"), o.time = a.text("time");
  o.account = a.text("account"), o.memory = a.text("mem"), o.extra = a.texts("sbatch");
  o.cells_per_task = a.count("cells-per-task", 1), o.largest_array = a.count("max-array", 1);
  o.folder = fs::absolute(a.has("to") ? fs::path(a.text("to")) : options.out / "slurm" / suite.name)
                 .lexically_normal()
                 .string();
  o.working_directory = fs::current_path().string();
  return o;
}

}  // namespace

int slurm_verb(const std::vector<std::string>& words) {
  Arguments a("slurm SUITE [flags]",
              "Writes batch scripts that run a suite under Slurm: an array for each stage of the "
              "plan, one behind the other,\nthen the report. A task that Slurm warns or pre-empts "
              "writes a checkpoint and is queued again. The folder of the\nresults has to be one "
              "that all nodes see.");
  add_flags_of_slurm(a);
  if (!a.parse(words)) return 0;
  a.require("suite", "the suite");
  Problems problems;
  Suite suite = load_suite(find_suite(a.text("suite")), suite_choices(a), problems);
  const RunOptions options = options_of_plan(a);
  const Plan plan = plan_to_deal(suite, options, problems, a.text("rate"));
  const SlurmOptions o = slurm_options(a, options, suite);
  const fs::path folder = o.folder;
  for (const auto& [name, text] : slurm_scripts(plan, command_of(a, suite, options), o)) {
    write_file_atomic(folder / name, text);
    fmt::print(stderr, "wrote {}\n", (folder / name).string());
  }
  fs::create_directories(folder / "logs");
  const std::string submit = "bash " + shell_line({(folder / "submit.sh").string()});
  if (!a.flag("submit")) {
    fmt::print(stderr, "to submit them: {}\n", submit);
    return 0;
  }
  if (find_program("sbatch").empty())
    fail(Exit::usage, "--submit: there is no sbatch in the path; is this a node of Slurm?");
  if (std::system(submit.c_str()) != 0)
    fail(Exit::usage, "--submit: Slurm refused; what it said stands above");
  return 0;
}

}  // namespace pesuite::cli
