// Tokens that are characters: each code point of a text that was seen when the list was made.
#pragma once

#include <filesystem>
#include <memory>
#include <set>

#include "text/tokenizer.h"

namespace pesuite::text {

// Id 0 stands for every other character, 1 ends a text; then the characters in the order of their
// numbers.
std::unique_ptr<Tokenizer> read_characters(const std::filesystem::path&);  // Error (data)
std::string characters_text(const std::set<char32_t>&);                    // such a file
void collect_characters(std::string_view text, std::set<char32_t>& into);

}  // namespace pesuite::text
