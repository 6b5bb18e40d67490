// Passkeys, needles, chains of variables, frequent words and copies over a distance: their
// definitions word by word, and refusals.
#include <map>
#include <set>

#include "tests/tasks/tasks.h"

namespace pesuite::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Tokens = std::vector<std::int32_t>;

std::vector<int> places_of(const Tokens& tokens, int token) {
  std::vector<int> out;
  for (std::size_t t = 0; t < tokens.size(); ++t)
    if (tokens[t] == token) out.push_back(static_cast<int>(t));
  return out;
}

// --------------------------------------------------------------------------------- passkey

constexpr int key = S + 30, digit = S + 31;

TEST(Passkey, StandsAtItsDepth) {
  const Task t = make_task("passkey");
  const int filler = 64 - 15;
  for (const double depth : {0., .1, .5, .9, 1.}) {
    const Example e = sample(t, 64, 3, PES_SPLIT_TEST, {depth});
    const std::vector<int> marks = places_of(e.tokens, key);
    ASSERT_EQ(marks.size(), 2u);
    EXPECT_EQ(marks[0], 1 + std::lround(depth * filler));
    EXPECT_EQ(marks[1], marks[0] + 6);
    EXPECT_EQ(e.tokens[0], PES_BOS);
    EXPECT_EQ(e.tokens[57], PES_ASK);
    EXPECT_EQ(e.tokens[63], PES_EOS);
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(e.tokens[58 + i], e.tokens[marks[0] + 1 + i]);
      EXPECT_EQ(e.targets[57 + i], e.tokens[58 + i]);
    }
    EXPECT_EQ(std::count(e.targets.begin(), e.targets.end(), -1), 64 - 5);
  }
}

TEST(Passkey, IsSurroundedByOneLoopOfText) {
  const Task t = make_task("passkey");
  std::set<int> first;
  for (int i = 0; i < 300; ++i) {
    const Example e = sample(t, 64, i);
    Tokens filler;
    std::copy_if(e.tokens.begin(), e.tokens.end(), std::back_inserter(filler),
                 [](int x) { return x >= S && x < S + 30; });
    ASSERT_EQ(filler.size(), 49u);
    for (std::size_t k = 1; k < filler.size(); ++k)
      ASSERT_EQ(filler[k] - S, (filler[k - 1] - S + 1) % 30);
    first.insert(filler[0]);
  }
  EXPECT_EQ(first.size(), 30u);
}

TEST(Passkey, DrawsDepthsAndDigitsUniformly) {
  const Task t = make_task("passkey");
  std::map<int, double> depths, digits;
  constexpr int n = 8000;
  for (int i = 0; i < n; ++i) {
    const Example e = sample(t, 65, i);  // 50 words of filler: ten depths that are five apart
    ++depths[(places_of(e.tokens, key)[0] - 1) / 5];
    ++digits[e.tokens[59] - digit];
  }
  EXPECT_EQ(depths.size(), 11u);
  for (const auto& [d, count] : depths) expect_rate(count, n, 1. / 11, fmt::format("depth {}", d));
  EXPECT_EQ(digits.size(), 10u);
  for (const auto& [d, count] : digits) expect_rate(count, n, .1, fmt::format("digit {}", d));
}

TEST(Passkey, MayHaveFewerDigits) {
  const Task t = make_task("passkey(least=1)");
  std::map<std::ptrdiff_t, double> scored;
  for (int i = 0; i < 4000; ++i) {
    const Example e = sample(t, 64, i);
    ++scored[64 - std::count(e.targets.begin(), e.targets.end(), -1)];
  }
  EXPECT_EQ(scored.size(), 5u);
  for (const auto& [digits, count] : scored) expect_rate(count, 4000, .2, "digits");
}

// ------------------------------------------------------------------------ variable_tracking

constexpr int var = S + 30, variable0 = var + 1, named0 = variable0 + 64;  // VAR v x; a value

TEST(VariableTracking, NamesTheChainOfAValueInOrder) {
  constexpr int a = variable0, b = a + 5, c = a + 9, d = a + 20, x = named0, y = named0 + 7;
  const Tokens text = {PES_BOS, S + 3, var, a,   x, S + 4, var,   b,      y,
                       var,     c,     a,   var, d, c,     S + 5, PES_ASK};
  const auto answer = [&](int value) {
    Tokens tokens = text;
    tokens.insert(tokens.end(), {value, 0, 0, 0, 0});
    Tokens out;
    for (const int t : solve(make_task("variable_tracking"), tokens))
      if (t >= 0) out.push_back(t);
    return out;
  };
  EXPECT_THAT(answer(x), ElementsAre(a, c, d, PES_EOS));
  EXPECT_THAT(answer(y), ElementsAre(b, PES_EOS));
}

