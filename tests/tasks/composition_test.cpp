// Chains of assignments, families, commands and functions of strings: worked examples, what facts
// imply by another way, laws, refusals.
#include <map>
#include <set>

#include "tests/tasks/tasks.h"

namespace pesuite::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Tokens = std::vector<std::int32_t>;

// What is asked for, and nothing between.
Tokens asked(const Tokens& targets) {
  Tokens out;
  for (const int t : targets)
    if (t >= 0) out.push_back(t);
  return out;
}

// --------------------------------------------------------------------------------------- lego

TEST(Lego, FollowsTheChainInAnyOrder) {
  constexpr int plus = S, minus = S + 1, one = S + 2, a = S + 3, b = S + 9, c = S + 40;
  const Task t = make_task("lego");
  const Tokens first = {a, minus, one}, second = {b, minus, a}, third = {c, minus, b};
  for (const auto& [x, y, z] : {std::tuple{first, second, third}, {third, first, second}}) {
    Tokens story = {bos};
    for (const Tokens& clause : {x, y, z}) story.insert(story.end(), clause.begin(), clause.end());
    for (const auto& [variable, sign] : std::map<int, int>{{a, minus}, {b, plus}, {c, minus}}) {
      Tokens tokens = story;
      tokens.insert(tokens.end(), {ask, variable, 0, pad});
      const Tokens targets = solve(t, tokens);
      EXPECT_THAT(asked(targets), ElementsAre(sign));
      EXPECT_EQ(targets[11], sign);
    }
  }
  // what leads nowhere, or round and round, has no answer
  EXPECT_TRUE(asked(solve(t, {bos, a, plus, b, b, plus, a, ask, a, 0})).empty());
  EXPECT_TRUE(asked(solve(t, {bos, a, plus, one, ask, b, 0})).empty());
}

TEST(Lego, AsksForTheSecondHalfOfTheChain) {
  const Task t = make_task("lego", 64, 64);
  std::map<int, double> places, signs;
  constexpr int many = 3000, n = 7;
  for (int i = 0; i < many; ++i) {
    const Example e = sample(t, 64, i, PES_SPLIT_TRAIN, {n});
    ASSERT_EQ(e.tokens[1 + 3 * n], ask);
    for (int k = 0; k < n; ++k) {
      EXPECT_EQ(e.tokens[3 + 3 * k], k == 0 ? S + 2 : e.tokens[1 + 3 * (k - 1)]);
      if (e.tokens[1 + 3 * k] == e.tokens[2 + 3 * n]) ++places[k];
    }
    ++signs[e.targets[2 + 3 * n]];
  }
  EXPECT_EQ(places.size(), 3u);  // 4, 5, 6
  for (const auto& [place, count] : places) expect_rate(count, many, 1. / 3, "place");
  EXPECT_EQ(places.begin()->first, 4);
  for (const auto& [sign, count] : signs) expect_rate(count, many, .5, "sign");
  EXPECT_THAT(error_of([] { make_task("lego(variables=3)"); }), HasSubstr("no problem of size 4"));
}

// ------------------------------------------------------------------------------------ kinship

// What follows from facts by what words mean: everybody has two parents, who are a couple, and
// brothers and sisters have the same. Families are sets of brothers and sisters with their parents.
class Facts {
 public:
  enum Word {
    parent,
    child,
    sibling,
    spouse,
    grandparent,
    grandchild,
    uncle,
    nephew,
    parent_in_law,
    child_in_law,
    sibling_in_law
  };

