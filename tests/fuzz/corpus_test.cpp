// The kept inputs of each fuzz target: none may crash, hang, overflow a small stack or end in
// anything but Error.
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

#include "base/isolate.h"
#include "tests/fuzz/fuzz.h"

namespace pesuite::fuzz {

void PrintTo(const Target& t, std::ostream* out) {
  *out << t.name;
}

namespace {

class Corpus : public ::testing::TestWithParam<Target> {};

TEST_P(Corpus, EndsInSentences) {
  constexpr double seconds = 20;  // most take a thousandth of it; hangs took for ever
  std::vector<fs::path> files;
  for (const auto& item :
       fs::directory_iterator(fs::path(PESUITE_TEST_DIR) / "corpus" / GetParam().name))
    files.push_back(item.path());
  std::sort(files.begin(), files.end());
  ASSERT_GT(files.size(), 3u) << "no corpus";
  folder();  // of this process, which removes it
  for (const fs::path& file : files) {
    const std::string input = read_file(file);
    const auto body = [&] {
      limit_stack();
      run(GetParam(), input);
      return std::string();
    };
    const Isolated r = run_isolated(body, seconds);
    EXPECT_EQ(r.end, Isolated::End::returned) << file << ": " << r.text;
  }
}

// A runner that takes everything for a sentence would pass whatever happens.
TEST(CorpusRunner, FindsWhatIsNoSentence) {
  const auto ends = [](void (*body)(std::string_view)) {
    return run_isolated([&] { return run({"", body}, ""), std::string(); }, 20).end;
  };
  using End = Isolated::End;
  EXPECT_EQ(ends([](std::string_view) { fail(Exit::usage, "a sentence"); }), End::returned);
  EXPECT_EQ(ends([](std::string_view) { fail(Exit::internal, "a bug"); }), End::threw);
  EXPECT_EQ(ends([](std::string_view) { PES_CHECK(false); }), End::threw);
  EXPECT_EQ(ends([](std::string_view) { std::abort(); }), End::crashed);
}

INSTANTIATE_TEST_SUITE_P(Fuzz, Corpus, ::testing::ValuesIn(targets()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace pesuite::fuzz
