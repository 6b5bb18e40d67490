// Tokenizers: how texts are cut, merged, learned, written and read. Ids of published vocabularies
// are held against by 'pesuite data golden'.
#include "text/tokenizer.h"

#include <gmock/gmock.h>

#include <random>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "tests/scratch.h"
#include "text/added.h"
#include "text/byte_level.h"
#include "text/characters.h"
#include "text/steps.h"
#include "text/unicode.h"

namespace pesuite::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using text::Pattern;
using text::Token;
using namespace text;

std::vector<std::string> pieces(Pattern pattern, std::string_view what) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < what.size();) {
    const std::size_t end = text::end_of_piece(pattern, what, at);
    out.emplace_back(what.substr(at, end - at));
    at = end;
  }
  return out;
}

TEST(Pieces, OfGpt2) {
  EXPECT_THAT(pieces(Pattern::gpt2, "We'll see 12 dogs!  \n x"),
              ElementsAre("We", "'ll", " see", " 12", " dogs", "!", "  \n", " x"));
  EXPECT_THAT(pieces(Pattern::gpt2, "a   "), ElementsAre("a", "   "));
  EXPECT_THAT(pieces(Pattern::gpt2, "'S \xc3\xa9\xe2\x82\xac"),
              ElementsAre("'", "S", " \xc3\xa9", "\xe2\x82\xac"));
}

TEST(Pieces, OfLaterModels) {
  EXPECT_THAT(pieces(Pattern::cl100k, "(ab) 1234\r\n\r\n  c'LL"),
              ElementsAre("(ab", ")", " ", "123", "4", "\r\n\r\n", " ", " c", "'LL"));
  EXPECT_THAT(pieces(Pattern::qwen2, "12 a"), ElementsAre("1", "2", " a"));
  EXPECT_THAT(pieces(Pattern::o200k, "camelCaseIT's //x"),
              ElementsAre("camel", "Case", "IT's", " //", "x"));
}

TEST(Pieces, EndWithTheTextWhateverItIs) {
  std::mt19937 dice(1);
  const std::vector<std::string> signs = {"a",
                                          "B",
                                          "1",
                                          " ",
                                          "\n",
                                          "\r",
                                          "'",
                                          "s",
                                          "!",
                                          "/",
                                          "\xc5\xbf",
                                          "\xcc\x81",
                                          "\xe4\xb8\xad",
                                          "\xc2\x85",
                                          "\xf0\x9f\x98\x80"};
  for (int round = 0; round < 2000; ++round) {
    std::string what;
    for (auto n = dice() % 12; n > 0; --n) what += signs[dice() % signs.size()];
    for (const Pattern p : {Pattern::gpt2, Pattern::cl100k, Pattern::qwen2, Pattern::o200k})
      for (std::size_t at = 0; at < what.size();) {
        const std::size_t end = text::end_of_piece(p, what, at);
        ASSERT_GT(end, at) << what;
        ASSERT_LE(end, what.size()) << what;
        at = end;
      }
  }
}

TEST(Unicode, RepairsEachMaximalPart) {
  EXPECT_EQ(text::repaired("a\xff\xe2\x82z"), "a\xef\xbf\xbd\xef\xbf\xbdz");
  EXPECT_EQ(text::repaired("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd")
      << "a surrogate";
  std::string own;
  const std::string_view fine = "plain \xc3\xa9";
  EXPECT_EQ(text::well_formed(fine, own).data(), fine.data()) << "no copy";
}

// Merges as the definition says, recounting each time.
std::vector<Token> merged_naively(const std::vector<text::Merges::Rule>& rules,
                                  std::string_view piece) {
  std::vector<Token> ids;
  for (const char c : piece) ids.push_back(static_cast<unsigned char>(c));
  for (;;) {
    std::size_t best = rules.size(), place = 0;
    for (std::size_t i = 0; i + 1 < ids.size(); ++i)
      for (std::size_t r = 0; r < best; ++r)
        if (rules[r].left == ids[i] && rules[r].right == ids[i + 1]) best = r, place = i;
    if (best == rules.size()) return ids;
    ids[place] = rules[best].merged;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(place) + 1);
  }
}

