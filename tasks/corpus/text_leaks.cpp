#include "text_leaks.h"

#include <algorithm>
#include <cstdio>
#include <pesuite/random.hpp>

namespace text {

namespace {

constexpr std::size_t piece = 64;               // bytes
constexpr std::size_t paragraph_limit = 1024;   // bytes
constexpr std::uint64_t base = 0x100000001b3u;  // of the polynomial; odd, FNV's prime

constexpr std::uint64_t power(std::uint64_t x, std::size_t n) {
  std::uint64_t y = 1;
  for (std::size_t i = 0; i < n; ++i) y *= x;
  return y;
}

// Calls visit(hash) for each piece of `text`, by Karp and Rabin's rolling hash.
template <class F>
void for_each_piece(std::string_view text, F visit) {
  constexpr std::uint64_t leaving = power(base, piece);
  std::uint64_t h = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    h = h * base + static_cast<unsigned char>(text[i]);
    if (i >= piece) h -= leaving * static_cast<unsigned char>(text[i - piece]);
    if (i + 1 >= piece) visit(pes::mix64(0, h));  // the low bits of h alone are a poor hash
  }
}

// Hashes of the pieces of a text; of a long text only of those in a lowest part of the range.
class Index {
 public:
  explicit Index(std::string_view text) : limit_(~std::uint64_t{0} / (text.size() / most + 1)) {
    for_each_piece(text, [&](std::uint64_t hash) {
      if (hash <= limit_) hashes_.push_back(hash);
    });
    std::sort(hashes_.begin(), hashes_.end());
  }
  bool leaks(std::string_view paragraph) const {
    std::size_t looked_at = 0, found = 0;
    for_each_piece(paragraph, [&](std::uint64_t hash) {
      if (hash > limit_) return;
      ++looked_at;
      found += std::binary_search(hashes_.begin(), hashes_.end(), hash) ? 1 : 0;
    });
    return found > 0 && 2 * found >= looked_at;
  }

 private:
  static constexpr std::size_t most = 1u << 22;  // hashes, about

  std::uint64_t limit_;
  std::vector<std::uint64_t> hashes_;
};

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

std::size_t total(const std::vector<std::string_view>& parts) {
  std::size_t bytes = 0;
  for (const std::string_view part : parts) bytes += part.size();
  return bytes;
}

// Up to 40 bytes of the first line, whole characters only.
std::string beginning(std::string_view paragraph) {
  std::size_t n = std::min<std::size_t>(40, paragraph.find_first_of("\r\n"));
  while (n > 0 && n < paragraph.size() && (paragraph[n] & 0xC0) == 0x80) --n;
  return std::string(paragraph.substr(0, n));
}

}  // namespace

std::vector<std::string_view> paragraphs(std::string_view text) {
  std::vector<std::string_view> out;
  std::size_t start = 0, at = 0;
  while (at < text.size()) {
    const std::size_t line = at;
    at = std::min(text.find('\n', line), text.size() - 1) + 1;
    if (!is_blank(text.substr(line, at - line)) && at - start < paragraph_limit && at < text.size())
      continue;
    out.push_back(text.substr(start, at - start));
    start = at;
  }
  return out;
}

Leaks find_leaks(std::string_view train, std::string_view held_out) {
  const Index index(train);
  Leaks leaks;
  for (const std::string_view p : paragraphs(held_out))
    (index.leaks(p) ? leaks.leaking : leaks.kept).push_back(p);
  return leaks;
}

std::string describe(const Leaks& leaks) {
  const std::size_t count = leaks.leaking.size(), bytes = total(leaks.leaking);
  char share[32];
  std::snprintf(
      share, sizeof(share), "%.1f",
      100.0 * static_cast<double>(bytes) / static_cast<double>(bytes + total(leaks.kept)));
  return std::to_string(count) + " of " + std::to_string(count + leaks.kept.size()) +
         " held-out paragraphs (" + share +
         " % of the bytes) stand in the training text, the first "
         "begins '" +
         beginning(leaks.leaking.front()) + "'";
}

}  // namespace text
