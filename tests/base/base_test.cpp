// Random numbers, text and files.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <filesystem>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/isolate.h"
#include "base/json.h"
#include "base/seal.h"
#include "base/text.h"
#include "base/toml.h"
#include "pesuite/random.hpp"
#include "tests/scratch.h"

namespace pesuite {
namespace {

using testing::Scratch;

// Known answers of Philox4x32-10 (Salmon et al. 2011, the Random123 test vectors).
TEST(Texts, StandInXmlAsTheyAre) {
  EXPECT_EQ(xml_text("a<b> & \"c\" 'd'"), "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
  EXPECT_EQ(xml_text("one\ntwo\tthree"), "one&#10;two&#9;three");
  EXPECT_EQ(xml_text("\x1b[1m\xff"), "\\u{1b}[1m\ufffd") << "XML cannot hold them";
}

TEST(Random, PhiloxKnownAnswers) {
  EXPECT_EQ(pes::philox4x32({0, 0, 0, 0}, 0),
            (pes::Block{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}));
  EXPECT_EQ(pes::philox4x32({0xffffffffu, 0xffffffffu, 0xffffffffu, 0xffffffffu}, ~0ull),
            (pes::Block{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}));
  EXPECT_EQ(
      pes::philox4x32({0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u}, 0x299f31d0a4093822u),
      (pes::Block{0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}));
}

TEST(Random, StreamsDoNotDependOnOrder) {
  pes::Random a(1, 2, 3), b(1, 2, 4);
  const std::uint64_t first = a.bits64();
  b.bits64();
  EXPECT_EQ(pes::Random(1, 2, 3).bits64(), first);
  EXPECT_NE(pes::Random(1, 2, 4).bits64(), first);
  EXPECT_NE(pes::Random(2, 2, 3).bits64(), first);
  EXPECT_NE(pes::Random(1, 3, 3).bits64(), first);
}

TEST(Random, BelowIsUniform) {
  pes::Random r(7, 7, 7);
  std::vector<int> counts(6);
  constexpr int n = 60000;
  for (int i = 0; i < n; ++i) ++counts[r.below(6)];
  double chi2 = 0;
  for (const int c : counts) chi2 += (c - n / 6.0) * (c - n / 6.0) / (n / 6.0);
  EXPECT_LT(chi2, 20.5);  // p = 0.001 at 5 degrees of freedom
  for (int i = 0; i < 100; ++i) {
    const int x = r.between(-3, 3);
    EXPECT_GE(x, -3);
    EXPECT_LE(x, 3);
  }
}

TEST(Random, NormalQuantileAgreesWithBoost) {
  const boost::math::normal law;
  for (double p :
       {1e-300, 1e-20, 1e-9, 1e-4, 0.01, 0.07, 0.0751, 0.3, 0.5, 0.6, 0.9251, 0.99, 1 - 1e-12})
    EXPECT_NEAR(pes::normal_quantile(p), boost::math::quantile(law, p),
                1e-14 * (1 + std::fabs(boost::math::quantile(law, p))))
        << p;
}

TEST(Random, NormalHasItsMoments) {
  pes::Random r(3, 1, 4);
  double m1 = 0, m2 = 0, m4 = 0;
  constexpr int n = 200000;
  for (int i = 0; i < n; ++i) {
    const double x = r.normal();
    m1 += x / n, m2 += x * x / n, m4 += x * x * x * x / n;
  }
  EXPECT_NEAR(m1, 0, 4 / std::sqrt(n));
  EXPECT_NEAR(m2, 1, 4 * std::sqrt(2.0 / n));
  EXPECT_NEAR(m4, 3, 4 * std::sqrt(96.0 / n));
}

TEST(Random, PortableLogIsALog) {
  for (double x :
       {1e-310, 1e-300, 0.1, 0.5, 0.7071, 0.70711, 1.0, 1.4142, 1.4143, 2.0, 10.0, 1e300})
    EXPECT_NEAR(pes::portable_log(x), std::log(x), 4e-16 * std::max(1.0, std::fabs(std::log(x))))
        << x;
}

TEST(Text, NearestFindsSlips) {
  const std::vector<std::string> names = {"rope", "yarn", "alibi", "sinusoidal"};
  EXPECT_EQ(nearest("yran", names), "yarn");
  EXPECT_EQ(nearest("sinusodial", names), "sinusoidal");
  EXPECT_EQ(nearest("transformer", names), "");
  EXPECT_EQ(nearest("D", std::vector<std::string>{"A", "B"}), "");
}

TEST(Text, CountsAndUnits) {
  double x = 0;
  EXPECT_TRUE(parse_count("2.4B", x));
  EXPECT_EQ(x, 2.4e9);
  EXPECT_TRUE(parse_count("300k", x));
  EXPECT_EQ(x, 3e5);
  for (const char* bad : {"", "B", "2.4X", "2 4", "x"}) EXPECT_FALSE(parse_count(bad, x)) << bad;
  EXPECT_EQ(format_count(58720256), "58.7M");
  EXPECT_EQ(format_count(999.9), "1k");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_seconds(3723), "1:02:03");
  EXPECT_EQ(format_fixed(std::numeric_limits<double>::infinity(), 2), "∞");
  EXPECT_EQ(format_fixed(-0.00001, 4), "0.0000") << "no sign where nothing is left";
  EXPECT_EQ(format_fixed(-0.00006, 4), "-0.0001");
  EXPECT_TRUE(glob_match("rope*", "rope_mismatched"));
  EXPECT_FALSE(glob_match("rope", "rope_mismatched"));
  EXPECT_TRUE(glob_match("?o*e*", "rope_mismatched"));
  EXPECT_TRUE(glob_match("**", ""));
  std::string pattern;
  for (int i = 0; i < 30; ++i) pattern += "*a";
  EXPECT_FALSE(glob_match(pattern + "*b", std::string(60, 'a'))) << "in no time";
}

TEST(Text, IsShownAndNotActedOn) {
  EXPECT_EQ(printable("rope·64 → ∞"), "rope·64 → ∞");
  EXPECT_EQ(printable("a\x1b[31m\u202e\x7f\n\tb"), "a\\u{1b}[31m\\u{202e}\\u{7f}  b");
  EXPECT_EQ(printable("a\n\tb\r", true), "a\n\tb ");
  EXPECT_EQ(printable("a\xff\xc0z"), "a\ufffd\ufffdz");
  EXPECT_TRUE(is_utf8("caf\u00e9 \U0001f600"));
  for (const char* bad :
       {"caf\xe9", "\xc3", "\xf8\x88\x80\x80\x80", "\xed\xa0\x80", "\xe0\x80\x80"})
    EXPECT_FALSE(is_utf8(bad)) << bad;
  EXPECT_EQ(why_no_name("rope(base=1e4) => yarn", 100), "");
  for (const std::string bad : {"", "  ", " a", "a ", "a\nb", "a\u200bb", "a\xff"})
    EXPECT_NE(why_no_name(bad, 100), "") << bad;
  EXPECT_EQ(why_no_name(std::string(101, 'a'), 100),
            "is 101 bytes long, at most 100 are shown and name files");
  EXPECT_EQ(csv_table({{"=cmd|' /C calc'!A0", "+1+1", "@x", "-x"},
                       {"-0.5", "+1.5e-3", "-", "a,\"b\"\n"}}),
            "'=cmd|' /C calc'!A0,'+1+1,'@x,'-x\n-0.5,+1.5e-3,-,\"a,\"\"b\"\" \"\n");
  EXPECT_EQ(plain_table({{"a\x1b", "b"}}), "a\\u{1b}  b\n");
}

TEST(File, AppearsWholeOrNotAtAll) {
  const Scratch folder;
  const fs::path path = folder / "a/b.txt";
  write_file_atomic(path, "first");
  {
    AtomicFile abandoned(path);
    abandoned.write("half");
  }
  EXPECT_EQ(read_file(path), "first");
  write_file_atomic(path, "second");
  EXPECT_EQ(read_file(path), "second");
  EXPECT_EQ(std::distance(fs::directory_iterator(path.parent_path()), fs::directory_iterator()), 1)
      << "temporary files stay behind";
  append_file(path, "+");
  EXPECT_EQ(read_file(path), "second+");
}

TEST(File, ErrorsNameTheFile) {
  try {
    read_file("/no/such/file");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Exit::data);
    EXPECT_STREQ(e.what(), "cannot open /no/such/file: No such file or directory");
  }
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(File, PipesAreNotWaitedFor) {
  const Scratch folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0666), 0);
  EXPECT_THROW(read_file(folder / "pipe"), Error);
}

