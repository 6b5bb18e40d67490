// What is in a folder of token shards, and whether it is still what was written.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "data/documents.h"
#include "data/shards.h"

namespace pesuite::data {

using Say = std::function<void(const std::string&)>;  // what is looked at now

// What does not hold, a sentence each: sizes, SHA-256, tokens outside the vocabulary, documents
// that do not begin behind an end of text, the tokenizer's file, tokens.txt, documents in two
// splits.

std::vector<std::string> verify_shards(const fs::path& folder, int threads, const Say&);
struct Against {
  std::uint64_t documents = 0, found = 0;  // read; whose text is what a document decodes to
  std::string first_missing;               // begin of the text of the first that is not found
};
Against verify_against(const fs::path& folder, Documents& sources, const Say&);

struct SplitSummary {
  std::string split;
  std::uint64_t shards = 0, tokens = 0, documents = 0, bytes = 0;
  std::uint64_t shortest = 0, median = 0, longest = 0;  // document, tokens
  std::uint64_t distinct = 0;                           // tokens that occur
};
// Reads every token.
std::vector<SplitSummary> summarise(const Manifest&, const fs::path& folder, const Say&);

}  // namespace pesuite::data
