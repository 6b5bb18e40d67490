#include "suite/suite.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/file.h"
#include "base/text.h"
#include "plugin/library.h"
#include "suite/read.h"
#include "suite/sweep.h"

namespace pesuite {

namespace {

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

// Nothing where the plan is to say it.
std::optional<double> read_limit(Reader& r, const std::string& key, const char* wanted) {
  r.note_default(key, "by the plan's estimates");
  const Json* j = r.find(key);
  if (j == nullptr) return {};
  std::string text = j->is_string() ? j->get<std::string>() : j->dump();
  if (text == "none") return 0;
  if (text.ends_with("B") && text.size() > 1 &&
      std::isalpha(static_cast<unsigned char>(text[text.size() - 2])) != 0)
    text.pop_back();  // "4GB" is "4G"
  double x = 0;
  if (parse_count(text, x) && x >= 0 && x <= boundless) return x;
  r.problem(key,
            fmt::format("is '{}', which is no {}; \"none\" turns the limit off", text, wanted));
  return {};
}

void read_defaults(Reader& r, Suite& s) {
  s.seeds = read_seeds(r, {42});
  const auto usual = std::find(backend_words.begin(), backend_words.end(), s.backend);
  s.backend = backend_words[r.choice("backend", backend_words,
                                     static_cast<std::size_t>(usual - backend_words.begin()))];
  if (r.has("precision")) {
    const std::vector<std::string> names = {"fp32", "bf16", "fp16", "auto"};
    const std::string name = names[r.choice("precision", names, 0)];
    s.or_fp32 = name == "auto";
    s.precision = s.or_fp32 ? Precision::bf16 : parse_precision(name);
  }
  r.note_default("precision", "the backend's usual");
  if (const std::vector<std::string> levels = {"data", "run", "strict"}; r.has("determinism"))
    s.determinism = levels[r.choice("determinism", levels, 1)];
  r.note_default("determinism", "what the backend promises");
  s.limit = static_cast<int>(r.integer("limit", 0, 0, 1 << 24));
  s.threads = static_cast<int>(r.integer("threads_per_cell", s.threads, 1, 1024));
  s.recompute = r.flag("recompute", false);
  s.divergence_fails = r.choice("on_divergence", {"record", "fail"}, 0) == 1;
  s.time_limit = read_limit(r, "time_limit_s", "number of seconds such as 3600");
  s.memory_limit = read_limit(r, "memory_limit", "size such as \"4GB\"");
}

// Of reports, which read it themselves.
void read_effective_length(Reader& r) {
  r.number("accuracy", 0.95, 0, 1);
  r.number("slack", 0.02, 0, boundless);
  const Json* weights = r.find("weights");
  if (weights != nullptr && !weights->is_string()) {
    double sum = 0;
    for (const double w : r.numbers("weights", {1})) {
      sum += w;
      if (!(w >= 0) || std::isinf(w)) r.problem("weights", "must be numbers from 0 on");
    }
    if (sum == 0) r.problem("weights", "must hold a number above 0");
  } else {
    r.choice("weights", {"log2", "equal", "rising", "falling"}, 0);
  }
}

void read_track(Reader& r, TrackSettings& t) {
  t.to = r.texts("to", {});
  for (const std::string& name : t.to)
    if (std::find(trackers.begin(), trackers.end(), name) == trackers.end())
      r.problem("to", fmt::format("names '{}'{}; known are {}", name, did_you_mean(name, trackers),
                                  join(trackers, ", ")));
  t.folder = r.text("folder", "");
  if (!t.folder.empty() && t.to.size() > 1) r.problem("folder", "is of one tracker alone");
  t.url = r.text("url", "");
  if (t.url.empty() && std::find(t.to.begin(), t.to.end(), "mlflow") != t.to.end())
    r.problem("to", "has mlflow, which needs 'url', e.g. http://localhost:5000");
  t.collection = r.text("experiment", t.collection);
  t.every = r.number("every_s", t.every, 0.1, 86400);
  t.patience = r.number("patience_s", t.patience, 0, 86400);
}

// Bytes. Those of encodings, which are expressions where the suite gives none, name no files alone.
template <class T>
constexpr std::size_t longest_id(const T&) {
  return std::is_same_v<T, SuiteEncoding> ? 1000 : 100;
}

// Ids name rows and files: each can be read, and no two have one file name.
template <class T>
void check_ids(const std::vector<T>& items, const char* kind, Problems& problems) {
  std::map<std::string, std::string> seen;
  for (const T& i : items) {
    const std::string name = file_name_of(i.id);
    const auto [first, is_new] = seen.emplace(name, i.id);
    if (const std::string why = why_no_name(i.id, longest_id(i)); !why.empty())
      problems.add(i.where, fmt::format("the id of this {} {}; write another 'id'", kind, why));
    else if (first->second == i.id && !is_new)
      problems.add(i.where, fmt::format("{} id '{}' is used twice; give one of them another id",
                                        kind, i.id));
    else if (!is_new)
      problems.add(i.where, fmt::format("{} ids '{}' and '{}' differ in signs that no file name "
                                        "holds; give one of them another id",
                                        kind, first->second, i.id));
  }
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
  if (const auto kept = own.root().find("tuning");  // stands beside the file that names it
      kept != own.root().end() && kept->is_string() && *kept != "")
    own.set("tuning", (file.parent_path() / kept->get<std::string>()).string(),
            own.origin("tuning"), problems);
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
  if (constexpr std::size_t longest = 4000; s.about.size() > longest)
    r.problem("about",
              fmt::format("is {} bytes long; a report shows at most {}", s.about.size(), longest));
}

template <class T>
std::string id_of(Reader& r, const char* key, const std::vector<T>& items) {
  std::vector<std::string> ids;
  for (const T& i : items) ids.push_back(i.id);
  const std::string id = r.text(key, ids.size() == 1 ? ids[0] : "");
  if (std::find(ids.begin(), ids.end(), id) == ids.end())
    r.problem(key, fmt::format("is '{}', and the suite has no such {}{}", id, key,
                               did_you_mean(id, ids)));
  return id;
}

void read_tuned(Reader& r, Suite& s) {
  Tuned t;
  t.encoding = id_of(r, "encoding", s.encodings);
  t.task = id_of(r, "task", s.tasks);
  t.model = id_of(r, "model", s.models);
  for (const SuiteEncoding& e : s.encodings)
    if (e.id == t.encoding) t.expression = r.text("expr", e.expression);
  for (const SuiteTask& task : s.tasks)
    if (task.id == t.task) t.rate = r.number("lr", task.train.optimizer.lr, 0, 100);
  if (s.tuned_for(t.encoding, t.task, t.model) != nullptr)
    r.problem("encoding", fmt::format("is '{}' a second time for this task and model", t.encoding));
  s.tuned.push_back(std::move(t));
}

// The choices of a kept tuning.json, for what is still as it was when it was tuned.
void read_tuning(Reader& r, Suite& s) {
  const fs::path file = r.text("tuning", "");
  if (file.empty()) return;
  const auto has_id = [](const auto& items, const std::string& id) {
    return std::any_of(items.begin(), items.end(), [&](const auto& i) { return i.id == id; });
  };
  std::vector<Tuned> tuned = s.tuned;
  Json chosen = Json::array();
  try {
    Json kept = Json::parse(read_file(file));
    for (const Json& c : kept.at("chosen")) {
      const Tuned t{c.at("encoding"), c.at("task"), c.at("model"), c.at("lr"), c.at("expr")};
      const std::string usual = c.at("losses").at(0).at("expr");
      const bool as_it_was = std::any_of(
          s.encodings.begin(), s.encodings.end(),
          [&](const SuiteEncoding& e) { return e.id == t.encoding && e.expression == usual; });
      if (!as_it_was || !has_id(s.tasks, t.task) || !has_id(s.models, t.model) ||
          s.tuned_for(t.encoding, t.task, t.model) != nullptr)
        continue;
      tuned.push_back(t);
      chosen.push_back(c);
    }
    kept["chosen"] = std::move(chosen);
    s.tuned = std::move(tuned), s.tuning = std::move(kept);
  } catch (const Json::exception&) {
    r.problem("tuning", fmt::format("names {}, which is no tuning.json of a run", file.string()));
  } catch (const Error& e) {
    r.problem("tuning", fmt::format("cannot be read: {}", e.what()));
  }
}

// A task of several budgets is one task a budget.
void add_branches(SuiteTask task, std::vector<SuiteTask>& tasks) {
  task.group = task.id;
  const std::vector<Extent> branches = task.train.schedule.branches;
  if (branches.empty()) tasks.push_back(std::move(task));
  for (std::size_t i = 0; i < branches.size(); ++i) {
    SuiteTask one = task;
    one.branch = i;
    one.id = fmt::format("{}@{}", task.group, short_text(branches[i]));
    tasks.push_back(std::move(one));
  }
}

// Whoever asks the models of a task with several budgets asks those of each.
void ask_branches(std::vector<SuiteTask>& tasks) {
  std::vector<SuiteTask> out;
  for (const SuiteTask& t : tasks) {
    const auto is_branch = [&](const SuiteTask& other) {
      return other.branch && other.group == t.trained_on && !t.trained_on.empty();
    };
    if (std::none_of(tasks.begin(), tasks.end(), is_branch)) out.push_back(t);
    for (const SuiteTask& other : tasks) {
      if (!is_branch(other)) continue;
      SuiteTask one = t;
      one.id += other.id.substr(other.group.size());
      one.trained_on = other.id;
      out.push_back(std::move(one));
    }
  }
  tasks = std::move(out);
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
    add_branches(std::move(task), s.tasks);
  });
  ask_branches(s.tasks);
  r.tables("tuned", [&](Reader& t, const std::string&) { read_tuned(t, s); });
  read_tuning(r, s);
}

