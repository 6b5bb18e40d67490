// data golden: tokenizers against the ids that public code gives.
#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "cli/data.h"
#include "pesuite/tokens.hpp"
#include "text/byte_level.h"
#include "text/train.h"

namespace pesuite::cli {

namespace {

using text::Specials;
using text::Token;
using Ids = std::vector<Token>;

std::string from_hex(const std::string& hex) {
  std::string out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    out += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return out;
}

class Golden {
 public:
  explicit Golden(bool quiet) : quiet_(quiet) {}

  // Cases of a published vocabulary, in a file of ranks or a tokenizer.json: plain and special ids,
  // pieces, bytes, long repeats, decoding.
  void published(const fs::path& cases, const fs::path& file) {
    const Json j = Json::parse(read_file(cases));
    const auto t = opened(cases, count_of(j), [&] { return text::open_tokenizer(file.string()); });
    if (!t) return;
    const auto pattern = text::pattern_of(j.at("pattern").get<std::string>());
    for (const Json& c : j.at("cases")) {
      const std::string name = name_of(cases, c), what = c.at("text");
      bool right = encoded(*t, what, Specials::plain) == c.at("ids").get<Ids>() &&
                   t->decode(c.at("ids").get<Ids>()) == what;
      const Json& special = c.contains("ids_special") ? c.at("ids_special") : c.at("ids");
      right = right && encoded(*t, what, Specials::recognised) == special.get<Ids>();
      if (pattern && c.contains("cut")) right = right && pieces(*pattern, what) == c.at("cut");
      judge(right, name);
    }
    for (const Json& c : j.at("bytes"))
      judge(encoded(*t, from_hex(c.at("hex")), Specials::plain) == c.at("ids").get<Ids>(),
            name_of(cases, c));
    for (const Json& c : j.at("decode"))
      judge(t->decode(c.at("ids").get<Ids>()) == from_hex(c.at("hex")),
            cases.filename().string() + " decode " + c.at("hex").get<std::string>());
    for (const Json& c : j.at("repeat")) judge(repeats(*t, c), "repeat " + c.at("unit").dump());
  }

  // Cases of one tokenizer.json, or of one vocabulary in several kinds of files.
  void vocabulary(const fs::path& cases) {
    const Json j = Json::parse(read_file(cases));
    const auto beside = [&](const Json& name) {
      return cases.parent_path() / name.get<std::string>();
    };
    if (j.contains("file") && is_other_model(beside(j["file"]))) {  // to be refused by its name
      bool refused = false;
      try {
        text::open_tokenizer(beside(j["file"]).string());
      } catch (const Error& e) {
        refused = std::string_view(e.what()).find("a model of type") != std::string_view::npos;
      }
      return judge(refused, cases.filename().string() + " is refused");
    }
    if (j.contains("file"))
      hold(cases, j, Specials::recognised,
           [&] { return text::open_tokenizer(beside(j["file"]).string()); });
    const Json& files = j.contains("files") ? j["files"] : Json::array();
    if (files.size() != 3) return;
    hold(cases, j, Specials::plain, [&] { return text::read_ranks(beside(files[0])); });
    hold(cases, j, Specials::plain,
         [&] { return text::read_vocab_and_merges(beside(files[1]), beside(files[2])); });
  }

  // Cases of a SentencePiece model.
  void sentence_piece(const fs::path& cases) {
    const Json j = Json::parse(read_file(cases));
    const auto t = opened(cases, j.at("cases").size() + j.at("bytes").size(), [&] {
      return text::open_tokenizer(
          (cases.parent_path() / j.at("model").get<std::string>()).string());
    });
    if (!t) return;
    for (const Json& c : j.at("cases")) {
      const Ids ids = c.at("ids").get<Ids>();
      judge(encoded(*t, c.at("text"), Specials::plain) == ids && decodes(*t, ids, c),
            name_of(cases, c));
    }
    for (const Json& c : j.at("bytes"))
      judge(encoded(*t, from_hex(c.at("hex")), Specials::plain) == c.at("ids").get<Ids>(),
            cases.filename().string() + " bytes " + c.at("hex").get<std::string>());
  }

  // Files that are wrong, hostile or of other kinds, each with a verdict.
  void refusals(const fs::path& cases) {
    const Json j = Json::parse(read_file(cases));
    const auto base = nlohmann::json::parse(
        read_file(cases.parent_path() / "tiny" / "refuse_base.tokenizer.json"));
    const Tried files;
    for (const Json& c : j.at("tokenizer_json")) {
      const std::string file = base.patch(nlohmann::json::parse(c.at("patch").dump())).dump();
      verdict(c, files, [&] { return files.opened("tokenizer.json", file); });
    }
    for (const Json& c : j.at("tokenizer_json_text"))
      verdict(c, files, [&] { return files.opened("tokenizer.json", text_of_case(c)); });
    for (const Json& c : j.at("rank_file"))
      verdict(c, files, [&] {
        const bool bytes = c.value("bytes256", false);
        return files.opened("x.tiktoken", bytes ? ranks_of_bytes() + c.value("tail", "")
                                                : c.at("text").get<std::string>());
      });
    // these small ones lack most bytes, which is looked at behind what they are about
    for (const Json& c : j.at("vocab_merges")) {
      std::string what;
      try {
        files.opened("vocab.json", c.at("vocab"), c.at("merges"));
      } catch (const Error& e) {
        what = e.what();
      }
      const bool refused = !what.empty() && what.find("has no token for byte") == std::string::npos;
      judge(refused == (c.at("verdict") == "refuse"), "refuse_cases " + c.at("name").dump());
    }
  }

