// Figures of cells and of attention, from records to the data and the scripts that gnuplot draws.
#include <gmock/gmock.h>

#include <set>

#include "cell/record.h"
#include "model/safetensors.h"
#include "tests/report/report_fixture.h"

namespace pesuite::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

using Row = std::map<std::string, std::string>;  // by the names of the columns

class ReportFigures : public Report {
 protected:
  // Of one metric at a length and depth, with its chance level.
  void share(const std::string& encoding, int seed, const std::string& metric, int length,
             double depth, double value, double chance) {
    Json j = record(encoding, seed, metric, value, {{"eval_len", length}, {"depth", depth}});
    j["low"] = std::max(0.0, value - 0.05), j["high"] = std::min(1.0, value + 0.05);
    j["chance"] = chance, j["n"] = 100;
    add(j);
  }
  // What is right falls with length and with depth, for `poor` more.
  void retrieval(const std::vector<std::string>& metrics) {
    for (const int length : {64, 128, 256})
      for (const double depth : {0.0, 0.25, 0.5, 0.75, 1.0})
        for (const int seed : {1, 2, 3})
          for (const char* e : {"good", "poor"}) {
            const double lost = length / 64 - 1, steep = *e == 'g' ? 0.1 : 0.25;
            const double part = std::max(0.0, 1 - steep * lost * (1.5 - depth));
            for (const std::string& m : metrics)
              share(e, seed, m, length, depth, m == "em" ? part * part * part : part,
                    m == "em"    ? 1e-5
                    : m == "acc" ? 0.1
                                 : 1 / 256.0);
          }
  }

  std::vector<Row> data(const std::string& figure) const {
    std::vector<Row> out;
    std::vector<std::string> names;
    for (const std::string& line :
         split(trim(read_file(folder_ / "figures" / (figure + ".tsv"))), '\n')) {
      const std::vector<std::string> cells = split(line, '\t');
      EXPECT_NE(cells.back(), "") << "gnuplot reads on into what stood there before: " << line;
      if (names.empty()) {
        names = cells;
        continue;
      }
      out.emplace_back();
      for (std::size_t i = 0; i < cells.size() && i < names.size(); ++i)
        out.back()[names[i]] = cells[i];
    }
    return out;
  }
  // The cell of a figure of cells; without a value where there is none.
  Row cell(const std::string& figure, const char* panel, const char* x, const char* y) const {
    for (const Row& r : data(figure))
      if (r.at("panel") == panel && r.at("x") == x && r.at("y") == y) return r;
    return {};
  }
  std::string script(const std::string& figure) const {
    return read_file(folder_ / "figures" / (figure + ".gp"));
  }
  bool drawn(const ReportResult& r, const std::string& figure) const {
    const bool gnuplot = std::none_of(r.notes.begin(), r.notes.end(), [](const std::string& n) {
      return n.find("gnuplot is not on PATH") != std::string::npos;
    });
    return !gnuplot ||
           read_file(folder_ / "figures" / (figure + ".svg")).find("</svg>") != std::string::npos;
  }
};

TEST_F(ReportFigures, MapsShowWhatATaskIsJudgedBy) {
  task_ = "needle";
  retrieval({"em", "acc", "candidate_acc"});
  const ReportResult r = write_report(written());
  const std::string page = read_file(r.file) + read_file(folder_ / "details.md");
  std::size_t last = 0;
  for (const auto& [figure, title] :
       {std::pair{"map_needle_depth_em",
                  "needle · exact match (%) by depth and length; chance below 0.01 %"},
        std::pair{"map_needle_depth", "needle · accuracy (%) by depth and length; chance 10 %"},
        std::pair{"map_needle_depth_candidate_acc",
                  "needle · first of candidates (%) by depth and length; chance 0.391 %"}}) {
    EXPECT_THAT(script(figure), HasSubstr(fmt::format("figure_title = \"{}\"", title)));
    EXPECT_TRUE(drawn(r, figure)) << figure;
    const std::size_t at = page.find(fmt::format("figures/{}.svg", figure));
    EXPECT_GT(at, last) << figure << " stands behind what is more its measure";
    last = at;
  }
  // poor, 128 tokens, depth 0: 1 - 0.25 * 1.5, and that of all its tokens
  EXPECT_EQ(cell("map_needle_depth", "2", "2", "5")["text"], "62");
  EXPECT_EQ(cell("map_needle_depth_em", "2", "2", "5")["text"], "24");
  EXPECT_EQ(cell("map_needle_depth_em", "2", "2", "1")["text"], "66") << "the last depth below";
  EXPECT_EQ(cell("map_needle_depth_em", "1", "1", "5")["text"], "100");
}

