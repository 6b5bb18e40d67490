#include "plan/trainings.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "base/error.h"
#include "base/text.h"
#include "model/fields.h"
#include "model/safetensors.h"

namespace pesuite {

// ----------------------------------------------------------------------------------- switches

QkNorm qk_norm_named(const std::string& name) {
  const std::vector<std::string> names = value_names(QkNorm::off);
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? QkNorm::off : static_cast<QkNorm>(found - names.begin());
}

std::vector<SwitchConfig> resolve_switches(const EncodingExpression& x,
                                           const TrainSettings& settings, const TrainConfig& start,
                                           const ModelConfig& model) {
  const auto tokens = static_cast<double>(start.tokens_per_step());
  const double flops = 3 * tokens * forward_flops(model, start.length);
  const auto parameters = static_cast<double>(parameter_count(model));
  const auto in_steps = [&](const Extent& e) {
    return e.in_steps(start.steps, tokens, flops, parameters);
  };
  SwitchConfig now;  // what holds so far
  now.qk_norm = model.qk_norm;
  now.length = start.length, now.batch = start.batch, now.micro_batch = start.pass_size();
  now.lr = start.optimizer.lr, now.schedule = start.schedule;
  std::vector<SwitchConfig> out;
  for (const Switch& s : x.switches) {
    const auto refuse = [&](const std::string& reason) {
      fail(Exit::usage, "encoding '{}': the switch at column {}{}", x.source, s.column, reason);
    };
    const std::int64_t before = now.step;
    now.step = in_steps(s.at);
    if (now.step < 1 || now.step >= start.steps)
      refuse(fmt::format(" comes at step {} of {}, which leaves nothing to train {} it{}", now.step,
                         start.steps, now.step < 1 ? "before" : "after",
                         now.step < 1 ? "" : "; to swap for evaluation alone write '=>'"));
    if (now.step <= before)
      refuse(fmt::format(" comes at step {}, and the one before it at step {}", now.step, before));
    now.reset_optimizer = s.reset_optimizer;
    if (s.qk_norm) now.qk_norm = qk_norm_named(*s.qk_norm);
    if (s.length) {  // a step reads as many tokens as before
      TrainConfig t = start;
      t.length = static_cast<int>(*s.length);
      t.batch = std::max(1, static_cast<int>(std::lround(tokens / t.length)));
      t.micro_batch = settings.micro_batch;
      now.length = t.length, now.batch = t.batch, now.micro_batch = t.pass_size();
    }
    if (s.lr || s.warmup || s.schedule) {
      const std::int64_t left = start.steps - now.step;
      if (s.lr) now.lr = *s.lr;
      if (s.schedule) now.schedule.kind = schedule_kind(*s.schedule);
      now.schedule.warmup = s.warmup ? in_steps(*s.warmup) : 0;
      if (now.schedule.warmup > left)
        refuse(fmt::format(" warms up for {} steps, and {} are left", now.schedule.warmup, left));
      now.schedule.decay = now.schedule.kind == ScheduleKind::wsd
                               ? std::min(left, in_steps(settings.schedule.decay))
                               : 0;
      now.schedule_start = now.step;
    }
    out.push_back(now);
  }
  return out;
}

void branch_for_budget(CellConfig& c, const SuiteTask& t) {
  const auto tokens = static_cast<double>(c.train.tokens_per_step());
  const ScheduleSettings& schedule = t.train.schedule;
  const std::int64_t steps = schedule.branches.at(*t.branch).in_steps(
      0, tokens, 3 * tokens * forward_flops(c.model, c.train.length),
      static_cast<double>(parameter_count(c.model)));
  SwitchConfig s;
  if (c.switches.empty()) {
    s.encoding = c.encoding, s.max_length = c.max_length, s.qk_norm = c.model.qk_norm;
    s.length = c.train.length, s.batch = c.train.batch, s.micro_batch = c.train.pass_size();
    s.lr = c.train.optimizer.lr, s.schedule = c.train.schedule;
  } else {
    s = c.switches.back();
    s.reset_optimizer = false;
  }
  s.schedule.kind = ScheduleKind::wsd;
  s.schedule.decay = std::max<std::int64_t>(1, schedule.decay.in_steps(steps, 0, 0, 0));
  s.trunk_steps = c.train.steps;
  s.step = steps - s.schedule.decay;
  const std::int64_t least = std::max(c.train.schedule.warmup, first_step(c) + 1);
  if (s.step < least)
    fail(Exit::usage,
         "the budget {} of task '{}' has {} steps and begins to decay at step {}, before the "
         "warm-up "
         "or the last switch is over at {}: give it more, or warm up for less",
         schedule.branches[*t.branch].text(), t.group, steps, s.step, least);
  c.train.steps = steps;
  c.switches.push_back(std::move(s));
}

// -------------------------------------------------------------------------------------- graph

namespace {

PlannedCell trunk_for(const PlannedCell& child) {
  PlannedCell t = child;
  t.is_trunk = t.trains = true;
  t.config = trunk_of(child.config);
  if (child.config.switches.back().trunk_steps > 0)  // of all its budgets
    t.task = child.task.substr(0, child.task.rfind('@'));
  t.id = t.training = cell_id(t.config);
  t.series = series_id(t.config);
  t.evals.clear();
  EncodingExpression x = parse_encoding(child.encoding_text);
  x.evaluation = {};
  x.switches.resize(t.config.switches.size());
  t.encoding = t.encoding_text = to_text(x);
  t.until = 0;
  t.after = -1;
  return t;
}

}  // namespace

void share_trainings(Plan& plan) {
  std::map<std::string, std::size_t> trainers;  // by training
  std::vector<const PlannedCell*> cells;
  for (const PlannedCell& c : plan.cells) cells.push_back(&c);
  for (const bool swapped : {false, true})  // best by one that has nothing else to wait for
    for (std::size_t i = 0; i < cells.size(); ++i)
      if ((cells[i]->config.evaluation.empty() && cells[i]->config.asked.empty()) != swapped)
        trainers.emplace(cells[i]->training, i);
  const auto own = static_cast<std::ptrdiff_t>(plan.cells.size());
  std::vector<PlannedCell> all = std::move(plan.cells);
  for (std::size_t i = 0; i < all.size(); ++i) {  // grows by trunks, which may have trunks too
    const std::size_t trainer = trainers.at(all[i].training);
    all[i].trains = trainer == i;
    if (!all[i].trains) all[i].after = static_cast<std::ptrdiff_t>(trainer);
    if (!all[i].trains || all[i].config.switches.empty()) continue;
    PlannedCell trunk = trunk_for(all[i]);
    const auto [it, is_new] = trainers.emplace(trunk.training, all.size());
    if (is_new) all.push_back(std::move(trunk));
    PlannedCell& parent = all[it->second];
    if (parent.is_trunk) parent.until = std::max(parent.until, first_step(all[i].config));
    all[i].after = static_cast<std::ptrdiff_t>(it->second);
  }
  const auto trunks = all.begin() + own;
  plan.trunks.assign(std::make_move_iterator(trunks), std::make_move_iterator(all.end()));
  all.erase(trunks, all.end());
  plan.cells = std::move(all);
}

void refresh_all(std::vector<PlannedCell>& all, const Store& store) {
  for (PlannedCell& c : all) {
    c.branches.clear();
    refresh(c, store);
  }
  for (PlannedCell& c : all) {  // trunks stand behind what needs them
    if (!c.trains || c.config.switches.empty() || (c.is_trunk && c.branches.empty())) continue;
    const bool begun =
        store.has_training(c.training) || is_sound_safetensors(store.checkpoint(c.training));
    if (begun || c.state == PlannedCell::State::failed) continue;
    std::vector<std::int64_t>& wanted = all[static_cast<std::size_t>(c.after)].branches;
    if (std::find(wanted.begin(), wanted.end(), first_step(c.config)) == wanted.end())
      wanted.push_back(first_step(c.config));
  }
  for (PlannedCell& c : all)
    if (!c.branches.empty()) refresh(c, store);
}

bool is_ready(const PlannedCell& c, const std::vector<PlannedCell>& all, const Store& store) {
  if (c.after < 0) return true;
  const PlannedCell& before = all[static_cast<std::size_t>(c.after)];
  if (!c.trains) return store.trained(c.training);
  return is_sound_safetensors(store.checkpoint(c.training)) ||
         store.has_branch(before.training, first_step(c.config)) ||
         before.state == PlannedCell::State::diverged;
}

// --------------------------------------------------------------------------------------- text

namespace {

std::vector<const PlannedCell*> everything(const Plan& plan) {
  std::vector<const PlannedCell*> all;
  for (const PlannedCell& c : plan.cells) all.push_back(&c);
  for (const PlannedCell& c : plan.trunks) all.push_back(&c);
  return all;
}

// Trainings in the order of the graph: each behind what it branches off from.
template <class F>
void each_training(const Plan& plan, F body) {
  const auto all = everything(plan);
  const std::function<void(std::size_t, int)> visit = [&](std::size_t i, int depth) {
    body(i, *all[i], depth);
    for (std::size_t child = 0; child < all.size(); ++child)
      if (all[child]->trains && all[child]->after == static_cast<std::ptrdiff_t>(i))
        visit(child, depth + 1);
  };
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i]->trains && all[i]->after < 0) visit(i, 0);
}