  void shards(const fs::path& list) {
    for (const Json& c : Json::parse(read_file(list))) {
      std::string said;
      bool right = false;
      const std::string verdict = c.at("verdict");
      try {
        const pes::TokenFile file(list.parent_path() / c.at("file").get<std::string>());
        right = verdict != "refuse";
        std::uint64_t outside = file.size();
        for (std::uint64_t i = 0; i < file.size(); ++i) {
          if (verdict == "accept")
            right = right && file.size() == c.at("tokens").size() && file[i] == c.at("tokens")[i];
          constexpr std::uint32_t gpt2 = 50257;
          if (verdict != "accept" && file[i] >= gpt2) outside = std::min(outside, i);
        }
        if (verdict == "refuse at use") right = outside < file.size();
      } catch (const std::runtime_error&) {
        right = verdict == "refuse";
      }
      judge(right, "shards " + c.at("file").get<std::string>());
    }
  }

  void training(const fs::path& cases) {
    const Json j = Json::parse(read_file(cases));
    for (const Json& c : j.at("cases")) {
      const std::string what =
          c.contains("file") ? read_file(cases.parent_path() / c.at("file").get<std::string>())
                             : c.at("text").get<std::string>();
      text::PieceCounts counts(*text::pattern_of(c.at("pattern").get<std::string>()));
      counts.add(what);
      const std::size_t merges = c.at("merges").size();
      const text::Trained t =
          text::train_merges(counts, 256 + merges + (c.at("complete").get<bool>() ? 100 : 0));
      bool right = t.merges.size() == merges;
      for (std::size_t i = 0; right && i < merges; ++i) {
        const auto& [left, right_id] = t.merges[i];
        right = t.tokens[left] == from_hex(c.at("merges")[i][0]) &&
                t.tokens[right_id] == from_hex(c.at("merges")[i][1]) &&
                t.counts[i] == c.at("counts")[i].get<std::uint64_t>();
      }
      judge(right, name_of(cases, c));
    }
  }

  int conclude() const {
    fmt::print("{} passed, {} failed\n", passed_, failed_);
    return failed_ > 0 || passed_ == 0 ? static_cast<int>(Exit::plugin) : 0;
  }

 private:
  static std::size_t count_of(const Json& j) {
    return j.at("cases").size() + j.at("bytes").size() + j.at("decode").size() +
           j.at("repeat").size();
  }
  static Ids encoded(const text::Tokenizer& t, const std::string& what, Specials specials) {
    Ids ids;
    t.encode(what, ids, specials);
    return ids;
  }
  static bool decodes(const text::Tokenizer& t, const Ids& ids, const Json& c) {
    return same_text(t.decode(ids), c.at("decoded"));
  }
  // The file's text has U+FFFD where bytes are no UTF-8.
  static bool same_text(const std::string& bytes, const Json& wanted) {
    return Json(bytes).dump(-1, ' ', true, Json::error_handler_t::replace) ==
           wanted.dump(-1, ' ', true);
  }
  static Json pieces(text::Pattern pattern, const std::string& what) {
    Json out = Json::array();
    for (std::size_t at = 0; at < what.size();) {
      const std::size_t end = text::end_of_piece(pattern, what, at);
      out.push_back(end - at);
      at = end;
    }
    return out;
  }
  static bool repeats(const text::Tokenizer& t, const Json& c) {
    std::string what;
    for (std::size_t i = 0; i < c.at("repeat").get<std::size_t>(); ++i)
      what += c.at("unit").get<std::string>();
    const Ids ids = encoded(t, what, Specials::plain);
    std::string bytes;
    for (const Token id : ids)
      for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(id >> shift);
    return ids.size() == c.at("n").get<std::size_t>() && sha256(bytes) == c.at("sha256");
  }
  static std::string name_of(const fs::path& cases, const Json& c) {
    return cases.filename().string() + " " + c.at("name").get<std::string>();
  }
  static bool is_other_model(const fs::path& file) {
    const Json j = Json::parse(read_file(file), nullptr, false);
    return !j.is_object() || j.value("model", Json::object()).value("type", "") != "BPE";
  }
  template <class Open>
  std::unique_ptr<text::Tokenizer> opened(const fs::path& cases, std::size_t count, Open&& open) {
    try {
      return open();
    } catch (const Error& e) {
      failed_ += count;
      fmt::print("{}: {}\n", cases.filename().string(), printable(e.what()));
      return nullptr;
    }
  }
  template <class Open>
  void hold(const fs::path& cases, const Json& j, Specials specials, Open&& open) {
    const auto t = opened(cases, j.at("cases").size(), open);
    if (!t) return;
    for (const Json& c : j.at("cases")) {
      const Ids ids = c.at("ids").get<Ids>();
      Ids around = ids;
      t->put_around(around);
      const Json& wanted = c.contains("ids_added") ? c.at("ids_added") : c.at("ids");
      const bool skips =
          !c.contains("decoded_skip") || same_text(t->decode(ids, true), c.at("decoded_skip"));
      judge(encoded(*t, c.at("text"), specials) == ids && around == wanted.get<Ids>() && skips &&
                (!c.contains("decoded") || decodes(*t, ids, c)),
            name_of(cases, c));
    }
  }
  void judge(bool right, const std::string& name) {
    (right ? passed_ : failed_) += 1;
    if (!right && !quiet_) fmt::print("failed: {}\n", printable(name));
  }