TEST_F(ReportFigures, MapsCountADivergedSeedAsNothingRight) {
  task_ = "needle";
  retrieval({"acc"});
  for (const int length : {64, 128, 256}) {
    Json j = record("good", 4, "acc", Number::none, {{"eval_len", length}});
    j["status"] = "diverged";
    add(j);
  }
  write_report(written());
  EXPECT_EQ(cell("map_needle_depth", "1", "1", "5")["text"], "75");
  EXPECT_FALSE(fs::exists(folder_ / "figures/map_needle_depth_em.tsv")) << "nothing to show";
  EXPECT_FALSE(fs::exists(folder_ / "figures/map_needle_depth_candidate_acc.tsv"));
}

TEST_F(ReportFigures, TablesHaveTheRankingOfCandidatesWhereItIsRecorded) {
  task_ = "needle";
  retrieval({"acc"});
  EXPECT_THAT(page(), Not(HasSubstr("first of candidates")));
  retrieval({"candidate_acc", "mrr"});
  const std::string p = page(), table = "In range and beyond";
  EXPECT_THAT(
      row(p, table, "setting"),
      ElementsAre("setting", "range", "encoding", "accuracy %, mean", "chance %", "seeds ≥ 95 %",
                  "loss", "Δ accuracy", "Δ loss", "first of candidates %", "MRR"));
  EXPECT_THAT(row(p, table, "128 (2x), depth 0"),
              ::testing::IsSupersetOf({"85.0 [85.0, 85.0]", "0.850 [0.850, 0.850]"}));
  EXPECT_THAT(p, HasSubstr("Candidates in random order have 0.4 % and 0.004."));
  EXPECT_THAT(read_file(folder_ / "tables/problem_needle.csv"),
              HasSubstr(",candidate_acc,candidate_acc_low,candidate_acc_high,candidate_acc_chance,"
                        "mrr,"));
}

TEST_F(ReportFigures, StripsShowEverySeedAndCountWhatIsSolved) {
  task_ = "copy";
  for (const int seed : {1, 2, 3, 4, 5})
    for (const int length : {64, 128, 256}) {
      const double lost = (length / 64 - 1) * 0.2;
      accuracy("steady", seed, length, 1 - lost / 10, 0.9, 1);
      if (seed < 5) accuracy("lucky", seed, length, seed == 2 ? 1 : 1 - lost * seed / 4, 0.3, 0.9);
    }
  failure("lucky", 5, "crash", "crashed with SIGSEGV");
  const ReportResult r = write_report(written());
  EXPECT_TRUE(drawn(r, "seeds_copy"));
  EXPECT_THAT(script("seeds_copy"),
              HasSubstr("copy · accuracy (%) of every seed, and how many solve it"));
  // Panel 1, the upper row is `steady`; seven columns a length, of which five are seeds.
  EXPECT_EQ(cell("seeds_copy", "1", "6.3", "2")["text"], "5/5");
  EXPECT_EQ(cell("seeds_copy", "1", "13.3", "2")["text"], "0/5") << "98 % is not solved";
  EXPECT_EQ(cell("seeds_copy", "1", "13.3", "1")["text"], "1/5");
  EXPECT_EQ(cell("seeds_copy", "1", "8", "1")["value"], "1") << "the best seed first";
  EXPECT_EQ(cell("seeds_copy", "1", "9", "1")["value"], "0.95");
  EXPECT_EQ(cell("seeds_copy", "1", "12", "1")["value"], "") << "the one that crashed";
}

TEST_F(ReportFigures, NothingInterruptsACurveOfAPerformanceProfile) {
  task_ = "needle";
  retrieval({"acc"});
  write_report(written());
  std::map<std::string, std::size_t> last, points;  // rows of curves, by encoding
  const std::vector<Row> rows = data("profiles");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string& e = rows[i].at("encoding");
    if (rows[i].at("kind") != "profile") continue;
    EXPECT_TRUE(points[e]++ == 0 || last[e] == i - 1) << e << " at " << rows[i].at("x");
    last[e] = i;
  }
  EXPECT_EQ(points["good"], 221u);
  EXPECT_EQ(points["poor"], 221u);
}

