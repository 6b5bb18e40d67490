#include "plan/training_data.h"

#include <algorithm>

#include "base/error.h"

namespace pesuite {

// Makes examples of the shortest lengths, which are those that tasks lack, and of some others.
static void try_lengths(const Mixture& mixture, const LengthPlan& plan, int longest) {
  constexpr std::size_t shortest = 64, others = 64;
  const std::vector<int> all = plan.all(longest);
  for (std::size_t i = 0; i < all.size();
       i += i < shortest ? 1 : std::max<std::size_t>(1, all.size() / others))
    for (std::size_t part = 0; part < mixture.parts(); ++part)
      mixture.batch(part, PES_SPLIT_TRAIN, 0, 0, 1, all[i]);
}

int alphabet_of(const Catalog& catalog, const CellConfig& config, const SuiteTask& t,
                const Lengths& lengths, const std::set<int>& later_lengths) {
  const LengthPlan& plan = t.train.lengths;
  const Task own(catalog, t.expression, lengths.train, lengths.longest, lengths.reached);
  const std::vector<Task> mixed = make_mixed_tasks(catalog, config);
  const Mixture mixture = make_mixture(own, mixed, config.mix);
  for (std::size_t part = 0; part < mixture.parts(); ++part) {
    const Task& task = mixture.task(part);
    const auto refuse = [&](int wanted, const char* what, const std::string& why) {
      if (wanted > 0 && !why.empty())
        fail(Exit::usage, "no {} can stand before examples of task '{}': it {}", what, task.text(),
             why);
    };
    refuse(plan.fill, "FILL", task.refuses_fill(lengths.train));
    refuse(plan.shots, "solved ones", task.refuses_shots(lengths.train));
  }
  try_lengths(mixture, plan, lengths.train);
  for (const int later : later_lengths) try_lengths(mixture, plan, later);
  return mixture.vocabulary();
}

}  // namespace pesuite
