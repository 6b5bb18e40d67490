#include "suite/cell.h"

#include <cmath>

#include "base/error.h"
#include "base/file.h"
#include "base/isolate.h"
#include "base/text.h"

namespace pesuite {

namespace {

constexpr const char* norms[] = {"layernorm", "rmsnorm"};
constexpr const char* activations[] = {"gelu", "swiglu"};
constexpr const char* qk_norms[] = {"off", "before", "after"};
constexpr const char* inits[] = {"normal", "fan_in"};

template <class E, std::size_t N>
E named(const Json& j, const char* const (&names)[N]) {
  for (std::size_t i = 0; i < N; ++i)
    if (j == names[i]) return static_cast<E>(i);
  fail(Exit::data, "a stored configuration holds {}, which this pesuite does not know", j.dump());
}

}  // namespace

Json to_json(const ModelConfig& c) {
  return {{"width", c.width},
          {"layers", c.layers},
          {"heads", c.heads},
          {"kv_heads", c.groups()},
          {"ff_width", c.ff_width},
          {"norm", norms[static_cast<int>(c.norm)]},
          {"norm_eps", c.norm_eps},
          {"activation", activations[static_cast<int>(c.activation)]},
          {"qk_norm", qk_norms[static_cast<int>(c.qk_norm)]},
          {"tie_embedding", c.tied},
          {"parallel_residual", c.parallel},
          {"attention_bias", c.attention_bias},
          {"mlp_bias", c.mlp_bias},
          {"head_bias", c.head_bias},
          {"dropout", c.dropout},
          {"init", inits[static_cast<int>(c.init)]},
          {"vocabulary", c.vocabulary},
          {"classes", c.outputs()}};
}

ModelConfig model_from_json(const Json& j) {
  ModelConfig c;
  c.width = j.at("width"), c.layers = j.at("layers"), c.heads = j.at("heads");
  c.kv_heads = j.at("kv_heads"), c.ff_width = j.at("ff_width"), c.norm_eps = j.at("norm_eps");
  c.norm = named<Norm>(j.at("norm"), norms);
  c.activation = named<Activation>(j.at("activation"), activations);
  c.qk_norm = named<QkNorm>(j.at("qk_norm"), qk_norms);
  c.tied = j.at("tie_embedding"), c.parallel = j.at("parallel_residual");
  c.attention_bias = j.at("attention_bias"), c.mlp_bias = j.at("mlp_bias");
  c.head_bias = j.at("head_bias"), c.dropout = j.at("dropout");
  c.init = named<Init>(j.at("init"), inits);
  c.vocabulary = j.at("vocabulary"), c.classes = j.at("classes");
  return c;
}

Json to_json(const TrainConfig& c) {
  const OptimizerConfig& o = c.optimizer;
  return {{"train_len", c.length},
          {"batch", c.batch},
          {"micro_batch", c.pass_size()},
          {"steps", c.steps},
          {"optimizer",
           {{"name", "adamw"},
            {"lr", o.lr},
            {"betas", {o.beta1, o.beta2}},
            {"eps", o.eps},
            {"weight_decay", o.weight_decay},
            {"clip", o.clip}}},
          {"schedule",
           {{"kind", schedule_name(c.schedule.kind)},
            {"warmup", c.schedule.warmup},
            {"decay", c.schedule.decay},
            {"floor", c.schedule.floor}}},
          {"dropout_steps", c.dropout_steps},
          {"log_every", c.log_every},
          {"eval_every", c.eval_every},
          {"checkpoint_every", c.checkpoint_every},
          {"validation_examples", c.validation_examples},
          {"keep_periodic", c.keep_periodic},
          {"keep_best", c.keep_best}};
}

TrainConfig train_from_json(const Json& j) {
  TrainConfig c;
  c.length = j.at("train_len"), c.batch = j.at("batch"), c.micro_batch = j.at("micro_batch");
  c.steps = j.at("steps");
  const Json& o = j.at("optimizer");
  c.optimizer.lr = o.at("lr");
  c.optimizer.beta1 = o.at("betas").at(0), c.optimizer.beta2 = o.at("betas").at(1);
  c.optimizer.eps = o.at("eps"), c.optimizer.weight_decay = o.at("weight_decay");
  c.optimizer.clip = o.at("clip");
  const Json& s = j.at("schedule");
  for (const ScheduleKind kind :
       {ScheduleKind::constant, ScheduleKind::linear, ScheduleKind::cosine,
        ScheduleKind::inverse_sqrt, ScheduleKind::wsd})
    if (s.at("kind") == schedule_name(kind)) c.schedule.kind = kind;
  c.schedule.warmup = s.at("warmup"), c.schedule.decay = s.at("decay");
  c.schedule.floor = s.at("floor");
  c.dropout_steps = j.at("dropout_steps"), c.log_every = j.at("log_every");
  c.eval_every = j.at("eval_every"), c.checkpoint_every = j.at("checkpoint_every");
  c.validation_examples = j.at("validation_examples");
  c.keep_periodic = j.at("keep_periodic"), c.keep_best = j.at("keep_best");
  return c;
}

Json to_json(const CellEval& e) {
  Json protocols = Json::array(), axes = Json::object();
  for (const Protocol& p : e.config.protocols) protocols.push_back(p.text());
  for (const EvalAxis& a : e.config.axes) axes[a.name] = a.values;
  int longest = e.length;
  for (const int l : e.config.lengths) longest = std::max(longest, l);
  return {{"eval_len", e.length},
          {"longest", longest},
          {"reach", e.reach},
          {"protocols", protocols},
          {"examples", e.config.examples},
          {"axes", axes},
          {"train_len", e.config.train_length}};
}

CellEval eval_from_json(const Json& j) {
  CellEval e;
  e.length = j.at("eval_len");
  e.reach = j.at("reach");
  e.config.lengths = {e.length, j.at("longest")};
  for (const Json& p : j.at("protocols"))
    e.config.protocols.push_back(parse_protocol(p.get<std::string>()));
  e.config.examples = j.at("examples");
  for (const auto& [name, values] : j.at("axes").items())
    e.config.axes.push_back({name, values.get<std::vector<double>>()});
  e.config.train_length = j.at("train_len");
  return e;
}

Json to_json(const CellConfig& c) {
  return {{"schema", "pesuite.cell/1"},
          {"numerics_epoch", numerics_epoch},
          {"encoding", c.encoding},
          {"encoding_identity", c.encoding_identity},
          {"task", c.task},
          {"task_identity", c.task_identity},
          {"max_len", c.max_length},
          {"model", to_json(c.model)},
          {"train", to_json(c.train)},
          {"seed", c.seed},
          {"backend", c.backend},
          {"precision", precision_name(c.precision)}};
}

CellConfig cell_from_json(const Json& j) {
  CellConfig c;
  c.encoding = j.at("encoding"), c.task = j.at("task"), c.max_length = j.at("max_len");
  c.encoding_identity = j.at("encoding_identity").get<std::map<std::string, std::string>>();
  c.task_identity = j.at("task_identity").get<std::map<std::string, std::string>>();
  c.model = model_from_json(j.at("model"));
  c.train = train_from_json(j.at("train"));
  c.seed = j.at("seed"), c.backend = j.at("backend");
  c.precision = parse_precision(j.at("precision").get<std::string>());
  return c;
}

std::string cell_identity(const CellConfig& c) {
  return canonical(to_json(c));
}
std::string cell_id(const CellConfig& c) {
  return sha256(cell_identity(c)).substr(0, 16);
}

std::string series_id(const CellConfig& c) {
  Json j = to_json(c);
  j.erase("seed");
  for (const char* identity : {"encoding_identity", "task_identity"}) j[identity].erase("build");
  return sha256(canonical(j)).substr(0, 16);
}

std::string part_id(const CellEval& e) {
  return sha256(canonical(to_json(e))).substr(0, 8);
}

// ---------------------------------------------------------------------------------- the work

namespace {

void write_observations(const fs::path& path, const std::vector<Observation>& all,
                        const Model& model) {
  std::string text;
  const std::string now = utc_timestamp();
  for (const Observation& o : all) {
    Json j = to_json(o);
    j["path"] = path_name(model.path());
    j["ts"] = now;
    text += j.dump() + "\n";
  }
  write_file_atomic(path, text);
}

class Work {
 public:
  Work(const CellConfig& cell, const std::vector<CellEval>& evals, const Store& store,
       const std::vector<std::string>& plugin_path, int threads, const CellWatch& watch)
      : cell_(cell),
        evals_(evals),
        store_(store),
        watch_(watch),
        id_(cell_id(cell)),
        catalog_(open_catalog(plugin_search_path(plugin_path))),
        task_(catalog_, parse_expression(cell.task, "task"), cell.train.length, cell.max_length,
              evals.empty() ? 0 : evals.front().reach),
        backend_(open_backend(cell.backend, {.threads = threads, .precision = cell.precision})),
        model_(
            *backend_, cell.model,
            Encoding(catalog_, parse_expression(cell.encoding),
                     {cell.model.layers, cell.model.heads, cell.model.groups(),
                      cell.model.head_dim(), cell.model.width, cell.train.length, cell.max_length}),
            cell.seed) {
    const double token = forward_flops(cell.model, cell.train.length);
    train_work_ = 3 * token * static_cast<double>(cell.train.steps * cell.train.tokens_per_step());
    for (const CellEval& e : evals_)
      eval_work_.push_back(tokens_read(e.config, task_, e.length) *
                           forward_flops(cell.model, e.length));
    total_work_ = train_work_;
    for (const double w : eval_work_) total_work_ += w;
  }

