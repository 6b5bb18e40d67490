#include "analysis/measurement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "model/metrics.h"

namespace pesuite {

namespace {

const Json& part_of(const Json& j, const char* key) {
  static const Json nothing;
  return j.is_object() && j.contains(key) ? j.at(key) : nothing;
}
std::string text_in(const Json& j, const char* key) {
  const Json& found = part_of(j, key);
  return found.is_string() ? found.get<std::string>() : "";
}

bool is_series(const Place& p, const std::vector<std::string>& metrics) {
  if (!p.bucket.empty() || p.from != 0 || p.to != 0) return false;
  if (!metrics.empty())
    return std::any_of(metrics.begin(), metrics.end(),
                       [&](const std::string& m) { return glob_match(m, p.metric); });
  static const std::vector<std::string> derived = {"ppl", "bpb", "regret"};
  const auto known = std::find_if(pesuite::metrics().begin(), pesuite::metrics().end(),
                                  [&](const Metric& m) { return m.name == p.metric; });
  return known != pesuite::metrics().end() && known->better != Metric::Better::neither &&
         std::count(derived.begin(), derived.end(), p.metric) == 0;
}

// Of all numbers of a cell that repeat: those of its training, and its evaluations.
std::string digest_of(const CellData& c) {
  std::string text;
  for (const auto& [name, curve] : c.curves)
    for (const auto& [step, value] : curve)
      text += fmt::format("{} {} {}\n", name, step, format_number(value));
  for (const auto& [p, n] : c.evals) {
    text +=
        fmt::format("{} {} {} {} {} {}", p.metric, p.protocol, p.length, p.bucket, p.from, p.to);
    for (const auto& [axis, value] : p.axes) text += fmt::format(" {} {}", axis, value);
    text += fmt::format(" {} {}\n", format_number(n.value), n.right);
  }
  return text.empty() ? "" : sha256(text).substr(0, 16);
}

}  // namespace

Coordinates SeriesName::coordinates() const {
  return {{"encoding", encoding},   {"task", task},
          {"model", model},         {"protocol", place.protocol},
          {"metric", place.metric}, {"eval_len", std::to_string(place.length)}};
}

std::string place_text(const Place& p) {
  std::string out = fmt::format("{} at {}", p.metric, p.length);
  if (!p.protocol.empty()) out += ", " + p.protocol;
  for (const auto& [axis, value] : p.axes)
    out += fmt::format(", {} {}", axis, format_number(value));
  return out;
}

std::string series_text(const SeriesName& s, bool with_model) {
  return fmt::format("{} on {}{}, {}", s.encoding, s.task, with_model ? " (" + s.model + ")" : "",
                     place_text(s.place));
}

std::string cell_text(const MeasuredCell& c) {
  return fmt::format("{} on {} ({}), seed {}", c.encoding, c.task, c.model, c.seed);
}

Json to_json(const SeriesName& s) {
  Json j = {{"encoding", s.encoding},   {"task", s.task},
            {"model", s.model},         {"train_len", s.train_length},
            {"metric", s.place.metric}, {"eval_len", s.place.length}};
  if (!s.place.protocol.empty()) j["protocol"] = s.place.protocol;
  if (!s.place.axes.empty()) {
    j["axes"] = Json::object();
    for (const auto& [axis, value] : s.place.axes) j["axes"][axis] = value;
  }
  return j;
}

SeriesName series_from_json(const Json& j) {
  SeriesName s;
  s.encoding = j.at("encoding"), s.task = j.at("task"), s.model = j.at("model");
  s.train_length = j.at("train_len");
  s.place.metric = j.at("metric"), s.place.length = j.at("eval_len");
  s.place.protocol = j.value("protocol", std::string());
  if (j.contains("axes"))
    for (const auto& [axis, value] : j.at("axes").items())
      s.place.axes.emplace_back(axis, value.get<double>());
  return s;
}

std::vector<GateRule> gates_of(const RunData& run) {
  if (!run.gates.is_array() || run.gates.empty()) return usual_gates();
  Problems problems;
  const Json root = {{"gate", run.gates}};
  const Config config;
  Reader reader(config, root, "", problems);
  std::vector<GateRule> out = read_gates(reader);
  return out.empty() ? usual_gates() : out;
}

Json fingerprint(const RunData& run) {
  if (run.starts.empty()) return nullptr;
  const Json& start = run.starts.back();
  const Json &program = part_of(start, "pesuite"), &cpu = part_of(start, "cpu");
  Json out = {{"cpu", text_in(cpu, "model")},
              {"compiler", text_in(program, "compiler")},
              {"build_type", text_in(program, "build_type")},
              {"backends", run.backends},
              {"precisions", run.precisions}};
  std::set<std::string> devices, threads;
  for (const Json& c :
       part_of(start, "cells").is_array() ? part_of(start, "cells") : Json::array()) {
    devices.insert(text_in(c, "device"));
    threads.insert(part_of(c, "threads").dump());
  }
  out["devices"] = devices, out["threads"] = threads;
  return out;
}

std::string machine_difference(const Json& before, const Json& after) {
  if (before.is_null() || after.is_null()) return "";
  static const std::pair<const char*, const char*> parts[] = {{"cpu", "processor"},
                                                              {"devices", "device"},
                                                              {"compiler", "compiler"},
                                                              {"build_type", "build type"},
                                                              {"backends", "backend"},
                                                              {"precisions", "precision"},
                                                              {"threads", "number of threads"}};
  std::vector<std::string> out;
  for (const auto& [key, name] : parts) {
    const Json &a = part_of(before, key), &b = part_of(after, key);
    if (a == b || a.empty() || b.empty()) continue;
    const auto shown = [](const Json& j) {
      if (j.is_string()) return j.get<std::string>();
      std::vector<std::string> all;
      for (const Json& x : j) all.push_back(x.is_string() ? x.get<std::string>() : x.dump());
      return join(all, ", ");
    };
    out.push_back(fmt::format("another {} ({}, was {})", name, shown(b), shown(a)));
  }
  return join(out, ", ");
}

namespace {

void add_versions(const RunData& run, Measurement& m) {
  for (std::size_t e = 0; e < run.encodings.size() && e < run.versions.size(); ++e)
    for (const auto& [name, version] : run.versions[e])
      if (!version.empty()) {
        std::string& all = m.versions["encoding " + run.encodings[e]];
        all += (all.empty() ? "" : ", ") + name + " " + version;
      }
  for (const TaskData& t : run.tasks)
    if (!t.version.empty()) m.versions["task " + t.task] = t.version;
}

std::string program_of(const RunData& run) {
  if (run.starts.empty()) return "";
  const Json& p = part_of(run.starts.back(), "pesuite");
  const bool changed = part_of(p, "dirty") == true;
  return fmt::format("pesuite {} ({}{})", text_in(p, "version"), text_in(p, "commit"),
                     changed ? ", changed since" : "");
}

}  // namespace

Measurement measure(const RunData& run, const std::vector<std::string>& metrics) {
  Measurement m;
  m.name = run.folder, m.suite = run.suite, m.epoch = run.epoch;
  m.machine = fingerprint(run), m.program = program_of(run);
  m.gates = gates_of(run), m.notes = run.notes;
  if (!run.caution.empty()) m.notes.push_back(run.caution);
  add_versions(run, m);
  std::map<SeriesName, MeasuredSeries> series;
  for (const TaskData& t : run.tasks)
    for (const std::size_t e : t.encodings)
      for (const std::uint64_t seed : t.seeds) {
        MeasuredCell cell{run.encodings[e], t.task, t.model, t.train_length, seed};
        const CellData* c = t.cell(e, seed);
        if (c == nullptr) {
          cell.status = "missing";
        } else {
          cell.status = c->status, cell.reason = c->reason, cell.digest = digest_of(*c);
          for (const auto& [place, number] : c->evals) {
            if (!is_series(place, metrics)) continue;
            SeriesName name{run.encodings[e], t.task, t.model, t.train_length, place};
            MeasuredSeries& s = series[name];
            s.name = std::move(name), s.settings = c->series, s.seeds[seed] = number;
          }
        }
        m.seeds.insert(seed);
        m.cells.push_back(std::move(cell));
      }
  for (auto& [name, s] : series) m.series.push_back(std::move(s));
  std::sort(m.cells.begin(), m.cells.end(),
            [](const auto& a, const auto& b) { return a.key() < b.key(); });
  if (run.planned > run.cells)
    m.notes.push_back(fmt::format("{} is half finished: {} of {} cells have records", m.name,
                                  run.cells, run.planned));
  return m;
}

RunData as_run(const std::vector<std::pair<const Measurement*, std::string>>& sides) {
  RunData run;
  const auto at = [](auto& all, const std::string& one) {
    const auto it = std::find(all.begin(), all.end(), one);
    if (it == all.end()) all.push_back(one);
    return static_cast<std::size_t>(std::find(all.begin(), all.end(), one) - all.begin());
  };
  const auto note = [](auto& all, const auto& one) {
    if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
  };
  for (const auto& [m, mark] : sides)
    for (const MeasuredSeries& s : m->series) {
      const std::size_t e = at(run.encodings, s.name.encoding + mark);
      auto t = std::find_if(run.tasks.begin(), run.tasks.end(), [&](const TaskData& x) {
        return x.task == s.name.task && x.model == s.name.model &&
               x.train_length == s.name.train_length;
      });
      if (t == run.tasks.end()) {
        t = run.tasks.insert(t, TaskData());
        t->task = t->expression = t->family = s.name.task;
        t->model = s.name.model, t->train_length = s.name.train_length;
      }
      run.models.insert(s.name.model);
      const Place& p = s.name.place;
      note(t->lengths, p.length), note(t->encodings, e);
      if (!p.protocol.empty())
        t->corpus = true, note(t->protocols, p.protocol);
      else if (std::none_of(t->settings.begin(), t->settings.end(), [&](const Setting& x) {
                 return x.length == p.length && x.axes == p.axes;
               }))
        t->problem = true, t->settings.push_back({p.length, p.axes, p.length <= t->train_length});
      for (const auto& [seed, number] : s.seeds) {
        t->cells[{e, seed}].evals[p] = number;
        note(t->seeds, seed), run.seeds.insert(seed);
      }
    }
  for (TaskData& t : run.tasks)
    std::sort(t.seeds.begin(), t.seeds.end()), std::sort(t.lengths.begin(), t.lengths.end());
  run.expressions.resize(run.encodings.size());
  run.plugins.resize(run.encodings.size()), run.versions.resize(run.encodings.size());
  return run;
}

}  // namespace pesuite
