#include "suite/suite.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/file.h"
#include "model/fields.h"
#include "plugin/library.h"

namespace pesuite {

TrainConfig TrainSettings::resolve(int length, double flops_per_token) const {
  TrainConfig c;
  c.length = length;
  c.batch =
      batch_tokens > 0 ? std::max(1, static_cast<int>(std::lround(batch_tokens / length))) : batch;
  c.micro_batch = micro_batch;
  const auto tokens = static_cast<double>(c.tokens_per_step());
  const auto steps_of = [&](const Extent& e) {
    return e.in_steps(c.steps, tokens, 3 * flops_per_token * tokens);
  };
  c.steps = std::max<std::int64_t>(1, steps_of(budget));
  const auto interval = [&](const Extent& e) {  // a share of a short run is still a step
    return e.value > 0 ? std::max<std::int64_t>(1, steps_of(e)) : 0;
  };
  c.optimizer = optimizer;
  c.schedule = {schedule.kind, steps_of(schedule.warmup),
                schedule.kind == ScheduleKind::wsd ? steps_of(schedule.decay) : 0, schedule.floor};
  c.dropout_steps = dropout_steps;
  c.log_every = interval(log_every);
  c.eval_every = interval(eval_every);
  c.checkpoint_every = interval(checkpoint_every);
  c.validation_examples = validation_examples;
  c.keep_periodic = keep_periodic;
  c.keep_best = keep_best;
  if (lengths.kind != LengthKind::fixed) c.lengths = lengths;
  c.lengths.fill = lengths.fill;
  c.lengths.shots = lengths.shots;
  if (lengths.kind == LengthKind::growing) c.lengths.over = interval(lengths_over);
  return c;
}

namespace {

constexpr double unbounded = 1e18;

Extent read_extent(Reader& r, const std::string& key, Extent otherwise) {
  r.note_default(key, otherwise.text());
  const Json* j = r.find(key);
  if (j == nullptr) return otherwise;
  const auto e = parse_extent(j->is_string() ? j->get<std::string>() : j->dump());
  if (e) return *e;
  r.problem(key, fmt::format("is {}, which is no stretch of training: write 300, \"300 steps\", "
                             "\"3%\", \"20M tokens\" or \"1e15 FLOPs\"",
                             j->dump()));
  return otherwise;
}

// Reads fields as their lists in model/fields.h have them; what a suite does not say stays.
struct SettingReader {
  Reader& r;