std::vector<const PlannedCell*> cells_of(const Plan& plan, const std::string& training) {
  std::vector<const PlannedCell*> out;
  for (const PlannedCell& c : plan.cells)
    if (c.training == training) out.push_back(&c);
  return out;
}

}  // namespace

SharedSteps shared_steps(const Plan& plan) {
  SharedSteps s;
  for (const PlannedCell& c : plan.cells) s.alone += c.config.train.steps;
  for (const PlannedCell* c : everything(plan))
    if (c->trains) s.taken += last_step(*c) - first_step(c->config);
  return s;
}

std::string trainings_table(const Plan& plan) {
  const SharedSteps steps = shared_steps(plan);
  if (steps.taken == steps.alone) return "";
  std::vector<std::vector<std::string>> rows = {{"training", "steps", "evaluated as"}};
  each_training(plan, [&](std::size_t, const PlannedCell& c, int depth) {
    const bool decays = !c.config.switches.empty() && c.config.switches.back().trunk_steps > 0;
    const std::string name =
        decays       ? fmt::format("{:>{}}-> decay", "", 2 * depth)
        : depth == 0 ? fmt::format("{}·{}·{}·s{}", to_text(parse_encoding(c.encoding_text).first),
                                   c.task, c.model, c.seed)
                     : fmt::format("{:>{}}-> {}", "", 2 * depth,
                                   to_text(parse_encoding(c.encoding_text).switches.back().to));
    std::vector<std::string> cells;
    for (const PlannedCell* cell : cells_of(plan, c.training)) cells.push_back(cell->encoding);
    rows.push_back({name, fmt::format("{} .. {}", first_step(c.config), last_step(c)),
                    cells.empty() ? "-" : join(cells, ", ")});
  });
  return fmt::format(
      "\n{}\n{} training steps instead of {}: {:.0f} % fewer, for equal beginnings "
      "are trained once\n",
      plain_table(rows), steps.taken, steps.alone,
      100 * (1 - static_cast<double>(steps.taken) / static_cast<double>(steps.alone)));
}

Json trainings_json(const Plan& plan) {
  const auto all = everything(plan);
  Json out = Json::array();
  each_training(plan, [&](std::size_t, const PlannedCell& c, int) {
    Json cells = Json::array();
    for (const PlannedCell* cell : cells_of(plan, c.training)) cells.push_back(cell->id);
    out.push_back({{"training", c.training},
                   {"trunk", c.after < 0 ? Json(nullptr)
                                         : Json(all[static_cast<std::size_t>(c.after)]->training)},
                   {"encoding", encoding_of(c.config)},
                   {"first_step", first_step(c.config)},
                   {"last_step", last_step(c)},
                   {"state", state_name(c.state)},
                   {"cells", std::move(cells)}});
  });
  return out;
}

}  // namespace pesuite
