#include "history/history.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "analysis/change_points.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace pesuite {

namespace {

constexpr std::int64_t version = 1;  // of the tables

constexpr const char* tables = R"(
CREATE TABLE IF NOT EXISTS commits (
  commit_id TEXT PRIMARY KEY, date TEXT NOT NULL, subject TEXT NOT NULL, position INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS series (
  id TEXT PRIMARY KEY, suite TEXT NOT NULL, encoding TEXT NOT NULL, task TEXT NOT NULL,
  model TEXT NOT NULL, metric TEXT NOT NULL, unit TEXT NOT NULL, direction TEXT NOT NULL,
  split TEXT NOT NULL, record_series TEXT NOT NULL, coords TEXT NOT NULL, machine TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS observations (
  series TEXT NOT NULL REFERENCES series(id), commit_id TEXT NOT NULL REFERENCES commits(commit_id),
  seed INTEGER NOT NULL, value REAL, stderr REAL, status TEXT NOT NULL, ts TEXT NOT NULL,
  PRIMARY KEY (series, commit_id, seed)
) WITHOUT ROWID;
)";

bool is_cost(const Tracked& t) {
  return t.metric == "tokens_per_s" || t.metric == "peak_memory";
}
std::string id_of(const Tracked& t, const std::string& machine) {
  return is_cost(t) ? sha256(t.id + machine).substr(0, 16) : t.id;
}

bool same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

// Which of two observations of one series, commit and seed stays, whatever the order.
bool comes_before(const Observed& a, const Observed& b) {
  if (a.ts != b.ts) return a.ts < b.ts;
  if (a.status != b.status) return a.status < b.status;
  return !std::isnan(b.value) && (std::isnan(a.value) || a.value < b.value);
}

bool is_earlier(const Commit& a, const Commit& b, bool by_position) {
  if (by_position && a.position != b.position) return a.position < b.position;
  return std::tie(a.date, a.id) < std::tie(b.date, b.id);
}

}  // namespace

History::History(const fs::path& file, Database::Open how) : database_(file, how) {
  Database::Statement s(database_, "PRAGMA user_version");
  s.next();
  const std::int64_t found = s.integer(0);
  s.done();
  if (found > version)
    fail(Exit::data, "{}: this history was written by a later program (tables of version {})",
         file.string(), found);
  Database::Statement any(database_, "SELECT count(*) FROM sqlite_master WHERE type = 'table'");
  any.next();
  const bool is_empty = any.integer(0) == 0;
  any.done();
  if (found == version) return;
  if (!is_empty || how == Database::Open::read)
    fail(Exit::data, "{} is no history of pesuite", file.string());
  database_.run(tables);
  database_.run(fmt::format("PRAGMA user_version = {}", version));
}

void History::add_commit(const Commit& c) {
  // what git knows stays where a later feeding knows less
  Database::Statement s(database_,
                        "INSERT INTO commits VALUES (?, ?, ?, ?) ON CONFLICT (commit_id) DO UPDATE "
                        "SET date = excluded.date, subject = excluded.subject, position = "
                        "excluded.position WHERE excluded.position > 0 OR (position = 0 AND "
                        "excluded.date > date)");
  s.bind(c.id).bind(c.date).bind(c.subject).bind(c.position).done();
}

History::Added History::add(const Commit& commit, const std::vector<Tracked>& observed,
                            const std::string& machine) {
  Added out;
  Transaction all(database_);
  add_commit(commit);
  Database::Statement series(database_,
                             "INSERT INTO series VALUES (?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT "
                             "(id) DO NOTHING");
  Database::Statement old(database_,
                          "SELECT value, status, ts FROM observations WHERE series = ? AND "
                          "commit_id = ? AND seed = ?");
  Database::Statement insert(database_,
                             "INSERT OR REPLACE INTO observations VALUES (?, ?, ?, ?, ?, ?, ?)");
  for (const Tracked& t : observed) {
    const std::string id = id_of(t, machine);
    series.bind(id).bind(t.suite).bind(t.encoding).bind(t.task).bind(t.model).bind(t.metric);
    series.bind(t.unit).bind(t.direction).bind(t.split).bind(t.series).bind(t.coords.dump());
    series.bind(is_cost(t) ? machine : "").done();
    for (const auto& [seed, o] : t.seeds) {
      const auto number = static_cast<std::int64_t>(seed);
      old.bind(id).bind(commit.id).bind(number);
      bool keep = true;
      if (old.next()) {
        const Observed before{old.real(0), 0, old.text(1), old.text(2)};
        if (!same(before.value, o.value) || before.status != o.status) ++out.changed;
        keep = !comes_before(o, before);
      }
      old.done();
      ++out.observations;
      if (!keep) continue;
      insert.bind(id).bind(commit.id).bind(number).bind(o.value).bind(o.standard_error);
      insert.bind(o.status).bind(o.ts).done();
    }
  }
  all.commit();
  return out;
}

std::vector<HistorySeries> History::all() {
  std::map<std::string, Commit> commits;
  bool by_position = true;
  Database::Statement c(database_, "SELECT commit_id, date, subject, position FROM commits");
  while (c.next()) {
    commits[c.text(0)] = {c.text(0), c.text(1), c.text(2), c.integer(3)};
    by_position = by_position && c.integer(3) > 0;
  }
  std::vector<HistorySeries> out;
  std::map<std::string, std::size_t> index;
  Database::Statement s(database_, "SELECT * FROM series ORDER BY task, model, metric, id");
  while (s.next()) {
    HistorySeries h;
    Tracked& t = h.what;
    t.id = s.text(0), t.suite = s.text(1), t.encoding = s.text(2), t.task = s.text(3);
    t.model = s.text(4), t.metric = s.text(5), t.unit = s.text(6), t.direction = s.text(7);
    t.split = s.text(8), t.series = s.text(9), h.machine = s.text(11);
    t.coords = Json::parse(s.text(10), nullptr, false);
    index[t.id] = out.size();
    out.push_back(std::move(h));
  }
  std::vector<std::map<std::string, std::size_t>> point(out.size());
  Database::Statement o(database_,
                        "SELECT series, commit_id, seed, value, stderr, status, ts FROM "
                        "observations");
  while (o.next()) {
    const auto at = index.find(o.text(0));
    if (at == index.end()) continue;
    HistorySeries& h = out[at->second];
    const auto [p, is_new] = point[at->second].emplace(o.text(1), h.points.size());
    if (is_new) h.points.push_back({commits[o.text(1)], {}});
    h.points[p->second].seeds[static_cast<std::uint64_t>(o.integer(2))] = {o.real(3), o.real(4),
                                                                           o.text(5), o.text(6)};
  }
  for (HistorySeries& h : out)
    std::sort(h.points.begin(), h.points.end(), [&](const HistoryPoint& a, const HistoryPoint& b) {
      return is_earlier(a.commit, b.commit, by_position);
    });
  std::sort(out.begin(), out.end(), [](const HistorySeries& a, const HistorySeries& b) {
    const auto key = [](const HistorySeries& h) {
      const Json length =
          h.what.coords.is_object() ? h.what.coords.value("eval_len", Json(0)) : Json(0);
      return std::tuple(h.what.suite, h.what.task, h.what.model, h.what.metric, h.what.encoding,
                        length.is_number() ? length.get<double>() : 0, h.what.place(), h.what.id);
    };
    return key(a) < key(b);
  });
  return out;
}

std::vector<double> values_of(const HistorySeries& h) {
  std::map<std::uint64_t, std::vector<double>> of_seed;
  std::size_t points = 0;
  for (const HistoryPoint& p : h.points) {
    bool any = false;
    for (const auto& [seed, o] : p.seeds)
      if (std::isfinite(o.value)) of_seed[seed].push_back(o.value), any = true;
    points += any ? 1 : 0;
  }
  std::map<std::uint64_t, double> usual;
  double mean = 0;
  bool alike = true;
  for (const auto& [seed, values] : of_seed) {
    usual[seed] = median_of(values);
    mean += usual[seed] / static_cast<double>(of_seed.size());
    alike = alike && values.size() == points;
  }
  std::vector<double> out;
  for (const HistoryPoint& p : h.points) {
    double sum = 0, count = 0;
    for (const auto& [seed, o] : p.seeds)
      if (std::isfinite(o.value)) sum += alike ? o.value : o.value - usual[seed] + mean, ++count;
    out.push_back(count > 0 ? sum / count : std::numeric_limits<double>::quiet_NaN());
  }
  return out;
}

}  // namespace pesuite
