#include "plan/evaluations.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/text.h"

namespace pesuite {

std::vector<int> in_tokens(const std::vector<std::string>& texts, int train_length, int least) {
  std::set<int> lengths;
  for (const std::string& l : texts) {
    const auto tokens = parse_lengths(l, train_length, least);
    if (!tokens && is_range(l))
      fail(Exit::usage,
           "holds '{}', which is no range of at most {} lengths where the training length is {}", l,
           most_lengths, train_length);
    if (!tokens)
      fail(Exit::usage,
           "holds '{}', which is no length of {} to {} tokens where the training length is {}", l,
           least, longest_length, train_length);
    lengths.insert(tokens->begin(), tokens->end());
  }
  return {lengths.begin(), lengths.end()};
}

std::vector<int> fills(const EvalSettings& e, int train_length) {
  const auto found = e.axes.find(fill_axis);
  if (found == e.axes.end()) return {0};
  for (const std::string& t : found->second) {
    double tokens = 0;
    if (is_range(t) && parse_lengths(t, train_length, 0)) continue;
    if (!parse_count(t.substr(0, t.size() - (t.ends_with("x") ? 1 : 0)), tokens) || tokens < 0 ||
        tokens > (1 << 24))
      fail(Exit::usage, "'axes.fill' holds '{}', which is no number of tokens such as 64 or 1x", t);
  }
  return in_tokens(found->second, train_length, 0);
}

std::vector<int> shots(const EvalSettings& e) {
  const auto found = e.axes.find(shots_axis);
  if (found == e.axes.end()) return {0};
  std::set<int> all;
  for (const std::string& t : found->second) {
    double count = 0;
    if (!parse_count(t, count) || count < 0 || count != std::floor(count) || count > 1024)
      fail(Exit::usage, "'axes.shots' holds '{}', which is no number of examples such as 3", t);
    all.insert(static_cast<int>(count));
  }
  return {all.begin(), all.end()};
}

namespace {

// A value of an axis need not be one that its task proposes, but a number of that kind.
bool may_be_of(const std::vector<double>& proposed, double value) {
  const auto whole = [](double v) { return v == std::floor(v); };
  if (!(std::fabs(value) <= 1 << 24)) return false;  // nor is it "nan"
  return whole(value) || !std::all_of(proposed.begin(), proposed.end(), whole);
}

}  // namespace

EvalConfig eval_config(const EvalSettings& e, const std::vector<int>& lengths, int train_length,
                       const TaskFacts& facts) {
  EvalConfig c;
  c.lengths = lengths;
  c.examples = e.examples;
  c.train_length = train_length;
  if (facts.document > 0) c.protocols = e.protocols;
  for (const auto& [name, texts] : e.axes) {
    if (is_before(name)) {
      if (const std::string why = name == fill_axis ? facts.refuses_fill : facts.refuses_shots;
          !why.empty())
        fail(Exit::usage, "'axes' names '{}', but task '{}' {}", name, e.task, why);
      EvalAxis before{name, {}};
      for (const int x : name == fill_axis ? fills(e, train_length) : shots(e))
        before.values.push_back(x);
      c.axes.push_back(std::move(before));
      continue;
    }
    const auto axis = facts.axes.find(name);
    if (axis == facts.axes.end()) {
      std::vector<std::string> names;
      for (const auto& [n, unused] : facts.axes) names.push_back(n);
      fail(Exit::usage, "'axes' names '{}', which task '{}' does not have{}", name, e.task,
           names.empty() ? "; it has none" : did_you_mean(name, names));
    }
    const std::vector<std::string>& labels = axis->second.labels;
    EvalAxis out{name, {}};
    for (const std::string& t : texts) {
      const auto label = std::find(labels.begin(), labels.end(), t);
      double value = 0;
      if (label != labels.end())
        value = axis->second.values[static_cast<std::size_t>(label - labels.begin())];
      else if (!parse_count(t, value) || !may_be_of(axis->second.values, value))
        fail(Exit::usage, "'axes.{}' holds '{}'; known are {}{}", name, t, join(labels, ", "),
             did_you_mean(t, labels));
      out.values.push_back(value);
    }
    c.axes.push_back(std::move(out));
  }
  return c;
}

namespace {

// Error where the task has no example of a length at a point of the axes, or at one of many points.
void try_examples(const Task& task, const EvalConfig& c, int length) {
  if (task.is_corpus()) return;
  constexpr std::int64_t most_tried = 64;
  std::int64_t points = 1;
  for (const EvalAxis& a : c.axes) points *= static_cast<std::int64_t>(a.values.size());
  const std::int64_t tried = std::min(points, most_tried);
  for (std::int64_t i = 0; i < tried; ++i) {
    const Task::Request r = request_of(task, c, PES_SPLIT_TEST, i * points / tried, length, 0);
    batch_of(task, std::span(&r, 1));
  }
}

}  // namespace

std::vector<int> lengths_with_examples(const Task& task, const EvalConfig& c) {
  std::vector<int> out;
  for (const int length : c.lengths) {
    try {
      try_examples(task, c, length);
      out.push_back(length);
    } catch (const Error&) {  // it says that there is none
    }
  }
  return out;
}

void check_examples(const Task& task, const EvalConfig& c) {
  for (const int length : c.lengths) try_examples(task, c, length);
}

void check_answers(const EvalSettings& settings, const TaskFacts& task) {
  for (const ProbeConfig& p : settings.probes) {
    std::string why;
    if (p.kind == ProbeKind::generated)
      why = refuses_generation(task.document > 0, task.head == PES_LM, task.positions > 0);
    if (p.kind == ProbeKind::predictions) why = refuses_predictions(task.document > 0);
    if (!why.empty()) fail(Exit::usage, "{} (name it as 'task' of this entry)", why);
  }
}
void add_probes(std::vector<CellEval>& evals, const EvalSettings& settings,
                const std::vector<int>& lengths, const ModelConfig& model, int longest,
                CellEval e) {
  for (ProbeConfig p : settings.probes) {
    const std::size_t before = evals.size();
    for (const int l : lengths) {
      check(p, model, l);
      if (p.kind == ProbeKind::offset) {  // tables reach to the suite's longest length
        p.offsets = in_tokens(settings.offsets, e.config.train_length);
        std::erase_if(p.offsets, [&](int offset) { return l + offset > longest; });
        if (p.offsets.empty()) continue;
      }
      e.length = l, e.probe = p;
      evals.push_back(e);
    }
    if (evals.size() == before)
      fail(Exit::usage,
           "probe 'offset': no length moved by {} ends within {} tokens, the longest of the "
           "suite; choose shorter 'lengths' or smaller 'offsets'",
           join(settings.offsets, ", "), longest);
  }
}

}  // namespace pesuite
