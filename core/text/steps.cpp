#include "text/steps.h"

#include <utf8proc.h>

#include <cstdlib>

#include "base/error.h"
#include "text/unicode.h"

namespace pesuite::text {

// --------------------------------------------------------------------------------------- needles

Needle Needle::literal(std::string text) {
  Needle n;
  n.what_ = std::move(text);
  return n;
}
Needle Needle::regex(const std::string& expression) {
  Needle n;
  n.what_ = Regex(expression);
  return n;
}
Needle Needle::scanner(Pattern pattern) {
  Needle n;
  n.what_ = pattern;
  return n;
}

std::optional<std::pair<std::size_t, std::size_t>> Needle::find(std::string_view text,
                                                                std::size_t from) const {
  if (const auto* regex = std::get_if<Regex>(&what_)) return regex->find(text, from);
  if (const auto* pattern = std::get_if<Pattern>(&what_)) {
    if (from >= text.size()) return std::nullopt;
    return std::pair(from, end_of_piece(*pattern, text, from));
  }
  const auto& literal = std::get<std::string>(what_);
  const std::size_t at = literal.empty() ? std::string_view::npos : text.find(literal, from);
  if (at == std::string_view::npos) return std::nullopt;
  return std::pair(at, at + literal.size());
}

// ----------------------------------------------------------------------------------- normalizers

Normalizer unicode_form(Form form) {
  return [form](std::string_view text) -> std::string {
    bool ascii = true;
    for (const char c : text) ascii = ascii && static_cast<unsigned char>(c) < 0x80;
    if (ascii) return std::string(text);  // stays as it is in every form
    const bool composes = form == Form::nfc || form == Form::nfkc;
    const bool compatible = form == Form::nfkc || form == Form::nfkd;
    const auto options = static_cast<utf8proc_option_t>(
        UTF8PROC_STABLE | (composes ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE) |
        (compatible ? UTF8PROC_COMPAT : 0));
    utf8proc_uint8_t* out = nullptr;
    const utf8proc_ssize_t n =
        utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                     static_cast<utf8proc_ssize_t>(text.size()), &out, options);
    if (n < 0) fail(Exit::data, "a text cannot be normalized: {}", utf8proc_errmsg(n));
    std::string result(reinterpret_cast<const char*>(out), static_cast<std::size_t>(n));
    std::free(out);
    return result;
  };
}

Normalizer lower_case() {
  return [](std::string_view text) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
      const CodePoint c = code_point(text, at);
      utf8proc_uint8_t bytes[4];
      if (c.code == 0x130) {  // the one character whose small form is two
        out += "i\xcc\x87";
      } else {
        const auto n = utf8proc_encode_char(utf8proc_tolower(static_cast<int>(c.code)), bytes);
        out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(n));
      }
      at += static_cast<std::size_t>(c.bytes);
    }
    return out;
  };
}

Normalizer prepended(std::string prefix) {
  return [prefix = std::move(prefix)](std::string_view text) {
    return text.empty() ? std::string() : prefix + std::string(text);
  };
}

namespace {

struct Match {
  std::size_t begin, end;
};

// From the left. An empty one counts unless it stands right behind another, as in Hugging Face's
// tokenizers.
std::vector<Match> matches_of(const Needle& needle, std::string_view text) {
  std::vector<Match> out;
  std::size_t looked = 0;
  while (!text.empty() && looked <= text.size()) {
    const auto found = needle.find(text, looked);
    if (!found) break;
    const auto [begin, end] = *found;
    if (begin == end && !out.empty() && out.back().end == end) {
      looked += std::max<std::size_t>(1, static_cast<std::size_t>(code_point(text, looked).bytes));
    } else {
      out.push_back({begin, end});
      looked = end;
    }
  }
  return out;
}

}  // namespace

Normalizer replaced(Needle needle, std::string by) {
  const auto shared = std::make_shared<const Needle>(std::move(needle));
  return [shared, by = std::move(by)](std::string_view text) {
    std::string out;
    std::size_t from = 0;
    for (const Match& m : matches_of(*shared, text)) {
      out.append(text.substr(from, m.begin - from)) += by;
      from = m.end;
    }
    return out.append(text.substr(from));
  };
}

