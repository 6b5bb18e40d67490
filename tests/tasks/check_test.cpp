// check_task passes on every task of ours and names what is wrong with each broken one.
#include "check/task_check.h"

#include <set>

#include "check/guess.h"

#include "tests/tasks/tasks.h"

namespace pesuite::testing {
namespace {

using ::testing::HasSubstr;

std::string findings_text(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& f : findings)
    text += fmt::format("{:8} {}: {}\n",
                        f.skipped  ? "skipped"
                        : f.passed ? "passed"
                                   : "FAILED",
                        f.check, f.detail);
  return text;
}

class EveryTask : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryTask, PassesTheCheck) {
  const CheckOptions options{{64, 128, 256}, 4096, 1 << 20, 1};
  const std::vector<Finding> findings = check_task(make_task(GetParam()), options);
  EXPECT_EQ(findings.size(), 15u);
  for (const Finding& f : findings) EXPECT_TRUE(f.passed) << findings_text(findings);
}

// What is known of shortcuts holds at other training lengths too.
class PlainTask : public ::testing::TestWithParam<std::string> {};

TEST_P(PlainTask, PassesTheCheckWhereverItIsTrained) {
  for (const int length : {40, 112}) {
    const CheckOptions options{{length}, 4096, 1 << 18, 1};
    const std::vector<Finding> findings =
        check_task(make_task(GetParam(), length, length), options);
    for (const Finding& f : findings)
      EXPECT_TRUE(f.passed) << length << "\n" << findings_text(findings);
  }
}

std::vector<std::string> without_options() {
  std::vector<std::string> out = variants();
  std::erase_if(out, [](const std::string& task) { return task.find('(') != std::string::npos; });
  return out;
}

INSTANTIATE_TEST_SUITE_P(Tasks, EveryTask, ::testing::ValuesIn(variants()), variant_name);
INSTANTIATE_TEST_SUITE_P(Tasks, PlainTask, ::testing::ValuesIn(without_options()), variant_name);

struct Fake {
  std::string name;
  std::vector<std::string> broken;  // checks that must fail, and no others
};
void PrintTo(const Fake& fake, std::ostream* out) {
  *out << fake.name;
}

class EveryFake : public ::testing::TestWithParam<Fake> {};

TEST_P(EveryFake, FailsWhereItIsBroken) {
  const std::vector<Finding> findings = check_task(make_task(GetParam().name));
  std::vector<std::string> failed;
  for (const Finding& f : findings)
    if (!f.passed) failed.push_back(f.check);
  EXPECT_EQ(failed, GetParam().broken) << findings_text(findings);
}

INSTANTIATE_TEST_SUITE_P(
    Fakes, EveryFake,
    ::testing::Values(Fake{"sound", {}}, Fake{"wrong_target", {"well_formed"}},
                      Fake{"scores_pad", {"well_formed"}}, Fake{"silent", {"well_formed"}},
                      Fake{"lazy", {"well_formed"}}, Fake{"stateful", {"deterministic"}},
                      Fake{"wrong_oracle", {"oracle"}}, Fake{"wrong_chance", {"chance"}},
                      Fake{"reads_ahead", {"oracle"}}, Fake{"few_said", {"collisions"}},
                      Fake{"deaf_axis", {"axes"}}, Fake{"one_chance", {"chance"}},
                      Fake{"wrong_exact", {"chance"}}, Fake{"dear_optimum", {"optimum"}},
                      Fake{"hidden_shortcut", {"shortcut_last_token"}},
                      Fake{"repeating", {"collisions"}}, Fake{"undivided", {"collisions"}},
                      Fake{"unsteady", {"windows"}}, Fake{"lawful", {}}, Fake{"unpredicted", {}},
                      Fake{"cheap_optimum", {"optimum"}}, Fake{"late_optimum", {"optimum"}},
                      Fake{"too_likely", {"optimum"}}, Fake{"too_modest", {"optimum"}},
                      Fake{"no_optimum", {"optimum"}}),
    [](const auto& info) { return info.param.name; });