  template <class T>
  void operator()(const Field& f, T& value) {
    if constexpr (std::is_same_v<T, bool>)
      value = r.flag(f.name, value);
    else if constexpr (std::is_enum_v<T>)
      value = static_cast<T>(r.choice(f.name, value_names(value), static_cast<std::size_t>(value)));
    else if constexpr (std::is_same_v<T, Extent>)
      value = read_extent(r, f.name, value);
    else if constexpr (std::is_integral_v<T>)
      value = static_cast<T>(r.integer(f.name, value, static_cast<std::int64_t>(f.low),
                                       static_cast<std::int64_t>(f.high)));
    else
      value = r.number(f.name, value, f.low, f.high);
  }
  void either(const Field& f, bool& value, const char* no, const char* yes) {
    value = r.choice(f.name, {no, yes}, value ? 1 : 0) == 1;
  }
  void pair(const Field& f, double& a, double& b) {
    const std::vector<double> both = r.numbers(f.name, {a, b});
    if (both.size() == 2 && both[0] >= 0 && both[0] < 1 && both[1] >= 0 && both[1] < 1)
      a = both[0], b = both[1];
    else
      r.problem(f.name, "must be two numbers in [0, 1)");
  }
  void constant(const Field& f, const char* text) { r.choice(f.name, {text}, 0); }
  template <class Body>
  void group(const Field& f, bool there, Body body) {
    const auto read = [&](Reader& table) {
      SettingReader inner{table};
      body(inner);
    };
    there ? r.settings(f.name, read) : r.table(f.name, read);
  }
};

std::vector<std::uint64_t> read_seeds(Reader& r, const std::vector<double>& otherwise) {
  std::vector<std::uint64_t> out;
  for (const double seed : r.numbers("seeds", otherwise)) {
    if (seed < 0 || seed != std::floor(seed) || seed > 9e15)
      r.problem("seeds", "must be whole numbers from 0 on");
    else
      out.push_back(static_cast<std::uint64_t>(seed));
  }
  const std::set<std::uint64_t> distinct(out.begin(), out.end());
  if (distinct.size() != out.size()) r.problem("seeds", "names a seed twice");
  if (distinct.empty()) r.problem("seeds", "names no seed");
  return out;
}

void read_tuning(Reader& r, Tuning& t) {
  t.rates = r.numbers("lr", t.rates);
  for (const double rate : t.rates)
    if (!(rate > 0 && rate <= 100)) r.problem("lr", "must hold learning rates above 0");
  std::sort(t.rates.begin(), t.rates.end());
  if (std::adjacent_find(t.rates.begin(), t.rates.end()) != t.rates.end())
    r.problem("lr", "names a rate twice");
  if (t.rates.size() < 2) r.problem("lr", "needs two rates to choose from; one is 'optimizer.lr'");
  r.choice("select", {"val_nll"}, 0);
  t.seeds = read_seeds(r, t.seeds.empty() ? std::vector<double>{7}
                                          : std::vector<double>(t.seeds.begin(), t.seeds.end()));
}

void read_mix(Reader& r, SuiteMix& m) {
  m.where = r.where("task");
  try {
    m.expression = parse_expression(r.text("task", ""), "task");
  } catch (const Error& e) {
    r.problem("task", fmt::format("is no task: {}", e.what()));
  }
  m.share = r.number("share", 0, 0, 1);
  if (m.share == 0 || m.share == 1) r.problem("share", "must lie between 0 and 1");
  m.same_alphabet = r.choice("alphabet", {"own", "same"}, 0) == 1;
}

void read_train(Reader& r, TrainSettings& t) {
  if (r.has("lengths") && t.lengths.kind == LengthKind::fixed)
    t.lengths.kind = LengthKind::uniform;  // unless the table says so
  walk_training(t, SettingReader{r});
  if (r.find("lr") != nullptr) t.optimizer.lr = r.number("lr", t.optimizer.lr, 0, 100);
  if (r.has("lengths")) t.lengths_where = r.where("lengths.min");
  t.fill_where = r.where("fill"), t.shots_where = r.where("shots");
  r.table("tune", [&](Reader& s) { read_tuning(s, t.tuning); });
  if (const Json* batch = r.find("batch"); batch != nullptr && batch->is_object()) {
    r.table("batch", [&](Reader& b) { t.batch_tokens = b.number("tokens", 16384, 1, unbounded); });
  } else if (batch != nullptr) {
    t.batch = static_cast<int>(r.integer("batch", t.batch, 1, 1 << 20));
    t.batch_tokens = 0;
  } else {
    r.note_default("batch", t.batch);
  }
  if (!r.has("steps") || r.has("budget")) t.budget = read_extent(r, "budget", t.budget);
  if (r.find("steps") != nullptr && r.has("budget"))
    r.problem("steps", "says the same as 'budget'; leave one of them out");
  else if (r.has("steps"))
    t.budget = {Extent::Unit::steps,
                static_cast<double>(r.integer("steps", 1, 1, std::int64_t{1} << 40))};
  if (t.budget.unit == Extent::Unit::share) r.problem("budget", "cannot be a share of itself");
  if (r.has("mix")) t.mix.clear();  // as every list: replaced by what lies on top
  r.tables("mix", [&](Reader& m, const std::string&) { read_mix(m, t.mix.emplace_back()); });
  for (const std::string& k : r.texts("keep", {"best", "last"})) {
    if (k != "best" && k != "last")
      r.problem("keep", fmt::format("names '{}'; known are best and last", k));
  }
  if (r.has("keep")) {
    const auto keep = r.texts("keep", {});
    t.keep_best = std::find(keep.begin(), keep.end(), "best") != keep.end();
  }
}

void read_model(Reader& r, SuiteModel& m) {
  m.preset = r.text("preset", m.id);
  try {
    const Preset& p = preset(m.preset);
    m.config = p.config;
    m.train_length = p.train_length;
  } catch (const Error& e) {
    r.problem("preset", fmt::format("is '{}': {}", m.preset, e.what()));
    return;
  }
  ModelConfig& c = m.config;
  r.defaults_are("preset " + m.preset);
  walk_model(c, SettingReader{r});
  try {
    ModelConfig alone = c;
    alone.classes = 0;  // the task decides how many there are
    check(alone);
  } catch (const Error& e) {
    r.problem("width", fmt::format("and what goes with it do not fit: {}", e.what()));
  }
}

// An option's value as the text that plugins read.
std::string option_text(const Json& j) {
  if (j.is_string()) return j.get<std::string>();
  if (j.is_array()) {
    std::vector<std::string> parts;
    for (const Json& e : j) parts.push_back(e.dump());
    return "[" + join(parts, ", ") + "]";
  }
  return j.dump();
}

void read_task(Reader& r, const std::string& name, SuiteTask& t) {
  t.id = r.text("id", name);
  t.where = r.where("task");
  try {
    t.expression = parse_expression(r.text("task", name), "task");
  } catch (const Error& e) {
    r.problem("task", fmt::format("is no task: {}", e.what()));
  }
  r.table("options", [&](Reader& o) {
    for (const auto& [key, value] : o.json().items()) {
      o.find(key);
      if (!t.expression.options.emplace(key, option_text(value)).second)
        o.problem(key, "is given twice, here and in 'task'");
    }
  });
  if (r.find("train_len") != nullptr)  // else the model's
    t.train_length = static_cast<int>(r.integer("train_len", 0, 0, 1 << 24));
  r.number("weight", 0, 0, 1e6);  // of reports, which read it themselves
  r.table("train", [&](Reader& s) {
    s.defaults_are("");  // those of [train], which are noted there
    read_train(s, t.train);
  });
}

std::vector<int> read_numbers_from_0(Reader& r, const char* key) {
  std::vector<int> out;
  for (const double x : r.numbers(key, {})) {
    if (x < 0 || x != std::floor(x) || x > 1 << 20)
      r.problem(key, "must be whole numbers from 0 on");
    else
      out.push_back(static_cast<int>(x));
  }
  return out;
}

void check_lengths(Reader& r, const char* key, const std::vector<std::string>& lengths) {
  if (lengths.empty()) r.problem(key, "is empty; write at least one length, such as \"1x\"");
  for (const std::string& l : lengths)  // multiples are seen when the training length is known
    if (!is_lengths(l))
      r.problem(key, fmt::format("holds '{}'; write whole tokens (256, at most {}), a multiple of "
                                 "the training length (\"4x\") or a range (\"1..20\", \"8..4x:8\")",
                                 l, longest_length));
}

void read_probes(Reader& r, EvalSettings& e) {
  ProbeConfig p;
  if (!r.has("probes")) r.defaults_are("");  // they are settings of probes
  p.bands = static_cast<int>(r.integer("bands", p.bands, 1, 1 << 20));
  p.example = static_cast<int>(r.integer("example", p.example, 0, 1 << 24));
  p.layers = read_numbers_from_0(r, "layers"), p.heads = read_numbers_from_0(r, "heads");
  e.offsets = r.texts("offsets", {"1x"});
  check_lengths(r, "offsets", e.offsets);
  for (const std::string& name : r.texts("probes", {})) {
    try {
      p.kind = parse_probe(name);
      e.probes.push_back(p);
    } catch (const Error& error) {
      r.problem("probes", fmt::format("holds '{}': {}", name, error.what()));
    }
  }
  if (!r.has("probes"))
    for (const char* key : {"bands", "example", "layers", "heads", "offsets"})
      if (r.has(key)) r.problem(key, "is a setting of 'probes', which this entry does not have");
}

void read_eval(Reader& r, EvalSettings& e) {
  e.task = r.text("task", "*");
  for (const char* key : {"task", "lengths", "axes", "probes", "offsets"})
    e.where[key] = r.where(key);
  e.lengths = r.texts("lengths", {"1x", "2x", "4x", "8x"});
  for (const std::string& p : r.texts("protocol", {"non_overlapping"})) {
    try {
      e.protocols.push_back(parse_protocol(p));
    } catch (const Error& error) {
      r.problem("protocol", fmt::format("is '{}': {}", p, error.what()));
    }
  }
  e.examples = static_cast<int>(r.integer("examples", e.examples, 1, 1 << 24));
  r.table("axes", [&](Reader& a) {
    for (const auto& [name, values] : a.json().items()) {
      e.axes[name] = a.texts(name, {});
      if (e.axes[name].empty()) a.problem(name, "holds no value to evaluate at");
    }
  });
  check_lengths(r, "lengths", e.lengths);
  read_probes(r, e);
}

std::vector<Filter> read_filters(Reader& r, const std::string& key) {
  std::vector<Filter> out;
  for (const std::string& f : r.texts(key, {})) {
    try {
      out.emplace_back(f);
    } catch (const Error& e) {
      r.problem(key, fmt::format("holds no filter: {}", e.what()));
    }
  }
  return out;
}

double read_bytes(Reader& r, const std::string& key) {
  r.note_default(key, 0);
  std::string text = r.has(key) && r.json()[key].is_number() ? (r.find(key), r.json()[key].dump())
                     : r.has(key)                            ? r.text(key, "0")
                                                             : "0";
  if (text.ends_with("B") && text.size() > 1 &&
      std::isalpha(static_cast<unsigned char>(text[text.size() - 2])) != 0)
    text.pop_back();  // "4GB" is "4G"
  double x = 0;
  if (!parse_count(text, x) || x < 0)
    r.problem(key, fmt::format("is '{}', which is no size such as \"4GB\"", text));
  return x;
}

void read_defaults(Reader& r, Suite& s) {
  s.seeds = read_seeds(r, {42});
  s.backend = r.text("backend", s.backend);
  if (r.has("precision"))
    s.precision = static_cast<Precision>(r.choice("precision", {"fp32", "bf16"}, 0));
  r.note_default("precision", "the backend's usual");
  if (const std::vector<std::string> levels = {"data", "run", "strict"}; r.has("determinism"))
    s.determinism = levels[r.choice("determinism", levels, 1)];
  r.note_default("determinism", "what the backend promises");
  s.limit = static_cast<int>(r.integer("limit", 0, 0, 1 << 24));
  s.threads = static_cast<int>(r.integer("threads_per_cell", s.threads, 1, 1024));
  s.divergence_fails = r.choice("on_divergence", {"record", "fail"}, 0) == 1;
  s.time_limit = r.number("time_limit_s", 0, 0, unbounded);
  s.memory_limit = read_bytes(r, "memory_limit");
}

// Of reports, which read it themselves.
void read_effective_length(Reader& r) {
  r.number("accuracy", 0.95, 0, 1);
  r.number("slack", 0.02, 0, unbounded);
  const Json* weights = r.find("weights");
  if (weights != nullptr && !weights->is_string()) {
    double sum = 0;
    for (const double w : r.numbers("weights", {1})) {
      sum += w;
      if (w < 0) r.problem("weights", "must be numbers from 0 on");
    }
    if (sum == 0) r.problem("weights", "must hold a number above 0");
  } else {
    r.choice("weights", {"log2", "equal", "rising", "falling"}, 0);
  }
}

template <class T>
void refuse_twins(const std::vector<T>& items, const char* kind, Problems& problems) {
  std::set<std::string> seen;
  for (const T& i : items)
    if (!seen.insert(i.id).second)
      problems.add(i.where, fmt::format("{} id '{}' is used twice; give one of them another id",
                                        kind, i.id));
}

Config load_with_extends(const fs::path& file, std::vector<fs::path> chain, Problems& problems) {
  const fs::path canonical = fs::weakly_canonical(file);
  if (std::find(chain.begin(), chain.end(), canonical) != chain.end()) {
    problems.add(file.string(), "extends itself, directly or through others");
    return {};
  }
  chain.push_back(canonical);
  Config own = Config::from_toml(file, problems);
  Config merged;
  if (own.root().contains("extends")) {
    Problems ignored;  // the key is checked with the rest
    Reader r(own, own.root(), "", ignored);
    for (const std::string& base : r.texts("extends", {})) {
      const fs::path path = file.parent_path() / base;
      if (!fs::exists(path)) {
        problems.add(own.origin("extends"),
                     fmt::format("'extends' names {}, which does not exist", path.string()));
        continue;
      }
      merged.merge(load_with_extends(path, chain, problems), problems);
    }
  }
  merged.merge(own, problems);
  return merged;
}

void read_name(Reader& r, Suite& s) {
  const std::string schema = r.text("schema", "pesuite.suite/1");
  if (schema != "pesuite.suite/1")
    r.problem("schema", fmt::format("is '{}'; this pesuite reads pesuite.suite/1", schema));
  s.name = r.text("name", s.file.stem().string());
  const bool plain = std::all_of(s.name.begin(), s.name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
  });
  if (s.name.empty() || s.name.size() > 100 || s.name[0] == '.' || !plain)
    r.problem("name", fmt::format("is '{}', which is to name a folder; write at most 100 letters, "
                                  "digits, '_', '-' and '.', without a leading '.'",
                                  s.name));
  s.about = r.text("about", "");
}

// What is crossed.
void read_parts(Reader& r, Suite& s) {
  TrainSettings train;
  r.settings("train", [&](Reader& t) { read_train(t, train); });
  r.named_tables("model", [&](Reader& m, const std::string& name) {
    SuiteModel model;
    model.id = name;
    model.where = m.where("preset");
    read_model(m, model);
    s.models.push_back(std::move(model));
  });
  r.tables("encoding", [&](Reader& e, const std::string& name) {
    SuiteEncoding encoding;
    encoding.expression = e.text("expr", name);
    encoding.id = e.text("id", encoding.expression);
    encoding.where = e.where("expr");
    s.encodings.push_back(std::move(encoding));
  });
  r.tables("task", [&](Reader& t, const std::string& name) {
    SuiteTask task;
    task.train = train;
    read_task(t, name, task);
    s.tasks.push_back(std::move(task));
  });
}

// How it is tested, and which cells there are.
void read_questions(Reader& r, Suite& s) {
  r.tables("eval", [&](Reader& e, const std::string&) {
    EvalSettings eval;
    read_eval(e, eval);
    s.evals.push_back(std::move(eval));
  });
  r.settings("effective_length", read_effective_length);
  r.settings("sweep", [&](Reader& w) {
    s.include = read_filters(w, "include");
    s.exclude = read_filters(w, "exclude");
  });
  SuiteNames known;
  for (const SuiteEncoding& e : s.encodings) known.encodings.push_back(e.id);
  for (const SuiteTask& t : s.tasks) known.tasks.push_back(t.id);
  for (const SuiteModel& m : s.models) known.models.push_back(m.id);
  s.hypotheses = read_hypotheses(r, &known);
  if (!s.evals.empty()) return;
  s.values.push_back({"eval", "every task at 1x, 2x, 4x and 8x", "default"});
  EvalSettings e;
  e.task = "*", e.lengths = {"1x", "2x", "4x", "8x"}, e.protocols = {Protocol{}};
  e.where = {{"axes", s.file.string()}, {"lengths", s.file.string()}};
  s.evals.push_back(e);
}

// What parts say of each other.
void check_suite(const Suite& s, const Json& root, Problems& problems) {
  for (const char* needed : {"model", "encoding", "task"})
    if (!root.contains(needed))
      problems.add(s.file.string(), fmt::format("a suite needs at least one {}", needed));
  for (const SuiteTask& t : s.tasks)
    for (const std::uint64_t seed :
         t.train.tuning.rates.empty() ? std::vector<std::uint64_t>() : t.train.tuning.seeds)
      if (std::find(s.seeds.begin(), s.seeds.end(), seed) != s.seeds.end())
        problems.add(t.where, fmt::format("seed {} tunes the learning rate and is reported; give "
                                          "'train.tune.seeds' other seeds than 'defaults.seeds'",
                                          seed));
  refuse_twins(s.encodings, "encoding", problems);
  refuse_twins(s.tasks, "task", problems);
  std::vector<std::string> ids = {"*"};
  for (const SuiteTask& t : s.tasks) ids.push_back(t.id);
  for (const EvalSettings& e : s.evals)
    if (std::find(ids.begin(), ids.end(), e.task) == ids.end())
      problems.add(e.where.at("task"),
                   fmt::format("'eval' is for task '{}', which is not in the suite{}", e.task,
                               did_you_mean(e.task, ids)));
}

void read_suite(const Config& config, const fs::path& file, Suite& s, Problems& problems) {
  s.file = file;
  Reader r(config, config.root(), "", problems);
  r.note_into(&s.values);
  read_name(r, s);
  r.texts("extends", {});
  r.settings("defaults", [&](Reader& d) { read_defaults(d, s); });
  read_parts(r, s);
  read_questions(r, s);
  r.finish();
  check_suite(s, config.root(), problems);
  s.resolved = config.root();
  s.resolved.erase("extends");  // it is laid under
  s.resolved["name"] = s.name;  // else that of a file
}

// The command line's part, as keys of the suite where there is one.
void use_choices(Config& config, Suite& s, const SuiteChoices& c, Problems& problems) {
  std::vector<std::string> words;
  if (!c.profile.empty()) words.push_back("--profile " + c.profile);
  for (const std::string& assignment : c.set) {
    config.set(assignment, problems);
    words.push_back(fmt::format("--set '{}'", assignment));
  }
  if (!c.seeds.empty()) {
    config.set("defaults.seeds", c.seeds, "--seeds", problems);
    words.push_back(fmt::format("--seeds {}", fmt::join(c.seeds, ",")));
  }
  if (!c.device.empty()) {
    config.set("defaults.backend", c.device, "--device", problems);
    words.push_back("--device " + c.device);
  }
  if (c.limit > 0) {
    config.set("defaults.limit", c.limit, "--limit", problems);
    words.push_back(fmt::format("--limit {}", c.limit));
  }
  for (const std::string& f : c.only) {
    s.only.emplace_back(f);
    words.push_back(fmt::format("--only '{}'", f));
  }
  s.asked = join(words, " ");
}

}  // namespace

