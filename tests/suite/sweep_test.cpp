// Variables of a suite.
#include "suite/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "suite/config.h"
#include "suite/suite.h"
#include "tests/failure.h"
#include "tests/scratch.h"

namespace pesuite::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using Strings = std::vector<std::string>;

Config swept(const std::string& text) {
  Problems problems;
  Config c = Config::from_toml_text(text, "x.toml", problems);
  expand_sweep(c, problems);
  problems.throw_if_any();
  return c;
}
std::string why(const std::string& text) {
  return failure([&] { swept(text); });
}
Strings names_of(const Config& c, const char* key, const char* field = "id") {
  Strings out;
  for (const auto& [name, j] : c.root()[key].items())
    out.push_back(j.is_object() && j.contains(field) ? j[field].get<std::string>() : name);
  return out;
}

TEST(Sweep, GridHasEveryCombinationAndZipTheFirstOfEach) {
  const std::string encoding = "[[encoding]]\nid = 'y'\nexpr = 'yarn(scale={s}, beta_fast={b})'\n";
  EXPECT_EQ(names_of(swept("[sweep]\ngrid = {s = [2, 4], b = [1, 8.5]}\n" + encoding), "encoding"),
            (Strings{"y_1_2", "y_8.5_2", "y_1_4", "y_8.5_4"}));
  const Config zip = swept("[sweep]\nzip = {s = [2, 4], b = [1, 8]}\n" + encoding);
  EXPECT_EQ(names_of(zip, "encoding", "expr"),
            (Strings{"yarn(scale=2, beta_fast=1)", "yarn(scale=4, beta_fast=8)"}));
  EXPECT_EQ(zip.origin("encoding.y_8_4.expr"), "x.toml:5:1");
  EXPECT_EQ(zip.root()["sweep"], Json::object());
  const Config list = swept("[sweep]\nlist = [{s = 2, b = 8}, {s = 4, b = 1}, {s = 2, b = 8}]\n" +
                            encoding + "[[encoding]]\nexpr = 'linear(scale={s})'\n");
  EXPECT_EQ(names_of(list, "encoding", "expr"),
            (Strings{"yarn(scale=2, beta_fast=8)", "yarn(scale=4, beta_fast=1)", "linear(scale=2)",
                     "linear(scale=4)"}));  // each once, cut to what it names
}

TEST(Sweep, ValuesKeepTheirKindAndNamesHoldThem) {
  const Config c = swept(
      "[sweep]\ngrid = {n = [1, 2], lr = [1e-3], on = [true]}\nexclude = 'seed=1'\n"
      "[model.'m{n}']\nlayers = '{n}'\ntie = '{on}'\n[model.k]\nlayers = "
      "'{n}'\n[model.plain]\nlayers = 3\n"
      "[[task]]\ntask = 'copy'\ntrain = {optimizer = {lr = '{lr}'}}\n"
      "[[eval]]\nlengths = ['{n}x', '{n}{n}']\n[[eval]]\nlengths = [7]\n"
      "[[hypothesis]]\nid = 'h{n}'\nexpect = 'nll(a, {n}x) < 1'\n");
  EXPECT_EQ(names_of(c, "model"), (Strings{"m1", "m2", "k_1", "k_2", "plain"}));
  EXPECT_EQ(c.root()["model"]["m2"]["layers"], 2);
  EXPECT_EQ(c.root()["model"]["m1"]["tie"], true);
  EXPECT_EQ(c.root()["task"][0]["train"]["optimizer"]["lr"], 1e-3);
  EXPECT_EQ(names_of(c, "task", "task"), Strings{"copy"});
  EXPECT_EQ(c.root()["eval"].size(), 3u);
  EXPECT_EQ(c.root()["eval"][1]["lengths"], Json({"2x", "22"}));
  EXPECT_EQ(c.origin("eval.2.lengths"), "x.toml:17:1");
  EXPECT_EQ(names_of(c, "hypothesis"), (Strings{"h1", "h2"}));
  EXPECT_EQ(c.root()["sweep"], Json({{"exclude", "seed=1"}}));
}