  void add(int who, int word, int of) {
    people_.insert({who, of});
    if (word == parent) families_.push_back({{of}, {who}});
    if (word == child) families_.push_back({{who}, {of}});
    if (word == sibling) families_.push_back({{who, of}, {}});
    if (word == spouse) families_.push_back({{}, {who, of}});
  }
  void settle() {
    for (bool merged = true; merged;) {
      merged = false;
      for (std::size_t i = 0; i < families_.size() && !merged; ++i)
        for (std::size_t k = i + 1; k < families_.size() && !merged; ++k)
          if (share(families_[i].kids, families_[k].kids) ||
              share(families_[i].parents, families_[k].parents)) {
            families_[i].kids.merge(families_[k].kids);
            families_[i].parents.merge(families_[k].parents);
            families_.erase(families_.begin() + static_cast<std::ptrdiff_t>(k));
            merged = true;
          }
    }
  }
  // All that `who` is to `of`.
  std::set<int> words_for(int who, int of) const {
    std::set<int> out;
    for (const int word : {parent, child, sibling, spouse})
      if (is(who, word, of)) out.insert(word);
    const auto through = [&](int first, int second, int word) {
      for (const int x : people_)
        if (x != who && x != of && is(x, first, of) && is(who, second, x)) out.insert(word);
    };
    through(parent, parent, grandparent), through(child, child, grandchild);
    through(parent, sibling, uncle), through(sibling, child, nephew);
    through(spouse, parent, parent_in_law), through(child, spouse, child_in_law);
    through(spouse, sibling, sibling_in_law), through(sibling, spouse, sibling_in_law);
    for (const int x : people_)  // by marriage
      for (const int y : people_)
        if (is(who, spouse, x) && is(x, sibling, y) && is(y, parent, of)) out.insert(uncle);
    return out;
  }

 private:
  using People = std::set<int>;
  struct Family {
    People kids, parents;
  };
  static bool share(const People& a, const People& b) {
    return std::ranges::any_of(a, [&](int x) { return b.contains(x); });
  }
  bool is(int x, int word, int y) const {
    return x != y && std::ranges::any_of(families_, [&](const Family& f) {
             const People& first = word == parent || word == spouse ? f.parents : f.kids;
             const People& second = word == child || word == spouse ? f.parents : f.kids;
             return first.contains(x) && second.contains(y);
           });
  }

  std::vector<Family> families_;
  People people_;
};

TEST(Kinship, AnswersWhatTheFactsImply) {
  std::map<int, int> seen;
  for (const char* name : {"kinship(least=1)", "kinship(shuffled=true)"}) {
    const Task t = make_task(name);
    for (int i = 0; i < 1500; ++i) {
      const Example e = sample(t, 41, i);
      Facts facts;
      std::map<int, int> gender;
      int at = 1;
      for (; e.tokens[at] != ask; at += 3) {
        const int relation = e.tokens[at + 1] - S;
        ASSERT_LT(relation, 8);
        facts.add(e.tokens[at], relation / 2, e.tokens[at + 2]);
        gender[e.tokens[at]] = relation % 2;
      }
      facts.settle();
      const int who = e.tokens[at + 1], of = e.tokens[at + 2], answer = e.targets[at + 2] - S;
      EXPECT_EQ(facts.words_for(who, of), std::set<int>{answer / 2}) << name << ", example " << i;
      EXPECT_EQ(answer % 2, gender.at(who));
      ++seen[answer];
    }
  }
  EXPECT_EQ(seen.size(), 22u);  // each word for each gender
}

TEST(Kinship, WorksOutExamples) {
  constexpr int father = S, mother = S + 1, son = S + 2, brother = S + 4, sister = S + 5,
                wife = S + 7, grandmother = S + 9, uncle = S + 12, aunt = S + 13, ann = S + 30,
                bob = S + 31, cid = S + 32, dan = S + 33;
  const Task t = make_task("kinship");
  EXPECT_THAT(asked(solve(t, {bos, bob, father, ann, cid, mother, bob, ask, cid, ann, 0})),
              ElementsAre(grandmother));
  EXPECT_THAT(asked(solve(t, {bos, bob, father, ann, cid, brother, bob, ask, cid, ann, 0})),
              ElementsAre(uncle));
  EXPECT_THAT(
      asked(solve(t, {bos, bob, father, ann, cid, brother, bob, dan, wife, cid, ask, dan, ann, 0})),
      ElementsAre(aunt));
  EXPECT_THAT(asked(solve(t, {bos, bob, mother, ann, cid, son, bob, ask, cid, ann, 0})),
              ElementsAre(brother));
  // out of order
  EXPECT_THAT(asked(solve(t, {bos, cid, sister, bob, bob, mother, ann, ask, cid, ann, 0})),
              ElementsAre(aunt));
  EXPECT_TRUE(asked(solve(t, {bos, bob, mother, ann, ask, cid, ann, 0})).empty());
}

