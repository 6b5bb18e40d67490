#include "base/text.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstring>
#include <ctime>

namespace pesuite {

std::string capitalized(std::string_view text) {
  std::string out(text);
  if (!out.empty()) out[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(out[0])));
  return out;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> out;
  for (std::size_t start = 0;;) {
    const std::size_t end = text.find(separator, start);
    out.emplace_back(text.substr(start, end - start));
    if (end == std::string_view::npos) return out;
    start = end + 1;
  }
}

std::string trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1));
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts.begin(), parts.end(), separator));
}

std::string join_and(const std::vector<std::string>& parts) {
  if (parts.size() < 2) return join(parts, "");
  return join(std::span(parts).first(parts.size() - 1), ", ") + " and " + parts.back();
}

bool glob_match(std::string_view pattern, std::string_view text) {
  // Where a text does not fit, only the last star can be at fault: it takes one character more.
  std::size_t p = 0, t = 0, star = std::string_view::npos, taken = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++, taken = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p, ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1, t = ++taken;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

namespace {

// The first character of a text; `size` 0 where it is no UTF-8.
struct Character {
  char32_t code = 0;
  std::size_t size = 0;
};
Character first_character(std::string_view s) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  if (byte(0) < 0x80) return {byte(0), 1};
  const std::size_t size = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : byte(0) >= 0xc2 ? 2 : 0;
  if (size == 0 || size > s.size() || byte(0) > 0xf4) return {};
  char32_t code = byte(0) & (0x7fU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = (code << 6) | (byte(i) & 0x3fU);
  }
  constexpr std::array<char32_t, 5> least = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return code < least[size] || code > 0x10ffff || surrogate ? Character{} : Character{code, size};
}

// Controls, marks that turn the direction of writing, separators of lines and what is invisible.
bool is_sign_of_control(char32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x061c || (c >= 0x200b && c <= 0x200f) ||
         (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff ||
         (c >= 0xfff9 && c <= 0xfffb) || (c >= 0xe0000 && c < 0xe0080);
}

}  // namespace

std::string file_name_of(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain =
        std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
    if (plain)
      out += c;
    else if (!out.empty() && out.back() != '-')
      out += '-';
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out;
}

std::string printable(std::string_view text, bool lines) {
  std::string out;
  while (!text.empty()) {
    const Character c = first_character(text);
    const bool space = c.code == '\n' || c.code == '\t' || c.code == '\r';
    if (c.size == 0)
      out += "\ufffd";
    else if (space)
      out += lines && c.code != '\r' ? text[0] : ' ';
    else if (is_sign_of_control(c.code))
      out += fmt::format("\\u{{{:x}}}", static_cast<std::uint32_t>(c.code));
    else
      out += text.substr(0, c.size);
    text.remove_prefix(std::max<std::size_t>(1, c.size));
  }
  return out;
}

std::string markdown_text(std::string_view given) {
  const std::string text = printable(given);
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i], next = i + 1 < text.size() ? text[i + 1] : ' ';
    const bool tag = c == '<' && (std::isalpha(static_cast<unsigned char>(next)) || next == '/' ||
                                  next == '!' || next == '?');
    const bool link = c == ']' && next == '(';
    const bool entity = c == '&' && (std::isalpha(static_cast<unsigned char>(next)) || next == '#');
    if (tag || link || entity || c == '*' || c == '`' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string xml_text(std::string_view text) {
  std::string out;
  for (const char c : printable(text, true)) switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      case '\n': out += "&#10;"; break;
      case '\t': out += "&#9;"; break;
      default: out += c;
    }
  return out;
}

bool is_utf8(std::string_view text) {
  return utf8_prefix(text) == text.size();
}

std::size_t utf8_prefix(std::string_view text) {
  const std::size_t whole = text.size();
  while (!text.empty()) {
    std::uint64_t eight = 0;
    if (text.size() >= sizeof(eight)) std::memcpy(&eight, text.data(), sizeof(eight));
    if (text.size() >= sizeof(eight) && (eight & 0x8080808080808080u) == 0) {  // ASCII
      text.remove_prefix(sizeof(eight));
      continue;
    }
    const std::size_t size = first_character(text).size;
    if (size == 0) break;
    text.remove_prefix(size);
  }
  return whole - text.size();
}

std::string why_no_name(std::string_view text, std::size_t longest) {
  if (trim(text).empty()) return "is empty";
  if (trim(text).size() != text.size()) return "begins or ends with a space";
  if (printable(text) != text)
    return "holds a control character, a mark that turns the direction of writing, or no UTF-8";
  if (text.size() > longest)
    return fmt::format("is {} bytes long, at most {} are shown and name files", text.size(),
                       longest);
  return "";
}

namespace {

// Damerau-Levenshtein with adjacent swaps: "lenght" is one step from "length".
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min(
          {d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

}  // namespace

std::string nearest(std::string_view name, std::span<const std::string> candidates) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, name.size() / 3) + 1;
  for (const std::string& c : candidates) {
    const std::size_t d = edit_distance(name, c);
    const bool shares = d < std::max(name.size(), c.size());  // a letter at least
    if (shares && d < best_distance) {
      best = c;
      best_distance = d;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view name, std::span<const std::string> candidates) {
  const std::string near = nearest(name, candidates);
  return near.empty() ? "" : fmt::format(", did you mean '{}'?", near);
}

bool parse_count(std::string_view text, double& out) {
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, out);
  if (error != std::errc() || rest == text.data()) return false;
  if (rest == end) return true;
  if (rest + 1 != end) return false;
  switch (*rest) {
    case 'k':
    case 'K': out *= 1e3; return true;
    case 'M': out *= 1e6; return true;
    case 'B':
    case 'G': out *= 1e9; return true;
    case 'T': out *= 1e12; return true;
    case 'P': out *= 1e15; return true;
    case 'E': out *= 1e18; return true;
    default: return false;
  }
}

std::string format_count(double n) {
  static constexpr std::array<std::pair<double, const char*>, 6> units = {
      {{1e18, "E"}, {1e15, "P"}, {1e12, "T"}, {1e9, "B"}, {1e6, "M"}, {1e3, "k"}}};
  for (const auto& [unit, name] : units)
    if (n >= unit * 0.9995 && n < 1e21) return fmt::format("{:.3g}{}", n / unit, name);
  return fmt::format("{:.3g}", n);
}

std::string format_bytes(double bytes) {
  static constexpr std::array<const char*, 5> units = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t u = 0;
  while (bytes >= 1023.5 && u + 1 < units.size()) {
    bytes /= 1024;
    ++u;
  }
  return fmt::format("{:.{}f} {}", bytes, u == 0 || bytes >= 99.95 ? 0 : 1, units[u]);
}

std::string format_seconds(double s) {
  if (!std::isfinite(s) || s < 0) return "--:--";
  const auto t = static_cast<std::int64_t>(std::llround(s));
  if (t >= 3600) return fmt::format("{}:{:02}:{:02}", t / 3600, t / 60 % 60, t % 60);
  return fmt::format("{:02}:{:02}", t / 60, t % 60);
}

std::string counted(std::size_t n, std::string_view one) {
  return fmt::format("{} {}{}", n, one, n == 1 ? "" : "s");
}

std::string format_number(double x) {
  return fmt::format("{}", x);
}

std::string format_fixed(double x, int digits) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x > 0 ? "∞" : "-∞";
  std::string out = fmt::format("{:.{}f}", x, digits);
  if (out[0] == '-' && out.find_first_of("123456789") == std::string::npos) out.erase(0, 1);
  return out;
}

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> out = {""};
  for (const std::string& word : split(text, ' ')) {
    std::string& line = out.back();
    if (line.empty())
      line = word;
    else if (display_width(line) + 1 + display_width(word) <= width)
      line += " " + word;
    else
      out.push_back(word);
  }
  return out;
}