TEST(VariableTracking, HasAsManyChainsAndHopsAsAreAskedFor) {
  const Task t = make_task("variable_tracking(chains=3)", 256, 128);
  std::map<std::size_t, double> drawn;
  constexpr int many = 4000;
  for (int i = 0; i < many; ++i) {
    const Example e = sample(t, 128, i);
    const std::vector<int> at = places_of(e.tokens, var);
    ASSERT_EQ(at.size() % 3, 0u);
    ++drawn[at.size() / 3 - 1];
    std::set<int> names;
    for (const int place : at) names.insert(e.tokens[place + 1]);
    EXPECT_EQ(names.size(), at.size());
    const Example fixed = sample(t, 128, i, PES_SPLIT_TEST, {6});
    EXPECT_EQ(places_of(fixed.tokens, var).size(), 21u);
    EXPECT_EQ(std::count(fixed.targets.begin(), fixed.targets.end(), -1), 128 - 8);
  }
  EXPECT_EQ(drawn.size(), 4u);
  for (const auto& [hops, count] : drawn) expect_rate(count, many, .25, "hops");
  EXPECT_THAT(error_of([&] { sample(t, 64, 0, PES_SPLIT_TEST, {8}); }),
              HasSubstr("whose chains fit into length 64, not 8"));
  EXPECT_THAT(error_of([] { make_task("variable_tracking(chains=4)"); }),
              HasSubstr("69 tokens are needed"));
}

// ------------------------------------------------------------------------------ common_words

TEST(CommonWords, AreNamedByHowOftenTheyStandThere) {
  constexpr int a = S + 1, b = S + 2, c = S + 3, d = S + 4, e = S + 5;
  const auto answer = [&](const char* task) {  // of 4 a, 1 b, 3 c, 2 d, 2 e
    Tokens out;
    for (const int t :
         solve(make_task(task), {PES_BOS, e, a, c, a, d, c, a, b, d, e, c, a, PES_ASK, 0, 0, 0, 0}))
      if (t >= 0) out.push_back(t);
    return out;
  };
  EXPECT_THAT(answer("common_words(variant=frequent)"), ElementsAre(a, c, e));
  EXPECT_THAT(answer("common_words"), ElementsAre(a, c, e, d));
}

TEST(CommonWords, HaveTheCountsOfTheirVariant) {
  const Task common = make_task("common_words"),
             frequent = make_task("common_words(variant=frequent)");
  double words = 0, of_first = 0;
  for (int i = 0; i < 500; ++i) {
    const auto counts = [](const Example& e) {
      std::map<int, int> out;
      for (auto t = e.tokens.begin() + 1; *t != PES_ASK; ++t) ++out[*t];
      return out;
    };
    const Example e = sample(common, 128, i);
    std::map<int, int> how_many;
    for (const auto& [word, count] : counts(e)) ++how_many[count];
    EXPECT_THAT(how_many, ElementsAre(std::pair(2, 49), std::pair(6, 4)));
    const Example f = sample(frequent, 128, i);
    const auto of = counts(f);
    const long ask = std::find(f.tokens.begin(), f.tokens.end(), PES_ASK) - f.tokens.begin();
    int above = 1000;
    for (int k = 0; k < 3; ++k) {
      const int count = of.at(f.targets[static_cast<std::size_t>(ask + k)]);
      EXPECT_LT(count, above);
      above = count;
    }
    for (const auto& [word, count] : of)
      EXPECT_TRUE(count < above || std::count(f.targets.begin(), f.targets.end(), word) == 1);
    words += 123, of_first += of.at(f.targets[static_cast<std::size_t>(ask)]);
  }
  EXPECT_NEAR(of_first / words, .61, .02);  // 1 / (1 + 1/4 + 1/9 + ..), of 256 words
  EXPECT_THAT(error_of([&] { sample(make_task("common_words(words=64)"), 256, 0); }),
              HasSubstr("asks for a list of 117 words, but there are 64"));
}

// ------------------------------------------------------------------------------------ niah

