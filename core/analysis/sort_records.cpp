#include "analysis/sort_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <unordered_map>
#include <variant>

#include "cell/record_stream.h"

namespace pesuite {

namespace {

// Of an object within a record: fields that may be damaged, another type counts as absent.
bool has(const RecordView& j, const char* key) {
  return j[key].error() == simdjson::SUCCESS;
}
std::string_view text(const RecordView& j, const char* key) {
  std::string_view out;
  return j[key].get(out) == simdjson::SUCCESS ? out : std::string_view();
}
std::int64_t whole(double x) {
  return static_cast<std::int64_t>(std::clamp(std::isnan(x) ? 0 : x, -9e15, 9e15));
}
std::int64_t integer(const RecordView& j, const char* key) {
  double out = 0;
  return j[key].get(out) == simdjson::SUCCESS ? whole(out) : 0;
}

// The fields of a record, found in one walk over it; views of its line.
struct Fields {
  std::string_view suite, cell, part, series, model, task, task_expr, task_version, backend,
      precision, determinism, path, ts, metric, split, status, reason, right;
  double value = Number::none, standard_error = Number::none, low = Number::none,
         high = Number::none, chance = Number::none, n = Number::none, count = Number::none,
         step = Number::none, tokens = Number::none, flops = 0, wall_s = 0, limit = Number::none,
         seed = Number::none;
  std::uint64_t whole_seed = 0;
  bool has_encoding = false, has_coords = false;
  RecordView encoding, coords;

  explicit Fields(const RecordView& record) {
    using Slot = std::variant<std::string_view Fields::*, double Fields::*>;
    static const std::unordered_map<std::string_view, Slot> slots = {
        {"suite", &Fields::suite},
        {"cell", &Fields::cell},
        {"part", &Fields::part},
        {"series", &Fields::series},
        {"model", &Fields::model},
        {"task", &Fields::task},
        {"task_expr", &Fields::task_expr},
        {"task_version", &Fields::task_version},
        {"backend", &Fields::backend},
        {"precision", &Fields::precision},
        {"determinism", &Fields::determinism},
        {"path", &Fields::path},
        {"ts", &Fields::ts},
        {"metric", &Fields::metric},
        {"split", &Fields::split},
        {"status", &Fields::status},
        {"reason", &Fields::reason},
        {"right", &Fields::right},
        {"value", &Fields::value},
        {"stderr", &Fields::standard_error},
        {"low", &Fields::low},
        {"high", &Fields::high},
        {"chance", &Fields::chance},
        {"n", &Fields::n},
        {"count", &Fields::count},
        {"step", &Fields::step},
        {"tokens", &Fields::tokens},
        {"flops", &Fields::flops},
        {"wall_s", &Fields::wall_s},
        {"limit", &Fields::limit},
        {"seed", &Fields::seed}};
    simdjson::dom::object all;
    if (record.get(all) != simdjson::SUCCESS) return;
    for (const auto& [key, field] : all) {
      const auto at = slots.find(key);
      if (at != slots.end()) {
        if (const auto* const texts = std::get_if<0>(&at->second))
          take(field, this->**texts);
        else
          take(field, this->*std::get<1>(at->second));
      } else if (key == "encoding") {
        encoding = field, has_encoding = true;
      } else if (key == "coords") {
        coords = field, has_coords = field.is_object();
      }
      if (key == "seed" && field.get(whole_seed) != simdjson::SUCCESS)
        whole_seed = static_cast<std::uint64_t>(whole(seed));
    }
  }

  Number number() const {
    Number out;
    out.value = status == "inf" ? Number::infinite : value;
    out.standard_error = standard_error;
    out.low = low, out.high = high, out.chance = chance;
    out.n = whole(n), out.count = whole(count);
    out.right = right;
    return out;
  }