std::string plain_table(const std::vector<std::vector<std::string>>& given) {
  std::vector<std::vector<std::string>> rows = given;
  std::vector<std::size_t> widths;
  for (auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i == widths.size()) widths.push_back(0);
      row[i] = printable(row[i]);
      widths[i] = std::max(widths[i], display_width(row[i]));
    }
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(widths[i] - display_width(row[i]) + 2, ' ');
    }
    out += line + "\n";
  }
  return out;
}

namespace {

// What a spreadsheet takes for a formula. Numbers may have a sign.
bool is_formula(std::string_view cell) {
  if (cell.empty() || std::string_view("=+-@").find(cell[0]) == std::string_view::npos)
    return false;
  const std::string_view digits = cell.substr(cell[0] == '+' ? 1 : 0);
  double x = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), x);
  const bool number = error == std::errc() && end == digits.data() + digits.size();
  return !number && cell.size() > 1;
}

}  // namespace

std::string csv_table(const std::vector<std::vector<std::string>>& rows) {
  std::string out;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) out += ',';
      const std::string cell = (is_formula(row[i]) ? "'" : "") + printable(row[i]);
      if (cell.find_first_of(",\"") == std::string::npos) {
        out += cell;
        continue;
      }
      out += '"';
      for (const char c : cell) {
        if (c == '"') out += '"';
        out += c;
      }
      out += '"';
    }
    out += '\n';
  }
  return out;
}

std::string utc_timestamp() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}
double seconds_of_utc(const std::string& timestamp) {
  std::tm t{};
  const char* const end = ::strptime(timestamp.c_str(), "%Y-%m-%dT%H:%M:%SZ", &t);
  return end == nullptr ? 0 : static_cast<double>(::timegm(&t));
}
std::string utc_timestamp_compact() {
  return fmt::format("{:%Y%m%dT%H%M%SZ}", fmt::gmtime(std::time(nullptr)));
}

}  // namespace pesuite