constexpr int ledger_set = S + 1, key0 = S + 227, value0 = key0 + 256;

struct Needles {
  std::vector<std::pair<int, int>> pairs;  // key, value, in order of appearance
  std::vector<int> places;
  Tokens haystack, query;
};
Needles take_apart(const Example& e) {
  Needles n;
  const auto ask = std::find(e.tokens.begin(), e.tokens.end(), PES_ASK);
  for (auto x = e.tokens.begin(); x != ask; ++x)
    if (*x == ledger_set && x[1] >= key0) {
      n.pairs.emplace_back(x[1], x[2]);
      n.places.push_back(static_cast<int>(n.haystack.size()));
      x += 2;
    } else {
      n.haystack.push_back(*x);
    }
  n.query.assign(ask, e.tokens.end());
  return n;
}

TEST(Niah, AsksForItsNeedles) {
  const struct {
    const char* variant;
    std::size_t needles, keys, answers, query;
  } cases[] = {{"single", 1, 1, 1, 3},
               {"multi_key", 5, 5, 1, 3},
               {"multi_value", 4, 1, 4, 6},
               {"multi_query", 4, 4, 4, 12}};
  for (const auto& c : cases) {
    const Task t = make_task(fmt::format("niah(variant={})", c.variant));
    for (int i = 0; i < 200; ++i) {
      const Example e = sample(t, 128, i);
      const Needles n = take_apart(e);
      ASSERT_EQ(n.pairs.size(), c.needles);
      ASSERT_EQ(n.query.size(), c.query);
      std::set<int> keys, values;
      for (const auto& [k, v] : n.pairs) keys.insert(k), values.insert(v);
      EXPECT_EQ(keys.size(), c.keys);
      EXPECT_EQ(values.size(), c.needles);
      EXPECT_EQ(e.targets.size() - std::count(e.targets.begin(), e.targets.end(), -1), c.answers);
      for (int p = 0; p < 128; ++p)
        if (e.targets[p] >= 0) {
          EXPECT_TRUE(values.contains(e.targets[p]));
        }
    }
  }
}

// A hand-made haystack: what is asked for, whatever stands around.
TEST(Niah, IsSolvedFromWhatIsSeen) {
  constexpr int k = key0 + 7, other = key0 + 9, v = value0, filler = S + 130, ask = PES_ASK;
  EXPECT_THAT(solve(make_task("niah(variant=multi_key)"),
                    {S, ledger_set, other, v + 1, filler, ledger_set, k, v + 2, filler, ask, k, 0}),
              ElementsAre(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, v + 2, -1));
  EXPECT_THAT(solve(make_task("niah(variant=multi_value)"),
                    {S, ledger_set, k, v + 1, filler, ledger_set, k, v + 2, ask, k, 0, 0}),
              ElementsAre(-1, -1, -1, -1, -1, -1, -1, -1, -1, v + 1, v + 2, -1));
}

// The target stands before the sentence whose start is nearest to its depth; the text has no
// questions of its own, and its sentences keep their proportions.
TEST(Niah, StandsBeforeTheSentenceNearestToItsDepth) {
  constexpr int sentence_set = 1, sentence_ask = 2, sentence_fil = 3, end = 6;
  const Task t = make_task("niah", 1024);
  std::map<int, double> sentences;
  double all = 0;
  for (int i = 0; i < 100; ++i) {
    const double depth = i % 11 / 10.;
    const Needles n = take_apart(sample(t, 512, i, PES_SPLIT_TEST, {depth}));
    ASSERT_EQ(n.haystack.size(), 512u - 6);
    std::vector<int> starts;
    for (int at = 1; at < 506;) {
      const int type = n.haystack[at] - S;
      starts.push_back(at);
      ++sentences[type], ++all;
      if (type == sentence_fil)
        while (at < 506 && n.haystack[at] - S != end) ++at;
      at += type == sentence_fil ? 1 : type == sentence_set ? 4 : 2;
    }
    const double wanted = depth * 506;
    int nearest = starts[0];
    for (const int s : starts)
      if (std::fabs(s - wanted) < std::fabs(nearest - wanted)) nearest = s;
    EXPECT_EQ(n.places[0], nearest) << depth;
  }
  EXPECT_EQ(sentences.count(sentence_ask), 0u);
  expect_rate(sentences[sentence_set], all, .12 / .72, "SET");
  expect_rate(sentences[sentence_fil], all, .50 / .72, "FIL");
}

