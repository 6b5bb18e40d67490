#include "analysis/run_data.h"

#include <algorithm>
#include <cmath>

#include "analysis/places.h"
#include "analysis/sort_records.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "cell/record.h"
#include "suite/config.h"

namespace pesuite {

namespace {

// Fields of records that may be damaged: another type counts as absent.
const Json* field(const Json& j, const char* key) {
  if (!j.is_object()) return nullptr;
  const auto it = j.find(key);
  return it == j.end() ? nullptr : &*it;
}
std::string text(const Json& j, const char* key) {
  const Json* f = field(j, key);
  return f != nullptr && f->is_string() ? f->get<std::string>() : std::string();
}
double number(const Json& j, const char* key, double otherwise = Number::none) {
  const Json* f = field(j, key);
  return f != nullptr && f->is_number() ? f->get<double>() : otherwise;
}
std::int64_t integer(const Json& j, const char* key) {
  return static_cast<std::int64_t>(std::clamp(number(j, key, 0), -9e15, 9e15));
}
const Json& list(const Json& j, const char* key) {
  static const Json nothing = Json::array();
  const Json* f = field(j, key);
  return f != nullptr && f->is_array() ? *f : nothing;
}

template <class T>
std::size_t index_of(std::vector<T>& all, const T& one) {
  const auto it = std::find(all.begin(), all.end(), one);
  if (it != all.end()) return static_cast<std::size_t>(it - all.begin());
  all.push_back(one);
  return all.size() - 1;
}

// ------------------------------------------------------- what stands beside the records

Json read_suite(const fs::path& file, RunData& run) {
  if (!fs::exists(file)) return nullptr;
  Problems problems;
  const Config config = Config::from_toml(file, problems);
  for (const std::string& p : problems.list()) run.notes.push_back(p);
  return config.root();
}

Json read_json(const fs::path& file, RunData& run) {
  if (!fs::exists(file)) return nullptr;
  Json j = Json::parse(read_file(file), nullptr, false);
  if (!j.is_discarded()) return j;
  run.notes.push_back(fmt::format("{}: not JSON, not used", file.string()));
  return nullptr;
}

// What a plan says about how a task was trained.
std::string training_of(const Json& config, bool tuned) {
  if (const std::string weights = text(config, "weights"); !weights.empty())
    return fmt::format("trained elsewhere, weights of {}", weights);
  const Json* train = field(config, "train");
  if (train == nullptr || !train->is_object()) return "";
  const Json* optimizer = field(*train, "optimizer");
  const Json* schedule = field(*train, "schedule");
  std::string out =
      fmt::format("{} steps of {} sequences", integer(*train, "steps"), integer(*train, "batch"));
  if (optimizer != nullptr)
    out += fmt::format(", {} at {}", text(*optimizer, "name"),
                       tuned ? "the learning rate chosen for each encoding"
                             : "learning rate " + format_number(number(*optimizer, "lr")));
  if (schedule != nullptr) out += fmt::format(" ({} schedule)", text(*schedule, "kind"));
  if (const Json* lengths = field(*train, "lengths"); lengths != nullptr)
    out += fmt::format(", lengths {} from {}", text(*lengths, "kind"), integer(*lengths, "min"));
  for (const Json& m : list(config, "mix"))
    out += fmt::format(", {:.4g} % of the examples {}", 100 * number(m, "share"), text(m, "task"));
  return out;
}

// Ids of encodings, tasks and models in the order of the suite, where files beside the records
// tell.
struct Order {
  std::vector<std::string> encodings, tasks, models;

