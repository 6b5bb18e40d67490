#include "model/evaluate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "base/text.h"
#include "pesuite/random.hpp"

namespace pesuite {

std::string Protocol::text() const {
  switch (kind) {
    case Kind::non_overlapping: return "non_overlapping";
    case Kind::sliding: return fmt::format("sliding({})", targets);
    case Kind::last: return fmt::format("last({})", targets);
  }
  return "";
}

Protocol parse_protocol(std::string_view text) {
  if (text == "non_overlapping") return {};
  for (const auto& [name, kind] :
       {std::pair{"sliding(", Protocol::Kind::sliding}, std::pair{"last(", Protocol::Kind::last}}) {
    double n = 0;
    const std::size_t head = std::string_view(name).size();
    if (text.starts_with(name) && text.ends_with(")") &&
        parse_count(text.substr(head, text.size() - head - 1), n) && n >= 1 && n < 1e9)
      return {kind, static_cast<int>(n)};
  }
  fail(Exit::usage,
       "there is no protocol '{}'; known are non_overlapping, sliding(64) and last(64)", text);
}

namespace {

int longest(const EvalConfig& c) {
  return *std::max_element(c.lengths.begin(), c.lengths.end());
}

// Targets behind token `longest` that sliding windows and last-k windows share.
int region(const EvalConfig& c, const Protocol& p) {
  if (p.kind == Protocol::Kind::last) return p.targets;
  return std::max(1, c.train_length / p.targets) * p.targets;
}

struct Window {
  std::int64_t document;  // running number
  std::int64_t start;
  int first_scored;  // targets before this place in the window do not count
};

std::vector<Window> windows_of(const EvalConfig& c, const Protocol& p, int length) {
  std::vector<Window> out;
  for (std::int64_t d = 0; d < c.examples; ++d) {
    if (p.kind == Protocol::Kind::non_overlapping) {
      for (int start = 0; start + length <= longest(c); start += length)
        out.push_back({d, start, 0});
      continue;
    }
    for (int end = p.targets; end <= region(c, p); end += p.targets)
      out.push_back(
          {d, std::int64_t{longest(c)} + end - length, length - std::min(length, p.targets)});
  }
  return out;
}

// Sum over a document or an example, and over all of them.
struct Sums {
  double nats = 0, optimum = 0, correct = 0, bytes = 0;
  std::int64_t count = 0;
  void operator+=(const Sums& o) {
    nats += o.nats, optimum += o.optimum, correct += o.correct, bytes += o.bytes, count += o.count;
  }
};

// Mean over targets with a standard error that respects that targets of one unit go together.
struct Clustered {
  double value, standard_error;
};
template <class F>  // F: the sum of a Sums whose mean is wanted
Clustered mean(const std::vector<Sums>& units, F sum) {
  double total = 0;
  std::int64_t count = 0;
  for (const Sums& u : units) {
    total += sum(u);
    count += u.count;
  }
  const double value = total / static_cast<double>(count);
  double squares = 0;
  const auto n = static_cast<double>(units.size());
  for (const Sums& u : units) {
    const double r = sum(u) - value * static_cast<double>(u.count);
    squares += r * r;
  }
  const double se =
      n > 1 ? std::sqrt(squares * n / (n - 1)) / static_cast<double>(count) : Observation::none;
  return {value, se};
}

Observation observation(const char* metric, const char* unit, const char* direction,
                        const std::string& split, const Json& coords) {
  Observation o;
  o.metric = metric, o.unit = unit, o.direction = direction, o.split = split, o.coords = coords;
  return o;
}

struct Scored {         // one target
  std::size_t request;  // running number
  int place;            // in its window
  std::int32_t target;
  double nats, optimum;   // optimum: NaN where it is not known
  bool correct;           // the best class is right
  std::int32_t rank;      // among the task's candidates, 1 at best; 0: not ranked
  std::int32_t distance;  // to what it hangs on, 0: not in sight; -1: it need not be recalled
};

// Runs requests of one length through the model in passes; body(Scored) for each scored target.
template <class F>
void score_all(const Scorer& model, const Task& task, int pass_tokens, int length,
               std::uint64_t seed, std::int64_t steps, const std::vector<Task::Request>& requests,
               const std::function<void(double)>& progress, F body) {
  const auto n = static_cast<std::size_t>(length);  // with FILL
  const auto pass = static_cast<std::size_t>(std::max(1, pass_tokens / length));
  for (std::size_t done = 0; done < requests.size(); done += pass) {
    const std::size_t size = std::min(pass, requests.size() - done);
    const Batch b = batch_of(task, std::span(requests).subspan(done, size));
    const Scores scores = model(b, evaluation_step(b.size, length, seed, steps));
    for (std::size_t k = 0; k < scores.nats.size(); ++k) {
      const auto place = static_cast<std::size_t>(scores.place[k]);
      body(Scored{done + place / n, static_cast<int>(place % n), b.targets[place], scores.nats[k],
                  b.optimum[place], scores.best[k] == b.targets[place],
                  scores.rank.empty() ? 0 : scores.rank[k], b.distances[place]});
    }
    if (progress) progress(static_cast<double>(done + size) / static_cast<double>(requests.size()));
  }
}

// Targets that must be recalled: those that hang on nothing in sight, then those from 2^(b-1) to
// 2^b - 1 tokens behind what they hang on.
class Recalled {
 public:
  explicit Recalled(std::size_t units) : units_(units) {}
  void add(std::size_t unit, int distance, const Sums& one) {
    if (distance < 0) return;
    const auto b = static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(distance)));
    while (buckets_.size() <= b) buckets_.emplace_back(units_);
    buckets_[b][unit] += one;
  }
  // Calls body(sums of units, coordinates) for all of them, then by distance.
  template <class F>
  void each(Json coords, F body) const {
    if (buckets_.empty()) return;
    coords["bucket"] = "recall";
    std::vector<Sums> all(units_);
    for (const auto& bucket : buckets_)
      for (std::size_t u = 0; u < units_; ++u) all[u] += bucket[u];
    body(all, coords);
    for (std::size_t b = 0; b < buckets_.size(); ++b) {
      if (std::all_of(buckets_[b].begin(), buckets_[b].end(),
                      [](const Sums& s) { return s.count == 0; }))
        continue;
      coords["dist_lo"] = b == 0 ? 0 : 1 << (b - 1);
      coords["dist_hi"] = 1 << b;
      body(buckets_[b], coords);
    }
  }

