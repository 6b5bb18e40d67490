#include "data/phrases.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/likeness.h"
#include "data/shards.h"

namespace pesuite::data {

namespace {

constexpr std::size_t most_words = 64;

std::vector<Token> encoded(const text::Tokenizer& t, const std::string& text) {
  std::vector<Token> ids;
  t.encode(text, ids);
  return ids;
}

// " 0" to " 9", or "0" to "9" where digits never join what stands before them; empty: neither are
// single tokens.
std::vector<Token> digits_of(const text::Tokenizer& t, bool spaced) {
  std::vector<Token> out;
  for (char digit = '0'; digit <= '9'; ++digit) {
    const auto ids = encoded(t, (spaced ? " " : "") + std::string(1, digit));
    if (ids.size() != 1) return {};
    out.push_back(ids[0]);
  }
  return out;
}

// Tokens that are a space and a word of at least three letters, chosen by a hash of the word.
std::vector<Token> words_of(const text::Tokenizer& t) {
  std::vector<std::pair<std::uint64_t, Token>> found;
  for (Token id = 0; id < t.vocabulary(); ++id) {
    const std::string text = text_of(t, id);
    const bool word =
        text.size() >= 4 && text[0] == ' ' &&
        std::all_of(text.begin() + 1, text.end(), [](char c) { return c >= 'a' && c <= 'z'; });
    if (word && encoded(t, text) == std::vector<Token>{id})
      found.emplace_back(content_hash(text), id);
  }
  std::sort(found.begin(), found.end());
  std::vector<Token> out;
  for (std::size_t i = 0; i < std::min(most_words, found.size()); ++i)
    out.push_back(found[i].second);
  std::sort(out.begin(), out.end());
  return out;
}

// Where tokens are bytes or characters a letter is the word.
std::vector<Token> letters_of(const text::Tokenizer& t) {
  std::vector<Token> out;
  for (char letter = 'a'; letter <= 'z'; ++letter)
    if (const auto ids = encoded(t, std::string(1, letter)); ids.size() == 1) out.push_back(ids[0]);
  return out;
}

}  // namespace

std::string phrases_text(const text::Tokenizer& t) {
  const bool spaced = !digits_of(t, true).empty();
  const std::string gap = spaced ? "" : " ";  // stands before the digits then
  const std::vector<Token> words = words_of(t);
  const std::string word_gap = words.empty() ? " " : "";
  std::string out = "pesuite phrases 1\n";
  const auto put = [&](const char* name, const std::vector<Token>& ids) {
    if (!ids.empty()) out += fmt::format("{} {}\n", name, fmt::join(ids, " "));
  };
  // Mohtashami & Jaggi 2023, section 4.2
  put("filler", encoded(t,
                        " The grass is green. The sky is blue. The sun is yellow. Here we go."
                        " There and back again."));
  put("key_says", encoded(t, "\nThe pass key is" + gap));
  put("key_ends", encoded(t, ". Remember it.\n"));
  put("key_asked", encoded(t, "\nWhat is the pass key? The pass key is" + gap));
  put("digits", digits_of(t, spaced));
  put("needle_says", encoded(t, "\nThe secret word is" + word_gap));
  put("needle_ends", encoded(t, ".\n"));
  put("needle_asked", encoded(t, "\nWhat is the secret word? The secret word is" + word_gap));
  put("words", words.empty() ? letters_of(t) : words);
  return out;
}

}  // namespace pesuite::data
