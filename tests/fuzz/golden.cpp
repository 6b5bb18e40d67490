// Golden vectors and the rules that spell them, which stand behind a line "== rules".
#include "golden/rules.h"
#include "golden/vector.h"
#include "tests/fuzz/fuzz.h"

namespace pesuite {

FUZZ_TARGET(golden) {
  constexpr std::string_view mark = "\n== rules\n";
  constexpr std::string_view rope =
      "[[rule]]\npe = \"*\"\nencoding = \"rope(base={base=10000})\"\n";
  const std::size_t at = input.find(mark);
  const bool has_rules = at != std::string_view::npos;
  const golden::Rules rules =
      golden::Rules::from_text(has_rules ? input.substr(at + mark.size()) : rope, "x.golden.toml");
  const golden::Vector v = golden::Vector::read(fuzz::file_of(input.substr(0, at), "pe__x.json"));
  for (const std::string& name : v.output_names()) v.output(name);
  v.tolerance("abs");
  rules.spell(v);
}

}  // namespace pesuite