TEST(File, ALockEndsWithItsProcessWhateverItHasForked) {
  const Scratch folder;
  const fs::path file = folder / ".lock";
  int stay[2];
  ASSERT_EQ(::pipe(stay), 0);
  const pid_t holder = ::fork();
  if (holder == 0) {
    FileLock lock(file);
    const bool taken = lock.try_take();
    if (::fork() == 0) {  // lives on until the test has looked
      ::close(stay[1]);
      char c;
      ::_exit(static_cast<int>(::read(stay[0], &c, 1)));
    }
    ::_exit(taken ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(holder, &status, 0), holder);
  EXPECT_EQ(status, 0);
  FileLock lock(file);
  EXPECT_TRUE(lock.try_take());
  for (const int fd : stay) ::close(fd);
}

TEST(File, ThatCannotBeOpenedIsNotTakenForDamaged) {
  const Scratch folder;
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);  // whose file nobody can open
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  (folder / "s").string().copy(at.sun_path, sizeof at.sun_path - 1);
  ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
  EXPECT_THROW(is_sealed(folder / "s"), Unopened);
  EXPECT_FALSE(is_sealed(folder / "absent"));
  ::close(socket);
}

TEST(File, SealsTellDamage) {
  const Scratch folder;
  const fs::path file = folder / "a.jsonl";
  EXPECT_FALSE(is_sealed(file));
  write_sealed(file, "{\"x\":1}\n{\"x\":2}\n");
  EXPECT_EQ(read_sealed(file), "{\"x\":1}\n{\"x\":2}\n");
  const std::string whole = read_file(file);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    write_file_atomic(file, damaged);
    EXPECT_FALSE(is_sealed(file)) << i;
    write_file_atomic(file, whole.substr(0, i));
    EXPECT_FALSE(is_sealed(file)) << i;
  }
  write_sealed(file, "");
  EXPECT_EQ(read_sealed(file), "");
  write_file_atomic(file, "{\"x\":1}\n");  // of before there were seals
  EXPECT_FALSE(is_sealed(file));
  EXPECT_EQ(checksum("abc"), "78af5f94892f3950") << "XXH3, whose numbers all its programs share";
}