TEST(Niah, AsksInRandomOrder) {
  const Task t = make_task("niah(variant=multi_query)");
  std::map<int, double> first;  // which needle, by appearance, is asked for first
  constexpr int n = 4000;
  for (int i = 0; i < n; ++i) {
    const Needles e = take_apart(sample(t, 64, i));
    for (int k = 0; k < 4; ++k)
      if (e.pairs[k].first == e.query[1]) ++first[k];
  }
  for (int k = 0; k < 4; ++k) expect_rate(first[k], n, .25, "first question");
}

// How often haystacks of eight tokens meet, behind what needles count: a key and a value of 256.
TEST(Niah, KnowsHowManyHaystacksThereAre) {
  const Task t = make_task("niah");
  constexpr int n = 32768;
  std::map<std::vector<std::int32_t>, double> seen;
  for (int i = 0; i < n; ++i) {
    std::vector<std::int32_t> text = sample(t, 14, i).tokens;
    const std::int32_t key = text[12];
    text.resize(11);  // without the question
    const auto needle = std::find(text.begin(), text.end(), key) - 1;
    text.erase(needle, needle + 3);
    ++seen[text];
  }
  double pairs = 0;
  for (const auto& [text, count] : seen) pairs += count * (count - 1) / 2;
  const double expected = n * (n - 1.0) / 2 * std::pow(10, -t.distinct(14)) * 256 * 256;
  EXPECT_NEAR(pairs, expected, .1 * expected);
  for (const char* text : {"niah", "niah(variant=multi_value)"})
    EXPECT_TRUE(std::isfinite(make_task(text, 4096).distinct(4096))) << text;
}

TEST(Retrieval, RanksItsCandidates) {
  const Task p = make_task("passkey"), n = make_task("niah");
  EXPECT_EQ(p.info().candidates, 10);
  EXPECT_EQ(n.info().candidates, 256);
  for (const Task* t : {&p, &n})
    for (int i = 0; i < 50; ++i)
      for (const int target : sample(*t, 64, i).targets) {
        if (target >= 0) {
          EXPECT_TRUE(t->ranks(target));
        }
      }
}

// --------------------------------------------------------------------------- copy_distance

TEST(CopyDistance, ReachesAsFarAsTheAxisSays) {
  const Task t = make_task("copy_distance", 256, 72);  // a span of 64
  for (const auto& [distance, tokens] : {std::pair{.25, 16}, {.5, 32}, {1., 64}, {2., 128}}) {
    const Example e = sample(t, 144, 1, PES_SPLIT_TEST, {distance, NAN});
    const std::vector<int> ask = places_of(e.tokens, PES_ASK);
    EXPECT_THAT(ask, ElementsAre(1 + tokens));
    for (int i = 0; i < 5; ++i) EXPECT_EQ(e.tokens[ask[0] + 1 + i], e.tokens[1 + i]);
    EXPECT_EQ(e.tokens[ask[0] + 6], PES_EOS);
    EXPECT_EQ(std::count(e.tokens.begin(), e.tokens.end(), PES_PAD), 144 - tokens - 8);
  }
}

TEST(CopyDistance, DrawsItsDistancesInTrainingAndFillsLongerExamples) {
  const Task t = make_task("copy_distance", 256, 72);
  std::map<int, double> asks;
  double letters = 0;
  constexpr int n = 4000;
  for (int i = 0; i < n; ++i) {
    const Example e = sample(t, 72, i);
    ++asks[places_of(e.tokens, PES_ASK)[0]];
    letters += e.tokens[1] >= S + 40;
  }
  EXPECT_EQ(asks.size(), 4u);
  for (const int at : {17, 33, 49, 65}) expect_rate(asks[at], n, .25, "distance");
  expect_rate(letters, n, .5, "letters");
  for (int i = 0; i < 20; ++i) EXPECT_EQ(sample(t, 200, i).tokens[199], PES_EOS);
}

// --------------------------------------------------------------------------------- refusals

