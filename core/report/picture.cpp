#include "report/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/text.h"
#include "report/gnuplot.h"

namespace pesuite {

namespace {

using Rgb = std::array<int, 3>;

std::string hex(const Rgb& c) {
  return fmt::format("#{:02X}{:02X}{:02X}", c[0], c[1], c[2]);
}

// "rgb( 0, 114, 178)", "#0072B2", "black"; none for "none", "currentColor" and what else there is.
std::optional<Rgb> parse_colour(std::string_view text) {
  if (text == "black") return Rgb{0, 0, 0};
  Rgb c{};
  if (text.size() == 7 && text[0] == '#') {
    for (std::size_t i = 0; i < 3; ++i) {
      const char* from = text.data() + 1 + 2 * i;
      if (std::from_chars(from, from + 2, c[i], 16).ptr != from + 2) return {};
    }
    return c;
  }
  if (!text.starts_with("rgb(") || !text.ends_with(')')) return {};
  const std::vector<std::string> parts = split(std::string(text.substr(4, text.size() - 5)), ',');
  if (parts.size() != 3) return {};
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string number = trim(parts[i]);
    if (std::from_chars(number.data(), number.data() + number.size(), c[i]).ec != std::errc())
      return {};
  }
  return c;
}

// The same hue on a dark page: nearer to white, as far as it is dark.
Rgb on_dark(const Rgb& c) {
  const double light = (0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2]) / 255;
  const double to_white = std::clamp(0.55 - light, 0.0, 0.5);
  Rgb out{};
  for (std::size_t i = 0; i < 3; ++i)
    out[i] = static_cast<int>(std::lround(c[i] + (255 - c[i]) * to_white));
  return out;
}

// Of the dark page, as page.css has them.
constexpr Rgb dark_paper = {22, 24, 29};
constexpr int dark_ink = 232;

// What stands between two marks, from `at` on; moves it behind the second.
std::string_view between(std::string_view text, std::string_view from, std::string_view to) {
  const std::size_t begin = text.find(from);
  if (begin == std::string_view::npos) return {};
  const std::size_t end = text.find(to, begin + from.size());
  if (end == std::string_view::npos) return {};
  return text.substr(begin, end + to.size() - begin);
}

std::string_view value_of(std::string_view tag, std::string_view name) {
  const std::string_view whole = between(tag, fmt::format(" {}=\"", name), "\"");
  return whole.empty() ? whole : whole.substr(name.size() + 3, whole.size() - name.size() - 4);
}

// Series may be something else, such as verdicts.
bool shows_encodings(const Figure& f) {
  return !f.rows.empty() &&
         std::find(f.rows[0].begin(), f.rows[0].end(), "encoding") != f.rows[0].end();
}

// What gnuplot writes at the beginning and nobody needs: how long it is.
std::size_t idle_beginning(std::string_view svg) {
  if (svg.starts_with("<title>gnuplot_plot")) return svg.find("</title>") + 8;
  if (!svg.starts_with("<g fill=\"none\"")) return 0;
  const std::size_t next = svg.find_first_not_of(" \t\n", svg.find('>') + 1);
  constexpr std::string_view end = "</g>";
  return next != std::string_view::npos && svg.substr(next).starts_with(end) ? next + end.size()
                                                                             : 0;
}

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

}  // namespace

PageColours::PageColours(const std::vector<const Figure*>& figures) {
  for (const Figure* f : figures)
    for (const Series& s : shows_encodings(*f) ? f->series : std::vector<Series>())
      if (std::none_of(series_.begin(), series_.end(),
                       [&](const Series& known) { return known.id == s.id; }))
        series_.push_back(s);
}

int PageColours::encoding(std::string_view text) const {
  for (std::size_t i = 0; i < series_.size(); ++i) {
    const std::string& id = series_[i].id;
    if (text == id || (text.starts_with(id) && text.substr(id.size()).starts_with(" (")))
      return static_cast<int>(i);
  }
  return -1;
}

PageColours::Drawn PageColours::colour(std::string_view written, const Figure& f) {
  const std::optional<Rgb> c = parse_colour(written);
  if (!c) return {};
  const std::string code = hex(*c);
  for (const Series& s : shows_encodings(f) ? f.series : std::vector<Series>()) {
    const int e = encoding(s.id);
    if (code == s.style.colour) return {fmt::format("var(--e{})", e), e};
    if (code == faint(s.style.colour)) return {fmt::format("var(--f{})", e), e, true};
  }
  const auto [low, high] = std::minmax_element(c->begin(), c->end());
  if (*high - *low > 8) return {};  // a tint of one is one
  greys_[*low] = true;
  return {fmt::format("var(--g{})", *low), -1};
}

