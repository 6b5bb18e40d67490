// Byte-level BPE (Radford et al. 2019): a text is cut by a pattern, and the bytes of each piece are
// merged. Special tokens are kept apart, so that text cannot form one.
#pragma once

#include <filesystem>
#include <map>
#include <optional>

#include "text/merges.h"
#include "text/split.h"
#include "text/train.h"

namespace pesuite::text {

struct Vocabulary {
  std::string name;    // of the tokenizer, for people
  std::string digest;  // SHA-256 of what it was read from
  Pattern pattern = Pattern::gpt2;
  std::map<Token, std::string> tokens;  // bytes of each; there may be holes
  std::vector<Merges::Rule> rules;      // in the order of their ranks
  bool whole_pieces = false;  // a piece that is a token is that token, whatever the rules say
  std::map<std::string, Token> specials;
  std::vector<Token> before, behind;  // what a post-processor puts around a text
};
// Error (data) where a byte has no token.
std::unique_ptr<Tokenizer> make_byte_level(Vocabulary);

// Rules of a vocabulary whose ids are its ranks: two tokens may be merged where together they are
// one, the lowest id first.
std::vector<Merges::Rule> rules_of_ranks(const std::map<Token, std::string>&);

// A file of ranks as tiktoken has them: base64 of a token, a space, its rank; a line each. Those of
// gpt2, p50k_base, cl100k_base and o200k_base are known by their digests, with their specials;
// others are cut by `pattern`, or as gpt2. Error (data) with the line.
std::unique_ptr<Tokenizer> read_ranks(const std::filesystem::path&, std::optional<Pattern> = {});
// A file tokenizer.json. Error (data) with the name of what is not read exactly.
std::unique_ptr<Tokenizer> read_hugging_face(const std::filesystem::path&);
// A trained vocabulary as such a file; `specials` get the ids behind it.
std::string hugging_face_text(const Trained&, Pattern, const std::vector<std::string>& specials);
// GPT-2's pair of files.
std::unique_ptr<Tokenizer> read_vocab_and_merges(const std::filesystem::path& vocab,
                                                 const std::filesystem::path& merges);

}  // namespace pesuite::text
