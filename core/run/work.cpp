#include "run/work.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/isolate.h"
#include "base/seal.h"
#include "base/text.h"
#include "cell/determinism.h"
#include "cell/outside.h"
#include "model/health.h"
#include "run/stage.h"

namespace pesuite {

namespace {

// Which attention ran. A device that has several ways for one path says which it took, and why:
// "fused: ...", "bias-tensor backward: ...", "composed: ...".
void write_path(Json& record, AttentionPath path, const std::string& route) {
  record["path"] = path_name(path);
  if (route.empty() || path == AttentionPath::composed) return;
  const std::string way = route.substr(0, route.find_first_of(" :"));
  record["path"] = way == "composed" ? path_name(AttentionPath::composed) : way;
  record["path_reason"] = route;
}

// `more` stands in every line.
void write_observations(const fs::path& path, const std::vector<Observation>& all,
                        const Model& model, const std::string& route, const Json& more) {
  std::string text;
  const std::string now = utc_timestamp();
  for (const Observation& o : all) {
    Json j = to_json(o);
    write_path(j, model.path(), route);
    j.update(more);
    j["ts"] = now;
    text += j.dump() + "\n";
  }
  write_sealed(path, text);
}

class Work {
 public:
  Work(const CellWork& work, const Store& store, const std::vector<std::string>& plugin_path,
       const CellWatch& watch, Group& group)
      : work_(work),
        cell_(work.cell),
        training_(training_of(work.cell)),
        train_(train_of(work.cell)),
        store_(store),
        watch_(watch),
        group_(group),
        id_(cell_id(cell_)),
        training_id_(cell_id(training_)),
        catalog_(open_catalog(plugin_search_path(plugin_path), true)),
        task_(catalog_, parse_expression(cell_.task, "task"), cell_.train.length,
              std::max(work.longest, cell_.max_length), work.reach),
        asked_(cell_.asked.empty()
                   ? std::optional<Task>()
                   : std::optional<Task>(std::in_place, catalog_,
                                         parse_expression(cell_.asked, "task"), cell_.train.length,
                                         std::max(work.longest, cell_.max_length), work.reach)),
        backend_(open_backend(
            cell_.backend,
            {.threads = work.threads, .precision = cell_.precision, .device = group.device()})),
        stage_(catalog_, *backend_, task_, training_, group),
        level_(determinism_level({cell_.backend, work.threads, group.size()})) {
    stage_.recompute = work.recompute;
    stage_.watch.stop = watch_.stop;
    stage_.watch.log = watch_.log;
    stage_.begin(training_);
    if (cell_.weights.empty() && !store_.trained(training_id_))
      train_work_ = 3 * forward_flops(model_of(cell_), train_.length) *
                    train_.tokens_read(first_step(cell_), end());
    for (const CellEval& e : work_.evals)
      eval_work_.push_back(
          (e.probe ? passes_of(*e.probe) : 1) *
          evaluation_flops(cell_.model, e.config, e.length, backend_->query_step()));
    total_work_ = train_work_;
    for (const double w : eval_work_) total_work_ += w;
  }

  CellOutcome run() {
    log(fmt::format("cell {}: {} on {}, seed {}; {} parameters, {} of them the encoding's; {}", id_,
                    encoding_of(cell_), cell_.task, cell_.seed, model().count(),
                    model().encoding_count(), backend_->description()));
    if (group_.size() > 1) log(group_.description());
    if (task_.info().note != nullptr) log(task_.info().note);
    if (asked_) log(fmt::format("asked {}", cell_.asked));
    if (watch_.opened)
      watch_.opened({backend_->description(), group_.size() > 1 ? group_.description() : "",
                     group_.size(), level_});
    const TrainOutcome trained = cell_.weights.empty() ? train_or_load() : take_weights();
    if (trained == TrainOutcome::stopped) return CellOutcome::stopped;
    const bool diverged = trained == TrainOutcome::diverged;
    if (!cell_.evaluation.empty() && !diverged) {
      log(fmt::format("swapping in {}", cell_.evaluation));
      stage_.swap_in(cell_, store_.checkpoint(training_id_));
    }
    double done = train_work_;
    const auto rank = static_cast<std::size_t>(group_.rank());
    bool stopped = false;
    for (std::size_t i = 0; i < work_.evals.size(); ++i) {
      stopped = watch_.stop != nullptr && watch_.stop->load();
      if (stopped) break;
      if (i % static_cast<std::size_t>(group_.size()) == rank)
        evaluate_part(work_.evals[i], diverged, done, eval_work_[i]);
      done += eval_work_[i];
    }
    double anyone = stopped ? 1 : 0;
    group_.sum(std::span(&anyone, 1));
    if (anyone > 0) return CellOutcome::stopped;
    return diverged ? CellOutcome::diverged : CellOutcome::done;
  }

