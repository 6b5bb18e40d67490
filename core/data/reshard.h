// Token files of others, or of ours, as shards of another format or size.
#pragma once

#include "data/examine.h"

namespace pesuite::data {

struct ReshardOptions {
  std::vector<fs::path> files;  // .bin of nanoGPT or llm.c, or folders of them
  std::string tokenizer;        // that they were made with
  int raw_bytes = 2;            // of a token where a file has no header
  Format format = Format::nanogpt;
  std::uint64_t shard_tokens = 100'000'000;
};

// Documents are what stands between ends of text: before them in files of llm.c, behind them in
// others. Files whose names hold "val" are validation, those with "filler" filler, others train.
// Error (data): a token outside the vocabulary, with file and place.
Manifest reshard(const ReshardOptions&, const fs::path& folder, const Say&);

// Files of tokens below these paths, sorted; Error (data) where there are none.
std::vector<fs::path> token_files(const std::vector<fs::path>& paths);
// The split that a file's name speaks of.
std::string split_of_name(const fs::path&);

}  // namespace pesuite::data
