// One who knows the answers, fed through the evaluation that models go through: all is right, and
// nothing is paid beyond the optimum. One who guesses gets what chance gives.
#include "model/evaluate.h"

#include <algorithm>
#include <bit>
#include <set>

#include "base/text.h"
#include "tests/tasks/tasks.h"

namespace pesuite::testing {
namespace {

// Answers from the tokens alone, as sure as a probability of one can be.
Scores oracle_scores(const Task& task, const Batch& b) {
  Scores s;
  std::vector<std::int32_t> answers(b.length);
  for (int i = 0; i < b.size; ++i) {
    const auto first = std::size_t(i) * b.length;
    task.oracle(std::span(b.tokens).subspan(first, b.length), answers);
    for (int t = 0; t < b.length; ++t) {
      const std::int32_t target = b.targets[first + t];
      if (target < 0) continue;
      s.place.push_back(static_cast<std::int64_t>(first) + t);
      s.best.push_back(answers[t]);
      s.nats.push_back(answers[t] == target ? 0 : 1e9);
      s.rank.push_back(!task.ranks(target)    ? 0
                       : answers[t] == target ? 1
                                              : static_cast<std::int32_t>(b.candidates.size()));
    }
  }
  return s;
}

void expect_perfect(const std::vector<Observation>& all, bool accuracies) {
  int regrets = 0, right = 0;
  for (const Observation& o : all) {
    if (o.metric == "regret") {
      EXPECT_NEAR(o.value, 0, 1e-6) << o.coords.dump();
      ++regrets;
    }
    for (const char* metric : {"acc", "em", "candidate_acc", "candidate_em", "mrr"})
      if (o.metric == metric) {
        EXPECT_EQ(o.value, 1) << metric << o.coords.dump();
        ++right;
      }
  }
  EXPECT_GT(regrets, 0);
  if (accuracies) {
    EXPECT_GT(right, 0);
  }
}

// One who knows the law reads windows of documents, from their tokens alone. Where a window stands
// in its document he looks up, in the documents made again: a law may tell its reader of the
// sentence that runs there.
class LawReader {
 public:
  LawReader(const Task& task, const EvalConfig& c, std::uint64_t seed) : task_(task) {
    for (int i = 0; i < c.examples; ++i)
      documents_.push_back(
          sample(task, {c.split, seed, static_cast<std::uint64_t>(i), reach(c), 0, {}}).tokens);
  }
  Scores operator()(const Batch& b, const StepInfo&) const {
    Scores s;
    const auto n = static_cast<std::size_t>(b.length);
    const auto width = static_cast<std::size_t>(task_.info().outputs);
    std::vector<double> nats(n * width);
    for (std::size_t i = 0; i < static_cast<std::size_t>(b.size); ++i) {
      const Tokens read = through(Tokens(b.tokens).subspan(i * n, n));
      task_.predict(read, static_cast<std::int32_t>(read.size() - n), nats);
      for (std::size_t t = 0; t < n; ++t) {
        if (b.targets[i * n + t] < 0) continue;
        const auto row = std::span(nats).subspan(t * width, width);
        s.place.push_back(static_cast<std::int64_t>(i * n + t));
        s.best.push_back(static_cast<std::int32_t>(std::ranges::min_element(row) - row.begin()));
        s.nats.push_back(row[static_cast<std::size_t>(b.targets[i * n + t])]);
      }
    }
    return s;
  }

 private:
  using Tokens = std::span<const std::int32_t>;

  // The tokens of the window's document from its beginning to the window's end.
  Tokens through(Tokens window) const {
    for (const std::vector<std::int32_t>& d : documents_)
      if (const auto at = std::search(d.begin(), d.end(), window.begin(), window.end());
          at != d.end())
        return Tokens(d).first(static_cast<std::size_t>(at - d.begin()) + window.size());
    ADD_FAILURE() << "a window of no document";
    return window;
  }

