// Recorded runs made up for tests of what is computed from them.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>

#include "analysis/run_data.h"
#include "analysis/statistics.h"
#include "report/tables.h"

namespace pesuite::testing {

// A run with encodings named by `ids`; its tasks are trained at 64.
struct MadeUp {
  RunData run;

  explicit MadeUp(const std::vector<std::string>& ids) {
    run.encodings = ids;
    run.expressions.assign(ids.size(), "e");
    run.plugins.assign(ids.size(), "");
  }
  TaskData& corpus(const std::string& name, const std::vector<int>& lengths,
                   const std::string& protocol = "last(32)") {
    TaskData t;
    t.task = name, t.expression = name, t.family = name, t.model = "nano";
    t.train_length = 64, t.corpus = true;
    t.protocols = {protocol}, t.lengths = lengths;
    run.tasks.push_back(t);
    return run.tasks.back();
  }
  TaskData& problem(const std::string& name, const std::vector<int>& lengths) {
    TaskData t;
    t.task = name, t.expression = name, t.family = name, t.model = "nano";
    t.train_length = 64, t.problem = true;
    t.lengths = lengths;
    for (const int l : lengths) t.settings.push_back({l, {}, l <= 64, false, false});
    run.tasks.push_back(t);
    return run.tasks.back();
  }
  CellData& cell(TaskData& t, std::size_t e, std::uint64_t seed) {
    if (std::find(t.seeds.begin(), t.seeds.end(), seed) == t.seeds.end()) t.seeds.push_back(seed);
    if (std::find(t.encodings.begin(), t.encodings.end(), e) == t.encodings.end())
      t.encodings.push_back(e);
    run.seeds.insert(seed);
    run.models.insert(t.model);
    return t.cells[{e, seed}];
  }
  void nats(TaskData& t, std::size_t e, std::uint64_t seed, int length, double regret,
            double optimum = 2) {
    CellData& c = cell(t, e, seed);
    const auto put = [&](const char* metric, double x) {
      c.evals[whole(metric, t.protocols[0], length)].value = x;
    };
    put("nll", optimum + regret), put("optimum", optimum), put("regret", regret);
  }
  void accuracy(TaskData& t, std::size_t e, std::uint64_t seed, int length, double share,
                double chance = 0.1) {
    Number n;
    n.value = share, n.chance = chance, n.n = 500;
    const Interval i = wilson(share, 500);
    n.low = i.low, n.high = i.high;
    cell(t, e, seed).evals[Place{"acc", "", length, {}, "", 0, 0}] = n;
  }
  void diverge(TaskData& t, std::size_t e, std::uint64_t seed, const char* status = "diverged") {
    cell(t, e, seed).status = status;
  }
};

}  // namespace pesuite::testing
