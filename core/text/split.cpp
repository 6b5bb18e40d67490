#include "text/split.h"

#include <array>

#include "text/unicode.h"

namespace pesuite::text {

namespace {

struct Known {
  Pattern pattern;
  std::string_view name, regex;
};
constexpr Known known[] = {
    {Pattern::gpt2, "gpt2",
     R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"},
    {Pattern::cl100k, "cl100k",
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
    {Pattern::qwen2, "qwen2",
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
    {Pattern::o200k, "o200k",
     R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
};

constexpr std::uint8_t line_end = 128;  // CR and LF, beside the properties

// ASCII, by byte: texts are mostly that.
constexpr std::array<std::uint8_t, 128> ascii = [] {
  std::array<std::uint8_t, 128> t{};
  for (int c = 'a'; c <= 'z'; ++c) t[static_cast<std::size_t>(c)] = letter | lower;
  for (int c = 'A'; c <= 'Z'; ++c) t[static_cast<std::size_t>(c)] = letter | upper;
  for (int c = '0'; c <= '9'; ++c) t[static_cast<std::size_t>(c)] = number;
  for (const int c : {'\t', '\n', '\v', '\f', '\r', ' '}) t[static_cast<std::size_t>(c)] = space;
  t['\n'] |= line_end, t['\r'] |= line_end;
  return t;
}();

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  struct Sign {
    std::uint8_t properties = 0;
    std::uint8_t bytes = 0;  // 0: the end
    bool any(int of) const { return (properties & of) != 0; }
    bool other() const { return bytes != 0 && !any(letter | number | space); }
  };
  Sign sign(std::size_t at) const {
    if (at >= text_.size()) return {};
    const auto byte = static_cast<unsigned char>(text_[at]);
    if (byte < 0x80) return {ascii[byte], 1};
    const CodePoint c = code_point(text_, at);
    return {c.properties, static_cast<std::uint8_t>(c.bytes)};
  }
  char byte(std::size_t at) const { return at < text_.size() ? text_[at] : '\0'; }

  // Ends of runs.
  template <class In>
  std::size_t run(std::size_t at, In&& in) const {
    for (Sign s = sign(at); s.bytes != 0 && in(s); s = sign(at)) at += s.bytes;
    return at;
  }
  std::size_t of(std::size_t at, int properties) const {
    return run(at, [&](Sign s) { return s.any(properties); });
  }
  std::size_t of_others(std::size_t at) const {
    return run(at, [](Sign s) { return s.other(); });
  }
  // " ?[^\s\p{L}\p{N}]+" and what is one of `more` behind it; `at` where there is none.
  std::size_t punctuation(std::size_t at, std::string_view more) const {
    std::size_t end = of_others(at);
    if (end == at && byte(at) == ' ' && at < text_.size()) end = of_others(at + 1);
    if (end == at || (byte(at) == ' ' && end == at + 1)) return at;
    while (end < text_.size() && more.find(text_[end]) != std::string_view::npos) ++end;
    return end;
  }
  // "\s+(?!\S)|\s+", before it "\s*[\r\n]+" where `lines`.
  std::size_t spaces(std::size_t at, bool lines) const {
    std::size_t end = at, last = at, behind_line = at;
    for (Sign s = sign(end); s.any(space); s = sign(end)) {
      last = end;
      end += s.bytes;
      if (s.any(line_end)) behind_line = end;
    }
    if (lines && behind_line > at) return behind_line;
    return end == text_.size() || last == at ? end : last;
  }
  // End of a contraction that begins at `at`, or `at`.
  std::size_t contraction(std::size_t at, bool any_case) const {
    if (byte(at) != '\'') return at;
    const auto low = [&](std::size_t i) {
      const char c = byte(i);
      return any_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    };
    const char a = low(at + 1), b = low(at + 2);
    if (a == 's' || a == 't' || a == 'm' || a == 'd') return at + 2;
    if ((a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l')) return at + 3;
    if (any_case && text_.substr(at + 1, 2) == "\xc5\xbf") return at + 3;  // long s folds to s
    return at;
  }

 private:
  std::string_view text_;
};

std::size_t end_gpt2(const Scanner& t, std::size_t at) {
  if (const std::size_t end = t.contraction(at, false); end > at) return end;
  const std::size_t from = t.byte(at) == ' ' ? at + 1 : at;
  const Scanner::Sign s = t.sign(from);
  if (s.any(letter)) return t.of(from, letter);
  if (s.any(number)) return t.of(from, number);
  if (s.other()) return t.of_others(from);
  return t.spaces(at, false);
}

std::size_t digits(const Scanner& t, std::size_t at, int most) {
  for (int n = 0; n < most; ++n) {
    const Scanner::Sign s = t.sign(at);
    if (!s.any(number)) break;
    at += s.bytes;
  }
  return at;
}

std::size_t end_cl100k(const Scanner& t, std::size_t at, int most_digits) {
  if (const std::size_t end = t.contraction(at, true); end > at) return end;
  const Scanner::Sign s = t.sign(at);
  if (s.any(letter)) return t.of(at, letter);
  if (s.any(number)) return digits(t, at, most_digits);
  if (!s.any(line_end) && t.sign(at + s.bytes).any(letter)) return t.of(at + s.bytes, letter);
  if (const std::size_t end = t.punctuation(at, "\r\n"); end > at) return end;
  return t.spaces(at, true);
}

// A word of o200k from `at` on, or `at`: large letters, then small ones; marks and letters without
// case are both.
std::size_t word(const Scanner& t, std::size_t at, bool ends_small) {
  constexpr int large = upper | caseless | mark, small = lower | caseless | mark;
  std::size_t end = at, both_end = at;  // of the last sign that is both
  for (Scanner::Sign s = t.sign(end); s.any(large); s = t.sign(end)) {
    end += s.bytes;
    if (s.any(small)) both_end = end;
  }
  if (!ends_small) return end;  // small ones that follow were taken by the other branch
  const std::size_t behind = t.of(end, small);
  return behind > end ? behind : both_end;
}

std::size_t end_o200k(const Scanner& t, std::size_t at) {
  const Scanner::Sign s = t.sign(at);
  const bool may_lead = !s.any(letter | number | line_end);
  for (const bool ends_small : {true, false})
    for (const std::size_t from : {at + s.bytes, at}) {
      if (from > at && !may_lead) continue;
      if (const std::size_t end = word(t, from, ends_small); end > from)
        return t.contraction(end, true);
    }
  if (s.any(number)) return digits(t, at, 3);
  if (const std::size_t end = t.punctuation(at, "\r\n/"); end > at) return end;
  return t.spaces(at, true);
}

}  // namespace

std::string_view regex_of(Pattern p) {
  return known[static_cast<std::size_t>(p)].regex;
}
std::string_view name_of(Pattern p) {
  return known[static_cast<std::size_t>(p)].name;
}
std::optional<Pattern> pattern_of(std::string_view text) {
  for (const Known& k : known)
    if (text == k.name || text == k.regex) return k.pattern;
  return std::nullopt;
}

std::size_t end_of_piece(Pattern p, std::string_view text, std::size_t at) {
  const Scanner t(text);
  switch (p) {
    case Pattern::gpt2: return end_gpt2(t, at);
    case Pattern::cl100k: return end_cl100k(t, at, 3);
    case Pattern::qwen2: return end_cl100k(t, at, 1);
    case Pattern::o200k: return end_o200k(t, at);
  }
  return text.size();
}

}  // namespace pesuite::text
