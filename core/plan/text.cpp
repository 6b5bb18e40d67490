// The plan as a table for people and as JSON for programs.
#include <algorithm>
#include <set>

#include "base/text.h"
#include "cell/planned.h"
#include "plan/trainings.h"
#include "plugin/card.h"

namespace pesuite {

// "limits of a cell: time 30:00 to 31:12, memory 7.5 GiB", and how to set others.
static std::string limits_text(const Plan& plan, const Suite& suite) {
  std::vector<double> seconds, bytes;
  for (const PlannedCell& c : plan.cells) {
    const CellLimits l = limits_of(suite, c, plan.rate);
    seconds.push_back(l.seconds), bytes.push_back(l.bytes);
  }
  const auto range = [](const std::vector<double>& all, std::string (*text)(double)) {
    const auto [least, most] = std::minmax_element(all.begin(), all.end());
    const std::string a = text(*least), b = text(*most);
    return *most == 0 ? "none" : a == b ? b : a + " to " + b;
  };
  const bool own = suite.time_limit && suite.memory_limit;
  return fmt::format("limits of a cell: time {}, memory {}{}\n", range(seconds, format_seconds),
                     range(bytes, format_bytes),
                     own ? ""
                         : "; time_limit_s and memory_limit of [defaults] set others, \"none\" "
                           "turns one off");
}

namespace {

// Of checkpoints, weights and two moments in fp32: the last, the best, those on the way and those
// that others branch off from.
double disk_bytes(const Plan& plan) {
  double bytes = 0;
  std::set<std::pair<std::string, std::int64_t>> branches;
  const auto add = [&](const PlannedCell& c) {
    if (!c.config.weights.empty()) return;  // they lie elsewhere
    const double checkpoint = 12 * c.parameters;
    if (c.trains) bytes += checkpoint * (c.is_trunk ? 1 : 2 + c.config.train.keep_periodic);
    if (c.trains && !c.config.switches.empty() &&
        branches.emplace(cell_id(trunk_of(c.config)), first_step(c.config)).second)
      bytes += checkpoint;
  };
  for (const PlannedCell& c : plan.cells) add(c);
  for (const PlannedCell& c : plan.trunks) add(c);
  return bytes;
}

}  // namespace

std::string plan_table(const Plan& plan, const Suite& suite, int jobs) {
  std::vector<std::vector<std::string>> rows = {
      {"cell", "parameters", "of the encoding", "steps", "FLOPs", "time", "memory", "state"}};
  double seconds = 0, longest = 0, flops = 0;
  int left = 0;
  std::map<PlannedCell::State, int> states;
  const auto add = [&](const PlannedCell& c) {
    std::string state(state_name(c.state));
    if (c.state == PlannedCell::State::begun)
      state += fmt::format(" (step {} of {})", c.step, last_step(c));
    rows.push_back({c.label(), format_count(c.parameters), format_count(c.encoding_parameters),
                    c.trains && c.config.weights.empty()
                        ? std::to_string(last_step(c) - first_step(c.config))
                        : "-",
                    format_count(c.flops()), c.seconds > 0 ? format_seconds(c.seconds) : "-",
                    format_bytes(c.memory), state});
    if (c.state != PlannedCell::State::failed && c.seconds > 0)  // those wait to be asked for
      seconds += c.seconds, longest = std::max(longest, c.seconds), ++left;
    flops += c.flops();
  };
  for (const PlannedCell& c : plan.cells) {
    add(c);
    ++states[c.state];
  }
  for (const PlannedCell& c : plan.trunks) add(c);
  std::string out = plain_table(rows);
  out += fmt::format("\n{}, {} FLOPs; ", counted(plan.cells.size(), "cell"), format_count(flops));
  std::vector<std::string> parts;
  for (const auto& [state, n] : states) parts.push_back(fmt::format("{} {}", n, state_name(state)));
  out += join(parts, ", ");
  // Cells that share a device take turns.
  const bool shares = !plan.cells.empty() && plan.cells[0].config.backend == "cuda";
  const int abreast = shares ? std::max(1, jobs / cells_a_device(plan)) : jobs;
  if (seconds > 0)
    out += fmt::format("; about {} left with {} at a time ({:.0f} GFLOP/s each assumed)",
                       format_seconds(std::max(longest, seconds / abreast)), std::min(jobs, left),
                       plan.rate / 1e9);
  out += fmt::format("\ncheckpoints take about {} on the disk", format_bytes(disk_bytes(plan)));
  out += fmt::format("\n{}", trainings_table(plan));
  std::set<std::string> where;
  for (const PlannedCell& c : plan.cells)
    where.insert(fmt::format("computed on {} in {}\n", c.config.backend,
                             precision_name(c.config.precision)));
  for (const std::string& line : where) out += line;
  out += limits_text(plan, suite);
  std::set<std::string> read;
  for (const PlannedCell& c : plan.cells)
    if (const std::string data = data_text(c.config); !data.empty())
      read.insert(fmt::format("training of {} reads {}\n", c.task, data));
  for (const std::string& line : read) out += line;
  for (const std::string& n : plan.notes) out += "note: " + printable(n) + "\n";
  return out;
}

Json to_json(const Plan& plan, const Suite& suite) {
  Json cells = Json::array();
  for (const PlannedCell& c : plan.cells) {
    Json evals = Json::array();
    for (const CellEval& e : c.evals) {
      Json j = to_json(e);
      j["part"] = part_id(e);
      evals.push_back(std::move(j));
    }
    const CellLimits limits = limits_of(suite, c, plan.rate);
    cells.push_back({{"cell", c.id},
                     {"series", c.series},
                     {"training", c.training},
                     {"expression", c.expression},
                     {"encoding", c.encoding},
                     {"task", c.task},
                     {"family", c.family},
                     {"model", c.model},
                     {"seed", c.seed},
                     {"state", state_name(c.state)},
                     {"step", c.step},
                     {"parameters", c.parameters},
                     {"encoding_parameters", c.encoding_parameters},
                     {"train_flops", c.train_flops},
                     {"validation_flops", c.validation_flops},
                     {"eval_flops", c.eval_flops},
                     {"seconds", c.seconds},
                     {"memory", c.memory},
                     {"limits", {{"seconds", limits.seconds}, {"bytes", limits.bytes}}},
                     {"config", to_json(c.config)},
                     {"evals", evals}});
  }
  const SharedSteps steps = shared_steps(plan);
  return {{"schema", plan_schema},
          {"suite", suite.name},
          {"rate", plan.rate},
          {"notes", plan.notes},
          {"trainings", trainings_json(plan)},
          {"training_steps", {{"taken", steps.taken}, {"alone", steps.alone}}},
          {"cells", cells}};
}

std::string bibliography(const Plan& plan, const Catalog& catalog) {
  std::set<std::string> entries;  // two encodings may come from one paper
  for (const PlannedCell& c : plan.cells) {
    for (const auto& [name, identity] : c.config.encoding_identity)
      entries.insert(card_text(catalog.encoding_card(name), "bibtex"));
    entries.insert(
        card_text(catalog.task_card(parse_expression(c.config.task, "task").name), "bibtex"));
  }
  std::string out;
  for (const std::string& entry : entries)
    if (!entry.empty()) out += (out.empty() ? "" : "\n") + bibtex_text(entry) + "\n";
  return out;
}

}  // namespace pesuite