 private:
  void log(const std::string& line) const {
    if (watch_.log) watch_.log(line);
  }
  void progress(CellProgress p) const {
    if (watch_.progress) watch_.progress(p);
  }
  Model& model() const { return stage_.model(); }
  const Task& asked_task() const { return asked_ ? *asked_ : task_; }
  std::int64_t end() const { return work_.until > 0 ? work_.until : train_.steps; }

  // The level of what a training has computed so far. A cell is at the weakest of all processes
  // that had a part in it.
  fs::path level_file(const std::string& id) const { return store_.cell(id) / "determinism.txt"; }
  std::string level_of(const std::string& id) const {
    if (is_kept(level_file(id))) return trim(read_kept(level_file(id)));
    return cell_.backend == "cuda" ? "data" : "run";  // trained before levels were kept
  }

  TrainOutcome train_or_load() {
    TrainState& state = stage_.state;
    const fs::path last = store_.checkpoint(training_id_);
    const bool finished = store_.trained(training_id_);
    if (finished || fs::exists(store_.checkpoints(training_id_)))
      level_ = weaker_level(level_, level_of(training_id_));
    else if (!training_.switches.empty())
      level_ = weaker_level(level_, level_of(cell_id(trunk_of(training_))));
    if (const auto behind = branches_behind(last); !behind.empty()) {
      if (retrace(behind) == TrainOutcome::stopped) return TrainOutcome::stopped;
      stage_.restart();
    }
    const bool loaded = load_latest(),
               trained = loaded && (state.step == train_.steps || state.stopped_early);
    if (!loaded) {
      stage_.restart();  // parts of it may have been filled
      start();
    } else if (!trained) {
      log(fmt::format("going on from step {}", state.step));
    }
    if (finished && (trained || (loaded && state.diverged)))
      return state.diverged ? TrainOutcome::diverged : TrainOutcome::finished;
    TrainPaths paths;
    paths.last = last;
    paths.best = store_.best(training_id_);
    paths.periodic = [&](std::int64_t step) { return store_.periodic(training_id_, step); };
    const TrainOutcome outcome = train_to(end(), std::move(paths));
    if (outcome == TrainOutcome::stopped || outcome == TrainOutcome::paused) return outcome;
    add_costs(state);
    if (group_.leads())
      write_observations(store_.training(training_id_), state.observations, model(),
                         backend_->attention_route(), {{"determinism", level_}});
    return outcome;
  }

  // In place of a training.
  TrainOutcome take_weights() {
    log(fmt::format("weights of {}", cell_.weights));
    stage_.take_weights();
    if (store_.has_training(training_id_)) return TrainOutcome::finished;
    add_sizes(stage_.state);
    if (group_.leads())
      write_observations(store_.training(training_id_), stage_.state.observations, model(),
                         backend_->attention_route(), {{"determinism", level_}});
    return TrainOutcome::finished;
  }

  // The checkpoint that training went furthest with, of those that are sound: from each on it comes
  // to the same bits. False where there is none.
  bool load_latest() {
    std::vector<fs::path> all = {store_.checkpoint(training_id_)};
    const std::int64_t every = train_.keep_periodic > 0 ? train_.checkpoint_every : 0;
    for (std::int64_t step = every > 0 ? train_.steps / every * every : 0; step > 0; step -= every)
      all.push_back(store_.periodic(training_id_, step));
    all.push_back(store_.best(training_id_));
    bool any = false;
    for (const fs::path& file : all) try {
        if (!fs::exists(file)) continue;
        any = true;
        stage_.load(file);
        return true;
      } catch (const Error& e) {
        log(e.what());
      }
    if (any) log("no checkpoint is sound: starting over");
    return false;
  }

