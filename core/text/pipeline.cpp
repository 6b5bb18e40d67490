#include "text/pipeline.h"

#include <algorithm>
#include <cctype>
#include <unordered_map>

#include "base/error.h"
#include "text/train.h"
#include "text/unicode.h"

namespace pesuite::text {

// -------------------------------------------------------------------------------------- decoders

namespace {

std::string joined(const std::vector<std::string>& tokens) {
  std::string all;
  for (const std::string& t : tokens) all += t;
  return all;
}

// Bytes by the signs that stand for them in vocabularies; the token itself where one stands for
// none.
class Signs {
 public:
  Signs() {
    for (int b = 0; b < 256; ++b)
      bytes_.emplace(sign_of_byte(static_cast<unsigned char>(b)), static_cast<char>(b));
  }
  std::string bytes_of(const std::string& token) const {
    std::string out;
    for (std::size_t at = 0; at < token.size();) {
      const auto n = static_cast<std::size_t>(std::max(1, code_point(token, at).bytes));
      const auto byte = bytes_.find(token.substr(at, n));
      if (byte == bytes_.end()) return token;
      out += byte->second;
      at += n;
    }
    return out;
  }

 private:
  std::unordered_map<std::string, char> bytes_;
};

// The byte of "<0x41>", or -1.
int fallback_byte(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token.back() != '>') return -1;
  int value = 0;
  for (const char c : token.substr(3, 2)) {
    if (std::isxdigit(static_cast<unsigned char>(c)) == 0) return -1;
    value = 16 * value + (c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
  }
  return value;
}

void replace_all(std::string& text, const std::string& what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos && !what.empty();
       at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

}  // namespace

TokenDecoder decode_byte_level() {
  return [signs = std::make_shared<const Signs>()](std::vector<std::string>& tokens) {
    for (std::string& t : tokens) t = signs->bytes_of(t);
    tokens = {joined(tokens)};
  };
}
TokenDecoder decode_replace(std::string what, std::string by) {
  return [what = std::move(what), by = std::move(by)](std::vector<std::string>& tokens) {
    for (std::string& t : tokens) replace_all(t, what, by);
  };
}
TokenDecoder decode_byte_fallback() {
  return [](std::vector<std::string>& tokens) {
    for (std::string& t : tokens)
      if (const int byte = fallback_byte(t); byte >= 0) t = std::string(1, static_cast<char>(byte));
  };
}
TokenDecoder decode_fuse() {
  return [](std::vector<std::string>& tokens) { tokens = {joined(tokens)}; };
}
TokenDecoder decode_strip(char what, std::size_t start, std::size_t stop) {
  return [what, start, stop](std::vector<std::string>& tokens) {
    for (std::string& t : tokens) {
      std::size_t first = 0;
      while (first < start && first < t.size() && t[first] == what) ++first;
      std::size_t last = t.size();
      while (t.size() - last < stop && last > first && t[last - 1] == what) --last;
      t = t.substr(first, last - first);
    }
  };
}
TokenDecoder decode_metaspace(std::string replacement, bool prepends) {
  return [replacement = std::move(replacement), prepends](std::vector<std::string>& tokens) {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (i == 0 && prepends && tokens[i].starts_with(replacement))
        tokens[i].erase(0, replacement.size());
      replace_all(tokens[i], replacement, " ");
    }
  };
}

// ------------------------------------------------------------------------------------- tokenizer

namespace {

class Pipeline : public Tokenizer {
 public:
  explicit Pipeline(PipelineParts parts) : p_(std::move(parts)), merges_(byte_tokens(), p_.rules) {
    for (const auto& [id, text] : p_.tokens) ids_.emplace(text, id);
    for (AddedToken t : p_.added) {
      if (t.normalized) t.content = normalized(t.content);
      (t.normalized ? behind_ : ahead_).add(t);
      by_id_[t.id] = t;
    }
    if (p_.byte_level) add_wholes();
  }

  void encode(std::string_view bytes, std::vector<Token>& ids, Specials specials) const override {
    std::string own;
    const std::string_view text = well_formed(bytes, own);
    const bool recognised = specials == Specials::recognised;
    const auto token = [&](Token id) { ids.push_back(id); };
    ahead_.cut(text, recognised, token, [&](std::string_view stretch, std::size_t at) {
      const std::string changed = normalized(stretch);
      behind_.cut(changed, recognised, token, [&](std::string_view rest, std::size_t behind) {
        encode_stretch(rest, at == 0 && behind == 0, ids);
      });
    });
  }

