#include "analysis/places.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/interval.h"
#include "base/text.h"
#include "model/metrics.h"

namespace pesuite {

std::vector<SettingPart> setting_parts(const TaskData& t) {
  std::vector<SettingPart> out;
  for (const Setting& s : t.settings) {
    const std::string name = t.name(s);
    const bool both = s.seen && s.unseen;
    const char* only = both || !(s.seen || s.unseen) ? ""
                       : s.seen                      ? ", seen positions"
                                                     : ", unseen positions";
    out.push_back({&s, "", name + (both ? ", all positions" : only)});
    if (!both) continue;
    out.push_back({&s, "seen", name + ", seen positions"});
    out.push_back({&s, "unseen", name + ", unseen positions"});
  }
  return out;
}

Place problem_place(const std::string& metric, const SettingPart& p) {
  return {metric, "", p.setting->length, p.setting->axes, p.bucket, 0, 0};
}

Place accuracy_place(const SettingPart& p) {
  return problem_place("acc", p);
}

std::string score_name(const TaskData& t) {
  return std::string(metric(t.score).heading);
}

std::string score_names(const RunData& run) {
  std::set<std::string> out;
  for (const TaskData& t : run.tasks)
    if (t.problem) out.insert(score_name(t));
  return out.empty() ? "accuracy" : join(std::vector(out.begin(), out.end()), " or ");
}

Place score_place(const TaskData& t, const SettingPart& p) {
  return problem_place(t.score, {p.setting, t.score == "acc" ? p.bucket : "", ""});
}

Number share_at(const CellData& c, const Place& p) {
  const Number* found = c.find(p);
  if (found == nullptr) return {};
  Number n = *found;
  if (std::isnan(n.low) && n.n > 0 && std::isfinite(n.value)) {
    const Interval i = wilson(n.value, static_cast<double>(n.n));
    n.low = i.low, n.high = i.high;
  }
  return n;
}

namespace {

// Tasks that state no chance for whole examples have long answers, which nobody guesses.
double stated_or_zero(double stated, const Place& p) {
  return p.metric == "em" && std::isnan(stated) ? 0 : stated;
}

}  // namespace

AtChance at_chance(const TaskData& t, std::size_t encoding, const Place& p) {
  std::size_t held = 0, all = 0;
  for (const std::uint64_t seed : t.seeds) {
    const CellData* c = t.cell(encoding, seed);
    if (c == nullptr) continue;
    const Number n = share_at(*c, p);
    const double chance = stated_or_zero(n.chance, p);
    if (std::isnan(n.low) || std::isnan(chance)) continue;
    ++all;
    held += n.low <= chance && chance <= n.high ? 1 : 0;
  }
  return held == 0 ? AtChance::no : held == all ? AtChance::all : AtChance::some;
}

double chance_of(const TaskData& t, const Place& place) {
  for (const auto& [key, cell] : t.cells)
    if (const Number* n = cell.find(place); n != nullptr && std::isfinite(n->chance))
      return n->chance;
  return Number::none;
}

double chance_to_beat(const TaskData& t, const Place& place) {
  return stated_or_zero(chance_of(t, place), place);
}

std::vector<int> lengths_of(const TaskData& t, const std::string& protocol) {
  if (const auto known = t.protocol_lengths.find(protocol); known != t.protocol_lengths.end())
    return known->second;
  std::set<int> out;
  for (const auto& [key, cell] : t.cells)
    for (const auto& [place, value] : cell.evals)
      if (place.protocol == protocol) out.insert(place.length);
  return {out.begin(), out.end()};
}

Place whole(const std::string& metric, const std::string& protocol, int length) {
  return {metric, protocol, length, {}, "", 0, 0};
}

}  // namespace pesuite