  TrainOutcome train_to(std::int64_t until, TrainPaths paths) {
    if (group_.leads()) write_sealed(level_file(training_id_), level_ + "\n");
    for (const std::int64_t step : work_.branches)
      paths.branches[step] = {store_.branch(training_id_, step)};
    stage_.watch.progress = [&](const TrainState& s, double loss) {
      const std::int64_t first = first_step(cell_);
      const double share = static_cast<double>(s.step - first) / static_cast<double>(end() - first);
      progress({"train", s.step, end(), loss, static_cast<double>(s.tokens) / s.seconds,
                share * train_work_ / std::max(1.0, total_work_)});
    };
    const TrainOutcome outcome =
        until < train_.steps ? stage_.train(paths, until) : stage_.train(paths);
    try {
      stage_.check();
    } catch (const Error&) {  // nobody can say whose work the last steps were
      std::error_code ignored;
      if (group_.leads()) fs::remove_all(store_.checkpoints(training_id_), ignored);
      throw;
    }
    return outcome;
  }

  // The start of a training: fresh, or where its trunk has left a checkpoint for it. A trunk that
  // diverged before has left none: then this training has diverged as well.
  void start() {
    TrainState& state = stage_.state;
    if (training_.switches.empty()) return;
    const CellConfig trunk = trunk_of(training_);
    const std::string trunk_id = cell_id(trunk);
    const std::int64_t step = first_step(training_);
    const fs::path file = store_.branch(trunk_id, step);
    if (fs::exists(file)) {
      stage_.branch_off(file, trunk);
      log(fmt::format("going on from step {} of cell {}", state.step, trunk_id));
    } else if (store_.trained(trunk_id)) {
      state = checkpoint_state(store_.checkpoint(trunk_id));
    }
    if (state.step != step && !state.diverged)
      fail(Exit::data,
           "{}: the checkpoint that this training goes on from is missing; "
           "'--rerun all' trains the trunk again",
           file.string());
  }

  // Steps at which others branch off that the training has passed without a sound checkpoint.
  std::vector<std::int64_t> branches_behind(const fs::path& last) const {
    std::vector<std::int64_t> behind;
    try {
      const std::int64_t passed = fs::exists(last) ? checkpoint_state(last).step : 0;
      for (const std::int64_t step : work_.branches) {
        if (store_.has_branch(training_id_, step)) continue;
        std::error_code ignored;  // a damaged one is saved again
        if (group_.leads()) fs::remove(store_.branch(training_id_, step), ignored);
        if (step < passed) behind.push_back(step);
      }
    } catch (const Error&) {  // a damaged file has passed nothing
    }
    return behind;
  }

  // Trains up to them once more, which gives the same bits.
  TrainOutcome retrace(const std::vector<std::int64_t>& steps) {
    const std::int64_t furthest = *std::max_element(steps.begin(), steps.end());
    log(fmt::format("training again up to step {}, where another training branches off", furthest));
    TrainPaths paths;
    const fs::path passed = store_.checkpoints(training_id_) / "retrace.safetensors";
    paths.last = passed;
    try {
      stage_.load(passed);
    } catch (const Error&) {  // there is none, or no sound one
      stage_.restart();
      start();
    }
    const TrainOutcome outcome = train_to(furthest, std::move(paths));
    std::error_code ignored;
    if (outcome == TrainOutcome::paused && group_.leads()) fs::remove(passed, ignored);
    return outcome;
  }

  void add(TrainState& state, const char* metric, const char* unit, const char* direction,
           double value) const {
    Observation o;
    o.metric = metric, o.unit = unit, o.direction = direction, o.split = "train", o.value = value;
    o.coords["train_len"] = train_.first_length();
    o.step = state.step, o.tokens = state.tokens, o.seconds = state.seconds;
    state.observations.push_back(std::move(o));
  }
  void add_sizes(TrainState& state) const {
    add(state, "parameters", "count", "none", static_cast<double>(model().count()));
    add(state, "encoding_parameters", "count", "none",
        static_cast<double>(model().encoding_count()));
  }
  void add_costs(TrainState& state) const {
    add_sizes(state);
    if (const double rate = product_rate(*backend_); rate > 0)
      add(state, "mfu", "share", "higher", state.flops / state.seconds / rate);
    add(state, "tokens_per_s", "tokens/s", "higher",
        static_cast<double>(state.tokens) / state.seconds);
    add(state, "peak_memory", "bytes", "lower", peak_memory());
  }

