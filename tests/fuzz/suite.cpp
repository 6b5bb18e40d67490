// Suites: read, written, read again, planned. Lines "#set KEY=VALUE" are flags.
#include "suite/suite.h"

#include "base/text.h"
#include "base/toml.h"
#include "plan/plan.h"
#include "plan/trainings.h"
#include "tests/fuzz/fuzz.h"

namespace pesuite {

namespace {

// Libraries that are soon asked: planning makes each encoding and task once, in a child.
const std::vector<std::string> libraries = {PESUITE_TEST_PLUGINS "/rotary.plugin.so",
                                            PESUITE_TEST_PLUGINS "/none.plugin.so",
                                            PESUITE_TEST_PLUGINS "/algorithmic_tasks.plugin.so"};

SuiteChoices choices_in(std::string_view input) {
  SuiteChoices choices;
  for (const std::string& line : split(input, '\n'))
    if (line.starts_with("#set ")) choices.set.push_back(line.substr(5));
  return choices;
}

// That a child came to grief is a note of the plan, since it is most often a plugin's fault. These
// plugins have none.
void check_notes(const Plan& plan) {
  for (const std::string& note : plan.notes)
    if (note.find(" when it was created; its cells will fail") != std::string::npos)
      throw Bug(note);
}

}  // namespace

FUZZ_TARGET(suite) {
  const Suite suite = load_suite(fuzz::file_of(input, "x.toml"), choices_in(input));
  const std::string whole = to_toml(suite.resolved);
  const Suite again = load_suite(fuzz::file_of(whole, "again.toml"));
  PES_CHECK(to_toml(again.resolved) == whole);
  const Plan plan = make_plan(suite, libraries, Store(fuzz::folder() / "store"));
  check_notes(plan);
  PES_CHECK(!plan.cells.empty());
  plan_table(plan, suite, 2);
  trainings_table(plan);
  to_json(plan, suite).dump();
}

}  // namespace pesuite
