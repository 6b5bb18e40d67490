#include "text/sentence_piece.h"

#ifdef PESUITE_HAS_SENTENCEPIECE
#include <sentencepiece_processor.h>
#endif

#include "base/error.h"
#include "base/file.h"

namespace pesuite::text {

#ifdef PESUITE_HAS_SENTENCEPIECE

namespace {

class SentencePiece : public Tokenizer {
 public:
  explicit SentencePiece(const fs::path& file) {
    const std::string bytes = read_file(file);
    digest_ = sha256(bytes), name_ = "SentencePiece " + file.filename().string();
    if (bytes.starts_with("IQ== 0\n"))  // the byte 0x21, as all lists of ranks begin; Llama 3
      fail(Exit::data,
           "{} holds ranks as tiktoken has them: copy it to NAME.tiktoken and give that with its "
           "pattern, NAME.tiktoken:cl100k for Llama 3",
           file.string());
    if (const auto status = model_.LoadFromSerializedProto(bytes); !status.ok() || bytes.empty())
      fail(Exit::data, "{} is no SentencePiece model: {}", file.string(),
           bytes.empty() ? "it is empty" : status.ToString());
  }
  void encode(std::string_view text, std::vector<Token>& ids, Specials) const override {
    std::vector<int> found;
    const auto status = model_.Encode({text.data(), text.size()}, &found);
    if (!status.ok()) fail(Exit::data, "{} cannot encode a text: {}", name_, status.ToString());
    for (const int id : found) ids.push_back(static_cast<Token>(id));
  }
  std::string decode(std::span<const Token> ids, bool skip_special) const override {
    std::vector<int> known;
    for (const Token id : ids) {
      if (id >= vocabulary())
        fail(Exit::data, "{} has no token {}; its ids end at {}", name_, id, vocabulary() - 1);
      const int piece = static_cast<int>(id);
      if (skip_special && model_.IsControl(piece)) continue;
      known.push_back(piece);
    }
    std::string text;
    const auto status = model_.Decode(known, &text);
    if (!status.ok()) fail(Exit::data, "{} cannot decode: {}", name_, status.ToString());
    return text;
  }
  std::uint32_t vocabulary() const override {
    return static_cast<std::uint32_t>(model_.GetPieceSize());
  }
  std::int64_t end_of_text() const override { return model_.eos_id(); }
  std::string name() const override { return name_; }
  std::string digest() const override { return digest_; }
  void put_around(std::vector<Token>& ids) const override {
    if (model_.bos_id() >= 0) ids.insert(ids.begin(), static_cast<Token>(model_.bos_id()));
  }

 private:
  sentencepiece::SentencePieceProcessor model_;
  std::string name_, digest_;
};

}  // namespace

std::unique_ptr<Tokenizer> read_sentence_piece(const fs::path& file) {
  return std::make_unique<SentencePiece>(file);
}

#else

std::unique_ptr<Tokenizer> read_sentence_piece(const fs::path& file) {
  fail(Exit::data,
       "{} needs libsentencepiece, which this build does not have; install libsentencepiece-dev "
       "(Debian) and build again",
       file.string());
}

#endif

}  // namespace pesuite::text
