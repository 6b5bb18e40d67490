// The guide and the cards it reads: computed from descriptors, so tried on descriptors of our own
// and on all that is built.
#include "plugin/guide.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <regex>

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
    EXPECT_EQ(a.ground, Advice::Ground::unrated) << name;
  }
  q.length = 64;
  EXPECT_TRUE(of(advise(built_catalog(), q), "binary").fits()) << "nothing longer is asked for";
}
// A row of what was measured, of an encoding as it is.
LengthMeasured row(const std::string& encoding, double holds, double fails, bool telling = false) {
  LengthMeasured m;
  m.encoding = m.expression = encoding, m.suite = "kept", m.task = "lags", m.seeds = 3;
  m.holds = holds, m.fails = fails, m.telling = telling;
  m.verdict =
      fails > 0 ? fmt::format("fails from {:g}x", fails) : fmt::format("holds to {:g}x", holds);
  return m;
}
TEST(Guide, MeasurementsOutweighClaims) {
  using Ground = Advice::Ground;
  Question q;
  q.train_length = 512, q.length = 4096;
  const auto with = [&](const LengthMeasured& m, const std::string& encoding) {
    return of(advise(built_catalog(), q, {{m}, {}}), encoding);
  };
  EXPECT_EQ(of(advise(built_catalog(), q), "alibi").ground, Ground::claimed);
  EXPECT_EQ(with(row("alibi", 8, 0, true), "alibi").ground, Ground::measured);
  EXPECT_EQ(with(row("alibi", 8, 0), "alibi").ground, Ground::claimed) << "nobody fails there";
  EXPECT_EQ(with(row("alibi", 4, 0, true), "alibi").ground, Ground::claimed) << "not so far";
  EXPECT_EQ(with(row("alibi", 2, 16, true), "alibi").ground, Ground::claimed) << "fails later";
  const Advice failed = with(row("alibi", 0, 2), "alibi");
  EXPECT_EQ(failed.ground, Ground::contradicted);
  EXPECT_FALSE(failed.fits());
  // What no paper grants, a measurement may.
  EXPECT_FALSE(of(advise(built_catalog(), q), "rope").fits());
  EXPECT_TRUE(with(row("rope", 8, 0, true), "rope").fits());
  EXPECT_THAT(with(row("binary", 0, 2), "binary").obstacles,
              Contains(HasSubstr("fails from 2x on lags")));
}
TEST(Guide, OneTaskHeldDoesNotOutweighTwoThatOthersHold) {
  Question q;
  q.train_length = 512, q.length = 1024;
  const auto on = [](LengthMeasured m, const std::string& task) { return m.task = task, m; };
  LengthMeasured lost = on(row("alibi", 0, 2), "facts");
  lost.beaten = true;
  Measured all = {{row("alibi", 8, 0, true), lost}, {}};
  const Advice even = of(advise(built_catalog(), q, all), "alibi");
  EXPECT_EQ(even.ground, Advice::Ground::measured);
  EXPECT_THAT(even.reasons,
              Contains("holds on lags where others fail, fails on facts where others hold"));
  all.lengths.push_back(on(row("alibi", 0, 2), "sort"));
  EXPECT_EQ(of(advise(built_catalog(), q, all), "alibi").ground, Advice::Ground::measured)
      << "nobody is shown to sort";
  all.lengths.back().beaten = true;
  EXPECT_EQ(of(advise(built_catalog(), q, all), "alibi").ground, Advice::Ground::contradicted);
}
TEST(Guide, TheMeasuredComeFirstThenTheClaimed) {
  Question q;
  q.train_length = 512, q.length = 1024;
  const auto all =
      advise(built_catalog(), q, {{row("sinusoidal", 2, 0, true), row("fire", 0, 2)}, {}});
  EXPECT_STREQ(all[0].encoding->card->name, "sinusoidal");
  EXPECT_EQ(all[1].ground, Advice::Ground::claimed);
  EXPECT_TRUE(all[1].fits());
  EXPECT_EQ(of(all, "fire").ground, Advice::Ground::contradicted);
}
TEST(Guide, ATrainedModelIsJudgedByRowsOfSuchModels) {
  LengthMeasured swapped = row("yarn", 8, 0, true), own = row("yarn", 0, 2);
  swapped.expression = "rope => yarn(scale=8)", swapped.trained = "rope";
  Question q;
  q.train_length = 512, q.length = 4096;
  const Measured both = {{swapped, own}, {}};
  EXPECT_EQ(of(advise(built_catalog(), q, both), "yarn").ground, Advice::Ground::contradicted);
  q.pretrained = "rope";
  EXPECT_EQ(of(advise(built_catalog(), q, both), "yarn").ground, Advice::Ground::measured);
}
TEST(Guide, SaysWhereClaimAndMeasurementDisagree) {
  const auto said = [](const std::string& encoding, const std::vector<LengthMeasured>& rows) {
    return disagreement(length_claim(*built_catalog().encoding(encoding).descriptor->card), rows);
  };
  EXPECT_EQ(said("alibi", {}), "");
  EXPECT_EQ(said("alibi", {row("alibi", 8, 0, true)}), "");
  EXPECT_EQ(said("alibi", {row("alibi", 0, 4), row("alibi", 0, 2)}),
            "claimed to reach 30x, measured to fail from 2x on lags (kept)");
  EXPECT_EQ(said("rope", {row("rope", 0, 2)}), "") << "as papers say";
  EXPECT_EQ(said("rope", {row("rope", 4, 0, true)}),
            "claimed to reach no longer length, measured to hold to 4x on lags (kept)");
  EXPECT_EQ(said("rerope", {row("rerope", 0, 16)}),
            "claimed to reach any length, measured to fail from 16x on lags (kept)");
  EXPECT_EQ(said("binary", {row("binary", 0, 2)}), "") << "nobody claims anything";
  // a rating names no length: what is rated good should hold to twice the length, and may further
  EXPECT_EQ(said("fox", {row("fox", 8, 0, true)}), "");
  EXPECT_EQ(said("fox", {row("fox", 0, 2)}), "rated good, measured to fail from 2x on lags (kept)");
  EXPECT_EQ(said("resonance", {row("resonance", 4, 0, true)}),
            "rated poor, measured to hold to 4x on lags (kept)");
  LengthMeasured extended = row("yarn", 0, 4);
  extended.factor = 4;
  EXPECT_NE(said("yarn", {extended}), "");
  extended.factor = 2;
  EXPECT_EQ(said("yarn", {extended}), "") << "nothing is claimed beyond its factor";
}
TEST(Measured, IsReadAsItWasWritten) {
  Measured m{{row("alibi", 8, 0, true)},
             {{{"alibi", "rope"}, "kept", "F1", "says", "", "undecided", "1 against 2"}}};
  const std::string text = measured_text(m);
  EXPECT_EQ(measured_text(read_measured(text, "x.json")), text);
  const Measured again = read_measured(text, "x.json");
  EXPECT_EQ(again.of("alibi").at(0).verdict, "holds to 8x");
  EXPECT_THAT(again.of("rope"), IsEmpty());
  EXPECT_THAT([] { read_measured("{}", "x.json"); },
              ::testing::ThrowsMessage<Error>(HasSubstr("x.json: ")));
}
TEST(Measured, NamesTheSuiteOfAnIdThatTwoHave) {
  const ClaimMeasured one{{"alibi"}, "near", "F1", "says", "", "undecided", ""};
  ClaimMeasured other = one, alone = one;
  other.suite = "far", alone.id = "F2";
  EXPECT_EQ((Measured{{}, {one, other, alone}}.claims_on("alibi")),
            "undecided F1 of near, F1 of far, F2");
}
TEST(Measured, FewTasksAreNamedAndManyCounted) {
  const auto on = [](LengthMeasured m, const std::string& task) { return m.task = task, m; };
  LengthMeasured open = on(row("rope", 0, 0), "sort");
  open.verdict = "undecided (11 seeds for 80 % power)";
  std::vector<LengthMeasured> rows = {on(row("rope", 0, 4), "facts"), row("rope", 0, 2),
                                      on(row("rope", 8, 0), "corpus"), row("rope", 0, 8), open};
  EXPECT_EQ(verdicts_text(rows),
            "holds to 8x on corpus, where no encoding is shown to fail; fails from 2x on lags; "
            "fails from 4x on facts; undecided on sort");
  for (const char* task : {"a", "b", "c"}) rows.push_back(on(row("rope", 0, 3), task));
  rows.push_back(on(row("rope", 2, 0, true), "sort"));
  rows.push_back(on(row("rope", 2, 0), "sort"));
  EXPECT_EQ(verdicts_text(rows),
            "holds to 2x on sort; holds to 8x on corpus, where no encoding is shown to fail; fails "
            "on 5 tasks, from 2x (lags) to 4x (facts)")
      << "what one run decides is not open in another";
  EXPECT_EQ(verdicts_text({}), "");
}
TEST(Measured, CountsClaimsWhereThereAreMany) {
  Measured m;
  for (const char* id : {"A", "B", "C", "D", "E", "F"})
    m.claims.push_back({{"rope"}, "kept", id, "says", "", "undecided (5 seeds)", ""});
  m.claims[4].verdict = "not reproduced at this size, p < 0.01";
  EXPECT_EQ(m.claims_on("rope"), "not reproduced at this size E; undecided 5 claims");
}
TEST(Measured, IsThereForTheProgram) {
  EXPECT_GE(shipped_measured().lengths.size(), 80u);
  EXPECT_GE(shipped_measured().claims.size(), 40u);
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
    EXPECT_EQ(rating_of(c).empty(), rating_rank(rating_of(c)) < 0) << name << rating_of(c);
    EXPECT_EQ(extension_of(c).empty(), std::isnan(extension_reach(extension_of(c)))) << name;
    // A paper, or a post of the author: what a library's documentation says is no source.
    for (const std::string& claim : {rating_of(c), extension_of(c)}) {
      const bool sourced = std::regex_search(claim, std::regex(R"re(\(.*\b(19|20)\d\d\b)re"));
      EXPECT_TRUE(claim.empty() || sourced) << name << ": who says so? " << claim;
    }
    for (const std::string& other : extends_of(c))
      EXPECT_THAT(built_catalog().encoding_names(), Contains(other)) << name;
  }
}
}  // namespace
}  // namespace pesuite::testing
