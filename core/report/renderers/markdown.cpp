#include "report/renderers/markdown.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/renderer.h"

namespace pesuite {

namespace {

// Between more backticks than stand in it.
std::string in_code(const std::string& given) {
  const std::string text = printable(given);
  std::size_t longest = 0, run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`'), gap = longest > 0 ? " " : "";
  return fence + gap + text + gap + fence;
}

constexpr const char* evidence_file = "details.md";

// Where GitHub puts a heading: in lower case, blanks as dashes, nothing else.
std::string anchor(const std::string& title) {
  std::string out;
  for (const char c : title) {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_')
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (c == ' ')
      out += '-';
    else if (static_cast<unsigned char>(c) >= 0x80)
      out += c;
  }
  return out;
}

// Of a link: a file, or "#TITLE", a section of the evidence.
std::string address(const std::string& target) {
  return target.starts_with('#') ? fmt::format("{}#{}", evidence_file, anchor(target.substr(1)))
                                 : target;
}

std::string markdown(const Span& s) {
  switch (s.style) {
    case Span::Style::plain: break;
    case Span::Style::strong: return "**" + markdown_text(s.text) + "**";
    case Span::Style::emphasis: return "*" + markdown_text(s.text) + "*";
    case Span::Style::code: return in_code(s.text);
    case Span::Style::link:
      return fmt::format("[{}]({})", markdown_text(s.text), address(s.target));
  }
  return markdown_text(s.text);
}

std::string markdown(const Figure& f, bool drawn) {
  const Text data = rich(" Data: {}; {} in {} redraws it.",
                         link(f.name + ".tsv", fmt::format("figures/{}.tsv", f.name)),
                         code(fmt::format("gnuplot {}.gp", f.name)), code("figures/"));
  return fmt::format(
      "{}*{}{}*{}\n\n",
      drawn ? fmt::format("![{}](figures/{}.svg)\n\n", markdown_text(f.title), f.name) : "",
      drawn ? "" : "(Not drawn.) ", markdown_text(f.caption), markdown(data));
}

std::string markdown(const Paragraph& p) {
  switch (p.kind) {
    case Paragraph::Kind::plain: break;
    case Paragraph::Kind::quote: return "> " + markdown(p.text) + "\n\n";
    case Paragraph::Kind::note: return "*" + markdown(p.text) + "*\n\n";
  }
  return markdown(p.text) + "\n\n";
}

std::string markdown(const Part& p, const Pictures& drawn) {
  if (const auto* h = std::get_if<Heading>(&p))
    return fmt::format("{} {}\n\n", std::string(static_cast<std::size_t>(h->level), '#'),
                       markdown_text(h->title));
  if (const auto* t = std::get_if<Table>(&p)) return markdown(*t) + "\n";
  if (const auto* f = std::get_if<Figure>(&p))
    return f->beside.empty() ? markdown(*f, drawn.contains(f->name)) : "";
  if (const auto* text = std::get_if<Paragraph>(&p)) return markdown(*text);
  std::string out;
  for (const Text& item : std::get<List>(p).items) out += "- " + markdown(item) + "\n";
  return out + "\n";
}

}  // namespace

std::string markdown(const Text& t) {
  std::string out;
  for (const Span& s : t.spans()) out += markdown(s);
  return out;
}

std::string markdown(const Table& t) {
  std::string out;
  if (!t.title.empty()) out += "**" + markdown(t.title) + "**\n\n";
  for (std::size_t r = 0; r < t.rows.size(); ++r) {
    out += "|";
    for (const Text& cell : t.rows[r]) {
      out += ' ';
      for (const char c : markdown(cell)) out += c == '|' ? std::string("\\|") : std::string(1, c);
      out += " |";
    }
    out += "\n";
    if (r > 0) continue;
    out += "|";
    for (std::size_t i = 0; i < t.rows[0].size(); ++i) out += i < t.text_columns ? "---|" : "---:|";
    out += "\n";
  }
  if (!t.caption.empty()) out += "\n" + markdown(t.caption) + "\n";
  return out;
}

std::string markdown(const Document& d, const Pictures& drawn) {
  std::string out;
  for (const Part& p : d.parts()) out += markdown(p, drawn);
  return out;
}

// report.md, and what it folds in details.md.
static std::map<std::string, std::string> pages_of(const Document& d, const Pictures& drawn) {
  const Document page = d.at(Depth::page), evidence = d.at(Depth::evidence);
  std::set<std::string> more;  // sections with evidence
  for (const Part& p : evidence.parts())
    if (const auto* h = std::get_if<Heading>(&p); h != nullptr && h->level == 2)
      more.insert(h->title);
  std::string written;
  std::string section;
  const auto close = [&] {
    if (more.contains(section))
      written += fmt::format("More: [{0}]({0}#{1}).\n\n", evidence_file, anchor(section));
    section.clear();
  };
  for (const Part& p : page.parts()) {
    const auto* h = std::get_if<Heading>(&p);
    if (h != nullptr && h->level <= 2) close();
    if (h != nullptr && h->level == 2) section = h->title;
    written += markdown(p, drawn);
  }
  close();
  return {{"report.md", written}, {evidence_file, markdown(evidence, drawn)}};
}

Renderer markdown_renderer() {
  const auto table = [](const TableFile& t) {
    std::string text;
    for (const Table& b : t.blocks) text += markdown(b) + "\n";
    return text;
  };
  return {"md", table, pages_of};
}

}  // namespace pesuite
