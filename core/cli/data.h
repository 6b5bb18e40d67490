// The parts of 'data' that stand in files of their own.
#pragma once

#include <string>
#include <vector>

namespace pesuite::cli {

int golden_tokenizers_verb(const std::vector<std::string>&);

}  // namespace pesuite::cli
