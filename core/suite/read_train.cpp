// The settings of training: [train], and those of a task.
#include <algorithm>
#include <cmath>
#include <set>

#include "suite/read.h"

namespace pesuite {

TrainConfig TrainSettings::resolve(int length, double flops_per_token, double parameters) const {
  TrainConfig c;
  c.length = length;
  c.batch =
      batch_tokens > 0 ? std::max(1, static_cast<int>(std::lround(batch_tokens / length))) : batch;
  if (c.batch > 1 << 20)
    fail(Exit::usage,
         "'train.batch.tokens' of {} are {} examples of {} tokens, and {} are the most",
         format_number(batch_tokens), c.batch, length, 1 << 20);
  c.micro_batch = micro_batch;
  const auto tokens = static_cast<double>(c.tokens_per_step());
  const auto steps_of = [&](const Extent& e) {
    return e.in_steps(c.steps, tokens, 3 * flops_per_token * tokens, parameters);
  };
  c.steps = schedule.branches.empty() ? std::max<std::int64_t>(1, steps_of(budget)) : 1;
  for (const Extent& branch : schedule.branches)  // shares are those of the longest
    c.steps = std::max(c.steps, steps_of(branch));
  const auto interval = [&](const Extent& e) {  // a share of a short run is still a step
    return e.value > 0 ? std::max<std::int64_t>(1, steps_of(e)) : 0;
  };
  c.optimizer = optimizer;
  const bool branches = !schedule.branches.empty();
  c.schedule = {branches ? ScheduleKind::constant : schedule.kind, steps_of(schedule.warmup),
                schedule.kind == ScheduleKind::wsd && !branches ? steps_of(schedule.decay) : 0,
                schedule.floor};
  c.dropout_steps = dropout_steps;
  c.log_every = interval(log_every);
  c.eval_every = interval(eval_every);
  c.checkpoint_every = interval(checkpoint_every);
  c.validation_examples = validation_examples;
  c.health = health, c.early_stop = early_stop;
  c.keep_periodic = keep_periodic;
  c.keep_best = keep_best;
  if (lengths.kind != LengthKind::fixed) c.lengths = lengths;
  c.lengths.fill = lengths.fill;
  c.lengths.shots = lengths.shots;
  if (lengths.kind == LengthKind::growing) c.lengths.over = interval(lengths_over);
  return c;
}

// Steps and tokens are counted one by one.
static bool ends(const Extent& e) {
  return e.value <= (e.unit == Extent::Unit::flops ? 1e30 : 9e15);
}

Extent read_extent(Reader& r, const std::string& key, Extent otherwise) {
  r.note_default(key, otherwise.text());
  const Json* j = r.find(key);
  if (j == nullptr) return otherwise;
  const auto e = parse_extent(j->is_string() ? j->get<std::string>() : j->dump());
  if (e && ends(*e)) return *e;
  r.problem(key,
            fmt::format("is {}, {}", shown(*j),
                        e ? "which no machine gets to the end of"
                          : "which is no stretch of training: write 300, \"300 steps\", \"3%\", "
                            "\"20M tokens\" or \"1e15 FLOPs\""));
  return otherwise;
}

std::vector<Extent> read_extents(Reader& r, const std::string& key) {
  std::vector<Extent> out;
  const Json* list = r.find(key);
  if (list == nullptr) return out;
  for (const Json& j : list->is_array() ? *list : Json::array({*list})) {
    const auto e = parse_extent(j.is_string() ? j.get<std::string>() : j.dump());
    if (e && e->unit != Extent::Unit::share && e->value > 0 && ends(*e))
      out.push_back(*e);
    else
      r.problem(key, fmt::format("names {}, which is no budget: write 300, \"20M tokens\", "
                                 "\"20N tokens\" or \"1e15 FLOPs\"",
                                 shown(j)));
  }
  for (std::size_t i = 0; i < out.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (out[i].text() == out[k].text())
        r.problem(key, fmt::format("names {} twice", out[i].text()));
  return out;
}

std::vector<std::uint64_t> read_seeds(Reader& r, const std::vector<double>& otherwise) {
  std::vector<std::uint64_t> out;
  for (const double seed : r.numbers("seeds", otherwise)) {
    if (seed < 0 || seed != std::floor(seed) || seed > 9e15)
      r.problem("seeds", "must be whole numbers from 0 on");
    else
      out.push_back(static_cast<std::uint64_t>(seed));
  }
  const std::set<std::uint64_t> distinct(out.begin(), out.end());
  if (distinct.size() != out.size()) r.problem("seeds", "names a seed twice");
  if (distinct.empty()) r.problem("seeds", "names no seed");
  return out;
}

namespace {

void read_tuning(Reader& r, Tuning& t) {
  t.rates = r.numbers("lr", t.rates);
  for (const double rate : t.rates)
    if (!(rate > 0 && rate <= 100)) r.problem("lr", "must hold learning rates above 0");
  std::sort(t.rates.begin(), t.rates.end());
  if (std::adjacent_find(t.rates.begin(), t.rates.end()) != t.rates.end())
    r.problem("lr", "names a rate twice");
  if (t.rates.size() < 2) r.problem("lr", "needs two rates to choose from; one is 'optimizer.lr'");
  t.knobs = static_cast<int>(r.integer("knobs", t.knobs, 0, 16));
  r.choice("select", {"val_nll"}, 0);
  t.seeds = read_seeds(r, t.seeds.empty() ? std::vector<double>{7}
                                          : std::vector<double>(t.seeds.begin(), t.seeds.end()));
}

void read_mix(Reader& r, SuiteMix& m) {
  m.where = r.where("task");
  try {
    m.expression = parse_expression(r.text("task", ""), "task");
  } catch (const Error& e) {
    r.problem("task", fmt::format("is no task: {}", e.what()));
  }
  m.share = r.number("share", 0, 0, 1);
  if (m.share == 0 || m.share == 1) r.problem("share", "must lie between 0 and 1");
  m.same_alphabet = r.choice("alphabet", {"own", "same"}, 0) == 1;
}

// What can be said before steps are known; shares of it, of which a training has no more than one.
void check_schedule(Reader& r, const TrainSettings& t) {
  const auto share = [](const Extent& e) { return e.unit == Extent::Unit::share ? e.value : 0; };
  const bool decays = t.schedule.kind == ScheduleKind::wsd;
  const double warmup = share(t.schedule.warmup), decay = decays ? share(t.schedule.decay) : 0;
  if (!t.schedule.branches.empty() && !decays)
    r.problem("schedule", "has branches, which only kind = \"wsd\" has");
  if (!t.schedule.branches.empty() && t.schedule.decay.unit != Extent::Unit::share)
    r.problem("schedule", "has branches, whose 'decay' is a share of each, such as \"10%\"");
  if (!t.schedule.branches.empty() && !t.tuning.rates.empty())
    r.problem("tune",
              "cannot choose learning rates for several budgets; tune a suite of one budget, and "
              "write its rates down");
  if (warmup + decay <= 1 + 1e-9) return;
  r.problem("schedule",
            fmt::format("warms up for {:.4g} %{} of the training; together they are at most 100 %",
                        100 * warmup,
                        decays ? fmt::format(" and decays for {:.4g} %", 100 * decay) : ""));
}

}  // namespace

void read_train(Reader& r, TrainSettings& t) {
  if (r.has("lengths") && t.lengths.kind == LengthKind::fixed)
    t.lengths.kind = LengthKind::uniform;  // unless the table says so
  walk_training(t, SettingReader{r});
  if (const Json* optimizer = r.find("optimizer");
      r.has("lr") && optimizer != nullptr && optimizer->is_object() && optimizer->contains("lr"))
    r.problem("lr", "says the same as 'optimizer.lr'; leave one of them out");
  if (r.find("lr") != nullptr) {
    t.optimizer.lr = r.number("lr", t.optimizer.lr, 0, 100);
    r.drop_default("optimizer.lr");
  }
  if (r.has("lengths")) t.lengths_where = r.where("lengths.min");
  t.fill_where = r.where("fill"), t.shots_where = r.where("shots");
  r.table("tune", [&](Reader& s) { read_tuning(s, t.tuning); });
  if (const Json* batch = r.find("batch"); batch != nullptr && batch->is_object()) {
    r.table("batch", [&](Reader& b) { t.batch_tokens = b.number("tokens", 16384, 1, 1 << 30); });
  } else if (batch != nullptr) {
    t.batch = static_cast<int>(r.integer("batch", t.batch, 1, 1 << 20));
    t.batch_tokens = 0;
  } else {
    r.note_default("batch", t.batch);
  }
  if (!r.has("steps") || r.has("budget")) t.budget = read_extent(r, "budget", t.budget);
  if (r.find("steps") != nullptr && r.has("budget"))
    r.problem("steps", "says the same as 'budget'; leave one of them out");
  else if (r.has("steps"))
    t.budget = {Extent::Unit::steps,
                static_cast<double>(r.integer("steps", 1, 1, std::int64_t{1} << 40))};
  if (t.budget.unit == Extent::Unit::share) r.problem("budget", "cannot be a share of itself");
  if (!(t.budget.value > 0))
    r.problem("budget", "trains nothing; write a stretch above 0, such as \"300 steps\"");
  check_schedule(r, t);
  if (r.has("mix")) t.mix.clear();  // as every list: replaced by what lies on top
  r.tables("mix", [&](Reader& m, const std::string&) { read_mix(m, t.mix.emplace_back()); });
  for (const std::string& k : r.texts("keep", {"best", "last"})) {
    if (k != "best" && k != "last")
      r.problem("keep", fmt::format("names '{}'; known are best and last", k));
  }
  if (r.has("keep")) {
    const auto keep = r.texts("keep", {});
    t.keep_best = std::find(keep.begin(), keep.end(), "best") != keep.end();
  }
}

}  // namespace pesuite