  void evaluate_part(const CellEval& e, bool diverged, double done, double work) {
    const fs::path path = store_.evaluation(id_, part_id(e));
    if (store_.has_evaluation(id_, e, diverged)) return;
    const EvalConfig config = eval_config_of(cell_, e.config);
    const auto heard = [&](double share) {
      progress({fmt::format("eval {}", e.length), train_.steps, train_.steps, 0, 0,
                (done + share * work) / total_work_});
    };
    std::vector<Observation> found;
    if (e.probe) {
      if (!diverged) found = probe_part(e, config, heard);
    } else if (diverged) {
      Observation o;
      o.metric = "nll", o.unit = config.protocols.empty() ? "nats/target" : "nats/token";
      o.direction = "lower", o.status = "diverged";
      o.split = config.trained_on(e.length) ? "id" : "ood";
      o.coords = {{"train_len", config.train_length}, {"eval_len", e.length}};
      found.push_back(std::move(o));
    } else {
      try {
        found =
            evaluate(model(), asked_task(), config, e.length, cell_.seed, stage_.state.step, heard);
      } catch (const Refusal& error) {
        if (config.trained_on(e.length)) throw;
        log(fmt::format("{} tokens: {}; its loss there is recorded as infinite", e.length,
                        error.what()));
        found = beyond_reach(e.length, config);
      }
    }
    for (Observation& o : found) {
      o.step = stage_.state.step;
      o.tokens = stage_.state.tokens;
      o.flops = stage_.state.flops;
      o.seconds = stage_.state.seconds;
    }
    for (const Observation& o : found)
      if (o.whole() && (o.metric == "nll" || o.metric == "acc"))
        log(fmt::format("{} {} {}", o.metric, o.coords.dump(), format_fixed(o.value, 4)));
    stage_.check();
    if (asked_) check_unchanged(catalog_, *asked_, cell_.asked, cell_.asked_identity);
    Json more = {{"determinism", level_}};
    if (config.limit > 0) more["limit"] = config.limit;
    write_observations(path, found, model(), backend_->attention_route(), more);
  }

  // A length that the encoding refuses, such as one beyond its table: an infinite loss, not a cell
  // that is lost.
  static std::vector<Observation> beyond_reach(int length, const EvalConfig& config) {
    std::vector<Observation> out;
    Observation o;
    o.metric = "nll", o.unit = config.protocols.empty() ? "nats/target" : "nats/token";
    o.direction = "lower", o.split = "ood";
    o.value = std::numeric_limits<double>::infinity();
    o.settle();
    o.coords = {{"train_len", config.train_length}, {"eval_len", length}};
    if (config.protocols.empty()) return {o};
    for (const Protocol& p : config.protocols) {
      o.coords["protocol"] = p.text();
      out.push_back(o);
    }
    return out;
  }

  std::vector<Observation> probe_part(const CellEval& e, const EvalConfig& config,
                                      const std::function<void(double)>& heard) {
    if (e.probe->kind != ProbeKind::maps)
      return probe(model(), asked_task(), config, *e.probe, e.length, cell_.seed, stage_.state.step,
                   heard);
    const std::string& encoding = cell_.evaluation.empty() ? encoding_of(cell_) : cell_.evaluation;
    write_maps(store_.maps(id_, part_id(e)), model(), asked_task(), config, *e.probe, e.length,
               cell_.seed, stage_.state.step,
               {{"cell", id_},
                {"encoding", encoding},
                {"task", cell_.task},
                {"seed", std::to_string(cell_.seed)},
                {"step", std::to_string(stage_.state.step)}});
    return {};
  }

  const CellWork& work_;
  const CellConfig& cell_;
  const CellConfig training_;
  const TrainConfig train_;
  const Store& store_;
  const CellWatch& watch_;
  Group& group_;
  std::string id_, training_id_;
  Catalog catalog_;
  Task task_;
  std::optional<Task> asked_;  // what the model is asked instead
  std::unique_ptr<Backend> backend_;
  Stage stage_;
  std::string level_;  // of the numbers it writes
  double train_work_ = 0, total_work_ = 0;
  std::vector<double> eval_work_;
};

}  // namespace

CellOutcome run_cell(const CellWork& work, const Store& store,
                     const std::vector<std::string>& plugin_path, const CellWatch& watch,
                     Group& group) {
  return Work(work, store, plugin_path, watch, group).run();
}

}  // namespace pesuite
