// Descriptors of encodings and tasks as JSON, and as the tables of their pages. No code of a plugin
// runs.
#pragma once

#include <pesuite/pesuite.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace pesuite {

bool is_lower_snake(std::string_view name);  // "my_slope2", as all names in cards are

std::vector<std::string> claims_of(const pes_card&);      // "relative", "parameter-free"
std::vector<std::string> taxonomy_of(const pes_card&);    // "relative", "fixed", "bias"
std::vector<std::string> places_of(const pes_encoding&);  // "embedding", "attention", "scores"

// Fields that a library built for ABI 1.0 does not have; "" and 0 there.
std::string cost_of(const pes_card&);
std::string rating_of(const pes_card&);
std::string extension_of(const pes_card&);
std::vector<std::string> extends_of(const pes_card&);
std::vector<std::string> use_if_of(const pes_card&);
std::uint32_t uses_of(const pes_card&);
// Settings that tuning tries, each as options are written: "base=0,features=0.5".
std::vector<std::string> tune_of(const pes_card&);

// All that a descriptor says, as manifests hold it and `pesuite info --json` shows it.
Json card_json(const pes_card&);
Json encoding_json(const pes_encoding&);

// Of such a card: rows of a table (option, type, default, range, help).
std::vector<std::vector<std::string>> option_rows(const Json& card);

// Columns of text, the first row being the heading.
std::string markdown_text_table(const std::vector<std::vector<std::string>>& rows);
// An encoding's card as Markdown: what it is, then its options.
std::string card_markdown(const Json& card);
// A card's BibTeX entry, a line a field.
std::string bibtex_text(const std::string& entry);
// A text of a card, "" where it has none; a list of texts, joined with ", ".
std::string card_text(const Json& card, const char* key);

}  // namespace pesuite
