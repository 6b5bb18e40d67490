#include "run/one_off.h"

#include <signal.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <set>

#include "backend/group.h"
#include "base/error.h"
#include "base/file.h"
#include "base/signals.h"
#include "base/text.h"
#include "cell/record.h"
#include "run/stage.h"

namespace pesuite {

namespace {

// The settings by which a run's folder is reused: those that decide what its checkpoints fit.
Json critical(const CellConfig& c) {
  const Json m = to_json(c.model);
  const Json cell = to_json(c);
  Json out = {{"train_len", c.train.length},
              {"encoding", c.encoding},
              {"switches", cell.value("switches", Json::array())},
              {"evaluation", c.evaluation},
              {"task", c.task}};
  for (const char* key :
       {"width", "layers", "heads", "ff_width", "vocabulary", "tie_embedding", "dropout"})
    out[key] = m.at(key);
  return out;
}

std::string differences(const Json& a, const Json& b) {
  std::vector<std::string> out;
  for (const auto& [key, value] : a.items())
    if (b.value(key, Json()) != value)
      out.push_back(
          fmt::format("{} {} instead of {}", key, value.dump(), b.value(key, Json()).dump()));
  return join(out, ", ");
}

// Of the whole configuration, a key each: "train.optimizer.lr is 0.0003, was 0.001".
std::string changes(const Json& now, const Json& before) {
  const auto flat_now = now.flatten(), flat_before = before.flatten();
  std::set<std::string> keys;
  for (const Json* j : {&flat_now, &flat_before})
    for (const auto& [key, value] : j->items()) keys.insert(key);
  std::vector<std::string> out;
  const auto shown = [](const Json& j, const std::string& key) {
    return j.contains(key) ? j.at(key).dump() : "absent";
  };
  for (const std::string& key : keys) {
    const std::string a = shown(flat_now, key), b = shown(flat_before, key);
    std::string name = key.substr(1);
    std::replace(name.begin(), name.end(), '/', '.');
    if (a != b) out.push_back(fmt::format("{} is {}, was {}", name, a, b));
  }
  return join(out, "; ");
}

std::string local_time(const char* format) {
  char text[64];
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  std::strftime(text, sizeof text, format, &parts);
  return text;
}

std::atomic<bool> stop{false};
volatile sig_atomic_t stopped_by = 0;

void link(const fs::path& target, const fs::path& name) {
  std::error_code ignored;
  fs::create_directories(name.parent_path(), ignored);
  fs::remove(name, ignored);
  fs::create_symlink(fs::relative(target, name.parent_path(), ignored), name, ignored);
}

class Session {
 public:
  Session(const OneOff& o, Group& group)
      : o_(o),
        group_(group),
        folder_(versioned_folder(o)),
        stamp_(local_time("%Y%m%d_%H%M%S")),
        catalog_(open_catalog(plugin_search_path(o.plugin_path))),
        task_(catalog_, parse_expression(o.cell.task, "task"), o.cell.train.length,
              o.cell.max_length),
        backend_(open_backend(
            o.cell.backend,
            {.threads = o.threads, .precision = o.cell.precision, .device = group.device()})),
        stage_(catalog_, *backend_, task_, o.cell, group) {
    stages_ = {o.cell};  // whose checkpoint says what evaluation swaps in
    while (o.from.empty() && !stages_.front().switches.empty())
      stages_.insert(stages_.begin(), trunk_of(stages_.front()));
    stage_.recompute = o.recompute;
    stage_.watch.stop = &stop;
    stage_.watch.log = [&](const std::string& line) { log(line); };
    stage_.watch.progress = [&](const TrainState& s, double) { collect_metrics(s); };
    group_.wait();  // all have seen the same folder before one of them writes into it
  }