Suite load_suite(const fs::path& file, const SuiteChoices& choices, Problems& problems) {
  Config config = load_with_extends(file, {}, problems);
  problems.throw_if_any();  // a file that does not parse has no meaning to check

  Config profiles = config.extract("profile");
  std::vector<std::string> names;
  for (const auto& [name, value] : profiles.root().items()) names.push_back(name);
  const std::string wanted = choices.profile.empty() ? "small" : choices.profile;
  const bool chosen = profiles.root().contains(wanted);
  if (chosen) {
    Config profile = profiles.extract(wanted);
    profile.came_by("profile " + wanted);
    config.merge(profile, problems);
  } else if (!choices.profile.empty() && choices.profile != "small") {
    problems.add("--profile " + wanted, fmt::format("the suite has no such profile{}; it has {}",
                                                    did_you_mean(wanted, names),
                                                    names.empty() ? "none" : join(names, ", ")));
  }
  Suite suite;
  use_choices(config, suite, choices, problems);
  read_suite(config, file, suite, problems);
  if (chosen) suite.profile = wanted;
  suite.profiles = std::move(names);
  return suite;
}

Suite load_suite(const fs::path& file, const SuiteChoices& choices) {
  Problems problems;
  Suite suite = load_suite(file, choices, problems);
  problems.throw_if_any();
  return suite;
}

