#include "text/tokenizer.h"

#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "text/byte_level.h"
#include "text/characters.h"
#include "text/sentence_piece.h"

namespace pesuite::text {

namespace {

namespace fs = std::filesystem;

// Each byte is a token.
class Bytes : public Tokenizer {
 public:
  void encode(std::string_view text, std::vector<Token>& ids, Specials) const override {
    for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
  }
  std::string decode(std::span<const Token> ids, bool) const override {
    std::string out;
    for (const Token id : ids) {
      if (id >= vocabulary()) fail(Exit::data, "{} is no byte", id);
      out += static_cast<char>(id);
    }
    return out;
  }
  std::uint32_t vocabulary() const override { return 256; }
  std::int64_t end_of_text() const override { return -1; }
  std::string name() const override { return "bytes"; }
  std::string digest() const override { return sha256("bytes"); }
};

// Two layouts have that ending.
std::unique_ptr<Tokenizer> read_json(const fs::path& path) {
  constexpr std::string_view characters = "{\"characters\"";
  return read_file(path).starts_with(characters) ? read_characters(path) : read_hugging_face(path);
}

// FILE.tiktoken:PATTERN, as ranks alone do not say how a text is cut.
std::unique_ptr<Tokenizer> read_ranks_cut_by(const std::string& file, const std::string& name) {
  const auto pattern = pattern_of(name);
  if (!pattern)
    fail(Exit::usage,
         "{}:{}: there is no pattern of that name; known are gpt2, cl100k, qwen2 and o200k", file,
         name);
  return read_ranks(file, pattern);
}

}  // namespace

std::unique_ptr<Tokenizer> open_tokenizer(const std::string& what) {
  if (what == "bytes") return std::make_unique<Bytes>();
  const fs::path path = what;
  if (fs::is_directory(path)) {
    if (fs::exists(path / "tokenizer.json")) return read_hugging_face(path / "tokenizer.json");
    if (fs::exists(path / "vocab.json") && fs::exists(path / "merges.txt"))
      return read_vocab_and_merges(path / "vocab.json", path / "merges.txt");
    if (fs::exists(path / "tokenizer.model")) return read_sentence_piece(path / "tokenizer.model");
    fail(Exit::data,
         "{} holds no tokenizer: neither tokenizer.json nor vocab.json with merges.txt nor "
         "tokenizer.model",
         what);
  }
  if (path.extension() == ".tiktoken") return read_ranks(path);
  constexpr std::string_view ranks = ".tiktoken:";
  if (const std::size_t at = what.rfind(ranks); at != std::string::npos)
    return read_ranks_cut_by(what.substr(0, at + ranks.size() - 1), what.substr(at + ranks.size()));
  if (path.extension() == ".json") return read_json(path);
  if (path.extension() == ".model") return read_sentence_piece(path);
  fail(Exit::usage,
       "'{}' is no tokenizer; write bytes, or a file tokenizer.json, NAME.tiktoken or NAME.model, "
       "or a folder with tokenizer.json, with vocab.json and merges.txt or with tokenizer.model",
       what);
}

}  // namespace pesuite::text
