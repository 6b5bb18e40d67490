// The evolution where its published traces do not reach, and the search that begins at other
// encodings. Traces: tests/golden, kind `search`.
#include "search/search.h"

#include <gmock/gmock.h>

#include <cmath>

#include "base/error.h"
#include "tests/catalog.h"
#include "tests/support.h"

namespace pesuite::testing {
namespace {

double distance_to(std::span<const double> list, const std::vector<double>& target) {
  double sum = 0;
  for (std::size_t i = 0; i < target.size(); ++i)
    sum += std::pow(std::log(list[i]) - std::log(target[i]), 2);
  return sum;
}

TEST(Evolution, FindsAListThatNeverFallsAndIsNoWorseThanItsStarts) {
  const std::vector<double> target = {1, 1.3, 2.2, 3.1, 3.9};
  const std::vector<std::vector<double>> starts = {
      {4, 4, 4, 4, 4}, {1, 1.5, 2, 3, 4}, {1, 1, 1, 1, 4}};
  EvolutionConfig c;
  c.scale = 4, c.population = 16, c.parents = 8, c.iterations = 20;
  c.mutations = c.crossovers = 8;
  const auto loss = [&](std::span<const double> g) { return distance_to(g, target); };
  std::vector<double> heard;
  SeededDraws draws(7), again(7);
  const Evolution e = evolve(c, starts, loss, draws, [&](int, const Individual& best) {
    heard.push_back(best.loss);
    return true;
  });
  EXPECT_TRUE(std::is_sorted(heard.rbegin(), heard.rend())) << "the best may not get worse";
  EXPECT_LT(e.best.loss, 0.5 * loss(starts[1]));
  for (const Individual& i : e.history) {
    EXPECT_TRUE(std::is_sorted(i.genes.begin(), i.genes.end()));
    EXPECT_GE(i.genes[0], 1);
    EXPECT_LE(i.genes.back(), 1 + c.scale + 2 * c.step);
    EXPECT_EQ(i.loss, loss(i.genes));
  }
  EXPECT_EQ(e.best.genes, evolve(c, starts, loss, again).best.genes);
}

TEST(Evolution, EndsWhereNothingNewIsLeft) {
  EvolutionConfig c;
  c.scale = 1, c.step = 1, c.population = 64, c.parents = 2, c.iterations = 3;
  c.mutation_tries = 200;
  SeededDraws draws(1);
  const Evolution e = evolve(
      c, {{1, 1}}, [](std::span<const double> g) { return g[1]; }, draws);
  EXPECT_EQ(e.best.loss, 1);
  EXPECT_LT(e.history.size(), 12u);
}

TEST(Evolution, RefusesFewerThanTwoParents) {
  EvolutionConfig c;
  c.parents = 1;
  SeededDraws draws(1);
  EXPECT_THROW(evolve(
                   c, {{1, 2}}, [](auto) { return 0.0; }, draws),
               Error);
}

ModelShape shape() {
  ModelShape m;
  m.layers = 1, m.heads = m.kv_heads = 2, m.head_dim = 16, m.width = 32;
  m.train_length = 32, m.max_length = 128;
  return m;
}

TEST(Search, SeesAnglesAndFactorsOfPairs) {
  for (const char* text : {"rope(base=100)", "rope(base=100, layout=interleaved)"}) {
    const Turns t = turns_of(built_catalog(), parse_expression(text), shape(), 4);
    ASSERT_EQ(t.angles.size(), 8u) << text;
    for (int r = 0; r < 8; ++r)
      EXPECT_NEAR(t.angles[static_cast<std::size_t>(r)], std::pow(100, -r / 8.0), 1e-12);
    EXPECT_NEAR(t.factor, 1, 1e-12);
  }
  EXPECT_EQ(
      turns_of(built_catalog(), parse_expression("rope(features=4)"), shape(), 4).angles.size(),
      2u);
  EXPECT_NEAR(turns_of(built_catalog(), parse_expression("yarn(scale=4)"), shape(), 4).factor,
              0.1 * std::log(4) + 1, 1e-12);
  EXPECT_THROW(turns_of(built_catalog(), parse_expression("alibi"), shape(), 4), Error);
}

TEST(Search, NeverLosesToWhatItBeginsWith) {
  const SearchRule rule = search_rule(built_catalog(), "longrope");
  EvolutionConfig c;
  c.population = 8, c.parents = 4, c.iterations = 4, c.mutations = c.crossovers = 4;
  // The loss wants the angles of the linear method, and its factor: that beginning has to be found
  // again, with the options of the trained model.
  const Sum trained = parse_encoding("rope(base=500)").first;
  const Turns wanted =
      turns_of(built_catalog(), parse_expression("linear(base=500, factor=4)"), shape(), 128);
  const auto loss = [&](const std::string& expression) {
    const Turns t = turns_of(built_catalog(), parse_expression(expression), shape(), 128);
    double sum = std::fabs(t.factor - wanted.factor);
    for (std::size_t r = 0; r < t.angles.size(); ++r)
      sum += std::fabs(std::log(t.angles[r] / wanted.angles[r]));
    return sum;
  };
  const SearchResult r = search(built_catalog(), rule, parse_expression("longrope"), trained,
                                shape(), 128, c, 3, loss);
  ASSERT_EQ(r.from.size(), rule.from.size());
  for (const auto& from : r.from) EXPECT_LE(r.best.loss, from.loss + 1e-9) << from.expression;
  EXPECT_LT(r.best.loss, 1e-9);
  EXPECT_NEAR(r.factor, 1, 1e-12);
  EXPECT_THAT(r.best.expression, ::testing::HasSubstr("base=500"));
  EXPECT_NEAR(loss(r.best.expression), r.best.loss, 1e-15);
}

TEST(Search, SaysWhatCanBeSearched) {
  try {
    search_rule(built_catalog(), "rope");
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), ::testing::HasSubstr("longrope has"));
  }
}

}  // namespace
}  // namespace pesuite::testing