TEST(MergesOfPieces, AreThoseOfTheDefinition) {
  std::mt19937 dice(2);
  std::array<Token, 256> bytes{};
  for (Token b = 0; b < 256; ++b) bytes[b] = b;
  for (int round = 0; round < 60; ++round) {
    std::vector<text::Merges::Rule> rules;
    std::vector<Token> known = {'a', 'b', 'c'};
    for (Token id = 256; id < 280; ++id) {
      rules.push_back({known[dice() % known.size()], known[dice() % known.size()], id});
      known.push_back(id);
    }
    const text::Merges merges(bytes, rules);
    for (const std::size_t length : {1, 2, 7, 39, 40, 41, 90}) {
      std::string piece;
      for (std::size_t i = 0; i < length; ++i) piece += "abc"[dice() % 3];
      std::vector<Token> ids;
      merges.encode(piece, ids);
      ASSERT_EQ(ids, merged_naively(rules, piece)) << piece;
    }
  }
}

TEST(Training, TakesTheMostFrequentPairAndOfEqualsTheSmallestIds) {
  text::PieceCounts counts(Pattern::gpt2);
  counts.add("aaa bb bb\n");
  const text::Trained t = text::train_merges(counts, 300);
  const auto texts = [&](std::size_t i) {
    return t.tokens[t.merges[i].first] + "|" + t.tokens[t.merges[i].second];
  };
  EXPECT_EQ(texts(0), "a|a") << "twice, as b|b and ' '|b, whose left ids are larger";
  EXPECT_EQ(texts(1), "b|b");
  EXPECT_EQ(t.counts[0], 2u);
  EXPECT_EQ(t.tokens.size(), 256 + t.merges.size());
}

TEST(Training, GivesAFileThatReadsBackAndWritesEveryText) {
  std::string what;
  for (int i = 0; i < 400; ++i)
    what += "the " + std::to_string(i % 37) + " mergers' m\xc3\xa9rite\n";
  for (const Pattern pattern : {Pattern::gpt2, Pattern::cl100k}) {
    text::PieceCounts counts(pattern);
    counts.add(what);
    const Scratch folder;
    write_file_atomic(
        folder / "tokenizer.json",
        text::hugging_face_text(text::train_merges(counts, 400), pattern, {"<|endoftext|>"}));
    const auto t = text::open_tokenizer(folder.string());
    std::vector<Token> ids;
    t->encode(what + "<|endoftext|>", ids, text::Specials::recognised);
    EXPECT_EQ(ids.back(), static_cast<Token>(t->end_of_text()));
    EXPECT_EQ(t->vocabulary(), ids.back() + 1);
    EXPECT_LT(ids.size(), what.size() / 2);
    EXPECT_EQ(t->decode(ids, true), what);
    ids.clear();
    t->encode("<|endoftext|>", ids);
    EXPECT_GT(ids.size(), 1u) << "text like any other";
  }
}

std::string base64(const std::string& bytes) {
  static constexpr char signs[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t three = 0;
    for (std::size_t j = 0; j < 3; ++j)
      three = three << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0);
    for (std::size_t j = 0; j < 4; ++j)
      out += i + j <= bytes.size() ? signs[three >> (18 - 6 * j) & 63] : '=';
  }
  return out;
}

// Ranks do not say how a text is cut; what they are given with does.
TEST(FilesOfTokenizers, AreCutByThePatternBehindTheirName) {
  const Scratch folder;
  std::string ranks;
  for (int b = 0; b < 256; ++b)
    ranks += base64(std::string(1, static_cast<char>(b))) + " " + std::to_string(b) + "\n";
  ranks += base64("12") + " 256\n" + base64("1212") + " 257\n";
  write_file_atomic(folder / "a.tiktoken", ranks);
  const auto ids_of = [&](const std::string& pattern) {
    std::vector<Token> ids;
    text::open_tokenizer((folder / "a.tiktoken").string() + pattern)->encode("1212", ids);
    return ids;
  };
  EXPECT_EQ(ids_of(""), ids_of(":gpt2"));
  EXPECT_EQ(ids_of(":gpt2"), (std::vector<Token>{257}));
  EXPECT_EQ(ids_of(":cl100k"), (std::vector<Token>{256, '1', '2'}));      // three digits at most
  EXPECT_EQ(ids_of(":qwen2"), (std::vector<Token>{'1', '2', '1', '2'}));  // one
  const auto digest = [&](const char* pattern) {
    return text::open_tokenizer((folder / "a.tiktoken").string() + pattern)->digest();
  };
  EXPECT_NE(digest(":cl100k"), digest(":qwen2"));
}

