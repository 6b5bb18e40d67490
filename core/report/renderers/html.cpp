#include "report/renderers/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/page.h"
#include "base/text.h"
#include "report/picture.h"

namespace pesuite {

namespace {

std::string id_of(const std::string& title) {
  std::string out;
  for (const char c : title) {
    const auto u = static_cast<unsigned char>(c);
    if (std::isalnum(u) || c == '_')
      out += static_cast<char>(std::tolower(u));
    else if (u >= 0x80)
      out += c;
    else if (!out.empty() && out.back() != '-')
      out += '-';
  }
  return xml_text(out);
}

// Files beside the report alone: a target comes from the program, its name from the suite.
std::string href(const std::string& target) {
  if (target.starts_with('#')) return "#" + id_of(target.substr(1));
  return target.find(':') == std::string::npos ? xml_text(target) : "#";
}

std::string html(const Text& t) {
  std::string out;
  for (const Span& s : t.spans()) {
    const std::string text = xml_text(s.text);
    switch (s.style) {
      case Span::Style::plain: out += text; break;
      case Span::Style::strong: out += "<strong>" + text + "</strong>"; break;
      case Span::Style::emphasis: out += "<em>" + text + "</em>"; break;
      case Span::Style::code: out += "<code>" + text + "</code>"; break;
      case Span::Style::link:
        out += fmt::format("<a href=\"{}\">{}</a>", href(s.target), text);
        break;
    }
  }
  return out;
}

constexpr std::size_t most_of_page = 1'300'000;  // bytes, of which figures are most

class HtmlPage {
 public:
  HtmlPage(const Document& d, const Pictures& pictures)
      : document_(d), pictures_(pictures), colours_(d.all_figures()) {}

  std::string write() {
    const std::vector<Part>& parts = document_.parts();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (const auto* h = std::get_if<Heading>(&parts[i])) {
        if (is_empty(i, h->level)) continue;
        heading(*h);
      } else {
        part(parts[i]);
      }
    }
    close_to(0);
    return whole();
  }

 private:
  // Nothing stands below it.
  bool is_empty(std::size_t i, int level) const {
    const std::vector<Part>& parts = document_.parts();
    while (++i < parts.size()) {
      const auto* h = std::get_if<Heading>(&parts[i]);
      if (h == nullptr) return false;
      if (h->level <= level) return true;
    }
    return true;
  }

  void close_to(int level) {
    while (!open_.empty() && open_.back().first >= level) {
      body_ += open_.back().second;
      open_.pop_back();
    }
  }
  void heading(const Heading& h) {
    close_to(h.level);
    const std::string title = xml_text(h.title), id = unique(id_of(h.title));
    if (h.level == 1) {
      title_ = h.title;
      body_ += fmt::format("<h1>{}</h1>\n", title);
      return;
    }
    if (h.level == 2) {
      index_ += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", id, title);
      body_ += fmt::format(
          "<section id=\"{}\" aria-labelledby=\"{}-title\">\n<h2 id=\"{}-title\">{}</h2>\n", id, id,
          id, title);
      open_.emplace_back(2, "</section>\n");
      return;
    }
    const bool folded = h.depth == Depth::evidence;
    const std::string level = fmt::format("h{}", std::min(h.level, 6));
    body_ += folded ? fmt::format("<details id=\"{}\"><summary><{}>{}</{}></summary>\n", id, level,
                                  title, level)
                    : fmt::format("<div id=\"{}\"><{}>{}</{}>\n", id, level, title, level);
    open_.emplace_back(h.level, folded ? "</details>\n" : "</div>\n");
  }
  std::string unique(const std::string& id) {
    const int times = ++ids_[id];
    return times == 1 ? id : fmt::format("{}-{}", id, times);
  }

  void part(const Part& p) {
    if (const auto* t = std::get_if<Table>(&p)) return table(*t);
    if (const auto* f = std::get_if<Figure>(&p)) return figure(*f);
    if (const auto* l = std::get_if<List>(&p)) {
      body_ += "<ul>\n";
      for (const Text& item : l->items) body_ += "<li>" + html(item) + "</li>\n";
      body_ += "</ul>\n";
      return;
    }
    const auto& text = std::get<Paragraph>(p);
    switch (text.kind) {
      case Paragraph::Kind::plain: body_ += "<p>" + html(text.text) + "</p>\n"; break;
      case Paragraph::Kind::quote:
        body_ += "<blockquote><p>" + html(text.text) + "</p></blockquote>\n";
        break;
      case Paragraph::Kind::note: body_ += "<p class=\"note\">" + html(text.text) + "</p>\n"; break;
    }
  }