  std::string decode(std::span<const Token> ids, bool skip_special) const override {
    std::vector<std::string> texts;
    for (const Token id : ids) {
      if (const auto added = by_id_.find(id); added != by_id_.end()) {
        if (!skip_special || !added->second.special) texts.push_back(added->second.content);
      } else if (const auto token = p_.tokens.find(id); token != p_.tokens.end()) {
        texts.push_back(token->second);
      } else {
        fail(Exit::data, "{} has no token {}; its ids end at {}", p_.name, id, vocabulary() - 1);
      }
    }
    for (const TokenDecoder& d : p_.decoders) d(texts);
    if (!p_.decoders.empty()) return joined(texts);
    std::string all;
    for (std::size_t i = 0; i < texts.size(); ++i) all += (i > 0 ? " " : "") + texts[i];
    return all;
  }

  std::uint32_t vocabulary() const override {
    const Token last = p_.tokens.empty() ? 0 : p_.tokens.rbegin()->first;
    return std::max(last, by_id_.empty() ? 0 : by_id_.rbegin()->first) + 1;
  }
  std::int64_t end_of_text() const override {
    for (const char* usual : {"<|endoftext|>", "<|end_of_text|>", "</s>"})
      for (const AddedToken& t : p_.added)
        if (t.content == usual) return t.id;
    return -1;
  }
  std::string name() const override { return p_.name; }
  std::string digest() const override { return p_.digest; }
  void put_around(std::vector<Token>& ids) const override {
    ids.insert(ids.begin(), p_.before.begin(), p_.before.end());
    ids.insert(ids.end(), p_.behind.begin(), p_.behind.end());
  }

 private:
  std::array<Token, 256> byte_tokens() const {
    std::array<Token, 256> out{};
    for (std::size_t b = 0; b < out.size(); ++b)
      out[b] = static_cast<Token>(std::max<std::int64_t>(0, p_.bytes[b]));
    return out;
  }
  // Texts that are one token, which need no merging.
  void add_wholes() {
    const Signs signs;
    std::vector<std::pair<std::string, Token>> wholes;
    std::vector<Token> made;
    for (const auto& [id, text] : p_.tokens) {
      std::string bytes = signs.bytes_of(text);
      made.clear();
      if (!p_.whole_pieces) merges_.encode(bytes, made);
      if (p_.whole_pieces || (made.size() == 1 && made[0] == id)) wholes.emplace_back(bytes, id);
    }
    for (const auto& [text, id] : wholes) merges_.add_whole(text, id);
  }

  std::string normalized(std::string_view text) const {
    std::string out(text);
    for (const Normalizer& n : p_.normalizers) out = n(out);
    return out;
  }

  void encode_stretch(std::string_view text, bool first, std::vector<Token>& ids) const {
    Pieces pieces;
    pieces.views = {text};
    pieces.first = first;
    for (const Cutter& cut : p_.cutters) cut(pieces);
    for (const std::string_view piece : pieces.views)
      p_.byte_level ? merges_.encode(piece, ids) : encode_characters(piece, ids);
  }

  void encode_characters(std::string_view piece, std::vector<Token>& ids) const {
    if (piece.empty()) return;
    if (p_.whole_pieces)
      if (const auto whole = ids_.find(std::string(piece)); whole != ids_.end())
        return ids.push_back(whole->second);
    std::vector<Token> symbols;
    bool unknown_before = false;
    for (std::size_t at = 0; at < piece.size();) {
      const auto n = static_cast<std::size_t>(code_point(piece, at).bytes);
      const std::string_view character = piece.substr(at, n);
      at += n;
      const auto known = ids_.find(std::string(character));
      const bool was_unknown = std::exchange(unknown_before, false);
      if (known != ids_.end()) {
        symbols.push_back(known->second);
      } else if (p_.byte_fallback) {
        for (const char c : character)
          symbols.push_back(static_cast<Token>(p_.bytes[static_cast<unsigned char>(c)]));
      } else {
        unknown_before = true;
        if (!was_unknown || !p_.fuse_unknown) symbols.push_back(static_cast<Token>(p_.unknown));
      }
    }
    merges_.merge(symbols, ids);
  }

  PipelineParts p_;
  Merges merges_;
  std::unordered_map<std::string, Token> ids_;
  std::map<Token, AddedToken> by_id_;
  AddedTokens ahead_, behind_;  // of the normalizers
};

}  // namespace

std::unique_ptr<Tokenizer> make_pipeline(PipelineParts parts) {
  return std::make_unique<Pipeline>(std::move(parts));
}

}  // namespace pesuite::text