  Order(const Json& suite, const Json& plan) {
    std::size_t number = 0;
    for (const Json& e : list(suite, "encoding")) index_of(encodings, element_name(e, number++));
    number = 0;
    for (const Json& t : list(suite, "task")) index_of(tasks, element_name(t, number++));
    for (const Json& c : list(plan, "cells")) {
      index_of(encodings, text(c, "encoding"));
      index_of(tasks, text(c, "task"));
      index_of(models, text(c, "model"));
    }
  }
};

// Cells that are planned and have no record are counted among the seeds and encodings of a task.
void use_plan(const Json& plan, const fs::path& folder, RunData& run) {
  for (const Json& c : list(plan, "cells")) {
    ++run.planned;
    const Json* config = field(c, "config");
    const Json* train = config == nullptr ? nullptr : field(*config, "train");
    const Json* seed = field(c, "seed");
    if (train == nullptr || seed == nullptr || !seed->is_number()) continue;
    for (TaskData& t : run.tasks) {
      if (t.task != text(c, "task") || t.model != text(c, "model") ||
          t.train_length != integer(*train, "train_len"))
        continue;
      index_of(t.seeds, seed->get<std::uint64_t>());
      index_of(t.encodings, index_of(run.encodings, text(c, "encoding")));
      if (t.family.empty()) t.family = text(c, "family");
      if (t.training.empty()) t.training = training_of(*config, run.tuning.is_object());
      for (const Json& e : list(c, "evals")) {
        const MapsFile m{
            folder / "attention" /
                maps_name(text(c, "encoding"), t.task, t.model, seed->get<std::uint64_t>(),
                          static_cast<int>(integer(e, "eval_len")), text(e, "part")),
            index_of(run.encodings, text(c, "encoding")), seed->get<std::uint64_t>(),
            static_cast<int>(integer(e, "eval_len"))};
        if (fs::exists(m.file)) t.maps.push_back(m);
      }
    }
  }
  run.expressions.resize(run.encodings.size());
  run.plugins.resize(run.encodings.size());
  run.versions.resize(run.encodings.size());
}

// The value that a text names by itself, "64" or "3x"; NaN where it is a label such as "start".
double value_of(const std::string& name, int train_length) {
  double x = 0;
  const bool multiple = name.ends_with("x");
  if (!parse_count(name.substr(0, name.size() - (multiple ? 1 : 0)), x)) return Number::none;
  return multiple ? std::round(x * train_length) : x;
}

// Names of an axis's values. A plan may sort what a suite lists: numbers find their own value, and
// only labels go by their order.
void use_names(const std::string& axis, const Json& names, const Json& values, TaskData& t) {
  if (!names.is_array() || names.size() != values.size()) return;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!names[i].is_string() || !values[i].is_number()) continue;
    const std::string name = names[i].get<std::string>();
    double value = value_of(name, t.train_length);
    if (std::isnan(value)) value = values[i].get<double>();
    t.labels[axis][value] = name;
  }
}

void use_labels(const Json& suite, const Json& plan, RunData& run) {
  for (const Json& e : list(suite, "eval")) {
    const Json* axes = field(e, "axes");
    if (axes == nullptr || !axes->is_object()) continue;
    const std::string of = text(e, "task");
    const bool all = of.empty() || of == "*";
    for (const Json& c : list(plan, "cells")) {
      if (!all && of != text(c, "task")) continue;
      for (const Json& planned : list(c, "evals"))
        for (const auto& [axis, names] : axes->items())
          if (const Json* values = field(planned, "axes"); values != nullptr)
            for (TaskData& t : run.tasks)
              if (t.task == text(c, "task")) use_names(axis, names, list(*values, axis.c_str()), t);
    }
  }
}

void use_length_settings(const Json& suite, LengthSettings& s) {
  const Json* table = field(suite, "effective_length");
  if (table == nullptr) return;
  s.accuracy = number(*table, "accuracy", s.accuracy);
  s.slack = number(*table, "slack", s.slack);
  if (const std::string name = text(*table, "weights"); !name.empty()) s.weights = name;
  for (const Json& w : list(*table, "weights"))
    if (w.is_number()) s.own.push_back(w.get<double>());
}

void use_scores(const Json& suite, RunData& run) {
  for (TaskData& t : run.tasks)  // as imported results may have it
    if (!t.has("acc") && t.has("em")) t.score = "em";
  std::size_t i = 0;
  for (const Json& e : list(suite, "task")) {
    const std::string name = element_name(e, i++);
    for (TaskData& t : run.tasks)
      if (t.task == name || t.task.starts_with(name + "@")) {  // a branch
        t.weight = number(e, "weight", 0);
        // with one target an example, accuracy says the same
        if (text(e, "score") == "em" && t.has("em")) t.score = "em";
      }
  }
}

void settle(TaskData& t, RunData& run) {
  if (t.family.empty()) t.family = t.plugin_name();
  for (const auto& [key, cell] : t.cells) {
    index_of(t.encodings, key.first);
    index_of(t.seeds, key.second);
    ++run.cells;
  }
  std::sort(t.encodings.begin(), t.encodings.end());
  std::sort(t.seeds.begin(), t.seeds.end());
  std::sort(t.lengths.begin(), t.lengths.end());
  for (const std::string& p : t.protocols) t.protocol_lengths[p] = lengths_of(t, p);
  std::stable_sort(t.settings.begin(), t.settings.end(), [](const Setting& a, const Setting& b) {
    return std::pair(!a.trained, a.length) < std::pair(!b.trained, b.length);
  });
}

// What env.json says of each start; of the last one alone where a pesuite of before wrote it.
std::vector<Json> starts_of(const Json& env) {
  if (!env.is_object()) return {};
  if (!env.contains("starts")) return {env};
  std::vector<Json> out;
  for (const Json& s : list(env, "starts"))
    if (s.is_object()) out.push_back(s);
  return out;
}

}  // namespace