TEST_F(ReportFigures, LaddersShowTrainingAgainstEvaluationLength) {
  expression_ = "toylag(lags=3)";
  for (const int trained : {64, 128, 256}) {
    task_ = fmt::format("lags{}", trained), train_length_ = trained;
    for (const char* e : {"flat", "steep"})
      for (const int length : {64, 128, 256, 512}) {
        const double beyond = std::max(0.0, std::log2(static_cast<double>(length) / trained));
        if (length == 512 && trained == 64 && *e == 's')
          nats(e, 1, length, INFINITY);
        else if (length < 512 || trained > 64 || *e == 's')
          nats(e, 1, length, 1.6 + (*e == 's' ? beyond : 0.1 * beyond));
      }
  }
  const ReportResult r = write_report(written());
  const std::string name = "lengths_toylag";
  EXPECT_TRUE(drawn(r, name));
  EXPECT_THAT(script(name),
              HasSubstr("figure_title = \"toylag · regret (nats) by training and evaluation "
                        "length\""));
  EXPECT_THAT(script(name), HasSubstr("array panel[2] = [\"flat\", \"steep\"]"));
  EXPECT_EQ(cell(name, "2", "3", "1")["text"], "2.10") << "trained at 64, read at 256";
  EXPECT_EQ(cell(name, "2", "3", "3")["text"], "0.10") << "trained at 256";
  EXPECT_EQ(cell(name, "2", "4", "1")["text"], "∞");
  EXPECT_EQ(cell(name, "1", "4", "1")["text"], "–") << "not evaluated";
}

TEST_F(ReportFigures, ClaimsStandAgainstTheirBounds) {
  for (const int seed : {1, 2, 3, 4, 5})
    for (const int length : {64, 128}) {
      const double own = 0.001 * seed, beyond = length > 64 ? 0.5 + 0.01 * (seed % 3) : 0;
      nats("flat", seed, length, 1.52 + own);
      nats("steep", seed, length, 1.52 + own * own + beyond);
    }
  ReportOptions options;
  options.expect = {"nll(flat, 2x) < nll(steep, 2x) and nll(steep, 2x) >= 2",
                    "nll(flat, 2x) > nll(steep, 2x)", "nll(flat, 1x) ~ nll(steep, 1x)",
                    "ppl(steep, 2x) / ppl(flat, 2x) <= 150%",
                    "nll(steep, 2x) - nll(flat, 2x) >= 0.1",
                    "nll(steep, 2x) - nll(flat, 2x) + nll(steep, 2x) - nll(flat, 2x) <= 5"};
  const ReportResult r = write_report(written(), options);
  EXPECT_TRUE(drawn(r, "claims"));
  const std::string page = read_file(r.file);
  EXPECT_LT(page.find("## Claims"), page.find("(figures/claims.svg)"));
  EXPECT_LT(page.find("(figures/claims.svg)"), page.find("- **X1** reproduced"));
  const std::vector<Row> rows = data("claims");
  ASSERT_EQ(rows.size(), 8u) << "a row a part, and the other bound of an equality";
  const auto number = [&](std::size_t i, const char* column) {
    return std::stod(rows[i].at(column));
  };
  EXPECT_EQ(rows[0].at("verdict"), "reproduced at this size");
  EXPECT_EQ(rows[0].at("unit"), "nats");
  EXPECT_NEAR(number(0, "estimate"), -0.5, 0.02);
  EXPECT_GT(number(0, "low"), 0) << "what is claimed lies to the right, also where that is less";
  EXPECT_LT(number(0, "thick_high"), number(0, "high"));
  EXPECT_GT(number(0, "thick_low"), number(0, "low"));
  EXPECT_NEAR(number(1, "estimate"), 2.03, 0.01) << "the value, not its distance from the bound";
  EXPECT_NEAR(number(1, "bound"), 2, 1e-9);
  EXPECT_EQ(rows[2].at("verdict"), "not reproduced at this size");
  EXPECT_LT(number(2, "high"), 0);
  EXPECT_EQ(rows[4].at("kind"), "bound");
  EXPECT_EQ(rows[5].at("unit"), "") << "a ratio has none";
  EXPECT_NEAR(number(5, "bound"), 1.5, 1e-9);
  EXPECT_THAT(script("claims"), HasSubstr("<= 150%\""));
  EXPECT_THAT(script("claims"), HasSubstr("\"+0.51, bound +0.10 nats\"")) << "a change has a sign";
  EXPECT_THAT(script("claims"), HasSubstr("\"+ nll(steep, 2x) - nll(flat, 2x) <= 5\""))
      << "what is too long for a line goes on in the next, whole";
}

