// Histories: order of adding, trends, the site.
#include "history/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <pesuite/random.hpp>
#include <regex>

#include "base/error.h"
#include "history/chart.h"
#include "history/publish.h"
#include "tests/scratch.h"

namespace pesuite::testing {
namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

HistorySeries made(const std::vector<std::vector<double>>& seeds_of_commits,
                   const std::string& metric = "nll", const std::string& direction = "lower") {
  HistorySeries h;
  h.what.id = "0123456789abcdef", h.what.metric = metric, h.what.direction = direction;
  h.what.encoding = "a", h.what.task = "t", h.what.model = "m", h.what.coords = {{"eval_len", 64}};
  for (std::size_t i = 0; i < seeds_of_commits.size(); ++i) {
    HistoryPoint p;
    p.commit = {fmt::format("c{:03}", i), fmt::format("2026-01-01T00:{:02}:{:02}Z", i / 60, i % 60),
                "subject", static_cast<std::int64_t>(i + 1)};
    for (std::size_t s = 0; s < seeds_of_commits[i].size(); ++s) {
      const double v = seeds_of_commits[i][s];
      p.seeds[s] = {v, 0.01, std::isnan(v) ? "diverged" : "ok", "2026-01-01T00:00:00Z"};
    }
    h.points.push_back(p);
  }
  return h;
}

// Commits whose numerics differ by noise, with three seeds around a level.
std::vector<std::vector<double>> noisy(const std::vector<double>& levels, double noise,
                                       std::uint64_t index) {
  pes::Random random(3, pes::purpose("history"), index);
  std::vector<std::vector<double>> out;
  for (const double level : levels) {
    out.emplace_back();
    for (int s = 0; s < 3; ++s) out.back().push_back(level + 0.1 * s + noise * random.normal());
  }
  return out;
}

std::vector<double> step_of(std::size_t n, std::size_t at, double size) {
  std::vector<double> out(n, 2.0);
  for (std::size_t i = at; i < n; ++i) out[i] += size;
  return out;
}

TEST(Trend, NamesTheCommitsOfAStep) {
  const HistorySeries h = made(noisy(step_of(100, 60, 0.03), 0.005, 1));
  const Trend t = trend_of(h);
  ASSERT_EQ(t.changes.size(), 1u);
  EXPECT_EQ(range_of(h, t.changes[0].before, t.changes[0].after), "c059..c060");
  EXPECT_EQ(t.changes[0].way, Change::Way::worse);
  EXPECT_TRUE(t.changes[0].lasts && t.open() && !t.changes[0].drift);
  EXPECT_NEAR(t.changes[0].size(), 0.03, 0.006);
  EXPECT_NEAR(t.spread, 0.005 / std::sqrt(3.0), 0.0012);
}

TEST(Trend, ListsAllPastChangesAndWhatCameBack) {
  std::vector<double> levels = step_of(120, 30, 0.04);
  for (std::size_t i = 70; i < 120; ++i) levels[i] -= 0.04;
  for (std::size_t i = 100; i < 120; ++i) levels[i] += 0.02;
  const Trend t = trend_of(made(noisy(levels, 0.004, 2)));
  ASSERT_EQ(t.changes.size(), 3u);
  EXPECT_EQ(t.changes[0].way, Change::Way::worse);
  EXPECT_FALSE(t.changes[0].lasts);
  EXPECT_EQ(t.changes[1].way, Change::Way::better);
  EXPECT_TRUE(t.changes[2].lasts);
}

TEST(Trend, SeesDriftThatNoStepShows) {
  std::vector<double> levels;
  for (int i = 0; i < 120; ++i) levels.push_back(2 + 0.008 * i / 120);
  const Trend t = trend_of(made(noisy(levels, 0.0015, 3)));
  double sum = 0;
  for (const Change& c : t.changes) sum += c.size();
  ASSERT_FALSE(t.changes.empty());
  EXPECT_TRUE(t.open());
  EXPECT_GT(sum, 0.005);
}

TEST(Trend, KnowsWhichWayIsBetter) {
  EXPECT_EQ(trend_of(made(noisy(step_of(60, 30, 0.1), 0.01, 4), "acc", "higher")).changes.at(0).way,
            Change::Way::better);
  EXPECT_EQ(
      trend_of(made(noisy(step_of(60, 30, 0.1), 0.01, 4), "optimum", "none")).changes.at(0).way,
      Change::Way::neither);
}

// A refactor computes the same bits; a new rounding draws anew. That draw, however long it stays,
// is no regression.
TEST(Trend, OfANewDrawThatStaysIsNone) {
  int alarms = 0;
  for (std::uint64_t i = 0; i < 200; ++i) {
    const auto draws = noisy({2, 2, 2, 2}, 0.01, 100 + i);
    std::vector<std::vector<double>> commits;
    for (const auto& d : draws) commits.insert(commits.end(), 25, d);
    alarms += trend_of(made(commits)).changes.empty() ? 0 : 1;
  }
  EXPECT_LE(alarms, 4);
}

TEST(Trend, OfDeterministicCommitsIsExact) {
  std::vector<std::vector<double>> commits(50, {2.0, 2.1, 2.2});
  for (int i = 0; i < 50; ++i) commits.push_back({2.05, 2.151, 2.249});
  const Trend t = trend_of(made(commits));
  ASSERT_EQ(t.changes.size(), 1u);
  EXPECT_EQ(t.changes[0].after, 50u);
}

TEST(Trend, OfALuckySeedThatJoinsIsNone) {
  auto commits = noisy(std::vector<double>(80, 2.0), 0.003, 5);
  for (std::size_t i = 40; i < 80; ++i) commits[i].push_back(1.5 + (i % 2 ? 0.001 : 0));
  EXPECT_TRUE(trend_of(made(commits)).changes.empty());
}

TEST(Trend, TellsOfSeedsWithoutANumber) {
  auto commits = noisy(std::vector<double>(20, 2.0), 0.003, 6);
  for (std::size_t i = 8; i < 11; ++i) commits[i][1] = none;
  const Trend t = trend_of(made(commits));
  ASSERT_EQ(t.failing.size(), 1u);
  EXPECT_EQ(t.failing[0].first, 8u);
  EXPECT_EQ(t.failing[0].last, 10u);
  EXPECT_TRUE(t.failing[0].began);
  EXPECT_EQ(t.failing[0].status, "diverged");
  for (const std::vector<double>& none_at_all :
       {std::vector<double>{none, none}, std::vector<double>{}})
    trend_of(made({none_at_all, none_at_all}));  // which has no value, and no level
}

// ------------------------------------------------------------------------------ the database

Tracked tracked_series(double value, const std::string& ts = "2026-01-01T00:00:00Z") {
  Tracked t;
  t.id = "00000000000000aa", t.suite = "s", t.encoding = "a", t.task = "t", t.model = "m";
  t.metric = "nll", t.unit = "nats/token", t.direction = "lower", t.split = "ood";
  t.coords = {{"eval_len", 64}};
  for (std::uint64_t s = 1; s <= 2; ++s)
    t.seeds[s] = {value + 0.1 * static_cast<double>(s), 0.01, "ok", ts};
  return t;
}

std::string told(const fs::path& file) {
  std::string out;
  for (const HistorySeries& h : History(file, Database::Open::read).all())
    for (const HistoryPoint& p : h.points)
      for (const auto& [seed, o] : p.seeds)
        out += fmt::format("{} {} {} {} {}\n", h.what.name(), p.commit.id, seed, o.value, o.status);
  return out;
}

TEST(HistoryFile, IsTheSameInWhateverOrderItIsFed) {
  if (!databases_are_built_in()) GTEST_SKIP() << "built without SQLite";
  const Scratch folder;
  std::vector<int> order = {0, 1, 2, 3, 4, 5, 6, 7, 8};
  std::string first;
  for (int k = 0; k < 4; ++k) {
    const fs::path file = folder / fmt::format("h{}.sqlite", k);
    History h(file, Database::Open::create);
    for (const int i : order) {
      const Commit c{fmt::format("c{}", i % 7), fmt::format("2026-01-0{}T00:00:00Z", 1 + i % 7),
                     "subject", k % 2 == 0 ? 1 + i % 7 : 0};
      // commits 0 and 1 are fed twice, with other values the later time
      h.add(c, {tracked_series(2 + i, fmt::format("2026-02-0{}T00:00:00Z", 1 + i))}, "x");
    }
    if (k == 0) first = told(file);
    EXPECT_EQ(told(file), first) << k;
    std::reverse(order.begin(), order.end());
    if (k == 1) std::rotate(order.begin(), order.begin() + 4, order.end());
  }
  EXPECT_THAT(first, ::testing::HasSubstr("c0 1 9.1 ok"));
}

TEST(HistoryFile, OfAnotherKindIsRefused) {
  if (!databases_are_built_in()) GTEST_SKIP() << "built without SQLite";
  const Scratch folder;
  const fs::path file = folder / "x.sqlite";
  EXPECT_THROW(History(file, Database::Open::read), Error);
  write_file_atomic(file, std::string(5000, 'x'));
  EXPECT_THROW(History(file, Database::Open::create), Error);
  fs::remove(file);
  Database(file, Database::Open::create).run("CREATE TABLE other (x)");
  try {
    History(file, Database::Open::create);
    ADD_FAILURE() << "a foreign database was taken";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), ::testing::HasSubstr("is no history of pesuite"));
  }
  fs::remove(file);
  Database(file, Database::Open::create).run("PRAGMA user_version = 99");
  EXPECT_THROW(History(file, Database::Open::create), Error);
}

