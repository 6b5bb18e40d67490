// Planned cells: their names, and what is done of them.
#include <algorithm>

#include "base/error.h"
#include "cell/determinism.h"
#include "plan/plan.h"

namespace pesuite {

Coordinates PlannedCell::coordinates() const {
  return {{"encoding", encoding}, {"task", task}, {"model", model}, {"seed", std::to_string(seed)}};
}
std::string PlannedCell::label() const {
  return fmt::format("{}·{}·{}·s{}{}", encoding, task, model, seed, is_trunk ? " (trunk)" : "");
}
CellContext context_of(const Suite& suite, const PlannedCell& c) {
  // of cells whose process does not say more
  return {suite.name, determinism_level({c.config.backend, suite.threads, 1}),
          c.id,       c.series,
          c.encoding, c.task,
          c.model,    c.expression,
          c.seed,     &c.config};
}
std::int64_t last_step(const PlannedCell& c) {
  return c.is_trunk ? c.until : c.config.train.steps;
}

std::string_view state_name(PlannedCell::State s) {
  switch (s) {
    case PlannedCell::State::planned: return "planned";
    case PlannedCell::State::begun: return "begun";
    case PlannedCell::State::done: return "done";
    case PlannedCell::State::diverged: return "diverged";
    case PlannedCell::State::failed: return "failed";
  }
  return "";
}

static bool lines_diverged(const Store& store, const std::string& training) {
  const std::vector<Json> lines = read_observations(store.training(training));
  return std::any_of(lines.begin(), lines.end(),
                     [](const Json& j) { return j.value("status", "") == "diverged"; });
}

void refresh(PlannedCell& c, const Store& store) {
  c.state = PlannedCell::State::planned;
  c.step = 0;
  c.reason.clear();
  c.missing_evals = c.evals.size();
  std::error_code error;
  if (!c.is_trunk && !fs::exists(store.cell(c.id), error) &&
      !fs::exists(store.cell(c.training), error))
    return;  // nobody has begun it
  c.missing_evals = 0;
  const Json status = store.read_status(c.id);
  const std::string state = status.is_null() ? "" : status["state"].get<std::string>();
  const bool trained = store.has_training(c.training);
  // and will not come to further branches; its lines say so too, should the status be lost
  const bool diverged =
      trained && state != "done" && (state == "diverged" || lines_diverged(store, c.training));
  for (const CellEval& e : c.evals)
    c.missing_evals += store.has_evaluation(c.id, e, diverged) ? 0 : 1;
  const bool branched =
      diverged || std::all_of(c.branches.begin(), c.branches.end(), [&](std::int64_t step) {
        return store.has_branch(c.training, step);
      });
  const auto step_of_checkpoint = [&] {
    return trained ? c.config.train.steps : checkpoint_state(store.checkpoint(c.training)).step;
  };
  if ((trained || c.is_trunk) && c.missing_evals == 0 && branched) {
    c.state = diverged ? PlannedCell::State::diverged : PlannedCell::State::done;
  } else if (state == "failed") {
    c.state = PlannedCell::State::failed;
    c.reason = fmt::format("{}: {}", status["kind"].get<std::string>(),
                           status["reason"].get<std::string>());
    try {
      if (trained || fs::exists(store.checkpoint(c.training))) c.step = step_of_checkpoint();
    } catch (const Error&) {  // it will begin again
    }
  } else if (fs::exists(store.checkpoint(c.training)) && (c.trains || trained)) {
    try {
      c.step = step_of_checkpoint();
      c.state = PlannedCell::State::begun;
    } catch (const Error&) {  // the worker will say what is wrong with it
    }
  }
}

}  // namespace pesuite
