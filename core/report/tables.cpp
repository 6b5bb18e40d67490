#include "report/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace pesuite {

std::string markdown(const Block& b) {
  std::string out;
  if (!b.title.empty()) out += fmt::format("**{}**\n\n", b.title);
  for (std::size_t r = 0; r < b.rows.size(); ++r) {
    out += "|";
    for (const std::string& cell : b.rows[r]) {
      out += ' ';
      for (const char c : cell) out += c == '|' ? std::string("\\|") : std::string(1, c);
      out += " |";
    }
    out += "\n";
    if (r > 0) continue;
    out += "|";
    for (std::size_t i = 0; i < b.rows[0].size(); ++i) out += i < b.text_columns ? "---|" : "---:|";
    out += "\n";
  }
  if (!b.caption.empty()) out += "\n" + b.caption + "\n";
  return out;
}

std::string file_name(const RunData& run, const TaskData& t, const std::string& kind,
                      const std::string& what) {
  std::string name = kind + "_" + t.task;
  if (run.several_models()) name += "_" + t.model;
  const auto same = std::count_if(run.tasks.begin(), run.tasks.end(), [&](const TaskData& o) {
    return o.task == t.task && o.model == t.model;
  });
  if (same > 1) name += fmt::format("_{}", t.train_length);
  if (!what.empty()) name += "_" + what;
  std::string out;
  for (const char c : name) {
    const bool plain =
        std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.';
    if (plain)
      out += c;
    else if (!out.empty() && out.back() != '-')
      out += '-';
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
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

TableFile cost_table(const RunData& run) {
  TableFile out{"cost",
                {},
                {{"encoding", "task", "model", "train_len", "seed", "status", "parameters",
                  "encoding_parameters", "tokens_per_s", "train_seconds", "peak_memory", "steps",
                  "tokens", "path"}}};
  Block b{"",
          "",
          {{"task", "encoding", "parameters", "of the encoding", "tokens/s", "training time",
            "peak memory", "attention"}},
          2};
  if (run.several_models()) b.rows[0].insert(b.rows[0].begin() + 1, "model"), b.text_columns = 3;
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
        const auto cost = [&](const char* m) {
          return c->costs.contains(m) ? csv_number(c->costs.at(m)) : "";
        };
        out.csv.push_back({run.encodings[e], t.task, t.model, std::to_string(t.train_length),
                           std::to_string(seed), c->status, cost("parameters"),
                           cost("encoding_parameters"), cost("tokens_per_s"),
                           csv_number(c->train_seconds), cost("peak_memory"),
                           std::to_string(c->steps), std::to_string(c->tokens), c->path});
      }
      if (all.empty()) continue;
      const auto shown = [&](const char* m, const Format& f) {
        const double x = median(all[m]);
        return std::isnan(x) ? std::string("–") : f(x);
      };
      std::vector<std::string> row = {
          t.task,
          run.encodings[e],
          shown("parameters", format_count),
          shown("encoding_parameters", format_count),
          shown("tokens_per_s", format_count),
          shown("seconds", format_seconds),
          shown("peak_memory", format_bytes),
          join(std::vector<std::string>(paths.begin(), paths.end()), ", ")};
      if (run.several_models()) row.insert(row.begin() + 1, t.model);
      b.rows.push_back(std::move(row));
    }
  b.caption =
      "Medians over seeds. Cells may have run side by side and shared the machine: this is what "
      "the run cost, not a benchmark of speed.";
  if (b.rows.size() > 1) out.blocks.push_back(std::move(b));
  return out;
}

TableFile failure_table(const RunData& run) {
  TableFile out{"failures",
                {},
                {{"encoding", "task", "model", "train_len", "seed", "cell", "status", "reason"}}};
  Block b{"", "", {{"encoding", "task", "model", "seed", "status", "reason"}}, 6};
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
