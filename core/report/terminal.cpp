#include "report/terminal.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/numbers.h"
#include "base/text.h"

namespace pesuite {

namespace {

using Rows = std::vector<std::vector<std::string>>;

// With names and commands set apart: "`none` has 58 %".
std::string sentence(const Text& text) {
  std::string out;
  for (const Span& s : text.spans())
    out += s.style == Span::Style::code ? "`" + s.text + "`" : s.text;
  return out;
}

// Words in lines of at most `terminal_width`; all but the first begin with `indent`.
std::string wrapped(const Text& text, const std::string& indent = "") {
  std::string out, line;
  for (const std::string& word : split(printable(sentence(text)), ' ')) {
    if (!trim(line).empty() && display_width(line) + 1 + display_width(word) > terminal_width) {
      out += line + "\n";
      line = indent + word;
    } else {
      line += (line.empty() ? "" : " ") + word;
    }
  }
  return out + line + "\n";
}

// A heading of several lines as several rows.
Rows rows_of(const Table& t) {
  Rows rows;
  std::size_t height = 1;
  for (const Text& cell : t.rows[0]) height = std::max(height, split(cell.plain(), '\n').size());
  for (std::size_t i = 0; i < height; ++i) {
    rows.emplace_back();
    for (const Text& cell : t.rows[0]) {
      const std::vector<std::string> lines = split(cell.plain(), '\n');
      rows.back().push_back(i < lines.size() ? printable(lines[i]) : "");
    }
  }
  for (std::size_t r = 1; r < t.rows.size(); ++r) {
    rows.emplace_back();
    for (const Text& cell : t.rows[r]) rows.back().push_back(printable(cell.plain()));
    rows.back().resize(t.rows[0].size());
    if (t.text_columns == 1) rows.back()[0] = shorten(rows.back()[0], 36);
  }
  return rows;
}

// "9.80 [8.00, 12.00]" without what stands in brackets.
std::string without_extremes(std::string cell) {
  const std::size_t open = cell.find(" ["), close = cell.find(']');
  if (open != std::string::npos && close != std::string::npos && open < close)
    cell.erase(open, close + 1 - open);
  return cell;
}

// Numbers stand at the right of their columns.
std::string aligned(Rows rows, std::size_t text_columns) {
  for (std::size_t column = text_columns; column < rows[0].size(); ++column) {
    std::size_t width = 0;
    for (const auto& row : rows) width = std::max(width, display_width(row[column]));
    for (auto& row : rows) row[column].insert(0, width - display_width(row[column]), ' ');
  }
  return plain_table(rows);
}

std::size_t width_of(const std::string& table) {
  std::size_t width = 0;
  for (const std::string& line : split(table, '\n')) width = std::max(width, display_width(line));
  return width;
}

struct PlainParts {
  std::string operator()(const Heading& h) const { return printable(h.title) + "\n\n"; }
  std::string operator()(const Paragraph& p) const { return wrapped(p.text) + "\n"; }
  std::string operator()(const List& list) const {
    std::string out;
    for (const Text& item : list.items) out += wrapped("- " + item, "  ");
    return out + "\n";
  }
  std::string operator()(const Table& t) const { return terminal(t) + "\n"; }
  std::string operator()(const Figure&) const { return ""; }
};

}  // namespace

std::string terminal(const Table& t) {
  if (t.rows.empty()) return "";
  Rows rows = rows_of(t);
  std::string out = aligned(rows, t.text_columns);
  if (width_of(out) > terminal_width) {
    for (auto& row : rows)
      for (std::size_t i = 0; i < row.size(); ++i)
        row[i] = i < t.text_columns ? shorten(row[i], 24) : without_extremes(row[i]);
    out = aligned(rows, t.text_columns);
  }
  std::size_t dropped = 0;
  while (width_of(out) > terminal_width && rows[0].size() > t.text_columns + 2) {
    const std::size_t middle = t.text_columns + (rows[0].size() - t.text_columns) / 2;
    for (auto& row : rows) row.erase(row.begin() + static_cast<std::ptrdiff_t>(middle));
    ++dropped;
    out = aligned(rows, t.text_columns);
  }
  if (dropped > 0) out += fmt::format("({} more in report.md)\n", counted(dropped, "column"));
  std::string above = printable(t.title.plain());
  return (above.empty() ? "" : above + "\n\n") + out +
         (t.caption.empty() ? "" : "\n" + wrapped(t.caption));
}

std::string terminal(const Document& d) {
  std::string out;
  for (const Part& p : d.parts()) out += std::visit(PlainParts{}, p);
  return out;
}

}  // namespace pesuite