  // Returns the program's exit code.
  int train() {
    open_log();
    if (group_.leads()) sweep_temporaries(folder_);
    if (!take_up()) return 0;
    write_config();
    const TrainState& state = stage_.state;
    if (!replays_) logged_ = state.observations.size();
    if (logged_ == 0 && group_.leads()) fs::remove(folder_ / "records.jsonl");
    log(fmt::format("Model info: {} parameters, {} of them the encoding's; {}",
                    stage_.model().count(), stage_.model().encoding_count(),
                    backend_->description()));
    if (task_.info().note != nullptr) log(task_.info().note);
    TrainOutcome outcome = train_stage();
    while (outcome == TrainOutcome::paused) {
      const CellConfig& next = stages_[++at_];
      const SwitchConfig& s = next.switches.back();
      log(fmt::format("step {} | switching to {}", s.step, s.encoding));
      stage_.begin(next);
      stage_.branch_off(file("latest"), stages_[at_ - 1]);
      outcome = train_stage();
    }
    collect_metrics(state);
    if (outcome == TrainOutcome::stopped) {
      if (!group_.leads()) return 0;  // the launcher takes what one returns for the whole
      log("Stopped; --resume goes on from here");
      return exit_code_of(stopped_by != 0 ? stopped_by : SIGTERM);  // another may have been asked
    }
    if (!group_.leads()) return 0;
    finish(outcome);
    return static_cast<int>(outcome == TrainOutcome::diverged ? Exit::cells_failed : Exit::done);
  }

 private:
  // The stage that the checkpoint is of, or the first. False: all of it is trained.
  bool take_up() {
    const fs::path latest = file("latest");
    if (!fs::exists(latest)) {
      stage_.begin(stages_[0]);
      if (!o_.from.empty()) {
        stage_.branch_off(o_.from, trunk_of(o_.cell));
        replays_ = true;
        log(fmt::format("The decay of {} tokens begins at step {} of {}",
                        budget_name(o_.cell.train.steps * o_.cell.train.tokens_per_step()),
                        stage_.state.step, o_.from.string()));
      }
      return true;
    }
    const std::string identity = checkpoint_identity(latest);
    while (at_ + 1 < stages_.size() && cell_identity(stages_[at_]) != identity) ++at_;
    stage_.begin(stages_[at_]);
    stage_.load(latest);
    const std::int64_t step = stage_.state.step;
    const bool left = step < o_.cell.train.steps;
    log(left ? fmt::format("Resuming from step {}", step)
             : fmt::format("{} is trained already ({} steps); nothing to do", folder_.string(),
                           step));
    for (const auto& [begins, tokens] : o_.budgets)
      if (begins < step && !fs::exists(ready_file(tokens)))
        log(
            fmt::format("{} is missing, and training has passed its step {}: train it anew under "
                        "another --output-dir to have it",
                        ready_file(tokens).string(), begins));
    return left;
  }
  // Up to the next switch, or to the end.
  TrainOutcome train_stage() {
    TrainPaths paths;
    paths.last = file("latest");
    paths.best = file("best");
    paths.periodic = [&](std::int64_t step) { return file(fmt::format("step_{}", step)); };
    for (const auto& [step, tokens] : o_.budgets)
      paths.branches[step] = {.file = ready_file(tokens), .target_budget = tokens};
    return at_ + 1 < stages_.size() ? stage_.train(paths, first_step(stages_[at_ + 1]))
                                    : stage_.train(paths);
  }
  void finish(TrainOutcome outcome) {
    stage_.check();
    const TrainState& state = stage_.state;
    save_checkpoint(file("final"), stage_.model(), state, cell_identity(stages_[at_]));
    if (o_.from.empty()) link_names();  // else they are the trunk's
    if (outcome == TrainOutcome::diverged)
      log(fmt::format("Training diverged after {} at {}; a smaller --lr may keep it finite",
                      format_seconds(state.seconds), state.reason));
    else
      log(fmt::format("Training completed in {}", format_seconds(state.seconds)));
    if (state.best_step >= 0)
      log(fmt::format("Best validation loss: {:.4f} at step {}", state.best, state.best_step));
    log(fmt::format("Checkpoint: {}", file("latest").string()));
  }
  fs::path file(const std::string& name) const { return folder_ / (name + ".safetensors"); }
  fs::path ready_file(std::int64_t tokens) const {
    return file("ready_for_decay_" + budget_name(tokens));
  }
  fs::path log_file(const char* kind, const char* ending) const {
    return o_.out / "logs" / fmt::format("{}_{}_{}.{}", kind, o_.encoding_name, stamp_, ending);
  }
  void log(const std::string& line) const { spdlog::info("{}", line); }

