// Protocols: what a text means, and which targets of a document count in which windows.
#include "model/protocol.h"

#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "base/error.h"

namespace pesuite::testing {
namespace {

TEST(Protocols, ReadAndWrite) {
  for (const char* text : {"non_overlapping", "sliding(64)", "last(16)"})
    EXPECT_EQ(parse_protocol(text).text(), text);
  EXPECT_EQ(parse_protocol("sliding(1k)").text(), "sliding(1000)");
  EXPECT_EQ(Protocol().text(), "non_overlapping");
  for (const char* text : {"", "sliding", "sliding(", "sliding()", "sliding(x)", "sliding(0)",
                           "sliding(1.5)", "last(16) ", "non_overlapping(2)", "slding(3)"}) {
    EXPECT_FALSE(find_protocol(text)) << text;
    EXPECT_FALSE(same_targets(text)) << text;
  }
  try {
    parse_protocol("slding(3)");
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(
        e.what(),
        "there is no protocol 'slding(3)'; known are non_overlapping, sliding(64) and last(64)");
  }
}

TEST(Protocols, AreKnownByNameWhereTheirNumberIsWrong) {
  for (const char* text : {"sliding(x)", "last(0)", "last(16)", "non_overlapping"})
    EXPECT_TRUE(names_protocol(text)) << text;
  for (const char* text : {"sliding", "rope", "", "4x", "rope(base=5)"})
    EXPECT_FALSE(names_protocol(text)) << text;
}

// Places of a document whose targets count.
std::multiset<std::int64_t> scored(const Protocol& p, const WindowLengths& all, int length) {
  std::multiset<std::int64_t> out;
  for (const Window& w : p.windows(all, length))
    for (int i = w.first_scored; i < length; ++i) out.insert(w.start + i);
  return out;
}

TEST(Protocols, ScoreTheSameTargetsAtEveryLengthWhereTheySaySo) {
  const WindowLengths all{96, 24};
  for (const char* text : {"non_overlapping", "sliding(8)", "last(16)"}) {
    const Protocol p = parse_protocol(text);
    EXPECT_EQ(p.same_targets(), scored(p, all, 24) == scored(p, all, 40)) << text;
    EXPECT_EQ(p.same_targets(), p.explanation().find("the same tokens") != std::string::npos);
    EXPECT_EQ(p.same_targets(), same_targets(text));
    for (const int length : {24, 40, 96}) {
      const auto places = scored(p, all, length);
      EXPECT_EQ(places.size(), std::set<std::int64_t>(places.begin(), places.end()).size())
          << text << ": a target counts once";
    }
  }
  EXPECT_EQ(scored(Protocol(), all, 24).size(), 96u);
  EXPECT_EQ(scored(parse_protocol("sliding(8)"), all, 24).size(), 24u);
  EXPECT_EQ(*scored(parse_protocol("last(16)"), all, 48).begin(), 96);
}

TEST(Protocols, TellHelpAndSchemasWhatThereIs) {
  EXPECT_EQ(protocol_examples(), "non_overlapping, sliding(64), last(64)");
  const std::regex pattern(protocol_pattern("[0-9]+"));
  for (const char* text : {"non_overlapping", "sliding(8)", "last(16)"})
    EXPECT_TRUE(std::regex_match(text, pattern)) << text;
  EXPECT_FALSE(std::regex_match("sliding(x)", pattern));
}

}  // namespace
}  // namespace pesuite::testing
