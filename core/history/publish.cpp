#include "history/publish.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/file.h"
#include "base/page.h"
#include "base/text.h"
#include "history/chart.h"

namespace pesuite {

namespace {

constexpr const char* style =
    R"(:root { --bad: #b3261e; --good: #1b7a3d; --seed: #9db4d0; --worse: #fbe3e1; --better: #e0f2e5; --failing: #f6d5d2; }
@media screen and (prefers-color-scheme: dark) {
  :root { --bad: #ff9a90; --good: #7fd79b; --seed: #4f678a; --worse: #46211e; --better: #1d3a27; --failing: #5a2521; }
}
td.cell a { color: inherit; text-decoration: none; } td.cell a:hover { text-decoration: underline; }
td.cell svg { vertical-align: middle; margin-left: .4rem; height: 22px; }
td.worse { background: var(--worse); } td.better { background: var(--better); } td.failing { background: var(--failing); font-weight: 600; }
.bad { color: var(--bad); font-weight: 600; } .good { color: var(--good); font-weight: 600; }
td.subject { white-space: normal; min-width: 16rem; } td:not(.subject) { white-space: nowrap; }
th { white-space: nowrap; } th, td { padding-right: .9rem; padding-left: .3rem; }
)";

std::string row(const std::vector<std::string>& cells) {
  std::string out = "<tr>";
  for (const std::string& c : cells)  // what begins with "<td" has attributes of its own
    out += c.starts_with("<td") ? c : "<td>" + c + "</td>";
  return out + "</tr>\n";
}
std::string number_cell(const std::string& text) {
  return "<td class=\"n\">" + text + "</td>";
}
// Columns from `text_columns` on are numbers, `numbers` of them.
std::string table(const std::vector<std::string>& heading, std::size_t text_columns,
                  std::size_t numbers, const std::string& rows) {
  std::string head;
  for (std::size_t c = 0; c < heading.size(); ++c)
    head += fmt::format("<th scope=\"col\"{}>{}</th>",
                        c >= text_columns && c < text_columns + numbers ? " class=\"n\"" : "",
                        heading[c]);
  return "<div class=\"table\" tabindex=\"0\"><table>\n<thead><tr>" + head +
         "</tr></thead>\n<tbody>\n" + rows + "</tbody></table></div>\n";
}
class Publisher {
 public:
  Publisher(const std::vector<HistorySeries>& all, const std::vector<Trend>& trends,
            const fs::path& folder, std::string compare_url)
      : all_(all), trends_(trends), folder_(folder), compare_url_(std::move(compare_url)) {}

  Site write() {
    const std::string all = grid(), found = regressions();
    write_file_atomic(folder_ / "index.html", page("Results over commits", "", all));
    write_file_atomic(folder_ / "regressions.html", page("Regressions", "", found));
    for (std::size_t i = 0; i < all_.size(); ++i)
      write_file_atomic(folder_ / "series" / (all_[i].what.id + ".html"), series_page(i));
    site_.pages = all_.size() + 2;
    return site_;
  }

 private:
  // What a section says goes to the body, its title to the index.
  std::string section(const std::string& id, const std::string& title, const std::string& body) {
    index_ += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", id, xml_text(title));
    return fmt::format(
        "<section id=\"{0}\" aria-labelledby=\"{0}-title\">\n<h2 id=\"{0}-title\">{1}</h2>\n{2}"
        "</section>\n",
        id, xml_text(title), body);
  }
  // `up`: from the page to the folder of all.
  std::string page(const std::string& title, const std::string& up, const std::string& body) {
    const std::string others = fmt::format(
        "<li><a href=\"{0}index.html\">All series</a></li>\n<li><a "
        "href=\"{0}regressions.html\">Regressions</a></li>\n",
        up);
    return html_page({title, style + chart_rules(), others + std::exchange(index_, ""), "",
                      fmt::format("<h1>{}</h1>\n{}", xml_text(title), body)});
  }

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
    std::string out = summary(ended), of_suite, suite, task;
    std::size_t suites = 0;
    const auto close = [&] {
      if (!of_suite.empty())
        out += section(fmt::format("suite-{}", ++suites), "Suite " + suite, of_suite);
      of_suite.clear();
    };
    for (const auto& [g, cells] : groups) {
      if (g.suite != suite) close();
      if (g.suite != suite || g.task + g.model != task)
        of_suite += fmt::format("<h3>{}, model {}</h3>\n", xml_text(g.task), xml_text(g.model));
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
        of_suite += fmt::format("<p class=\"note\">on {}</p>\n", xml_text(g.machine));
      of_suite += table(heading, 1, places[g].size(), rows);
    }
    close();
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
        "class=\"note\">{}</span></p>\n",
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
    return fmt::format(
        "<td class=\"n cell{}\"><a href=\"series/{}.html\" title=\"{}\">{}{}</a></td>", state,
        h.what.id, xml_text(h.what.name()),
        failing ? xml_text(t.failing.back().status) : short_number(latest), sparkline_of(h, t));
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
                                                        : "note";
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
    std::string out = worse.empty() ? "<p>None was found.</p>\n" : table(heading, 3, 3, worse);
    out += failures();
    if (!better.empty())
      out += section("improvements", "Improvements", table(heading, 3, 3, better));
    if (!neither.empty())
      out += section("other-changes", "Other changes", table(heading, 3, 3, neither));
    return out;
  }

