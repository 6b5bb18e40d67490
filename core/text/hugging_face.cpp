// tokenizer.json of Hugging Face, as far as it is byte-level BPE; what else it may hold is refused by
// its name. And GPT-2's vocab.json with merges.txt.
#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "text/byte_level.h"
#include "text/train.h"
#include "text/unicode.h"

namespace pesuite::text {

namespace {

namespace fs = std::filesystem;

class FileReader {
 public:
  FileReader(const fs::path& file, const std::string& content) : file_(file) {
    v_.digest = sha256(content), v_.name = "byte-level BPE " + file.filename().string();
    for (int b = 0; b < 256; ++b)
      bytes_.emplace(sign_of_byte(static_cast<unsigned char>(b)), static_cast<char>(b));
  }

  Vocabulary read(const Json& j) {
    model(at(j, "model", "object"));
    if (const Json& n = find(j, "normalizer"); !n.is_null())
      refuse("the normalizer " + type_of(n) + ", which changes texts before they are cut");
    pre_tokenizer(find(j, "pre_tokenizer"));
    if (const Json& added = find(j, "added_tokens"); !added.is_null())
      for (const Json& a : list(added, "added_tokens")) add(a);
    return std::move(v_);
  }
  Vocabulary read(const Json& vocab, const std::string& merges) {
    tokens(vocab, "vocab.json");
    std::size_t number = 0;
    for (const std::string& line : split(merges, '\n')) {
      ++number;
      if (line.empty() || (number == 1 && line.starts_with("#version"))) continue;
      rule(line, fmt::format("line {} of the merges", number));
    }
    if (const auto end = ids_.find("<|endoftext|>"); end != ids_.end())
      v_.specials.emplace(end->first, end->second);
    return std::move(v_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    fail(Exit::data, "{} has {}; only byte-level BPE without it can be read exactly",
         file_.string(), what);
  }
  [[noreturn]] void damaged(const std::string& what) const {
    fail(Exit::data, "{}: {}", file_.string(), what);
  }
  static const Json& find(const Json& j, const char* key) {
    static const Json nothing;
    const auto it = j.find(key);
    return it == j.end() ? nothing : *it;
  }
  const Json& at(const Json& j, const char* key, const char* kind) const {
    const Json& found = find(j, key);
    if (found.type_name() != std::string_view(kind))
      damaged(fmt::format("'{}' is {} where it should be {}", key, found.type_name(), kind));
    return found;
  }
  const Json& list(const Json& j, const char* key) const {
    if (!j.is_array()) damaged(fmt::format("'{}' is no list", key));
    return j;
  }
  static std::string type_of(const Json& j) {
    const Json& type = j.is_object() ? find(j, "type") : j;
    return type.is_string() ? type.get<std::string>() : type.dump();
  }
  static bool truth(const Json& j, const char* key, bool otherwise) {
    const Json& b = find(j, key);
    return b.is_boolean() ? b.get<bool>() : otherwise;
  }

  std::string bytes_of(const std::string& signs, const std::string& where) const {
    std::string out;
    for (std::size_t i = 0; i < signs.size();) {
      const std::size_t n = static_cast<unsigned char>(signs[i]) < 0x80 ? 1 : 2;
      const auto byte = bytes_.find(signs.substr(i, n));
      if (byte == bytes_.end())
        damaged(fmt::format("{} '{}' holds a sign that stands for no byte", where, signs));
      out += byte->second;
      i += n;
    }
    return out;
  }
  void tokens(const Json& vocab, const char* where) {
    if (!vocab.is_object()) damaged(fmt::format("{} is no table of tokens", where));
    for (const auto& [signs, id] : vocab.items()) {
      constexpr std::uint64_t most = 1 << 24;
      if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= most)
        damaged(fmt::format("token '{}' has the id {}, which is no whole number below {}", signs,
                            id.dump(), most));
      ids_.emplace(signs, id.get<Token>());
    }
    for (const auto& [signs, id] : ids_)
      if (!v_.tokens.emplace(id, signs).second)
        damaged(fmt::format("tokens '{}' and '{}' have the same id {}", v_.tokens[id], signs, id));
    for (auto& [id, text] : v_.tokens) text = bytes_of(text, "token");
  }

  void rule(const std::string& left, const std::string& right, const std::string& where) {
    const auto l = ids_.find(left), r = ids_.find(right), made = ids_.find(left + right);
    if (l == ids_.end() || r == ids_.end() || made == ids_.end())
      damaged(fmt::format("{} merges '{}' and '{}', and not all of both and of what they make are "
                          "tokens",
                          where, left, right));
    v_.rules.push_back({l->second, r->second, made->second});
  }
  void rule(const std::string& text, const std::string& where) {
    const std::size_t space = text.find(' ');
    if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos)
      damaged(fmt::format("{} is '{}', which is no pair", where, text));
    rule(text.substr(0, space), text.substr(space + 1), where);
  }

  void model(const Json& m) {
    if (const std::string type = type_of(m); type != "BPE") refuse("a model of type " + type);
    for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"})
      if (const Json& j = find(m, key); j.is_string() && !j.get<std::string>().empty())
        refuse(fmt::format("{} '{}'", key, j.get<std::string>()));
    if (truth(m, "byte_fallback", false)) refuse("byte_fallback");
    if (const Json& dropout = find(m, "dropout"); dropout.is_number() && dropout != 0)
      refuse("dropout, which cuts by chance");
    v_.whole_pieces = truth(m, "ignore_merges", false);
    tokens(at(m, "vocab", "object"), "'vocab'");
    std::size_t number = 0;
    for (const Json& pair : list(find(m, "merges"), "merges")) {
      const std::string where = fmt::format("merge {}", ++number);
      if (pair.is_string())
        rule(pair.get<std::string>(), where);
      else if (pair.is_array() && pair.size() == 2 && pair[0].is_string() && pair[1].is_string())
        rule(pair[0].get<std::string>(), pair[1].get<std::string>(), where);
      else
        damaged(fmt::format("{} is {}, which is no pair", where, pair.dump()));
    }
  }

