// check_task passes on every task of ours and names what is wrong with each broken one.
#include "model/task_check.h"

#include "tests/tasks/tasks.h"

namespace pesuite::testing {
namespace {

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

INSTANTIATE_TEST_SUITE_P(
    Tasks, EveryTask,
    ::testing::Values(
        "modsum_cls", "prefix_modsum", "prefix_modsum(m=5)", "prefix_modsum(m=2)",
        "prefix_modsum(inclusive=true)", "kback_copy", "kback_copy(k=1)",
        "kback_copy(k=16, symbols=10)", "kback_match", "kback_match(k=16)", "shift_pattern",
        "shift_pattern(variant=app)", "shift_pattern(variant=text)", "first_last",
        "first_last(variant=app)", "pair_match", "pair_match(variant=bucket)",
        "pair_match(variant=text)", "parity", "even_pairs", "cycle_nav", "mod_arith_simple",
        "stack", "stack(mode=lm)", "mod_arith", "mod_arith(mode=lm)", "solve_equation",
        "solve_equation(mode=lm)", "missing_duplicate", "missing_duplicate(mode=lm)", "odds_first",
        "odds_first(mode=lm)", "binary_addition", "binary_addition(mode=lm)",
        "binary_multiplication", "binary_multiplication(mode=lm)", "sqrt", "sqrt(mode=lm)",
        "addition", "addition(reversed=false)", "addition(pad=false)",
        "addition(pad=false, reversed=false)", "addition(index_hints=true)",
        "addition(index_hints=true, pad=false, reversed=false)", "counting",
        "counting(variables=1)", "counting(variables=5)", "counting(preset=paper)", "flipflop",
        "posgen", "posgen(variant=cot)", "posgen(variant=semi)", "brackets", "ledger",
        "ledger(mix=retrieval, document=1024)", "toylag", "passkey", "passkey(least=1)", "niah",
        "niah(variant=multi_key)", "niah(variant=multi_value)", "niah(variant=multi_query)",
        "copy_distance", "copy", "copy(content=bits)", "copy(content=mixed)", "copy(unique=1)",
        "copy(unique=2)", "reverse", "reverse(content=bits)", "reverse(content=mixed)", "sort",
        "sort(content=mixed)", "sort(repeats=true)", "bucket_sort", "no_carry_addition",
        "mqar(symbols=512)", "mqar(symbols=512, noise=blank, pairs=8)", "induction",
        "selective_copy", "indirect_index"),
    [](const auto& info) {
      std::string name = info.param;
      for (char& c : name)
        if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
      return name;
    });

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
                      Fake{"repeating", {"collisions"}}, Fake{"unsteady", {"windows", "optimum"}}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace pesuite::testing
