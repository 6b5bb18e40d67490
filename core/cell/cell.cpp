#include "cell/cell.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/json_error.h"
#include "base/text.h"
#include "model/fields.h"

namespace pesuite {

namespace {

template <class E>
E stored_name(const Json& j) {
  const std::vector<std::string> names = value_names(E{});
  const auto found =
      std::find(names.begin(), names.end(), j.is_string() ? j.get<std::string>() : "");
  if (found == names.end())
    fail(Exit::data, "a stored configuration holds {}, which this pesuite does not know", j.dump());
  return static_cast<E>(found - names.begin());
}

// Walks of lists of fields, see model/fields.h.
struct FieldWriter {
  Json& json;

  template <class T>
  void operator()(const Field& f, const T& value) {
    if (f.optional && value == T{}) return;
    if constexpr (std::is_enum_v<T>)
      json[f.name] = value_names(value)[static_cast<std::size_t>(value)];
    else
      json[f.name] = value;
  }
  void either(const Field& f, bool value, const char* no, const char* yes) {
    json[f.name] = value ? yes : no;
  }
  void pair(const Field& f, double a, double b) { json[f.name] = {a, b}; }
  void constant(const Field& f, const char* text) { json[f.name] = text; }
  template <class Body>
  void group(const Field& f, bool there, Body body) {
    if (!there) return;
    Json table = Json::object();
    FieldWriter inner{table};
    body(inner);
    json[f.name] = std::move(table);
  }
};

struct FieldReader {
  const Json& json;

