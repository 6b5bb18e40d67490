#include "model/metrics.h"

#include "base/error.h"

namespace pesuite {

const char* Metric::direction() const {
  switch (better) {
    case Better::lower: return "lower";
    case Better::higher: return "higher";
    case Better::neither: break;
  }
  return "none";
}

bool is_cost(std::string_view metric) {
  for (const std::string_view cost :
       {"tokens_per_s", "peak_memory", "step_ms", "data_ms", "wait_ms", "mfu"})
    if (metric == cost) return true;
  return false;
}

const std::vector<Metric>& metrics() {
  using enum Metric::Better;
  using enum Metric::Written;
  constexpr double nats_matter = 0.02, shares_matter = 0.05;  // 2 % of perplexity, 5 points
  constexpr bool column = true, map = true, bounded = true;
  static const std::vector<Metric> all = {
      {"nll", "nats/token", lower, nats, nats_matter, "nats", ""},
      {"ppl", "", lower, perplexity, 0, "perplexity", ""},
      {"regret", "nats/token", lower, nats, nats_matter, "regret", ""},
      {"optimum", "nats/token", neither, nats, nats_matter, "optimum", ""},
      {"unigram", "nats/token", neither, nats, nats_matter, "nats without context", ""},
      {"bpb", "bits/byte", lower, number, 0, "bits per byte", ""},
      {"em", "share", higher, share, shares_matter, "exact match",
       "Examples with every target right", column, map, bounded},
      {"acc", "share", higher, share, shares_matter, "accuracy", "Targets that are right", !column,
       map, bounded},
      {"candidate_acc", "share", higher, share, shares_matter, "first of candidates",
       "Targets whose likeliest candidate is the right one", column, map, bounded},
      {"candidate_em", "share", higher, share, shares_matter, "all first of candidates",
       "Examples whose likeliest candidates are all right", column, !map, bounded},
      {"mrr", "reciprocal rank", higher, number, shares_matter, "MRR",
       "Mean of one over the rank of the right candidate", column, !map, bounded},
      {"score", "", higher, number, shares_matter, "score", "", !column, !map, bounded},
      {"prediction", "share", neither, share, 0, "right of one example", ""},
      {"untrained", "share", neither, share, 0, "untrained parameters", ""},
      {"context_use", "", higher, number, 0, "use of context", ""},
  };
  return all;
}

const Metric& metric(std::string_view name) {
  for (const Metric& m : metrics())
    if (m.name == name) return m;
  fail(Exit::usage, "there is no metric '{}'", name);
}

}  // namespace pesuite
