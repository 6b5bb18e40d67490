// Text of HTML pages.
#pragma once

#include <string>
#include <string_view>

namespace pesuite::data {

bool reads_html();  // built with Gumbo
// What a reader sees of a page's main part: paragraphs apart, lists and preformatted text as they
// stand; without scripts, styles, navigation, side bars and footers.
std::string text_of_html(std::string_view page);

}  // namespace pesuite::data