// What the check says of the optimum of a task.
std::string optimum_of(const std::string& task) {
  for (const Finding& f : check_task(make_task(task)))
    if (f.check == "optimum") return f.detail;
  return "";
}

TEST(Optimum, IsComparedWithTheEntropyOfTheLaw) {
  EXPECT_THAT(optimum_of("lawful"), HasSubstr("nats are paid beyond the entropy"));
  EXPECT_THAT(optimum_of("unpredicted"), HasSubstr("compared with no entropy"));
  EXPECT_THAT(optimum_of("cheap_optimum"), HasSubstr("Of example 0, the optimum at position 0 is"));
  EXPECT_THAT(optimum_of("late_optimum"), HasSubstr("read from token 32 on, the optimum"));
  EXPECT_THAT(optimum_of("too_likely"), HasSubstr("at position 0 sum to 1.1"));
  EXPECT_THAT(optimum_of("too_modest"), HasSubstr("At length 64: -0.1"));
  EXPECT_THAT(optimum_of("no_optimum"), HasSubstr("is nan nats, and the law says"));
}

// Shuffled labels take away what the counts tell: 8 symbols, of which the last one decides.
TEST(PermutedLabels, TellNothing) {
  const Task task = make_task("sound");
  const Examples e = make_examples(task, {PES_SPLIT_TRAIN, 1, 0, 4, -1, {}}, 4096);
  const Score bag = score_shortcut(task, {&e, 1}, 0.5, "bag", Share::of_targets);
  const Score permuted = score_permuted(task, e, 0.5, Share::of_targets);
  EXPECT_GT(bag.accuracy, 0.65);
  EXPECT_NEAR(permuted.accuracy, 0.5, 4 * permuted.standard_error);
}

// Which of many words was read is known from few examples of each: 256 values, 8 times each.
TEST(Regression, NamesWhatWasReadInALargeAlphabet) {
  const Task task = make_task("niah");
  const Examples e = make_examples(task, {PES_SPLIT_TRAIN, 1, 0, 64, -1, {}}, 4096);
  EXPECT_GT(score_shortcut(task, {&e, 1}, 1, "bag", Share::of_targets).accuracy, 0.6);
}

std::set<std::uint64_t> problems(const Task& task, pes_split split, int length, int count) {
  std::set<std::uint64_t> out;
  for (int i = 0; i < count; ++i) out.insert(hash(sample(task, length, i, split)));
  return out;
}

// Lengths at which there are fewer than a million problems.
TEST(Splits, ShareNoProblemWhereThereAreFew) {
  const std::pair<const char*, int> small[] = {{"parity", 12},
                                               {"even_pairs", 12},
                                               {"cycle_nav", 8},
                                               {"mod_arith_simple", 6},
                                               {"stack", 20},
                                               {"stack(mode=lm)", 20},
                                               {"mod_arith", 7},
                                               {"solve_equation", 9},
                                               {"missing_duplicate", 20},
                                               {"odds_first", 20},
                                               {"binary_addition", 20},
                                               {"binary_multiplication", 20},
                                               {"sqrt", 16},
                                               {"counting", 48},
                                               {"counting(preset=paper)", 48},
                                               {"posgen", 16},
                                               {"flipflop", 16},
                                               {"prefix_modsum(m=2)", 12}};
  for (const auto& [text, length] : small) {
    const Task task = make_task(text, 64, 48);
    EXPECT_LT(task.distinct(length), 6) << text;
    const auto train = problems(task, PES_SPLIT_TRAIN, length, 4000);
    for (const pes_split split : {PES_SPLIT_VALIDATION, PES_SPLIT_TEST})
      for (const std::uint64_t p : problems(task, split, length, 500))
        EXPECT_FALSE(train.contains(p)) << text;
  }
}

// Too few to deal: every split has all of them.
TEST(Splits, ShareTheShortestProblems) {
  for (const char* text : {"parity", "cycle_nav", "mod_arith_simple"})
    EXPECT_EQ(problems(make_task(text), PES_SPLIT_TRAIN, 3, 2000),
              problems(make_task(text), PES_SPLIT_TEST, 3, 2000))
        << text;
}

}  // namespace
}  // namespace pesuite::testing
