#include "model/guess.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <pesuite/random.hpp>

#include "base/error.h"

namespace pesuite {

Examples make_examples(const Task& task, Task::Request request, std::size_t count,
                       bool as_many_as_exist) {
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

namespace {

using Tokens = std::span<const std::int32_t>;

struct Asked {                        // where a target is asked for
  std::size_t set, example, t, rank;  // rank: how many are asked for before it in the example
  const Examples& examples;
  std::int32_t target() const { return examples.targets_of(example)[t]; }
};

template <class Visit>
void visit_example(std::span<const Examples> sets, std::size_t set, std::size_t i, Visit visit) {
  const Tokens targets = sets[set].targets_of(i);
  for (std::size_t t = 0, rank = 0; t < targets.size(); ++t)
    if (targets[t] >= 0) visit(Asked{set, i, t, rank++, sets[set]});
}

template <class Visit>
void visit_first_halves(std::span<const Examples> sets, Visit visit) {
  for (std::size_t set = 0; set < sets.size(); ++set)
    for (std::size_t i = 0; i < sets[set].count / 2; ++i) visit_example(sets, set, i, visit);
}

// Examples that asked for so many targets, of which so many were right.
Score ratio(const std::vector<std::pair<double, double>>& right_of_asked, double expected) {
  double right = 0, asked = 0, squares = 0;
  for (const auto& [r, a] : right_of_asked) right += r, asked += a;
  const double accuracy = right / asked;
  for (const auto& [r, a] : right_of_asked) squares += (r - accuracy * a) * (r - accuracy * a);
  return {accuracy, std::sqrt(std::max(squares / asked, expected * (1 - expected)) / asked)};
}

Score mean_ratio(const std::vector<std::pair<double, double>>& right_of_asked, double expected) {
  double sum = 0, squares = 0, places = 0;
  for (const auto& [right, asked] : right_of_asked) {
    sum += right / asked;
    squares += right / asked * right / asked;
    places += asked;
  }
  const auto n = static_cast<double>(right_of_asked.size());
  const double mean = sum / n, variance = std::max(0.0, squares / n - mean * mean);
  return {mean, std::sqrt(std::max(variance / n, expected * (1 - expected) / places))};
}

template <class Guess>
Score score(std::span<const Examples> sets, double expected, Share share, Guess guess) {
  std::vector<std::pair<double, double>> all;
  for (std::size_t set = 0; set < sets.size(); ++set)
    for (std::size_t i = sets[set].count / 2; i < sets[set].count; ++i) {
      all.emplace_back(0, 0);
      visit_example(sets, set, i, [&](const Asked& p) {
        all.back().first += guess(p) == p.target() ? 1 : 0;
        ++all.back().second;
      });
    }
  return share == Share::of_targets ? ratio(all, expected) : mean_ratio(all, expected);
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
Score score_table(std::span<const Examples> sets, double expected, Share share, Context context) {
  Table table;
  visit_first_halves(sets, [&](const Asked& p) { table.learn(context(p), p.target()); });
  table.finish();
  return score(sets, expected, share, [&](const Asked& p) { return table.guess(context(p)); });
}

// Multinomial logistic regression on sums of features, by AdaGrad (Duchi et al. 2011).
class Regression {
 public:
  using Features = std::vector<std::size_t>;

  Regression(std::size_t features, std::int32_t outputs)
      : outputs_(outputs), weights_(features * outputs), squares_(weights_.size()) {}

  void learn(const Features& features, std::int32_t target) {
    constexpr float rate = 0.1f, epsilon = 1e-8f;
    std::vector<float> p = logits(features);
    const float top = *std::max_element(p.begin(), p.end());
    float sum = 0;
    for (float& x : p) sum += x = std::exp(x - top);
    for (float& x : p) x /= sum;
    p[target] -= 1;  // the gradient for each feature
    for (const std::size_t f : features)
      for (std::int32_t c = 0; c < outputs_; ++c) {
        const std::size_t at = f * outputs_ + c;
        squares_[at] += p[c] * p[c];
        weights_[at] -= rate * p[c] / (std::sqrt(squares_[at]) + epsilon);
      }
  }
  std::int32_t guess(const Features& features) const {
    const std::vector<float> x = logits(features);
    return static_cast<std::int32_t>(std::max_element(x.begin(), x.end()) - x.begin());
  }

 private:
  std::vector<float> logits(const Features& features) const {
    std::vector<float> x(outputs_);
    for (const std::size_t f : features)
      for (std::int32_t c = 0; c < outputs_; ++c) x[c] += weights_[f * outputs_ + c];
    return x;
  }

  std::int32_t outputs_;
  std::vector<float> weights_, squares_;  // [features, outputs]
};

constexpr std::size_t window = 8;

// What was read when the target at `p` is asked for: each token, or the last eight by distance.
Regression::Features features(const Task& task, const Asked& p, bool by_distance) {
  const Tokens read = p.examples.tokens_of(p.example).first(p.t + 1);
  Regression::Features out;
  if (!by_distance) {
    out.assign(read.begin(), read.end());
  } else {
    for (std::size_t d = 0; d < std::min(window, read.size()); ++d)
      out.push_back(d * task.info().inputs + read[read.size() - 1 - d]);
  }
  return out;
}

Score score_regression(const Task& task, const Examples& all, double expected, Share share,
                       bool by_distance) {
  constexpr int passes = 5;
  constexpr double most_work = 1.5e9;  // additions, a few seconds
  const std::size_t kinds = std::size_t{1} * task.info().inputs * (by_distance ? window : 1);
  Regression rule(kinds, task.info().outputs);
  double work = 0;
  visit_example({&all, 1}, 0, 0, [&](const Asked& p) {
    work += static_cast<double>(features(task, p, by_distance).size()) * task.info().outputs;
  });
  Examples some = all;  // as many as there is time for
  some.count = std::clamp(static_cast<std::size_t>(most_work / (3 * passes * std::max(work, 1.0))),
                          std::min<std::size_t>(all.count, 512), all.count);
  const std::span<const Examples> sets(&some, 1);
  for (int pass = 0; pass < passes; ++pass)
    visit_first_halves(
        sets, [&](const Asked& p) { rule.learn(features(task, p, by_distance), p.target()); });
  return score(sets, expected, share,
               [&](const Asked& p) { return rule.guess(features(task, p, by_distance)); });
}

}  // namespace

Score score_blind(const Examples& e, double expected, Share share) {
  return score_table({&e, 1}, expected, share,
                     [](const Asked& p) -> std::uint64_t { return p.rank; });
}

Score score_blind_exact(const Examples& e, double expected) {
  std::vector<std::uint64_t> answers(e.count);
  for (std::size_t i = 0; i < e.count; ++i)
    visit_example({&e, 1}, 0, i, [&](const Asked& p) {
      answers[i] = pes::mix64(answers[i], static_cast<std::uint32_t>(p.target()));
    });
  const std::size_t half = e.count / 2;
  std::map<std::uint64_t, std::size_t> seen;
  for (std::size_t i = 0; i < half; ++i) ++seen[answers[i]];
  const auto commonest =
      std::max_element(seen.begin(), seen.end(), [](const auto& a, const auto& b) {
        return a.second < b.second;
      })->first;
  std::vector<std::pair<double, double>> all;
  for (std::size_t i = half; i < e.count; ++i) all.emplace_back(answers[i] == commonest, 1);
  return ratio(all, expected);
}

Score score_shortcut(const Task& task, std::span<const Examples> sets, double expected,
                     std::string_view shortcut, Share share) {
  if (shortcut == "bag" || shortcut == "window")
    return score_regression(task, sets.front(), expected, share, shortcut == "window");
  return score_table(sets, expected, share, [&](const Asked& p) -> std::uint64_t {
    if (shortcut == "last_token") return p.examples.tokens_of(p.example)[p.t];
    if (shortcut == "position") return p.t;
    if (shortcut == "length") return p.set;
    return 0;
  });
}

}  // namespace pesuite
