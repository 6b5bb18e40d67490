// history: results over commits.
#include "history/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>

#include "base/error.h"
#include "base/text.h"
#include "cell/record.h"
#include "cli/arguments.h"
#include "cli/find_run.h"
#include "cli/verbs.h"
#include "history/chart.h"
#include "history/publish.h"

namespace pesuite::cli {

namespace {

void add_place(Arguments& a) {
  a.flags()("out", po::value<std::string>()->default_value("results"), "folder of the results")(
      "db", po::value<std::string>(), "file of the history (default OUT/history.sqlite)");
}
fs::path database_of(const Arguments& a) {
  return a.text("db", (fs::path(a.text("out")) / "history.sqlite").string());
}

void add_selection(Arguments& a) {
  add_place(a);
  a.flags()("only", po::value<std::string>(),
            "series whose name has all these words, e.g. 'toylag nll'")(
      "counts", po::value<double>(),
      "smallest change to list (default: a quarter of what matters of the metric, e.g. 0.005 "
      "nats; else 1 %, of speed and memory 5 %)");
}

bool is_named(const HistorySeries& h, const std::string& words) {
  const std::string name = h.what.suite + " " + h.what.name() + " " + h.what.id;
  for (const std::string& w : split(words, ' '))
    if (name.find(w) == std::string::npos) return false;
  return true;
}

std::vector<HistorySeries> selected(const Arguments& a) {
  History history(database_of(a), Database::Open::read);
  std::vector<HistorySeries> all = history.all();
  if (all.empty())
    fail(Exit::data, "{} holds no series; 'pesuite history add RUN' feeds it",
         database_of(a).string());
  const std::string only = a.text("only");
  std::erase_if(all, [&](const HistorySeries& h) { return !is_named(h, only); });
  if (all.empty())
    fail(Exit::usage, "no series has all of '{}' in its name; 'pesuite history list' shows them",
         only);
  return all;
}

std::vector<Trend> trends_of(const Arguments& a, const std::vector<HistorySeries>& all) {
  if (a.has("counts") && !(a.get<double>("counts") > 0))
    fail(Exit::usage, "--counts is {}; write a number above 0", a.get<double>("counts"));
  std::vector<Trend> out;
  for (const HistorySeries& h : all) out.push_back(trend_of(h, a.get<double>("counts", 0)));
  return out;
}

// --------------------------------------------------------------------------------------- add

Json last_start(const fs::path& run) {
  if (!fs::exists(run / "env.json")) return Json::object();
  const Json env = Json::parse(read_file(run / "env.json"), nullptr, false);
  if (!env.is_object()) return Json::object();
  return env.contains("starts") && !env["starts"].empty() ? env["starts"].back() : env;
}

// As all dates of the history are written, so that they can be compared.
std::string date_of(const std::string& text) {
  static const std::regex day("[0-9]{4}-[0-9]{2}-[0-9]{2}"),
      second("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z");
  if (std::regex_match(text, day)) return text + "T00:00:00Z";
  if (!std::regex_match(text, second))
    fail(Exit::usage, "--date is '{}'; write 2026-11-20 or 2026-11-20T12:00:00Z", text);
  return text;
}

Commit commit_of(const Arguments& a, const fs::path& run, const std::vector<Json>& records) {
  const Json start = last_start(run);
  const bool given = a.has("commit");
  const std::string name =
      given ? a.text("commit") : start.value("/pesuite/commit"_json_pointer, std::string());
  if (name.empty() || name == "unknown")
    fail(Exit::data, "{}: its env.json does not say which commit computed it; say it by --commit",
         run.string());
  if (!given && start.value("/pesuite/dirty"_json_pointer, false))
    fail(Exit::data,
         "{}: the program that computed it was changed since commit {}, so the numbers are not "
         "that commit's; --commit {} adds them all the same",
         run.string(), name, name);
  Commit c =
      find_commit(a.text("repository"), name)
          .value_or(Commit{name.substr(0, std::max<std::size_t>(12, given ? name.size() : 0)), "",
                           "", 0});
  if (a.has("date")) c.date = date_of(a.text("date"));
  if (c.date.empty())
    for (const Json& r : records) c.date = std::max(c.date, r.value("ts", std::string()));
  return c;
}

void add_run(const Arguments& a, const std::string& name, History& history, Follow how) {
  const fs::path run = find_run(name, a.text("out"));
  Records records = read_records(run / "records.jsonl");
  for (const std::string& n : records.notes) fmt::print(stderr, "note: {}\n", n);
  const Commit commit = commit_of(a, run, records.all);
  const std::string cpu = last_start(run).value("/cpu/model"_json_pointer, std::string("unknown"));
  const std::vector<Tracked> all = tracked(records.all, how);
  if (all.empty()) fail(Exit::data, "{} has no results that could be followed", run.string());
  const History::Added added = history.add(commit, all, a.text("machine", cpu));
  fmt::print(
      "{}: {} of {} series at commit {}{}\n", run.string(),
      counted(added.observations, "observation"), all.size(), commit.id,
      added.changed > 0
          ? fmt::format("; {} had other values there, of which the later stays", added.changed)
          : "");
}

int add_verb(const std::vector<std::string>& words) {
  Arguments a("history add RUN... [flags]",
              "Adds results of runs to the history: a row an observation, keyed by series, commit "
              "and seed. The commit is\nthe one that computed the run, as its env.json says; its "
              "date and place come from git where that knows it.\nThe order of adding does not "
              "matter; adding the same again changes nothing.");
  add_place(a);
  a.flags()("commit", po::value<std::string>(), "commit instead, any name that git knows")(
      "date", po::value<std::string>(), "its date, e.g. 2026-11-20T12:00:00Z")(
      "repository", po::value<std::string>()->default_value("."), "where git knows the commit")(
      "machine", po::value<std::string>(),
      "name of the machine, for speed and memory (default: its processor)")(
      "costs", po::bool_switch(), "speed and memory too")(
      "all", po::bool_switch(), "every number: positions, distances, probes, costs");
  a.positional("run", -1);
  if (!a.parse(words)) return 0;
  a.require("run", "a run");
  const std::vector<std::string> runs = a.texts("run");
  if (a.has("commit") && runs.size() > 1)
    fail(Exit::usage, "--commit is for one run, and {} are named", runs.size());
  const Follow how = a.flag("all")     ? Follow::all
                     : a.flag("costs") ? Follow::costs
                                       : Follow::results;
  for (const std::string& r : runs) find_run(r, a.text("out"));  // all or none
  History history(database_of(a), Database::Open::create);
  for (const std::string& r : runs) add_run(a, r, history, how);
  return 0;
}

// -------------------------------------------------------------------------------------- list

Json points_of(const HistorySeries& h, const std::vector<double>& values) {
  Json points = Json::array();
  for (std::size_t i = 0; i < h.points.size(); ++i) {
    Json seeds = Json::object();
    for (const auto& [seed, o] : h.points[i].seeds)
      seeds[std::to_string(seed)] = {{"value", o.value}, {"status", o.status}};
    points.push_back({{"commit", h.points[i].commit.id},
                      {"date", h.points[i].commit.date},
                      {"mean", values[i]},
                      {"seeds", seeds}});
  }
  return points;
}

int list_verb_of_history(const std::vector<std::string>& words) {
  Arguments a("history list [flags]", "Prints the series of the history with their last values.");
  add_selection(a);
  a.flags()("json", po::bool_switch(), "with every point as JSON");
  if (!a.parse(words)) return 0;
  std::vector<std::vector<std::string>> rows = {{"id", "series", "commits", "last", "value"}};
  Json json = Json::array();
  for (const HistorySeries& h : selected(a)) {
    const std::vector<double> values = values_of(h);
    rows.push_back({h.what.id, h.what.suite + " · " + h.what.name(),
                    std::to_string(h.points.size()), h.points.back().commit.id,
                    short_number(values.back())});
    if (a.flag("json"))
      json.push_back({{"id", h.what.id},
                      {"name", h.what.name()},
                      {"suite", h.what.suite},
                      {"unit", h.what.unit},
                      {"direction", h.what.direction},
                      {"points", points_of(h, values)}});
  }
  if (a.flag("json"))
    fmt::print("{}\n", Json({{"schema", "pesuite.history/1"}, {"series", json}}).dump(1));
  else
    fmt::print("{}", plain_table(rows));
  return 0;
}

// ------------------------------------------------------------------------------------ detect

constexpr const char* way_names[] = {"worse", "better", "changed"};

Json to_json(const HistorySeries& h, const Trend& t) {
  Json changes = Json::array(), failing = Json::array();
  for (const Change& c : t.changes)
    changes.push_back({{"way", way_names[static_cast<int>(c.way)]},
                       {"kind", c.drift ? "drift" : "step"},
                       {"before", h.points[c.before].commit.id},
                       {"after", h.points[c.after].commit.id},
                       {"from", c.from},
                       {"to", c.to},
                       {"lasts", c.lasts}});
  for (const Failing& f : t.failing)
    failing.push_back({{"first", h.points[f.first].commit.id},
                       {"last", h.points[f.last].commit.id},
                       {"status", f.status}});
  return {{"id", h.what.id},       {"name", h.what.name()},
          {"suite", h.what.suite}, {"commits", h.points.size()},
          {"spread", t.spread},    {"counts", t.counts},
          {"open", t.open()},      {"changes", changes},
          {"failing", failing}};
}

void print_changes(const std::vector<HistorySeries>& all, const std::vector<Trend>& trends) {
  std::vector<std::vector<std::string>> rows = {
      {"", "commits", "from", "to", "change", "kind", "series"}};
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const Change& c : trends[i].changes)
      rows.push_back({way_names[static_cast<int>(c.way)], range_of(all[i], c.before, c.after),
                      short_number(c.from), short_number(c.to), fmt::format("{:+.3g}", c.size()),
                      fmt::format("{}{}", c.drift ? "drift" : "step", c.lasts ? ", lasts" : ""),
                      all[i].what.name()});
  if (rows.size() > 1) fmt::print("{}", plain_table(rows));
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const Failing& f : trends[i].failing)
      fmt::print("{} from {} to {}: {}\n", f.status, all[i].points[f.first].commit.id,
                 all[i].points[f.last].commit.id, all[i].what.name());
}