Normalizer stripped(bool left, bool right) {
  return [left, right](std::string_view text) {
    const auto is_space = [](const CodePoint& c) { return (c.properties & space) != 0; };
    std::size_t begin = 0, end = 0, at = 0;
    bool inside = false;
    for (CodePoint c = code_point(text, 0); c.bytes > 0; c = code_point(text, at)) {
      if (!inside && !is_space(c)) begin = at, inside = true;
      at += static_cast<std::size_t>(c.bytes);
      if (!is_space(c)) end = at;
    }
    if (!inside) return std::string(left || right ? "" : text);
    if (!left) begin = 0;
    if (!right) end = text.size();
    return std::string(text.substr(begin, end - begin));
  };
}

// --------------------------------------------------------------------------------------- cutters

namespace {

struct Part {
  std::size_t begin, end;
  bool match;
};

// All of a text, matches and what lies between them.
std::vector<Part> parts_of(const Needle& needle, std::string_view text, bool invert) {
  std::vector<Part> parts;
  std::size_t from = 0;
  for (const Match& m : matches_of(needle, text)) {
    if (m.begin > from) parts.push_back({from, m.begin, invert});
    parts.push_back({m.begin, m.end, !invert});
    from = m.end;
  }
  if (from < text.size()) parts.push_back({from, text.size(), invert});
  return parts;
}

std::vector<Part> behaved(const std::vector<Part>& parts, Behavior behavior) {
  std::vector<Part> out;
  switch (behavior) {
    case Behavior::isolated: return parts;
    case Behavior::removed:
      for (const Part& p : parts)
        if (!p.match) out.push_back(p);
      return out;
    case Behavior::contiguous:
      for (const Part& p : parts)
        if (!out.empty() && out.back().match == p.match)
          out.back().end = p.end;
        else
          out.push_back(p);
      return out;
    case Behavior::merged_with_previous: {
      bool before = false;  // was a match
      for (const Part& p : parts) {
        if (p.match && !before && !out.empty())
          out.back().end = p.end;
        else
          out.push_back(p);
        before = p.match;
      }
      return out;
    }
    case Behavior::merged_with_next: {
      bool behind = false;
      for (auto p = parts.rbegin(); p != parts.rend(); ++p) {
        if (p->match && !behind && !out.empty())
          out.back().begin = p->begin;
        else
          out.push_back(*p);
        behind = p->match;
      }
      return {out.rbegin(), out.rend()};
    }
  }
  return out;
}

}  // namespace

Cutter split_at(Needle needle, Behavior behavior, bool invert) {
  const auto shared = std::make_shared<const Needle>(std::move(needle));
  return [shared, behavior, invert](Pieces& pieces) {
    std::vector<std::string_view> out;
    for (const std::string_view view : pieces.views)
      for (const Part& p : behaved(parts_of(*shared, view, invert), behavior))
        if (p.begin < p.end) out.push_back(view.substr(p.begin, p.end - p.begin));
    pieces.views = std::move(out);
  };
}

Cutter digits(bool individual) {
  return [individual](Pieces& pieces) {
    std::vector<std::string_view> out;
    for (const std::string_view view : pieces.views) {
      std::size_t begin = 0, at = 0;
      bool before = false;
      for (CodePoint c = code_point(view, 0); c.bytes > 0; c = code_point(view, at)) {
        const bool digit = (c.properties & number) != 0;  // as Rust's char::is_numeric
        if (at > begin && (digit != before || (digit && individual)))
          out.push_back(view.substr(begin, at - begin)), begin = at;
        before = digit;
        at += static_cast<std::size_t>(c.bytes);
      }
      if (at > begin) out.push_back(view.substr(begin));
    }
    pieces.views = std::move(out);
  };
}

Cutter prefix_space() {
  return [](Pieces& pieces) {
    for (std::string_view& view : pieces.views)
      if (!view.empty() && view[0] != ' ') view = pieces.own.emplace_back(" " + std::string(view));
  };
}

Cutter metaspace(std::string replacement, PrependScheme scheme, bool split) {
  const Cutter cut = split_at(Needle::literal(replacement), Behavior::merged_with_next, false);
  return [replacement = std::move(replacement), scheme, split, cut](Pieces& pieces) {
    bool first = pieces.first;
    for (std::string_view& view : pieces.views) {
      std::string text;
      for (const char c : view) c == ' ' ? text += replacement : text += c;
      const bool wanted =
          scheme == PrependScheme::always || (scheme == PrependScheme::first && first);
      if (wanted && !text.empty() && !text.starts_with(replacement)) text.insert(0, replacement);
      view = pieces.own.emplace_back(std::move(text));
      first = false;
    }
    if (split) cut(pieces);
  };
}

}  // namespace pesuite::text
