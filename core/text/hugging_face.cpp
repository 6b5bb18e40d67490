// tokenizer.json of Hugging Face, as far as its model is byte pair encoding; what else it may hold
// is refused by its name. And GPT-2's vocab.json with merges.txt.
#include <algorithm>
#include <set>
#include <unordered_map>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "text/byte_level.h"
#include "text/pipeline.h"
#include "text/train.h"
#include "text/unicode.h"

namespace pesuite::text {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t most_ids = 1 << 24;

// Of the tables and lists of such a file, with its name in what goes wrong.
class JsonReader {
 public:
  explicit JsonReader(const fs::path& file) : file_(file) {}
  [[noreturn]] void refuse(const std::string& what) const {
    fail(Exit::data, "{} has {}, which cannot be done exactly here", file_.string(), what);
  }
  [[noreturn]] void damaged(const std::string& what) const {
    fail(Exit::data, "{}: {}", file_.string(), what);
  }
  static const Json& find(const Json& j, const char* key) {
    static const Json nothing;
    if (!j.is_object()) return nothing;
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
  std::string text(const Json& j, const char* key) const {
    return at(j, key, "string").get<std::string>();
  }
  std::size_t count(const Json& j, const char* key) const {
    const Json& n = find(j, key);
    if (!n.is_number_unsigned()) damaged(fmt::format("'{}' is no whole number", key));
    return n.get<std::size_t>();
  }

 protected:
  fs::path file_;
};

// Vocabulary and merges, in either layout.
class ModelReader : public JsonReader {
 public:
  using JsonReader::JsonReader;
  std::map<std::string, Token> ids;  // as the file writes them
  std::map<Token, std::string> tokens;
  std::vector<Merges::Rule> rules;

  void read_tokens(const Json& vocab, const char* where) {
    if (!vocab.is_object()) damaged(fmt::format("{} is no table of tokens", where));
    for (const auto& [signs, id] : vocab.items()) {
      if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= most_ids)
        damaged(fmt::format("token '{}' has the id {}, which is no whole number below {}", signs,
                            id.dump(), most_ids));
      if (!ids.emplace(signs, id.get<Token>()).second)
        damaged(fmt::format("{} has the token '{}' twice", where, signs));
      if (const auto [it, is_new] = tokens.emplace(id.get<Token>(), signs); !is_new)
        damaged(fmt::format("tokens '{}' and '{}' have the same id {}", it->second, signs,
                            id.get<Token>()));
    }
    if (ids.empty()) damaged(fmt::format("{} is empty", where));
  }
  void read_rules(const Json& merges) {
    std::size_t number = 0;
    for (const Json& pair : list(merges, "merges")) {
      const std::string where = fmt::format("merge {}", ++number);
      if (pair.is_string())
        rule(pair.get<std::string>(), where);
      else if (pair.is_array() && pair.size() == 2 && pair[0].is_string() && pair[1].is_string())
        rule(pair[0].get<std::string>(), pair[1].get<std::string>(), where);
      else
        damaged(fmt::format("{} is {}, which is no pair", where, pair.dump()));
    }
  }
  void read_rules(const std::string& merges) {
    std::size_t number = 0;
    for (std::string line : split(merges, '\n')) {
      ++number;
      if (line.ends_with('\r')) line.pop_back();
      if (line.empty() || (number == 1 && line.starts_with("#version"))) continue;
      rule(line, fmt::format("line {} of the merges", number));
    }
  }

 private:
  void rule(const std::string& left, const std::string& right, const std::string& where) {
    const auto l = ids.find(left), r = ids.find(right), made = ids.find(left + right);
    if (l == ids.end() || r == ids.end() || made == ids.end())
      damaged(
          fmt::format("{} merges '{}' and '{}', and not all of both and of what they make are "
                      "tokens",
                      where, left, right));
    rules.push_back({l->second, r->second, made->second});
  }
  void rule(const std::string& text, const std::string& where) {
    const std::size_t space = text.find(' ');
    if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos)
      damaged(fmt::format("{} is '{}', which is no pair", where, text));
    rule(text.substr(0, space), text.substr(space + 1), where);
  }
};

class FileReader : public ModelReader {
 public:
  FileReader(const fs::path& file, const std::string& content) : ModelReader(file) {
    p_.digest = sha256(content), p_.name = "byte-level BPE " + file.filename().string();
  }

