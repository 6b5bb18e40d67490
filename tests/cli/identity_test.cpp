// What makes two cells one cell, and what makes one cell another.
#include "tests/cli/fixture.h"

namespace pesuite::testing {
namespace {

class CellIdentity : public Run {
 protected:
  std::map<std::string, Json> planned(const std::vector<std::string>& encodings,
                                      const std::string& more = "") {
    const Ended e = pesuite({"plan", suite(encodings, 10, more), "--json"});
    EXPECT_EQ(e.code, 0) << e.err;
    std::map<std::string, Json> cells;
    const Json plan = e.code == 0 ? Json::parse(e.out) : Json{{"cells", Json::array()}};
    for (const Json& c : plan["cells"]) cells[c["encoding"].get<std::string>()] = c;
    return cells;
  }
  void factors(const std::string& numbers) { write("factors.txt", numbers); }
};

const std::string longer = "[[eval]]\nlengths = [64]\nexamples = 4\n";

TEST_F(CellIdentity, HoldsWhatFilesHoldThatOptionsName) {
  const std::string searched = "rope => longrope(factors='factors.txt')";
  factors("1\n1\n1\n1\n1\n1\n1\n1\n");
  const Json plain = planned({"rope"}).at("rope"), first = planned({searched}).at(searched);
  EXPECT_EQ(first["config"]["encoding_identity"]["longrope"]["file factors.txt"]
                .get<std::string>()
                .substr(0, 7),
            "sha256:");
  EXPECT_EQ(first["training"], plain["cell"]) << "training does not read it";
  EXPECT_FALSE(plain["config"]["encoding_identity"]["rope"].contains("file factors.txt"));
  factors("1\n1\n1\n1\n1\n1\n1\n2\n");
  const Json second = planned({searched}).at(searched);
  EXPECT_NE(second["cell"], first["cell"]);
  EXPECT_NE(second["series"], first["series"]);
  EXPECT_EQ(second["training"], first["training"]);
  factors("1\n1\n1\n1\n1\n1\n1\n1\n");
  EXPECT_EQ(planned({searched}).at(searched)["cell"], first["cell"]);
}

TEST_F(CellIdentity, AFileThatChangesWhileARunGoesOnIsRefused) {
  factors("1\n1\n1\n1\n1\n1\n1\n1\n");
  const fs::path s = suite({"sleeps", "rope => longrope(factors='factors.txt')"}, 20);
  Command c(folder_, {"run", s, "-j", "1"});
  await_checkpoint(c);
  factors("1\n1\n1\n1\n1\n1\n1\n2\n");
  const Ended e = c.wait();
  EXPECT_EQ(e.code, 3) << e.err;
  EXPECT_NE(e.err.find("factors.txt has changed since the cell was planned"), std::string::npos)
      << e.err;
}

TEST_F(CellIdentity, ATextThatChangesBeforeACellReadsItIsRefused) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += fmt::format("line {} of {}\n", i, i * i % 97);
  write("text.txt", text);
  const fs::path s = suite({"sleeps", "rope"}, 20);
  std::string changed = slurp(s);
  const std::size_t at = changed.find("task = \"toylag\"");
  ASSERT_NE(at, std::string::npos) << changed;
  const std::size_t end = changed.find("train_len", at);
  changed.replace(at, end - at, "task = \"text\"\noptions = {path = \"text.txt\"}\n");
  write(s.filename().string(), changed);
  Command c(folder_, {"run", s, "-j", "1"});
  await_checkpoint(c);
  write("text.txt", text + "one line more\n");
  const Ended e = c.wait();
  EXPECT_EQ(e.code, 3) << e.err;
  EXPECT_NE(e.err.find("has changed since the cell was planned"), std::string::npos) << e.err;
  EXPECT_EQ(status_of("sleeps"), "ok");
}

TEST_F(CellIdentity, HasOneSpellingForOneNumber) {
  const std::string one = planned({"rope"}).at("rope")["cell"];
  for (const std::string other : {"rope(base=1e4)", "rope(base=10000.0)"})
    EXPECT_EQ(planned({other}).at(other)["cell"], one);
  const Ended e = pesuite({"plan", suite({"rope", "rope(base=1e4)"}, 10)});
  EXPECT_EQ(e.code, 2);
  EXPECT_NE(e.err.find("encoding 'rope(base=1e4)' is the same as encoding 'rope'"),
            std::string::npos)
      << e.err;
}

TEST_F(CellIdentity, HoldsTheLongestLengthOnlyWhereTrainingHangsOnIt) {
  const std::vector<std::string> encodings = {"rope",
                                              "alibi",
                                              "learned",
                                              "learned(rows=64)",
                                              "randomized",
                                              "t5 + rope",
                                              "rope => longrope",
                                              "rope -> linear @ 50%",
                                              "rope -> linear(factor=2) @ 50%"};
  const auto before = planned(encodings), after = planned(encodings, longer);
  const auto trains_anew = [&](const std::string& e) {
    return before.at(e)["training"] != after.at(e)["training"];
  };
  for (const std::string e : {"rope", "alibi", "learned(rows=64)", "randomized", "t5 + rope",
                              "rope => longrope", "rope -> linear(factor=2) @ 50%"})
    EXPECT_FALSE(trains_anew(e)) << e;
  for (const std::string e : {"learned", "rope -> linear @ 50%"}) EXPECT_TRUE(trains_anew(e)) << e;
  EXPECT_NE(before.at("rope => longrope")["cell"], after.at("rope => longrope")["cell"])
      << "its factor follows from the longest length";
  EXPECT_EQ(before.at("rope => longrope")["training"], before.at("rope")["cell"]);
}

TEST_F(CellIdentity, ALongerEvaluationTrainsNothingAgain) {
  ASSERT_EQ(pesuite({"run", suite({"rope", "rope -> linear @ 50%"}, 10), "--no-report"}).code, 0);
  const Ended e = pesuite({"plan", suite({"rope", "rope -> linear @ 50%"}, 10, longer), "--json"});
  ASSERT_EQ(e.code, 0) << e.err;
  const Json plan = Json::parse(e.out);
  for (const Json& c : plan["cells"])
    EXPECT_EQ(c["state"], c["encoding"] == "rope" ? "begun" : "planned") << c["encoding"];
  const Ended run = pesuite({"run", folder_ / "s.toml", "--out", "results", "--no-report"});
  EXPECT_EQ(run.code, 0) << run.err;
}

}  // namespace
}  // namespace pesuite::testing
