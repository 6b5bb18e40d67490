// Encodings and tasks as users write them.
#include "encoding/expression.h"

#include "tests/fuzz/fuzz.h"

namespace pesuite {

FUZZ_TARGET(expression) {
  try {
    const Expression e = parse_expression(input);
    PES_CHECK(to_text(parse_expression(to_text(e))) == to_text(e));
  } catch (const Error&) {  // it may still be a sum
  }
  const std::string text = to_text(parse_encoding(input));
  PES_CHECK(to_text(parse_encoding(text)) == text);
}

}  // namespace pesuite