 private:
  std::size_t units_;
  std::vector<std::vector<Sums>> buckets_;
};

// ---------------------------------------------------------------------------------- corpora

// Units that have targets.
std::int64_t units_of(const std::vector<Sums>& all) {
  return std::count_if(all.begin(), all.end(), [](const Sums& s) { return s.count > 0; });
}

// What a group of targets costs beyond the least that anybody can pay, and that least.
void describe_regret(const std::vector<Sums>& units, const char* unit, const std::string& split,
                     const Json& coords, std::vector<Observation>& out) {
  Sums all;
  for (const Sums& u : units) all += u;
  if (!std::isfinite(all.optimum)) return;
  Observation o = observation("regret", unit, "lower", split, coords);
  const Clustered m = mean(units, [](const Sums& s) { return s.nats - s.optimum; });
  o.value = m.value, o.standard_error = m.standard_error;
  o.n = units_of(units);
  o.sum = all.nats - all.optimum, o.count = all.count;
  o.settle();
  out.push_back(o);
  o = observation("optimum", unit, "none", split, coords);
  o.value = all.optimum / static_cast<double>(all.count);
  o.n = units_of(units);
  o.sum = all.optimum, o.count = all.count;
  out.push_back(std::move(o));
}

// nll, regret and bits per byte of one group of targets.
void describe(const std::vector<Sums>& documents, const std::string& split, const Json& coords,
              bool text, std::vector<Observation>& out) {
  Sums all;
  for (const Sums& d : documents) all += d;
  if (all.count == 0) return;
  Observation o = observation("nll", "nats/token", "lower", split, coords);
  const Clustered m = mean(documents, [](const Sums& d) { return d.nats; });
  o.value = m.value, o.standard_error = m.standard_error;
  o.n = units_of(documents);
  o.sum = all.nats, o.count = all.count;
  o.settle();
  out.push_back(o);
  describe_regret(documents, "nats/token", split, coords, out);
  if (text && all.bytes > 0) {
    o = observation("bpb", "bits/byte", "lower", split, coords);
    o.value = all.nats / all.bytes / std::numbers::ln2;
    o.n = units_of(documents);
    o.count = all.count;
    o.settle();
    out.push_back(std::move(o));
  }
}