// --------------------------------------------------------------------------------------- scan

const std::map<std::string, int> scan_words = {
    {"walk", 8},    {"look", 9},   {"run", 10},      {"jump", 11},   {"turn", 12},
    {"left", 13},   {"right", 14}, {"opposite", 15}, {"around", 16}, {"twice", 17},
    {"thrice", 18}, {"and", 19},   {"after", 20}};

// What a command says, an action a letter: W, L, R, J, < and >.
std::string actions(const std::string& command) {
  Tokens tokens = {bos};
  std::istringstream in(command);
  for (std::string word; in >> word;) tokens.push_back(scan_words.at(word));
  tokens.push_back(sep);
  tokens.resize(64);
  std::string out;
  for (const int t : asked(solve(make_task("scan"), tokens)))
    out += t == eos ? '$' : "WLRJ<>"[t - 21];
  return out;
}

TEST(Scan, WritesOutTheExamplesOfItsPaper) {  // Lake & Baroni 2018, figure 1 and section 2
  EXPECT_EQ(actions("jump"), "J$");
  EXPECT_EQ(actions("jump left"), "<J$");
  EXPECT_EQ(actions("jump around right"), ">J>J>J>J$");
  EXPECT_EQ(actions("turn left twice"), "<<$");
  EXPECT_EQ(actions("jump thrice"), "JJJ$");
  EXPECT_EQ(actions("jump opposite left and walk thrice"), "<<JWWW$");
  EXPECT_EQ(actions("jump opposite left after walk around left"), "<W<W<W<W<<J$");
  EXPECT_EQ(actions("turn opposite right thrice"), ">>>>>>$");
  EXPECT_EQ(actions("walk and look twice"), "WLL$");
}

TEST(Scan, HasEveryCommandOnceAndDealsThemToTheSplits) {
  const Task t = make_task("scan");
  EXPECT_NEAR(t.distinct(64), std::log10(20910), 1e-12);
  std::set<Tokens> train;
  for (int i = 0; i < 20000; ++i) train.insert(sample(t, 64, i).tokens);
  EXPECT_GT(train.size(), 10000u);
  for (const pes_split split : {PES_SPLIT_VALIDATION, PES_SPLIT_TEST})
    for (int i = 0; i < 3000; ++i)
      ASSERT_FALSE(train.contains(sample(t, 64, i, split).tokens)) << "example " << i;
}

TEST(Scan, IsLongerBeyondTraining) {
  const Task t = make_task("scan", 60, 32);
  std::size_t longest = 0;
  for (int i = 0; i < 2000; ++i) {
    const auto size = [&](const Example& e) {
      return static_cast<std::size_t>(std::ranges::find(e.tokens, eos) - e.tokens.begin()) + 1;
    };
    EXPECT_LE(size(sample(t, 32, i)), 32u);
    const std::size_t beyond = size(sample(t, 60, i, PES_SPLIT_TEST));
    EXPECT_GT(beyond, 32u);
    longest = std::max(longest, beyond);
    const Example of_axis = sample(t, 60, i, PES_SPLIT_TEST, {16});
    EXPECT_EQ(asked(of_axis.targets).size(), 17u);
  }
  EXPECT_GT(longest, 55u);
  EXPECT_EQ(t.axes()[0].values.back(), 48);
  EXPECT_THAT(error_of([] { sample(make_task("scan"), 128, 0); }),
              HasSubstr("no command beyond those of 64 tokens: the longest takes 60"));
  EXPECT_THAT(error_of([&] { sample(t, 32, 0, PES_SPLIT_TEST, {47}); }),
              HasSubstr("no command of 47 actions fits into length 32"));
  EXPECT_THAT(error_of([&] { sample(t, 32, 0, PES_SPLIT_TEST, {0}); }), HasSubstr("from 1, not 0"));
}

