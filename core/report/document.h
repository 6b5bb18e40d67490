// A report as values: headings, paragraphs, lists, tables and figures. How they look is for the
// renderers (markdown, latex, terminal) to say; nothing here knows any markup.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "report/figure.h"

namespace pesuite {

struct Span {
  enum class Style { plain, strong, emphasis, code, link };
  std::string text;
  Style style = Style::plain;
  std::string target = {};  // of a link: a file beside the report, or "#" and a section's title
};

// Words with their styles, in order.
class Text {
 public:
  Text() = default;
  Text(const char* plain) : Text(std::string(plain)) {}
  Text(std::string plain) : Text(Span{std::move(plain)}) {}
  Text(Span s) {
    if (!s.text.empty()) spans_.push_back(std::move(s));
  }

  Text& operator+=(const Text& more) {
    spans_.insert(spans_.end(), more.spans_.begin(), more.spans_.end());
    return *this;
  }
  friend Text operator+(Text a, const Text& b) { return a += b; }
  const std::vector<Span>& spans() const { return spans_; }
  bool empty() const { return spans_.empty(); }
  std::string plain() const;  // without styles

 private:
  std::vector<Span> spans_;
};

inline Span strong(std::string text) {
  return {std::move(text), Span::Style::strong};
}
inline Span emphasis(std::string text) {
  return {std::move(text), Span::Style::emphasis};
}
inline Span code(std::string text) {
  return {std::move(text), Span::Style::code};
}
inline Span link(std::string text, std::string target) {
  return {std::move(text), Span::Style::link, std::move(target)};
}
Text join(const std::vector<Text>& all, std::string_view between);

namespace detail {

// Stands for a styled argument while fmt writes the words around it.
class Slots {
 public:
  std::string keep(const Text& t) {
    texts_.push_back(t);
    return {mark, static_cast<char>(texts_.size())};
  }
  template <class T>
  const T& keep(const T& plain) {
    return plain;
  }
  std::string keep(const Span& s) { return keep(Text(s)); }
  Text fill(const std::string& written) const;

 private:
  static constexpr char mark = '\x1a';
  std::vector<Text> texts_;
};

}  // namespace detail

// fmt::format whose arguments may be styled: rich("{} beats {}", strong(a), b).
template <class... Args>
Text rich(std::string_view format, const Args&... args) {
  detail::Slots slots;
  const auto written = [&](const auto&... kept) {
    return fmt::format(fmt::runtime(format), kept...);
  }(slots.keep(args)...);
  return slots.fill(written);
}

using TextRows = std::vector<std::vector<Text>>;

struct Table {
  Text title, caption;
  TextRows rows;                 // the first is the heading
  std::size_t text_columns = 1;  // the first columns, written at the left
  std::string figure = {};       // name of the one that shows the same, which stands above
};

// Who needs to see a section: also a terminal, the page, or only who asks for the evidence.
enum class Depth { screen, page, evidence };

struct Heading {
  int level = 2;  // 1: the document's title
  std::string title;
  Depth depth = Depth::page;  // of all up to the next heading of this level or above
};
struct Paragraph {
  enum class Kind { plain, quote, note };
  Text text;
  Kind kind = Kind::plain;
};
struct List {
  std::vector<Text> items;
};
using Part = std::variant<Heading, Paragraph, List, Table, Figure>;

class Document {
 public:
  void heading(int level, std::string title, Depth depth = Depth::page) {
    parts_.emplace_back(Heading{level, std::move(title), depth});
  }
  // What is empty is left out.
  void text(Text t, Paragraph::Kind kind = Paragraph::Kind::plain) {
    if (!t.empty()) parts_.emplace_back(Paragraph{std::move(t), kind});
  }
  void list(std::vector<Text> items) {
    if (!items.empty()) parts_.emplace_back(List{std::move(items)});
  }
  void table(Table t) {
    if (t.rows.size() > 1) parts_.emplace_back(std::move(t));
  }
  void figure(Figure f) { parts_.emplace_back(std::move(f)); }
  void figures(std::vector<Figure> all) {
    for (Figure& f : all) figure(std::move(f));
  }
  const std::vector<Part>& parts() const { return parts_; }
  std::vector<const Figure*> all_figures() const;
  // The sections of a depth, in order, without headings that nothing follows. The title is part of
  // each.
  Document at(Depth) const;

 private:
  std::vector<Part> parts_;
};

}  // namespace pesuite