  void byte_level(const Json& j, bool cuts) const {
    if (truth(j, "add_prefix_space", true)) refuse("ByteLevel with add_prefix_space");
    if (truth(j, "use_regex", true) != cuts)
      refuse(cuts ? "ByteLevel without a pattern" : "two patterns, one behind the other");
  }
  void pre_tokenizer(const Json& p) {
    const std::string type = type_of(p);
    if (type == "ByteLevel") return byte_level(p, true);
    const Json& parts = find(p, "pretokenizers");
    if (type != "Sequence" || !parts.is_array() || parts.size() != 2)
      refuse("the pre-tokenizer " + type);
    const Json &cut = parts[0], &bytes = parts[1];
    if (type_of(cut) != "Split" || type_of(bytes) != "ByteLevel")
      refuse(fmt::format("the pre-tokenizers {} and {}", type_of(cut), type_of(bytes)));
    byte_level(bytes, false);
    if (type_of(find(cut, "behavior")) != "Isolated" || truth(cut, "invert", false))
      refuse("a Split that is not Isolated, or inverted");
    const Json& regex = find(find(cut, "pattern"), "Regex");
    const auto known =
        regex.is_string() ? pattern_of(regex.get<std::string>()) : std::optional<Pattern>();
    if (!known) refuse("the pattern " + find(cut, "pattern").dump());
    v_.pattern = *known;
  }

  void add(const Json& a) {
    const std::string content = at(a, "content", "string").get<std::string>();
    const Json& id = at(a, "id", "number");
    if (content.empty() || !id.is_number_unsigned() || id.get<std::uint64_t>() > 1 << 24)
      damaged(fmt::format("the added token {} has no content, or no id", a.dump()));
    for (const char* flag : {"lstrip", "rstrip", "single_word"})
      if (truth(a, flag, false)) refuse(fmt::format("the added token '{}' with {}", content, flag));
    v_.specials.emplace(content, id.get<Token>());
  }

  fs::path file_;
  Vocabulary v_;
  std::unordered_map<std::string, char> bytes_;
  std::map<std::string, Token> ids_;  // by signs
};

Json parsed(const fs::path& file, const std::string& text) {
  Json j = Json::parse(text, nullptr, false);
  if (j.is_discarded() || !j.is_object()) fail(Exit::data, "{} is no JSON table", file.string());
  return j;
}

}  // namespace

std::unique_ptr<Tokenizer> read_hugging_face(const fs::path& file) {
  const std::string text = read_file(file);
  return make_byte_level(FileReader(file, text).read(parsed(file, text)));
}

std::unique_ptr<Tokenizer> read_vocab_and_merges(const fs::path& vocab, const fs::path& merges) {
  const std::string text = read_file(vocab), rules = read_file(merges);
  return make_byte_level(FileReader(vocab, text + rules).read(parsed(vocab, text), rules));
}

std::string hugging_face_text(const Trained& t, Pattern pattern,
                              const std::vector<std::string>& specials) {
  Json vocab = Json::object(), merges = Json::array(), added = Json::array();
  const auto signs = [](const std::string& bytes) {
    std::string out;
    for (const char c : bytes) out += sign_of_byte(static_cast<unsigned char>(c));
    return out;
  };
  std::vector<std::string> names;
  for (const std::string& token : t.tokens) names.push_back(signs(token));
  for (std::size_t i = 0; i < names.size(); ++i) vocab[names[i]] = i;
  for (const auto& [left, right] : t.merges) merges.push_back(names[left] + " " + names[right]);
  for (const std::string& s : specials)
    added.push_back({{"id", names.size() + added.size()},
                     {"content", s},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
  const bool own_regex = pattern == Pattern::gpt2;
  const Json bytes = {{"type", "ByteLevel"},
                      {"add_prefix_space", false},
                      {"trim_offsets", true},
                      {"use_regex", own_regex}};
  const Json cut = {{"type", "Split"},
                    {"pattern", {{"Regex", regex_of(pattern)}}},
                    {"behavior", "Isolated"},
                    {"invert", false}};
  const Json both = {{"type", "Sequence"}, {"pretokenizers", Json::array({cut, bytes})}};
  const Json model = {{"type", "BPE"},
                      {"dropout", nullptr},
                      {"unk_token", nullptr},
                      {"continuing_subword_prefix", nullptr},
                      {"end_of_word_suffix", nullptr},
                      {"fuse_unk", false},
                      {"byte_fallback", false},
                      {"ignore_merges", false},
                      {"vocab", vocab},
                      {"merges", merges}};
  return Json{{"version", "1.0"},
              {"truncation", nullptr},
              {"padding", nullptr},
              {"added_tokens", added},
              {"normalizer", nullptr},
              {"pre_tokenizer", own_regex ? bytes : both},
              {"post_processor", nullptr},
              {"decoder", {{"type", "ByteLevel"},
                           {"add_prefix_space", true},
                           {"trim_offsets", true},
                           {"use_regex", true}}},
              {"model", model}}
             .dump(1) +
         "\n";
}

}  // namespace pesuite::text
