// A tokenizer made of the parts that a tokenizer.json names: added tokens, normalizers,
// pre-tokenizers, byte pair encoding over bytes or characters, decoders.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "text/added.h"
#include "text/merges.h"
#include "text/steps.h"

namespace pesuite::text {

// Changes the texts of tokens, in their order.
using TokenDecoder = std::function<void(std::vector<std::string>&)>;
TokenDecoder decode_byte_level();
TokenDecoder decode_replace(std::string what, std::string by);
TokenDecoder decode_byte_fallback();  // <0x41>, one after the other, are bytes
TokenDecoder decode_fuse();
TokenDecoder decode_strip(char what, std::size_t start, std::size_t stop);
TokenDecoder decode_metaspace(std::string replacement, bool prepends);

struct PipelineParts {
  std::string name, digest;
  std::vector<AddedToken> added;
  std::vector<Normalizer> normalizers;
  std::vector<Cutter> cutters;
  std::map<Token, std::string> tokens;  // as the file writes them
  std::vector<Merges::Rule> rules;
  bool whole_pieces = false;              // a piece that is a token is that token
  bool byte_level = false;                // pieces are merged from bytes, else from characters
  std::array<std::int64_t, 256> bytes{};  // the token of each byte: byte level, or fallback
  bool byte_fallback = false, fuse_unknown = false;
  std::int64_t unknown = -1;
  std::vector<TokenDecoder> decoders;
  std::vector<Token> before, behind;  // what a post-processor puts around a text
};
std::unique_ptr<Tokenizer> make_pipeline(PipelineParts);

}  // namespace pesuite::text
