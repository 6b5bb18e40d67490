// Token files, folders of shards, and what tells copies of documents from others.
#include <gtest/gtest.h>

#include <fstream>

#include "data/documents.h"
#include "data/examine.h"
#include "data/likeness.h"
#include "data/shards.h"
#include "data/tokenize.h"
#include "tests/failure.h"
#include "tests/scratch.h"

namespace pesuite::data {
namespace {

using pesuite::testing::Scratch;

void put(const fs::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}
std::string words_of(std::initializer_list<std::int32_t> words) {
  std::string out(1024, '\0');
  std::size_t at = 0;
  for (const std::int32_t w : words) std::memcpy(out.data() + 4 * at++, &w, 4);
  return out;
}
std::string narrow(int n) {
  std::string out;
  for (int i = 0; i < n; ++i) out += std::string{static_cast<char>(i), '\x01'};
  return out;
}
// Why a file is no file of tokens; "" where it is.
std::string why(const fs::path& folder, const std::string& bytes) {
  put(folder / "x.bin", bytes);
  try {
    const pes::TokenFile file(folder / "x.bin");
    return "";
  } catch (const std::runtime_error& e) {
    return e.what();
  }
}

TEST(TokenFile, ReadsNanoGptAndBothKindsOfLlmC) {
  const Scratch folder;
  put(folder / "a.bin", narrow(5));
  const pes::TokenFile a(folder / "a.bin");
  EXPECT_EQ(a.size(), 5u);
  EXPECT_EQ(a[4], 260u);
  EXPECT_FALSE(a.has_header());
  put(folder / "b.bin", words_of({20240520, 1, 5}) + narrow(5));
  const pes::TokenFile b(folder / "b.bin");
  EXPECT_EQ(b.size(), 5u);
  EXPECT_EQ(b[0], 256u);
  put(folder / "c.bin", words_of({20240801, 7, 2}) + std::string("\x01\0\x02\0\xff\xff\0\0", 8));
  const pes::TokenFile c(folder / "c.bin");
  EXPECT_EQ(c.bytes_per_token(), 4);
  EXPECT_EQ(c[0], 0x20001u);
  EXPECT_EQ(c[1], 0xffffu);
}

TEST(TokenFile, RefusesWhatIsNone) {
  const Scratch folder;
  const auto says = [&](const std::string& bytes, const std::string& words) {
    EXPECT_NE(why(folder, bytes).find(words), std::string::npos) << why(folder, bytes);
  };
  says("", "is empty");
  says("abc", "no whole number of tokens");
  says(words_of({20240520, 1, 5}).substr(0, 500), "is cut");
  says(words_of({20240520, 2, 5}) + narrow(5), "version 2");
  says(words_of({20240520, 1, 6}) + narrow(5), "says that it holds 6 tokens");
  says(words_of({20240520, 1, 4}) + narrow(5), "says that it holds 4 tokens");
  says(words_of({20240520, 1, -1}) + narrow(5), "-1 tokens");
  says(words_of({20240520, 1, 2147483647}) + narrow(5), "2147483647");
  says(words_of({20240520, 1, 5}) + narrow(10), "has 20 bytes");  // uint32 behind the other magic
  says(words_of({20240520, 1, 0}), "holds no token");
  says(words_of({20240521, 1, 5}) + narrow(5), "none of 20240520");
  says(words_of({20240522, 1, 5}) + narrow(5), "multiple-choice");
  EXPECT_EQ(why(folder, words_of({20240521, 1, 7}) + narrow(5)), "");  // nobody's header: tokens
}

TEST(Documents, AreReadFromEveryLayout) {
  const Scratch folder;
  put(folder / "a.txt", "\xEF\xBB\xBFone\r\n");
  put(folder / "b.jsonl", "{\"id\": {\"text\": 1}, \"text\": \"tw\\u00f6\\n\"}\n\n{\"text\":\"\"}");
  put(folder / "c.bin", std::string("a\0b", 3));
  std::vector<std::string> texts;
  const auto all = open_documents({fs::path(folder)});
  for (Document d; all->next(d);) texts.push_back(d.text);
  EXPECT_EQ(texts, (std::vector<std::string>{"one\r\n", "tw\xc3\xb6\n", ""}));
  EXPECT_EQ(all->skipped(), 1u);
  Document d;
  EXPECT_TRUE(open_documents({folder / "c.bin"})->next(d));  // named, so read as it stands
  EXPECT_EQ(d.text, std::string("a\0b", 3));
  put(folder / "s.txt", "a\nb\n<|e|>\nc\n<|e|>\n<|e|>\nd");
  DocumentOptions options;
  options.separator = "<|e|>";
  texts.clear();
  const auto parts = open_documents({folder / "s.txt"}, options);
  while (parts->next(d)) texts.push_back(d.text);
  EXPECT_EQ(texts, (std::vector<std::string>{"a\nb\n", "c\n", "", "d"}));
}

TEST(Documents, GoOnFromAPlace) {
  const Scratch folder;
  std::string lines;
  for (int i = 0; i < 50; ++i) lines += fmt::format("{{\"text\": \"document {}\"}}\n", i);
  put(folder / "a.jsonl", lines), put(folder / "b.jsonl", lines);
  const auto whole = open_documents({fs::path(folder)});
  Document d;
  for (int i = 0; i < 70; ++i) ASSERT_TRUE(whole->next(d));
  const auto rest = open_documents({fs::path(folder)}, {}, whole->cursor());
  for (Document e; whole->next(d);) {
    ASSERT_TRUE(rest->next(e));
    EXPECT_EQ(d.text, e.text);
  }
  EXPECT_FALSE(rest->next(d));
}

TEST(Documents, LongOnesAreCutBehindALine) {
  const Scratch folder;
  std::string text;
  for (int i = 0; i < 4000; ++i) text += fmt::format("line {} of\n  many\nmore\n\n", i);
  put(folder / "a.txt", text), put(folder / "b.txt", std::string(5000, 'x'));
  DocumentOptions options;
  options.longest = 1000;
  std::string again;
  const auto all = open_documents({folder / "a.txt"}, options);
  for (Document d; all->next(d); again += d.text) {
    EXPECT_LE(d.text.size(), 1000u);
    EXPECT_TRUE(d.text.starts_with("line 0") || d.text.starts_with("more")) << d.text.substr(0, 20);
  }
  EXPECT_EQ(again, text);
  int parts = 0;
  const auto one_line = open_documents({folder / "b.txt"}, options);
  for (Document d; one_line->next(d);) ++parts;
  EXPECT_EQ(parts, 5);
}

TEST(Documents, DamageIsASentence) {
  const Scratch folder;
  const auto says = [&](const std::string& name, const std::string& bytes,
                        const std::string& words) {
    put(folder / name, bytes);
    EXPECT_NE(pesuite::testing::failure([&] {
                const auto all = open_documents({folder / name});
                for (Document d; all->next(d);) {
                }
              }).find(words),
              std::string::npos)
        << name;
  };
  says("a.jsonl", "{\"text\": 1}", "has no text in its field 'text'");
  says("b.jsonl", "{\"text\": \"a\"}\n{\"tex\": \"b\"}", "line 2 has no field 'text'");
  says("c.jsonl", "{\"text\": \"a", "line 1 is no JSON");
  says("d.jsonl", "[1]", "is no JSON object");
  says("e.txt.gz", "no gzip at all", "is damaged");
  says("f.txt.zst", "no zstd at all", "is damaged");
}

std::string story(int seed, int words) {
  std::string out;
  for (int i = 0; i < words; ++i)
    out += fmt::format("w{} ", (seed * 7919 + i * i * 31 + i * seed) % 997);
  return out;
}

TEST(Likeness, NearDocumentsAreFoundAndOthersAreNot) {
  std::vector<Sketch> all;
  std::vector<std::uint8_t> group;
  for (int i = 0; i < 200; ++i) all.push_back(sketch_of(story(i, 400))), group.push_back(0);
  std::string changed = story(17, 400);
  changed.replace(100, 4, "else");
  all.push_back(sketch_of(changed)), group.push_back(1);
  all.push_back(sketch_of(story(500, 400))), group.push_back(1);
  const auto other = near_other(all, group), earlier = near_earlier(all);
  EXPECT_TRUE(other[200]);
  EXPECT_FALSE(other[201]);
  EXPECT_TRUE(earlier[200]);
  EXPECT_EQ(std::count(earlier.begin(), earlier.end(), true), 1);
  EXPECT_EQ(sketch_of("A word, and then some more."),
            sketch_of("a WORD and then (some) more"));  // words alone count
}

TEST(HashSet, KnowsWhatWasPut) {
  HashSet set;
  for (std::uint64_t i = 0; i < 5000; ++i) EXPECT_TRUE(set.insert(i * i * 0x9e3779b97f4a7c15u));
  for (std::uint64_t i = 0; i < 5000; ++i) EXPECT_FALSE(set.insert(i * i * 0x9e3779b97f4a7c15u));
}

TEST(ShardWriter, GoesOnFromItsState) {
  const Scratch a, b;
  const auto document = [](std::uint32_t i) { return std::vector<Token>(3 + i % 5, i); };
  for (const Format format : {Format::nanogpt, Format::llmc}) {
    ShardWriter whole(a, "train", format, 2, 50);
    for (std::uint32_t i = 0; i < 40; ++i) whole.add(document(i), i);
    const std::vector<Shard> expected = whole.finish();
    for (const std::uint32_t stop : {1u, 7u, 8u, 9u, 20u, 39u}) {
      Json state;
      {
        ShardWriter first(b, "train", format, 2, 50);
        for (std::uint32_t i = 0; i < stop; ++i) first.add(document(i), i);
        first.sync();
        state = first.state();
        for (std::uint32_t i = stop; i < std::min(stop + 11, 40u); ++i)
          first.add(document(i + 1), 1);
        first.sync();
      }
      ShardWriter second(b, "train", format, 2, 50);
      second.resume(state);
      for (std::uint32_t i = stop; i < 40; ++i) second.add(document(i), i);
      const std::vector<Shard> shards = second.finish();
      ASSERT_EQ(shards.size(), expected.size());
      for (std::size_t s = 0; s < shards.size(); ++s) {
        EXPECT_EQ(shards[s].sha256, expected[s].sha256);
        EXPECT_EQ(shards[s].bytes, expected[s].bytes);
        EXPECT_EQ(sha256_file((a / shards[s].file).replace_extension(".idx")),
                  sha256_file((b / shards[s].file).replace_extension(".idx")));
      }
    }
  }
}

TEST(Tokenize, SplitsShareNoDocumentAndDecodeByteForByte) {
  const Scratch in, out;
  for (int i = 0; i < 200; ++i)
    put(in / fmt::format("{:03}.txt", i), story(i / 2, 50) + "\xff\xc3 no UTF-8");  // each twice
  TokenizeOptions o;
  o.paths = {fs::path(in)};
  o.tokenizer = "bytes";
  o.validation_share = 0.3, o.filler_share = 0.2;
  o.shard_tokens = 5000;
  o.threads = 3;
  const std::atomic<bool> stop{false};
  Manifest m;
  for (const Format format : {Format::nanogpt, Format::llmc}) {
    o.format = format;
    const fs::path folder = out / std::string(format_name(format));
    ASSERT_TRUE(tokenize(
        o, folder, stop, [](const TokenizeProgress&) {}, m));
    EXPECT_EQ(m.notes["exact_copies_left_out"], 100);
    EXPECT_GT(m.shards.size(), 3u);
    EXPECT_EQ(verify_shards(folder, 2, [](const std::string&) {}), std::vector<std::string>());
    const auto sources = open_documents(o.paths);
    const Against against = verify_against(folder, *sources, [](const std::string&) {});
    EXPECT_EQ(against.found, 200u) << against.first_missing;
    for (const SplitSummary& s : summarise(m, folder, [](const std::string&) {}))
      EXPECT_GT(s.documents, 5u) << s.split;
  }
}

TEST(Tokenize, GoesOnWhereItWasStopped) {
  const Scratch in, out;
  std::string lines;
  for (int i = 0; i < 3000; ++i) lines += Json{{"text", story(i, 300)}}.dump() + "\n";
  put(in / "a.jsonl", lines);
  TokenizeOptions o;
  o.paths = {fs::path(in)}, o.tokenizer = "bytes", o.threads = 2, o.shard_tokens = 1'000'000;
  Manifest whole, pieces;
  std::atomic<bool> stop{false};
  ASSERT_TRUE(tokenize(
      o, out / "whole", stop, [](const TokenizeProgress&) {}, whole));
  int calls = 0;
  const auto after_one = [&](const TokenizeProgress&) { stop = true; };
  while (!tokenize(o, out / "pieces", stop, after_one, pieces) && calls < 20) ++calls, stop = false;
  EXPECT_GE(calls, 3);
  EXPECT_EQ(to_json(whole), to_json(pieces));
  EXPECT_FALSE(fs::exists(out / "pieces/tokenize.state"));
  // another text into the same folder is refused, and loses nothing
  put(in / "b.jsonl", lines);
  EXPECT_NE(pesuite::testing::failure([&] {
              tokenize(
                  o, out / "pieces", stop, [](const TokenizeProgress&) {}, pieces);
            }).find("holds shards of other text"),
            std::string::npos);
  EXPECT_EQ(verify_shards(out / "pieces", 1, [](const std::string&) {}),
            std::vector<std::string>());
}

// Whatever layout a folder's tokenizer has: the tokens are read without that folder.
TEST(Tokenize, KeepsTheTokenizerOfAFolder) {
  for (const auto& [name, content] : {std::pair{"tokenizer.json", "{}"},
                                      {"vocab.json", "{\"a\": 0}"},
                                      {"merges.txt", "#version: 0.2"},
                                      {"tokenizer.model", "pieces"}}) {
    const Scratch from, to;
    put(from / name, content);
    Manifest m;
    keep_tokenizer(from.string(), to, m);
    EXPECT_EQ(read_file(to / m.tokenizer_file / name), content);
  }
}

TEST(Verify, FindsEveryKindOfDamage) {
  const Scratch in, out;
  for (int i = 0; i < 60; ++i) put(in / fmt::format("{}.txt", i), story(i, 80));
  TokenizeOptions o;
  o.paths = {fs::path(in)}, o.tokenizer = "bytes", o.validation_share = 0.3;
  const std::atomic<bool> stop{false};
  Manifest m;
  ASSERT_TRUE(tokenize(
      o, out / "good", stop, [](const TokenizeProgress&) {}, m));
  const auto says = [&](const std::string& file, const std::function<void(std::string&)>& damage,
                        const std::string& words) {
    const fs::path bad = out / "bad";
    fs::remove_all(bad);
    fs::copy(out / "good", bad);
    std::string bytes = read_file(bad / file);
    damage(bytes);
    write_file_atomic(bad / file, bytes);
    std::string found;
    for (const std::string& p : verify_shards(bad, 1, [](const std::string&) {})) found += p + "\n";
    EXPECT_NE(found.find(words), std::string::npos) << file << ": " << found;
  };
  says(
      "train_000000.bin", [](std::string& b) { b[100] ^= 1; }, "is not what was written");
  says(
      "train_000000.bin", [](std::string& b) { b.resize(b.size() - 2); }, "was cut or exchanged");
  says(
      "train_000000.bin", [](std::string& b) { b.pop_back(); }, "no whole number");
  says(
      "val_000000.bin", [](std::string& b) { b[101] = 9; }, "outside the vocabulary of 256");
  says(
      "val_000000.idx", [](std::string& b) { b[8] = '\xff', b[9] = '\x7f'; }, "begins at token");
  says(
      "tokens.txt", [](std::string& b) { b.back() = ' '; }, "does not belong");
}

}  // namespace
}  // namespace pesuite::data
