// Planned cells: their names, and what is done of them.
#include <algorithm>

#include "base/file.h"
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

void refresh(PlannedCell& c, const Store& store) {
  c.state = PlannedCell::State::planned;
  c.step = 0;
  c.reason.clear();
  c.missing_evals = 0;
  for (const CellEval& e : c.evals)
    c.missing_evals += fs::exists(store.evaluation(c.id, part_id(e))) ? 0 : 1;
  Json status;
  if (fs::exists(store.status(c.id))) {
    try {
      status = Json::parse(read_file(store.status(c.id)));
    } catch (const std::exception&) {
      status = nullptr;  // unreadable: as if it had never run
    }
  }
  const auto said = [&](const char* key) {  // "" for what is damaged
    return status.is_object() && status.contains(key) && status[key].is_string()
               ? status[key].get<std::string>()
               : std::string();
  };
  const std::string state = said("state");
  const bool trained = fs::exists(store.training(c.training));
  const bool diverged = trained && state == "diverged";  // and will not come to further branches
  const bool branched =
      diverged || std::all_of(c.branches.begin(), c.branches.end(), [&](std::int64_t step) {
        return fs::exists(store.branch(c.training, step));
      });
  if ((trained || c.is_trunk) && c.missing_evals == 0 && branched) {
    c.state = diverged ? PlannedCell::State::diverged : PlannedCell::State::done;
  } else if (state == "failed") {
    c.state = PlannedCell::State::failed;
    c.reason = fmt::format("{}: {}", said("kind"), said("reason"));
    try {
      if (trained)
        c.step = c.config.train.steps;
      else if (fs::exists(store.checkpoint(c.training)))
        c.step = checkpoint_state(store.checkpoint(c.training)).step;
    } catch (const Error&) {  // it will begin again
    }
  } else if (fs::exists(store.checkpoint(c.training)) && (c.trains || trained)) {
    c.state = PlannedCell::State::begun;
    c.step = c.config.train.steps;
    if (trained) return;
    try {
      c.step = checkpoint_state(store.checkpoint(c.training)).step;
    } catch (const Error&) {
      c.state = PlannedCell::State::planned;  // the worker will say what is wrong with it
      c.step = 0;
    }
  }
}

}  // namespace pesuite