  void table(const Table& t) {
    body_ += "<div class=\"table\" tabindex=\"0\"><table>\n";
    if (!t.title.empty()) body_ += "<caption>" + html(t.title) + "</caption>\n";
    for (std::size_t r = 0; r < t.rows.size(); ++r) {
      if (r < 2) body_ += r == 0 ? "<thead>\n" : "<tbody>\n";
      const int e = r == 0 ? -1 : encoding_of(t, r);
      body_ += e < 0 ? "<tr>" : fmt::format("<tr data-e=\"{}\">", e);
      for (std::size_t c = 0; c < t.rows[r].size(); ++c) {
        const char* kind = r == 0 ? "th scope=\"col\"" : "td";
        body_ += fmt::format("<{}{}>{}</{}>", kind, c < t.text_columns ? "" : " class=\"n\"",
                             html(t.rows[r][c]), r == 0 ? "th" : "td");
      }
      body_ += r == 0 ? "</tr>\n</thead>\n" : "</tr>\n";
    }
    body_ += "</tbody></table></div>\n";
    if (!t.caption.empty()) body_ += "<p class=\"note\">" + html(t.caption) + "</p>\n";
  }
  int encoding_of(const Table& t, std::size_t row) const {
    for (std::size_t c = 0; c < std::min(t.text_columns, t.rows[row].size()); ++c)
      if (const int e = colours_.encoding(t.rows[row][c].plain()); e >= 0) return e;
    return -1;
  }

  void figure(const Figure& f) {
    const auto svg = pictures_.find(f.name);
    const std::string drawing = svg == pictures_.end() ? "" : colours_.drawing(svg->second, f);
    const bool fits = body_.size() + drawing.size() < most_of_page;
    if ((drawing.empty() || !fits) && !f.beside.empty()) return;
    std::string marks;  // for the script: what may stand in whose place, what may be looked at
    if (f.kind == "attention")
      marks =
          fmt::format(" data-panels=\"{}\" data-last=\"{}\"",
                      xml_text(join(std::get<std::vector<std::string>>(f.values.at("panel")), "|")),
                      std::get<double>(f.values.at("last")));
    if (f.kind == "length" && f.beside.empty()) {
      const std::size_t what = f.title.rfind(" · ");
      if (what != std::string::npos)
        marks = fmt::format(" data-view=\"{}\"", xml_text(f.title.substr(what + 4)));
    }
    if (!f.beside.empty())
      marks = fmt::format(" data-beside=\"figure-{}\" data-scale=\"{}\" hidden", id_of(f.beside),
                          f.y.logarithmic ? "logarithmic" : "linear");
    std::string note;
    if (drawing.empty()) note = "(Not drawn.) ";
    if (!fits)
      note = fmt::format("(Not in this page, which would be too large: <a href=\"{0}\">{0}</a>.) ",
                         xml_text("figures/" + f.name + ".svg"));
    body_ += fmt::format("<figure id=\"{}\"{}>\n{}<figcaption>{}{}</figcaption>\n</figure>\n",
                         unique("figure-" + id_of(f.name)), marks, fits ? drawing : "", note,
                         xml_text(f.caption));
  }

  std::string chips() const {
    std::string out;
    for (std::size_t i = 0; i < colours_.series().size(); ++i)
      out += fmt::format(
          "<button type=\"button\" aria-pressed=\"true\" data-chip=\"{0}\" title=\"{1}\"><i "
          "style=\"background:"
          "var(--e{0})\"></i>{1}</button>\n",
          i, xml_text(colours_.series()[i].id));
    return out;
  }
  std::string whole() const {
    const std::string symbols =
        colours_.symbols().empty()
            ? ""
            : "<svg width=\"0\" height=\"0\" class=\"symbols\" aria-hidden=\"true\">" +
                  colours_.symbols() + "</svg>\n";
    const std::string colours =
        fmt::format(":root{{{}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{}}}}}\n",
                    colours_.rules(false), colours_.rules(true));
    return html_page({title_, colours + hiding(), index_, chips(), symbols + body_});
  }
  // Whoever is switched off, everywhere at once; whoever is looked at stands out.
  std::string hiding() const {
    std::string out;
    for (std::size_t i = 0; i < colours_.series().size(); ++i)
      out += fmt::format(
          ".off{0} [data-e=\"{0}\"]{{display:none}}\n"
          ".look{0} figure [data-e]:not([data-e=\"{0}\"]){{opacity:.15}}\n"
          ".look{0} tr[data-e=\"{0}\"]{{background:var(--mark)}}\n",
          i);
    return out;
  }

  const Document& document_;
  const Pictures& pictures_;
  PageColours colours_;
  std::string title_, body_, index_;
  std::vector<std::pair<int, const char*>> open_;  // levels, and what closes them
  std::map<std::string, int> ids_;
};

}  // namespace

std::string html(const Document& d, const Pictures& pictures) {
  return HtmlPage(d, pictures).write();
}

Renderer html_renderer() {
  return {"", {}, [](const Document& d, const Pictures& pictures) {
            return std::map<std::string, std::string>{{"report.html", html(d, pictures)}};
          }};
}

}  // namespace pesuite
