// Sentences that language models are asked, in the tokens of a tokenizer.
#pragma once

#include <string>

#include "text/tokenizer.h"

namespace pesuite::data {

// phrases.txt of a folder of shards: "pesuite phrases 1", then a name and ids a line. `digits` and
// `words` are single tokens; a tokenizer that has none goes without the line.
std::string phrases_text(const text::Tokenizer&);

}  // namespace pesuite::data
