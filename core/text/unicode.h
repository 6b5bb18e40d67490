// Properties of code points that tokenizers cut texts by, Unicode 16.0.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pesuite::text {

enum Property : std::uint8_t {
  letter = 1,     // \p{L}
  number = 2,     // \p{N}
  space = 4,      // White_Space, \s
  mark = 8,       // \p{M}
  upper = 16,     // \p{Lu}, \p{Lt}
  lower = 32,     // \p{Ll}
  caseless = 64,  // \p{Lm}, \p{Lo}
};

std::uint8_t properties_of(char32_t);

struct CodePoint {
  char32_t code = 0;
  std::uint8_t properties = 0;
  int bytes = 0;  // 0: there is none, `at` is the end
};
// At a place where one begins; the text is UTF-8.
CodePoint code_point(std::string_view utf8, std::size_t at);

// The same text with each maximal part that is no UTF-8 replaced by U+FFFD, as the Encoding
// Standard says (Unicode 16.0, 3.9).
std::string repaired(std::string_view bytes);
// The text itself, or where it is no UTF-8 what repaired() makes of it, which is kept in `own`.
std::string_view well_formed(std::string_view bytes, std::string& own);

}  // namespace pesuite::text
