// The page as slides in Markdown, for Marp and pandoc: "---" parts them, each has one heading, and
// comments are notes for who speaks.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/renderer.h"
#include "report/renderers/markdown.h"

namespace pesuite {

namespace {

constexpr std::size_t most_rows = 12, most_items = 4;  // of a slide

constexpr const char* front_matter = R"(---
marp: true
paginate: true
style: |
  section { place-content: start; }
  section > p > img:only-child { width: 100%; height: 560px; object-fit: contain; }
  table { font-size: 55%; }
---

)";

// What is read out: all before the evidence, which begins with an expression.
Text spoken(const Text& item) {
  Text out;
  for (const Span& s : item.spans()) {
    if (s.style == Span::Style::code && out.spans().size() > 1) break;
    out += s.style == Span::Style::link ? Text(s.text) : Text(s);
  }
  return out;
}

// Where the words go on to evidence, they end with a colon or what leads there.
std::string bullet(const Text& t) {
  std::string out = trim(markdown(t));
  while (!out.empty() && (out.back() == ':' || out.back() == ';' || out.back() == ' '))
    out.pop_back();
  return out;
}

std::string note(const std::string& text) {
  std::string inner;
  for (const char c : text)
    inner += c == '-' && !inner.empty() && inner.back() == '-' ? " -" : std::string(1, c);
  return fmt::format("<!-- {} -->\n", inner);
}

class Deck {
 public:
  explicit Deck(const Pictures& drawn) : drawn_(drawn) {}

  std::string write(const Document& page) {
    for (const Part& p : page.parts()) part(p);
    end_section();
    return front_matter + join(deck_, "---\n\n");
  }

 private:
  void part(const Part& p) {
    if (const auto* h = std::get_if<Heading>(&p)) {
      end_section();
      title_ = h->title;
    } else if (const auto* t = std::get_if<Table>(&p)) {
      table(*t);
    } else if (const auto* f = std::get_if<Figure>(&p)) {
      figure(*f);
    } else if (const auto* l = std::get_if<List>(&p)) {
      list(*l);
    } else {
      text(std::get<Paragraph>(p));
    }
  }
  void text(const Paragraph& p) {
    if (p.kind == Paragraph::Kind::note)
      aside_.push_back(p.text.plain());
    else
      words_ += markdown(p.text) + "\n\n";
  }
  void list(const List& l) {
    if (const auto& begin = l.items.front().spans();
        !begin.empty() && begin.front().style == Span::Style::link)
      return;  // of files
    for (std::size_t first = 0; first < l.items.size(); first += most_items) {
      std::string items;
      std::vector<std::string> notes;
      for (std::size_t i = first; i < std::min(l.items.size(), first + most_items); ++i) {
        items += "- " + bullet(spoken(l.items[i])) + "\n";
        notes.push_back(l.items[i].plain());
      }
      slides_.push_back(slide(items, notes));
    }
  }
  void figure(const Figure& f) {
    if (!f.beside.empty() || !drawn_.contains(f.name)) return;
    slides_.push_back(
        slide(fmt::format("![{}](figures/{}.svg)", markdown_text(f.title), f.name), {f.caption}));
  }
  // With its heading again on each slide.
  void table(const Table& t) {
    for (std::size_t first = 1; first < t.rows.size(); first += most_rows) {
      Table some = t;
      some.caption = {};
      some.rows = {t.rows[0]};
      for (std::size_t i = first; i < std::min(t.rows.size(), first + most_rows); ++i)
        some.rows.push_back(t.rows[i]);
      slides_.push_back(slide(markdown(some), {t.caption.plain()}));
    }
  }
  // Its words stand in front of what they are about.
  void end_section() {
    if (!words_.empty()) deck_.push_back(slide(words_, aside_));
    deck_.insert(deck_.end(), slides_.begin(), slides_.end());
    words_.clear(), aside_.clear(), slides_.clear();
  }
  std::string slide(const std::string& body, const std::vector<std::string>& notes) const {
    std::string out = fmt::format("# {}\n\n{}\n\n", markdown_text(title_), trim(body));
    for (const std::string& n : notes)
      if (!n.empty()) out += note(printable(n)) + "\n";
    return out;
  }

  const Pictures& drawn_;
  std::vector<std::string> deck_, slides_;  // all, and those of the section
  std::string title_, words_;
  std::vector<std::string> aside_;  // notes on the words
};

}  // namespace

Renderer slides_renderer() {
  const auto pages = [](const Document& d, const Pictures& drawn) {
    return std::map<std::string, std::string>{{"slides.md", Deck(drawn).write(d.at(Depth::page))}};
  };
  return {"", {}, pages, Renderer::When::asked};
}

}  // namespace pesuite
