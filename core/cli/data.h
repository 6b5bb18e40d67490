// The parts of 'data' that stand in files of their own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/manifest.h"

namespace pesuite::cli {

class Arguments;

int golden_tokenizers_verb(const std::vector<std::string>&);
int import_text_verb(const std::vector<std::string>&);
int tokenize_verb(const std::vector<std::string>&);
int shard_verb(const std::vector<std::string>&);
int inspect_verb(const std::vector<std::string>&);
int verify_shards_verb(const std::vector<std::string>&);
int synth_verb(const std::vector<std::string>&);
int inspect_shards(const Arguments&);

// What verbs that write shards share.
void add_output_flags(Arguments&);                           // --output, --format, --shard-tokens
std::uint64_t shard_tokens_of(const Arguments&);             // Error (usage)
double share_of(const Arguments&, const std::string& flag);  // 0 to 0.5; Error (usage)
void print_splits(const data::Manifest&);

}  // namespace pesuite::cli
