// Findings over tasks, in sentences and as a table.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"
#include "report/findings.h"

namespace pesuite {

std::vector<Text> across_findings(const RunData& run, const Across& a) {
  std::vector<Text> out;
  if (!a.tasks.empty()) {
    std::vector<std::string> names;
    for (const std::size_t e : a.groups[0]) names.push_back(run.encodings[e]);
    const std::string test =
        std::isnan(a.p) ? "no task tells any two apart"
                        : fmt::format("Friedman over {}: chi-square {:.3g}, {}",
                                      counted(a.tasks.size(), "task"), a.chi_square, p_text(a.p));
    if (a.tasks.size() < fewest_tasks)
      out.push_back(fmt::format("Over {} no order is tested: that needs {}.",
                                counted(a.tasks.size(), "task"), fewest_tasks));
    else if (std::isnan(a.p) || a.p >= 0.05)
      out.push_back(fmt::format("Over all tasks no order is shown ({}).", test));
    else if (names.size() > 1)
      out.push_back(fmt::format(
          "Over all tasks there is no single winner: {} have the best mean ranks and do not differ "
          "({}; critical difference {:.2f}).",
          join(names, ", "), test, a.critical));
    else
      out.push_back(
          rich("Over all tasks {} has the best mean rank ({}; critical difference {:.2f}).",
               strong(names[0]), test, a.critical));
  }
  if (!a.left_out.empty())
    out.push_back("Left out of the ranks over tasks: " + join(a.left_out, "; ") + ".");
  return out;
}

namespace {

// "algorithmic: copy, reverse; retrieval: needle, passkey": families of several tasks.
std::string families_text(const std::vector<const TaskData*>& tasks) {
  std::map<std::string, std::vector<std::string>> families;
  for (const TaskData* t : tasks) families[t->family].push_back(t->task);
  std::vector<std::string> parts;
  for (const auto& [family, names] : families)
    if (names.size() > 1) parts.push_back(fmt::format("{}: {}", family, join(names, ", ")));
  return parts.empty() ? "here none are said to be" : join(parts, "; ");
}

}  // namespace

TableFile across_table(const RunData& run, const Across& a) {
  TableFile out{"ranks",
                {},
                {{"encoding", "mean_rank", "family_rank", "mean_reciprocal_rank", "iqm", "iqm_low",
                  "iqm_high", "runs"}}};
  Table b{"", "", {{"encoding", "mean rank", "by family", "MRR", "score (IQM)", "runs"}}, 1};
  const auto shown = [](double x, int digits) {
    return std::isnan(x) ? std::string("–") : format_fixed(x, digits);
  };
  for (const Standing& s : a.standings) {
    const std::string& id = run.encodings[s.encoding];
    out.csv.push_back({id, csv_number(s.rank), csv_number(s.family_rank), csv_number(s.reciprocal),
                       csv_number(s.score), csv_number(s.score_interval.low),
                       csv_number(s.score_interval.high), std::to_string(s.runs)});
    b.rows.push_back(
        {id, shown(s.rank, 2), shown(s.family_rank, 2), shown(s.reciprocal, 2),
         s.runs == 0 ? "–"
         : std::isnan(s.score_interval.low)
             ? shown(s.score, 3)
             : fmt::format("{} [{}, {}]", shown(s.score, 3), shown(s.score_interval.low, 3),
                           shown(s.score_interval.high, 3)),
         s.runs == 0 ? "–" : std::to_string(s.runs)});
  }
  if (b.rows.size() < 2) return out;
  std::set<std::string> families;
  for (const Standing& s : a.standings)
    for (const auto& [family, x] : s.family_reciprocal) families.insert(family);
  if (families.size() > 1)  // MRR of each category, as length generalisation studies print it
    for (std::size_t i = 0; i < b.rows.size(); ++i)
      for (const std::string& family : families) {
        if (i == 0) {
          b.rows[0].push_back("MRR " + family);
          continue;
        }
        const auto& of = a.standings[i - 1].family_reciprocal;
        const auto it = of.find(family);
        b.rows[i].push_back(it == of.end() ? "–" : format_fixed(it->second, 2));
      }
  if (!a.tasks.empty())
    b.caption = rich(
        "Out of distribution. {}: over {}, ties share ranks; {}. {}: related tasks averaged first "
        "({}). {}: mean reciprocal place by mean score, ties not counted, as papers print it. ",
        emphasis("mean rank"), counted(a.tasks.size(), "task"),
        std::isnan(a.critical)
            ? fmt::format("no test below {} tasks", fewest_tasks)
            : fmt::format("critical difference {:.2f} (Nemenyi, 0.05)", a.critical),
        emphasis("by family"), families_text(a.tasks), emphasis("MRR"));
  b.caption += rich(
      "{}: interquartile mean of ({} - chance) / (1 - chance) over problems, lengths and "
      "seeds, with its 95 % interval over whole seeds, from 5 on. Tasks are related: read p-values "
      "over them as descriptions.",
      emphasis("score"), score_names(run));
  out.blocks.push_back(std::move(b));
  return out;
}

}  // namespace pesuite
