#include "model/problem.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "model/sums.h"

namespace pesuite {

namespace {

// Of examples with several targets: is all of it right?
std::vector<Sums> total(const std::vector<Sums>& examples) {
  std::vector<Sums> out;
  for (const Sums& s : examples)
    if (s.count > 0)
      out.push_back({0, 0, s.correct == static_cast<double>(s.count) ? 1.0 : 0.0, 0, 1});
  return out;
}

// Which examples have all their targets right, as Observation writes it.
std::string right_ones(const std::vector<Sums>& examples) {
  std::string out;
  for (std::size_t i = 0; i < examples.size(); i += 4) {
    unsigned digit = 0;
    for (std::size_t k = i; k < std::min(i + 4, examples.size()); ++k)
      if (examples[k].count > 0 && examples[k].correct == static_cast<double>(examples[k].count))
        digit |= 8u >> (k - i);
    out += "0123456789abcdef"[digit];
  }
  return out;
}

// How the right answer ranks among the task's candidates: first, and one over its rank.
struct Ranks {
  std::vector<Sums> first, reciprocal;  // a unit an example; `correct` holds the sum
  explicit Ranks(std::size_t examples) : first(examples), reciprocal(examples) {}
  void add(const Scored& t) {
    if (t.rank < 1) return;
    first[t.request] += {0, 0, t.rank == 1 ? 1.0 : 0.0, 0, 1};
    reciprocal[t.request] += {0, 0, 1.0 / t.rank, 0, 1};
  }
  void describe(int candidates, const std::string& split, const Json& coords,
                std::vector<Observation>& out) const {
    const std::int64_t count = targets_of(first);
    if (count == 0) return;
    out.push_back(accuracy(first, "candidate_acc", split, coords, 1.0 / candidates));
    if (count > std::ssize(first))
      out.push_back(accuracy(total(first), "candidate_em", split, coords, Observation::none));
    Observation o = observation("mrr", split, coords);
    const Clustered m = mean(reciprocal, [](const Sums& s) { return s.correct; });
    o.value = m.value, o.standard_error = m.standard_error;
    o.n = units_of(first), o.count = count, o.sum = m.value * static_cast<double>(count);
    o.chance = 0;
    for (int r = candidates; r >= 1; --r) o.chance += 1.0 / r / candidates;
    out.push_back(std::move(o));
  }
};

}  // namespace

std::vector<Task::Request> axis_grid(const EvalConfig& c, const Task& task, int length,
                                     std::uint64_t seed) {
  Task::Request drawn;
  drawn.split = c.split, drawn.seed = seed, drawn.length = length;
  drawn.axes.assign(task.axes().size(), Observation::none);
  std::vector<Task::Request> points = {drawn};
  for (const EvalAxis& axis : c.axes) {
    std::size_t a = 0;  // check() made sure that there is one
    while (!is_before(axis.name) && task.axes()[a].name != axis.name) ++a;
    std::vector<Task::Request> next;
    for (const auto& p : points)
      for (const double value : axis.values) {
        next.push_back(p);
        if (axis.name == fill_axis)
          next.back().fill = static_cast<std::int32_t>(value);
        else if (axis.name == shots_axis)
          next.back().shots = static_cast<std::int32_t>(value);
        else
          next.back().axes[a] = value;
      }
    points = std::move(next);
  }
  return points;
}

Condition condition_of(const Task& task, const EvalConfig& c, const Task::Request& r) {
  Condition s{{{"train_len", c.train_length}, {"eval_len", r.length}},
              c.trained_on(r.length) && r.fill <= c.fill_trained && r.shots <= c.shots_trained};
  for (std::size_t a = 0; a < r.axes.size(); ++a) {
    if (std::isnan(r.axes[a])) continue;
    const Axis& axis = task.axes()[a];
    s.coords[axis.name] = r.axes[a];
    const auto at = std::find(axis.values.begin(), axis.values.end(), r.axes[a]);
    s.trained &= at - axis.values.begin() < axis.trained;
  }
  if (c.most(fill_axis) > 0) s.coords[fill_axis] = r.fill;
  if (c.most(shots_axis) > 0) s.coords[shots_axis] = r.shots;
  return s;
}

void evaluate_problem(const Scorer& model, const Task& task, const EvalConfig& c,
                      const Task::Request& first, std::int64_t steps,
                      const std::function<void(double)>& progress, std::vector<Observation>& out) {
  std::vector<Task::Request> requests(static_cast<std::size_t>(c.examples), first);
  for (std::size_t i = 0; i < requests.size(); ++i) requests[i].index = i;
  const auto n = static_cast<std::size_t>(c.examples);
  std::vector<Sums> all(n), seen(n), unseen(n);
  Ranks ranks(n);
  Recalled recalled(n);
  const int trained_before =
      c.fill_trained + c.shots_trained * std::min(first.length, c.train_length);
  const auto reached = [&](int tokens) { return c.trained_on(tokens - trained_before); };
  score_all(model, task, c.pass_tokens, task.tokens(first), first.seed, steps, requests, progress,
            [&](const Scored& t) {
              const Sums one{t.nats, t.optimum, t.correct ? 1.0 : 0.0, 0, 1};
              all[t.request] += one;
              (reached(t.place + 1) ? seen : unseen)[t.request] += one;
              ranks.add(t);
              recalled.add(t.request, t.distance, one);
            });
  auto [coords, trained] = condition_of(task, c, first);
  const std::string split = trained ? "id" : "ood";
  const Task::Chance chance = task.chance(first);
  const std::int64_t count = targets_of(all);
  if (count == 0)
    fail(Exit::data, "task '{}' scores nothing at length {}", task.text(), first.length);

  out.push_back(loss_of(all, "nats/target", split, coords));
  out.back().n = c.examples;
  out.back().sum = out.back().value * static_cast<double>(count);
  add_regret(all, "nats/target", split, coords, out);
  out.push_back(accuracy(all, "acc", split, coords, chance.accuracy));
  if (count > c.examples) out.push_back(accuracy(total(all), "em", split, coords, chance.exact));
  out.back().right = right_ones(all);  // with one target each, accuracy says the same
  ranks.describe(task.info().candidates, split, coords, out);
  recalled.each(coords, [&](const std::vector<Sums>& targets, const Json& where) {
    out.push_back(accuracy(targets, "acc", split, where, chance.accuracy));
  });
  if (reached(task.tokens(first))) return;
  for (const auto& [name, part] : {std::pair{"seen", &seen}, std::pair{"unseen", &unseen}}) {
    if (std::all_of(part->begin(), part->end(), [](const Sums& s) { return s.count == 0; }))
      continue;
    coords["bucket"] = name;
    out.push_back(accuracy(*part, "acc", split, coords, chance.accuracy));
  }
}

}  // namespace pesuite