  std::unique_ptr<Tokenizer> read(const Json& j) {
    if (const Json& version = find(j, "version"); version.is_string() && version != "1.0")
      refuse("version " + version.dump() + " of its layout");
    for (const char* key : {"truncation", "padding"})
      if (!find(j, key).is_null()) refuse(fmt::format("{} set, which would change texts", key));
    if (const std::string type = type_of(find(at(j, "model", "object"), "type")); type != "BPE")
      refuse("a model of type " + type);
    normalizer(find(j, "normalizer"));
    pre_tokenizer(find(j, "pre_tokenizer"));
    model(at(j, "model", "object"));
    if (const Json& added = find(j, "added_tokens"); !added.is_null())
      for (const Json& a : list(added, "added_tokens")) add(a);
    post_processor(find(j, "post_processor"));
    if (is_plain()) return make_byte_level(plain());
    decoder(find(j, "decoder"));
    p_.tokens = std::move(tokens), p_.rules = std::move(rules);
    return make_pipeline(std::move(p_));
  }

 private:
  // ------------------------------------------------------------------------------- normalizers

  void normalizer(const Json& n) {
    if (n.is_null()) return;
    const std::string type = type_of(n);
    if (type == "Sequence") {
      for (const Json& one : list(find(n, "normalizers"), "normalizers")) normalizer(one);
    } else if (type == "NFC" || type == "NFD" || type == "NFKC" || type == "NFKD") {
      p_.normalizers.push_back(unicode_form(type == "NFC"    ? Form::nfc
                                            : type == "NFD"  ? Form::nfd
                                            : type == "NFKC" ? Form::nfkc
                                                             : Form::nfkd));
    } else if (type == "Lowercase") {
      p_.normalizers.push_back(lower_case());
    } else if (type == "Prepend") {
      p_.normalizers.push_back(prepended(text(n, "prepend")));
    } else if (type == "Replace") {
      p_.normalizers.push_back(replaced(needle(find(n, "pattern")), text(n, "content")));
    } else if (type == "Strip") {
      p_.normalizers.push_back(
          stripped(truth(n, "strip_left", true), truth(n, "strip_right", true)));
    } else {
      refuse("the normalizer " + type);
    }
  }
  Needle needle(const Json& pattern) const {
    if (const Json& literal = find(pattern, "String"); literal.is_string())
      return Needle::literal(literal.get<std::string>());
    const Json& regex = find(pattern, "Regex");
    if (!regex.is_string()) damaged("a pattern is neither a String nor a Regex: " + pattern.dump());
    if (const auto known = pattern_of(regex.get<std::string>())) return Needle::scanner(*known);
    try {
      return Needle::regex(regex.get<std::string>());
    } catch (const Error& e) {
      damaged(e.what());
    }
  }

  // ---------------------------------------------------------------------------- pre-tokenizers

  void pre_tokenizer(const Json& p) {
    if (p.is_null()) return;
    const std::string type = type_of(p);
    if (type == "Sequence") {
      for (const Json& one : list(find(p, "pretokenizers"), "pretokenizers")) pre_tokenizer(one);
    } else if (type == "ByteLevel") {
      p_.byte_level = true;
      if (truth(p, "add_prefix_space", true)) cut(prefix_space());
      if (truth(p, "use_regex", true)) cut_by(Pattern::gpt2);
    } else if (type == "Split") {
      cut_by(p);
    } else if (type == "Digits") {
      cut(digits(truth(p, "individual_digits", false)));
    } else if (type == "Metaspace") {
      metaspace_of(p);
    } else {
      refuse("the pre-tokenizer " + type);
    }
    if (p_.byte_level && type != "ByteLevel" && type != "Sequence")
      refuse("a pre-tokenizer behind ByteLevel");
  }
  void cut(Cutter c) {
    p_.cutters.push_back(std::move(c));
    alone_.reset();
  }
  void cut_by(Pattern pattern) {
    const bool first = p_.cutters.empty();
    cut(split_at(Needle::scanner(pattern), Behavior::isolated, false));
    if (first) alone_ = pattern;
  }
  void cut_by(const Json& split) {
    static const std::map<std::string, Behavior> behaviors = {
        {"Removed", Behavior::removed},
        {"Isolated", Behavior::isolated},
        {"MergedWithPrevious", Behavior::merged_with_previous},
        {"MergedWithNext", Behavior::merged_with_next},
        {"Contiguous", Behavior::contiguous}};
    const auto behavior = behaviors.find(type_of(find(split, "behavior")));
    if (behavior == behaviors.end()) refuse("a Split that is " + find(split, "behavior").dump());
    const bool invert = truth(split, "invert", false);
    const Json& regex = find(find(split, "pattern"), "Regex");
    const auto known =
        regex.is_string() ? pattern_of(regex.get<std::string>()) : std::optional<Pattern>();
    if (known && !invert && behavior->second == Behavior::isolated) return cut_by(*known);
    cut(split_at(needle(find(split, "pattern")), behavior->second, invert));
  }
  std::pair<std::string, PrependScheme> metaspace_parts(const Json& m) const {
    static const std::map<std::string, PrependScheme> schemes = {{"always", PrependScheme::always},
                                                                 {"first", PrependScheme::first},
                                                                 {"never", PrependScheme::never}};
    const Json& scheme = find(m, "prepend_scheme");
    if (scheme.is_null())  // older files
      return {text(m, "replacement"),
              truth(m, "add_prefix_space", true) ? PrependScheme::always : PrependScheme::never};
    const auto known = schemes.find(type_of(scheme));
    if (known == schemes.end()) refuse("Metaspace with prepend_scheme " + scheme.dump());
    return {text(m, "replacement"), known->second};
  }
  void metaspace_of(const Json& m) {
    const auto [replacement, scheme] = metaspace_parts(m);
    cut(metaspace(replacement, scheme, truth(m, "split", true)));
  }