const Number* CellData::find(const Place& p) const {
  const auto it = evals.find(p);
  return it == evals.end() ? nullptr : &it->second;
}

const CellData* TaskData::cell(std::size_t encoding, std::uint64_t seed) const {
  const auto it = cells.find({encoding, seed});
  return it == cells.end() ? nullptr : &it->second;
}

bool TaskData::has(const std::string& metric) const {
  for (const auto& [key, cell] : cells)
    for (const auto& [place, value] : cell.evals)
      if (place.metric == metric) return true;
  return false;
}

std::string TaskData::plugin_name() const {
  return expression.substr(0, expression.find('('));
}

std::map<int, std::vector<std::size_t>> TaskData::trained_further() const {
  std::map<int, std::vector<std::size_t>> out;
  for (const std::size_t e : encodings) {
    int longest = 0;
    for (const std::uint64_t seed : seeds)
      if (const CellData* c = cell(e, seed)) longest = std::max(longest, c->longest_trained);
    if (longest > train_length) out[longest].push_back(e);
  }
  return out;
}

std::string TaskData::multiple(int length) const {
  if (train_length <= 0) return "";
  return fmt::format("{:.3g}x", static_cast<double>(length) / train_length);
}

std::string TaskData::label(const std::string& axis, double value) const {
  if (const auto named = labels.find(axis); named != labels.end())
    if (const auto it = named->second.find(value); it != named->second.end()) return it->second;
  return format_number(value);
}

std::string TaskData::name(const Setting& s) const {
  std::string out = fmt::format("{} ({})", s.length, multiple(s.length));
  for (const auto& [axis, value] : s.axes) out += fmt::format(", {} {}", axis, label(axis, value));
  return out;
}

RunData read_run(const fs::path& folder) {
  RunData run;
  run.folder = fs::weakly_canonical(folder).filename().string();  // also of "." and "runs/x/"
  const fs::path file = folder / "records.jsonl";
  if (!fs::exists(file)) fail(Exit::data, "{} is not there: nothing to report", file.string());
  if (const std::vector<std::string> damaged = damaged_files(folder); !damaged.empty())
    fail(Exit::data,
         "{}: {} not what the run wrote; 'pesuite run' of the suite writes it anew from the store, "
         "and if it was changed on purpose, remove digests.json there",
         folder.string(), join(damaged, ", ") + (damaged.size() > 1 ? " are" : " is"));
  const Json suite = read_suite(folder / "suite.resolved.toml", run);
  const Json plan = read_json(folder / "plan.json", run);
  run.starts = starts_of(read_json(folder / "env.json", run));
  run.tuning = read_json(folder / "tuning.json", run);
  run.references = fs::exists(folder / "references.bib");
  if (const Json::json_pointer at("/cells/0/config/numerics_epoch");
      plan.is_object() && plan.contains(at) && plan[at].is_number_integer())
    run.epoch = plan[at].get<int>();
  const auto& cells = list(plan, "cells");
  run.trained_elsewhere =
      !cells.empty() && std::all_of(cells.begin(), cells.end(), [](const Json& c) {
        const Json* config = field(c, "config");
        return config != nullptr && !text(*config, "weights").empty();
      });
  run.suite = text(suite, "name");
  run.about = text(suite, "about");
  if (const Json* h = field(suite, "hypothesis"); h != nullptr) run.hypotheses = *h;
  if (const Json* g = field(suite, "gate"); g != nullptr) run.gates = *g;
  Order order(suite, plan);
  run.encodings = order.encodings;
  const SortedRecords sorted = sort_records(file, run);
  if (sorted.bad > 0)
    run.notes.push_back(fmt::format("{}: {} lines lack what every record has and are skipped",
                                    file.string(), sorted.bad));
  if (run.tasks.empty()) fail(Exit::data, "{} holds no record", file.string());
  if (!sorted.limits.empty())
    run.caution = fmt::format(
        "Evaluations were cut to {} examples each (limit): this is a quick look, not a result.",
        fmt::join(sorted.limits, " or "));
  use_plan(plan, folder, run);
  use_labels(suite, plan, run);
  use_scores(suite, run);
  use_length_settings(suite, run.length_settings);
  for (TaskData& t : run.tasks) settle(t, run);
  std::stable_sort(run.tasks.begin(), run.tasks.end(), [&](const TaskData& a, const TaskData& b) {
    const auto rank = [&](const TaskData& t) {
      return std::tuple(index_of(order.tasks, t.task), index_of(order.models, t.model),
                        t.train_length);
    };
    return rank(a) < rank(b);
  });
  return run;
}

}  // namespace pesuite
