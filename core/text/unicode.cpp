#include "text/unicode.h"

#include <cstring>
#include <iterator>
#include <vector>

namespace pesuite::text {

namespace {

struct Change {
  char32_t first;
  std::uint8_t properties;
};
constexpr Change changes[] = {
#include "text/unicode_table.inc"
};
constexpr char32_t code_points = 0x110000;

std::vector<std::uint8_t> make_table() {
  std::vector<std::uint8_t> table(code_points);
  for (std::size_t i = 0; i < std::size(changes); ++i) {
    const char32_t end = i + 1 < std::size(changes) ? changes[i + 1].first : code_points;
    for (char32_t c = changes[i].first; c < end; ++c) table[c] = changes[i].properties;
  }
  return table;
}

// Bytes of the sequence that begins at `at`, if it is whole and right; else minus those of the
// longest beginning of one, at least 1.
int sequence(std::string_view s, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return i < s.size() ? static_cast<unsigned char>(s[i]) : 0u;
  };
  const unsigned a = byte(at);
  if (a < 0x80) return 1;
  if (a < 0xc2 || a > 0xf4) return -1;
  const int length = a < 0xe0 ? 2 : a < 0xf0 ? 3 : 4;
  // no overlong forms, no surrogates, nothing above U+10FFFF
  const unsigned low = a == 0xe0 ? 0xa0 : a == 0xf0 ? 0x90 : 0x80;
  const unsigned high = a == 0xed ? 0x9f : a == 0xf4 ? 0x8f : 0xbf;
  for (int i = 1; i < length; ++i) {
    const unsigned b = byte(at + static_cast<std::size_t>(i));
    if (b < (i == 1 ? low : 0x80u) || b > (i == 1 ? high : 0xbfu)) return -i;
  }
  return length;
}

}  // namespace

std::uint8_t properties_of(char32_t c) {
  static const std::vector<std::uint8_t> table = make_table();
  return c < code_points ? table[c] : 0;
}

CodePoint code_point(std::string_view s, std::size_t at) {
  if (at >= s.size()) return {};
  const auto byte = [&](std::size_t i) {
    return static_cast<char32_t>(static_cast<unsigned char>(s[at + i]));
  };
  const char32_t a = byte(0);
  if (a < 0x80) return {a, properties_of(a), 1};
  const int length = a < 0xe0 ? 2 : a < 0xf0 ? 3 : 4;
  char32_t c = length == 2 ? a & 0x1f : length == 3 ? a & 0x0f : a & 0x07;
  for (int i = 1; i < length; ++i) c = c << 6 | (byte(static_cast<std::size_t>(i)) & 0x3f);
  return {c, properties_of(c), length};
}

std::string repaired(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  for (std::size_t at = 0; at < bytes.size();) {
    const int n = sequence(bytes, at);
    const auto length = static_cast<std::size_t>(n < 0 ? -n : n);
    if (n > 0)
      out.append(bytes.substr(at, length));
    else
      out += "\xef\xbf\xbd";
    at += length;
  }
  return out;
}

std::string_view well_formed(std::string_view bytes, std::string& own) {
  for (std::size_t at = 0; at < bytes.size();) {
    if (at + 8 <= bytes.size()) {  // ASCII by eight
      std::uint64_t eight = 0;
      std::memcpy(&eight, bytes.data() + at, sizeof eight);
      if ((eight & 0x8080808080808080) == 0) {
        at += 8;
        continue;
      }
    }
    const int n = sequence(bytes, at);
    if (n < 0) return own = repaired(bytes);
    at += static_cast<std::size_t>(n);
  }
  return bytes;
}

}  // namespace pesuite::text
