#include "model/task_check.h"

#include <algorithm>
#include <cmath>
#include <future>
#include <pesuite/random.hpp>

#include "base/error.h"

namespace pesuite {

namespace {

using Tokens = std::span<const std::int32_t>;

struct Examples {  // of one length
  std::int32_t length = 0;
  std::size_t count = 0;
  std::vector<std::int32_t> tokens, targets;  // [count, length]
  std::vector<double> optimum;                // [count, length]

  template <class Array>
  auto row(Array& all, std::size_t i) const {
    return std::span(all).subspan(i * length, length);
  }
  Tokens tokens_of(std::size_t i) const { return row(tokens, i); }
  Tokens targets_of(std::size_t i) const { return row(targets, i); }
};

// Examples 0 .. count-1. With `as_many_as_exist`, ends where the task refuses to make another one.
Examples make_examples(const Task& task, Task::Request request, std::size_t count,
                       bool as_many_as_exist = false) {
  constexpr std::int32_t unwritten = -9;  // in no alphabet: Task::sample refuses what is left
  const std::size_t size = count * request.length;
  Examples e{request.length, count, {}, {}, {}};
  e.tokens.assign(size, unwritten);
  e.targets.assign(size, unwritten);
  e.optimum.assign(size, std::nan(""));
  for (std::size_t i = 0; i < count; ++i) {
    request.index = i;
    try {
      task.sample(request, e.row(e.tokens, i), e.row(e.targets, i), e.row(e.optimum, i));
    } catch (const Error& refusal) {
      if (!as_many_as_exist || refusal.code() != Exit::data) throw;
      e.count = i;
      break;
    }
  }
  return e;
}

std::uint64_t hash(Tokens values, std::uint64_t h = 0) {
  for (const std::int32_t x : values) h = pes::mix64(h, static_cast<std::uint32_t>(x));
  return h;
}

struct Subject {
  const Task& task;
  const CheckOptions& options;
  std::vector<Examples> sets;  // of the training split, one a length