  const Task& task_;
  std::vector<std::vector<std::int32_t>> documents_;
};

int regrets_with_position(const std::vector<Observation>& all, const std::string& protocol) {
  return static_cast<int>(std::ranges::count_if(all, [&](const Observation& o) {
    return o.metric == "regret" && o.coords.at("protocol") == protocol &&
           o.coords.contains("pos_lo");
  }));
}

class EveryVariant : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryVariant, IsPerfectForItsOracle) {
  constexpr std::uint64_t seed = 5;
  EvalConfig c;
  c.lengths = {64, 126, 256};
  c.examples = 40;
  c.train_length = 64;
  for (const char* protocol : {"non_overlapping", "sliding(16)", "last(32)"})
    c.protocols.push_back(parse_protocol(protocol));
  const Task task = make_task(GetParam(), 256, 64);
  check(c, task);
  ASSERT_TRUE(task.is_corpus() ? task.has_predict() : task.has_oracle());
  const Scorer oracle =
      task.is_corpus() ? Scorer(LawReader(task, c, seed))
                       : [&](const Batch& b, const StepInfo&) { return oracle_scores(task, b); };
  int lengths = 0;
  for (const int length : c.lengths) {
    SCOPED_TRACE(length);
    std::vector<Observation> all;
    try {
      all = evaluate(oracle, task, c, length, seed, 0);
    } catch (const Error& refusal) {  // not every problem has examples of every length
      ASSERT_EQ(refusal.code(), Exit::data) << refusal.what();
      continue;
    }
    ++lengths;
    expect_perfect(all, !task.is_corpus());
    if (!task.is_corpus()) continue;
    EXPECT_EQ(regrets_with_position(all, "non_overlapping"),
              std::bit_width(static_cast<unsigned>(length)));
    EXPECT_GT(regrets_with_position(all, "sliding(16)"), 0);
    EXPECT_GT(regrets_with_position(all, "last(32)"), 0);
  }
  EXPECT_GT(lengths, 0);
}

INSTANTIATE_TEST_SUITE_P(Tasks, EveryVariant, ::testing::ValuesIn(variants()), variant_name);

// So that no task, and nothing that one of its options chooses, is left out of what tries variants.
TEST(Variants, AreOfEveryTaskAndChoice) {
  const Catalog catalog = open_catalog({PESUITE_TEST_PLUGINS});
  const auto card_of = [&](const std::string& name) -> const pes_card& {
    return *catalog.task(name).descriptor->card;
  };
  std::set<std::string> tried;
  for (const std::string& variant : variants()) {
    const Expression e = parse_expression(variant, "task");
    const std::vector<std::string> values = resolve_options(card_of(e.name), e.options, variant);
    tried.insert(e.name);
    for (std::size_t i = 0; i < values.size(); ++i)
      tried.insert(fmt::format("{}({}={})", e.name, card_of(e.name).options[i]->name, values[i]));
  }
  for (const std::string& name : catalog.task_names()) {
    if (name.starts_with("text") || name == "tokens") continue;  // which need the user's own
    EXPECT_TRUE(tried.contains(name)) << name;
    const pes_option* const* options = card_of(name).options;
    for (; options != nullptr && *options != nullptr; ++options) {
      const pes_option& o = **options;
      std::vector<std::string> values;
      if (o.type == PES_CHOICE) values = split(o.choices, '|');
      if (o.type == PES_BOOL) values = {"true", "false"};
      if (std::string_view(o.name) == "scratchpad") values = {"none"};  // scratchpad_test tries all
      for (const std::string& value : values) {
        const std::string variant = fmt::format("{}({}={})", name, o.name, value);
        EXPECT_TRUE(tried.contains(variant)) << variant;
      }
    }
  }
}

TEST(Candidates, AreRankedAgainstChance) {
  const Task task = make_task("passkey", 64);
  EvalConfig c;
  c.lengths = {64};
  c.examples = 2000;
  c.train_length = 64;
  pes::Random random(1, pes::purpose("guess"), 0);
  const Scorer guess = [&](const Batch& b, const StepInfo&) {  // each rank as likely
    Scores s = oracle_scores(task, b);
    for (std::int32_t& r : s.rank) r = 1 + static_cast<int>(random.below(10));
    return s;
  };
  int seen = 0;
  for (const Observation& o : evaluate(guess, task, c, 64, 5, 0))
    if (o.metric == "candidate_acc" || o.metric == "mrr") {
      EXPECT_NEAR(o.value, o.chance, 3.3 * o.standard_error) << o.metric;
      EXPECT_NEAR(o.chance, o.metric == "mrr" ? .29290 : .1, 1e-5);
      ++seen;
    }
  EXPECT_EQ(seen, 2);
}

// An example whose targets are no candidates says nothing about ranks.
TEST(Candidates, CountOnlyExamplesThatAreRanked) {
  const Task task = make_task("passkey", 64);
  EvalConfig c;
  c.lengths = {64};
  c.examples = 8;
  c.train_length = 64;
  c.pass_tokens = 64;  // an example a pass
  int passes = 0;
  const Scorer half = [&](const Batch& b, const StepInfo&) {
    Scores s = oracle_scores(task, b);
    if (passes++ % 2 == 0) std::fill(s.rank.begin(), s.rank.end(), 0);
    return s;
  };
  int seen = 0;
  for (const Observation& o : evaluate(half, task, c, 64, 5, 0))
    if (o.metric == "candidate_acc" || o.metric == "mrr") {
      EXPECT_EQ(o.n, 4) << o.metric;
      ++seen;
    }
  EXPECT_EQ(seen, 2);
}

TEST(Candidates, CarryDepthAndLength) {
  const Task task = make_task("niah", 128);
  EvalConfig c;
  c.lengths = {64, 128};
  c.examples = 4;
  c.train_length = 64;
  c.axes = {{"depth", {0, .5, 1}}};
  const Scorer oracle = [&](const Batch& b, const StepInfo&) { return oracle_scores(task, b); };
  std::set<std::string> coords;
  for (const int length : c.lengths)
    for (const Observation& o : evaluate(oracle, task, c, length, 5, 0))
      if (o.metric == "candidate_acc")
        coords.insert(fmt::format("{} {}", o.coords.at("eval_len").get<int>(),
                                  o.coords.at("depth").get<double>()));
  EXPECT_EQ(coords, (std::set<std::string>{"128 0", "128 0.5", "128 1", "64 0", "64 0.5", "64 1"}));
}

}  // namespace
}  // namespace pesuite::testing