TEST(Toml, RefusesKeysWithoutEnd) {
  std::string key = "a";
  for (int i = 0; i < 50000; ++i) key += ".a";
  for (const std::string& text : {key + " = 1\n", "[" + key + "]\n", "b = {" + key + " = 1}\n"}) {
    const Toml toml = parse_toml("x = 1\n" + text, "f");
    ASSERT_EQ(toml.problems.size(), 1u);
    EXPECT_EQ(toml.problems[0].where, "f:2:1");
  }
  const std::string dots(500, '.');
  const std::string text = fmt::format("a = \"{0}\"\nb = '''{0}\n{0}'''\n# {0}\nc = 1.5\n", dots);
  EXPECT_TRUE(parse_toml(text, "f").problems.empty());
}

TEST(Isolate, WaitsForNoChildOfTheChild) {
  const auto start = std::chrono::steady_clock::now();
  const Isolated r = run_isolated(
      [] {
        const pid_t grandchild = ::fork();
        if (grandchild == 0)
          for (;;) ::pause();
        return std::to_string(grandchild);
      },
      30);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_LT(took.count(), 10);
  ASSERT_EQ(r.end, Isolated::End::returned) << r.text;
  const pid_t grandchild = std::stoi(r.text);
  bool gone = false;
  for (int i = 0; i < 200 && !gone; ++i) {
    gone = ::kill(grandchild, 0) != 0;
    if (!gone) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(gone);
}

TEST(Isolate, TellsHowItEnded) {
  EXPECT_EQ(run_isolated([] { return std::string(100000, 'x'); }, 10).text.size(), 100000u);
  const Isolated threw = run_isolated([]() -> std::string { fail(Exit::data, "a sentence"); }, 10);
  EXPECT_EQ(threw.end, Isolated::End::threw);
  EXPECT_EQ(threw.code, static_cast<int>(Exit::data));
  EXPECT_EQ(threw.text, "a sentence");
  const Isolated crashed = run_isolated(
      []() -> std::string {
        ::kill(::getpid(), SIGSEGV);
        return "";
      },
      10);
  EXPECT_EQ(crashed.end, Isolated::End::crashed);
  EXPECT_EQ(crashed.text, "crashed with SIGSEGV (Segmentation fault)");
  const Isolated slow = run_isolated(
      [] {
        for (;;) std::this_thread::yield();
        return std::string();
      },
      0.2);
  EXPECT_EQ(slow.end, Isolated::End::timed_out);
  const Isolated greedy = run_isolated([]() -> std::string { throw std::bad_alloc(); }, 10);
  EXPECT_EQ(greedy.end, Isolated::End::crashed) << "no bug of ours";
  EXPECT_EQ(greedy.text, "asked for more memory than there is");
}

TEST(Isolate, RunsManySideBySide) {
  std::vector<std::function<std::string()>> bodies;
  for (int i = 0; i < 7; ++i)
    bodies.push_back([i]() -> std::string {
      if (i == 2) fail(Exit::data, "the third");
      if (i == 4) ::kill(::getpid(), SIGSEGV);
      if (i == 5) ::pause();
      std::this_thread::sleep_for(std::chrono::milliseconds(10 * (7 - i)));
      return std::to_string(i);
    });
  using End = Isolated::End;
  for (const int at_once : {1, 3, 20}) {
    const std::vector<Isolated> all = run_isolated(bodies, 1, at_once);
    ASSERT_EQ(all.size(), 7u);
    for (const int i : {0, 1, 3, 6}) EXPECT_EQ(all[i].text, std::to_string(i));
    EXPECT_EQ(all[2].text, "the third");
    EXPECT_EQ(all[4].end, End::crashed);
    EXPECT_EQ(all[5].end, End::timed_out);
  }
  EXPECT_TRUE(run_isolated(std::vector<std::function<std::string()>>{}, 1, 2).empty());
}

TEST(ToToml, ReadsBackAndWritesNumbersShort) {
  const Json j = Json::parse(R"({"z": 1, "a": 0.003, "b": [0.3, 1, 2.0, "it's"], "t": {"x y": true,
      "c": {"d": "a\\b"}, "none": null}, "list": [{"k": 1e30}, {"k": []}], "mixed": [{"p": 1}, 2]})");
  const std::string text = to_toml(j);
  EXPECT_NE(text.find("a = 0.003\n"), std::string::npos) << text;
  EXPECT_NE(text.find("0.3, 1, 2.0, \"it's\""), std::string::npos) << text;
  const Toml back = parse_toml(text, "t");
  EXPECT_TRUE(back.problems.empty()) << text;
  Json expected = j;
  expected["t"].erase("none");
  EXPECT_EQ(canonical(back.root), canonical(expected)) << text;
}
TEST(Wrap, KeepsWordsWholeAndCountsColumns) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(wrap("", 10), Lines({""}));
  EXPECT_EQ(wrap("one two three", 7), Lines({"one two", "three"}));
  EXPECT_EQ(wrap("a-word-that-is-long b", 5), Lines({"a-word-that-is-long", "b"}));
  EXPECT_EQ(wrap("±± ∞∞ x", 5), Lines({"±± ∞∞", "x"}));
}

}  // namespace
}  // namespace pesuite