  // ------------------------------------------------------------------------------------- model

  void model(const Json& m) {
    for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"})
      if (const Json& j = find(m, key); j.is_string() && !j.get<std::string>().empty())
        refuse(fmt::format("{} '{}'", key, j.get<std::string>()));
    if (const Json& dropout = find(m, "dropout"); dropout.is_number() && dropout != 0)
      refuse("dropout, which cuts by chance");
    p_.whole_pieces = truth(m, "ignore_merges", false);
    p_.byte_fallback = truth(m, "byte_fallback", false) && !p_.byte_level;
    p_.fuse_unknown = truth(m, "fuse_unk", false);
    read_tokens(at(m, "vocab", "object"), "'vocab'");
    read_rules(find(m, "merges"));
    // "" is none: GPT-2's published file has it so
    if (const Json& unknown = find(m, "unk_token"); unknown.is_string() && unknown != "") {
      const auto id = ids.find(unknown.get<std::string>());
      if (id == ids.end())
        damaged(fmt::format("the unknown token {} is not in its vocabulary", unknown.dump()));
      p_.unknown = id->second;
    }
    if (!p_.byte_level && !p_.byte_fallback)
      refuse("neither ByteLevel nor byte_fallback: text outside its vocabulary would vanish");
    for (std::size_t b = 0; b < p_.bytes.size(); ++b) {
      const std::string sign = p_.byte_level ? sign_of_byte(static_cast<unsigned char>(b))
                                             : fmt::format("<0x{:02X}>", b);
      const auto id = ids.find(sign);
      if (id == ids.end())
        damaged(
            fmt::format("there is no token for byte 0x{:02x}, so that not every text could be "
                        "written",
                        b));
      p_.bytes[b] = id->second;
    }
  }

  void add(const Json& a) {
    AddedToken t;
    t.content = text(a, "content");
    const Json& id = at(a, "id", "number");
    if (t.content.empty() || !id.is_number_unsigned() || id.get<std::uint64_t>() >= most_ids)
      damaged(fmt::format("the added token {} has no content, or no id", a.dump()));
    t.id = id.get<Token>();
    if (const auto known = ids.find(t.content); known != ids.end() && known->second != t.id)
      damaged(fmt::format("the added token '{}' has id {}, and id {} in the vocabulary", t.content,
                          t.id, known->second));
    if (const auto known = tokens.find(t.id); known != tokens.end() && known->second != t.content)
      damaged(fmt::format("the added token '{}' has the id of the token '{}'", t.content,
                          known->second));
    t.special = truth(a, "special", false), t.single_word = truth(a, "single_word", false);
    t.lstrip = truth(a, "lstrip", false), t.rstrip = truth(a, "rstrip", false);
    t.normalized = truth(a, "normalized", !t.special);
    p_.added.push_back(std::move(t));
  }

  // ----------------------------------------------------------------- post-processor and decoder

  Token known_token(const std::string& name) const {
    for (const AddedToken& t : p_.added)
      if (t.content == name) return t.id;
    const auto id = ids.find(name);
    if (id == ids.end())
      damaged(fmt::format("its post-processor names '{}', which is no token", name));
    return id->second;
  }
  void post_processor(const Json& p) {
    if (p.is_null()) return;
    const std::string type = type_of(p);
    if (type == "Sequence") {
      for (const Json& one : list(find(p, "processors"), "processors")) post_processor(one);
    } else if (type == "RobertaProcessing" || type == "BertProcessing") {
      p_.before.push_back(known_token(list(find(p, "cls"), "cls").at(0)));
      p_.behind.push_back(known_token(list(find(p, "sep"), "sep").at(0)));
    } else if (type == "TemplateProcessing") {
      bool behind = false;
      for (const Json& item : list(find(p, "single"), "single")) {
        if (item.contains("Sequence")) behind = true;
        const Json& special = find(item, "SpecialToken");
        if (special.is_null()) continue;
        for (const Token id : template_ids(p, text(special, "id")))
          (behind ? p_.behind : p_.before).push_back(id);
      }
    } else if (type != "ByteLevel") {
      refuse("the post-processor " + type);
    }
  }
  std::vector<Token> template_ids(const Json& p, const std::string& name) const {
    std::vector<Token> out;
    const Json& entry = find(find(p, "special_tokens"), name.c_str());
    for (const Json& id : list(find(entry, "ids"), "ids of a special token")) {
      const bool known = id.is_number_unsigned() && id.get<std::uint64_t>() < most_ids &&
                         (tokens.contains(id.get<Token>()) ||
                          std::any_of(p_.added.begin(), p_.added.end(),
                                      [&](const AddedToken& t) { return t.id == id; }));
      if (!known)
        damaged(fmt::format("its post-processor adds the id {}, which is no token", id.dump()));
      out.push_back(id.get<Token>());
    }
    return out;
  }

