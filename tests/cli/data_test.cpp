// data: texts to ids and back, on stdin and stdout, and vocabularies learned from files.
#include "base/text.h"
#include "tests/cli/fixture.h"

namespace pesuite::testing {
namespace {

class Data : public Run {
 protected:
  Ended data(const std::string& command, const std::string& input) {
    write("input", input);
    write("feed.sh", "exec \"$@\" < input\n");
    return Command(folder_, split("data " + command, ' '), {}, "/bin/sh feed.sh").wait();
  }
};

TEST_F(Data, EncodesAndDecodesLines) {
  EXPECT_EQ(data("encode --tokenizer bytes", "\"ab\"\n{\"text\": \"\\u00e9\"}\n").out,
            "[97,98]\n[195,169]\n");
  EXPECT_EQ(data("decode --tokenizer bytes", "[97,10]\n[195]\n").out, "\"a\\n\"\n\"\xef\xbf\xbd\"\n");
  EXPECT_EQ(data("decode --tokenizer bytes --raw", "[97,195]\n").out, "a\xc3");
  for (const auto& [input, words] :
       {std::pair{"nonsense\n", "line 1 of stdin is no JSON"},
        {"\"a\"\n{\"txt\": 1}\n", "line 2 of stdin is neither a string"}}) {
    const Ended e = data("encode --tokenizer bytes", input);
    EXPECT_EQ(e.code, 5);
    EXPECT_NE(e.err.find(words), std::string::npos) << e.err;
  }
  EXPECT_EQ(data("decode --tokenizer bytes", "[-1]\n").code, 5);
  EXPECT_EQ(data("decode --tokenizer bytes", "[256]\n").code, 5);
  EXPECT_EQ(data("encode --tokenizer nowhere", "").code, 2);
  EXPECT_EQ(data("encode", "").code, 2);
}

TEST_F(Data, LearnsTheSameFileWithAnyNumberOfThreads) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += fmt::format("line {} of {} lines\n", i, i * 7 % 91);
  write("a.txt", text), write("b.txt", text + "without an end");
  const auto learned = [&](const std::string& threads) {
    const Ended e = pesuite({"data", "train-tokenizer", "a.txt", "b.txt", "--vocabulary", "400",
                             "--threads", threads, "-o", "t" + threads + ".json"});
    EXPECT_EQ(e.code, 0) << e.err;
    return slurp(folder_ / ("t" + threads + ".json"));
  };
  const std::string one = learned("1");
  EXPECT_EQ(learned("3"), one);
  EXPECT_EQ(data("encode --tokenizer t1.json --file a.txt --count", "").code, 0);
  EXPECT_EQ(pesuite({"data", "train-tokenizer", "nowhere.txt", "-o", "x"}).code, 5);
  EXPECT_EQ(pesuite({"data", "train-tokenizer", "a.txt", "--vocabulary", "100", "-o", "x"}).code, 2);
}

}  // namespace
}  // namespace pesuite::testing