  void open_log() {
    if (!group_.leads()) {
      spdlog::set_level(spdlog::level::off);
      return;
    }
    fs::create_directories(o_.out / "logs");
    std::vector<spdlog::sink_ptr> sinks = {std::make_shared<spdlog::sinks::stderr_sink_st>()};
    try {
      sinks.push_back(std::make_shared<spdlog::sinks::basic_file_sink_st>(
          log_file("training", "log").string()));
    } catch (const spdlog::spdlog_ex& e) {
      fail(Exit::data, "cannot write a log: {}", e.what());
    }
    auto logger = std::make_shared<spdlog::logger>("train", sinks.begin(), sinks.end());
    logger->set_pattern("[%Y-%m-%d %H:%M:%S] %v");
    logger->flush_on(spdlog::level::info);
    spdlog::set_default_logger(logger);
    log(fmt::format("Run {}", folder_.string()));
    if (group_.size() > 1) log(group_.description());
  }

  void write_config() const {
    if (!group_.leads()) return;
    write_file_atomic(folder_ / "run.json", to_json(o_.cell).dump(1) + "\n");
    const Json config = {
        {"embedding_type", o_.encoding_name},
        {"batch_size", o_.cell.train.batch},
        {"max_steps", o_.cell.train.steps},
        {"model_config", to_json(o_.cell.model)},
        {"model_info",
         {{"total_parameters", stage_.model().count()},
          {"trainable_parameters", stage_.model().count()},
          {"model_size_mb", static_cast<double>(stage_.model().count()) * 4 / 1048576}}},
        {"cell", to_json(o_.cell)}};
    write_file_atomic(log_file("config", "json"), config.dump(2) + "\n");
  }

  // One entry a step that was logged or evaluated, as the TinyStories study has them.
  void collect_metrics(const TrainState& s) {
    if (s.observations.size() == logged_ || !group_.leads()) return;
    Json entry;
    write_records(s);
    for (; logged_ < s.observations.size(); ++logged_) {
      const Observation& o = s.observations[logged_];
      if (o.metric != "nll") continue;
      const Json value = std::isfinite(o.value) ? Json(o.value) : Json(nullptr);
      if (!entry.is_null() && entry["step"] != o.step)
        metrics_.push_back(std::exchange(entry, nullptr));
      if (entry.is_null())
        entry = {{"step", o.step}, {"timestamp", local_time("%Y-%m-%dT%H:%M:%S")}};
      entry["tokens"] = o.tokens;
      entry[o.split == "train" ? "train_loss" : "val_loss"] = value;
      if (o.split == "val")
        entry["perplexity"] = std::isfinite(o.value) ? Json(std::exp(o.value)) : Json(nullptr);
    }
    if (entry.is_null()) return;
    metrics_.push_back(std::move(entry));
    write_file_atomic(log_file("metrics", "json"), metrics_.dump(2) + "\n");
  }

  // What `pesuite report` reads, as of a run with one cell.
  void write_records(const TrainState& s) const {
    const std::string task = parse_expression(o_.cell.task, "task").name;
    const CellContext context = {folder_.filename().string(),
                                 "run",
                                 cell_identity(stages_[at_]),
                                 "",
                                 o_.encoding_name,
                                 task,
                                 "train",
                                 stages_[at_].encoding,
                                 o_.cell.seed,
                                 &stages_[at_]};
    std::ofstream file(folder_ / "records.jsonl", std::ios::app);
    for (std::size_t i = logged_; i < s.observations.size(); ++i)
      file << make_record(context, "train", to_json(s.observations[i])).dump() << '\n';
    if (!file) log("records.jsonl could not be written; the training goes on");
  }