// ----------------------------------------------------------------------------------- the site

TEST(HistorySite, AsksForNothingElsewhere) {
  const Scratch folder;
  HistorySeries h = made(noisy(step_of(100, 60, 0.05), 0.005, 7));
  h.points[60].commit.subject = "<script>alert('x')</script> & \"more\"";
  const std::vector<HistorySeries> all = {h};
  const Site site = publish(all, {trend_of(h)}, folder / "site", "");
  EXPECT_EQ(site.pages, 3u);
  EXPECT_EQ(site.worse, 1u);
  EXPECT_EQ(site.open, 1u);
  int files = 0;
  for (const auto& item : fs::recursive_directory_iterator(folder / "site")) {
    if (!item.is_regular_file()) continue;
    ++files;
    std::string text = read_file(item.path());
    const std::string name_space = "xmlns=\"http://www.w3.org/2000/svg\"";
    for (std::size_t at; (at = text.find(name_space)) != std::string::npos;)
      text.erase(at, name_space.size());
    const std::size_t script = text.find("\n<script>\n");  // the program's own, at the end
    ASSERT_NE(script, std::string::npos);
    EXPECT_EQ(text.substr(text.find("</script>")), "</script>\n</body>\n</html>\n");
    text.resize(script);
    for (const char* outside : {"http:", "https:", "//", "<script", "@import", "url("})
      EXPECT_EQ(text.find(outside), std::string::npos) << item.path() << " has " << outside;
    const std::regex link("href=\"([^\"#]+)\"");
    for (std::sregex_iterator m(text.begin(), text.end(), link), end; m != end; ++m)
      EXPECT_TRUE(fs::exists(item.path().parent_path() / (*m)[1].str())) << (*m)[1];
  }
  EXPECT_EQ(files, 3);
  const std::string page = read_file(folder / "site" / "series" / (h.what.id + ".html"));
  EXPECT_THAT(page, ::testing::HasSubstr("c059..c060"));
  EXPECT_THAT(read_file(folder / "site" / "regressions.html"), ::testing::HasSubstr("c059..c060"));
}

TEST(HistorySite, LinksRangesWhereItIsTold) {
  const Scratch folder;
  const HistorySeries h = made(noisy(step_of(40, 20, 0.05), 0.005, 8));
  publish({h}, {trend_of(h)}, folder / "site", "https://example.org/{before}...{after}");
  EXPECT_THAT(read_file(folder / "site" / "regressions.html"),
              ::testing::HasSubstr("href=\"https://example.org/c019...c020\""));
}

TEST(HistoryChart, OfOddSeriesIsDrawn) {
  for (const auto& commits : std::vector<std::vector<std::vector<double>>>{
           {{1}}, {{1}, {1}}, {{none}}, {{1e-300, 1e300}}, {{0}, {0}, {0}}}) {
    const HistorySeries h = made(commits);
    const std::string svg = chart_of(h, trend_of(h)) + sparkline_of(h, trend_of(h));
    EXPECT_EQ(svg.find("nan"), std::string::npos) << svg;
    EXPECT_EQ(svg.find("inf"), std::string::npos) << svg;
  }
}

}  // namespace
}  // namespace pesuite::testing
