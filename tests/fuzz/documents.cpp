// Files of documents, packed and not, and token files. The first byte says which.
#include "data/documents.h"

#include "data/manifest.h"
#include "pesuite/tokens.hpp"
#include "tests/fuzz/fuzz.h"

namespace pesuite {

FUZZ_TARGET(documents) {
  if (input.empty()) return;
  const std::string_view rest = input.substr(1);
  if (input[0] == 't') {
    try {
      const pes::TokenFile file(fuzz::file_of(rest, "x.bin"));
      for (std::uint64_t i = 0; i < file.size(); ++i) PES_CHECK(file[i] <= ~std::uint32_t{0});
    } catch (const Error&) {
      throw;
    } catch (const std::runtime_error& e) {
      throw Error(Exit::data, e.what());
    }
    return;
  }
  if (input[0] == 'm') {
    const Json j = Json::parse(rest, nullptr, false);
    if (!j.is_discarded()) data::to_json(data::manifest_from(j, "x"));
    return;
  }
  const char* name = input[0] == 'j'   ? "x.jsonl"
                     : input[0] == 'g' ? "x.jsonl.gz"
                     : input[0] == 'z' ? "x.txt.zst"
                     : input[0] == 'p' ? "x.parquet"
                                       : "x.txt";
  data::DocumentOptions options;
  options.longest = 64;
  if (input[0] == 's') options.separator = "--";
  const auto all = data::open_documents({fuzz::file_of(rest, name)}, options);
  std::uint64_t bytes = 0;
  for (data::Document d; bytes < 1 << 24 && all->next(d);) {
    PES_CHECK(d.text.size() <= 64 || input[0] == 's');
    bytes += d.text.size() + 1;
  }
}

}  // namespace pesuite