  void decoder(const Json& d) {
    if (d.is_null()) return;
    const std::string type = type_of(d);
    if (type == "Sequence") {
      for (const Json& one : list(find(d, "decoders"), "decoders")) decoder(one);
    } else if (type == "ByteLevel") {
      p_.decoders.push_back(decode_byte_level());
    } else if (type == "ByteFallback") {
      p_.decoders.push_back(decode_byte_fallback());
    } else if (type == "Fuse") {
      p_.decoders.push_back(decode_fuse());
    } else if (type == "Replace" && find(find(d, "pattern"), "String").is_string()) {
      p_.decoders.push_back(decode_replace(text(find(d, "pattern"), "String"), text(d, "content")));
    } else if (type == "Strip" && text(d, "content").size() == 1) {
      p_.decoders.push_back(
          decode_strip(text(d, "content")[0], count(d, "start"), count(d, "stop")));
    } else if (type == "Metaspace") {
      const auto [replacement, scheme] = metaspace_parts(d);
      p_.decoders.push_back(decode_metaspace(replacement, scheme != PrependScheme::never));
    } else {
      refuse("the decoder " + type);
    }
  }

  // ------------------------------------------------------------------------- the quick way

  // A pattern that a scanner knows, bytes and specials: what most models of today have.
  bool is_plain() const {
    return alone_ && p_.byte_level && p_.normalizers.empty() &&
           std::all_of(p_.added.begin(), p_.added.end(), [](const AddedToken& t) {
             return t.special && !t.single_word && !t.lstrip && !t.rstrip;
           });
  }
  Vocabulary plain() {
    Vocabulary v;
    v.name = p_.name, v.digest = p_.digest, v.pattern = *alone_;
    v.whole_pieces = p_.whole_pieces;
    v.before = p_.before, v.behind = p_.behind;
    v.rules = std::move(rules);
    for (const AddedToken& t : p_.added) v.specials.emplace(t.content, t.id);
    std::vector<std::string> texts;
    for (auto& [id, signs] : tokens) {
      texts = {signs};
      decode_byte_level_(texts);
      v.tokens.emplace(id, texts[0]);
    }
    return v;
  }

  PipelineParts p_;
  std::optional<Pattern> alone_;  // the pattern of the only cutter, where a scanner knows it
  const TokenDecoder decode_byte_level_ = decode_byte_level();
};

Json parsed(const fs::path& file, const std::string& text) {
  Json j = Json::parse(text, nullptr, false);
  if (j.is_discarded() || !j.is_object()) fail(Exit::data, "{} is no JSON table", file.string());
  return j;
}

}  // namespace

std::unique_ptr<Tokenizer> read_hugging_face(const fs::path& file) {
  const std::string text = read_file(file);
  return FileReader(file, text).read(parsed(file, text));
}

std::unique_ptr<Tokenizer> read_vocab_and_merges(const fs::path& vocab, const fs::path& merges) {
  const std::string text = read_file(vocab), rules = read_file(merges);
  ModelReader reader(vocab);
  reader.read_tokens(parsed(vocab, text), "vocab.json");
  reader.read_rules(rules);
  Vocabulary v;
  v.digest = sha256(text + rules), v.name = "byte-level BPE " + vocab.filename().string();
  v.rules = std::move(reader.rules);
  if (const auto end = reader.ids.find("<|endoftext|>"); end != reader.ids.end())
    v.specials.emplace(end->first, end->second);
  const TokenDecoder bytes_of = decode_byte_level();
  for (const auto& [id, signs] : reader.tokens) {
    std::vector<std::string> texts = {signs};
    bytes_of(texts);
    v.tokens.emplace(id, texts[0]);
  }
  return make_byte_level(std::move(v));
}

}  // namespace pesuite::text
