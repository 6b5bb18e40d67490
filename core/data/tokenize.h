// Documents to shards of tokens: split into train, validation and filler, copies left out.
#pragma once

#include <atomic>
#include <functional>

#include "data/documents.h"
#include "data/shards.h"

namespace pesuite::data {

struct TokenizeOptions {
  std::vector<fs::path> paths;               // documents to divide among the splits
  std::vector<fs::path> validation, filler;  // documents of these splits alone
  DocumentOptions documents;
  std::string tokenizer;                             // as open_tokenizer() takes it
  double validation_share = 0.05, filler_share = 0;  // of `paths`, by document
  Format format = Format::nanogpt;
  std::uint64_t shard_tokens = 100'000'000;
  bool separate = true;   // an end of text between documents, where the tokenizer has one
  bool drop_near = true;  // held-out documents that are nearly ones of another split
  int threads = 1;
  std::string licence;   // note for the manifest, where the text says none itself
  bool restart = false;  // forgets what an interrupted call left
};

struct TokenizeProgress {
  std::uint64_t bytes_read = 0, bytes = 0;  // of the files, packed
  std::uint64_t documents = 0, text = 0;
};

// Writes the folder, its manifest last. Interrupted at any time it goes on when called again. A
// document that is equal to an earlier one is left out, so the splits share none.
// Error (data): the folder holds something else, a document cannot be read, the disk is full.
// False where `stop` became true before the end.
bool tokenize(const TokenizeOptions&, const fs::path& folder, const std::atomic<bool>& stop,
              const std::function<void(const TokenizeProgress&)>& progress, Manifest& out);

}  // namespace pesuite::data
