#include "exports/sessions.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"

namespace pesuite {

namespace {

std::string point_name(const Json& r) {
  const std::string metric = r.value("metric", std::string()),
                    part = r.value("part", std::string());
  if (part == "train") return r.value("split", std::string("train")) + "/" + metric;
  std::string name = "length/" + metric;
  for (const auto& [key, value] : r.at("coords").items())
    if (key != "train_len" && key != "eval_len")
      name += "/" + (value.is_string() ? value.get<std::string>()
                                       : fmt::format("{} {}", key, value.dump()));
  return name;
}

Session begin_session(const std::string& run, const Json& r) {
  Session s;
  s.run = run, s.cell = r.value("cell", "");
  s.encoding = r.at("encoding").value("id", ""), s.task = r.value("task", "");
  s.model = r.value("model", ""), s.seed = r.value("seed", std::uint64_t{0});
  s.series = fmt::format("{}·{}·{}", s.encoding, s.task, s.model);
  s.name = fmt::format("{}·s{}", s.series, s.seed);
  s.settings = {{"encoding", s.encoding},
                {"expression", r.at("encoding").value("expr", "")},
                {"task", r.value("task_expr", s.task)},
                {"model", s.model},
                {"seed", s.seed},
                {"suite", r.value("suite", "")},
                {"backend", r.value("backend", "")},
                {"precision", r.value("precision", "")},
                {"train_len", r.at("coords").value("train_len", 0)}};
  s.status = "ok";
  return s;
}

void note(Session& s, const Json& r) {
  // others are of one result alone, such as of a length that an encoding cannot do
  if (const std::string status = r.value("status", "ok");
      status == "diverged" || r.value("part", "") == "failure")
    s.status = status;
  if (const double at = seconds_of_utc(r.value("ts", "")); at > 0) {
    s.begin = s.begin > 0 ? std::min(s.begin, at) : at;
    s.end = std::max(s.end, at);
  }
  const Json& value = r.at("value");
  if (!value.is_number() || !std::isfinite(value.get<double>())) return;
  SessionPoint p;
  p.name = point_name(r);
  p.step = r.value("step", std::int64_t{0}), p.tokens = r.value("tokens", std::int64_t{0});
  if (r.value("part", "") != "train") p.length = r.at("coords").value("eval_len", 0);
  p.value = value;
  s.points.push_back(std::move(p));
}

// What a branch went on from: the same encoding, task, model and seed without a switch.
void replay_trunks(std::vector<Session>& all, const std::map<std::string, std::string>& trunks,
                   const std::map<std::string, std::string>& expressions) {
  for (Session& s : all) {
    const auto trunk = trunks.find(s.cell);
    if (trunk == trunks.end()) continue;
    std::int64_t first = 0;
    for (const SessionPoint& p : s.points)
      if (p.length == 0 && (first == 0 || p.step < first)) first = p.step;
    for (const Session& t : all) {
      const auto own = expressions.find(t.cell);
      if (t.run != s.run || t.task != s.task || t.model != s.model || t.seed != s.seed ||
          trunks.contains(t.cell) || own == expressions.end() || own->second != trunk->second)
        continue;
      std::vector<SessionPoint> points;
      for (const SessionPoint& p : t.points)
        if (p.length == 0 && p.step < first) points.push_back(p);
      s.points.insert(s.points.begin(), points.begin(), points.end());
      break;
    }
  }
}

}  // namespace

std::vector<Session> sessions_of(const std::vector<ExportedRun>& runs) {
  std::vector<Session> all;
  std::map<std::string, std::string> trunks, expressions;
  for (const ExportedRun& run : runs) {
    std::map<std::string, std::size_t> known;
    std::set<std::string> finished;
    for (const Json& r : run.records) finished.insert(r.value("cell", ""));
    const auto add = [&](const Json& r, bool at_work) {
      const auto [at, is_new] = known.emplace(r.value("cell", ""), all.size());
      if (is_new) {
        all.push_back(begin_session(run.name, r));
        all.back().at_work = at_work;
        expressions[all.back().cell] = r.at("encoding").value("expr", "");
        if (r.at("encoding").contains("trunk"))
          trunks[all.back().cell] = r.at("encoding")["trunk"].get<std::string>();
      }
      note(all[at->second], r);
    };
    for (const Json& r : run.records) add(r, false);
    for (const Json& r : run.live)
      if (!finished.contains(r.value("cell", ""))) add(r, true);
  }
  replay_trunks(all, trunks, expressions);
  return all;
}

}  // namespace pesuite