// Texts and ids of a text, in their order; as Hugging Face's tokenizers 0.23 cut.
TEST(AddedTokens, ComeAlsoOfSpaceThatAnotherTookIn) {
  text::AddedTokens tokens;
  const auto add = [&](Token id, const char* content, bool left, bool right) {
    text::AddedToken t;
    t.id = id, t.content = content, t.lstrip = left, t.rstrip = right;
    tokens.add(t);
  };
  add(256, "<a>", false, true);
  add(257, "  ", false, false);
  add(259, "\n", true, true);
  const auto cut = [&](const char* what) {
    std::vector<std::string> out;
    tokens.cut(
        what, true, [&](Token id) { out.push_back(std::to_string(id)); },
        [&](std::string_view rest, std::size_t) { out.emplace_back(rest); });
    return out;
  };
  EXPECT_EQ(cut("<a>  b"), (std::vector<std::string>{"256", "257", "b"}));
  EXPECT_EQ(cut("<a>   b"), (std::vector<std::string>{"256", "257", " b"}));
  EXPECT_EQ(cut("x\n \n\ny"), (std::vector<std::string>{"x", "259", "y"}));
  EXPECT_EQ(cut("<a> \n<a>"), (std::vector<std::string>{"256", "256"}));
}

// Those of the raw text are cut first, even where nothing is normalized.
TEST(AddedTokens, OfTheNormalizedTextComeSecond) {
  text::PieceCounts counts(Pattern::gpt2);
  counts.add("a b");
  Json j = Json::parse(text::hugging_face_text(text::train_merges(counts, 256), Pattern::gpt2, {}));
  const auto added = [](Token id, const char* content, bool normalized) {
    return Json{{"id", id},        {"content", content}, {"single_word", false},
                {"lstrip", false}, {"rstrip", false},    {"normalized", normalized},
                {"special", false}};
  };
  j["added_tokens"] = {added(256, "  ", false), added(257, "   ", true)};
  const Scratch folder;
  write_file_atomic(folder / "tokenizer.json", j.dump());
  std::vector<Token> ids;
  text::open_tokenizer(folder.string())->encode("   b", ids);
  ASSERT_EQ(ids.size(), 3u);
  EXPECT_EQ(ids[0], 256u);
}

// GPT-2's published tokenizer.json has an unknown token "", which is none.
TEST(FilesOfTokenizers, MayHaveAnEmptyUnknownToken) {
  text::PieceCounts counts(Pattern::gpt2);
  counts.add("the mergers, the mergers");
  Json j = Json::parse(text::hugging_face_text(text::train_merges(counts, 258), Pattern::gpt2, {}));
  const auto opened = [&](const char* unknown) {
    const Scratch folder;
    j["model"]["unk_token"] = unknown;
    write_file_atomic(folder / "tokenizer.json", j.dump());
    return text::open_tokenizer(folder.string());
  };
  std::vector<Token> ids;
  const auto t = opened("");
  t->encode("\xe4\xbd\xa0", ids);
  EXPECT_EQ(t->decode(ids, false), "\xe4\xbd\xa0");
  EXPECT_THROW(opened("<unk>"), Error);
}

// As the repositories of Llama 2 and Mistral have it.
TEST(FilesOfTokenizers, MayBeATokenizerModelInAFolder) {
  const Scratch folder;
  write_file_atomic(folder / "tokenizer.model",
                    read_file(PESUITE_TEST_DIR "/tokenizers/spm/bpe500.model"));
  std::unique_ptr<text::Tokenizer> file;
  try {
    file = text::open_tokenizer((folder / "tokenizer.model").string());
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("needs libsentencepiece"));
    GTEST_SKIP() << e.what();
  }
  EXPECT_EQ(text::open_tokenizer(folder.string())->digest(), file->digest());
}

// Exit code and sentence of what cannot be read.
void refused(const std::string& name, const std::string& content, const std::string& words) {
  const Scratch folder;
  write_file_atomic(folder / name, content);
  try {
    text::open_tokenizer((folder / name).string());
    FAIL() << words;
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Exit::data);
    EXPECT_THAT(e.what(), HasSubstr(words));
  }
}