 private:
  template <class T>
  static void take(const RecordView& field, T& to) {
    if (T found; field.get(found) == simdjson::SUCCESS) to = found;
  }
};

template <class T, class U>
std::size_t index_of(std::vector<T>& all, const U& one) {
  const auto it = std::find(all.begin(), all.end(), one);
  if (it != all.end()) return static_cast<std::size_t>(it - all.begin());
  all.emplace_back(one);
  return all.size() - 1;
}

// Sets of few texts, to which nearly every record adds what is there.
void note(std::set<std::string>& all, std::string_view one) {
  if (std::find(all.begin(), all.end(), one) == all.end()) all.emplace(one);
}

Place place_of(const Fields& f) {
  Place p;
  p.metric = f.metric;
  simdjson::dom::object fields;
  if (f.coords.get(fields) != simdjson::SUCCESS) return p;
  for (const auto& [key, value] : fields) {
    std::string_view name;
    double x = 0;
    if (value.get(name) == simdjson::SUCCESS) {
      if (key == "protocol") p.protocol = name;
      if (key == "bucket") p.bucket = name;
    } else if (value.get(x) == simdjson::SUCCESS) {
      const int number = static_cast<int>(std::clamp(x, -2e9, 2e9));
      if (key == "eval_len")
        p.length = number;
      else if (key == "pos_lo" || key == "dist_lo")
        p.from = number;
      else if (key == "pos_hi" || key == "dist_hi")
        p.to = number;
      else if (key != "train_len")
        p.axes.emplace_back(key, x);
    }
  }
  return p;
}

template <std::size_t n>
bool is_one_of(std::string_view metric, const std::array<std::string_view, n>& names) {
  return std::find(names.begin(), names.end(), metric) != names.end();
}
constexpr std::array<std::string_view, 5> costs = {"parameters", "encoding_parameters",
                                                   "tokens_per_s", "peak_memory", "mfu"};
constexpr std::array<std::string_view, 5> health = {"grad_norm", "loss_spike", "entropy",
                                                    "part_grad_norm", "update_ratio"};

class Sorter {
 public:
  explicit Sorter(RunData& run) : run_(run) {}
  std::set<std::int64_t> limits;

  // False when the record lacks what every record has.
  bool add(const RecordView& record) {
    const Fields f(record);
    const std::string_view id = f.has_encoding ? text(f.encoding, "id") : std::string_view();
    if (id.empty() || f.task.empty() || !f.has_coords || std::isnan(f.seed)) return false;
    const std::size_t e = index_of(run_.encodings, id);
    note_context(f, e);
    if (!std::isnan(f.limit)) limits.insert(whole(f.limit));
    TaskData& t = task_of(f, static_cast<int>(integer(f.coords, "train_len")));
    if (std::string& known = t.encoded[e]; known != run_.expressions[e])
      known = run_.expressions[e];
    CellData& c = cell_of(t, f, e);
    if (f.part == "failure")
      c.status = f.status, c.reason = f.reason;
    else if (has(f.coords, "mix"))
      return true;  // of a task that is only trained on: its records stand for themselves
    else if (text(f.coords, "probe") == "predictions")
      add_prediction(t, e, f);
    else if (has(f.coords, "probe"))
      c.probes[place_of(f)] = f.number();
    else if (f.split == "train" || f.split == "val")
      add_training(c, f);
    else
      add_evaluation(t, c, f);
    return true;
  }

 private:
  void note_context(const Fields& f, std::size_t e) {
    if (run_.suite.empty()) run_.suite = f.suite;
    run_.expressions.resize(run_.encodings.size());
    run_.plugins.resize(run_.encodings.size());
    run_.versions.resize(run_.encodings.size());
    run_.expressions[e] = text(f.encoding, "expr");
    note_plugins(f.encoding, e);
    note(run_.models, f.model);
    run_.seeds.insert(static_cast<std::uint64_t>(whole(f.seed)));
    if (f.ts > run_.last_record) run_.last_record = f.ts;
    if (!f.backend.empty()) note(run_.backends, f.backend);
    if (!f.precision.empty()) note(run_.precisions, f.precision);
    if (!f.determinism.empty()) note(run_.determinisms, f.determinism);
    if (!f.path.empty() && f.path != "none") note(run_.paths, f.path);
  }

  void note_plugins(const RecordView& encoding, std::size_t e) {
    simdjson::dom::array plugins;
    if (encoding["plugins"].get(plugins) != simdjson::SUCCESS) return;
    const bool first = run_.plugins[e].empty();
    for (const RecordView& p : plugins) {
      const std::string_view version = text(p, "version"), build = text(p, "build");
      auto& versions = run_.versions[e];
      const auto it = std::find_if(versions.begin(), versions.end(), [&](const auto& known) {
        return known.first == text(p, "encoding");
      });
      if (it == versions.end())
        versions.emplace(text(p, "encoding"), version);
      else if (it->second != version)
        it->second = version;
      if (!first) continue;
      if (!run_.plugins[e].empty()) run_.plugins[e] += "; ";
      run_.plugins[e] += fmt::format("{} {}{}{}", text(p, "id"), version,
                                     build.empty() ? "" : ", build ", build.substr(0, 15));
    }
  }

