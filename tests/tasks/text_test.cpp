// The user's own text: which files count, what is held out, what leaks, what is refused.
#include <unistd.h>
#include <pesuite/options.hpp>

#include <fstream>
#include <numeric>
#include <set>

#include "check/task_check.h"
#include "tasks/corpus/text_leaks.h"
#include "tasks/corpus/text_source.h"
#include "tests/scratch.h"
#include "tests/tasks/tasks.h"

namespace pesuite::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;

class TextTest : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& content) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << content;
  }
  Task open(const std::string& options = "", int max_length = 32) const {
    return make_task(
        fmt::format("text(path='{}'{}{})", folder_.string(), options.empty() ? "" : ", ", options),
        max_length);
  }
  std::string refusal(const std::string& options = "", int max_length = 32) const {
    return error_of([&] { open(options, max_length); });
  }
  static std::string note(const Task& task) { return task.info().note; }

  const Scratch folder_;
};

// `n` bytes of words that no other seed gives, with a blank line after each few of them.
std::string words(std::uint64_t seed, std::size_t n) {
  pes::Random random(seed, pes::purpose("words"), 0);
  std::string text;
  while (text.size() < n) {
    for (std::uint32_t i = random.between(2, 8); i > 0; --i)
      text += static_cast<char>('a' + random.below(26));
    text += random.below(30) == 0 ? "\n\n" : " ";
  }
  text.resize(n);
  return text;
}

std::string decode(const std::vector<std::int32_t>& tokens) {
  std::string text;
  for (const std::int32_t t : tokens) text += static_cast<char>(t - PES_FIRST_SYMBOL);
  return text;
}

Task::Request window(pes_split split, std::uint64_t index, int length, std::int64_t start = -1) {
  return {split, 1, index, length, start, {}};
}

// -------------------------------------------------------------------------------- what text is

TEST(IsText, WantsUtf8WithoutNul) {
  for (const char* good : {"plain", "gr\xc3\xbc\xc3\x9f", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
                           "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf"})
    EXPECT_TRUE(text::is_text(good)) << good;
  for (const char* bad : {"\xff", "\xc3", "a\x80", "\xc0\xaf", "\xe0\x80\x80", "\xf0\x80\x80\x80",
                          "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe2\x82"})
    EXPECT_FALSE(text::is_text(bad)) << bad;
  EXPECT_FALSE(text::is_text(""));
  EXPECT_FALSE(text::is_text(std::string_view("a\0b", 3)));
}

TEST(Digest, TellsTextsApart) {
  std::set<text::Digest> seen;
  std::string s;
  for (int i = 0; i < 100; ++i, s += i % 2 == 0 ? '\0' : 'x') seen.insert(text::digest(s));
  EXPECT_EQ(seen.size(), 100u);
  EXPECT_EQ(text::hexadecimal(text::digest("pesuite")), "51f491a20fa66bdef7cfbfa3f1650839");
}

TEST(Paragraphs, EndAtBlankLinesOrWhenFull) {
  EXPECT_THAT(text::paragraphs("a\nb\n\nc\n \nd"), ElementsAre("a\nb\n\n", "c\n \n", "d"));
  EXPECT_THAT(text::paragraphs(""), IsEmpty());
  const std::string line = std::string(600, 'x') + "\n";
  EXPECT_THAT(text::paragraphs(line + line + line), ElementsAre(line + line, line));
}

TEST_F(TextTest, KeepsTextInSortedOrderAndEachContentOnce) {
  write("b/two.md", words(2, 500));
  write("a.txt", words(1, 500));
  write("c.md", words(1, 500));
  write("image.png", "\x89PNG\xff\xfe");
  write("empty.txt", "");
  fs::create_directory_symlink(folder_, folder_ / "b" / "loop");
  const text::Files files = text::read(folder_);
  EXPECT_THAT(files.texts, ElementsAre(words(1, 500), words(2, 500)));
  EXPECT_EQ(files.skipped, 2);
  EXPECT_EQ(files.duplicates, 1);
  EXPECT_EQ(text::describe(files),
            "2 files (2 skipped, not UTF-8 text, 1 skipped, a copy of another)");
}

TEST_F(TextTest, CountsWhatCannotBeReadAndGoesOn) {
  write("a.txt", words(1, 500));
  write("b/secret.txt", words(2, 500));
  fs::permissions(folder_, fs::perms(0755));
  fs::permissions(folder_ / "b/secret.txt", fs::perms::none);
  const bool root = ::geteuid() == 0;  // who may read everything
  ASSERT_EQ(root ? ::seteuid(65534) : 0, 0);
  std::string found, alone;
  try {
    found = text::describe(text::read(folder_));
    text::read(folder_ / "b/secret.txt");
  } catch (const pes::Refusal& e) {
    alone = e.what();
  }
  ASSERT_EQ(root ? ::seteuid(0) : 0, 0);
  EXPECT_EQ(found, "1 file (1 skipped, cannot be read)");
  EXPECT_THAT(alone, HasSubstr("cannot read '"));
}