TEST(FilesOfTokenizers, AreRefusedByNameWhereTheyCannotBeReadExactly) {
  refused("a.tiktoken", "!!!! 0\n", "a.tiktoken:1: is no line of a file of ranks");
  refused("a.tiktoken", "YQ== 0\nYQ== 1\n", "a.tiktoken:2: has the token of line 1 again");
  refused("a.tiktoken", "YQ== 0\nYg== 0\n", "has rank 0 a second time");
  refused("a.tiktoken", "YQ== 99999999999\n", "its rank below");
  refused("a.tiktoken", "YQ== 0\n", "has no token for byte 0x00");
  EXPECT_THROW(text::open_tokenizer("a.tiktoken:gpt5"), Error);
  refused("a.json", "{", "is no JSON table");
  refused("a.json", "[1]", "is no JSON table");
  refused("a.json", "{}", "'model' is null where it should be object");
  refused("a.json", R"({"model": {"type": "WordPiece"}})", "a model of type WordPiece");
  refused("a.json", R"({"model": {"type": "BPE", "vocab": {"a": -1}, "merges": []}})",
          "token 'a' has the id -1");
  refused("a.json", R"({"model": {"type": "BPE", "vocab": {"a": 1, "b": 1}, "merges": []}})",
          "have the same id 1");
  refused("a.json", R"({"model": {"type": "BPE", "vocab": {"a": 1}, "merges": ["a b"]}})",
          "merge 1 merges 'a' and 'b'");
  const std::string model = R"("model": {"type": "BPE", "vocab": {"a": 1}, "merges": []})";
  for (
      const auto& [more, words] :
      {std::pair{R"("normalizer": {"type": "BertNormalizer"})", "the normalizer BertNormalizer"},
       {R"("pre_tokenizer": {"type": "Whitespace"})", "the pre-tokenizer Whitespace"},
       {R"("truncation": {"max_length": 4})", "truncation set"},
       {R"("version": "2.0")", "version \"2.0\" of its layout"},
       {R"("pre_tokenizer": null)", "text outside its vocabulary would vanish"},
       {R"("pre_tokenizer": {"type": "ByteLevel"})", "there is no token for byte 0x00"},
       {R"("pre_tokenizer": {"type": "Split", "behavior": "Isolated", "pattern": {"Regex": "(a"}})",
        "does not compile"}})
    refused("a.json", "{" + model + ", " + more + "}", words);
  refused("a.model", "no model", "is no SentencePiece model");
  refused("tokenizer.model", "IQ== 0\nIg== 1\n", "copy it to NAME.tiktoken");
  refused("a.json", R"({"characters": ["ab"]})", "\"ab\" is no character");
}

std::vector<std::string> cut(const Cutter& cutter, const std::string& text, bool first = true) {
  Pieces pieces;
  pieces.views = {text};
  pieces.first = first;
  cutter(pieces);
  return {pieces.views.begin(), pieces.views.end()};
}
using Texts = std::vector<std::string>;

TEST(Cutters, KeepMatchesAsTheirBehaviorSays) {
  const auto split = [](Behavior b, bool invert = false) {
    return cut(split_at(Needle::literal("-"), b, invert), "the-final--countdown");
  };
  EXPECT_EQ(split(Behavior::removed), (Texts{"the", "final", "countdown"}));
  EXPECT_EQ(split(Behavior::isolated), (Texts{"the", "-", "final", "-", "-", "countdown"}));
  EXPECT_EQ(split(Behavior::merged_with_previous), (Texts{"the-", "final-", "-", "countdown"}));
  EXPECT_EQ(split(Behavior::merged_with_next), (Texts{"the", "-final", "-", "-countdown"}));
  EXPECT_EQ(split(Behavior::contiguous), (Texts{"the", "-", "final", "--", "countdown"}));
  EXPECT_EQ(split(Behavior::removed, true), (Texts{"-", "-", "-"}));
  const auto at = [](const char* pattern) {
    return cut(split_at(Needle::regex(pattern), Behavior::isolated, false), "ab, x");
  };
  EXPECT_EQ(at("\\b"), (Texts{"ab", ", ", "x"}));  // an empty match cuts too
  EXPECT_EQ(at("x*"), (Texts{"a", "b", ",", " ", "x"}));
  EXPECT_EQ(cut(digits(true), "a12 3"), (Texts{"a", "1", "2", " ", "3"}));
  EXPECT_EQ(cut(digits(false), "a12 3"), (Texts{"a", "12", " ", "3"}));
  EXPECT_EQ(cut(metaspace("_", PrependScheme::first, true), "a b"), (Texts{"_a", "_b"}));
  EXPECT_EQ(cut(metaspace("_", PrependScheme::first, true), "a b", false), (Texts{"a", "_b"}));
  EXPECT_EQ(cut(metaspace("_", PrependScheme::always, false), "a b", false), (Texts{"_a_b"}));
}

TEST(Regexes, KnowWhiteSpaceAsUnicodeDoes) {
  const Regex space("\\s+"), other("[^\\s]+");
  EXPECT_EQ(space.find("a\xc2\x85 b", 0), std::pair(std::size_t{1}, std::size_t{4}));  // U+0085
  EXPECT_FALSE(space.find("a\xe1\xa0\x8e", 0));                                        // U+180E
  EXPECT_EQ(other.find(" \xe1\xa0\x8e ", 0), std::pair(std::size_t{1}, std::size_t{4}));
  EXPECT_FALSE(Regex("(?!x)a\\b").find("ab", 0));
  const std::string hard(40, 'a');  // more than any effort for it
  EXPECT_THROW(Regex("^(a+)+[bd]x").find(hard + "cx", 0), Error);
}

// As in Oniguruma: sets in sets (BLOOM's pattern has them), && and lines.
TEST(Regexes, ReadWhatPublishedFilesWrite) {
  const Regex bloom(" ?[^(\\s|[.,!?\xe2\x80\xa6])]+"), letters("[\\p{L}&&[^\\p{Han}]]+");
  EXPECT_EQ(bloom.find("a b(c", 1), std::pair(std::size_t{1}, std::size_t{3}));
  EXPECT_EQ(bloom.find("a|.)d", 1), std::pair(std::size_t{4}, std::size_t{5}));
  EXPECT_EQ(letters.find("\xe4\xb8\xad"
                         "ab\xe4\xb8\xad",
                         0),
            std::pair(std::size_t{3}, std::size_t{5}));
  EXPECT_EQ(Regex("^b").find("a\nb", 0), std::pair(std::size_t{2}, std::size_t{3}));
  EXPECT_THROW(Regex("[a"), Error);
}

TEST(Normalizers, ChangeTextAsUnicodeSays) {
  EXPECT_EQ(unicode_form(Form::nfc)("e\xcc\x81"), "\xc3\xa9");
  EXPECT_EQ(unicode_form(Form::nfd)("\xc3\xa9"), "e\xcc\x81");
  EXPECT_EQ(unicode_form(Form::nfkc)("\xef\xac\x81"), "fi");
  EXPECT_EQ(lower_case()("AB\xc3\x89\xc4\xb0"), "ab\xc3\xa9i\xcc\x87");
  EXPECT_EQ(stripped(true, false)(" a "), "a ");
  EXPECT_EQ(stripped(true, true)("\xe3\x80\x80 "), "");
  EXPECT_EQ(replaced(Needle::regex(" {2,}"), " ")("a   b  c"), "a b c");
  EXPECT_EQ(replaced(Needle::regex("x*"), "-")("axb"), "-a-b-");
  EXPECT_EQ(replaced(Needle::regex("x*"), "-")(""), "");
  EXPECT_EQ(prepended("_")(""), "");
}

TEST(Characters, AreIdsInTheirOrder) {
  std::set<char32_t> seen;
  collect_characters(
      "b\xc3\xa9"
      "a",
      seen);
  const Scratch folder;
  write_file_atomic(folder / "c.json", characters_text(seen));
  const auto t = open_tokenizer((folder / "c.json").string());
  std::vector<Token> ids;
  t->encode("ab\xc3\xa9x", ids);
  EXPECT_EQ(ids, (std::vector<Token>{2, 3, 4, 0}));
  EXPECT_EQ(t->decode(ids), "ab\xc3\xa9\xef\xbf\xbd");
  EXPECT_EQ(t->end_of_text(), 1);
}

}  // namespace
}  // namespace pesuite::testing
