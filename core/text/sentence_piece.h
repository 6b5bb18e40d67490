// SentencePiece models, by libsentencepiece.
#pragma once

#include <filesystem>
#include <memory>

#include "text/tokenizer.h"

namespace pesuite::text {

// A .model file. Special and user-defined symbols are as the model has them; text is given to the
// library as it stands. Error (data) for what is no model, or in a build without the library.
std::unique_ptr<Tokenizer> read_sentence_piece(const std::filesystem::path&);

}  // namespace pesuite::text
