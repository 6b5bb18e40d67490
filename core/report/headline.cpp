// The main table of each task for a terminal.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/contest.h"
#include "base/text.h"
#include "report/tables.h"
#include "report/text.h"

namespace pesuite {

namespace {

constexpr std::size_t widest = 100;

// Numbers stand at the right of their columns.
std::string aligned(Rows rows) {
  for (std::size_t column = 1; column < rows[0].size(); ++column) {
    std::size_t width = 0;
    for (const auto& row : rows) width = std::max(width, display_width(row[column]));
    for (auto& row : rows) row[column].insert(0, width - display_width(row[column]), ' ');
  }
  return plain_table(rows);
}

std::size_t width_of(const std::string& table) {
  std::size_t width = 0;
  for (const std::string& line : split(table, '\n')) width = std::max(width, display_width(line));
  return width;
}

// Drops columns from the middle until the table fits; says how many.
std::string fitted(Rows rows) {
  std::string out = aligned(rows);
  std::size_t dropped = 0;
  while (width_of(out) > widest && rows[0].size() > 3) {
    const auto middle = static_cast<std::ptrdiff_t>(rows[0].size() / 2);
    for (auto& row : rows) row.erase(row.begin() + middle);
    ++dropped;
    out = aligned(rows);
  }
  if (dropped > 0) out += fmt::format("({} more in report.md)\n", counted(dropped, "column"));
  return out;
}

std::string task_name(const RunData& run, const TaskData& t) {
  return run.several_models() ? fmt::format("{}, model {}", t.task, t.model) : t.task;
}

Rows perplexity_rows(const RunData& run, const TaskData& t, const std::string& protocol,
                     bool extremes) {
  const auto text = [&](const Spread& s) {
    return extremes ? spread_text(s, perplexity_text) : mean_text(s, perplexity_text);
  };
  const std::vector<int> lengths = lengths_of(t, protocol);
  Rows rows = {{"encoding"}};
  for (const int l : lengths) rows[0].push_back(fmt::format("{} ({})", l, t.multiple(l)));
  for (const std::size_t e : t.encodings) {
    rows.push_back({shorten(row_name(run, t, e), 36)});
    for (const int l : lengths)
      rows.back().push_back(text(in_row(t, e, values_at(t, e, whole("nll", protocol, l)))));
  }
  if (!t.has("optimum")) return rows;
  rows.push_back({"(optimum)"});
  for (const int l : lengths)
    rows.back().push_back(text(summarize(optimum_at(t, whole("", protocol, l)))));
  return rows;
}

std::string corpus_headline(const RunData& run, const TaskData& t) {
  const std::string protocol = main_protocol(t);  // that of the answer above
  bool extremes = t.seeds.size() > 1;
  if (extremes && width_of(aligned(perplexity_rows(run, t, protocol, true))) > widest)
    extremes = false;
  const std::string seeds = t.seeds.size() == 1 ? fmt::format("seed {}", t.seeds[0])
                            : extremes
                                ? fmt::format("mean of {} seeds [lowest, highest]", t.seeds.size())
                                : fmt::format("mean of {} seeds", t.seeds.size());
  return fmt::format("{}: perplexity by evaluation length, trained at {}, {}, {}\n\n{}",
                     task_name(run, t), t.train_length, protocol, seeds,
                     fitted(perplexity_rows(run, t, protocol, extremes)));
}

// A setting in two lines: "OOD 256 (4x)" and "window end, unseen".
std::pair<std::string, std::string> column_name(const SettingPart& p) {
  std::string name = p.name;
  constexpr std::string_view word = " positions";
  if (name.ends_with(word)) name.resize(name.size() - word.size());
  const std::size_t comma = name.find(", ");
  const char* range = p.setting->trained ? "ID " : "OOD ";
  if (comma == std::string::npos) return {range + name, ""};
  return {range + name.substr(0, comma), name.substr(comma + 2)};
}

std::string problem_headline(const RunData& run, const TaskData& t) {
  std::vector<SettingPart> parts;
  for (const SettingPart& p : setting_parts(t))
    if (!p.bucket.empty() || !(p.setting->seen && p.setting->unseen))
      parts.push_back(p);  // no mixed ones
  Rows rows = {{"encoding"}, {""}};
  std::vector<std::string> chance = {"(chance)"};
  for (const SettingPart& p : parts) {
    const auto [above, below] = column_name(p);
    rows[0].push_back(above + " ");
    rows[1].push_back(below + " ");
    const double level = chance_of(t, p);
    chance.push_back((std::isnan(level) ? "–" : percent_text(level)) + " ");
  }
  for (const std::size_t e : t.encodings) {
    rows.push_back({shorten(row_name(run, t, e), 36)});
    for (const SettingPart& p : parts) {
      const AtChance a = at_chance(t, e, p);
      rows.back().push_back(
          mean_text(in_row(t, e, values_at(t, e, accuracy_place(p))), percent_text) +
          (a == AtChance::all    ? "~"
           : a == AtChance::some ? "?"
                                 : " "));
    }
  }
  rows.push_back(chance);
  const std::string seeds = t.seeds.size() == 1 ? fmt::format("seed {}", t.seeds[0])
                                                : fmt::format("mean of {} seeds", t.seeds.size());
  return fmt::format("{}: accuracy %, trained at {}, {}; ~ at chance{}\n\n{}", task_name(run, t),
                     t.train_length, seeds, t.seeds.size() > 1 ? ", ? some seeds at chance" : "",
                     fitted(rows));
}

}  // namespace

std::string headline(const RunData& run) {
  std::string out;
  for (const TaskData& t : run.tasks) {
    if (!out.empty()) out += "\n";
    if (t.corpus)
      out += corpus_headline(run, t);
    else if (t.problem)
      out += problem_headline(run, t);
    else
      out += fmt::format("{}: nothing was evaluated\n", task_name(run, t));
  }
  return out;
}

}  // namespace pesuite