TEST_F(ReportFigures, ClaimsWithoutAnyIntervalAreNotDrawn) {
  for (const int length : {64, 128}) nats("flat", 1, length, 1.6);
  ReportOptions options;
  options.expect = {"nll(flat, 2x) < 2"};
  write_report(written(), options);
  EXPECT_FALSE(fs::exists(folder_ / "figures/claims.tsv"));
}

TEST_F(ReportFigures, OverheadIsPairedWithNoEncodingInTheSameCell) {
  const auto speed = [&](const std::string& encoding, int seed, double tokens) {
    Json j = record(encoding, seed, "tokens_per_s", tokens, Json::object());
    j["part"] = "train", j["split"] = "train";
    if (encoding == "plain")
      j["encoding"]["expr"] = "none";
    else
      nats(encoding, seed, 64, 1.6);
    add(j);
  };
  for (const int length : {64, 128}) {
    task_ = fmt::format("t{}", length), train_length_ = length;
    for (const int seed : {1, 2, 3, 4, 5}) {  // the machine is slower with each seed
      speed("slow", seed, 500.0 / seed / (length > 64 && seed == 5 ? 2 : 1));
      speed("plain", seed, 1000.0 / seed);
      speed("fast", seed, 1250.0 / seed);
    }
  }
  const ReportResult r = write_report(written());
  EXPECT_TRUE(drawn(r, "overhead"));
  EXPECT_THAT(script("overhead"), HasSubstr("training time per token against plain"));
  EXPECT_THAT(script("overhead"),
              HasSubstr("\"+100 % at 64\", \"+130 % at 128\", \"-20 % at 64\""));
  const std::string details = read_file(folder_ / "details.md");
  const std::size_t at = details.find("figures/overhead.svg");
  EXPECT_LT(details.find("## Cost"), at);
  EXPECT_THAT(details.substr(at), HasSubstr("Cells shared the machine. For speed: "));
  const std::vector<Row> rows = data("overhead");
  ASSERT_EQ(rows.size(), 4u) << "a bar a length; the reference has none";
  EXPECT_NEAR(std::stod(rows[0].at("x")), 100, 1e-6);
  EXPECT_NEAR(std::stod(rows[0].at("high")), 100, 1e-6) << "a slow machine is no spread";
  EXPECT_LT(std::stod(rows[1].at("low")), 100);
  EXPECT_GT(std::stod(rows[1].at("high")), 200);
}

TEST_F(ReportFigures, OverheadIsAgainstTheFastestWhereAllEncode) {
  for (const int seed : {1, 2})
    for (const auto& [encoding, tokens] : {std::pair{"slow", 500.0}, std::pair{"fast", 1000.0}}) {
      Json j = record(encoding, seed, "tokens_per_s", tokens * seed, Json::object());
      j["part"] = "train", j["split"] = "train";
      add(j);
      nats(encoding, seed, 64, 1.6);
    }
  write_report(written());
  EXPECT_THAT(script("overhead"), HasSubstr("against fast, the fastest,"));
  EXPECT_THAT(script("overhead"), HasSubstr("[\"+100 %\"]"));
}

TEST_F(ReportFigures, OverheadOfOneCellIsLoadOfTheMachine) {
  for (const auto& [encoding, tokens] : {std::pair{"slow", 500.0}, std::pair{"fast", 1000.0}}) {
    Json j = record(encoding, 1, "tokens_per_s", tokens, Json::object());
    j["part"] = "train", j["split"] = "train";
    add(j);
    nats(encoding, 1, 64, 1.6);
  }
  write_report(written());
  EXPECT_FALSE(fs::exists(folder_ / "figures/overhead.tsv"));
}

