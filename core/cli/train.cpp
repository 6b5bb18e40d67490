// train: one model, with the flags and names of the source studies.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "backend/group.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "encoding/composition.h"
#include "model/preset.h"
#include "plan/trainings.h"
#include "run/one_off.h"
#include "run/run.h"
#include "suite/suite.h"

namespace pesuite::cli {

namespace {

// Names that the studies use for encodings.
std::string canonical_encoding(const std::string& name) {
  return name == "pos" ? "sinusoidal" : name;
}

std::string encoding_of(const Arguments& a) {
  std::string found;
  for (const char* flag : {"encoding", "pe-type", "embedding"}) {
    if (!a.has(flag)) continue;
    if (!found.empty())
      fail(Exit::usage,
           "--encoding, --pe-type and --embedding are the same flag; give one of them");
    found = a.text(flag);
  }
  if (found.empty())
    fail(Exit::usage, "which encoding? e.g. --encoding rope; 'pesuite list encoding' shows all");
  return found;
}

std::string file_name(const std::string& text) {  // safe in a file's name
  std::string out;
  for (const char c : text)
    out += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' ? c : '_';
  return out;
}

Expression task_of(const Arguments& a) {
  if (a.has("data")) {
    if (a.has("task"))
      fail(Exit::usage, "--data is short for --task text(path=...); give one of them");
    return {"text", {{"path", a.text("data")}}};
  }
  return parse_expression(a.text("task", "ledger"), "task");
}

// What a run's folder says of the data: the task, or the name of the text.
std::string data_name(const Arguments& a) {
  if (!a.has("data")) return task_of(a).name;
  fs::path path = a.text("data");
  if (!path.has_filename()) path = path.parent_path();
  return "text_" + file_name(path.stem().string());
}

std::string rates_of_sizes() {
  std::map<double, std::vector<std::string>, std::greater<>> sizes;
  for (const Preset& p : presets()) sizes[p.lr].emplace_back(p.name);
  std::vector<std::string> parts;
  for (const auto& [lr, names] : sizes)
    parts.push_back(fmt::format("{} for {}", format_number(lr), join(names, ", ")));
  return "learning rate (default by model size: " + join(parts, "; ") + ")";
}

double steps_of(const Arguments& a, const char* flag, std::int64_t least, std::int64_t otherwise) {
  const std::int64_t n = a.get<std::int64_t>(flag, otherwise);
  if (n < least) fail(Exit::usage, "--{} {}: wants steps, at least {}", flag, n, least);
  return static_cast<double>(n);
}

std::uint64_t seed_of(const Arguments& a) {  // read as text: "-1" is no large seed
  const std::string text = a.text("seed");
  double x = 0;
  if (!parse_count(text, x) || x < 0 || x != std::floor(x) || x > 9e15)
    fail(Exit::usage, "--seed: '{}' is no seed; write a whole number from 0 on, e.g. 42", text);
  return static_cast<std::uint64_t>(x);
}

bool is_trunk(const Arguments& a) {
  return a.text("wsd-stage", "") == "full";
}

// Token budgets, ascending: those of --tokens; else of a preset that has one, that and its half, 40
// and 20 tokens a parameter; else none, and --max-steps is the one budget.
std::vector<double> budgets_of(const Arguments& a, const Preset& p) {
  if (a.has("tokens") && a.has("max-steps"))
    fail(Exit::usage, "--tokens and --max-steps both set the budget; give one of them");
  std::vector<double> out;
  for (const std::string& text :
       a.has("tokens") ? split(a.text("tokens"), ',') : std::vector<std::string>{}) {
    double tokens = 0;
    if (!parse_count(text, tokens) || tokens <= 0 || tokens > 9e15)
      fail(Exit::usage, "--tokens: '{}' is no count such as 2.4B", text);
    out.push_back(tokens);
  }
  if (out.size() > 1 && !is_trunk(a))
    fail(
        Exit::usage,
        "--tokens {}: several budgets share a trunk, which wants --wsd-stage full; without it give "
        "one of them",
        a.text("tokens"));
  const bool study = a.has("model-size") && p.tokens > 0;
  if (out.empty() && !a.has("max-steps") && study) {
    out = {p.tokens};
    if (is_trunk(a)) out.push_back(p.tokens / 2);
  }
  std::sort(out.begin(), out.end());
  if (const auto twice = std::adjacent_find(out.begin(), out.end()); twice != out.end())
    fail(Exit::usage, "--tokens names {} twice", format_count(*twice));
  return out;
}

Extent decay_of(const Arguments& a) {
  const std::string text = a.text("wsd-decay", "10%");
  const auto decay = parse_extent(text);
  if (!decay || decay->unit != Extent::Unit::share || decay->value <= 0 || decay->value >= 1)
    fail(Exit::usage, "--wsd-decay: '{}' is no share of a budget such as 10%", text);
  return *decay;
}

TrainSettings training(const Arguments& a, const Preset& p) {
  TrainSettings t;
  const bool study = a.has("model-size") && p.tokens > 0;  // sizes with token budgets
  t.optimizer.lr = a.get<double>("lr", p.lr);
  if (!(t.optimizer.lr > 0 && t.optimizer.lr < 1e6))
    fail(Exit::usage, "--lr {}: wants a number above 0", t.optimizer.lr);
  t.optimizer.weight_decay = 0.1;
  t.batch = a.count("batch-size", 1);
  const bool decays = study || is_trunk(a);
  t.schedule.kind = decays ? ScheduleKind::wsd : ScheduleKind::constant;
  t.schedule.warmup = decays ? Extent{Extent::Unit::share, 0.03} : Extent{Extent::Unit::steps, 0};
  t.schedule.decay = decay_of(a);
  t.schedule.floor = 0;
  if (const std::vector<double> budgets = budgets_of(a, p); !budgets.empty())
    t.budget = {Extent::Unit::tokens, budgets.back()};
  else
    t.budget = {Extent::Unit::steps, steps_of(a, "max-steps", 1, 1000)};
  const auto every = [&](const char* flag) {
    return Extent{Extent::Unit::steps, steps_of(a, flag, 0, 0)};
  };
  t.log_every = every("log-interval");
  t.eval_every = every("eval-interval");
  t.checkpoint_every = every("save-interval");
  t.keep_periodic = 1 << 20;  // all of them, as the studies do
  return t;
}

void add_flags_of_train(Arguments& a) {
  a.flags()("encoding", po::value<std::string>(),
            "encoding expression, e.g. rope or 'rope(base=500000)'")(
      "pe-type", po::value<std::string>(), "the same")("embedding", po::value<std::string>(),
                                                       "the same; pos is sinusoidal")(
      "model-size", po::value<std::string>(), "preset, e.g. tiny (default tinystories-28m)")(
      "task", po::value<std::string>(), "task expression (default ledger)")(
      "data", po::value<std::string>(), "a folder or file of UTF-8 text to train on, byte by byte")(
      "batch-size", po::value<int>()->default_value(16), "examples of a step")(
      "max-steps", po::value<std::int64_t>(),
      "steps (default 1000, or the preset's token budget with --model-size)")(
      "tokens", po::value<std::string>(),
      "budget in tokens, e.g. 2.4B; with --wsd-stage full several, 1.2B,2.4B")(
      "length", po::value<int>(), "training length in tokens (default: the preset's)")(
      "lr", po::value<double>(), rates_of_sizes().c_str())(
      "log-interval", po::value<std::int64_t>()->default_value(50), "steps between log lines")(
      "eval-interval", po::value<std::int64_t>()->default_value(500), "steps between validations")(
      "save-interval", po::value<std::int64_t>()->default_value(1000), "steps between checkpoints")(
      "output-dir", po::value<std::string>()->default_value("outputs"),
      "folder of checkpoints and logs; the model stands in by-name/ there, as "
      "nano-rope-ledger-1000steps-seed42")("seed", po::value<std::string>()->default_value("42"),
                                           "seed of data and start values")(
      "wsd-stage", po::value<std::string>(),
      "full: warm-up, then a stable learning rate, then the decay of the largest budget; writes "
      "ready_for_decay_BUDGET where that of each budget begins (default budgets: the preset's and "
      "its half). decay_only: the decay of one budget, which needs --from alone")(
      "from", po::value<std::string>(), "decay_only: the checkpoint ready_for_decay_BUDGET")(
      "wsd-decay", po::value<std::string>()->default_value("10%"),
      "share of a budget in which the learning rate falls to 0")(
      "resume", po::bool_switch(), "go on with an existing run of the same name and settings")(
      "threads", po::value<int>()->default_value(0),
      "threads; 0: all cores, or one in each process where mpirun starts several")(
      "device", po::value<std::string>()->default_value("auto"),
      "cpu, cuda, or auto: cuda where a device answers")(
      "recompute", po::bool_switch(),
      "keep each layer's input alone and compute the rest again in the backward pass: less memory, "
      "more time, the same numbers")(
      "dtype", po::value<std::string>(),
      "of products: fp32, bf16 or, on cuda, fp16 (default: bf16 on cuda, else fp32)");
}

// One cell, planned as a suite of one would be.
Suite suite_of_one(const Arguments& a, const std::string& name, const std::string& size) {
  const Preset& p = preset(size);
  const int length = a.count("length", 1, p.train_length);
  Suite suite;
  suite.name = "train";
  suite.encodings = {{name, canonical_encoding(name), "--encoding"}};
  SuiteTask task;
  task.id = "task", task.expression = task_of(a), task.train_length = length, task.where = "--task";
  task.train = training(a, p);
  suite.tasks = {task};
  suite.models = {{size, size, p.config, length, "--model-size"}};
  suite.seeds = {seed_of(a)};
  suite.backend = a.text("device");
  if (a.has("dtype")) suite.precision = parse_precision(a.text("dtype"));
  return suite;
}

// The presets with token budgets warm up for 2,000 steps at most, as their study did.
void limit_warmup(TrainConfig& train, std::vector<SwitchConfig>& switches) {
  const auto limit = [](Schedule& s) { s.warmup = std::min<std::int64_t>(2000, s.warmup); };
  limit(train.schedule);
  for (SwitchConfig& s : switches)
    if (s.schedule_start == 0) limit(s.schedule);
}

// The folder's name says what was trained; that of a preset with a budget is the studies'.
void set_names(OneOff& o, const Arguments& a, const std::string& size) {
  const TrainConfig& t = o.cell.train;
  const std::string budget = format_count(static_cast<double>(t.steps * t.tokens_per_step()));
  o.study_name = fmt::format("{}_{}_{}_s{}", size, o.encoding_name, budget, o.cell.seed);
  o.name = a.has("model-size") && preset(size).tokens > 0
               ? o.study_name
               : fmt::format("{}-{}-{}-{}steps-seed{}", size, o.encoding_name, data_name(a),
                             t.steps, o.cell.seed);
}

// At which steps the decays of a trunk's budgets begin.
std::map<std::int64_t, std::int64_t> branches_of_trunk(const Arguments& a, const CellConfig& cell,
                                                       const Suite& suite, const Preset& p) {
  std::vector<double> budgets = budgets_of(a, p);
  const auto all = static_cast<double>(cell.train.steps * cell.train.tokens_per_step());
  if (budgets.empty()) budgets = {all};
  SuiteTask task = suite.tasks[0];
  task.branch = 0, task.group = task.id;
  std::map<std::int64_t, std::int64_t> out;
  std::set<std::string> names;
  for (const double tokens : budgets) {
    if (!names.insert(format_count(tokens)).second)
      fail(Exit::usage, "two budgets are called {} in names of files; make them more different",
           format_count(tokens));
    CellConfig decay = cell;
    task.train.schedule.branches = {{Extent::Unit::tokens, tokens}};
    branch_for_budget(decay, task);
    if (!out.emplace(first_step(decay), static_cast<std::int64_t>(tokens)).second)
      fail(Exit::usage, "the budget {} begins to decay in the same step as a smaller one",
           format_count(tokens));
  }
  return out;
}

// One that decays from the trunk's checkpoint: all that it trains is the trunk's.
OneOff decay_of_trunk(const Arguments& a) {
  for (const char* flag : {"encoding", "pe-type", "embedding", "model-size", "task", "data",
                           "max-steps", "tokens", "length", "lr", "dtype"})
    if (a.has(flag))
      fail(Exit::usage,
           "--{} is the trunk's, which --wsd-stage decay_only goes on from; leave it away", flag);
  a.require("from", "the trunk's checkpoint, e.g. .../ready_for_decay_1.2B.safetensors");
  OneOff o;
  o.from = fs::absolute(a.text("from"));
  if (!fs::exists(o.from)) fail(Exit::data, "there is no file {}", o.from.string());
  const std::string target = checkpoint_field(o.from, "target_budget");
  const fs::path trunk = o.from.parent_path() / "run.json";
  o.cell = read_cell(read_file(trunk), trunk);
  SuiteTask task;
  task.branch = 0, task.group = o.cell.task;
  task.train.schedule.decay = decay_of(a);
  task.train.schedule.branches = {{Extent::Unit::tokens, std::stod(target)}};
  branch_for_budget(o.cell, task);
  if (const std::int64_t step = checkpoint_state(o.from).step; step != first_step(o.cell))
    fail(Exit::usage,
         "{} was written at step {}, and a decay over {} of {} tokens begins at step {}: give the "
         "--wsd-decay of the trunk",
         o.from.string(), step, a.text("wsd-decay"), format_count(std::stod(target)),
         first_step(o.cell));
  o.name = o.study_name = "decay_" + budget_name(std::stoll(target));
  o.encoding_name = file_name(names_of(parse_encoding(o.cell.encoding).first).at(0));
  o.out = a.folder("output-dir");
  return o;
}

OneOff whole_training(const Arguments& a) {
  const std::string name = encoding_of(a), size = a.text("model-size", "tinystories-28m");
  const Suite suite = suite_of_one(a, name, size);
  OneOff o;
  o.out = a.folder("output-dir");
  Plan plan = make_plan(suite, a.plugin_path(), Store(o.out / "none"));
  o.cell = plan.cells.at(0).config;
  if (suite.tasks[0].train.schedule.kind == ScheduleKind::wsd)
    limit_warmup(o.cell.train, o.cell.switches);
  if (is_trunk(a)) o.budgets = branches_of_trunk(a, o.cell, suite, preset(size));
  o.size = size;
  o.encoding_name = file_name(name);
  set_names(o, a, size);
  for (const auto* list : {&plan.problems, &plan.notes})
    for (const std::string& n : *list) fmt::print(stderr, "note: {}\n", printable(n));
  return o;
}

}  // namespace

int train_verb(const std::vector<std::string>& words) {
  Arguments a(
      "train --encoding EXPR [flags]",
      "Trains one model. --pe-type and --embedding are other names of --encoding; hyphen "
      "and underscore are equal. 'mpirun -n 4 pesuite train ...' shares each step among four "
      "processes.");
  add_flags_of_train(a);
  if (!a.parse(words)) return 0;
  const std::string stage = a.text("wsd-stage", "full");
  if (stage != "full" && stage != "decay_only")
    fail(Exit::usage, "--wsd-stage: '{}' is neither full nor decay_only", stage);
  if (a.has("from") && stage == "full")
    fail(Exit::usage, "--from is what --wsd-stage decay_only goes on from");
  OneOff o = stage == "full" ? whole_training(a) : decay_of_trunk(a);
  o.plugin_path = a.plugin_path();
  o.resume = a.flag("resume"), o.recompute = a.flag("recompute");
  o.threads = a.threads();
  if (o.threads == 0) o.threads = launched_processes() > 1 ? 1 : default_jobs(1);
  return train_one(o);
}

}  // namespace pesuite::cli