TEST_F(TextTest, FindsTheUsersHome) {
  write("x/a.txt", words(1, 500));
  ::setenv("HOME", fs::path(folder_).c_str(), 1);
  EXPECT_EQ(text::at_home("~/x"), folder_ / "x");
  EXPECT_EQ(text::at_home("~"), fs::path(folder_) / ".");
  EXPECT_EQ(text::at_home("a/~/x"), "a/~/x");
  EXPECT_EQ(text::at_home(""), "");
  EXPECT_THAT(note(make_task("text(path='~/x', validation_share=0.3)", 32)), HasSubstr("1 file"));
}

// ------------------------------------------------------------------------------- what is held out

TEST_F(TextTest, HoldsOutTheEndOfFewFiles) {
  write("one.txt", words(1, 8000));
  write("two.txt", words(2, 2000));
  const text::Split parts = text::split(text::read(folder_).texts, 0.2);
  EXPECT_EQ(parts.train + parts.held_out, words(1, 8000) + "\n\n" + words(2, 2000));
  EXPECT_NEAR(static_cast<double>(parts.held_out.size()), 2000, 10);
}

TEST_F(TextTest, CutsBetweenCharacters) {
  std::string euros;
  for (int i = 0; i < 1000; ++i) euros += "\xe2\x82\xac";
  for (const double share : {0.1, 0.1003, 0.1007}) {
    const text::Split parts = text::split({euros}, share);
    EXPECT_TRUE(text::is_text(parts.train));
    EXPECT_TRUE(text::is_text(parts.held_out));
  }
}

TEST_F(TextTest, HoldsOutWholeFilesOfManyByTheirContent) {
  std::vector<std::string> files, reversed;
  for (std::uint64_t i = 0; i < 40; ++i) files.push_back(words(i, 1000));
  reversed.assign(files.rbegin(), files.rend());
  const text::Split a = text::split(files, 0.1), b = text::split(reversed, 0.1);
  EXPECT_NEAR(static_cast<double>(a.held_out.size()), 4000, 10);
  int held_out = 0;
  for (const std::string& file : files) {
    const auto in = [&](const std::string& part) { return part.find(file) != std::string::npos; };
    EXPECT_NE(in(a.train), in(a.held_out));
    EXPECT_EQ(in(a.held_out), in(b.held_out)) << "the order of the files matters";
    held_out += in(a.held_out) ? 1 : 0;
  }
  EXPECT_EQ(held_out, 4);
}

TEST_F(TextTest, NeverHoldsOutOneHugeFile) {
  std::vector<std::string> files;
  files.push_back(words(100, 100000));
  for (std::uint64_t i = 0; i < 20; ++i) files.push_back(words(i, 1000));
  const text::Split parts = text::split(files, 0.1);
  EXPECT_GT(parts.held_out.size(), 8000u);
  EXPECT_LT(parts.held_out.size(), 25000u);
}

TEST_F(TextTest, UsesTrainAndValidationOfAFolderThatHasBoth) {
  write("train.txt", words(1, 3000));
  write("validation.txt", words(2, 1000));
  write("readme.md", words(3, 1000));
  const Task task = open();
  EXPECT_EQ(note(task),
            "1 file for training, 1 file for validation; 3000 bytes to train on, 1000 bytes to "
            "validate and test on");
  const std::string first = decode(sample(task, window(PES_SPLIT_TRAIN, 0, 32)).tokens);
  EXPECT_NE(words(1, 3000).find(first), std::string::npos);
  const Task same = make_task(
      fmt::format("text(train='{0}/train.txt', validation='{0}/validation.txt')", folder_.string()),
      32);
  EXPECT_STREQ(same.info().digest, task.info().digest);
  EXPECT_EQ(std::string(task.info().digest).size(), 64u);
}

TEST_F(TextTest, TellsTrainFromValidationByTheLastWordOfAName) {
  for (const std::string held_out : {"valid", "val", "validation"}) {
    const std::string file = "TinyStoriesV2-GPT4-" + held_out + ".txt";
    write("TinyStoriesV2-GPT4-train.txt", words(1, 3000));
    write(file, words(2, 1000));
    EXPECT_THAT(note(open()), HasSubstr("1 file for training, 1 file for validation; 3000 bytes"))
        << held_out;
    std::filesystem::remove(std::filesystem::path(folder_.string()) / file);
  }
  write("interval.txt", words(2, 1000));  // which ends in a word that is none
  EXPECT_THAT(note(open()), Not(HasSubstr("for validation")));
}

// ------------------------------------------------------------------------------------- examples

