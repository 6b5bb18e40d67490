// Hypotheses: the grammar with the places of its errors, and what records say of them.
#include "suite/hypothesis.h"
#include "analysis/judge.h"
#include "report/hypotheses.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/analysis/run_data.h"

namespace pesuite::testing {
namespace {

using ::testing::HasSubstr;

std::string problem_of(const std::string& text) {
  try {
    parse_hypothesis(text);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(HypothesisGrammar, ReadsMetricsOfEncodingsAtPlaces) {
  const auto all = parse_hypothesis(
      "nll(encoding=a, eval_len=4x, protocol=sliding(16)) < regret('b => c(s=8)', 256, task=t*) "
      "and acc(x + y, 2x, unseen, depth=0.5) >= 95%");
  ASSERT_EQ(all.size(), 2u);
  const Quantity& l = all[0].left.quantity;
  EXPECT_EQ(l.encoding, "a");
  EXPECT_EQ(l.length, 4);
  EXPECT_TRUE(l.multiple);
  EXPECT_EQ(l.protocol, "sliding(16)");
  const Quantity& r = all[0].right.quantity;
  EXPECT_EQ(r.encoding, "b => c(s=8)");
  EXPECT_EQ(r.length, 256);
  EXPECT_FALSE(r.multiple);
  EXPECT_EQ(r.task, "t*");
  const Quantity& q = all[1].left.quantity;
  EXPECT_EQ(q.encoding, "x + y");
  EXPECT_EQ(q.bucket, "unseen");
  EXPECT_EQ(q.axes.at("depth"), "0.5");
  EXPECT_EQ(all[1].right.value, 0.95);
  EXPECT_EQ(all[1].relation, Comparison::Relation::greater_equal);
}

TEST(HypothesisGrammar, ReadsProtocolsAsRecordsHaveThem) {
  EXPECT_EQ(parse_hypothesis("nll(a, last(1k)) < 2")[0].left.quantity.protocol, "last(1000)");
  EXPECT_NE(problem_of("nll(a, sliding(x)) < 2").find("'sliding(x)' is no protocol; known are"),
            std::string::npos);
}

TEST(HypothesisGrammar, BindsAsArithmeticDoes) {
  const auto all = parse_hypothesis("1 + 2 * 3 - -4 / (1 + 1) < nll(a)");
  EXPECT_EQ(all[0].left.text, "1 + 2 * 3 - -4 / (1 + 1)");
  EXPECT_EQ(all[0].left.kind, Term::Kind::subtract);
  EXPECT_EQ(all[0].left.parts[1].kind, Term::Kind::divide);
  const auto chained = parse_hypothesis("nll(a) < nll(b) < nll(c)");
  ASSERT_EQ(chained.size(), 2u);
  EXPECT_EQ(chained[1].text(), "nll(b) < nll(c)");
}

TEST(HypothesisGrammar, SaysWhereATextIsWrong) {
  EXPECT_EQ(problem_of("regert(a, 4x) < 1"),
            "column 1: there is no metric or function 'regert', did you mean 'regret'?");
  EXPECT_THAT(problem_of("nll(a) = nll(b)"), HasSubstr("column 8: '=' is no relation"));
  EXPECT_THAT(problem_of("nll(a, 4x"), HasSubstr("column 8: a ')' is missing"));
  EXPECT_THAT(problem_of("nll(a)"), HasSubstr("column 7: a comparison is missing"));
  EXPECT_THAT(problem_of("1 < 2"), HasSubstr("compares two numbers"));
  EXPECT_THAT(problem_of("nll(4x) < 2"), HasSubstr("names no encoding"));
  EXPECT_THAT(problem_of("nll(a, b) < 2"), HasSubstr("column 8: 'b' is a second encoding"));
  EXPECT_THAT(problem_of("nll(a, eval_len=long) < 2"), HasSubstr("'long' is no length"));
  EXPECT_THAT(problem_of("nll(a) < nll(b) or 1"), HasSubstr("column 17: 'or 1'"));
  EXPECT_THAT(problem_of("nll(a) < ?"), HasSubstr("column 10: '?'"));
  EXPECT_THAT(problem_of("acc(a, 4x) > 95"),
              HasSubstr("column 14: acc is at most 1, so it is never 95; write 95% for percent"));
  EXPECT_THAT(problem_of("2 > em(a)"), HasSubstr("column 1: em is at most 1, so it is never 2"));
  EXPECT_THAT(problem_of("nll(a) <"), HasSubstr("ends where"));
  EXPECT_THAT(problem_of("abs(nll(a), 2) < 1"), HasSubstr("'abs' takes one argument"));
  EXPECT_THAT(problem_of("nll(a,, 2x) < 1"), HasSubstr("an argument of 'nll' is missing"));
  EXPECT_THAT(problem_of(""), HasSubstr("column 1"));
}

TEST(HypothesisGrammar, KnowsTheNamesOfItsSuite) {
  const SuiteNames names{{"alpha", "beta"}, {"t1", "t2"}, {"nano"}};
  const auto said = [&](const std::string& text) -> std::string {
    try {
      check_names(parse_hypothesis(text), names);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(said("nll(alpha, task=t1) < nll(beta, task=t*)"), "");
  EXPECT_THAT(said("nll(beta, task=t1) < nll(alhpa, task=t1)"),
              HasSubstr("column 22: nll(alhpa, task=t1): the suite has no encoding 'alhpa', did "
                        "you mean 'alpha'?"));
  EXPECT_THAT(said("nll(alpha, task=t9) < 1"), HasSubstr("no task 't9'"));
  EXPECT_THAT(said("nll(alpha) < 1"), HasSubstr("of 2 tasks none is named"));
}

// ---------------------------------------------------------------------------------- judging

// Regret at 4x: a 0.1, b 0.4, c like a, d infinite; four seeds.
MadeUp sample(std::uint64_t seeds = 4) {
  MadeUp m({"a", "b", "c", "d"});
  TaskData& t = m.corpus("corpus", {64, 256});
  for (std::uint64_t s = 0; s < seeds; ++s) {
    const double own = 0.004 * std::sin(static_cast<double>(5 * s));
    const double common = 0.1 * std::cos(static_cast<double>(s));
    for (std::size_t e = 0; e < 4; ++e) m.nats(t, e, s, 64, 0.02 + 0.2 * own);
    m.nats(t, 0, s, 256, 0.2 + common + own);
    m.nats(t, 1, s, 256, 0.5 + common - own);
    m.nats(t, 2, s, 256, 0.2 + common + 0.001 * static_cast<double>(s % 2));
    m.nats(t, 3, s, 256, INFINITY);
  }
  return m;
}

Judged judged(const RunData& run, const std::string& text) {
  Hypothesis h;
  h.id = "H", h.expect = text, h.comparisons = parse_hypothesis(text);
  return judge(run, {h})[0];
}
const std::string reproduced = "reproduced at this size", refuted = "not " + reproduced;
std::string verdict(const RunData& run, const std::string& text) {
  return std::string(judgement_name(judged(run, text).judgement));
}

TEST(Hypothesis, HoldsOrIsRefutedByPairedSeeds) {
  const MadeUp m = sample();
  EXPECT_EQ(verdict(m.run, "regret(a, 4x) < regret(b, 4x)"), reproduced);
  EXPECT_EQ(verdict(m.run, "regret(b, 4x) < regret(a, 4x)"), refuted);
  EXPECT_EQ(verdict(m.run, "regret(b, 4x) > regret(a, 4x)"), reproduced);
  EXPECT_EQ(verdict(m.run, "regret(b, 4x) - regret(a, 4x) >= 0.2"), reproduced);
  EXPECT_EQ(verdict(m.run, "regret(b, 4x) - regret(a, 4x) >= 0.4"), refuted);
  EXPECT_EQ(verdict(m.run, "ppl(b, 4x) / ppl(a, 4x) > 1.2"), reproduced);
  EXPECT_EQ(verdict(m.run, "regret(a, 256, last(32)) < regret(b, 256, last(32))"), reproduced);
  EXPECT_EQ(verdict(m.run, "regret(a, 4x) < mean(regret(b, 4x), regret(a, 4x))"), reproduced);
}

TEST(Hypothesis, TellsEqualFromUnknown) {
  const MadeUp m = sample();
  EXPECT_EQ(verdict(m.run, "regret(a, 4x) ~ regret(c, 4x)"), reproduced);
  EXPECT_EQ(verdict(m.run, "regret(a, 4x) <= regret(c, 4x)"), reproduced) << "no worse by 0.02";
  EXPECT_EQ(verdict(m.run, "regret(a, 4x) < regret(c, 4x)"), refuted)
      << "shown to be within 0.02 nats";
  EXPECT_EQ(verdict(m.run, "regret(a, 4x) ~ regret(b, 4x)"), refuted);
  EXPECT_EQ(verdict(m.run, "regret(a, 4x) < 0.21"), "undecided");
}

TEST(Hypothesis, NeedsAllItsComparisons) {
  const MadeUp m = sample();
  EXPECT_EQ(verdict(m.run, "regret(a, 4x) < regret(b, 4x) and regret(a, 1x) < 0.1"), reproduced);
  EXPECT_EQ(verdict(m.run, "regret(a, 4x) < regret(b, 4x) and regret(a, 1x) > 0.1"), refuted);
}

TEST(Hypothesis, KeepsWhatIsInfiniteAndSaysWhatIsMissing) {
  EXPECT_EQ(verdict(sample(4).run, "regret(a, 4x) < regret(d, 4x)"), "undecided")
      << "4 of 4 signs come by chance once in 16 times";
  const MadeUp m = sample(6);
  EXPECT_EQ(verdict(m.run, "regret(a, 4x) < regret(d, 4x)"), reproduced);
  const Judged j = judged(m.run, "regret(a, 4x) < regret(d, 4x)");
  EXPECT_EQ(j.evidence[0].test, "sign test");
  const Judged absent = judged(m.run, "regret(a, 8x) < regret(b, 8x)");
  EXPECT_EQ(absent.judgement, Judgement::undecided);
  EXPECT_THAT(absent.evidence[0].missing[0], HasSubstr("regret(a, 8x) was not recorded"));
}

TEST(Hypothesis, CanSpeakOfTheRankingOfCandidates) {
  MadeUp m({"a", "b", "c"});
  TaskData& t = m.problem("needle", {64, 128});
  for (std::uint64_t s = 0; s < 4; ++s)
    for (std::size_t e = 0; e < 3; ++e)
      for (const char* metric : {"candidate_acc", "candidate_em", "mrr"}) {
        const double own = 0.004 * std::sin(static_cast<double>(5 * s + e));
        m.cell(t, e, s).evals[Place{metric, "", 128, {}, "", 0, 0}].value =
            (e == 1 ? 0.6 : 0.9) + own;
      }
  const auto say = [](const char* text, const char* metric) {
    return fmt::format(fmt::runtime(text), metric);
  };
  for (const char* metric : {"candidate_acc", "candidate_em", "mrr"}) {
    const Judged j = judged(m.run, say("{0}(a, 2x) > {0}(b, 2x)", metric));
    EXPECT_EQ(j.judgement, Judgement::holds) << metric;
    EXPECT_EQ(j.evidence[0].margin, 0.05);
    EXPECT_EQ(verdict(m.run, say("{0}(b, 2x) >= 80%", metric)), refuted);
  }
  m.diverge(t, 2, 3), t.cells[{2, 3}].evals.clear();
  for (const char* metric : {"candidate_acc", "candidate_em", "mrr"}) {
    const Judged j = judged(m.run, say("{0}(a, 2x) > {0}(c, 2x)", metric));
    ASSERT_EQ(j.evidence[0].right.size(), 4u) << "who diverged is worse, not missing";
    EXPECT_EQ(j.evidence[0].right[3], 0);
  }
}

// Accuracy at first, above its chance of 60 %; whole examples where the task says so, above none.
TEST(Hypothesis, ScoresAsTheTaskIsCompared) {
  MadeUp m({"fluent", "exact"});
  TaskData& t = m.problem("sort", {64, 128});
  for (std::uint64_t s = 0; s < 5; ++s)
    for (const auto& [e, acc, em] : {std::tuple{0, 0.98, 0.10}, {1, 0.92, 0.80}}) {
      const double own =
          0.002 * std::sin(static_cast<double>(5 * s + 2 * static_cast<std::uint64_t>(e)));
      m.accuracy(t, e, s, 128, acc + own, 0.6);
      m.cell(t, e, s).evals[Place{"em", "", 128, {}, "", 0, 0}].value = em + own;
    }
  EXPECT_EQ(verdict(m.run, "score(fluent, 2x) > score(exact, 2x)"), reproduced);
  EXPECT_EQ(verdict(m.run, "score(exact, 2x) < 90%"), reproduced) << "0.32 of 0.40";
  t.score = "em";
  EXPECT_EQ(verdict(m.run, "score(exact, 2x) > score(fluent, 2x)"), reproduced);
  EXPECT_EQ(verdict(m.run, "score(exact, 2x) < 70%"), refuted);
}

// A one-sided verdict stands beside the bound that it tested.
TEST(Hypothesis, ShowsItsBound) {
  const MadeUp m = sample();
  const Evidence e = judged(m.run, "regret(a, 4x) < regret(b, 4x)").evidence[0];
  EXPECT_TRUE(e.from_above);
  EXPECT_EQ(e.against, 0);
  EXPECT_LT(e.bound, 0);
  EXPECT_LT(e.bound, e.high) << "one-sided";
  EXPECT_THAT(hypothesis_lines({judged(m.run, "regret(a, 4x) < regret(b, 4x)")})[0].plain(),
              HasSubstr("at 95 % (tested: below 0.0000)"));
}

// A level of its own, as of a record attempt: the verdict, its bound and the seeds it wants follow.
TEST(Hypothesis, HasALevelOfItsOwn) {
  const MadeUp m = sample(5);
  Hypothesis h;
  Judged usual;
  for (double number = 0.2; number < 0.6; number += 0.001) {
    h.expect = fmt::format("regret(a, 4x) <= {:.3f}", number);
    h.comparisons = parse_hypothesis(h.expect);
    usual = judge(m.run, {h})[0];
    if (usual.p_holds < 0.03) break;
  }
  ASSERT_GT(usual.p_holds, 0.01);
  h.alpha = 0.01;
  const Judged strict = judge(m.run, {h})[0];
  EXPECT_EQ(judgement_name(usual.judgement), reproduced);
  EXPECT_EQ(strict.judgement, Judgement::undecided);
  EXPECT_EQ(strict.p_holds, usual.p_holds);
  EXPECT_LT(usual.evidence[0].bound, 0);
  EXPECT_GT(strict.evidence[0].bound, 0);
  EXPECT_GT(strict.evidence[0].needed, 5u);
  EXPECT_GT(strict.evidence[0].needed, usual.evidence[0].needed);
  EXPECT_THAT(hypothesis_lines({strict})[0].plain(), HasSubstr(" at 99 % (tested: below 0.0000)"));
}

TEST(Hypothesis, IsNotDecidedByOneSeed) {
  const Judged j = judged(sample(1).run, "regret(a, 4x) < regret(b, 4x)");
  EXPECT_EQ(j.judgement, Judgement::untested);
  EXPECT_TRUE(j.evidence[0].satisfied);
  EXPECT_THAT(hypothesis_lines({j})[0].plain(), HasSubstr("not tested (too few seeds)"));
  EXPECT_EQ(verdict(sample(2).run, "regret(a, 4x) < regret(b, 4x)"), "not tested");
}

TEST(Hypothesis, PaysForItsCompany) {
  const MadeUp m = sample();
  std::vector<Hypothesis> many;
  for (int i = 0; i < 40; ++i) {
    Hypothesis h;
    h.expect = i == 0 ? "regret(a, 4x) < regret(b, 4x)" : "regret(a, 4x) < 0.21";
    h.comparisons = parse_hypothesis(h.expect);
    many.push_back(h);
  }
  const double alone = judge(m.run, {many[0]})[0].p_holds;
  EXPECT_NEAR(judge(m.run, many)[0].p_holds, std::min(1.0, 40 * alone), 1e-9);

  Judged j = judge(m.run, {many[0]})[0];
  j.judgement = Judgement::undecided, j.p_holds = 0.064;
  ASSERT_LT(j.alone, 0.05);
  EXPECT_THAT(verdict_text(j), HasSubstr(" alone, p = 0.064 among the suite's claims)"));
  EXPECT_THAT(verdict_text(j), Not(HasSubstr("against it")));
  j.p_holds = 1, j.p_refuted = 0.064;
  EXPECT_THAT(verdict_text(j), HasSubstr("undecided (against it p"));
  j.p_holds = 0.064, j.p_refuted = 1;
  j.alone = j.p_holds = 0.2;
  EXPECT_EQ(verdict_text(j), "undecided (the seeds do not tell)");
}

TEST(Hypothesis, DoesNotApplyToEncodingsThatDidNotLearn) {
  MadeUp m = sample();
  for (std::uint64_t s = 0; s < 4; ++s) m.nats(m.run.tasks[0], 1, s, 64, 0.5);
  const Judged j = judged(m.run, "regret(a, 4x) < regret(b, 4x)");
  ASSERT_EQ(j.notes.size(), 1u);
  EXPECT_THAT(j.notes[0], HasSubstr("'b' (25.0 % from the optimum) did not learn corpus"));
  EXPECT_EQ(j.judgement, Judgement::inapplicable);
  EXPECT_THAT(hypothesis_lines({j})[0].plain(), HasSubstr("not applicable (not learned)"));
  m.run.tasks[0].encoded[1] = "b => c";
  const Judged swapped = judged(m.run, "regret(a, 4x) < regret(b, 4x)");
  EXPECT_THAT(swapped.notes[0], HasSubstr("'b' (25.0 % from the optimum with what is swapped in) "
                                          "lost corpus where it was trained"));
  EXPECT_THAT(hypothesis_lines({swapped})[0].plain(),
              HasSubstr("not applicable (lost by the swap)"));
  EXPECT_NE(verdict(m.run, "regret(a, 1x) < regret(b, 1x)"), "not applicable")
      << "where it was trained it may be judged";
}

}  // namespace
}  // namespace pesuite::testing