int detect_verb(const std::vector<std::string>& words) {
  Arguments a("history detect [flags]",
              "Finds where the levels of series changed: steps, and slow drift; all of them, not "
              "the last alone. A level has at\nleast two commits, so the newest alone is never "
              "called. A change is named by the last commit before and the first\nbehind it.");
  add_selection(a);
  a.flags()("gate", po::bool_switch(), "exit code 1 where a series is worse than it was")(
      "json", po::bool_switch(), "as JSON");
  if (!a.parse(words)) return 0;
  const std::vector<HistorySeries> all = selected(a);
  const std::vector<Trend> trends = trends_of(a, all);
  const auto open =
      std::count_if(trends.begin(), trends.end(), [](const Trend& t) { return t.open(); });
  if (a.flag("json")) {
    Json series = Json::array();
    for (std::size_t i = 0; i < all.size(); ++i) series.push_back(to_json(all[i], trends[i]));
    fmt::print("{}\n", Json({{"schema", "pesuite.changes/1"}, {"series", series}}).dump(1));
  } else {
    print_changes(all, trends);
    fmt::print(stderr, "{} of {} series {} worse than before\n", open, all.size(),
               open == 1 ? "is" : "are");
  }
  return static_cast<int>(a.flag("gate") && open > 0 ? Exit::regression : Exit::done);
}

