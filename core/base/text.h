// Text that people read and write: quantities with units, nearest names, tables.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pesuite {

std::vector<std::string> split(std::string_view text, char separator);
// With a capital letter at its beginning, of ASCII.
std::string capitalized(std::string_view text);
std::string trim(std::string_view text);
std::string join(std::span<const std::string> parts, std::string_view separator);
std::string join_and(const std::vector<std::string>& parts);  // "a, b and c"
// Of letters, digits, '_', '-' and '.' alone; texts that differ in other signs may share one.
std::string file_name_of(std::string_view text);
bool glob_match(std::string_view pattern, std::string_view text);  // '*' and '?'

// For people's eyes: what a terminal would act on or show in another order, and bytes that are no
// UTF-8, become visible signs, e.g. "\u{1b}". Line breaks and tabs become spaces, or stay where
// `lines`.
std::string printable(std::string_view text, bool lines = false);
// The same in Markdown, where nothing of it is a mark; in a cell of a table '|' is left to escape.
std::string markdown_text(std::string_view text);
// The same as it may stand in XML and HTML, between tags and in attributes.
std::string xml_text(std::string_view text);
bool is_utf8(std::string_view text);
std::size_t utf8_prefix(std::string_view text);  // bytes before the first that is no UTF-8
// Why `text` cannot name something, as the end of a sentence; "" where it can.
std::string why_no_name(std::string_view text, std::size_t longest);

// The candidate with the smallest edit distance to `name`, "" if none is near. For "did you mean".
std::string nearest(std::string_view name, std::span<const std::string> candidates);
std::string did_you_mean(std::string_view name, std::span<const std::string> candidates);

// "2.4B", "300k", "1e9", "64" -> number. False when `text` is none of these.
bool parse_count(std::string_view text, double& out);

std::string format_count(double n);                        // 58720256 -> "58.7M"
std::string format_bytes(double bytes);                    // "12.3 MiB"
std::string format_seconds(double s);                      // "00:07", "1:02:03"
std::string counted(std::size_t n, std::string_view one);  // "1 cell", "24 cells"
std::string format_number(double x);                       // shortest text that reads back as x
std::string format_fixed(double x, int digits);            // "∞" and "nan" where they occur

// Columns aligned with spaces for a terminal, the first row being the heading.
std::string plain_table(const std::vector<std::vector<std::string>>& rows);
// Cells that a spreadsheet would compute, such as "=A1", get a leading apostrophe.
std::string csv_table(const std::vector<std::vector<std::string>>& rows);

// Number of terminal columns that UTF-8 text takes (one a code point).
std::size_t display_width(std::string_view text);
// Its words in lines of at most that width, where a word is no longer; "" is one line.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

std::string utc_timestamp();          // 2026-11-20T22:15:31Z
// Of the first form, since 1970; 0 for other text.
double seconds_of_utc(const std::string& timestamp);
std::string utc_timestamp_compact();  // 20261120T221531Z

}  // namespace pesuite
