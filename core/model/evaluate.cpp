#include "model/evaluate.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "model/corpus.h"
#include "model/problem.h"
#include "model/sums.h"
#include "pesuite/random.hpp"

namespace pesuite {

// ---------------------------------------------------------------------------------- what is asked

int EvalConfig::longest() const {
  return *std::max_element(lengths.begin(), lengths.end());
}

int EvalConfig::most(const char* name) const {
  double most = 0;
  for (const EvalAxis& axis : axes)
    if (axis.name == name)
      for (const double value : axis.values) most = std::max(most, value);
  return static_cast<int>(most);
}

void check(const EvalConfig& c, const Task& task) {
  if (c.lengths.empty()) fail(Exit::usage, "evaluation of task '{}': no lengths", task.text());
  if (task.is_corpus()) {
    if (c.protocols.empty())
      fail(Exit::usage, "evaluation of corpus '{}': no protocol", task.text());
    if (task.info().document < reach(c))
      fail(Exit::usage,
           "corpus '{}' has documents of {} tokens, and the windows at length {} reach {}: raise "
           "its "
           "option 'document' or shorten the evaluation",
           task.text(), task.info().document, c.longest(), reach(c));
  }
  for (const EvalAxis& axis : c.axes) {
    if (is_before(axis.name)) {
      const std::string why = axis.name == fill_axis ? task.refuses_fill(c.lengths[0])
                                                     : task.refuses_shots(c.lengths[0]);
      if (!why.empty())
        fail(Exit::usage, "task '{}' has no axis '{}': it {}", task.text(), axis.name, why);
      continue;
    }
    std::vector<std::string> names;
    for (const Axis& a : task.axes()) names.push_back(a.name);
    if (std::find(names.begin(), names.end(), axis.name) == names.end())
      fail(Exit::usage, "task '{}' has no axis '{}'{}", task.text(), axis.name,
           names.empty() ? "; it has none" : fmt::format("; it has {}", join(names, ", ")));
  }
}

int reach(const EvalConfig& c) {
  std::int64_t reached = c.longest();
  for (const Protocol& p : c.protocols)
    for (const int length : c.lengths)
      for (const Window& w : p.windows(c.window_lengths(), length))
        reached = std::max(reached, w.start + length);
  return static_cast<int>(reached);
}

double tokens_read(const EvalConfig& c, int length) {
  double windows = 0;  // of each document
  for (const Protocol& p : c.protocols)
    windows += static_cast<double>(p.windows(c.window_lengths(), length).size());
  if (!c.protocols.empty()) return c.examples * windows * length;
  double points = 1;  // of the task's own axes
  std::vector<double> fills = {0}, shots = {0};
  for (const EvalAxis& a : c.axes)
    if (a.name == fill_axis)
      fills = a.values;
    else if (a.name == shots_axis)
      shots = a.values;
    else
      points *= static_cast<double>(a.values.size());
  double tokens = 0;  // an example at each number of FILL tokens and of solved examples
  for (const double fill : fills)
    for (const double shot : shots)
      tokens += fill + shot * std::min(length, c.train_length) + length;
  return c.examples * points * tokens;
}

double evaluation_flops(const ModelConfig& m, const EvalConfig& c, int length,
                        std::int64_t query_step) {
  double not_made = 0;  // of each document
  for (const Protocol& p : c.protocols)
    for (const Window& w : p.windows(c.window_lengths(), length)) {
      const std::int64_t first = first_needed(w.first_scored, length, query_step);
      not_made += w.first_scored * 2.0 * m.width * m.outputs() +
                  static_cast<double>(first) * flops_behind_keys(m, static_cast<double>(first));
    }
  return tokens_read(c, length) * forward_flops(m, length) - c.examples * not_made;
}

// ------------------------------------------------------------------------------------- requests

Batch batch_of(const Task& task, std::span<const Task::Request> requests) {
  Batch b;
  b.size = static_cast<int>(requests.size());
  b.length = task.tokens(requests[0]);
  const auto n = static_cast<std::size_t>(b.length);
  b.candidates = task.candidates();
  b.tokens.resize(requests.size() * n);
  b.targets.resize(requests.size() * n);
  b.optimum.resize(requests.size() * n);
  b.distances.resize(requests.size() * n);
  if (task.positions() > 0) b.positions.resize(b.tokens.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::span targets = row(b.targets, i, n);
    task.sample(requests[i], row(b.tokens, i, n), targets, row(b.optimum, i, n),
                row(b.positions, i, n), row(b.distances, i, n));
    // what does not count is not classified
    std::fill_n(targets.begin(), requests[i].first_scored, -1);
  }
  if (task.separates()) {
    b.starts.resize(b.tokens.size());
    for (std::size_t i = 0; i < requests.size(); ++i)
      task.mark_documents(row(b.tokens, i, n), row(b.starts, i, n));
  }
  return b;
}

StepInfo evaluation_step(int size, int length, std::uint64_t seed, std::int64_t steps) {
  StepInfo s;
  s.step = s.steps = steps;
  s.seed = pes::mix64(seed, pes::hash64("evaluation"));
  s.batch = size;
  s.length = length;
  return s;
}

Task::Request request_of(const Task& task, const EvalConfig& c, pes_split split, std::int64_t i,
                         int length, std::uint64_t seed) {
  const auto grid = axis_grid(c, task, length, seed);
  Task::Request r = grid[static_cast<std::size_t>(i) % grid.size()];
  r.split = split, r.index = static_cast<std::uint64_t>(i);
  if (task.is_corpus()) r.start = 0;
  return r;
}

// ------------------------------------------------------------------------------------ evaluation

std::vector<Observation> evaluate(const Scorer& model, const Task& task, const EvalConfig& c,
                                  int length, std::uint64_t seed, std::int64_t steps,
                                  const std::function<void(double)>& progress) {
  std::vector<Observation> out;
  const auto part = [&](std::size_t i, std::size_t of) {
    return [&progress, i, of](double share) {
      if (progress) progress((static_cast<double>(i) + share) / static_cast<double>(of));
    };
  };
  if (task.is_corpus()) {
    for (std::size_t i = 0; i < c.protocols.size(); ++i)
      evaluate_corpus(model, task, c, c.protocols[i], length, seed, steps,
                      part(i, c.protocols.size()), out);
  } else {
    const auto points = axis_grid(c, task, length, seed);
    for (std::size_t i = 0; i < points.size(); ++i)
      evaluate_problem(model, task, c, points[i], steps, part(i, points.size()), out);
  }
  return out;
}

std::vector<Observation> evaluate(Model& model, const Task& task, const EvalConfig& c, int length,
                                  std::uint64_t seed, std::int64_t steps,
                                  const std::function<void(double)>& progress) {
  const auto score = [&](const Batch& b, const StepInfo& s) { return model.score(b, s); };
  std::vector<Observation> out = evaluate(score, task, c, length, seed, steps, progress);
  const auto add_untrained = [&](const Task::Request& r) {
    const Condition at = condition_of(task, c, r);
    Observation o = observation("untrained", at.trained ? "id" : "ood",
                                {{"train_len", c.train_length}, {"eval_len", length}});
    if (r.fill > 0) o.coords[fill_axis] = r.fill;
    if (r.shots > 0) o.coords[shots_axis] = r.shots;
    const int tokens = task.tokens(r);
    const bool later = at.trained && tokens > c.train_length;  // than encodings know
    o.value = later ? 0 : model.encoding().untrained(tokens);
    out.push_back(std::move(o));
  };
  Task::Request r;
  r.length = length;
  add_untrained(r);
  r.fill = c.most(fill_axis);
  // where training has some it reached further than encodings know
  r.shots = c.shots_trained > 0 ? 0 : c.most(shots_axis);
  if (r.fill > 0 || r.shots > 0) add_untrained(r);
  return out;
}

}  // namespace pesuite