// ----------------------------------------------------------------------------- plot, publish

int plot_verb(const std::vector<std::string>& words) {
  Arguments a("history plot [flags]",
              "Draws series over commits as SVG, with seeds, levels and changes: NAME.svg in a "
              "folder, a file each.");
  add_selection(a);
  a.flags()("output,o", po::value<std::string>()->default_value("history"), "folder of the files");
  if (!a.parse(words)) return 0;
  const std::vector<HistorySeries> all = selected(a);
  const std::vector<Trend> trends = trends_of(a, all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const fs::path file = fs::path(a.text("output")) / (all[i].what.id + ".svg");
    write_file_atomic(file, chart_of(all[i], trends[i]));
    fmt::print("{}  {}\n", file.string(), all[i].what.name());
  }
  return 0;
}

int publish_verb(const std::vector<std::string>& words) {
  Arguments a("history publish DIR [flags]",
              "Writes the history as a static site: a grid of all series, a page each with its "
              "changes and commits, a list of\nregressions. Its pages ask for nothing outside of "
              "DIR.");
  add_selection(a);
  a.flags()("compare-url", po::value<std::string>(),
            "where a range of commits leads, e.g. "
            "'https://example.org/x/compare/{before}...{after}'");
  a.positional("dir");
  if (!a.parse(words)) return 0;
  a.require("dir", "the folder of the site");
  const std::vector<HistorySeries> all = selected(a);
  const std::vector<Trend> trends = trends_of(a, all);
  const Site site = publish(all, trends, a.folder("dir"), a.text("compare-url"));
  fmt::print("{}\n", (fs::path(a.text("dir")) / "index.html").string());
  fmt::print(stderr, "{}, {}, of which {} last\n", counted(site.pages, "page"),
             counted(site.worse, "regression"), site.open);
  return 0;
}

constexpr Verb history_subcommands[] = {
    {"add", "add results of runs, by the commit that computed them", add_verb},
    {"list", "the series and their last values", list_verb_of_history},
    {"detect", "where levels changed: steps and drift", detect_verb},
    {"plot", "draw series over commits", plot_verb},
    {"publish", "write a static site: grid, series, regressions", publish_verb},
};

}  // namespace

int history_verb(const std::vector<std::string>& words) {
  return call({"pesuite history", "SUBCOMMAND", "Results over commits, in OUT/history.sqlite.", "",
               history_subcommands},
              words);
}

}  // namespace pesuite::cli
