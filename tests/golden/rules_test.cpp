// The rules that turn vectors into expressions, and what the runner says of vectors that are wrong.
#include "golden/rules.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fstream>

#include "base/error.h"
#include "golden/golden.h"
#include "tests/scratch.h"
#include "tests/support.h"

namespace pesuite::golden {
namespace {

using ::testing::HasSubstr;

class RulesTest : public ::testing::Test {
 protected:
  const pesuite::testing::Scratch folder_;
  const fs::path file_ =
      folder_ / (std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) +
                 "__case.json");
  Vector vector(Json changes = Json::object()) {
    Json j = {{"schema", 1},
              {"pe", "x"},
              {"kind", "table"},
              {"config", {{"T", 3}, {"factor", 2.5}, {"layout", "half over all"}}},
              {"tolerance", {{"abs", 1e-10}, {"rel", 1e-9}}},
              {"notes", "rows, offset=5"},
              {"inputs", {{"table", {{"shape", {2, 3}}, {"data", {1, 2, 3, 4, 5, 6}}}}}},
              {"outputs", Json::object()}};
    j.merge_patch(changes);
    return written(j.dump());
  }
  Vector written(const std::string& text) {
    std::ofstream(file_) << text;
    return Vector::read(file_);
  }
  static Spelling spell(const Vector& v, const std::string& rules) {
    return Rules::from_text(rules, "x.golden.toml").spell(v);
  }
  static std::string rule(const std::string& more) { return "[[rule]]\npe = 'x'\n" + more; }
};

template <class F>
std::string refusal(F body) {
  try {
    body();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST_F(RulesTest, FillsPlacesAndLeavesOutOptionsWithoutValue) {
  const Vector v = vector();
  EXPECT_EQ(spell(v, rule("encoding = 'y(a={factor}, b={nowhere}, c={T})'")).encoding,
            "y(a=2.5, c=3)");
  EXPECT_EQ(spell(v, rule("encoding = 'y(b={nowhere})'")).encoding, "y");
  EXPECT_EQ(spell(v, rule("encoding = 'y(b={nowhere}) => z(c={d|T=7}, e={d=7})'")).encoding,
            "y => z(c=3, e=7)");
  EXPECT_EQ(
      spell(v, rule("encoding = 'y(rows={inputs.table.shape.1}, l={inputs.table.data})'")).encoding,
      "y(rows=3, l=[1,2,3,4,5,6])");
  EXPECT_THAT(refusal([&] { spell(v, rule("encoding = '{nowhere}'")); }),
              HasSubstr("x.golden.toml:1:1: '{nowhere}' wants what"));
}

TEST_F(RulesTest, MakeValuesFromOthers) {
  const Spelling s = spell(vector(), rule(R"(encoding = 'y(l={l}, n={n}, m={m})'
offset = '{o}'
values.l = {from = ['none', 'layout'], map = {'half*' = 'first', '*' = 'second'}}
values.n = {from = 'factor', times = 'T', over = 2}
values.m = {from = 'nowhere', otherwise = '{T}'}
values.o = {from = 'notes', pattern = 'offset=([0-9]+)'})"));
  EXPECT_EQ(s.encoding, "y(l=first, n=3.75, m=3)");
  EXPECT_EQ(s.offset, 5);
}

TEST_F(RulesTest, FirstThatFitsDecides) {
  const Vector v = vector();
  const auto chosen = [&](const std::string& conditions) {
    return spell(v, rule(conditions + "\nencoding = 'fits'\n") +
                        "[[rule]]\npe = '*'\nencoding = 'other'\n")
        .encoding;
  };
  EXPECT_EQ(chosen("kind = ['bias', 'ta*']"), "fits");
  EXPECT_EQ(chosen("kind = 'bias'"), "other");
  EXPECT_EQ(chosen("when = {factor = '> 2', T = 3, layout = 'half*'}"), "fits");
  EXPECT_EQ(chosen("when = {factor = '<= 2'}"), "other");
  EXPECT_EQ(chosen("when = {factor = [1, 2.5]}"), "fits");
  EXPECT_EQ(chosen("when = {nowhere = '*'}"), "other");
  EXPECT_EQ(chosen("has = ['inputs.table']\nlacks = ['base']"), "fits");
  EXPECT_EQ(chosen("lacks = ['factor']"), "other");
}

TEST_F(RulesTest, SayWhatIsWrongWithThem) {
  const auto wrong = [](const std::string& text) {
    return refusal([&] { Rules::from_text(text, "x.golden.toml"); });
  };
  EXPECT_THAT(wrong("[[rule]]\nencoding = 'y'\n"), HasSubstr("must name the vectors"));
  EXPECT_THAT(wrong(rule("")), HasSubstr("must be given, or skip"));
  EXPECT_THAT(wrong(rule("encoding = 'y'\nskip = 'why'\n")), HasSubstr("must be given, or skip"));
  EXPECT_THAT(
      wrong(rule("encodng = 'y'\nskip = 'why'\n")),
      HasSubstr("x.golden.toml:3:1: unknown key 'rule.0.encodng', did you mean 'encoding'"));
  EXPECT_THAT(wrong(rule("encoding = 'y'\nvalues.v = {map = {a = 'b'}}\n")),
              HasSubstr("must name the place"));
  EXPECT_THAT(wrong(rule("encoding = 'y'\nvalues.v = {from = 'a', pattern = '('}\n")),
              HasSubstr("no regular expression"));
  EXPECT_THAT(wrong(rule("encoding = 'y'\nparameters = {w = 'a[0'}\n")),
              HasSubstr("must be a number or an input"));
}

TEST_F(RulesTest, AVectorThatIsWrongIsRefusedWithItsPlace) {
  EXPECT_THAT(refusal([&] { written("{"); }), HasSubstr("is no JSON"));
  EXPECT_THAT(refusal([&] { written("{}"); }), HasSubstr("no golden vector of schema 1"));
  EXPECT_THAT(refusal([&] { vector({{"kind", nullptr}}); }), HasSubstr("lacks 'kind'"));
  EXPECT_THAT(refusal([&] {
                vector({{"inputs", {{"table", {{"shape", {2, 4}}}}}}});
              }),
              HasSubstr("inputs.table: its shape [2,4] wants 8 numbers, it has 6"));
  EXPECT_THAT(refusal([&] {
                vector({{"inputs", {{"table", {{"data", {"a"}}}}}}});
              }),
              HasSubstr("not a number"));
}

// ---- the runner: each way to fail is a failed case with a sentence

class RunnerTest : public RulesTest {
 protected:
  Catalog catalog_ = open_catalog({PESUITE_TEST_PLUGINS});
  std::unique_ptr<Backend> backend_ = open_backend("reference", {});

  // Attention over one token gives its value, whatever the encoding.
  Vector attention(Json changes = Json::object()) {
    const auto row = [](std::vector<double> data) -> Json {
      return {{"shape", {1, 1, 2}}, {"dtype", "f64"}, {"data", data}};
    };
    Json j = {
        {"kind", "attention"},
        {"config", {{"H", 1}, {"T", 1}, {"D", 2}}},
        {"inputs",
         {{"q", row({1, 2})}, {"k", row({3, 4})}, {"v", row({5, 6})}, {"dO", row({7, 8})}}},
        {"outputs",
         {{"O", row({5, 6})}, {"dq", row({0, 0})}, {"dk", row({0, 0})}, {"dv", row({7, 8})}}}};
    j.merge_patch(changes);
    return vector(j);
  }
  Outcome outcome(const Vector& v, const std::string& rules) {
    return check(v, Rules::from_text(rules, "x.golden.toml"), catalog_, *backend_);
  }
};

TEST_F(RunnerTest, PassesSkipsAndFails) {
  const std::string none = rule("encoding = 'none'\n");
  const Outcome good = outcome(attention(), none);
  EXPECT_EQ(good.status, Status::passed) << good.reason;
  EXPECT_EQ(good.encoding, "none");
  const Outcome off = outcome(attention({{"outputs", {{"O", {{"data", {5, 6.001}}}}}}}), none);
  EXPECT_EQ(off.status, Status::failed);
  EXPECT_THAT(off.reason, HasSubstr("O[1] is 6, wanted 6.001, off by 1.0e-03"));
  EXPECT_EQ(off.worst.output, "O");
  const Outcome extra =
      outcome(attention({{"outputs", {{"dz", {{"shape", {1}}, {"data", {1}}}}}}}), none);
  EXPECT_THAT(extra.reason, HasSubstr("nothing was computed for the output 'dz'"));
  const Outcome ignored =
      outcome(attention({{"outputs", {{"dz", {{"shape", {1}}, {"data", {1}}}}}}}),
              none + "ignore = {dz = 'of no use'}\n");
  EXPECT_EQ(ignored.status, Status::passed) << ignored.reason;
  EXPECT_EQ(ignored.note, "dz not compared: of no use");
  const Outcome nobody = outcome(attention(), "[[rule]]\npe = 'y'\nencoding = 'none'\n");
  EXPECT_EQ(nobody.status, Status::skipped);
  EXPECT_EQ(nobody.reason, "no library has a rule for 'x' of kind attention");
  EXPECT_EQ(outcome(attention(), rule("skip = 'why'\n")).reason, "why");
  EXPECT_THAT(outcome(attention({{"kind", "unheard"}}), none).reason,
              HasSubstr("no kind 'unheard'"));
  EXPECT_THAT(outcome(attention(), rule("encoding = 'nonesuch'\n")).reason,
              HasSubstr("there is no encoding 'nonesuch'"));
}

TEST_F(RunnerTest, FillsParametersFromInputs) {
  const Vector v = attention({{"inputs", {{"w", {{"shape", {1, 2}}, {"data", {3, 4}}}}}}});
  const std::string t5 = rule("encoding = 't5(buckets=2, max_distance=2)'\n");
  EXPECT_THAT(outcome(v, t5).reason,
              HasSubstr("the parameter 'table' of t5(buckets=2, max_distance=2) is [2, 1], the "
                        "vector's 'table' [2, 3]"));
  EXPECT_THAT(outcome(v, t5 + "parameters = {table = 'nowhere'}\n").reason,
              HasSubstr("has no input 'nowhere' for the parameter 'table'"));
  EXPECT_EQ(outcome(v, t5 + "parameters = {table = 'w[1,0]'}\n").status, Status::passed);
  EXPECT_EQ(outcome(v, t5 + "parameters = {table = 1.5}\n").status, Status::passed);
  EXPECT_THAT(outcome(v, t5 + "parameters = {tbl = 'w'}\n").status, Status::failed);
}

}  // namespace
}  // namespace pesuite::golden