  std::int32_t length() const { return options.lengths.front(); }
  Task::Request request(pes_split split = PES_SPLIT_TRAIN) const {
    return {split, options.seed, 0, length(), -1, {}};
  }
};

Finding passed(std::string detail) {
  return {"", true, std::move(detail), false};
}
Finding failed(std::string detail) {
  return {"", false, std::move(detail), false};
}
Finding skipped(std::string reason) {
  return {"", true, std::move(reason), true};
}

// --------------------------------------------------------------------------- what examples are

// What is wrong with an example, or "". Ids are in range already, by Task::sample.
std::string malformed(const Task& task, Tokens tokens, Tokens targets) {
  const pes_head head = task.info().head;
  bool scored = false;
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    if (targets[t] < 0) continue;
    scored = true;
    if (head == PES_CLS && t + 1 < tokens.size())
      return fmt::format("scores position {}, but a class belongs to the last one", t);
    if (head != PES_LM) continue;  // whose ids may be raw ones, without a PAD
    if (tokens[t] == PES_PAD || targets[t] == PES_PAD)
      return fmt::format("scores PAD at position {}", t);
    if (t + 1 < tokens.size() && targets[t] != tokens[t + 1])
      return fmt::format("asks for token {} at position {}, but {} follows", targets[t], t,
                         tokens[t + 1]);
  }
  return scored ? "" : "scores nothing";
}

Finding check_well_formed(const Subject& s) {
  std::size_t count = 0;
  for (const Examples& e : s.sets)
    for (std::size_t i = 0; i < e.count; ++i, ++count)
      if (std::string wrong = malformed(s.task, e.tokens_of(i), e.targets_of(i)); !wrong.empty())
        return failed(fmt::format("Example {} of length {} {}.", i, e.length, wrong));
  return passed(fmt::format("{} examples of {} lengths.", count, s.sets.size()));
}

// Makes the examples again, alone, in another order, on two threads at a time.
Finding check_deterministic(const Subject& s) {
  const Examples& e = s.sets.front();
  const std::size_t count = std::min<std::size_t>(e.count, 256);
  const auto first_that_differs = [&](bool backwards) -> std::string {
    for (std::size_t n = 0; n < count; ++n) {
      Task::Request r = s.request();
      r.index = backwards ? count - 1 - n : (n + count / 2) % count;
      std::vector<std::int32_t> tokens(r.length), targets(r.length);
      s.task.sample(r, tokens, targets);
      if (hash(targets, hash(tokens)) != hash(e.targets_of(r.index), hash(e.tokens_of(r.index))))
        return fmt::format("Example {} is another one when it is made again.", r.index);
    }
    return "";
  };
  auto other = std::async(std::launch::async, first_that_differs, true);
  const std::string here = first_that_differs(false), there = other.get();
  if (!here.empty() || !there.empty()) return failed(here.empty() ? there : here);
  return passed(fmt::format("{} examples in two other orders on two threads.", count));
}

// Windows of a document agree where they overlap.
Finding check_windows(const Subject& s) {
  if (!s.task.is_corpus()) return skipped("Each example stands alone.");
  const std::int64_t room = s.task.info().document - s.length();
  const std::int64_t shift = std::min<std::int64_t>(s.length() / 2, room);
  if (shift < 1) return skipped("A document has room for one window only.");
  constexpr std::size_t documents = 8;
  Task::Request r = s.request();
  r.start = 0;
  const Examples a = make_examples(s.task, r, documents);
  r.start = shift;
  const Examples b = make_examples(s.task, r, documents);
  for (std::size_t i = 0; i < documents; ++i)
    if (hash(a.tokens_of(i).subspan(shift)) != hash(b.tokens_of(i).first(s.length() - shift)))
      return failed(
          fmt::format("Of document {}, the windows from 0 and from {} disagree.", i, shift));
  return passed(fmt::format("{} documents, windows from 0 and from {}.", documents, shift));
}

// Index of an example that the oracle gets wrong, or -1.
std::int64_t oracle_failure(const Task& task, const Examples& e) {
  std::vector<std::int32_t> answers(e.length);
  for (std::size_t i = 0; i < e.count; ++i) {
    task.oracle(e.tokens_of(i), answers);
    const Tokens targets = e.targets_of(i);
    for (std::size_t t = 0; t < targets.size(); ++t)
      if (targets[t] >= 0 && targets[t] != answers[t]) return static_cast<std::int64_t>(i);
  }
  return -1;
}

Finding check_oracle(const Subject& s) {
  if (s.task.is_corpus()) return skipped("A corpus has no oracle.");
  if (!s.task.has_oracle())
    return failed("The task has no oracle, so nobody knows that it can be solved.");
  std::size_t count = 0;
  for (const Examples& e : s.sets) {
    if (const std::int64_t i = oracle_failure(s.task, e); i >= 0)
      return failed(fmt::format("The oracle gets example {} of length {} wrong.", i, e.length));
    count += e.count;
  }
  return passed(fmt::format("The oracle solves {} examples.", count));
}

// What is wrong with the examples at one value of one axis, or "". `exists` is false when the task
// refuses to make them at this length.
std::string axis_failure(const Subject& s, std::size_t axis, double value, bool& exists) {
  Task::Request r = s.request(PES_SPLIT_TEST);
  r.axes.assign(s.task.axes().size(), std::nan(""));
  r.axes[axis] = value;
  Examples e;
  try {
    e = make_examples(s.task, r, 64);
  } catch (const Error& refusal) {
    if (refusal.code() != Exit::data) throw;
    exists = false;
    return "";
  }
  for (std::size_t i = 0; i < e.count; ++i)
    if (std::string wrong = malformed(s.task, e.tokens_of(i), e.targets_of(i)); !wrong.empty())
      return fmt::format("example {} {}", i, wrong);
  const std::int64_t i = s.task.has_oracle() ? oracle_failure(s.task, e) : -1;
  return i < 0 ? "" : fmt::format("the oracle gets example {} wrong", i);
}

Finding check_axes(const Subject& s) {
  const std::vector<Axis>& axes = s.task.axes();
  if (axes.empty()) return skipped("The task has no axes.");
  int values = 0, missing = 0;
  for (std::size_t a = 0; a < axes.size(); ++a)
    for (const double value : axes[a].values) {
      bool exists = true;
      if (const std::string wrong = axis_failure(s, a, value, exists); !wrong.empty())
        return failed(fmt::format("With {} = {}, {}.", axes[a].name, value, wrong));
      ++values;
      missing += exists ? 0 : 1;
    }
  if (missing == values) return failed("The task refuses every value of its axes.");
  return passed(fmt::format("{} values, {} of which do not exist at length {}.", values, missing,
                            s.length()));
}

Finding check_optimum(const Subject& s) {
  std::size_t known = 0;
  for (const Examples& e : s.sets)
    for (std::size_t i = 0; i < e.tokens.size(); ++i) {
      const double nats = e.optimum[i];
      if (std::isnan(nats) || e.targets[i] < 0) continue;
      if (!(nats >= 0) || std::isinf(nats))
        return failed(fmt::format("An optimum of {} nats at length {}.", nats, e.length));
      ++known;
    }
  if (known == 0) return skipped("The task gives no optimum.");
  return passed(fmt::format("{} finite values.", known));
}

// ------------------------------------------------------------------------- chance and shortcuts

struct Place {                        // where a target is asked for
  std::size_t set, example, t, rank;  // rank: how many are asked for before it in the example
  const Examples& examples;
  std::int32_t target() const { return examples.targets_of(example)[t]; }
};

template <class Visit>
void visit_example(std::span<const Examples> sets, std::size_t set, std::size_t i, Visit visit) {
  const Tokens targets = sets[set].targets_of(i);
  for (std::size_t t = 0, rank = 0; t < targets.size(); ++t)
    if (targets[t] >= 0) visit(Place{set, i, t, rank++, sets[set]});
}

// Rules learn from the first half of each set and are scored on the second.
template <class Visit>
void visit_first_halves(std::span<const Examples> sets, Visit visit) {
  for (std::size_t set = 0; set < sets.size(); ++set)
    for (std::size_t i = 0; i < sets[set].count / 2; ++i) visit_example(sets, set, i, visit);
}

struct Score {
  double accuracy = 0, standard_error = 0;
};

// `expected` bounds the error from below where all examples happen to score alike.
template <class Guess>
Score score(std::span<const Examples> sets, double expected, Guess guess) {
  double n = 0, sum = 0, squares = 0, places = 0;
  for (std::size_t set = 0; set < sets.size(); ++set)
    for (std::size_t i = sets[set].count / 2; i < sets[set].count; ++i) {
      double right = 0, asked = 0;
      visit_example(sets, set, i, [&](const Place& p) {
        right += guess(p) == p.target() ? 1 : 0;
        ++asked;
      });
      ++n;
      sum += right / asked;
      squares += right / asked * right / asked;
      places += asked;
    }
  const double mean = sum / n, variance = std::max(0.0, squares / n - mean * mean);
  return {mean, std::sqrt(std::max(variance / n, expected * (1 - expected) / places))};
}

// Guesses the target that was most often seen in the same context.
class Table {
 public:
  void learn(std::uint64_t context, std::int32_t target) {
    seen_.push_back(context << 32 | static_cast<std::uint32_t>(target));
  }
  void finish() {
    std::sort(seen_.begin(), seen_.end());
    std::size_t best = 0;
    for (std::size_t i = 0, end; i < seen_.size(); i = end) {
      end = std::upper_bound(seen_.begin() + i, seen_.end(), seen_[i]) - seen_.begin();
      const std::uint64_t context = seen_[i] >> 32;
      if (contexts_.empty() || contexts_.back() != context) {
        contexts_.push_back(context);
        targets_.push_back(-1);
        best = 0;
      }
      if (end - i > best) {
        best = end - i;
        targets_.back() = static_cast<std::int32_t>(seen_[i]);
      }
    }
  }
  std::int32_t guess(std::uint64_t context) const {  // -1, which is wrong, where nothing was seen
    const auto at = std::lower_bound(contexts_.begin(), contexts_.end(), context);
    return at == contexts_.end() || *at != context ? -1 : targets_[at - contexts_.begin()];
  }

