#include "text/byte_level.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <unordered_map>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "text/train.h"
#include "text/unicode.h"

namespace pesuite::text {

namespace {

namespace fs = std::filesystem;

class ByteLevel : public Tokenizer {
 public:
  ByteLevel(Vocabulary v, std::unique_ptr<Merges> merges)
      : v_(std::move(v)), merges_(std::move(merges)) {
    for (const auto& [special, id] : v_.specials) by_id_.emplace(id, special);
    for (const auto& [special, id] : v_.specials) {
      if (special.empty()) continue;
      longest_first_[special[0]].push_back(&*v_.specials.find(special));
    }
    for (auto& [first, list] : longest_first_)
      std::sort(list.begin(), list.end(),
                [](const auto* a, const auto* b) { return a->first.size() > b->first.size(); });
  }

  void encode(std::string_view bytes, std::vector<Token>& ids, Specials specials) const override {
    std::string own;
    const std::string_view text = well_formed(bytes, own);
    if (specials == Specials::plain || longest_first_.empty()) return encode_plain(text, ids);
    std::size_t from = 0;
    for (std::size_t at = 0; at < text.size();) {
      const auto* special = special_at(text, at);
      if (special == nullptr) {
        ++at;
        continue;
      }
      encode_plain(text.substr(from, at - from), ids);
      ids.push_back(special->second);
      from = at += special->first.size();
    }
    encode_plain(text.substr(from), ids);
  }

  std::string decode(std::span<const Token> ids, bool skip_special) const override {
    std::string out;
    for (const Token id : ids) {
      if (const auto special = by_id_.find(id); special != by_id_.end()) {
        if (!skip_special) out += special->second;
      } else if (const auto token = v_.tokens.find(id); token != v_.tokens.end()) {
        out += token->second;
      } else {
        fail(Exit::data, "{} has no token {}; its ids end at {}", v_.name, id, vocabulary() - 1);
      }
    }
    return out;
  }

  std::uint32_t vocabulary() const override {
    const Token last = v_.tokens.empty() ? 0 : v_.tokens.rbegin()->first;
    return std::max(last, by_id_.empty() ? 0 : by_id_.rbegin()->first) + 1;
  }
  std::int64_t end_of_text() const override {
    for (const char* usual : {"<|endoftext|>", "<|end_of_text|>", "</s>"})
      if (const auto at = v_.specials.find(usual); at != v_.specials.end()) return at->second;
    return -1;
  }
  std::string name() const override { return v_.name; }
  std::string digest() const override { return v_.digest; }
  void put_around(std::vector<Token>& ids) const override {
    ids.insert(ids.begin(), v_.before.begin(), v_.before.end());
    ids.insert(ids.end(), v_.behind.begin(), v_.behind.end());
  }

 private:
  void encode_plain(std::string_view text, std::vector<Token>& ids) const {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = end_of_piece(v_.pattern, text, at);
      merges_->encode(text.substr(at, end - at), ids);
      at = end;
    }
  }
  const std::pair<const std::string, Token>* special_at(std::string_view text,
                                                        std::size_t at) const {
    const auto list = longest_first_.find(text[at]);
    if (list == longest_first_.end()) return nullptr;
    for (const auto* s : list->second)
      if (text.substr(at).starts_with(s->first)) return s;
    return nullptr;
  }

  Vocabulary v_;
  std::unique_ptr<Merges> merges_;
  std::map<Token, std::string> by_id_;
  std::map<char, std::vector<const std::pair<const std::string, Token>*>> longest_first_;
};

std::unordered_map<std::string_view, Token> ids_of(const std::map<Token, std::string>& tokens) {
  std::unordered_map<std::string_view, Token> out;
  out.reserve(2 * tokens.size());
  for (const auto& [id, text] : tokens) out.emplace(text, id);
  return out;
}

}  // namespace

std::unique_ptr<Tokenizer> make_byte_level(Vocabulary v) {
  const auto ids = ids_of(v.tokens);
  std::array<Token, 256> bytes{};
  for (int b = 0; b < 256; ++b) {
    const char byte = static_cast<char>(b);
    const auto at = ids.find(std::string_view(&byte, 1));
    if (at == ids.end())
      fail(Exit::data, "{} has no token for byte 0x{:02x}, so that not every text could be written",
           v.name, b);
    bytes[static_cast<std::size_t>(b)] = at->second;
  }
  auto merges = std::make_unique<Merges>(bytes, v.rules);
  // Of others only those that their rules lead to, which is quicker to look up.
  std::vector<std::pair<std::string_view, Token>> wholes;
  std::vector<Token> made;
  for (const auto& [id, text] : v.tokens) {
    made.clear();
    if (!v.whole_pieces) merges->encode(text, made);
    if (v.whole_pieces || (made.size() == 1 && made[0] == id)) wholes.emplace_back(text, id);
  }
  for (const auto& [text, id] : wholes) merges->add_whole(text, id);
  return std::make_unique<ByteLevel>(std::move(v), std::move(merges));
}

