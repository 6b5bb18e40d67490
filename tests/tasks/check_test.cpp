// check_task passes on every task of ours and names what is wrong with each broken one.
#include "model/task_check.h"

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
  EXPECT_EQ(findings.size(), 14u);
  for (const Finding& f : findings) EXPECT_TRUE(f.passed) << findings_text(findings);
}

INSTANTIATE_TEST_SUITE_P(Tasks, EveryTask, ::testing::ValuesIn(variants()), variant_name);

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
                      Fake{"wrong_oracle", {"oracle"}},
                      Fake{"wrong_chance",
                           {"chance", "shortcut_majority", "shortcut_position", "shortcut_length"}},
                      Fake{"wrong_exact", {"chance"}}, Fake{"dear_optimum", {"optimum"}},
                      Fake{"hidden_shortcut", {"shortcut_last_token", "shortcut_bag"}},
                      Fake{"repeating", {"collisions"}}, Fake{"unsteady", {"windows", "optimum"}},
                      Fake{"lawful", {}}, Fake{"unpredicted", {}},
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

}  // namespace
}  // namespace pesuite::testing
