// The parts of 'data' that stand in files of their own.
#pragma once

#include <string>
#include <vector>

namespace pesuite::cli {

class Arguments;

int golden_tokenizers_verb(const std::vector<std::string>&);
int import_text_verb(const std::vector<std::string>&);
int tokenize_verb(const std::vector<std::string>&);
int shard_verb(const std::vector<std::string>&);
int inspect_verb(const std::vector<std::string>&);
int verify_shards_verb(const std::vector<std::string>&);
int inspect_shards(const Arguments&);

}  // namespace pesuite::cli