std::vector<Merges::Rule> rules_of_ranks(const std::map<Token, std::string>& tokens) {
  const auto ids = ids_of(tokens);
  std::vector<Merges::Rule> rules;
  for (const auto& [id, text] : tokens)
    for (std::size_t n = 1; n < text.size(); ++n) {
      const std::string_view whole = text;
      const auto left = ids.find(whole.substr(0, n)), right = ids.find(whole.substr(n));
      if (left != ids.end() && right != ids.end())
        rules.push_back({left->second, right->second, id});
    }
  return rules;
}

// -------------------------------------------------------------------------------------- files

namespace {

std::optional<std::string> from_base64(std::string_view text) {
  static constexpr std::string_view signs =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  std::uint32_t bits = 0;
  int have = 0;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  for (const char c : text.substr(0, text.size() - padding)) {
    const std::size_t value = signs.find(c);
    if (value == std::string_view::npos) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    have += 6;
    if (have >= 8) out += static_cast<char>(bits >> (have -= 8));
  }
  return out;
}

struct Published {
  std::string_view sha256, name;
  Pattern pattern;
  std::map<std::string, Token> specials;
};
const std::vector<Published>& published() {
  static const std::vector<Published> all = {
      {"306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
       "gpt2",
       Pattern::gpt2,
       {{"<|endoftext|>", 50256}}},
      {"94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
       "p50k_base",
       Pattern::gpt2,
       {{"<|endoftext|>", 50256}}},
      {"223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
       "cl100k_base",
       Pattern::cl100k,
       {{"<|endoftext|>", 100257},
        {"<|fim_prefix|>", 100258},
        {"<|fim_middle|>", 100259},
        {"<|fim_suffix|>", 100260},
        {"<|endofprompt|>", 100276}}},
      {"446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
       "o200k_base",
       Pattern::o200k,
       {{"<|endoftext|>", 199999}, {"<|endofprompt|>", 200018}}}};
  return all;
}

constexpr Token most_tokens = 1 << 24;

}  // namespace

std::unique_ptr<Tokenizer> read_ranks(const fs::path& file, std::optional<Pattern> pattern) {
  const std::string text = read_file(file);
  Vocabulary v;
  v.digest = sha256(text), v.name = "byte-level BPE " + file.filename().string();
  v.pattern = pattern.value_or(Pattern::gpt2), v.whole_pieces = true;
  std::unordered_map<std::string, std::size_t> seen;
  std::size_t number = 0;
  for (const std::string& all : split(text, '\n')) {
    ++number;
    const std::string line = all.ends_with('\r') ? all.substr(0, all.size() - 1) : all;
    if (line.empty()) continue;
    const std::size_t space = line.find(' ');
    const auto token = from_base64(std::string_view(line).substr(0, space));
    Token id = 0;
    const std::string rank = space == std::string::npos ? "" : line.substr(space + 1);
    const auto [end, wrong] = std::from_chars(rank.data(), rank.data() + rank.size(), id);
    if (!token || token->empty() || wrong != std::errc() || end != rank.data() + rank.size() ||
        id >= most_tokens)
      fail(Exit::data,
           "{}:{}: is no line of a file of ranks: base64 of a token, a space, its rank below {}",
           file.string(), number, most_tokens);
    if (const auto [at, is_new] = seen.emplace(*token, number); !is_new)
      fail(Exit::data, "{}:{}: has the token of line {} again", file.string(), number, at->second);
    if (!v.tokens.emplace(id, *token).second)
      fail(Exit::data, "{}:{}: has rank {} a second time", file.string(), number, id);
  }
  for (const Published& p : published())
    if (p.sha256 == v.digest && !pattern)
      v.name = p.name, v.pattern = p.pattern, v.specials = p.specials;
  if (pattern) v.digest = sha256(fmt::format("{} {}", v.digest, name_of(*pattern)));
  v.rules = rules_of_ranks(v.tokens);
  return make_byte_level(std::move(v));
}

}  // namespace pesuite::text
