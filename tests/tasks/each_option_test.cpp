// Options of tasks at their bounds, alone and two at a time: examples that the oracle solves, or a
// refusal in words.
#include "base/text.h"
#include "plugin/card.h"
#include "tests/tasks/tasks.h"

namespace pesuite::testing {
namespace {

// Texts of an option that lie at its ends.
std::vector<std::string> ends(const pes_option& o) {
  if (o.type == PES_BOOL) return {"false", "true"};
  if (o.type == PES_CHOICE) {
    const std::vector<std::string> all = split(o.choices, '|');
    return {all.front(), all.back()};
  }
  if (o.type != PES_INT && o.type != PES_REAL) return {};
  // of a corpus, whose documents are written whole: no more than lengths need
  const double high = std::string(o.name) == "document" ? std::min(o.high, 4096.0) : o.high;
  return {format_number(o.low), format_number(high)};
}

// "copy(unique=1)", "copy(unique=2)", "copy(content=bits, unique=1)", ...
std::vector<std::string> expressions_of(const std::string& task) {
  std::vector<std::string> out;
  const auto options = options_of(*task_catalog().task(task).descriptor->card);
  for (std::size_t i = 0; i < options.size(); ++i)
    for (const std::string& a : ends(*options[i])) {
      out.push_back(fmt::format("{}({}={})", task, options[i]->name, a));
      for (std::size_t j = i + 1; j < options.size(); ++j)
        for (const std::string& b : ends(*options[j]))
          out.push_back(
              fmt::format("{}({}={}, {}={})", task, options[i]->name, a, options[j]->name, b));
    }
  return out;
}

// Whether some example exists at that length.
bool solves(const Task& task, pes_split split, int length) {
  std::vector<std::int32_t> tokens(length), targets(length), answers(length);
  std::vector<double> optimum(length);
  for (std::uint64_t index = 0; index < 6; ++index) {
    try {
      task.sample({split, 1, index, length, -1, {}}, tokens, targets, optimum);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Exit::data) << e.what();
      return index > 0;
    }
    if (!task.has_oracle()) continue;
    task.oracle(tokens, answers);
    for (int t = 0; t < length; ++t)
      if (targets[t] >= 0) {
        EXPECT_EQ(targets[t], answers[t]) << "at " << t << " of example " << index;
      }
  }
  return true;
}

class EachOption : public ::testing::TestWithParam<std::string> {};

TEST_P(EachOption, MakesExamplesThatAreSolvedOrSaysWhyNot) {
  int made = 0;
  for (const std::string& expression : expressions_of(GetParam()))
    for (const int train_length : {24, 96, 400}) {
      SCOPED_TRACE(fmt::format("{} trained at {}", expression, train_length));
      try {
        const Task task = make_task(expression, 2 * train_length, train_length);
        for (const int length : {train_length, 2 * train_length})
          for (const pes_split split : {PES_SPLIT_TRAIN, PES_SPLIT_TEST})
            if (solves(task, split, length)) {
              ++made;
              EXPECT_FALSE(task.distinct(length) < 0) << task.distinct(length);
            }
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), Exit::data) << e.what();
        EXPECT_GT(std::string(e.what()).size(), 30u) << e.what();
      }
    }
  EXPECT_GT(made, 0);
}

std::vector<std::string> tasks_with_options() {
  std::vector<std::string> out;
  for (const std::string& name : open_catalog({PESUITE_TEST_PLUGINS}).task_names())
    if (!expressions_of(name).empty() && name != "text" && name != "tokens" &&
        !name.starts_with("text_"))
      out.push_back(name);
  return out;
}

INSTANTIATE_TEST_SUITE_P(Tasks, EachOption, ::testing::ValuesIn(tasks_with_options()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace pesuite::testing