void evaluate_corpus(const Scorer& model, const Task& task, const EvalConfig& c,
                     const Protocol& protocol, int length, std::uint64_t seed, std::int64_t steps,
                     const std::function<void(double)>& progress, std::vector<Observation>& out) {
  const std::vector<Window> windows = windows_of(c, protocol, length);
  std::vector<Task::Request> requests;
  for (const Window& w : windows) {
    Task::Request r;
    r.split = c.split, r.seed = seed, r.index = static_cast<std::uint64_t>(w.document);
    r.length = length, r.start = w.start;
    requests.push_back(r);
  }
  const auto documents = static_cast<std::size_t>(c.examples);
  // per document: all targets, and those with 2^b .. 2^(b+1) - 1 tokens of context
  std::vector<Sums> all(documents);
  std::vector<std::vector<Sums>> buckets;
  Recalled recalled(documents);
  const std::int32_t* bytes = task.info().token_bytes;
  score_all(model, task, c.pass_tokens, length, seed, steps, requests, progress,
            [&](const Scored& t) {
              const Window& w = windows[t.request];
              if (t.place < w.first_scored) return;
              const Sums one{t.nats, t.optimum, t.correct ? 1.0 : 0.0,
                             bytes == nullptr ? 0.0 : bytes[t.target], 1};
              const auto d = static_cast<std::size_t>(w.document);
              all[d] += one;
              const auto b =
                  static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(t.place + 1))) - 1;
              while (buckets.size() <= b) buckets.emplace_back(documents);
              buckets[b][d] += one;
              recalled.add(d, t.distance, one);
            });
  Json coords = {
      {"train_len", c.train_length}, {"eval_len", length}, {"protocol", protocol.text()}};
  const std::string split = c.trained_on(length) ? "id" : "ood";
  describe(all, split, coords, bytes != nullptr, out);
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    coords["pos_lo"] = 1 << b;  // tokens of context
    coords["pos_hi"] = std::min(1 << (b + 1), length + 1);
    describe(buckets[b], split, coords, false, out);
  }
  coords.erase("pos_lo"), coords.erase("pos_hi");
  recalled.each(coords, [&](const std::vector<Sums>& targets, const Json& where) {
    describe(targets, split, where, false, out);
  });
}

// --------------------------------------------------------------------------------- problems

// Accuracy with its interval: Wilson's, on as many independent targets as the clustering leaves.
Observation accuracy(const std::vector<Sums>& examples, const char* metric,
                     const std::string& split, const Json& coords, double chance) {
  Observation o = observation(metric, "share", "higher", split, coords);
  const Clustered m = mean(examples, [](const Sums& s) { return s.correct; });
  for (const Sums& e : examples) o.count += e.count;
  o.n = units_of(examples);
  o.value = m.value, o.standard_error = m.standard_error;
  o.sum = m.value * static_cast<double>(o.count);
  o.chance = chance;
  const auto n = static_cast<double>(o.n), most = static_cast<double>(o.count);
  const double spread = m.value * (1 - m.value);
  const double effective =
      m.standard_error > 0 ? spread / (m.standard_error * m.standard_error) : n;
  const Interval i = wilson(m.value, std::clamp(effective, std::min(n, most), most));
  o.low = i.low, o.high = i.high;
  return o;
}

