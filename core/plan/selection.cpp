#include "plan/selection.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/error.h"
#include "base/text.h"

namespace pesuite {

Shard parse_shard(const std::string& flag, const std::string& text) {
  const std::vector<std::string> parts = split(text, '/');
  double index = 0, count = 0;
  if (parts.size() != 2 || !parse_count(parts[0], index) || !parse_count(parts[1], count) ||
      count < 1 || count > 1e6 || index < 1 || index > count)
    fail(Exit::usage, "{} '{}': wants I/N, part I of N, I from 1 to N; e.g. 2/8", flag, text);
  return {static_cast<int>(index), static_cast<int>(count)};
}

void check_filters(const Suite& suite) {
  std::map<std::string, std::vector<std::string>> values;
  for (const SuiteEncoding& e : suite.encodings) values["encoding"].push_back(e.id);
  for (const SuiteTask& t : suite.tasks) values["task"].push_back(t.id);
  for (const SuiteModel& m : suite.models) values["model"].push_back(m.id);
  for (const std::uint64_t s : suite.seeds) values["seed"].push_back(std::to_string(s));
  const std::string whose = suite.profile.empty()
                                ? "the suite"
                                : fmt::format("the suite, with profile {},", suite.profile);
  for (const Filter& f : suite.only) f.check(values, whose);
}
bool wanted(const Suite& s, const Coordinates& c) {
  const auto matches = [&](const Filter& f) { return f.matches(c); };
  return (s.include.empty() || std::any_of(s.include.begin(), s.include.end(), matches)) &&
         std::none_of(s.exclude.begin(), s.exclude.end(), matches) &&
         std::all_of(s.only.begin(), s.only.end(), matches);
}

std::vector<int> stages_of(const std::vector<PlannedCell>& all) {
  std::vector<int> stage(all.size(), 0);
  for (bool more = true; more;) {  // as often as the longest chain has links
    more = false;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].after < 0) continue;
      const int wanted = stage[static_cast<std::size_t>(all[i].after)] + 1;
      if (stage[i] == wanted) continue;
      stage[i] = wanted;
      more = true;
    }
  }
  return stage;
}

std::vector<double> urgencies(const std::vector<PlannedCell>& all) {
  std::vector<double> out;
  for (const PlannedCell& c : all) out.push_back(c.seconds);
  const std::vector<int> stages = stages_of(all);
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return stages[a] > stages[b]; });
  for (const std::size_t i : order) {  // the last stages first
    if (all[i].after < 0) continue;
    const auto before = static_cast<std::size_t>(all[i].after);
    out[before] = std::max(out[before], all[before].seconds + out[i]);
  }
  return out;
}

std::vector<bool> chosen(const std::vector<PlannedCell>& all, const Shard& shard, int stage) {
  const std::vector<int> stages = stages_of(all);
  std::map<std::string, int> ordinals;  // of trainings, among those of the stage
  std::vector<bool> out(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (stage >= 0 && stages[i] != stage) continue;
    const int next = static_cast<int>(ordinals.size());
    const int ordinal = ordinals.try_emplace(all[i].training, next).first->second;
    out[i] = ordinal % shard.count == shard.index - 1;
  }
  if (stage >= 0) return out;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (out[i])
      for (std::ptrdiff_t before = all[i].after; before >= 0;
           before = all[static_cast<std::size_t>(before)].after)
        out[static_cast<std::size_t>(before)] = true;
  return out;
}

}  // namespace pesuite