  CellOutcome go() {
    log(fmt::format("cell {}: {} on {}, seed {}; {} parameters, {} of them the encoding's; {}", id_,
                    cell_.encoding, cell_.task, cell_.seed, model_.count(), model_.encoding_count(),
                    backend_->description()));
    if (task_.info().note != nullptr) log(task_.info().note);
    const TrainOutcome trained = train_or_load();
    if (trained == TrainOutcome::stopped) return CellOutcome::stopped;
    double done = train_work_;
    for (std::size_t i = 0; i < evals_.size(); ++i) {
      if (watch_.stop != nullptr && watch_.stop->load()) return CellOutcome::stopped;
      evaluate_part(evals_[i], trained == TrainOutcome::diverged, done, eval_work_[i]);
      done += eval_work_[i];
    }
    return trained == TrainOutcome::diverged ? CellOutcome::diverged : CellOutcome::done;
  }

 private:
  void log(const std::string& line) const {
    if (watch_.log) watch_.log(line);
  }
  void progress(CellProgress p) const {
    if (watch_.progress) watch_.progress(p);
  }

  TrainOutcome train_or_load() {
    TrainState& state = trained_;
    const fs::path last = store_.checkpoint(id_);
    // without its weights a finished training is of no use: it is done again
    const bool trained = fs::exists(store_.training(id_)) && fs::exists(last);
    if (fs::exists(last)) {
      try {
        load_checkpoint(last, model_, state, cell_identity(cell_));
        if (!trained) log(fmt::format("going on from step {}", state.step));
      } catch (const Error& e) {
        if (trained) throw;
        log(fmt::format("starting over: {}", e.what()));
        fail_over(state);
      }
    }
    if (trained) return state.diverged ? TrainOutcome::diverged : TrainOutcome::finished;
    TrainPaths paths;
    paths.last = last;
    paths.best = store_.best(id_);
    paths.periodic = [&](std::int64_t step) {
      return store_.cell(id_) / "ckpt" / fmt::format("step_{}.safetensors", step);
    };
    TrainWatch watch;
    watch.stop = watch_.stop;
    watch.log = watch_.log;
    watch.progress = [&](const TrainState& s, double loss) {
      const double share = static_cast<double>(s.step) / static_cast<double>(cell_.train.steps);
      progress({"train", s.step, cell_.train.steps, loss, static_cast<double>(s.tokens) / s.seconds,
                share * train_work_ / total_work_});
    };
    const TrainOutcome outcome =
        train(model_, task_, cell_.train, cell_.seed, cell_identity(cell_), paths, watch, state);
    if (outcome == TrainOutcome::stopped) return outcome;
    add_costs(state);
    write_observations(store_.training(id_), state.observations, model_);
    return outcome;
  }