  std::string failures() {
    std::string rows;
    for (std::size_t i = 0; i < trends_.size(); ++i)
      for (const Failing& f : trends_[i].failing) {
        const HistorySeries& h = all_[i];
        const std::size_t before = f.began ? f.first - 1 : f.first;
        rows += row(
            {h.points[f.first].commit.date.substr(0, 10), range_link(h, before, f.first),
             fmt::format("<a href=\"series/{}.html\">{}</a>", h.what.id, xml_text(h.what.name())),
             xml_text(f.status), number_cell(counted(f.last - f.first + 1, "commit"))});
      }
    if (rows.empty()) return "";
    return section("seeds-without-a-number", "Seeds without a number",
                   table({"date", "commits", "series", "status", "for"}, 4, 1, rows));
  }

  // ----------------------------------------------------------------------------------- series

  std::string series_page(std::size_t i) {
    const HistorySeries& h = all_[i];
    const Trend& t = trends_[i];
    std::string body = "<figure>" + chart_of(h, t) + "</figure>\n<p class=\"note\">";
    body += fmt::format("{}; {} is better. ", counted(h.points.size(), "commit"),
                        h.what.direction == "none" ? "neither way" : h.what.direction);
    body += t.spread > 0 ? fmt::format("A commit's mean varies by about {:.2g}; ", t.spread)
                         : "How much a commit's mean varies is not known; ";
    body += fmt::format(
        "changes below {:.2g} are not listed. Large points: mean over seeds; small ones: seeds, "
        "each less its usual distance from the others; lines: levels.</p>\n",
        t.counts);
    std::string changes;
    for (auto c = t.changes.rbegin(); c != t.changes.rend(); ++c)
      changes += row(change_row(i, *c, false));
    body += section("changes", "Changes",
                    changes.empty() ? "<p>No change was found.</p>\n"
                                    : table({"date", "commits", "from", "to", "change", "kind",
                                             "now", "first commit behind it"},
                                            2, 3, changes));
    std::string rows;
    for (std::size_t k = h.points.size(); k-- > 0;) {
      const HistoryPoint& p = h.points[k];
      rows +=
          row({p.commit.date.substr(0, 10), "<code>" + xml_text(p.commit.id) + "</code>",
               number_cell(short_number(t.values[k])), number_cell(std::to_string(p.seeds.size())),
               "<td class=\"subject\">" + xml_text(p.commit.subject) + "</td>"});
    }
    body += section("commits", "Commits",
                    table({"date", "commit", "mean", "seeds", "subject"}, 2, 2, rows));
    return page(h.what.name(), "../", body);
  }

  const std::vector<HistorySeries>& all_;
  const std::vector<Trend>& trends_;
  const fs::path folder_;
  const std::string compare_url_;
  std::string index_;  // of the page that is being written
  Site site_;
};

}  // namespace

Site publish(const std::vector<HistorySeries>& all, const std::vector<Trend>& trends,
             const fs::path& folder, const std::string& compare_url) {
  return Publisher(all, trends, folder, compare_url).write();
}

}  // namespace pesuite