std::vector<fs::path> known_suites() {
  std::vector<fs::path> out;
  std::set<fs::path> seen;
  std::error_code error;
  fs::path ours = program_folder() / PESUITE_SUITES_DIR;
  if (!fs::exists(ours, error)) ours = PESUITE_SUITES_SOURCE_DIR;
  for (const fs::path& folder : {fs::path("suites"), ours}) {
    std::vector<fs::path> files;
    for (const auto& item : fs::recursive_directory_iterator(folder, error))
      if (item.path().extension() == ".toml" && item.path().filename().string()[0] != '_')
        files.push_back(item.path());
    std::sort(files.begin(), files.end());
    for (const fs::path& f : files)
      if (seen.insert(fs::weakly_canonical(f, error)).second) out.push_back(f.lexically_normal());
  }
  return out;
}

fs::path find_suite(const std::string& name) {
  if (fs::is_regular_file(name)) return name;
  const bool is_path = name.find('/') != std::string::npos || name.ends_with(".toml");
  std::vector<std::string> names;
  for (const fs::path& p : known_suites()) {
    // "suites/NAME.toml" works from anywhere, as the documentation writes it
    const std::string documented = "suites/" + p.filename().string();
    if (p.stem() == name || name == documented) return p.lexically_normal();
    names.push_back(p.stem().string());
  }
  const std::string stem = fs::path(name).stem().string();
  const bool known = std::find(names.begin(), names.end(), stem) != names.end();
  if (is_path)
    fail(Exit::usage, "{}: there is no such file{}", name,
         known ? fmt::format("; the shipped suite is called '{}', without a folder", stem) : "");
  fail(Exit::usage, "there is no suite '{}', neither a file nor a known name{}", name,
       did_you_mean(stem, names));
}

}  // namespace pesuite