 private:
  std::vector<std::uint64_t> seen_, contexts_;
  std::vector<std::int32_t> targets_;
};

template <class Context>
Score score_table(std::span<const Examples> sets, double expected, Context context) {
  Table table;
  visit_first_halves(sets, [&](const Place& p) { table.learn(context(p), p.target()); });
  table.finish();
  return score(sets, expected, [&](const Place& p) { return table.guess(context(p)); });
}

// Multinomial logistic regression on the counts of the tokens, by AdaGrad (Duchi et al. 2011).
class Bag {
 public:
  Bag(std::int32_t inputs, std::int32_t outputs)
      : outputs_(outputs), weights_(std::size_t{1} * inputs * outputs), squares_(weights_.size()) {}

  void learn(Tokens tokens, std::int32_t target) {
    constexpr double rate = 0.1, epsilon = 1e-8;
    std::vector<double> p = logits(tokens);
    const double top = *std::max_element(p.begin(), p.end());
    double sum = 0;
    for (double& x : p) sum += x = std::exp(x - top);
    for (double& x : p) x /= sum;
    p[target] -= 1;  // the gradient for each token seen
    for (const std::int32_t token : tokens)
      for (std::int32_t c = 0; c < outputs_; ++c) {
        const std::size_t at = std::size_t{1} * token * outputs_ + c;
        squares_[at] += p[c] * p[c];
        weights_[at] -= rate * p[c] / (std::sqrt(squares_[at]) + epsilon);
      }
  }
  std::int32_t guess(Tokens tokens) const {
    const std::vector<double> x = logits(tokens);
    return static_cast<std::int32_t>(std::max_element(x.begin(), x.end()) - x.begin());
  }