// Of examples with several targets: is all of it right?
std::vector<Sums> total(const std::vector<Sums>& examples) {
  std::vector<Sums> out;
  for (const Sums& s : examples)
    if (s.count > 0)
      out.push_back({0, 0, s.correct == static_cast<double>(s.count) ? 1.0 : 0.0, 0, 1});
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
    std::int64_t count = 0;
    for (const Sums& s : first) count += s.count;
    if (count == 0) return;
    out.push_back(accuracy(first, "candidate_acc", split, coords, 1.0 / candidates));
    if (count > std::ssize(first))
      out.push_back(accuracy(total(first), "candidate_em", split, coords, Observation::none));
    Observation o = observation("mrr", "reciprocal rank", "higher", split, coords);
    const Clustered m = mean(reciprocal, [](const Sums& s) { return s.correct; });
    o.value = m.value, o.standard_error = m.standard_error;
    o.n = units_of(first), o.count = count, o.sum = m.value * static_cast<double>(count);
    o.chance = 0;
    for (int r = candidates; r >= 1; --r) o.chance += 1.0 / r / candidates;
    out.push_back(std::move(o));
  }
};

// Where a problem is evaluated, and whether training has it.
struct Condition {
  Json coords;
  bool trained;
};
Condition setting(const Task& task, const EvalConfig& c, const Task::Request& r) {
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

// `first` is the first of the examples.
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
  auto [coords, trained] = setting(task, c, first);
  const std::string split = trained ? "id" : "ood";
  const Task::Chance chance = task.chance(first);
  std::int64_t count = 0;
  for (const Sums& s : all) count += s.count;
  if (count == 0)
    fail(Exit::data, "task '{}' scores nothing at length {}", task.text(), first.length);

  Observation o = observation("nll", "nats/target", "lower", split, coords);
  const Clustered m = mean(all, [](const Sums& s) { return s.nats; });
  o.value = m.value, o.standard_error = m.standard_error;
  o.n = c.examples, o.count = count, o.sum = m.value * static_cast<double>(count);
  o.settle();
  out.push_back(std::move(o));
  describe_regret(all, "nats/target", split, coords, out);
  out.push_back(accuracy(all, "acc", split, coords, chance.accuracy));
  if (count > c.examples) out.push_back(accuracy(total(all), "em", split, coords, chance.exact));
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

}  // namespace

Batch batch_of(const Task& task, std::span<const Task::Request> requests) {
  Batch b;
  b.size = static_cast<int>(requests.size());
  b.length = task.tokens(requests[0]);
  const auto n = static_cast<std::size_t>(b.length);
  b.candidate_first = task.info().candidate_first, b.candidates = task.info().candidates;
  b.tokens.resize(requests.size() * n);
  b.targets.resize(requests.size() * n);
  b.optimum.resize(requests.size() * n);
  b.distances.resize(requests.size() * n);
  if (task.positions() > 0) b.positions.resize(b.tokens.size());
  for (std::size_t i = 0; i < requests.size(); ++i)
    task.sample(requests[i], row(b.tokens, i, n), row(b.targets, i, n), row(b.optimum, i, n),
                row(b.positions, i, n), row(b.distances, i, n));
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

namespace {

// Requests of all combinations of the grid's values; axes that are not in it stay NaN.
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

}  // namespace

Task::Request request_of(const Task& task, const EvalConfig& c, pes_split split, std::int64_t i,
                         int length, std::uint64_t seed) {
  const auto grid = axis_grid(c, task, length, seed);
  Task::Request r = grid[static_cast<std::size_t>(i) % grid.size()];
  r.split = split, r.index = static_cast<std::uint64_t>(i);
  if (task.is_corpus()) r.start = 0;
  return r;
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
           task.text(), task.info().document, longest(c), reach(c));
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
  int targets = 0;
  for (const Protocol& p : c.protocols)
    if (p.kind != Protocol::Kind::non_overlapping) targets = std::max(targets, region(c, p));
  return longest(c) + targets;
}

double tokens_read(const EvalConfig& c, const Task& task, int length) {
  double tokens = 0;
  if (task.is_corpus()) {
    for (const Protocol& p : c.protocols)
      tokens += static_cast<double>(windows_of(c, p, length).size()) * length;
  } else {
    for (const Task::Request& r : axis_grid(c, task, length, 0))
      tokens += static_cast<double>(c.examples) * task.tokens(r);
  }
  return tokens;
}

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
    const Condition at = setting(task, c, r);
    Observation o = observation("untrained", "share", "none", at.trained ? "id" : "ood",
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