  bool lacks(const Field& f) const { return f.optional && !json.contains(f.name); }
  template <class T>
  void operator()(const Field& f, T& value) {
    if (lacks(f)) return;
    if constexpr (std::is_enum_v<T>)
      value = stored_name<T>(json.at(f.name));
    else
      value = json.at(f.name).get<T>();
  }
  void either(const Field& f, bool& value, const char*, const char* yes) {
    value = json.at(f.name) == yes;
  }
  void pair(const Field& f, double& a, double& b) {
    a = json.at(f.name).at(0), b = json.at(f.name).at(1);
  }
  void constant(const Field&, const char*) {}
  template <class Body>
  void group(const Field& f, bool, Body body) {
    if (lacks(f)) return;
    FieldReader inner{json.at(f.name)};
    body(inner);
  }
};

Json to_json(const Schedule& s) {
  Json j = Json::object();
  walk_schedule(s, FieldWriter{j});
  return j;
}
Schedule schedule_from_json(const Json& j) {
  Schedule s;
  walk_schedule(s, FieldReader{j});
  return s;
}

}  // namespace

Json to_json(const ModelConfig& given) {
  ModelConfig c = given;  // with what its zeros stand for
  c.kv_heads = c.groups(), c.classes = c.outputs();
  Json j = Json::object();
  walk_model(c, FieldWriter{j});
  walk_alphabet(c, FieldWriter{j});
  return j;
}

ModelConfig model_from_json(const Json& j) {
  ModelConfig c;
  walk_model(c, FieldReader{j});
  walk_alphabet(c, FieldReader{j});
  return c;
}

Json to_json(const TrainConfig& given) {
  TrainConfig c = given;
  c.micro_batch = c.pass_size();
  Json j = Json::object();
  walk_steps(c, FieldWriter{j});
  walk_training(c, FieldWriter{j});
  return j;
}

TrainConfig train_from_json(const Json& j) {
  TrainConfig c;
  walk_steps(c, FieldReader{j});
  walk_training(c, FieldReader{j});
  return c;
}

namespace {

// With the settings of its kind, and no others.
Json to_json(const ProbeConfig& p) {
  Json j = {{"kind", probe_names()[static_cast<std::size_t>(p.kind)]}};
  if (p.kind == ProbeKind::offset) j["offsets"] = p.offsets;
  if (p.kind == ProbeKind::shuffled) j["kept"] = p.kept;
  if (p.kind == ProbeKind::bands) j["bands"] = p.bands;
  if (p.kind == ProbeKind::maps)
    j.update({{"example", p.example}, {"layers", p.layers}, {"heads", p.heads}});
  return j;
}
ProbeConfig probe_from_json(const Json& j) {
  ProbeConfig p;
  p.kind = parse_probe(j.at("kind").get<std::string>());
  if (p.kind == ProbeKind::offset) p.offsets = j.at("offsets").get<std::vector<int>>();
  if (p.kind == ProbeKind::shuffled) p.kept = j.at("kept").get<std::vector<int>>();
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
  if (e.config.limit > 0) j["limit"] = e.config.limit;  // so it is never taken for a whole one
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
  e.config.limit = j.value("limit", 0);
  if (j.contains("probe")) e.probe = probe_from_json(j.at("probe"));
  return e;
}

namespace {

Json to_json(const SwitchConfig& s) {
  Json j = {{"step", s.step},
            {"encoding", s.encoding},
            {"optimizer", s.reset_optimizer ? "reset" : "keep"},
            {"qk_norm", value_names(s.qk_norm)[static_cast<std::size_t>(s.qk_norm)]},
            {"train_len", s.length},
            {"batch", s.batch},
            {"micro_batch", s.micro_batch},
            {"lr", s.lr},
            {"schedule", to_json(s.schedule)},
            {"schedule_start", s.schedule_start}};
  if (s.trunk_steps > 0) j["trunk_steps"] = s.trunk_steps;
  return j;
}
SwitchConfig switch_from_json(const Json& j) {
  SwitchConfig s;
  s.step = j.at("step"), s.encoding = j.at("encoding");
  s.reset_optimizer = j.at("optimizer") == "reset";
  s.qk_norm = stored_name<QkNorm>(j.at("qk_norm"));
  s.length = j.at("train_len"), s.batch = j.at("batch"), s.micro_batch = j.at("micro_batch");
  s.lr = j.at("lr"), s.schedule = schedule_from_json(j.at("schedule"));
  s.schedule_start = j.at("schedule_start");
  s.trunk_steps = j.value("trunk_steps", std::int64_t{0});
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
  int longest = c.max_length;  // said again where it changes
  for (const SwitchConfig& s : c.switches) {
    j["switches"].push_back(to_json(s));
    if (s.max_length != longest) j["switches"].back()["max_len"] = s.max_length;
    longest = s.max_length;
  }
  if (!c.evaluation.empty()) j["evaluation"] = c.evaluation;
  if (!c.evaluation.empty() && c.evaluation_max_length != longest)
    j["evaluation_max_len"] = c.evaluation_max_length;
  if (!c.asked.empty()) j["asked"] = c.asked, j["asked_identity"] = c.asked_identity;
  if (!c.weights.empty()) j["weights"] = c.weights, j["weights_identity"] = c.weights_identity;
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
  c.asked = j.value("asked", std::string());
  if (!c.asked.empty())
    c.asked_identity = j.at("asked_identity").get<std::map<std::string, std::string>>();
  c.weights = j.value("weights", std::string());
  if (!c.weights.empty())
    c.weights_identity = j.at("weights_identity").get<std::map<std::string, std::string>>();
  c.model = model_from_json(j.at("model"));
  c.train = train_from_json(j.at("train"));
  for (const Json& m : j.value("mix", Json::array()))
    c.mix.push_back({m.at("task"), m.at("task_identity").get<std::map<std::string, std::string>>(),
                     m.at("share"), m.at("alphabet") == "same", m.at("max_len")});
  c.seed = j.at("seed"), c.backend = j.at("backend");
  c.precision = parse_precision(j.at("precision").get<std::string>());
  int longest = c.max_length;
  for (const Json& s : j.value("switches", Json::array())) {
    c.switches.push_back(switch_from_json(s));
    longest = c.switches.back().max_length = s.value("max_len", longest);
  }
  c.evaluation = j.value("evaluation", std::string());
  if (!c.evaluation.empty()) c.evaluation_max_length = j.value("evaluation_max_len", longest);
  return c;
}

CellConfig read_cell(const std::string& json, const fs::path& file) {
  const auto refuse = [&](const std::string& reason) {
    fail(Exit::data, "{}: its configuration is damaged: {}", file.string(), reason);
  };
  CellConfig c;
  try {
    c = cell_from_json(Json::parse(json));
    check(c.model);
  } catch (const Json::exception& e) {
    refuse(json_error(e));
  } catch (const Error& e) {
    refuse(e.what());
  }
  constexpr int most = 1 << 24;
  const auto want = [&](const char* what, std::int64_t value, std::int64_t low) {
    if (value < low || value > most)
      refuse(fmt::format("{} is {}, outside {} .. {}", what, value, low, most));
  };
  want("vocabulary", c.model.vocabulary, 1), want("classes", c.model.outputs(), 1);
  want("width", c.model.width, 1), want("layers", c.model.layers, 1);
  want("ff_width", c.model.ff_width, 1), want("positions", c.model.positions, 0);
  want("max_len", c.max_length, 1), want("train_len", c.train.length, 1);
  want("batch", c.train.batch, 1), want("micro_batch", c.train.micro_batch, 1);
  for (const SwitchConfig& s : c.switches) want("a switch's train_len", s.length, 1);
  if (c.train.steps < 1) refuse("it has no steps");
  return c;
}

std::string cell_identity(const CellConfig& c) {
  return canonical(to_json(c));
}
std::string cell_id(const CellConfig& c) {
  return sha256(cell_identity(c)).substr(0, 16);
}

IdsBySeed::IdsBySeed(const CellConfig& c) {
  static const std::string mark = "the seed stands here";
  Json j = to_json(c);
  j["seed"] = mark;
  const std::string text = canonical(j), quoted = Json(mark).dump();
  const std::size_t at = text.find(quoted);
  before_ = text.substr(0, at), behind_ = text.substr(at + quoted.size());
}
std::string IdsBySeed::id(std::uint64_t seed) const {
  return sha256(before_ + std::to_string(seed) + behind_).substr(0, 16);
}

std::string series_id(const CellConfig& c) {
  Json j = to_json(c);
  j.erase("seed");
  j["task_identity"].erase("build");
  if (j.contains("asked_identity")) j["asked_identity"].erase("build");
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
  c.evaluation_max_length = 0;
  c.asked.clear(), c.asked_identity.clear();
  forget_unused(c);
  return c;
}
CellConfig trunk_of(const CellConfig& cell) {
  PES_CHECK(!cell.switches.empty());
  CellConfig c = cell;
  if (c.switches.back().trunk_steps > 0) c.train.steps = c.switches.back().trunk_steps;
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
  if (!c.weights.empty()) return 0;  // nobody here knows
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
  const int trained = c.switches.empty() ? c.max_length : c.switches.back().max_length;
  const int longest = expression == c.evaluation ? c.evaluation_max_length : trained;
  return compose(catalog, expression, shape_of(c.model, c.train.length, longest));
}

}  // namespace pesuite
