// Options of a plugin's card: checked against type and bounds, defaults filled in.
#pragma once

#include <pesuite/pesuite.h>

#include <map>
#include <span>
#include <string>
#include <vector>

namespace pesuite {

using Options = std::map<std::string, std::string>;  // name -> value as text

std::span<const pes_option* const> options_of(const pes_card& card);
std::string_view type_name(pes_type type);

// One value for each option of the card, in the card's order; numbers in one spelling. Error (usage) when a name is
// unknown, with the nearest one, or when a value is not of the option's type or out of bounds.
// `what` starts the sentence, e.g. "encoding 'rope'".
std::vector<std::string> resolve_options(const pes_card& card, const Options& given,
                                         std::string_view what);

// "rope(base=500000)": the name with those options that differ from their defaults.
std::string expression_text(const pes_card& card, std::span<const std::string> values);
// The name with all its options; errors as those of resolve_options().
std::string full_text(const pes_card& card, const Options& given, std::string_view what);

}  // namespace pesuite