// A tag with the page's colours: attributes color, fill and stroke, which gnuplot writes in either
// quotes and with blanks around the sign.
std::string PageColours::tag(std::string_view text, const Figure& f) {
  std::string out;
  int encoding = -1;
  bool faint_one = false;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c != '\'' && c != '"') {
      out += c;
      ++at;
      continue;
    }
    const std::size_t end = text.find(c, at + 1);
    if (end == std::string_view::npos) return std::string(text);
    std::string_view before = out;
    while (!before.empty() && (before.back() == '=' || is_blank(before.back())))
      before.remove_suffix(1);
    std::string_view value = text.substr(at + 1, end - at - 1);
    const bool paints =
        before.ends_with("color") || before.ends_with("fill") || before.ends_with("stroke");
    const Drawn drawn = paints ? colour(trim(std::string(value)), f) : Drawn{};
    if (drawn.encoding >= 0) encoding = drawn.encoding;
    faint_one |= drawn.faint;
    out += '"';
    out += drawn.value.empty() ? std::string(value) : drawn.value;
    out += '"';
    at = end + 1;
  }
  if (encoding < 0) return out;
  const std::size_t name = out.find_first_of(" \t\n/>", 1);
  const bool seed = faint_one && text.starts_with("<use");  // the faint points are seeds
  return out.insert(name, fmt::format(" data-e=\"{}\"{}", encoding, seed ? " data-seed" : ""));
}

// Whose point it is, by the title that stands next: "rope at 64: 0.5".
int PageColours::speaker(std::string_view svg) const {
  constexpr std::string_view open = "<title>";
  if (!svg.starts_with(open)) return -1;
  svg.remove_prefix(open.size());
  int found = -1;
  std::size_t longest = 0;
  for (std::size_t i = 0; i < series_.size(); ++i) {
    const std::string id = xml_text(series_[i].id);
    if (id.size() >= longest && svg.starts_with(id) &&
        (svg.substr(id.size()).starts_with(" at ") || svg.substr(id.size()).starts_with(": ")))
      found = static_cast<int>(i), longest = id.size();
  }
  return found;
}

std::string PageColours::drawing(const std::string& svg, const Figure& f) {
  std::string_view rest = svg;
  const std::size_t start = rest.find("<svg");
  if (start == std::string_view::npos) return {};
  rest.remove_prefix(start);
  const std::string_view head = rest.substr(0, rest.find('>') + 1);
  std::string out =
      fmt::format("<svg viewBox=\"{}\" role=\"img\" aria-label=\"{}\" style=\"max-width:{}px\">",
                  value_of(head, "viewBox"), xml_text(f.title + ". " + f.caption),
                  value_of(head, "width").empty() ? "1000" : value_of(head, "width"));
  rest.remove_prefix(head.size());
  for (const char* part : {"<title>", "<desc>"})  // said by the label
    if (const std::string_view said = between(rest, part, std::string("</") + (part + 1));
        !said.empty() && said.data() - rest.data() < 400)
      rest.remove_prefix(static_cast<std::size_t>(said.data() - rest.data()) + said.size());
  const std::string_view symbols = between(rest, "<defs>", "</defs>");
  if (symbols_.empty()) symbols_ = symbols;
  const bool shared = symbols == symbols_;
  while (!rest.empty()) {
    const std::size_t open = rest.find('<');
    if (rest.substr(0, open).find_first_not_of(" \t\n") != std::string_view::npos)
      out += rest.substr(0, open);
    if (open == std::string_view::npos) break;
    rest.remove_prefix(open);
    if (shared && rest.starts_with("<defs>")) {
      rest.remove_prefix(symbols.size());
      continue;
    }
    if (const std::size_t idle = idle_beginning(rest); idle > 0) {
      rest.remove_prefix(idle);
      continue;
    }
    const std::size_t close = rest.find('>');
    if (close == std::string_view::npos) break;
    std::string t = tag(rest.substr(0, close + 1), f);
    for (const char* idle : {" id=\"gnuplot_", " stroke-linecap=\"butt", " stroke-linejoin=\"miter",
                             " font-family=\"sans-serif"})  // nobody asks; what holds anyway
      if (const std::string_view found = between(t, idle, "\""); !found.empty())
        t.erase(static_cast<std::size_t>(found.data() - t.data()), found.size());
    if (t == said_point)
      if (const int e = speaker(rest.substr(close + 1)); e >= 0)
        t.insert(2, fmt::format(" data-e=\"{}\"", e));
    out += t;
    rest.remove_prefix(close + 1);
  }
  return out;
}

std::string PageColours::rules(bool dark) const {
  std::string out;
  for (const auto& [g, used] : greys_) {
    Rgb shown{g, g, g};
    for (std::size_t k = 0; dark && k < 3; ++k)
      shown[k] = dark_ink - g * (dark_ink - dark_paper[k]) / 255;
    out += fmt::format("--g{}:{};", g, hex(shown));
  }
  for (std::size_t i = 0; i < series_.size(); ++i) {
    const Rgb c = *parse_colour(series_[i].style.colour);
    const Rgb f = *parse_colour(faint(series_[i].style.colour));
    Rgb dim{};
    for (std::size_t k = 0; k < 3; ++k)
      dim[k] = dark_paper[k] + (on_dark(c)[k] - dark_paper[k]) * 3 / 5;
    out += fmt::format("--e{}:{};--f{}:{};", i, hex(dark ? on_dark(c) : c), i, hex(dark ? dim : f));
  }
  return out;
}

}  // namespace pesuite