TEST_F(TextTest, DeclaresBytes) {
  write("a.txt", words(1, 5000));
  const Task task = open();
  EXPECT_TRUE(task.is_corpus());
  EXPECT_EQ(task.info().inputs, 264);
  EXPECT_EQ(task.info().document, 32);
  EXPECT_EQ(task.info().token_bytes[PES_EOS], 0);
  for (int b = 0; b < 256; ++b) EXPECT_EQ(task.info().token_bytes[PES_FIRST_SYMBOL + b], 1);
  EXPECT_EQ(open("document=100").info().document, 100);
  for (const double nats : sample(task, window(PES_SPLIT_TRAIN, 0, 32)).optimum)
    EXPECT_TRUE(std::isnan(nats));
}

TEST_F(TextTest, TrainsOnWindowsFromAnywhere) {
  write("a.txt", words(1, 2000));
  const Task task = open("", 64);
  const std::string train = words(1, 2000).substr(0, 1800);
  std::set<std::size_t> places;
  Mean place;
  for (std::uint64_t i = 0; i < 20000; ++i) {
    const Example e = sample(task, window(PES_SPLIT_TRAIN, i, 64));
    const std::size_t at = train.find(decode(e.tokens));
    ASSERT_NE(at, std::string::npos);
    EXPECT_EQ(decode(e.targets), train.substr(at + 1, 64));
    places.insert(at);
    place.add(static_cast<double>(at));
  }
  EXPECT_EQ(*places.begin(), 0u);
  EXPECT_EQ(*places.rbegin(), 1800u - 65u);
  expect_mean(place, (1800 - 65) / 2.0, "place");
}

TEST_F(TextTest, ValidatesOnDocumentsSideBySide) {
  write("a.txt", words(1, 40000));
  const Task task = open("document=99", 64);
  const std::string held_out = words(1, 40000).substr(36000);
  std::set<std::size_t> places;
  for (const pes_split split : {PES_SPLIT_VALIDATION, PES_SPLIT_TEST})
    for (std::uint64_t i = 0; i < 20; ++i) {  // 2000 bytes hold 20 documents of 99 + 1
      const std::size_t at = held_out.find(decode(sample(task, window(split, i, 64, 0)).tokens));
      EXPECT_EQ(at / 2000, split == PES_SPLIT_TEST ? 1u : 0u);
      EXPECT_EQ(at % 100, 0u);
      places.insert(at);
      const Example late = sample(task, window(split, i, 64, 35));
      EXPECT_EQ(decode(late.tokens), held_out.substr(at + 35, 64));
      EXPECT_EQ(decode(late.targets), held_out.substr(at + 36, 64));
    }
  EXPECT_EQ(places.size(), 40u);
  EXPECT_THAT(error_of([&] { sample(task, window(PES_SPLIT_TEST, 20, 64, 0)); }),
              HasSubstr("there is no document 20: half of the held-out text has 20 documents of 99 "
                        "bytes, counted from 0"));
  EXPECT_THAT(
      error_of([&] { sample(task, window(PES_SPLIT_TEST, 0, 64, 36)); }),
      HasSubstr("a window of 64 bytes from byte 36 does not fit into a document of 99 bytes"));
}

// The first documents asked for are spread over the text, however few they are.
TEST_F(TextTest, SpreadsTheFirstDocuments) {
  write("a.txt", words(1, 400000));
  const Task task = open("", 99);
  const std::string held_out = words(1, 400000).substr(360000, 20000);
  std::array<int, 4> quarters{};
  for (std::uint64_t i = 0; i < 16; ++i)
    ++quarters[held_out.find(decode(sample(task, window(PES_SPLIT_VALIDATION, i, 99, 0)).tokens)) /
               5000];
  for (const int n : quarters) EXPECT_NEAR(n, 4, 1);
}

TEST_F(TextTest, WindowsOfOneDocumentAgreeInTraining) {
  write("a.txt", words(1, 5000));
  const Task task = open("document=200", 64);
  const std::string all = decode(sample(task, window(PES_SPLIT_TRAIN, 3, 200, 0)).tokens);
  EXPECT_EQ(decode(sample(task, window(PES_SPLIT_TRAIN, 3, 64, 77)).tokens), all.substr(77, 64));
}

TEST_F(TextTest, DigestFollowsTheContent) {
  write("a.txt", words(1, 5000));
  const std::string before = open().info().digest;
  EXPECT_EQ(open().info().digest, before);
  write("a.txt", words(1, 4999) + "!");
  EXPECT_NE(open().info().digest, before);
}

// ---------------------------------------------------------------------------------------- leaks

// A copied paragraph among new ones.
class LeakTest : public TextTest {
 protected:
  LeakTest() {
    for (char& c : copied_)
      if (c == '\n') c = ' ';
    write("train.txt", words(1, 5000) + "\n\n" + copied_ + "\n\n" + words(2, 5000));
    write("validation.txt", words(3, 2000) + "\n\n" + copied_ + "\n\n" + words(4, 2000));
  }
  std::string copied_ = words(9, 300);
};

