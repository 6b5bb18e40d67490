#include "report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/contest.h"
#include "base/text.h"
#include "model/evaluate.h"
#include "model/protocol.h"
#include "report/tables.h"

namespace pesuite {

namespace {

std::string listed(const std::set<std::string>& all) {
  return join(std::vector<std::string>(all.begin(), all.end()), ", ");
}

// The text at a path of keys, "" where there is none.
std::string at(const Json& j, std::initializer_list<const char*> keys) {
  const Json* p = &j;
  for (const char* key : keys) {
    if (!p->is_object() || !p->contains(key)) return "";
    p = &(*p)[key];
  }
  return p->is_string() ? p->get<std::string>() : p->dump();
}

}  // namespace

Text join_and(const std::vector<Text>& all) {
  if (all.size() < 2) return join(all, "");
  return join(std::vector<Text>(all.begin(), all.end() - 1), ", ") + " and " + all.back();
}

std::string cells_sentence(const RunData& run) {
  std::map<std::string, std::size_t> states;
  std::set<std::string> tasks;
  std::set<std::size_t> encodings;
  for (const TaskData& t : run.tasks) {
    tasks.insert(t.task);
    encodings.insert(t.encodings.begin(), t.encodings.end());
    for (const auto& [key, c] : t.cells)
      ++states[c.status == "ok" ? "done" : c.status == "diverged" ? "diverged" : "failed"];
  }
  std::vector<std::string> seeds;
  for (const std::uint64_t s : run.seeds) seeds.push_back(std::to_string(s));
  std::string out = fmt::format(
      "{}, {}, {}, {} ({}). {}: {} done", counted(encodings.size(), "encoding"),
      counted(tasks.size(), "task"), counted(run.models.size(), "model"),
      counted(seeds.size(), "seed"), join(seeds, ", "), counted(run.cells, "cell"), states["done"]);
  for (const char* state : {"diverged", "failed"})
    if (states[state] > 0) out += fmt::format(", {} {}", states[state], state);
  if (run.planned > run.cells)
    out += fmt::format("; {} of {} planned cells have no record yet", run.planned - run.cells,
                       run.planned);
  return out + ".";
}

std::string context_sentence(const RunData& run) {
  std::set<std::string> programs, machines, devices;  // of all starts that computed something
  for (const Json& e : run.starts) {
    const std::string commit = at(e, {"pesuite", "commit"}), cpu = at(e, {"cpu", "model"});
    const Json cells = e.value("cells", Json::array());
    if (cells.empty() && !e.contains("backend")) continue;
    if (!commit.empty())
      programs.insert(fmt::format("pesuite {}, commit {}{}", at(e, {"pesuite", "version"}), commit,
                                  at(e, {"pesuite", "dirty"}) == "true" ? " with changes" : ""));
    if (!cpu.empty()) machines.insert(fmt::format("{}, {} cores", cpu, at(e, {"cpu", "cores"})));
    if (e.contains("backend")) devices.insert(at(e, {"backend"}));  // pesuite.env/1
    for (const Json& c : cells)
      devices.insert(at(c, {"device"}) + (c.contains("group") ? ", " + at(c, {"group"}) : ""));
  }
  std::vector<std::string> parts(programs.begin(), programs.end());
  parts.insert(parts.end(), machines.begin(), machines.end());
  parts.push_back(fmt::format("backend {}{}", listed(run.backends),
                              devices.empty() ? "" : " (" + listed(devices) + ")"));
  if (!run.precisions.empty()) parts.push_back("precision " + listed(run.precisions));
  parts.push_back("determinism " + listed(run.determinisms));
  if (!run.paths.empty()) parts.push_back("attention path " + listed(run.paths));
  if (run.last_record.size() >= 10)
    parts.push_back("last record of " + run.last_record.substr(0, 10));
  return join(parts, " · ");
}

std::string seeds_sentence(const RunData& run) {
  if (run.seeds.size() == 1)
    return "With one seed nothing is known about how much chance decides: small gaps between "
           "encodings "
           "(below about 2 % of perplexity, on the published scale) are ties.";
  return fmt::format(
      "Encodings are compared seed by seed; what {} seeds cannot tell apart is called a tie.",
      run.seeds.size());
}

std::string imported_sentence() {
  return "Another program computed these numbers. Whether its encodings had the same data, steps "
         "and "
         "settings is not known here; what is tested is the numbers.";
}

std::string further_phrase(const RunData& run, const TaskData& t) {
  constexpr std::size_t few = 5;
  std::vector<std::string> parts;
  for (const auto& [length, encodings] : t.trained_further()) {
    std::vector<std::string> names;
    for (const std::size_t e : encodings) names.push_back(run.encodings[e]);
    parts.push_back(fmt::format(
        "{} at {}", names.size() > few ? counted(names.size(), "encoding") : join_and(names),
        length));
  }
  return parts.empty() ? "" : join_and(parts) + " too";
}

Text task_sentence(const RunData& run, const TaskData& t) {
  Text out = rich("Task {}", code(t.expression.empty() ? t.task : t.expression));
  if (!t.version.empty()) out += fmt::format(" (version {})", t.version);
  if (run.several_models()) out += rich(", model {}", code(t.model));
  out += fmt::format(", trained at {} tokens", t.train_length);
  if (const std::string further = further_phrase(run, t); !further.empty()) out += ", " + further;
  if (!t.training.empty()) out += ": " + t.training;
  std::set<std::int64_t> units;
  for (const auto& [key, cell] : t.cells)
    for (const auto& [place, number] : cell.evals)
      if (place.metric == "nll" && number.n > 0) units.insert(number.n);
  if (!units.empty())
    out += fmt::format(". Evaluated on {}{} {} at each length", *units.rbegin(),
                       units.size() > 1 ? " or fewer" : "", t.corpus ? "documents" : "examples");
  return out + ".";
}

Text trained_sentence(const RunData& run, const TaskData& t) {
  if (!t.corpus && !t.problem) return {};
  std::vector<Text> not_learned;
  for (const std::size_t e : t.encodings)
    if (learned(t, e) == Learned::no)
      not_learned.push_back(rich("{} ({})", code(run.encodings[e]), learned_distance(t, e)));
  if (not_learned.empty()) return {};
  const std::string criterion = learned_criterion(t);
  if (not_learned.size() == t.encodings.size())
    return rich("{} (wanted: {}). Nothing below says anything about length.",
                strong("No encoding learned the task at the training length"), criterion);
  return rich("{} (wanted: {}): {}. What these do elsewhere says little about length.",
              strong("Not learned at the training length"), criterion, join(not_learned, ", "));
}

// " behind 64 FILL and 3 solved examples", or nothing.
static std::string behind(const AxisValues& before) {
  std::string out;
  for (const auto& [axis, value] : before)
    out += fmt::format("{} {:g} {}", out.empty() ? " behind" : " and", value,
                       axis == fill_axis ? "FILL" : "solved examples");
  return out;
}

std::string untrained_sentence(const RunData& run, const TaskData& t) {
  std::string out;
  for (const std::size_t e : t.encodings) {
    std::string places;
    for (const int l : t.lengths) {
      std::set<AxisValues> extents = {{}};  // of the length alone, and of what stands before it
      for (const Setting& s : t.settings) {
        AxisValues before;
        for (const auto& axis : s.axes)
          if (s.length == l && is_before(axis.first) && axis.second > 0) before.push_back(axis);
        extents.insert(before);
      }
      for (const AxisValues& extent : extents) {
        Place p = whole("untrained", "", l);
        p.axes = extent;
        double most = 0;
        for (const SeedValue& v : values_at(t, e, p)) most = std::max(most, v.value);
        if (most > 0)
          places += fmt::format("{}{:.3g} % at {}{}", places.empty() ? "" : ", ", 100 * most, l,
                                behind(extent));
      }
    }
    if (!places.empty())
      out += fmt::format("{}{} {}", out.empty() ? "" : "; ", run.encodings[e], places);
  }
  if (out.empty()) return "";
  return "Share of the encoding's parameters in use that training never reached: " + out + ".";
}

std::string explain_protocol(const std::string& protocol) {
  const auto found = find_protocol(protocol);
  return found ? found->explanation() : "as named";
}

}  // namespace pesuite