TEST_F(ReportFigures, TikzIsADocumentWithItsTextEscaped) {
  task_ = "lags_of";
  for (const int seed : {1, 2, 3})
    for (const int length : {64, 128}) {
      nats("ro_pe 50% #1 & {x}^2", seed, length, 1.6 + 0.001 * seed * length);
      nats("none", seed, length, 1.7 + 0.001 * seed * length);
    }
  ReportOptions options;
  options.formats = {"tikz"};
  const ReportResult r = write_report(written(), options);
  if (!r.notes.empty()) {  // what is missing may be gnuplot, or its Lua
    EXPECT_THAT(r.notes[0], ::testing::AnyOf(HasSubstr("not on PATH"), HasSubstr("unknown")));
    GTEST_SKIP() << r.notes[0];
  }
  EXPECT_TRUE(fs::exists(folder_ / "figures/gnuplot-lua-tikz.sty")) << "what the documents load";
  bool named = false;
  for (const fs::path& file : r.figures) {
    const std::string text = read_file(file);
    EXPECT_THAT(text, ::testing::StartsWith("\\documentclass"));
    EXPECT_THAT(trim(text), ::testing::EndsWith("\\end{document}"));
    EXPECT_THAT(text, Not(HasSubstr("SetUnicodeOption"))) << "no command of LaTeX";
    EXPECT_THAT(text, Not(HasSubstr("ro_pe"))) << file;
    EXPECT_THAT(text, Not(HasSubstr("lags_of"))) << file;
    named |=
        text.find("{ro\\_pe 50\\% \\#1 \\& \\{x\\}\\textasciicircum{}2};") != std::string::npos;
    EXPECT_THAT(text, Not(HasSubstr("{\\$"))) << "numbers stay mathematics";
  }
  EXPECT_TRUE(named);
}

TEST_F(ReportFigures, BudgetsHaveAPowerLawFromFourOn) {
  expression_ = "toylag(lags=3)";
  const auto train = [&](const std::string& encoding, double flops, double loss) {
    for (const int seed : {1, 2}) {
      Json j = record(encoding, seed, "nll", loss + 0.001 * (2 * seed - 3), Json::object());
      j["part"] = "train", j["split"] = "val";
      j["flops"] = flops, j["tokens"] = static_cast<std::int64_t>(flops / 1e6);
      add(j);
      nats(encoding, seed, 64, loss);
    }
  };
  const auto budget = [&](int i) {
    const double flops = 1e9 * std::pow(4.0, i);
    task_ = fmt::format("lags_{}", i);
    train("lawful", flops, 300 * std::pow(flops, -0.3) + 1.2);
    train("rising", flops, 2 + 0.1 * i);
  };
  budget(0);
  write_report(written());
  EXPECT_FALSE(fs::exists(folder_ / "figures/budget_lags_0.tsv")) << "one budget";
  budget(1), budget(2);
  write_report(written());
  EXPECT_THAT(script("budget_lags_0"), HasSubstr("array joined[2] = [1, 1]"));
  EXPECT_THAT(script("budget_lags_0"), Not(HasSubstr("power law L")));
  budget(3), budget(4);
  const ReportResult r = write_report(written());
  EXPECT_TRUE(drawn(r, "budget_lags_0"));
  EXPECT_FALSE(fs::exists(folder_ / "figures/budget_lags_1.tsv")) << "all stand in one figure";
  const std::string text = script("budget_lags_0");
  EXPECT_THAT(text, HasSubstr("of 5 budgets against FLOPs of the whole training"));
  EXPECT_THAT(text, HasSubstr("array label[2] = [\"lawful: b 0.30, c 1.20\", \"rising\"]"));
  EXPECT_THAT(text, HasSubstr("array joined[2] = [0, 1]")) << "what rises follows no such law";
  for (const Row& row : data("budget_lags_0")) {
    if (row.at("kind") != "fit") continue;
    const double x = std::stod(row.at("x"));
    EXPECT_NEAR(std::stod(row.at("value")), 300 * std::pow(x, -0.3) + 1.2, 2e-3);
  }
}

TEST_F(ReportFigures, APercentSignInATickIsNoFormat) {
  for (const int length : {64, 128}) nats("flat 50% x", 1, length, 1.6);
  const ReportResult r = write_report(written());
  EXPECT_THAT(script("answer"), HasSubstr("flat 50%% x"));
  for (const std::string& n : r.notes) EXPECT_THAT(n, Not(HasSubstr("figure")));
}