 private:
  std::vector<double> logits(Tokens tokens) const {
    std::vector<double> x(outputs_);
    for (const std::int32_t token : tokens)
      for (std::int32_t c = 0; c < outputs_; ++c)
        x[c] += weights_[std::size_t{1} * token * outputs_ + c];
    return x;
  }

  std::int32_t outputs_;
  std::vector<double> weights_, squares_;  // [inputs, outputs]
};

Score score_bag(const Task& task, std::span<const Examples> sets, double expected) {
  constexpr int passes = 5;
  Bag bag(task.info().inputs, task.info().outputs);
  for (int pass = 0; pass < passes; ++pass)
    visit_first_halves(
        sets, [&](const Place& p) { bag.learn(p.examples.tokens_of(p.example), p.target()); });
  return score(sets, expected,
               [&](const Place& p) { return bag.guess(p.examples.tokens_of(p.example)); });
}

constexpr const char* corpora_differ = "A corpus is scored in nats, not against chance.";

// The best guess of one who sees nothing but how many targets were asked for before this one.
Score score_blind(const Examples& e, double chance) {
  return score_table({&e, 1}, chance, [](const Place& p) -> std::uint64_t { return p.rank; });
}

Finding check_chance(const Subject& s) {
  if (s.task.is_corpus()) return skipped(corpora_differ);
  std::string detail;
  for (const Examples& e : s.sets) {
    const double chance = s.task.chance(e.length);
    if (!(chance >= 0 && chance <= 1))
      return failed(fmt::format("The chance level at length {} is {}.", e.length, chance));
    const auto near = [&](const Score& blind) {
      return std::fabs(blind.accuracy - chance) <= 3 * blind.standard_error + 1e-9;
    };
    Score blind = score_blind(e, chance);
    if (!near(blind)) {  // as happens to one honest task in 400: look again, at other examples
      Task::Request r = s.request();
      r.length = e.length;
      ++r.seed;
      blind = score_blind(make_examples(s.task, r, e.count), chance);
    }
    const std::string seen = fmt::format(
        "At length {} the best blind guess reaches {:.2f} % +- {:.2f}, declared {:.2f} %.",
        e.length, 100 * blind.accuracy, 100 * blind.standard_error, 100 * chance);
    if (!near(blind)) return failed(seen);
    detail += (detail.empty() ? "" : " ") + seen;
  }
  return passed(detail);
}

// Chance, or the level that the task declares for this shortcut.
double expected_level(const Task& task, std::span<const Examples> sets, std::string_view shortcut) {
  double level = 0;
  for (const Examples& e : sets) level += task.chance(e.length) / static_cast<double>(sets.size());
  if (task.info().shortcuts != nullptr)
    for (const pes_shortcut* const* s = task.info().shortcuts; *s != nullptr; ++s)
      if (shortcut == (*s)->name) level = std::max(level, (*s)->level);
  return level;
}

Score score_shortcut(const Task& task, std::span<const Examples> sets, double expected,
                     std::string_view shortcut) {
  if (shortcut == "bag") return score_bag(task, sets, expected);
  return score_table(sets, expected, [&](const Place& p) -> std::uint64_t {
    if (shortcut == "last_token") return p.examples.tokens_of(p.example)[p.t];
    if (shortcut == "position") return p.t;
    if (shortcut == "length") return p.set;
    return 0;
  });
}

// A rule that ignores most of the input must stay within two points of what is expected of it.
Finding check_shortcut(const Subject& s, std::string_view name) {
  if (s.task.is_corpus()) return skipped(corpora_differ);
  if (name == "bag" && s.task.info().head != PES_CLS)
    return skipped("A bag of tokens is tried on tasks with one class a sequence.");
  const std::span<const Examples> sets(s.sets.data(), name == "length" ? s.sets.size() : 1);
  const double level = expected_level(s.task, sets, name);
  const Score reached = score_shortcut(s.task, sets, level, name);
  const bool within = reached.accuracy - 2 * reached.standard_error <= level + 0.02;
  return {"", within,
          fmt::format("It reaches {:.2f} % +- {:.2f}; chance or declared {:.2f} %.",
                      100 * reached.accuracy, 100 * reached.standard_error, 100 * level),
          false};
}

// ---------------------------------------------------------------------------------- collisions

std::vector<std::uint64_t> sorted_hashes(const Examples& e) {
  std::vector<std::uint64_t> all;
  for (std::size_t i = 0; i < e.count; ++i) all.push_back(hash(e.tokens_of(i)));
  std::sort(all.begin(), all.end());
  return all;
}

// Pairs of equal elements, one of each.
std::size_t equal_pairs(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
  std::size_t pairs = 0;
  for (const std::uint64_t x : a) {
    const auto [low, high] = std::equal_range(b.begin(), b.end(), x);
    pairs += high - low;
  }
  return pairs;
}

Finding check_collisions(const Subject& s) {
  const double distinct = s.task.distinct(s.length());  // log10
  if (std::isnan(distinct))
    return failed("The task does not say how many distinct examples there are.");
  if (distinct < 6)
    return skipped(fmt::format("Only 10^{:.1f} examples exist, so splits share some.", distinct));
  const Examples& train = s.sets.front();
  const Examples test = make_examples(s.task, s.request(PES_SPLIT_TEST), train.count, true);
  const auto pairs = static_cast<double>(train.count) * static_cast<double>(test.count);
  const double expected = pairs * std::pow(10, -distinct);  // the birthday rule
  const std::size_t found = equal_pairs(sorted_hashes(train), sorted_hashes(test));
  return {"", static_cast<double>(found) <= expected + 3 * std::sqrt(expected),
          fmt::format("{} training and {} test examples have {} pairs of equals; {:.2g} expected.",
                      train.count, test.count, found, expected),
          false};
}

}  // namespace