  void link_names() const {
    for (const auto& item : fs::directory_iterator(folder_)) {
      const std::string name = item.path().stem();
      if (item.path().extension() == ".safetensors" && name != "latest")
        link(item.path(),
             o_.out / "checkpoints" / fmt::format("{}_{}.safetensors", o_.encoding_name, name));
    }
  }

  const OneOff& o_;
  Group& group_;
  fs::path folder_;
  std::string stamp_;
  Catalog catalog_;
  Task task_;
  std::unique_ptr<Backend> backend_;
  Stage stage_;
  std::vector<CellConfig> stages_;  // one more switch each
  std::size_t at_ = 0;              // the present one
  Json metrics_ = Json::array();
  std::size_t logged_ = 0;
  bool replays_ = false;  // the trunk's history, at the beginning of a decay
};

}  // namespace

std::string budget_name(std::int64_t tokens) {
  return format_count(static_cast<double>(tokens));
}

static fs::path decay_folder(const OneOff& o) {
  const fs::path folder = o.from.parent_path() / o.name;
  if (!fs::exists(folder / "run.json")) return folder;
  const CellConfig before = read_cell(read_file(folder / "run.json"), folder / "run.json");
  const auto decay = [](const CellConfig& c) { return c.switches.back().schedule.decay; };
  if (decay(before) != decay(o.cell))
    fail(
        Exit::usage,
        "{} decays over {} steps, and {} were asked for: a decay goes on with its own length; give "
        "the --wsd-decay of before",
        folder.string(), decay(before), decay(o.cell));
  if (const std::string other = changes(to_json(o.cell), to_json(before)); !other.empty())
    fail(Exit::usage, "{} was trained with other settings ({}), so it cannot go on",
         folder.string(), other);
  if (!o.resume) fail(Exit::usage, "{} exists: --resume goes on with it", folder.string());
  return folder;
}

fs::path versioned_folder(const OneOff& o) {
  if (!o.from.empty()) return decay_folder(o);
  fs::path base = o.out / "by-name" / o.name;
  if (const fs::path old = o.out / "by-name" / o.study_name;
      o.resume && !fs::exists(base) && fs::exists(old))
    base = old;
  const Json wanted = critical(o.cell);
  for (int version = 0; version <= 100; ++version) {
    const fs::path folder =
        version == 0 ? base : fs::path(base.string() + fmt::format("_v{}", version));
    if (!fs::exists(folder / "run.json")) return folder;
    const CellConfig before = read_cell(read_file(folder / "run.json"), folder / "run.json");
    const Json found = critical(before);
    if (found != wanted) {
      if (version == 0)
        fmt::print(stderr, "{} has other settings ({}); taking the next version\n", folder.string(),
                   differences(wanted, found));
      continue;
    }
    if (const std::string other = changes(to_json(o.cell), to_json(before)); !other.empty())
      fail(Exit::usage,
           "{} was trained with other settings ({}), so it cannot go on; give the settings of "
           "before with --resume, or another --output-dir",
           folder.string(), other);
    if (o.resume) return folder;
    fail(Exit::usage,
         "{} exists with the same settings: --resume goes on with it, another --seed or "
         "--output-dir starts a new one",
         folder.string());
  }
  fail(Exit::usage, "{} has 100 versions already; use another --output-dir", base.string());
}

int train_one(const OneOff& o) {
  for (const int s : {SIGINT, SIGTERM, SIGUSR1})
    hear(s, [](int signal) {
      if (stop) ::_exit(exit_code_of(signal));  // asked twice
      stopped_by = signal;
      stop = true;
    });
  const std::unique_ptr<Group> group = join_group(o.cell.backend);
  return Session(o, *group).train();
}

}  // namespace pesuite
