#include "text/added.h"

#include <utf8proc.h>

#include <algorithm>

#include "text/unicode.h"

namespace pesuite::text {

namespace {

// \w: letters, marks, decimal digits, letter-like numbers, connectors and the two joiners.
bool is_word(const CodePoint& c) {
  if ((c.properties & (letter | mark)) != 0 || c.code == 0x200C || c.code == 0x200D) return true;
  const auto category = utf8proc_category(static_cast<int>(c.code));
  return category == UTF8PROC_CATEGORY_ND || category == UTF8PROC_CATEGORY_NL ||
         category == UTF8PROC_CATEGORY_PC;
}

CodePoint last_code_point(std::string_view text) {
  std::size_t at = text.size();
  while (at > 0 && (text[--at] & 0xC0) == 0x80) {
  }
  return code_point(text, at);
}

std::size_t spaces_at_start(std::string_view text) {
  std::size_t at = 0;
  for (CodePoint c = code_point(text, 0); c.bytes > 0 && (c.properties & space) != 0;
       c = code_point(text, at))
    at += static_cast<std::size_t>(c.bytes);
  return at;
}
std::size_t without_spaces_at_end(std::string_view text) {
  while (!text.empty()) {
    const CodePoint c = last_code_point(text);
    if ((c.properties & space) == 0) break;
    text.remove_suffix(static_cast<std::size_t>(c.bytes));
  }
  return text.size();
}

}  // namespace

void AddedTokens::add(const AddedToken& token) {
  const std::string& looked_for = token.content;
  if (looked_for.empty()) return;
  auto& list = by_first_[looked_for[0]];
  const auto longer = [&](const AddedToken& e) { return e.content.size() >= looked_for.size(); };
  list.insert(std::find_if_not(list.begin(), list.end(), longer), token);
}

void AddedTokens::cut(std::string_view text, bool specials, const std::function<void(Token)>& token,
                      const std::function<void(std::string_view, std::size_t)>& rest) const {
  std::size_t from = 0;  // behind the last token
  for (std::size_t at = 0; at < text.size();) {
    const auto list = by_first_.find(text[at]);
    const AddedToken* found = nullptr;
    if (list != by_first_.end())
      for (const AddedToken& e : list->second)
        if (text.substr(at).starts_with(e.content)) {
          found = &e;
          break;
        }
    if (found == nullptr) {
      ++at;
      continue;
    }
    const AddedToken& t = *found;
    std::size_t begin = at, end = at + t.content.size();
    at = end;
    if (t.special && !specials) continue;
    if (t.single_word && ((begin > 0 && is_word(last_code_point(text.substr(0, begin)))) ||
                          (end < text.size() && is_word(code_point(text, end)))))
      continue;
    // Space that one token takes in may be another token, which comes as well: so does public code.
    if (t.lstrip) begin = std::max(from, without_spaces_at_end(text.substr(0, begin)));
    if (t.rstrip) end += spaces_at_start(text.substr(end));
    if (begin >= end) continue;
    if (begin > from) rest(text.substr(from, begin - from), from);
    token(t.id);
    from = end;
  }
  if (from < text.size()) rest(text.substr(from), from);
}

}  // namespace pesuite::text
