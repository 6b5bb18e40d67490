// The guide and the cards it reads: computed from descriptors, so tried on descriptors of our own
// and on all that is built.
#include "plugin/guide.h"

#include <gmock/gmock.h>

#include <cmath>

#include "base/error.h"
#include "plugin/card.h"
#include "tests/catalog.h"

namespace pesuite::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Advice& of(const std::vector<Advice>& all, const std::string& name) {
  for (const Advice& a : all)
    if (a.encoding->card->name == name) return a;
  throw std::out_of_range(name);
}

TEST(GuideRanks, AreReadFromTheCardsWords) {
  EXPECT_EQ(cost_rank("none"), 0);
  EXPECT_EQ(cost_rank("high"), 4);
  EXPECT_EQ(cost_rank("free"), -1);
  EXPECT_EQ(rating_rank("excellent (Press et al. 2021)"), 3);
  EXPECT_EQ(rating_rank("poor"), 0);
  EXPECT_EQ(rating_rank(""), -1);
  EXPECT_EQ(extension_reach("none"), 1);
  EXPECT_EQ(extension_reach("2-8x without training"), 8);
  EXPECT_EQ(extension_reach("128x"), 128);
  EXPECT_TRUE(std::isinf(extension_reach("unlimited (claimed)")));
  EXPECT_TRUE(std::isnan(extension_reach("")));
}

TEST(Guide, ALongerDeploymentRulesOutTables) {
  Question q;
  q.train_length = 512, q.length = 4096;
  EXPECT_EQ(q.stretch(), 8);
  const auto all = advise(built_catalog(), q);
  EXPECT_THAT(of(all, "learned").obstacles, Contains(HasSubstr("not defined past the positions")));
  EXPECT_THAT(of(all, "alibi").obstacles, IsEmpty());
  q.length = 512;
  EXPECT_THAT(of(advise(built_catalog(), q), "learned").obstacles, IsEmpty());
}
TEST(Guide, WishesBecomeObstacles) {
  Question q;
  q.parameter_free = true;
  q.taxonomy = {"relative"};
  const auto all = advise(built_catalog(), q);
  EXPECT_THAT(of(all, "t5").obstacles, Contains("learns parameters"));
  EXPECT_THAT(of(all, "sinusoidal").obstacles, Contains("is not relative"));
  EXPECT_THAT(of(all, "rope").obstacles, IsEmpty());
  bool behind = false;  // those that fit come first, in order of their score
  double last = 1e9;
  for (const Advice& a : all) {
    EXPECT_FALSE(behind && a.fits()) << a.encoding->card->name;
    behind |= !a.fits();
    if (behind) continue;
    EXPECT_LE(a.score, last);
    last = a.score;
  }
}
TEST(Guide, WhatNobodyRatedDoesNotFitLongerSequences) {
  Question q;
  q.train_length = 64, q.length = 512, q.parameter_free = true, q.cost = "none";
  for (const char* name : {"binary", "decimal"}) {
    const Advice a = of(advise(built_catalog(), q), name);
    EXPECT_FALSE(a.fits()) << name;
    EXPECT_TRUE(a.unrated) << name;
  }
  q.length = 64;
  EXPECT_TRUE(of(advise(built_catalog(), q), "binary").fits()) << "nothing longer is asked for";
}
TEST(Guide, RefusesWordsThatNobodyUses) {
  const auto refusal = [](const Question& q) -> std::string {
    try {
      advise(built_catalog(), q);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  Question q;
  q.taxonomy = {"cheap"};
  EXPECT_THAT(refusal(q), HasSubstr("no encoding is 'cheap'; they are "));
  q = {};
  q.cost = "free";
  EXPECT_THAT(refusal(q), HasSubstr("known are none, minimal, low, moderate, high"));
  q = {};
  q.pretrained = "ropes";
  EXPECT_THAT(refusal(q), HasSubstr("did you mean 'rope'"));
}

TEST(Cards, OfALibraryForAnOlderInterfaceHaveNoNewFields) {
  pes_card c = *built_catalog().encoding("none").descriptor->card;
  EXPECT_NE(cost_of(c), "");
  c.size = offsetof(pes_card, cost);
  EXPECT_EQ(cost_of(c), "");
  EXPECT_THAT(use_if_of(c), IsEmpty());
  EXPECT_EQ(uses_of(c), 0u);
}
TEST(Cards, SayWhatTheGuideReads) {
  for (const std::string& name : built_catalog().encoding_names()) {
    const pes_card& c = *built_catalog().encoding(name).descriptor->card;
    EXPECT_GE(cost_rank(cost_of(c)), 0) << name << ": cost '" << cost_of(c) << "'";
    EXPECT_FALSE(use_if_of(c).empty()) << name << " does not say when to use it";
    EXPECT_NE(c.bibtex, nullptr) << name;
    if (!rating_of(c).empty()) {
      EXPECT_GE(rating_rank(rating_of(c)), 0) << name << ": " << rating_of(c);
      EXPECT_THAT(rating_of(c), HasSubstr("(")) << name << ": who says so?";
    }
    for (const std::string& other : extends_of(c))
      EXPECT_THAT(built_catalog().encoding_names(), Contains(other)) << name;
  }
}
}  // namespace
}  // namespace pesuite::testing
