// How byte-level tokenizers cut a text before they merge bytes: the patterns of published models,
// as scanners that need no regular expressions.
#pragma once

#include <optional>
#include <string_view>

namespace pesuite::text {

enum class Pattern {
  gpt2,    // GPT-2, RoBERTa, GPT-NeoX: Radford et al. 2019
  cl100k,  // GPT-4, Llama 3
  qwen2,   // the same with digits one by one
  o200k,   // GPT-4o: cuts where case changes
};

std::string_view regex_of(Pattern);
std::string_view name_of(Pattern);
std::optional<Pattern> pattern_of(std::string_view regex_or_name);

// End of the piece that begins at `at`, which lies before the end; the text is UTF-8. Every byte
// belongs to one piece.
std::size_t end_of_piece(Pattern, std::string_view text, std::size_t at);

}  // namespace pesuite::text
