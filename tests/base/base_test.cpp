// Random numbers, text and files.
#include <gtest/gtest.h>

#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <filesystem>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/isolate.h"
#include "base/json.h"
#include "base/text.h"
#include "base/toml.h"
#include "pesuite/random.hpp"
#include "tests/scratch.h"

namespace pesuite {
namespace {

using testing::Scratch;

// Known answers of Philox4x32-10 (Salmon et al. 2011, the Random123 test vectors).
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
  EXPECT_TRUE(glob_match("rope*", "rope_mismatched"));
  EXPECT_FALSE(glob_match("rope", "rope_mismatched"));
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
}  // namespace
}  // namespace pesuite
