#include "report/renderers/latex.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/text.h"
#include "report/renderer.h"

namespace pesuite {

namespace {

// What LaTeX acts on, and signs that its fonts have in mathematics alone.
std::string escaped(const std::string& given) {
  const std::string text = printable(given);
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 35> signs = {{
      {"\\", "\\textbackslash{}"},
      {"{", "\\{"},
      {"}", "\\}"},
      {"$", "\\$"},
      {"&", "\\&"},
      {"%", "\\%"},
      {"#", "\\#"},
      {"_", "\\_"},
      {"~", "\\textasciitilde{}"},
      {"^", "\\textasciicircum{}"},
      {"<", "$<$"},
      {">", "$>$"},
      {"∞", "$\\infty$"},
      {"≥", "$\\geq$"},
      {"≤", "$\\leq$"},
      {"±", "$\\pm$"},
      {"×", "$\\times$"},
      {"→", "$\\rightarrow$"},
      {"Δ", "$\\Delta$"},
      {"·", "$\\cdot$"},
      {"†", "$^{\\dagger}$"},
      {"–", "--"},
      {"²", "$^2$"},
      {"³", "$^3$"},
      {"µ", "$\\mu$"},
      {"…", "\\ldots{}"},
      {"⁻", "$^{-}$"},
      {"⁰", "$^0$"},
      {"¹", "$^1$"},
      {"⁴", "$^4$"},
      {"⁵", "$^5$"},
      {"⁶", "$^6$"},
      {"⁷", "$^7$"},
      {"⁸", "$^8$"},
      {"⁹", "$^9$"},
  }};
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    bool found = false;
    for (const auto& [sign, command] : signs) {
      if (text.compare(i, sign.size(), sign) != 0) continue;
      out += command, i += sign.size(), found = true;
      break;
    }
    if (!found) out += text[i++];
  }
  return out;
}

std::string latex(const Span& s) {
  switch (s.style) {
    case Span::Style::plain:
    case Span::Style::link: break;
    case Span::Style::strong: return "\\textbf{" + escaped(s.text) + "}";
    case Span::Style::emphasis: return "\\emph{" + escaped(s.text) + "}";
    case Span::Style::code: return "\\texttt{" + escaped(s.text) + "}";
  }
  return escaped(s.text);
}

std::string line(const std::vector<Text>& row, std::size_t columns) {
  std::string out;
  for (std::size_t i = 0; i < columns; ++i) {
    if (i > 0) out += " & ";
    if (i < row.size()) out += latex(row[i]);
  }
  return out + " \\\\\n";
}

}  // namespace

std::string latex(const Text& t) {
  std::string out;
  for (const Span& s : t.spans()) out += latex(s);
  return out;
}

std::string latex(const std::vector<Table>& all, const std::string& label) {
  std::string out = "% \\usepackage{booktabs}\n";
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Table& t = all[i];
    if (t.rows.empty()) continue;
    const std::size_t columns = t.rows[0].size();
    std::string caption = latex(t.title);
    if (!t.title.empty() && !t.caption.empty()) caption += ". ";
    caption += latex(t.caption);
    out += "\\begin{table}\n\\centering\n";
    if (!caption.empty()) out += fmt::format("\\caption{{{}}}\n", caption);
    out += fmt::format("\\label{{tab:{}{}}}\n\\begin{{tabular}}{{{}{}}}\n\\toprule\n", label,
                       i == 0 ? "" : fmt::format("-{}", i + 1),
                       std::string(std::min(t.text_columns, columns), 'l'),
                       std::string(columns - std::min(t.text_columns, columns), 'r'));
    out += line(t.rows[0], columns) + "\\midrule\n";
    for (std::size_t r = 1; r < t.rows.size(); ++r) out += line(t.rows[r], columns);
    out += "\\bottomrule\n\\end{tabular}\n\\end{table}\n";
  }
  return out;
}

Renderer latex_renderer() {
  return {"tex", [](const TableFile& t) { return latex(t.blocks, t.name); }};
}

}  // namespace pesuite