TEST_F(LeakTest, AreDropped) {
  const Task task = open();
  EXPECT_THAT(note(task),
              HasSubstr(fmt::format("held-out paragraphs (7.0 % of the bytes) stand in the "
                                    "training text, the first begins '{}', and were "
                                    "dropped; 10304 bytes to train on, 4002 bytes to",
                                    copied_.substr(0, 40))));
  std::string all;
  for (const pes_split split : {PES_SPLIT_VALIDATION, PES_SPLIT_TEST})
    for (std::uint64_t i = 0; i < 60; ++i)
      all += decode(sample(task, window(split, i, 32, 0)).tokens) + "|";
  EXPECT_EQ(all.find(copied_.substr(100, 16)), std::string::npos);
}

TEST_F(LeakTest, AreReported) {
  EXPECT_THAT(note(open("leaks=report")), HasSubstr("stand in the training text"));
  EXPECT_THAT(note(open("leaks=report")), Not(HasSubstr("dropped")));
  EXPECT_THAT(note(open("leaks=report")), HasSubstr("4304 bytes to validate"));
}

TEST_F(LeakTest, AreRefused) {
  EXPECT_THAT(refusal("leaks=refuse"), HasSubstr("stand in the training text"));
  EXPECT_THAT(refusal("leaks=refuse"), HasSubstr("leaks=drop leaves them out"));
}

TEST(Leaks, AreCopiesAndNoStockPhrases) {
  const std::string train = words(1, 3000);
  const std::string phrase = train.substr(500, 80);  // 17 of its pieces, of 337 in the paragraph
  const std::string quoting = words(2, 150) + phrase + words(3, 170) + "\n\n";
  const text::Leaks quoted = text::find_leaks(train, quoting);
  EXPECT_THAT(quoted.leaking, IsEmpty());
  const std::string copy = train.substr(500, 200);
  EXPECT_EQ(text::find_leaks(train, copy).leaking.size(), text::paragraphs(copy).size());
  EXPECT_THAT(text::find_leaks(train, train.substr(500, 63)).leaking, IsEmpty()) << "too short";
}

TEST(Leaks, AreFoundInTextsTooLongToIndexWhole) {
  const std::string train = words(1, 12'000'000);  // every third piece is looked at
  const std::string copy = train.substr(7'654'321, 300), own = words(2, 300);
  EXPECT_EQ(text::find_leaks(train, copy).kept.size(), 0u);
  EXPECT_EQ(text::find_leaks(train, own).leaking.size(), 0u);
}

TEST_F(TextTest, PassesTheCheck) {
  write("a.txt", words(1, 300000));
  for (const Finding& f : check_task(open("", 96))) EXPECT_TRUE(f.passed) << f.check << f.detail;
}

// -------------------------------------------------------------------------------------- refusals

TEST_F(TextTest, RefusesWithSentences) {
  const auto message = [](const std::string& expression) {
    return error_of([&] { make_task(expression, 32); });
  };
  EXPECT_THAT(message("text"), HasSubstr("needs text: path='FOLDER or FILE', or both"));
  EXPECT_THAT(message("text(train='a')"), HasSubstr("needs text"));
  EXPECT_THAT(message("text(path='a', train='b', validation='c')"), HasSubstr("needs text"));
  EXPECT_THAT(message("text(path='/nowhere/at/all')"), HasSubstr("there is no '/nowhere/at/all'"));
  EXPECT_THAT(message("text(path='/" + std::string(300, 'a') + "')"),
              MatchesRegex("task 'text': there is no '/a+' \\(File name too long\\)"));
  EXPECT_THAT(refusal(), HasSubstr("holds no UTF-8 text (0 other files, 0 that cannot be read)"));
  write("a.bin", "\xff\xff");
  EXPECT_THAT(refusal(), HasSubstr("holds no UTF-8 text (1 other files, 0 that cannot be read)"));
  EXPECT_THAT(message(fmt::format("text(path='{}/a.bin')", folder_.string())),
              HasSubstr("a.bin' holds no UTF-8 text"));
  write("a.txt", words(1, 300));
  EXPECT_THAT(refusal(), HasSubstr("the held-out text has 30 bytes (1 file (1 skipped, not UTF-8 "
                                   "text)), and each half of it must hold a document of 33 bytes"));
  EXPECT_THAT(refusal("document=20"),
              HasSubstr("lengths up to 32 do not fit into documents of 20 bytes"));
  EXPECT_THAT(refusal("validation_share=0.5", 290),
              HasSubstr("the training text has 150 bytes, too "
                        "few for a document of 291 bytes"));
}

}  // namespace
}  // namespace pesuite::testing
