#include "text/characters.h"

#include <map>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "text/unicode.h"

namespace pesuite::text {

namespace {

constexpr Token unknown = 0, end = 1, first = 2;
constexpr std::string_view replacement = "\xef\xbf\xbd";

class Characters : public Tokenizer {
 public:
  Characters(const fs::path& file, const std::string& content) {
    digest_ = sha256(content), name_ = "characters of " + file.filename().string();
    const Json j = Json::parse(content, nullptr, false);
    if (!j.is_object() || !j.contains("characters") || !j["characters"].is_array())
      fail(Exit::data, "{} is no list of characters as 'data train-tokenizer' writes it",
           file.string());
    for (const Json& c : j["characters"]) {
      const std::string text = c.is_string() ? c.get<std::string>() : "";
      if (text.empty() || static_cast<std::size_t>(code_point(text, 0).bytes) != text.size())
        fail(Exit::data, "{}: {} is no character", file.string(), c.dump());
      if (!ids_.emplace(text, first + static_cast<Token>(texts_.size())).second)
        fail(Exit::data, "{}: {} stands there twice", file.string(), c.dump());
      texts_.push_back(text);
    }
  }
  void encode(std::string_view bytes, std::vector<Token>& ids, Specials) const override {
    std::string own;
    const std::string_view text = well_formed(bytes, own);
    for (std::size_t at = 0; at < text.size();) {
      const auto n = static_cast<std::size_t>(code_point(text, at).bytes);
      const auto id = ids_.find(text.substr(at, n));
      ids.push_back(id == ids_.end() ? unknown : id->second);
      at += n;
    }
  }
  std::string decode(std::span<const Token> ids, bool) const override {
    std::string out;
    for (const Token id : ids) {
      if (id >= vocabulary())
        fail(Exit::data, "{} has no token {}; its ids end at {}", name_, id, vocabulary() - 1);
      if (id == unknown)
        out += replacement;
      else if (id != end)
        out += texts_[id - first];
    }
    return out;
  }
  std::uint32_t vocabulary() const override {
    return first + static_cast<std::uint32_t>(texts_.size());
  }
  std::int64_t end_of_text() const override { return end; }
  std::string name() const override { return name_; }
  std::string digest() const override { return digest_; }

 private:
  std::string name_, digest_;
  std::vector<std::string> texts_;
  std::map<std::string, Token, std::less<>> ids_;
};

std::string utf8_of(char32_t c) {
  std::string out;
  const auto put = [&](char32_t bits) { out += static_cast<char>(bits); };
  if (c < 0x80) return put(c), out;
  if (c < 0x800) return put(0xC0 | c >> 6), put(0x80 | (c & 0x3F)), out;
  if (c < 0x10000)
    return put(0xE0 | c >> 12), put(0x80 | (c >> 6 & 0x3F)), put(0x80 | (c & 0x3F)), out;
  return put(0xF0 | c >> 18), put(0x80 | (c >> 12 & 0x3F)), put(0x80 | (c >> 6 & 0x3F)),
         put(0x80 | (c & 0x3F)), out;
}

}  // namespace

std::unique_ptr<Tokenizer> read_characters(const fs::path& file) {
  return std::make_unique<Characters>(file, read_file(file));
}

std::string characters_text(const std::set<char32_t>& all) {
  Json list = Json::array();
  for (const char32_t c : all) list.push_back(utf8_of(c));
  return Json{{"characters", std::move(list)}}.dump() + "\n";
}

void collect_characters(std::string_view bytes, std::set<char32_t>& into) {
  std::string own;
  const std::string_view text = well_formed(bytes, own);
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = code_point(text, at);
    into.insert(c.code);
    at += static_cast<std::size_t>(c.bytes);
  }
}

}  // namespace pesuite::text
