// Verdicts as a comment for a pull request.
#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "exports/exports.h"

namespace pesuite {

namespace {

constexpr std::size_t most_characters = 60'000;

std::string cell_text(const std::string& text) {
  std::string out;
  for (const char c : markdown_text(text)) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

std::string number(double x) {
  return std::isfinite(x) ? fmt::format("{:+.4g}", x) : "";
}

std::string row_of(const SeriesVerdict& v) {
  const std::string interval = std::isfinite(v.low) && std::isfinite(v.high)
                                   ? fmt::format("{:+.4g} to {:+.4g}", v.low, v.high)
                                   : "";
  std::string remark = v.why;
  if (v.seeds_needed > 0)
    remark += fmt::format("{}{} would decide", remark.empty() ? "" : "; ",
                          counted(v.seeds_needed, "seed"));
  if (!v.suppressed.empty())
    remark += (remark.empty() ? "" : "; ") + ("suppressed: " + v.suppressed);
  if (!v.gated) remark += std::string(remark.empty() ? "" : "; ") + "shown only";
  return fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n",
                     v.fails() ? "**" + v.verdict + "**" : v.verdict, cell_text(v.name),
                     number(v.difference), interval,
                     std::isfinite(v.p) ? fmt::format("{:.2g}", v.p) : "",
                     v.seeds > 0 ? std::to_string(v.seeds) : "", cell_text(remark));
}

constexpr const char* heading =
    "| verdict | series | difference | interval | p | seeds | "
    "|\n|---|---|---:|---:|---:|---:|---|\n";

// Rows as long as there is room, then how many more there are.
std::string table_of(const std::vector<const SeriesVerdict*>& all, std::size_t room) {
  std::string out = heading;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string row = row_of(*all[i]);
    if (out.size() + row.size() > room)
      return out + fmt::format("\nand {} more, which the report has.\n", all.size() - i);
    out += row;
  }
  return out;
}

int rank(const SeriesVerdict& v) {
  if (v.fails()) return 0;
  static const std::vector<std::string> order = {"regressed", "missing", "inconclusive",
                                                 "improved",  "broken",  "new"};
  const auto it = std::find(order.begin(), order.end(), v.verdict);
  return it == order.end() ? 100 : 1 + static_cast<int>(it - order.begin());
}

}  // namespace

std::string comment_markdown(const Verdicts& v) {
  std::string out = "<!-- pesuite -->\n";
  out += fmt::format("### {}\n\n", markdown_text(v.sentence.empty() ? v.verdict : v.sentence));
  out += fmt::format("`{}` against `{}`.\n\n", v.after, v.before);
  for (const std::string& f : v.failures)
    out += fmt::format("* **new failure**: {}\n", markdown_text(f));
  if (!v.failures.empty()) out += "\n";
  std::vector<const SeriesVerdict*> changed, same;
  for (const SeriesVerdict& s : v.series) (rank(s) < 100 ? changed : same).push_back(&s);
  std::stable_sort(changed.begin(), changed.end(),
                   [](const auto* a, const auto* b) { return rank(*a) < rank(*b); });
  if (!changed.empty()) out += table_of(changed, most_characters * 2 / 3) + "\n";
  if (!same.empty())
    out += fmt::format("<details><summary>{} series did not change</summary>\n\n{}\n</details>\n\n",
                       same.size(),
                       table_of(same, most_characters - std::min(most_characters, out.size())));
  for (const std::string& n : v.notes) {
    if (out.size() + n.size() > most_characters + 4000) break;
    out += fmt::format("> {}\n", markdown_text(n));
  }
  return out;
}

}  // namespace pesuite
