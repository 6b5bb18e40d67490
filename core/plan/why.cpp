#include "plan/why.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "cell/planned.h"
#include "model/train.h"
#include "suite/filter.h"

namespace pesuite {

namespace {

std::string dotted(std::string path) {
  path.erase(0, 1);
  std::replace(path.begin(), path.end(), '/', '.');
  return path;
}

// "bias was built anew" says more than two digests.
std::string difference(const Json& op, const Json& there, const Json& here) {
  const std::string path = op["path"];
  const Json::json_pointer at(path);
  const auto text = [&](const Json& j) { return j.contains(at) ? j.at(at).dump() : "nothing"; };
  std::string out = fmt::format("{}: {} there, {} here", dotted(path), text(there), text(here));
  if (path.ends_with("/build") && there.contains(at) && here.contains(at))
    out += fmt::format(" (the library {} was built anew)",
                       here.at(at.parent_pointer()).value("library", ""));
  if (path == "/numerics_epoch") out += " (pesuite computes other numbers since)";
  return out;
}

std::string part_text(const CellEval& e) {
  return fmt::format("{} tokens{}", e.length, e.probe ? " (probe)" : "");
}

std::vector<std::string> missing_parts(const PlannedCell& c, const Store& store) {
  std::vector<std::string> out;
  for (const CellEval& e : c.evals)
    if (!store.has_evaluation(c.id, e, c.state == PlannedCell::State::diverged))
      out.push_back(part_text(e));
  return out;
}

// Who trains what the cell evaluates; null: itself, or nobody.
const PlannedCell* trainer_of(const PlannedCell& c, const Plan& plan) {
  for (const PlannedCell& other : plan.cells)
    if (&other != &c && other.trains && other.training == c.training) return &other;
  return nullptr;
}
const PlannedCell* before(const PlannedCell& c, const Plan& plan) {
  if (c.after < 0) return nullptr;
  const auto at = static_cast<std::size_t>(c.after);
  return at < plan.cells.size() ? &plan.cells[at] : &plan.trunks.at(at - plan.cells.size());
}

// A sentence on its training.
std::string training_text(const PlannedCell& c, const Plan& plan, const Store& store) {
  if (!c.config.weights.empty())
    return fmt::format("It trains nothing: its weights are {}.", c.config.weights);
  const std::int64_t from = first_step(c.config), to = last_step(c);
  if (c.is_trunk ? c.state == PlannedCell::State::done : store.has_training(c.training))
    return fmt::format("It is trained, to step {}.", to);
  if (!c.trains)
    if (const PlannedCell* other = trainer_of(c, plan))
      return fmt::format("Its training is that of {}, which is not done.", other->label());
  if (c.step > from)
    return fmt::format("Its training goes on from the checkpoint at step {} of {}.", c.step, to);
  if (const PlannedCell* trunk = before(c, plan))
    return fmt::format("It trains from step {} of {} to step {}: the store has no such training.",
                       from, trunk->label(), to);
  return fmt::format("It trains {} steps: the store has no such training.", to);
}

std::string state_text(const PlannedCell& c) {
  std::string out(state_name(c.state));
  if (c.state == PlannedCell::State::failed)
    out += fmt::format(" ({}); 'pesuite run --rerun failed' tries it again", printable(c.reason));
  return out;
}

bool trains_anew(const PlannedCell& c, const Store& store) {
  return c.config.weights.empty() && c.step == 0 && !store.has_training(c.training) &&
         c.state != PlannedCell::State::done;
}

bool has_names(const PlannedCell& c, const std::string& text) {
  const std::vector<std::string> words = cell_words(text);
  const std::string seed = std::to_string(c.seed);
  return std::all_of(words.begin(), words.end(), [&](const std::string& w) {
    return w == c.encoding || w == c.task || w == c.model || w == seed || w == "s" + seed;
  });
}

}  // namespace

KeptTrainings kept_trainings(const Store& store) {
  KeptTrainings out;
  std::error_code error;
  const auto add = [&](const std::string& id) {
    if (!fs::exists(store.checkpoint(id), error)) return;
    try {
      Json identity = Json::parse(checkpoint_identity(store.checkpoint(id)), nullptr, false);
      if (identity.is_object()) out.emplace_back(id, std::move(identity));
    } catch (const Error&) {  // damaged: nothing to compare with
    }
  };
  for (const auto& two : fs::directory_iterator(store.root() / "nodes", error))
    for (const auto& cell : fs::directory_iterator(two.path(), error))
      add(cell.path().filename().string());
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return out;
}

std::optional<LikeTraining> most_like(const PlannedCell& c, const KeptTrainings& kept,
                                      std::size_t most) {
  if (!c.config.weights.empty()) return std::nullopt;
  const Json here = to_json(training_of(c.config));
  const auto has_seed = [&](const Json& j) { return j.value("seed", std::uint64_t{0}) == c.seed; };
  const Json* best = nullptr;
  Json changes;
  std::string id;
  for (const auto& [other, there] : kept) {
    Json d = Json::diff(there, here);
    if (d.empty() || d.size() > most) continue;
    const bool fewer = best == nullptr || d.size() < changes.size() ||
                       (d.size() == changes.size() && has_seed(there) && !has_seed(*best));
    if (fewer) best = &there, changes = std::move(d), id = other;
  }
  if (best == nullptr) return std::nullopt;
  LikeTraining out{id, {}};
  for (const Json& op : changes) out.differences.push_back(difference(op, *best, here));
  return out;
}

std::vector<const PlannedCell*> cells_named(const Plan& plan, const std::string& name) {
  std::vector<const PlannedCell*> out;
  const auto add = [&](const auto& fits) {
    for (const auto* cells : {&plan.cells, &plan.trunks})
      for (const PlannedCell& c : *cells)
        if (fits(c)) out.push_back(&c);
  };
  if (!name.empty()) add([&](const PlannedCell& c) { return has_names(c, name); });
  if (out.empty() && name.size() >= 4)
    add([&](const PlannedCell& c) { return c.id.starts_with(name); });
  if (out.empty() && name.find('=') != std::string::npos) {
    const Filter filter(name);
    add([&](const PlannedCell& c) { return filter.matches(c.coordinates()); });
  }
  if (out.empty())
    fail(Exit::usage,
         "--why: the plan has no cell '{}'; name one as its report does, such as {}, by the "
         "beginning of its id, or by a filter such as 'task=lags & seed=42'",
         name, plan.cells.empty() ? "" : plan.cells[0].label());
  return out;
}

std::string why_text(const std::vector<const PlannedCell*>& cells, const Plan& plan,
                     const Store& store) {
  const KeptTrainings kept = kept_trainings(store);
  std::vector<std::string> out;
  for (const PlannedCell* c : cells) {
    std::string text =
        fmt::format("{}: {}\n  cell {}, training {}, {}\n  {}\n", c->label(), state_text(*c), c->id,
                    c->training, c->expression, training_text(*c, plan, store));
    if (const auto missing = missing_parts(*c, store); !missing.empty())
      text += fmt::format("  To evaluate: {}.\n", join(missing, ", "));
    if (trains_anew(*c, store)) {
      const auto like = most_like(*c, kept);
      text += like ? fmt::format("  Most like it is the training {}:\n", like->id)
                   : fmt::format("  Nothing in {} is like it.\n", store.root().string());
      for (const std::string& d : like ? like->differences : std::vector<std::string>())
        text += fmt::format("    {}\n", d);
    }
    out.push_back(std::move(text));
  }
  return join(out, "\n");
}

Json why_json(const std::vector<const PlannedCell*>& cells, const Plan& plan, const Store& store) {
  const KeptTrainings kept = kept_trainings(store);
  Json out = Json::array();
  for (const PlannedCell* c : cells) {
    Json j = {{"cell", c->id},
              {"training", c->training},
              {"label", c->label()},
              {"state", state_name(c->state)},
              {"why", training_text(*c, plan, store)},
              {"to_evaluate", missing_parts(*c, store)}};
    if (const auto like = most_like(*c, kept); like && trains_anew(*c, store))
      j["most_like"] = {{"training", like->id}, {"differences", like->differences}};
    out.push_back(std::move(j));
  }
  return out;
}

}  // namespace pesuite