TEST(Retrieval, RefusesWithSentences) {
  const auto refusal = [](const char* name, int length, std::vector<double> axes = {}) {
    return error_of([&] { sample(make_task(name), length, 0, PES_SPLIT_TRAIN, axes); });
  };
  EXPECT_THAT(refusal("passkey", 15), HasSubstr("16 tokens are needed"));
  EXPECT_THAT(refusal("passkey", 64, {1.5}), HasSubstr("axis depth is a share from 0 to 1"));
  EXPECT_THAT(refusal("niah(variant=multi_query)", 31), HasSubstr("32 tokens are needed"));
  EXPECT_THAT(refusal("copy_distance", 12), HasSubstr("13 tokens are needed"));
  EXPECT_THAT(refusal("copy_distance", 64, {2, NAN}), HasSubstr("does not fit into 64"));
  EXPECT_THAT(refusal("copy_distance", 64, {1, 3}), HasSubstr("axis content has no value 3"));
  EXPECT_THAT(error_of([] { make_task("passkey(digits=3, least=4)"); }),
              HasSubstr("least=4 digits are more than digits=3"));
  EXPECT_THAT(error_of([] { make_task("copy_distance", 256, 12); }), HasSubstr("it takes 13"));
}

// ----------------------------------------------------------------------------------- babilong

constexpr int went = S + 30, took = went + 1, dropped = took + 1, ann = dropped + 1, bob = ann + 1,
              ball = ann + 4, milk = ball + 1, place0 = ball + 3, office = place0,
              garden = place0 + 5, kitchen = place0 + 15;

// ann goes to the office and takes the ball; bob to the garden; ann to the kitchen, where she drops
// it; bob comes, takes it to the garden; ann leaves.
const std::vector<std::int32_t> story = {
    bos,    ann,  went, office,  ann,   took,   ball,    S,    S + 1,  bob,  went,
    garden, ann,  went, kitchen, S + 2, ann,    dropped, ball, bob,    went, kitchen,
    bob,    took, ball, bob,     went,  garden, ann,     went, office, ask};

std::int32_t told(int supporting, std::vector<std::int32_t> asked) {
  std::vector<std::int32_t> tokens = story;
  tokens.insert(tokens.end(), asked.begin(), asked.end());
  tokens.push_back(0);
  const auto targets = solve(make_task(fmt::format("babilong(supporting={})", supporting)), tokens);
  for (std::size_t t = 0; t + 2 < tokens.size(); ++t) EXPECT_EQ(targets[t], -1);
  return targets[targets.size() - 2];
}

TEST(Babilong, FollowsPeopleAndWhatTheyCarry) {
  EXPECT_EQ(told(1, {ann}), office);
  EXPECT_EQ(told(1, {bob}), garden);
  EXPECT_EQ(told(2, {ball}), garden);
  EXPECT_EQ(told(3, {ball, garden}), kitchen);
  EXPECT_EQ(told(3, {ball, kitchen}), office);
  EXPECT_EQ(told(1, {bob + 1}), -1);       // of whom nothing is told
  EXPECT_EQ(told(2, {milk}), -1);          // likewise
  EXPECT_EQ(told(3, {ball, office}), -1);  // from where it came, nothing says
}

// What is asked for hangs on as many sentences as `supporting` says: without any one of them it is
// not known, or another.
TEST(Babilong, NeedsAsManySentencesAsItSays) {
  for (const int supporting : {1, 2, 3}) {
    const Task t = make_task(fmt::format("babilong(supporting={})", supporting));
    double fewest = 1e9, sum = 0;
    constexpr int many = 200;
    for (int i = 0; i < many; ++i) {
      const Example e = sample(t, 64, i);
      int needed = 0;
      for (std::size_t at = 1; at + 3 < e.tokens.size(); ++at) {
        if (e.tokens[at] < ann || e.tokens[at] >= ball || e.tokens[at + 1] < went ||
            e.tokens[at + 1] > dropped)
          continue;
        std::vector<std::int32_t> without = e.tokens;
        std::fill_n(without.begin() + static_cast<std::ptrdiff_t>(at), 3, S);
        const auto targets = solve(t, without);
        needed += targets[targets.size() - 2] != e.targets[e.targets.size() - 2] ? 1 : 0;
      }
      fewest = std::min(fewest, 1. * needed), sum += needed;
    }
    EXPECT_GE(fewest, 1) << supporting;
    EXPECT_NEAR(sum / many, supporting, supporting == 1 ? 1e-9 : 0.6) << supporting;
  }
}

TEST(Babilong, AsksNothingThatIsNotTold) {
  EXPECT_THAT(error_of([] { make_task("babilong(events=40)"); }),
              HasSubstr("length 64 is too short, 124 tokens are needed: the story and a question"));
}

}  // namespace
}  // namespace pesuite::testing
