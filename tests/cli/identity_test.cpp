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

class PlanWhy : public Run {
 protected:
  std::string why(const fs::path& suite, const std::string& cell) {
    const Ended e = pesuite({"plan", suite, "--why", cell});
    EXPECT_EQ(e.code, 0) << e.err;
    return e.out;
  }
};

TEST_F(PlanWhy, SaysWhatIsDoneAndWhatIsLikeIt) {
  const fs::path s = suite({"rope", "rope => none"}, 10);
  EXPECT_NE(why(s, "rope").find("Nothing in results/store is like it."), std::string::npos);
  EXPECT_NE(why(s, "rope => none")
                .find("Its training is that of rope·toylag·micro·s1, which is "
                      "not done."),
            std::string::npos)
      << why(s, "rope => none");
  ASSERT_EQ(pesuite({"run", s}).code, 0);
  std::string text = why(s, "rope/s1");
  EXPECT_TRUE(text.starts_with("rope·toylag·micro·s1: done\n")) << text;
  EXPECT_NE(text.find("It is trained, to step 10."), std::string::npos) << text;
  EXPECT_EQ(text.find("To evaluate"), std::string::npos) << text;

  text = why(suite({"rope"}, 10, "[[eval]]\nlengths = [64]\nexamples = 4\n"), "rope");
  EXPECT_NE(text.find("It is trained, to step 10.\n  To evaluate: 16 tokens, 32 tokens, 64 "
                      "tokens.\n"),
            std::string::npos)
      << "the longest evaluation cuts the documents of all: " << text;
  EXPECT_EQ(text.find("like it"), std::string::npos) << "it need not train: " << text;

  text = why(suite({"rope"}, 20), "encoding=rope");
  EXPECT_NE(text.find("It trains 20 steps: the store has no such training."), std::string::npos);
  EXPECT_NE(text.find("\n    train.steps: 10 there, 20 here\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("seed"), std::string::npos) << text;
}

TEST_F(PlanWhy, SaysThatALibraryWasBuiltAnew) {
  const fs::path s = suite({"rope"}, 10), own = folder_ / "own";
  ASSERT_EQ(pesuite({"run", s}).code, 0);
  fs::create_directories(own);
  for (const auto& f : fs::directory_iterator(fs::path(PESUITE_TEST_PLUGINS)))
    if (f.path().filename().string().starts_with("rotary.")) fs::copy(f.path(), own);
  std::ofstream(own / "rotary.plugin.so", std::ios::app) << "one more byte";
  const Ended e = pesuite({"plan", s, "--why", "rope", "--plugin-path", own, "--json"});
  ASSERT_EQ(e.code, 0) << e.err;
  const Json like = Json::parse(e.out).at(0).at("most_like");
  ASSERT_EQ(like["differences"].size(), 1U) << like.dump(1);
  const auto difference = like["differences"][0].get<std::string>();
  EXPECT_TRUE(difference.starts_with("encoding_identity.rope.build: ")) << difference;
  EXPECT_TRUE(difference.ends_with("(the library rotary was built anew)")) << difference;
}

TEST_F(PlanWhy, RefusesACellThatIsNotThere) {
  const Ended e = pesuite({"plan", suite({"rope"}, 10), "--why", "alibi"});
  EXPECT_EQ(e.code, 2);
  EXPECT_NE(e.err.find("has no cell 'alibi'"), std::string::npos) << e.err;
  EXPECT_NE(e.err.find("such as rope·toylag·micro·s1"), std::string::npos) << e.err;
}

}  // namespace
}  // namespace pesuite::testing
