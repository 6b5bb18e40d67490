// Text that tasks read. Behind a line "== " stands another file of the same folder.
#include "tasks/corpus/text_source.h"

#include <pesuite/pesuite.hpp>

#include "base/text.h"
#include "tests/fuzz/fuzz.h"

namespace pesuite {

namespace {

void read_texts(const fs::path& path) {
  text::Files files = text::read(path);
  std::size_t bytes = 0;
  for (const std::string& t : files.texts) {
    PES_CHECK(text::is_text(t));
    bytes += t.size();
  }
  PES_CHECK(!text::describe(files).empty());
  const text::Split split = text::split(std::move(files.texts), 0.1);
  PES_CHECK(split.train.size() + split.held_out.size() >= bytes);
  PES_CHECK(split.held_out.empty() || text::is_text(split.held_out));
}

}  // namespace

FUZZ_TARGET(text) {
  const fs::path several = fuzz::folder() / "texts";
  fs::remove_all(several);
  fs::create_directories(several);
  int number = 0;
  for (std::size_t at = 0; at <= input.size() && number < 16;) {
    const std::size_t end = std::min(input.find("\n== ", at), input.size());
    fuzz::file_of(input.substr(at, end - at), fmt::format("texts/{:02}.txt", number++).c_str());
    at = end + 4;
  }
  for (const fs::path& path : {several, several / "00.txt"}) {
    try {
      read_texts(path);
    } catch (const pes::Refusal& refusal) {
      PES_CHECK(!std::string_view(refusal.what()).empty());
    }
  }
}

}  // namespace pesuite