  // A checkpoint that could not be read may have filled parts of the model: make it new.
  void fail_over(TrainState& state) {
    state = {};
    std::error_code ignored;
    fs::remove(store_.checkpoint(id_), ignored);
    model_.restart(cell_.seed);
  }

  void add_costs(TrainState& state) const {
    const auto add = [&](const char* metric, const char* unit, const char* direction,
                         double value) {
      Observation o;
      o.metric = metric, o.unit = unit, o.direction = direction, o.split = "train", o.value = value;
      o.coords["train_len"] = cell_.train.length;
      o.step = state.step, o.tokens = state.tokens, o.seconds = state.seconds;
      state.observations.push_back(std::move(o));
    };
    add("parameters", "count", "none", static_cast<double>(model_.count()));
    add("encoding_parameters", "count", "none", static_cast<double>(model_.encoding_count()));
    add("tokens_per_s", "tokens/s", "higher", static_cast<double>(state.tokens) / state.seconds);
    add("peak_memory", "bytes", "lower", peak_memory());
  }

  void evaluate_part(const CellEval& e, bool diverged, double done, double work) {
    const fs::path path = store_.evaluation(id_, part_id(e));
    if (fs::exists(path)) return;
    std::vector<Observation> found;
    if (diverged) {
      Observation o;
      o.metric = "nll", o.unit = e.config.protocols.empty() ? "nats/target" : "nats/token";
      o.direction = "lower", o.status = "diverged";
      o.split = e.length <= e.config.train_length ? "id" : "ood";
      o.coords = {{"train_len", e.config.train_length}, {"eval_len", e.length}};
      found.push_back(std::move(o));
    } else {
      found =
          evaluate(model_, task_, e.config, e.length, cell_.seed, trained_.step, [&](double share) {
            progress({fmt::format("eval {}", e.length), cell_.train.steps, cell_.train.steps, 0, 0,
                      (done + share * work) / total_work_});
          });
    }
    for (Observation& o : found) {
      o.step = trained_.step;
      o.tokens = trained_.tokens;
      o.flops =
          train_work_ * static_cast<double>(trained_.step) / static_cast<double>(cell_.train.steps);
      o.seconds = trained_.seconds;
    }
    for (const Observation& o : found)
      if (!o.coords.contains("pos_lo") && (o.metric == "nll" || o.metric == "acc"))
        log(fmt::format("{} {} {}", o.metric, o.coords.dump(), format_fixed(o.value, 4)));
    write_observations(path, found, model_);
  }

  const CellConfig& cell_;
  const std::vector<CellEval>& evals_;
  const Store& store_;
  const CellWatch& watch_;
  std::string id_;
  Catalog catalog_;
  Task task_;
  std::unique_ptr<Backend> backend_;
  Model model_;
  TrainState trained_;
  double train_work_ = 0, total_work_ = 0;
  std::vector<double> eval_work_;
};

}  // namespace

CellOutcome run_cell(const CellConfig& cell, const std::vector<CellEval>& evals, const Store& store,
                     const std::vector<std::string>& plugin_path, int threads,
                     const CellWatch& watch) {
  return Work(cell, evals, store, plugin_path, threads, watch).go();
}

}  // namespace pesuite
