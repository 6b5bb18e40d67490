#include "history/publish.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/file.h"
#include "base/text.h"
#include "history/chart.h"

namespace pesuite {

namespace {

constexpr const char* style = R"(:root { color-scheme: light; }
body { font: 15px/1.5 Helvetica, Arial, sans-serif; color: #1f2a37; margin: 0 auto; max-width: 72rem; padding: 1rem 1.5rem 4rem; }
h1 { font-size: 1.5rem; margin: .6rem 0; } h2 { font-size: 1.15rem; margin: 2rem 0 .4rem; } h3 { font-size: 1rem; margin: 1.2rem 0 .3rem; }
nav a { margin-right: 1.2rem; } a { color: #0b5cad; text-decoration: none; } a:hover { text-decoration: underline; }
.wide { overflow-x: auto; } table { border-collapse: collapse; margin: .4rem 0 1rem; }
th, td { padding: .25rem .7rem; text-align: left; border-bottom: 1px solid #e3e7ec; vertical-align: middle; white-space: nowrap; }
th { font-weight: 600; background: #f5f7f9; } td.number { text-align: right; font-variant-numeric: tabular-nums; }
td.cell { text-align: right; font-variant-numeric: tabular-nums; } td.cell svg { vertical-align: middle; margin-left: .4rem; }
td.cell a { color: inherit; } td.worse { background: #fbe3e1; } td.better { background: #e0f2e5; } td.failing { background: #f6d5d2; font-weight: 600; }
.bad { color: #b3261e; font-weight: 600; } .good { color: #1b7a3d; font-weight: 600; } .quiet { color: #6b7684; }
td.subject { white-space: normal; min-width: 16rem; } svg { max-width: 100%; height: auto; } td svg { height: 22px; }
@media print { nav { display: none; } }
)";

std::string page(const std::string& title, const std::string& up, const std::string& body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\">\n<title>{0}</title>\n<style>\n{3}</style>\n</head>\n"
      "<body>\n<nav><a href=\"{1}index.html\">All series</a><a href=\"{1}regressions.html\">"
      "Regressions</a></nav>\n<h1>{0}</h1>\n{2}</body>\n</html>\n",
      xml_text(title), up, body, style);
}

std::string row(const std::vector<std::string>& cells, const char* tag = "td") {
  std::string out = "<tr>";
  for (const std::string& c : cells)  // what begins with "<td" has attributes of its own
    out += c.starts_with("<td") ? c : fmt::format("<{0}>{1}</{0}>", tag, c);
  return out + "</tr>\n";
}
std::string number_cell(const std::string& text) {
  return "<td class=\"number\">" + text + "</td>";
}
std::string table(const std::vector<std::string>& heading, const std::string& rows) {
  return "<div class=\"wide\"><table>\n" + row(heading, "th") + rows + "</table></div>\n";
}

class Publisher {
 public:
  Publisher(const std::vector<HistorySeries>& all, const std::vector<Trend>& trends,
            const fs::path& folder, std::string compare_url)
      : all_(all), trends_(trends), folder_(folder), compare_url_(std::move(compare_url)) {}

  Site write() {
    write_file_atomic(folder_ / "index.html", page("Results over commits", "", grid()));
    write_file_atomic(folder_ / "regressions.html", page("Regressions", "", regressions()));
    for (std::size_t i = 0; i < all_.size(); ++i)
      write_file_atomic(folder_ / "series" / (all_[i].what.id + ".html"), series_page(i));
    site_.pages = all_.size() + 2;
    return site_;
  }

 private:
  // ------------------------------------------------------------------------------------- grid

  struct Group {  // a table: what differs in it are encodings and places
    std::string suite, task, model, metric, split, machine;
    auto operator<=>(const Group&) const = default;
  };

  static std::string last_date(const HistorySeries& h) {
    return h.points.empty() ? "" : h.points.back().commit.date;
  }

  std::string grid() {
    std::map<Group, std::map<std::string, std::map<std::string, std::size_t>>> groups;
    std::map<Group, std::vector<std::string>> places, encodings;
    std::size_t ended = 0;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const Tracked& t = all_[i].what;
      const Group g{t.suite,        t.task, t.model, t.metric, t.split == "val" ? "val" : "",
                    all_[i].machine};
      const auto note = [](std::vector<std::string>& list, const std::string& name) {
        if (std::find(list.begin(), list.end(), name) == list.end()) list.push_back(name);
      };
      note(places[g], t.place()), note(encodings[g], t.encoding);
      const auto [it, is_new] = groups[g][t.encoding].emplace(t.place(), i);
      if (is_new) continue;
      ++ended;  // of two definitions the one that is measured lately is shown
      if (last_date(all_[it->second]) < last_date(all_[i])) it->second = i;
    }
    std::string out = summary(ended), suite, task;
    for (const auto& [g, cells] : groups) {
      if (g.suite != suite) out += fmt::format("<h2>Suite {}</h2>\n", xml_text(g.suite));
      if (g.suite != suite || g.task + g.model != task)
        out += fmt::format("<h3>{}, model {}</h3>\n", xml_text(g.task), xml_text(g.model));
      suite = g.suite, task = g.task + g.model;
      std::vector<std::string> heading = {"encoding"};
      for (const std::string& p : places[g]) heading.push_back(xml_text(p));
      std::string rows;
      for (const std::string& e : encodings[g]) {
        std::vector<std::string> line = {xml_text(e)};
        for (const std::string& p : places[g]) {
          const auto it = cells.at(e).find(p);
          line.push_back(it == cells.at(e).end() ? "" : grid_cell(it->second));
        }
        rows += row(line);
      }
      if (!g.machine.empty())
        out += fmt::format("<p class=\"quiet\">on {}</p>\n", xml_text(g.machine));
      out += table(heading, rows);
    }
    return out;
  }

  std::string summary(std::size_t ended) {
    std::string first, last;
    std::size_t commits = 0;
    for (const HistorySeries& h : all_) {
      commits = std::max(commits, h.points.size());
      if (h.points.empty()) continue;
      const std::string a = h.points.front().commit.date, b = h.points.back().commit.date;
      first = first.empty() ? a : std::min(first, a), last = std::max(last, b);
    }
    for (const Trend& t : trends_) site_.open += t.open() ? 1 : 0;
    return fmt::format(
        "<p>{} over up to {}, {} to {}. {} worse than before. A cell has the latest mean over "
        "seeds and its course; red: worse than it was, green: better than at the start. <span "
        "class=\"quiet\">{}</span></p>\n",
        all_.size() == 1 ? "1 series" : fmt::format("{} series", all_.size()),
        counted(commits, "commit"), first.substr(0, 10), last.substr(0, 10),
        site_.open == 1 ? "1 is" : fmt::format("{} are", site_.open),
        ended > 0 ? fmt::format("{} of an earlier definition have pages and no cell.", ended) : "");
  }

  std::string grid_cell(std::size_t i) const {
    const HistorySeries& h = all_[i];
    const Trend& t = trends_[i];
    double latest = std::numeric_limits<double>::quiet_NaN();
    for (const double v : t.values)
      if (std::isfinite(v)) latest = v;
    const bool failing = !t.failing.empty() && t.failing.back().last + 1 == h.points.size();
    const bool better = t.course(h.what.direction) == Change::Way::better;
    const char* state = failing ? " failing" : t.open() ? " worse" : better ? " better" : "";
    return fmt::format("<td class=\"cell{}\"><a href=\"series/{}.html\" title=\"{}\">{}{}</a></td>",
                       state, h.what.id, xml_text(h.what.name()),
                       failing ? xml_text(t.failing.back().status) : short_number(latest),
                       sparkline_of(h, t));
  }

  // ------------------------------------------------------------------------------ regressions

  std::string range_link(const HistorySeries& h, std::size_t before, std::size_t after) const {
    const std::string range = xml_text(range_of(h, before, after));
    if (compare_url_.empty()) return "<code>" + range + "</code>";
    std::string url = compare_url_;
    for (const auto& [mark, value] :
         {std::pair<std::string, std::string>{"{before}", h.points[before].commit.id},
          {"{after}", h.points[after].commit.id}})
      for (std::size_t at; (at = url.find(mark)) != std::string::npos;)
        url.replace(at, mark.size(), value);
    return fmt::format("<a href=\"{}\"><code>{}</code></a>", xml_text(url), range);
  }

  std::vector<std::string> change_row(std::size_t i, const Change& c, bool with_series) const {
    const HistorySeries& h = all_[i];
    std::vector<std::string> out = {h.points[c.after].commit.date.substr(0, 10),
                                    range_link(h, c.before, c.after)};
    if (with_series)
      out.push_back(
          fmt::format("<a href=\"series/{}.html\">{}</a>", h.what.id, xml_text(h.what.name())));
    out.push_back(number_cell(short_number(c.from)));
    out.push_back(number_cell(short_number(c.to)));
    const char* colour = c.way == Change::Way::worse    ? "bad"
                         : c.way == Change::Way::better ? "good"
                                                        : "quiet";
    out.push_back(number_cell(fmt::format("<span class=\"{}\">{:+.3g}</span>", colour, c.size())));
    out.emplace_back(c.drift ? "drift" : "step");
    out.emplace_back(c.way == Change::Way::worse ? (c.lasts ? "lasts" : "came back") : "");
    if (!with_series)
      out.push_back("<td class=\"subject\">" + xml_text(h.points[c.after].commit.subject) +
                    "</td>");
    return out;
  }

  std::string regressions() {
    struct Found {
      std::string date;
      std::size_t series;
      const Change* change;
    };
    std::vector<Found> all;
    for (std::size_t i = 0; i < trends_.size(); ++i)
      for (const Change& c : trends_[i].changes)
        all.push_back({all_[i].points[c.after].commit.date, i, &c});
    std::stable_sort(all.begin(), all.end(),
                     [](const Found& a, const Found& b) { return a.date > b.date; });
    std::string worse, better, neither;
    for (const Found& f : all) {
      std::string& to = f.change->way == Change::Way::worse    ? worse
                        : f.change->way == Change::Way::better ? better
                                                               : neither;
      site_.worse += f.change->way == Change::Way::worse ? 1 : 0;
      to += row(change_row(f.series, *f.change, true));
    }
    const std::vector<std::string> heading = {"date", "commits", "series", "from",
                                              "to",   "change",  "kind",   "now"};
    const auto section = [&](const char* title, const std::string& rows) {
      if (rows.empty()) return std::string();
      return fmt::format("<h2>{}</h2>\n", title) + table(heading, rows);
    };
    return (worse.empty() ? "<p>None was found.</p>\n" : table(heading, worse)) + failures() +
           section("Improvements", better) + section("Other changes", neither);
  }

  std::string failures() const {
    std::string rows;
    for (std::size_t i = 0; i < trends_.size(); ++i)
      for (const Failing& f : trends_[i].failing) {
        const HistorySeries& h = all_[i];
        const std::size_t before = f.began ? f.first - 1 : f.first;
        rows += row(
            {h.points[f.first].commit.date.substr(0, 10), range_link(h, before, f.first),
             fmt::format("<a href=\"series/{}.html\">{}</a>", h.what.id, xml_text(h.what.name())),
             xml_text(f.status), counted(f.last - f.first + 1, "commit")});
      }
    if (rows.empty()) return "";
    return "<h2>Seeds without a number</h2>\n" +
           table({"date", "commits", "series", "status", "for"}, rows);
  }

  // ----------------------------------------------------------------------------------- series

  std::string series_page(std::size_t i) const {
    const HistorySeries& h = all_[i];
    const Trend& t = trends_[i];
    std::string body = "<p>" + chart_of(h, t) + "</p>\n<p class=\"quiet\">";
    body += fmt::format("{}; {} is better. ", counted(h.points.size(), "commit"),
                        h.what.direction == "none" ? "neither way" : h.what.direction);
    body += t.spread > 0 ? fmt::format("A commit's mean varies by about {:.2g}; ", t.spread)
                         : "How much a commit's mean varies is not known; ";
    body += fmt::format(
        "changes below {:.2g} are not listed. Dark: mean over seeds; light: seeds, each less "
        "its usual distance from the others; blue: levels.</p>\n",
        t.counts);
    std::string changes;
    for (auto c = t.changes.rbegin(); c != t.changes.rend(); ++c)
      changes += row(change_row(i, *c, false));
    body += changes.empty() ? "<p>No change was found.</p>\n"
                            : table({"date", "commits", "from", "to", "change", "kind", "now",
                                     "first commit behind it"},
                                    changes);
    body += "<h2>Commits</h2>\n";
    std::string rows;
    for (std::size_t k = h.points.size(); k-- > 0;) {
      const HistoryPoint& p = h.points[k];
      rows +=
          row({p.commit.date.substr(0, 10), "<code>" + xml_text(p.commit.id) + "</code>",
               number_cell(short_number(t.values[k])), number_cell(std::to_string(p.seeds.size())),
               "<td class=\"subject\">" + xml_text(p.commit.subject) + "</td>"});
    }
    body += table({"date", "commit", "mean", "seeds", "subject"}, rows);
    return page(h.what.name(), "../", body);
  }

  const std::vector<HistorySeries>& all_;
  const std::vector<Trend>& trends_;
  const fs::path folder_;
  const std::string compare_url_;
  Site site_;
};

}  // namespace

Site publish(const std::vector<HistorySeries>& all, const std::vector<Trend>& trends,
             const fs::path& folder, const std::string& compare_url) {
  return Publisher(all, trends, folder, compare_url).write();
}

}  // namespace pesuite
