#include "cell/cell.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/file.h"
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

Json to_json(const Schedule& s) {
  return {{"kind", schedule_name(s.kind)},
          {"warmup", s.warmup},
          {"decay", s.decay},
          {"floor", s.floor}};
}
Schedule schedule_from_json(const Json& j) {
  Schedule s;
  s.kind = schedule_kind(j.at("kind").get<std::string>());
  s.warmup = j.at("warmup"), s.decay = j.at("decay"), s.floor = j.at("floor");
  return s;
}

}  // namespace

Json to_json(const ModelConfig& c) {
  Json j = {{"width", c.width},
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
  if (c.positions > 0) j["positions"] = c.positions;
  return j;
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
  c.positions = j.value("positions", 0);
  return c;
}

Json to_json(const TrainConfig& c) {
  const OptimizerConfig& o = c.optimizer;
  Json j = {{"train_len", c.length},
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
            {"schedule", to_json(c.schedule)},
            {"dropout_steps", c.dropout_steps},
            {"log_every", c.log_every},
            {"eval_every", c.eval_every},
            {"checkpoint_every", c.checkpoint_every},
            {"validation_examples", c.validation_examples},
            {"keep_periodic", c.keep_periodic},
            {"keep_best", c.keep_best}};
  if (c.lengths.kind != LengthKind::fixed)  // absent: so that cells of before keep their ids
    j["lengths"] = {{"kind", length_kind_name(c.lengths.kind)},
                    {"min", c.lengths.least},
                    {"stride", c.lengths.stride},
                    {"over", c.lengths.over},
                    {"shorter", c.lengths.shorter},
                    {"per", c.lengths.per_step ? "step" : "example"}};
  if (c.lengths.fill > 0) j["fill"] = c.lengths.fill;
  if (c.lengths.shots > 0) j["shots"] = c.lengths.shots;
  return j;
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
  c.schedule = schedule_from_json(j.at("schedule"));
  c.dropout_steps = j.at("dropout_steps"), c.log_every = j.at("log_every");
  c.eval_every = j.at("eval_every"), c.checkpoint_every = j.at("checkpoint_every");
  c.validation_examples = j.at("validation_examples");
  c.keep_periodic = j.at("keep_periodic"), c.keep_best = j.at("keep_best");
  if (j.contains("lengths")) {
    const Json& l = j.at("lengths");
    for (const LengthKind kind : {LengthKind::uniform, LengthKind::growing})
      if (l.at("kind") == length_kind_name(kind)) c.lengths.kind = kind;
    c.lengths.least = l.at("min"), c.lengths.stride = l.at("stride");
    c.lengths.over = l.at("over"), c.lengths.shorter = l.at("shorter");
    c.lengths.per_step = l.at("per") == "step";
  }
  c.lengths.fill = j.value("fill", 0);
  c.lengths.shots = j.value("shots", 0);
  return c;
}

namespace {

// With the settings of its kind, and no others.
Json to_json(const ProbeConfig& p) {
  Json j = {{"kind", probe_names()[static_cast<std::size_t>(p.kind)]}};
  if (p.kind == ProbeKind::offset) j["offsets"] = p.offsets;
  if (p.kind == ProbeKind::bands) j["bands"] = p.bands;
  if (p.kind == ProbeKind::maps)
    j.update({{"example", p.example}, {"layers", p.layers}, {"heads", p.heads}});
  return j;
}
ProbeConfig probe_from_json(const Json& j) {
  ProbeConfig p;
  p.kind = parse_probe(j.at("kind").get<std::string>());
  if (p.kind == ProbeKind::offset) p.offsets = j.at("offsets").get<std::vector<int>>();
  if (p.kind == ProbeKind::bands) p.bands = j.at("bands");
  if (p.kind == ProbeKind::maps) {
    p.example = j.at("example");
    p.layers = j.at("layers").get<std::vector<int>>();
    p.heads = j.at("heads").get<std::vector<int>>();
  }
  return p;
}

}  // namespace

Json to_json(const CellEval& e) {
  Json protocols = Json::array(), axes = Json::object();
  for (const Protocol& p : e.config.protocols) protocols.push_back(p.text());
  for (const EvalAxis& a : e.config.axes) axes[a.name] = a.values;
  int longest = e.length;
  for (const int l : e.config.lengths) longest = std::max(longest, l);
  Json j = {{"eval_len", e.length},
            {"longest", longest},
            {"reach", e.reach},
            {"protocols", protocols},
            {"examples", e.config.examples},
            {"axes", axes},
            {"train_len", e.config.train_length}};
  if (e.probe) j["probe"] = to_json(*e.probe);
  return j;
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
  if (j.contains("probe")) e.probe = probe_from_json(j.at("probe"));
  return e;
}

namespace {

Json to_json(const SwitchConfig& s) {
  return {{"step", s.step},
          {"encoding", s.encoding},
          {"optimizer", s.reset_optimizer ? "reset" : "keep"},
          {"qk_norm", qk_norms[static_cast<int>(s.qk_norm)]},
          {"train_len", s.length},
          {"batch", s.batch},
          {"micro_batch", s.micro_batch},
          {"lr", s.lr},
          {"schedule", to_json(s.schedule)},
          {"schedule_start", s.schedule_start}};
}
SwitchConfig switch_from_json(const Json& j) {
  SwitchConfig s;
  s.step = j.at("step"), s.encoding = j.at("encoding");
  s.reset_optimizer = j.at("optimizer") == "reset";
  s.qk_norm = named<QkNorm>(j.at("qk_norm"), qk_norms);
  s.length = j.at("train_len"), s.batch = j.at("batch"), s.micro_batch = j.at("micro_batch");
  s.lr = j.at("lr"), s.schedule = schedule_from_json(j.at("schedule"));
  s.schedule_start = j.at("schedule_start");
  return s;
}

}  // namespace

Json to_json(const CellConfig& c) {
  Json j = {{"schema", "pesuite.cell/1"},
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
  for (const SwitchConfig& s : c.switches) j["switches"].push_back(to_json(s));
  if (!c.evaluation.empty()) j["evaluation"] = c.evaluation;
  for (const CellMix& m : c.mix)
    j["mix"].push_back({{"task", m.task},
                        {"task_identity", m.identity},
                        {"share", m.share},
                        {"alphabet", m.same_alphabet ? "same" : "own"},
                        {"max_len", m.max_length}});
  return j;
}

CellConfig cell_from_json(const Json& j) {
  CellConfig c;
  c.encoding = j.at("encoding"), c.task = j.at("task"), c.max_length = j.at("max_len");
  c.encoding_identity =
      j.at("encoding_identity").get<std::map<std::string, std::map<std::string, std::string>>>();
  c.task_identity = j.at("task_identity").get<std::map<std::string, std::string>>();
  c.model = model_from_json(j.at("model"));
  c.train = train_from_json(j.at("train"));
  for (const Json& m : j.value("mix", Json::array()))
    c.mix.push_back({m.at("task"), m.at("task_identity").get<std::map<std::string, std::string>>(),
                     m.at("share"), m.at("alphabet") == "same", m.at("max_len")});
  c.seed = j.at("seed"), c.backend = j.at("backend");
  c.precision = parse_precision(j.at("precision").get<std::string>());
  for (const Json& s : j.value("switches", Json::array()))
    c.switches.push_back(switch_from_json(s));
  c.evaluation = j.value("evaluation", std::string());
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
  j["task_identity"].erase("build");
  for (auto& [name, identity] : j["encoding_identity"].items()) identity.erase("build");
  if (j.contains("mix"))
    for (Json& m : j["mix"]) m["task_identity"].erase("build");
  return sha256(canonical(j)).substr(0, 16);
}

std::string part_id(const CellEval& e) {
  return sha256(canonical(to_json(e))).substr(0, 8);
}

std::vector<Task> make_mixed_tasks(const Catalog& catalog, const CellConfig& c) {
  std::vector<Task> out;
  for (const CellMix& m : c.mix)
    out.emplace_back(catalog, parse_expression(m.task, "task"), c.train.length, m.max_length);
  return out;
}

Mixture make_mixture(const Task& own, const std::vector<Task>& mixed,
                     const std::vector<CellMix>& shares) {
  Mixture m(own);
  for (std::size_t i = 0; i < mixed.size(); ++i)
    m.add(mixed[i], shares[i].share, shares[i].same_alphabet);
  return m;
}

std::string data_text(const CellConfig& c) {
  std::string out;
  double rest = 1;
  for (const CellMix& m : c.mix) rest -= m.share;
  const auto part = [&](double share, const std::string& task) {
    out += fmt::format("{}{:.4g} % {}", out.empty() ? "" : ", ", 100 * share, task);
  };
  if (!c.mix.empty()) part(rest, c.task);
  for (const CellMix& m : c.mix) part(m.share, m.task);
  const LengthPlan& l = c.train.lengths;
  if (l.fill > 0)
    out += fmt::format("{}0 to {} FILL before each example", out.empty() ? "" : "; ", l.fill);
  if (l.shots > 0)
    out += fmt::format("{}0 to {} solved examples before each", out.empty() ? "" : "; ", l.shots);
  if (l.kind == LengthKind::fixed) return out;
  const std::vector<int> all = l.all(c.train.length);
  out += fmt::format("{}lengths {} to {}{}", out.empty() ? "" : "; ", all.front(), all.back(),
                     l.stride > 1 ? fmt::format(" by {}", l.stride) : "");
  if (l.kind == LengthKind::growing)
    out += fmt::format(", growing in {} steps{}", l.over, l.shorter ? "" : ", none shorter");
  return out + (l.per_step ? ", one a step" : "");
}

// ------------------------------------------------------------------------- stages of training

namespace {

// Identities of the encodings that occur, and of no others.
void forget_unused(CellConfig& c) {
  std::set<std::string> used;
  const auto add = [&](const std::string& sum) {
    if (!sum.empty())
      for (const std::string& name : names_of(parse_encoding(sum).first)) used.insert(name);
  };
  add(c.encoding);
  for (const SwitchConfig& s : c.switches) add(s.encoding);
  add(c.evaluation);
  std::erase_if(c.encoding_identity, [&](const auto& i) { return !used.contains(i.first); });
}

}  // namespace

CellConfig training_of(const CellConfig& cell) {
  CellConfig c = cell;
  c.evaluation.clear();
  forget_unused(c);
  return c;
}
CellConfig trunk_of(const CellConfig& cell) {
  PES_CHECK(!cell.switches.empty());
  CellConfig c = cell;
  c.switches.pop_back();
  return training_of(c);
}

const std::string& encoding_of(const CellConfig& c) {
  return c.switches.empty() ? c.encoding : c.switches.back().encoding;
}
ModelConfig model_of(const CellConfig& c) {
  ModelConfig m = c.model;
  if (!c.switches.empty()) m.qk_norm = c.switches.back().qk_norm;
  return m;
}
TrainConfig train_of(const CellConfig& c) {
  TrainConfig t = c.train;
  t.began_length = t.length;
  for (const SwitchConfig& s : c.switches) {
    t.length = s.length, t.batch = s.batch, t.micro_batch = s.micro_batch;
    t.optimizer.lr = s.lr, t.schedule = s.schedule, t.schedule_start = s.schedule_start;
    if (s.reset_optimizer) t.optimizer_start = s.step;
  }
  return t;
}
std::int64_t first_step(const CellConfig& c) {
  return c.switches.empty() ? 0 : c.switches.back().step;
}
int longest_trained(const CellConfig& c) {
  int longest = c.train.length;
  for (const SwitchConfig& s : c.switches) longest = std::max(longest, s.length);
  return longest;
}
EvalConfig eval_config_of(const CellConfig& c, EvalConfig asked) {
  asked.train_length = c.train.length;
  asked.longest_trained = longest_trained(c);
  asked.fill_trained = c.train.lengths.fill;
  asked.shots_trained = c.train.lengths.shots;
  asked.pass_tokens = usual_pass_tokens(c.backend);
  return asked;
}
double train_flops(const CellConfig& c) {
  double flops = 0;
  std::int64_t end = c.train.steps;
  for (CellConfig stage = c;; stage = trunk_of(stage)) {
    const TrainConfig t = train_of(stage);
    flops += 3 * forward_flops(model_of(stage), t.length) * t.tokens_read(first_step(stage), end);
    end = first_step(stage);
    if (stage.switches.empty()) return flops;
  }
}

Composition make_encoding(const Catalog& catalog, const std::string& expression,
                          const CellConfig& c) {
  return compose(catalog, expression, shape_of(c.model, c.train.length, c.max_length));
}

}  // namespace pesuite
