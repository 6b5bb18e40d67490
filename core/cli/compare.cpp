// compare: two runs or baselines, series by series.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "cli/arguments.h"
#include "cli/sides.h"
#include "report/comparison.h"

namespace pesuite::cli {

namespace {

std::vector<std::string> words_of(const Arguments& a, const char* flag) {
  std::vector<std::string> out;
  if (a.has(flag))
    for (const std::string& w : split(a.text(flag), ',')) out.push_back(trim(w));
  return out;
}

std::vector<std::string> keys_of(const Arguments& a) {
  static const std::vector<std::string> known = {"encoding", "task", "model", "protocol",
                                                 "eval_len"};
  const std::vector<std::string> by = words_of(a, "by");
  for (const std::string& key : by)
    if (std::count(known.begin(), known.end(), key) == 0)
      fail(Exit::usage, "--by: series have no '{}'{}; there are {}", key, did_you_mean(key, known),
           join(known, ", "));
  return by;
}

}  // namespace

int compare_verb(const std::vector<std::string>& words) {
  Arguments a("compare A B [flags]",
              "Compares two runs or baselines: each series (an encoding on a task at a length) "
              "paired by seed, with difference, interval and verdict: identical, improved, "
              "equivalent, regressed, inconclusive, new, missing.\nA and B are folders of runs, "
              "parts of their names, or baselines. B is judged by the gate of A.");
  add_side_flags(a);
  a.flags()("by", po::value<std::string>(),
            "means over all but these: encoding, task, model, protocol, eval_len; e.g. "
            "encoding,task")("metric", po::value<std::string>(),
                             "metrics instead of nats and shares that are right, e.g. nll or "
                             "regret,mrr; '*': all")("gate", po::bool_switch(),
                                                     "exit code 1 where a gated series got worse")(
      "report", po::value<std::string>(),
      "folder for comparison.md with figures of both, one over the other");
  add_verdict_flags(a);
  a.positional("a");
  a.positional("b");
  if (!a.parse(words)) return 0;
  a.require("a", "two runs or baselines");
  a.require("b", "the second run or baseline");
  const std::vector<std::string> metrics = words_of(a, "metric");
  const Side before = find_side(a.text("a"), a, metrics),
             after = find_side(a.text("b"), a, metrics);
  CompareOptions options;
  options.by = keys_of(a);
  options.baseline = before.baseline ? &*before.baseline : nullptr;
  const Changes c = compare(before.measured, after.measured, options);
  const int code = show_changes(c, a);
  if (a.has("report")) {
    for (const std::string& n :
         write_comparison(a.text("report"), c, before.measured, after.measured))
      fmt::print(stderr, "note: {}\n", n);
    fmt::print(stderr, "wrote {}/comparison.md\n", a.text("report"));
  }
  return a.flag("gate") ? code : 0;
}

}  // namespace pesuite::cli