  TaskData& task_of(const Fields& f, int train_length) {
    const auto it = std::find_if(run_.tasks.begin(), run_.tasks.end(), [&](const TaskData& t) {
      return t.train_length == train_length && t.task == f.task && t.model == f.model;
    });
    if (it != run_.tasks.end()) return *it;
    TaskData t;
    t.task = f.task, t.model = f.model, t.train_length = train_length;
    t.expression = f.task_expr, t.version = f.task_version;
    return run_.tasks.emplace_back(std::move(t));
  }

  CellData& cell_of(TaskData& t, const Fields& f, std::size_t e) {
    CellData& c = t.cells[{e, f.whole_seed}];
    if (!c.id.empty() && c.id != f.cell) {  // trained again, by other plugins or another program
      run_.notes.push_back(fmt::format(
          "{} on {}, seed {}, was recorded as cell {} and later as {}: the later is shown",
          run_.encodings[e], t.task, f.whole_seed, c.id, f.cell));
      c = {};
    }
    if (c.id.empty()) c.id = f.cell;
    if (c.series.empty()) c.series = f.series;
    if (c.path.empty() || c.path == "none") c.path = f.path;
    return c;
  }

  static void add_prediction(TaskData& t, std::size_t e, const Fields& f) {
    t.predictions.push_back({e, f.whole_seed, static_cast<int>(integer(f.coords, "eval_len")),
                             static_cast<int>(integer(f.coords, "example")), f.value,
                             std::string(text(f.coords, "read")),
                             std::string(text(f.coords, "wanted")),
                             std::string(text(f.coords, "found"))});
  }

  static void add_training(CellData& c, const Fields& f) {
    const std::string metric(f.metric);
    const double value = f.number().value;
    const std::int64_t step = whole(f.step);
    c.steps = std::max(c.steps, step);
    c.tokens = std::max(c.tokens, whole(f.tokens));
    c.flops = std::max(c.flops, f.flops);
    c.train_seconds = std::max(c.train_seconds, f.wall_s);
    if (is_one_of(metric, costs)) {
      c.costs[metric] = value;
      return;
    }
    if (metric == "nll" && f.status != "ok") {
      c.status = "diverged";
      c.reason = fmt::format("loss {} at step {}", f.status, step);
    }
    if (metric == "nll" || metric == "acc")
      c.curves[fmt::format("{} {}", f.split, metric)][step] = value;
    if (!is_one_of(metric, health)) return;
    const std::string_view part = text(f.coords, "part");
    c.health[part.empty() ? metric : fmt::format("{} {}", metric, part)][step] = value;
  }

  static void add_evaluation(TaskData& t, CellData& c, const Fields& f) {
    Place p = place_of(f);
    index_of(t.lengths, p.length);
    if (f.split == "id") c.longest_trained = std::max(c.longest_trained, p.length);
    if (f.status == "diverged") {
      if (c.status == "ok") c.status = "diverged";
      if (c.reason.empty()) c.reason = "training did not stay finite";
      return;
    }
    if (!p.protocol.empty()) {
      t.corpus = true;
      index_of(t.protocols, p.protocol);
    } else if (p.metric != "untrained") {
      t.problem = true;
      add_setting(t, p, f.split == "id");
    }
    c.evals[std::move(p)] = f.number();
  }

  static void add_setting(TaskData& t, const Place& p, bool trained) {
    auto it = std::find_if(t.settings.begin(), t.settings.end(), [&](const Setting& s) {
      return s.length == p.length && s.axes == p.axes;
    });
    if (it == t.settings.end())
      it = t.settings.insert(it, {p.length, p.axes, trained, false, false});
    it->seen |= p.bucket == "seen";
    it->unseen |= p.bucket == "unseen";
  }

  RunData& run_;
};

}  // namespace

SortedRecords sort_records(const fs::path& records, RunData& run) {
  Sorter sorter(run);
  SortedRecords out;
  each_record(records, run.notes, [&](const RecordView& j) { out.bad += sorter.add(j) ? 0 : 1; });
  out.limits = std::move(sorter.limits);
  return out;
}

}  // namespace pesuite
