// status: what a run is doing just now, wherever its processes are.
#include <fmt/format.h>

#include "base/text.h"
#include "cli/arguments.h"
#include "cli/find_run.h"
#include "run/cell_log.h"

namespace pesuite::cli {

namespace {

constexpr std::size_t most_failures = 20;

Json to_json(const RunStanding& s, const std::string& run) {
  Json running = Json::array(), failed = Json::array();
  for (const CellStanding& c : s.cells)
    if (c.holder)
      running.push_back({{"cell", c.id},
                         {"label", c.label},
                         {"host", c.holder->host},
                         {"pid", c.holder->pid},
                         {"since", c.holder->since},
                         {"heard", c.holder->heard},
                         {"phase", c.holder->phase},
                         {"step", c.holder->step},
                         {"steps", c.holder->steps},
                         {"share", c.holder->share},
                         {"seconds_left", c.holder->seconds_left}});
    else if (c.state == "failed")
      failed.push_back({{"cell", c.id}, {"label", c.label}, {"at", c.since}, {"reason", c.reason}});
  return {{"schema", "pesuite.status/1"},
          {"run", run},
          {"done", s.done},
          {"diverged", s.diverged},
          {"failed", s.failed},
          {"running", s.running},
          {"left", s.left},
          {"work_left_s", s.work_left},
          {"seconds_left", s.seconds_left},
          {"cells_running", running},
          {"cells_failed", failed}};
}

void print(const RunStanding& s, const std::string& run) {
  fmt::print("{}: {} done{}{}, {} running, {} left\n", run, s.done,
             s.diverged > 0 ? fmt::format(", {} diverged", s.diverged) : "",
             s.failed > 0 ? fmt::format(", {} failed", s.failed) : "", s.running, s.left);
  std::vector<std::vector<std::string>> rows = {
      {"cell", "where", "since", "last heard", "doing", "of it", "left"}};
  for (const CellStanding& c : s.cells) {
    if (!c.holder) continue;
    const Holder& h = *c.holder;
    rows.push_back({printable(c.label), printable(fmt::format("{} pid {}", h.host, h.pid)), h.since,
                    h.heard,
                    h.phase.empty()      ? "starting"
                    : h.phase == "train" ? fmt::format("step {} of {}", h.step, h.steps)
                                         : printable(h.phase),
                    fmt::format("{:.0f} %", 100 * h.share),
                    h.seconds_left > 0 ? format_seconds(h.seconds_left) : ""});
  }
  if (rows.size() > 1) fmt::print("\n{}", plain_table(rows));
  std::size_t shown = 0;
  for (const CellStanding& c : s.cells) {
    if (c.state != "failed" || c.holder || shown++ >= most_failures) continue;
    fmt::print("{}failed {}: {}: {}\n", shown == 1 ? "\n" : "", c.since, printable(c.label),
               printable(c.reason));
  }
  if (shown > most_failures) fmt::print("and {} more that failed\n", shown - most_failures);
  if (s.running > 0)
    fmt::print("\nabout {} left, with {} at a time\n", format_seconds(s.seconds_left),
               counted(s.running, "cell"));
  else if (s.left > 0)
    fmt::print("\nnobody is at it; about {} of work are left\n", format_seconds(s.work_left));
}

}  // namespace

int status_verb(const std::vector<std::string>& words) {
  Arguments a("status RUN [flags]",
              "What a run is doing just now: cells that are done, that failed, and who computes "
              "which, on what machine,\nsince when and for how long. RUN is a folder, or a part of "
              "its name; without it the latest one.");
  a.flags()("out", po::value<std::string>()->default_value("results"), "folder of the results")(
      "json", po::bool_switch(), "the same as JSON");
  a.positional("run");
  if (!a.parse(words)) return 0;
  const fs::path run = find_run(a.text("run"), a.text("out"), cell_log_name);
  const std::string name = fs::weakly_canonical(run).filename().string();
  const RunStanding s = read_standing(run, Store(fs::path(a.text("out")) / "store"));
  if (a.flag("json"))
    fmt::print("{}\n", to_json(s, name).dump(1));
  else
    print(s, name);
  return 0;
}

}  // namespace pesuite::cli