std::vector<Finding> check_task(const Task& task, const CheckOptions& options) {
  PES_CHECK(!options.lengths.empty());
  Subject s{task, options, {}};
  std::vector<Finding> findings;
  const auto add = [&](std::string name, auto check) {
    try {
      findings.push_back(check());
    } catch (const Error& e) {
      findings.push_back(failed(e.what()));
    }
    findings.back().check = std::move(name);
    return findings.back().passed;
  };
  const auto make_and_look = [&] {
    for (const std::int32_t length : options.lengths) {
      Task::Request r = s.request();
      r.length = length;
      const std::int64_t count =
          std::clamp<std::int64_t>(options.tokens / length, 64, options.examples);
      s.sets.push_back(make_examples(task, r, count));
    }
    return check_well_formed(s);
  };
  if (!add("well_formed", make_and_look)) return findings;
  add("deterministic", [&] { return check_deterministic(s); });
  add("windows", [&] { return check_windows(s); });
  add("oracle", [&] { return check_oracle(s); });
  add("axes", [&] { return check_axes(s); });
  add("optimum", [&] { return check_optimum(s); });
  add("chance", [&] { return check_chance(s); });
  for (const char* name : {"majority", "last_token", "position", "length", "bag"})
    add(fmt::format("shortcut_{}", name), [&] { return check_shortcut(s, name); });
  add("collisions", [&] { return check_collisions(s); });
  return findings;
}

}  // namespace pesuite