TEST_F(ReportFigures, AttentionIsDrawnFromTheMapsOfTheFirstSeed) {
  task_ = "copy";
  constexpr int n = 128;
  Json cells = Json::array();
  for (const int seed : {1, 2}) {
    accuracy("near", seed, n, 1, 0.9, 1);
    cells.push_back({{"encoding", "near"},
                     {"task", task_},
                     {"model", "nano"},
                     {"seed", seed},
                     {"config", {{"train", {{"train_len", 64}}}}},
                     {"evals", {{{"eval_len", n}, {"part", "eval-0123"}}}}});
    fs::create_directories(folder_ / "attention");
    write_safetensors(
        folder_ / "attention" / maps_name("near", task_, "nano", seed, n, "eval-0123"),
        {{"layers.0.heads.0", {n, n}},
         {"layers.0.heads.1", {n, n}},
         {"layers.1.heads.0", {n, n}},
         {"layers.1.heads.1", {n, n}}},
        {{"schema", "pesuite.attention/1"},
         {"length", std::to_string(n)},
         {"example", "0"},
         {"layers", "[0,1]"},
         {"heads", "[0,1]"}},
        false, [](std::size_t map) {  // on one distance, map 0 the token itself
          std::vector<double> p(n * n);
          for (std::size_t i = 0; i < n; ++i) {
            const std::size_t to = i - std::min(i, 20 * map);
            for (std::size_t j = 0; j <= i; ++j) p[i * n + j] = 0.1 / static_cast<double>(i + 1);
            p[i * n + to] += 0.9;
          }
          return p;
        });
  }
  write_file_atomic(folder_ / "plan.json", Json{{"cells", cells}}.dump());
  const ReportResult r = write_report(written());
  const std::string name = "attention_copy_near_128";
  EXPECT_TRUE(drawn(r, name));
  EXPECT_FALSE(fs::exists(folder_ / "figures/attention_copy_near_128_2.tsv")) << "of one seed";
  EXPECT_THAT(script(name), HasSubstr("copy · attention of near at 128 tokens, seed 1"));
  EXPECT_THAT(script(name), HasSubstr("a point is the largest of 2 x 2 weights"));
  EXPECT_THAT(script(name), HasSubstr("\"layer 1, head 1\""));
  const std::vector<Row> rows = data(name);
  ASSERT_EQ(rows.size(), 4u * 64 * 64);
  const auto weight = [&](const char* panel, const char* query, const char* key) {
    for (const Row& one : rows)
      if (one.at("panel") == panel && one.at("query") == query && one.at("key") == key)
        return one.at("weight");
    return std::string("no such point");
  };
  EXPECT_EQ(weight("1", "100.5", "100.5"), "0.901");
  EXPECT_EQ(weight("2", "100.5", "80.5"), "0.901");
  EXPECT_EQ(weight("2", "100.5", "100.5"), "0.00099");
  EXPECT_EQ(weight("1", "80.5", "100.5"), "NaN") << "what follows a query is not seen";
}

// Where tasks are asked of other encodings, the answer's left panel has those of its task alone.
TEST_F(ReportFigures, OfTheAnswerStartWithTheEncodingsOfTheirTask) {
  for (const auto& [task, encodings] :
       {std::pair{"one", std::vector{"a", "b"}}, std::pair{"two", std::vector{"c"}}})
    for (const char* encoding : encodings)
      for (const int seed : {1, 2, 3})
        for (const int length : {64, 128}) {
          task_ = task;
          nats(encoding, seed, length,
               1.51 + 0.001 * seed + (*encoding == 'b' && length > 64 ? 0.5 : 0));
        }
  page();
  std::set<std::string> rows;
  for (const Row& r : data("answer"))
    if (r.at("panel") == "0") rows.insert(r.at("encoding"));
  EXPECT_EQ(rows, (std::set<std::string>{"a", "b"}));
}

// Of ranks that are all the same a figure shows nothing, and below five tasks there is no critical
// difference to draw.
TEST_F(ReportFigures, OfRanksShowWhatThereIs) {
  const auto ranks = [&](double apart) {
    lines_.clear();
    for (const char* task : {"one", "two"})
      for (const int seed : {1, 2, 3})
        for (const int length : {64, 128}) {
          task_ = task;
          const double own = 1.51 + 0.001 * seed + (length > 64 ? 0.002 * seed : 0);
          nats("a", seed, length, own);
          nats("b", seed, length, own + (length > 64 ? apart * (1 + 0.01 * seed) : 0));
        }
    const std::string found = page();
    const fs::path drawn = folder_ / "figures/ranks.svg";
    EXPECT_EQ(found.find("mean rank over 2 tasks") != std::string::npos, fs::exists(drawn));
    return fs::exists(drawn) ? read_file(drawn) : "";
  };
  EXPECT_EQ(ranks(0), "");
  const std::string drawn = ranks(0.5);
  EXPECT_NE(drawn, "");
  EXPECT_EQ(drawn.find("critical difference"), std::string::npos);
}

}  // namespace
}  // namespace pesuite::testing