  // A folder for files that are tried.
  class Tried {
   public:
    Tried() {
      std::string name = (fs::temp_directory_path() / "pesuite-golden-XXXXXX").string();
      if (::mkdtemp(name.data()) == nullptr) fail(Exit::data, "cannot make the folder {}", name);
      folder_ = name;
    }
    ~Tried() {
      std::error_code ignored;
      fs::remove_all(folder_, ignored);
    }
    std::unique_ptr<text::Tokenizer> opened(const char* name, const std::string& content) const {
      write_file_atomic(folder_ / name, content);
      return text::open_tokenizer((folder_ / name).string());
    }
    std::unique_ptr<text::Tokenizer> opened(const char* name, const std::string& content,
                                            const std::string& merges) const {
      write_file_atomic(folder_ / name, content);
      write_file_atomic(folder_ / "merges.txt", merges);
      return text::read_vocab_and_merges(folder_ / name, folder_ / "merges.txt");
    }

   private:
    fs::path folder_;
  };
  static std::string ranks_of_bytes() {
    constexpr std::string_view signs =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    for (unsigned b = 0; b < 256; ++b)
      out += fmt::format("{}{}== {}\n", signs[b >> 2], signs[(b & 3) << 4], b);
    return out;
  }
  static std::string text_of_case(const Json& c) {
    if (c.contains("text")) return c.at("text");
    std::string out;
    for (std::size_t i = 0; i < c.at("repeat").get<std::size_t>(); ++i)
      out += c.at("unit").get<std::string>();
    return out;
  }
  template <class Open>
  void verdict(const Json& c, const Tried&, Open&& open) {
    const std::string verdict = c.at("verdict"), name = "refuse_cases " + c.at("name").dump();
    bool opened = false;
    try {
      const auto t = open();
      opened = true;
    } catch (const Error& e) {
      if (e.code() != Exit::data) return judge(false, name);
    }
    const bool may_refuse = verdict.find("refuse") != std::string::npos;
    const bool may_accept = verdict != "refuse";
    judge(opened ? may_accept : may_refuse, name);
  }

  bool quiet_;
  std::size_t passed_ = 0, failed_ = 0;
};

// "x.model" of "x.cases.json".
fs::path model_of(const fs::path& cases) {
  const std::string name = cases.filename().string();
  return cases.parent_path() / (name.substr(0, name.find('.')) + ".model");
}

}  // namespace

int golden_tokenizers_verb(const std::vector<std::string>& words) {
  Arguments a("data golden FOLDER [flags]",
              "Runs the cases of a folder: NAME_cases.json beside NAME.tiktoken or "
              "NAME.tokenizer.json, *.cases.json beside tokenizer.json files, "
              "train_cases.json.\nThe last line counts them; exit code 4 where "
              "one failed.");
  a.flags()("quiet", po::bool_switch(), "the last line alone");
  a.positional("folder");
  if (!a.parse(words)) return 0;
  a.require("folder", "the folder of cases");
  const fs::path folder = a.text("folder");
  if (!fs::is_directory(folder)) fail(Exit::data, "there is no folder {}", folder.string());
  std::vector<fs::path> files;
  for (const auto& item : fs::recursive_directory_iterator(folder)) files.push_back(item.path());
  std::sort(files.begin(), files.end());
  Golden golden(a.flag("quiet"));
  for (const fs::path& f : files) {
    const std::string name = f.filename().string();
    const std::string stem = (f.parent_path() / name.substr(0, name.find('_'))).string();
    if (name == "train_cases.json")
      golden.training(f);
    else if (name == "refuse_cases.json")
      golden.refusals(f);
    else if (name == "shards.json")
      golden.shards(f);
    else if (name.ends_with(".cases.json") && fs::exists(model_of(f)))
      golden.sentence_piece(f);
    else if (name.ends_with(".cases.json"))
      golden.vocabulary(f);
    else if (name.ends_with("_cases.json"))
      for (const std::string& file : {stem + ".tiktoken", stem + ".tokenizer.json"})
        if (fs::exists(file)) golden.published(f, file);
  }
  return golden.conclude();
}

}  // namespace pesuite::cli
