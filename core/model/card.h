// What encodings and tasks say of themselves, as text, JSON and the tables of their pages. Reads
// descriptors; nothing of a plugin runs.
#pragma once

#include <pesuite/pesuite.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "model/library.h"

namespace pesuite {

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

Json card_json(const pes_card&, const Library&);
Json encoding_json(const pes_encoding&, const Library&);

// Rows of a table: option, type, default, range, help.
std::vector<std::vector<std::string>> option_rows(const pes_card&);

// Columns of text, the first row being the heading.
std::string markdown_text_table(const std::vector<std::vector<std::string>>& rows);
// The card as Markdown: what it is, then its options.
std::string card_markdown(const pes_encoding&);

}  // namespace pesuite