// --------------------------------------------------------------------------------------- pcfg

const std::map<std::string, int> pcfg_words = {
    {"copy", 8},          {"reverse", 9},        {"shift", 10},  {"swap", 11},
    {"repeat", 12},       {"echo", 13},          {"append", 14}, {"prepend", 15},
    {"remove_first", 16}, {"remove_second", 17}, {",", 18}};

// The value of a program whose letters are capitals.
std::string value(const std::string& program) {
  Tokens tokens = {bos};
  std::istringstream in(program);
  for (std::string word; in >> word;)
    tokens.push_back(word.size() == 1 && word != "," ? 19 + word[0] - 'A' : pcfg_words.at(word));
  tokens.push_back(sep);
  tokens.resize(64);
  std::string out;
  for (const int t : asked(solve(make_task("pcfg"), tokens)))
    out += t == eos ? '$' : static_cast<char>('A' + t - 19);
  return out;
}

TEST(Pcfg, AppliesEachFunction) {  // Hupkes et al. 2020, table 1
  EXPECT_EQ(value("copy A B C"), "ABC$");
  EXPECT_EQ(value("reverse A B C"), "CBA$");
  EXPECT_EQ(value("shift A B C"), "BCA$");
  EXPECT_EQ(value("swap A B C"), "CBA$");
  EXPECT_EQ(value("swap A B C D"), "DBCA$");
  EXPECT_EQ(value("repeat A B"), "ABAB$");
  EXPECT_EQ(value("echo A B C"), "ABCC$");
  EXPECT_EQ(value("append A B , C D"), "ABCD$");
  EXPECT_EQ(value("prepend A B , C D"), "CDAB$");
  EXPECT_EQ(value("remove_first A B , C D"), "CD$");
  EXPECT_EQ(value("remove_second A B , C D"), "AB$");
  EXPECT_EQ(value("echo append C D , remove_first A B , shift E F G"), "CDFGEE$");
  EXPECT_EQ(value("append append A B , C D , reverse E F"), "ABCDFE$");
}

TEST(Pcfg, HasAsManyFunctionsAsAreAskedFor) {
  const Task t = make_task("pcfg", 256, 64);
  for (int i = 0; i < 300; ++i) {
    const Example e = sample(t, 256, i, PES_SPLIT_TEST, {1. * (1 + i % 39)});
    const auto end = std::ranges::find(e.tokens, sep);
    EXPECT_EQ(std::count_if(e.tokens.begin(), end, [](int x) { return x >= 8 && x < 18; }),
              1 + i % 39);
  }
  EXPECT_THAT(error_of([&] { sample(t, 64, 0, PES_SPLIT_TEST, {40}); }),
              HasSubstr("whole numbers from 1 to 7 at length 64"));
}

// ------------------------------------------------------------------------------------- splits

TEST(CompositionSplits, ShareNoProblem) {
  for (const char* name : {"lego(variables=6, least=2)", "kinship(people=4)", "pcfg(letters=2)"}) {
    const Task t = make_task(name, 64, 31);
    std::set<Tokens> train;
    for (int i = 0; i < 4000; ++i) train.insert(sample(t, 31, i).tokens);
    for (const pes_split split : {PES_SPLIT_VALIDATION, PES_SPLIT_TEST})
      for (int i = 0; i < 1000; ++i)
        ASSERT_FALSE(train.contains(sample(t, 31, i, split).tokens)) << name;
  }
}

}  // namespace
}  // namespace pesuite::testing
