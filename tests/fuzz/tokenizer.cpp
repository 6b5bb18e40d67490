// Vocabularies in every kind of file, and texts for those that open. The first byte says which.
#include "text/tokenizer.h"

#include "tests/fuzz/fuzz.h"
#include "text/byte_level.h"

namespace pesuite {

namespace {

std::unique_ptr<text::Tokenizer> opened(char kind, std::string_view input) {
  if (kind == 'r') return text::open_tokenizer(fuzz::file_of(input, "x.tiktoken").string());
  if (kind == 's') return text::open_tokenizer(fuzz::file_of(input, "x.model").string());
  if (kind != 'm') return text::open_tokenizer(fuzz::file_of(input, "x.json").string());
  const std::size_t line = std::min(input.size(), input.find('\n'));
  return text::read_vocab_and_merges(fuzz::file_of(input.substr(0, line), "vocab.json"),
                                     fuzz::file_of(input.substr(line), "merges.txt"));
}

}  // namespace

FUZZ_TARGET(tokenizer) {
  if (input.empty()) return;
  const auto t = opened(input[0], input.substr(1));
  for (const std::string& text :
       {std::string("hello <|endoftext|> w\xc3\xb6rld\n\n  12"), std::string(input),
        std::string("\xff\xe4\xb8"), std::string(300, 'a')}) {
    std::vector<text::Token> ids;
    t->encode(text, ids, text::Specials::recognised);
    for (const text::Token id : ids) PES_CHECK(id < t->vocabulary());
    t->decode(ids, true);
    t->put_around(ids);
  }
}

}  // namespace pesuite