// How it is tested, and which cells there are.
void read_questions(Reader& r, Suite& s) {
  r.tables("eval", [&](Reader& e, const std::string&) {
    EvalSettings eval;
    read_eval(e, eval);
    s.evals.push_back(std::move(eval));
  });
  r.settings("effective_length", read_effective_length);
  r.table("track", [&](Reader& t) { read_track(t, s.track); });
  r.settings("sweep", [&](Reader& w) {
    s.include = read_filters(w, "include");
    s.exclude = read_filters(w, "exclude");
  });
  SuiteNames known;
  for (const SuiteEncoding& e : s.encodings) known.encodings.push_back(e.id);
  for (const SuiteTask& t : s.tasks) known.tasks.push_back(t.id);
  for (const SuiteModel& m : s.models) known.models.push_back(m.id);
  s.hypotheses = read_hypotheses(r, &known);
  s.gates = read_gates(r);
  if (!s.evals.empty()) return;
  s.values.push_back({"eval", "every task at 1x, 2x, 4x and 8x", "default"});
  EvalSettings e;
  e.task = "*", e.lengths = {"1x", "2x", "4x", "8x"}, e.protocols = {Protocol{}};
  e.where = {{"axes", s.file.string()}, {"lengths", s.file.string()}};
  s.evals.push_back(e);
}

