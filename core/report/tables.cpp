#include "report/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace pesuite {

std::string file_name(const RunData& run, const TaskData& t, const std::string& kind,
                      const std::string& what) {
  std::string name = kind + "_" + t.task;
  if (run.several_models()) name += "_" + t.model;
  const auto same = std::count_if(run.tasks.begin(), run.tasks.end(), [&](const TaskData& o) {
    return o.task == t.task && o.model == t.model;
  });
  if (same > 1) name += fmt::format("_{}", t.train_length);
  if (!what.empty()) name += "_" + what;
  // Two may still come to one name, as task "a_b" and task "a" with model "b".
  const std::string owner =
      fmt::format("{}\n{}\n{}\n{}\n{}", kind, t.task, t.model, t.train_length, what);
  std::string out = file_name_of(name);
  for (int n = 2; run.file_names.emplace(out, owner).first->second != owner; ++n)
    out = fmt::format("{}_{}", file_name_of(name), n);
  return out;
}

std::string seed_phrase(const TaskData& t) {
  if (t.seeds.size() == 1) return fmt::format("One seed ({}).", t.seeds[0]);
  return fmt::format("Mean over {} seeds [lowest, highest seed].", t.seeds.size());
}

namespace {

// Seeds of an encoding whose cell has no result at all, by what became of it.
std::map<std::string, std::size_t> lost_cells(const TaskData& t, std::size_t encoding) {
  std::map<std::string, std::size_t> lost;
  for (const std::uint64_t seed : t.seeds) {
    const CellData* c = t.cell(encoding, seed);
    if (c == nullptr)
      ++lost["missing"];
    else if (c->status != "ok")
      ++lost[c->status];
  }
  return lost;
}

}  // namespace

std::string row_name(const RunData& run, const TaskData& t, std::size_t encoding) {
  std::string out = run.encodings[encoding];
  for (const auto& [why, count] : lost_cells(t, encoding))
    if (count < t.seeds.size()) out += fmt::format(" ({} of {} {})", count, t.seeds.size(), why);
  return out;
}

Spread in_row(const TaskData& t, std::size_t encoding, const std::vector<SeedValue>& values) {
  Spread s = summarize(values);
  if (s.n > 0 && s.lost == lost_cells(t, encoding)) s.lost.clear();
  return s;
}

std::string csv_number(double x) {
  return std::isnan(x) ? "" : format_number(x);
}

namespace {

std::vector<std::string> cost_row(const RunData& run, const TaskData& t, std::size_t e,
                                  std::uint64_t seed, const CellData& c) {
  const auto cost = [&](const char* m) {
    return c.costs.contains(m) ? csv_number(c.costs.at(m)) : "";
  };
  return {run.encodings[e],
          t.task,
          t.model,
          std::to_string(t.train_length),
          std::to_string(seed),
          c.status,
          cost("parameters"),
          cost("encoding_parameters"),
          cost("tokens_per_s"),
          csv_number(c.train_seconds),
          cost("peak_memory"),
          std::to_string(c.steps),
          std::to_string(c.tokens),
          c.path};
}

}  // namespace

TableFile cost_table(const RunData& run) {
  TableFile out{"cost",
                {},
                {{"encoding", "task", "model", "train_len", "seed", "status", "parameters",
                  "encoding_parameters", "tokens_per_s", "train_seconds", "peak_memory", "steps",
                  "tokens", "path"}}};
  Table b{"", "", {{"task", "encoding", "parameters", "of the encoding", "training time"}}, 2};
  Table speed{"", "", {{"task", "encoding", "tokens/s", "peak memory", "attention"}}, 2};
  if (run.several_models())
    for (Table* table : {&b, &speed})
      table->rows[0].insert(table->rows[0].begin() + 1, "model"), table->text_columns = 3;
  for (const TaskData& t : run.tasks)
    for (const std::size_t e : t.encodings) {
      std::map<std::string, std::vector<double>> all;
      std::set<std::string> paths;
      for (const std::uint64_t seed : t.seeds) {
        const CellData* c = t.cell(e, seed);
        if (c == nullptr || c->costs.empty()) continue;
        for (const auto& [metric, value] : c->costs) all[metric].push_back(value);
        all["seconds"].push_back(c->train_seconds);
        paths.insert(c->path);
        out.csv.push_back(cost_row(run, t, e, seed, *c));
      }
      if (all.empty()) continue;
      const auto shown = [&](const char* m, const Format& f) {
        const double x = median(all[m]);
        return std::isnan(x) ? std::string("–") : f(x);
      };
      std::vector<Text> names = {t.task, run.encodings[e]};
      if (run.several_models()) names.insert(names.begin() + 1, t.model);
      const auto add = [&](Table& table, const std::vector<std::string>& cells) {
        table.rows.push_back(names);
        table.rows.back().insert(table.rows.back().end(), cells.begin(), cells.end());
      };
      add(b, {shown("parameters", format_count), shown("encoding_parameters", format_count),
              shown("seconds", format_seconds)});
      add(speed, {shown("tokens_per_s", format_count), shown("peak_memory", format_bytes),
                  join(std::vector<std::string>(paths.begin(), paths.end()), ", ")});
    }
  if (b.rows.size() < 2) return out;
  b.caption =
      rich("Medians over seeds. Cells shared the machine. For speed: {}.", code("pesuite bench"));
  out.blocks = {std::move(b), std::move(speed)};
  return out;
}

TableFile failure_table(const RunData& run) {
  TableFile out{"failures",
                {},
                {{"encoding", "task", "model", "train_len", "seed", "cell", "status", "reason"}}};
  Table b{"", "", {{"encoding", "task", "model", "seed", "status", "reason"}}, 6};
  for (const TaskData& t : run.tasks)
    for (const auto& [key, c] : t.cells) {
      if (c.status == "ok") continue;
      const std::string& encoding = run.encodings[key.first];
      b.rows.push_back({encoding, t.task, t.model, std::to_string(key.second), c.status, c.reason});
      out.csv.push_back({encoding, t.task, t.model, std::to_string(t.train_length),
                         std::to_string(key.second), c.id, c.status, c.reason});
    }
  if (b.rows.size() > 1) out.blocks.push_back(std::move(b));
  return out;
}

}  // namespace pesuite
