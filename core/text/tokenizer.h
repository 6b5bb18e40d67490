// Text to token ids and back.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pesuite::text {

using Token = std::uint32_t;

enum class Specials {
  plain,       // what reads like a special token is text
  recognised,  // it is that token
};

// Immutable, so that threads share one.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // Appends the ids of a text; invalid UTF-8 is read as the kind of tokenizer reads it.
  virtual void encode(std::string_view text, std::vector<Token>& ids,
                      Specials specials = Specials::plain) const = 0;
  // The bytes of some ids, which need not be UTF-8. An id without a token: Exit::data.
  virtual std::string decode(std::span<const Token> ids, bool skip_special = false) const = 0;

  // What the file's post-processor adds to a text's ids, e.g. a token that begins it.
  virtual void put_around(std::vector<Token>&) const {}

  virtual std::uint32_t vocabulary() const = 0;  // largest id + 1
  virtual std::int64_t end_of_text() const = 0;  // id, or -1 where there is none
  virtual std::string name() const = 0;          // for people
  virtual std::string digest() const = 0;        // SHA-256 of the file(s), or of the built-in name
};

// "bytes", or a file or folder: tokenizer.json, NAME.tiktoken, NAME.tiktoken:PATTERN, NAME.model of
// SentencePiece, a list of characters, vocab.json with merges.txt. What cannot be done exactly is
// refused by the name of what the file asks for.
std::unique_ptr<Tokenizer> open_tokenizer(const std::string& what);

}  // namespace pesuite::text