TEST(Sweep, DrawsAreThoseOfTheirSeed) {
  const auto drawn = [](const std::string& random) {
    return names_of(swept("[sweep]\nrandom = " + random + "\n[[encoding]]\nexpr = 'a(b={b})'\n"),
                    "encoding", "expr");
  };
  const Strings a = drawn("{count = 50, seed = 1, of = {b = {low = 1e-4, high = 1, log = true}}}");
  EXPECT_EQ(a, drawn("{count = 50, seed = 1, of = {b = {low = 1e-4, high = 1, log = true}}}"));
  EXPECT_NE(a, drawn("{count = 50, seed = 2, of = {b = {low = 1e-4, high = 1, log = true}}}"));
  int small = 0;
  for (const std::string& e : a) {
    const double b = std::stod(e.substr(4));
    EXPECT_TRUE(b >= 1e-4 && b <= 1) << e;
    small += b < 1e-2;
  }
  EXPECT_GT(small, 12);  // half of them in expectation
  EXPECT_LT(small, 38);
  const Strings dice = drawn("{count = 200, of = {b = {low = 1, high = 6, whole = true}}}");
  EXPECT_EQ(dice.size(), 6u);  // each once
  EXPECT_THAT(dice, AllOf(Contains("a(b=1)"), Contains("a(b=6)")));
  EXPECT_EQ(drawn("{count = 9, of = {b = ['x', 'x']}}"), Strings{"a(b=x)"});
}

TEST(Sweep, SaysWhatIsWrongAndWhere) {
  const std::string encoding = "[[encoding]]\nexpr = 'a(b={b})'\n";
  EXPECT_THAT(why("[sweep]\ngrid = {b = 3}\n" + encoding),
              AllOf(HasSubstr("x.toml:2:9"), HasSubstr("sweep.grid.b wants a list")));
  EXPECT_THAT(why("[sweep]\ngrid = []\n" + encoding), HasSubstr("wants a table of lists"));
  EXPECT_THAT(why("[sweep]\ngrid = {b = [1], c = [2]}\n" + encoding),
              HasSubstr("nothing has {c} in it"));
  EXPECT_THAT(why("[sweep]\ngrid = {bb = [1]}\n" + encoding),
              AllOf(HasSubstr("no such variable"), HasSubstr("did you mean 'bb'")));
  EXPECT_THAT(why("[sweep]\ngrid = {b = [1]}\nzip = {b = [1]}\n" + encoding),
              HasSubstr("sweep.zip.b is a variable already"));
  EXPECT_THAT(why("[sweep]\nzip = {b = [1], c = [1, 2]}\n" + encoding), HasSubstr("has 2 values"));
  EXPECT_THAT(why("[sweep]\nlist = [{b = 1}, {c = 1}]\n" + encoding),
              HasSubstr("tables of the same variables"));
  for (const char* random : {"3", "{count = 0, of = {b = [1]}}", "{count = 2}",
                             "{count = 2, of = {b = {low = 0, high = 1, log = true}}}",
                             "{count = 2, of = {b = {low = 2, high = 1}}}",
                             "{count = 2, of = {b = {low = 0, high = 1, lgo = true}}}"})
    EXPECT_THAT(why(std::string("[sweep]\nrandom = ") + random + "\n" + encoding),
                HasSubstr("sweep.random"))
        << random;
  std::string many = "[sweep]\ngrid = {";
  for (const char* name : {"b", "c", "d"}) {
    many += std::string(name) + " = [0";
    for (int i = 1; i < 30; ++i) many += ", " + std::to_string(i);
    many += "], ";
  }
  many.resize(many.size() - 2);
  EXPECT_THAT(why(many + "}\n[[encoding]]\nexpr = 'a(b={b}, c={c}, d={d})'\n"),
              HasSubstr("more than 10000"));
}

TEST(Sweep, OfASuiteMakesItsCells) {
  const Scratch folder;
  write_file_atomic(folder / "s.toml",
                    "schema = 'pesuite.suite/1'\nname = 's'\n[defaults]\nseeds = [1]\n"
                    "[sweep]\ngrid = {n = [1, 2], s = [2, 4]}\n"
                    "[model.m]\npreset = 'micro'\nlayers = '{n}'\n[train]\nbudget = '10 steps'\n"
                    "[[encoding]]\nexpr = 'rope'\n[[encoding]]\nexpr = 'linear(scale={s})'\n"
                    "[[task]]\ntask = 'toylag'\ntrain_len = 16\n");
  const Suite s = load_suite(folder / "s.toml", {});
  EXPECT_EQ(s.encodings.size(), 3u);
  EXPECT_EQ(s.encodings[2].id, "linear(scale=4)");
  ASSERT_EQ(s.models.size(), 2u);
  EXPECT_EQ(s.models[1].id, "m_2");
  EXPECT_FALSE(s.resolved["sweep"].contains("grid"));
}

TEST(Sweep, BracesMeanNothingWithoutVariables) {
  EXPECT_EQ(names_of(swept("[[encoding]]\nexpr = 'a(b={b})'\n"), "encoding", "expr"),
            Strings{"a(b={b})"});
}

}  // namespace
}  // namespace pesuite::testing