void check_trained_on(const Suite& s, const SuiteTask& t, Problems& problems) {
  if (t.trained_on.empty()) return;
  std::vector<std::string> others;
  for (const SuiteTask& other : s.tasks)
    if (other.trained_on.empty()) others.push_back(other.id);
  if (std::find(others.begin(), others.end(), t.trained_on) == others.end())
    problems.add(t.where, fmt::format("'trained_on' of task '{}' is '{}', which is no task of the "
                                      "suite with a training of its own{}",
                                      t.id, t.trained_on, did_you_mean(t.trained_on, others)));
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
  check_ids(s.encodings, "encoding", problems);
  check_ids(s.tasks, "task", problems);
  check_ids(s.models, "model", problems);
  for (const SuiteTask& t : s.tasks) check_trained_on(s, t, problems);
  std::vector<std::string> ids = {"*"};
  for (const SuiteTask& t : s.tasks) ids.push_back(t.id), ids.push_back(t.group);
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
  if (s.resolved.erase("tuning") > 0) use_tuned(s, s.tuned);
}

// The command line's part, as keys of the suite where there is one.
void use_choices(Config& config, Suite& s, const SuiteChoices& c, Problems& problems) {
  std::vector<std::string> words;
  if (!c.profile.empty()) words.push_back("--profile " + c.profile);
  for (const std::string& assignment : c.set) {
    if (const std::string key = trim(assignment.substr(0, assignment.find('='))); key == "extends")
      problems.add("--set " + key, "what a suite is laid over is read before: write it in a file");
    else
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

const Tuned* Suite::tuned_for(const std::string& encoding, const std::string& task,
                              const std::string& model) const {
  const auto it = std::find_if(tuned.begin(), tuned.end(), [&](const Tuned& t) {
    return t.encoding == encoding && t.task == task && t.model == model;
  });
  return it == tuned.end() ? nullptr : &*it;
}

void use_tuned(Suite& s, std::vector<Tuned> tuned) {
  s.tuned = std::move(tuned);
  s.resolved["tuned"] = Json::array();
  for (const Tuned& t : s.tuned)
    s.resolved["tuned"].push_back({{"encoding", t.encoding},
                                   {"task", t.task},
                                   {"model", t.model},
                                   {"lr", t.rate},
                                   {"expr", t.expression}});
}

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
  expand_sweep(config, problems);
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
  std::error_code error;
  if (is_path && fs::exists(name, error))
    fail(Exit::usage, "{}: {}, and a suite is a file", name,
         fs::is_directory(name, error) ? "is a folder" : "is no regular file");
  if (is_path)
    fail(Exit::usage, "{}: there is no such file{}", name,
         known ? fmt::format("; the shipped suite is called '{}', without a folder", stem) : "");
  fail(Exit::usage, "there is no suite '{}', neither a file nor a known name{}", name,
       did_you_mean(stem, names));
}

}  // namespace pesuite
