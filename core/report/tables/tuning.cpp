// What tuning tried, with the loss of each attempt: the grid of rates, then each encoding's others.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/tables.h"
#include "report/text.h"

namespace pesuite {

namespace {

std::string loss_text(const Json& attempt) {
  return attempt["loss"].is_number() ? nats_text(attempt["loss"].get<double>())
                                     : attempt["status"].get<std::string>();
}

struct TuningTable {
  Table table{"", "", {{"task", "encoding"}}, 2};
  std::vector<double> rates;

  bool in_grid(const Json& attempt, const std::string& usual) const {
    return attempt.value("expr", "") == usual &&
           std::find(rates.begin(), rates.end(), attempt["lr"].get<double>()) != rates.end();
  }
  std::vector<Text> row(const Json& c) const {
    std::vector<Text> out(table.rows[0].size(), "–");
    out[0] = c["task"].get<std::string>();
    out[1] = c["encoding"].get<std::string>() +
             (c["at_edge"].get<bool>() ? " (edge of what was tried)" : "");
    std::size_t other = rates.size() + 2;
    const std::string usual = c["losses"].empty() ? "" : c["losses"][0].value("expr", "");
    for (const Json& l : c["losses"]) {
      const double rate = l["lr"].get<double>();
      const bool grid = in_grid(l, usual);
      const bool chosen = rate == c["lr"] && l.value("expr", "") == c.value("expr", "");
      const Text loss = chosen ? Text(strong(loss_text(l))) : Text(loss_text(l));
      if (grid) {
        const auto at = std::find(rates.begin(), rates.end(), rate) - rates.begin();
        out[static_cast<std::size_t>(at) + 2] = loss;
      } else if (other < out.size()) {
        const std::string expression = l.value("expr", "");
        out[other++] = expression == usual ? rich("{} at {}", loss, format_number(rate))
                                           : rich("{} of {}", loss, code(expression));
      }
    }
    return out;
  }
};

}  // namespace

Table tuning_table(const RunData& run) {
  TuningTable t;
  std::vector<Text>& head = t.table.rows[0];
  for (const Json& rate : run.tuning["rates"]) {
    t.rates.push_back(rate.get<double>());
    head.push_back(format_number(t.rates.back()));
  }
  std::size_t others = 0, fewest = SIZE_MAX, most = 0;
  for (const Json& c : run.tuning["chosen"]) {
    const std::string usual = c["losses"].empty() ? "" : c["losses"][0].value("expr", "");
    const auto grid = std::count_if(c["losses"].begin(), c["losses"].end(),
                                    [&](const Json& l) { return t.in_grid(l, usual); });
    fewest = std::min(fewest, c["losses"].size()), most = std::max(most, c["losses"].size());
    others = std::max(others, c["losses"].size() - static_cast<std::size_t>(grid));
  }
  for (std::size_t i = 0; i < others; ++i) head.emplace_back(fmt::format("more {}", i + 1));
  for (const Json& c : run.tuning["chosen"]) t.table.rows.push_back(t.row(c));
  std::vector<std::string> seeds;
  for (const Json& seed : run.tuning["seeds"]) seeds.push_back(seed.dump());
  t.table.caption = fmt::format(
      "Validation loss at the training length, in nats, by learning rate. Tuning seeds ({}) are "
      "not "
      "reported. Every encoding had {} on a task and trained with the best (bold).{}",
      join(seeds, ", "),
      fewest == most ? counted(most, "attempt") : "as many attempts as the others",
      others > 0 ? " The last are settings its card names, or further rates." : "");
  return std::move(t.table);
}

}  // namespace pesuite
