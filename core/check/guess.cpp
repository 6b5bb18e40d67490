#include "check/guess.h"

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
class Tally {
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
  Tally table;
  visit_first_halves(sets, [&](const Asked& p) { table.learn(context(p), p.target()); });
  table.finish();
  return score(sets, expected, share, [&](const Asked& p) { return table.guess(context(p)); });
}

constexpr std::int32_t window = 8;

// Multinomial logistic regression, by AdaGrad (Duchi et al. 2011), on what was read when a target
// is asked for: how often each token was, or the last eight tokens, each by its distance. Classes
// that are tokens share one weight for having been read themselves, beside their own weights: in a
// large alphabet it tells what few examples could not teach for each class apart.
class Regression {
 public:
  // `answers`: the targets to learn from; no others are ever guessed.
  Regression(const Task& task, bool by_distance, std::vector<std::int32_t> answers)
      : by_distance_(by_distance),
        inputs_(task.info().inputs),
        answers_(std::move(answers)),
        class_of_(std::max(inputs_, task.info().outputs), -1) {
    std::sort(answers_.begin(), answers_.end());
    answers_.erase(std::unique(answers_.begin(), answers_.end()), answers_.end());
    for (std::size_t c = 0; c < answers_.size(); ++c) class_of_[answers_[c]] = static_cast<int>(c);
    const std::size_t groups = by_distance_ ? window : 1;
    rows_.resize(groups * inputs_);
    shared_.resize(groups);
  }
  std::size_t classes() const { return answers_.size(); }

  void learn(Tokens tokens, Tokens targets) {
    std::vector<float> gradient = logits(tokens, targets);  // [targets, classes]
    auto at = gradient.begin();
    for (const std::int32_t target : targets) {
      if (target < 0) continue;
      const std::span<float> p(at, classes());
      const float top = *std::max_element(p.begin(), p.end());
      float sum = 0;
      for (float& x : p) sum += x = std::exp(x - top);
      for (float& x : p) x /= sum;
      p[class_of_[target]] -= 1;
      at += std::ssize(p);
    }
    std::vector<float> behind(classes());  // of all targets that have read a token
    for (std::size_t t = tokens.size(); t-- > 0;) {
      if (targets[t] >= 0) {
        at -= std::ssize(answers_);
        const float* here = &*at;
        if (by_distance_)
          for (std::int32_t d = 0; d < reach(t); ++d) collect(d, tokens[t - d], here);
        else
          for (std::size_t c = 0; c < classes(); ++c) behind[c] += here[c];
      }
      if (!by_distance_ && at != gradient.end()) collect(0, tokens[t], behind.data());
    }
    descend();
  }
  // Of all targets of an example.
  std::vector<std::int32_t> guess(Tokens tokens, Tokens targets) const {
    const std::vector<float> x = logits(tokens, targets);
    std::vector<std::int32_t> out;
    for (auto p = x.begin(); p != x.end(); p += std::ssize(answers_))
      out.push_back(answers_[std::max_element(p, p + std::ssize(answers_)) - p]);
    return out;
  }

 private:
  struct Weights {  // [classes] each; empty until the first gradient
    std::vector<float> value, squares, gradient;
    bool waits = false;  // has a gradient to follow
  };
  struct Weight {
    float value = 0, squares = 0, gradient = 0;
  };

  std::int32_t reach(std::size_t t) const {
    return std::min(window, static_cast<std::int32_t>(t) + 1);
  }
  std::vector<float> logits(Tokens tokens, Tokens targets) const {  // [targets, classes]
    std::vector<float> out, sum(classes());
    const auto add = [&](std::int32_t group, std::int32_t token) {
      const std::vector<float>& w = rows_[group * inputs_ + token].value;
      for (std::size_t c = 0; c < w.size(); ++c) sum[c] += w[c];
      if (class_of_[token] >= 0) sum[class_of_[token]] += shared_[group].value;
    };
    for (std::size_t t = 0; t < tokens.size(); ++t) {
      if (!by_distance_) add(0, tokens[t]);
      if (targets[t] < 0) continue;
      if (by_distance_) {
        std::fill(sum.begin(), sum.end(), 0.0f);
        for (std::int32_t d = 0; d < reach(t); ++d) add(d, tokens[t - d]);
      }
      out.insert(out.end(), sum.begin(), sum.end());
    }
    return out;
  }
  void collect(std::int32_t group, std::int32_t token, const float* gradient) {
    Weights& row = rows_[group * inputs_ + token];
    if (row.value.empty()) row.value = row.squares = row.gradient = std::vector<float>(classes());
    if (!row.waits) waiting_.push_back(&row);
    row.waits = true;
    for (std::size_t c = 0; c < classes(); ++c) row.gradient[c] += gradient[c];
    if (class_of_[token] >= 0) shared_[group].gradient += gradient[class_of_[token]];
  }
  void descend() {
    const auto step = [](float& value, float& squares, float& gradient) {
      constexpr float rate = 0.1f, epsilon = 1e-8f;
      squares += gradient * gradient;
      value -= rate * gradient / (std::sqrt(squares) + epsilon);
      gradient = 0;
    };
    for (Weights* row : waiting_) {
      for (std::size_t c = 0; c < classes(); ++c)
        step(row->value[c], row->squares[c], row->gradient[c]);
      row->waits = false;
    }
    waiting_.clear();
    for (Weight& w : shared_) step(w.value, w.squares, w.gradient);
  }

  bool by_distance_;
  std::int32_t inputs_;
  std::vector<std::int32_t> answers_;
  std::vector<int> class_of_;   // of a token or class; -1: never an answer
  std::vector<Weights> rows_;   // [groups, inputs]
  std::vector<Weight> shared_;  // [groups]
  std::vector<Weights*> waiting_;
};

Score score_regression(const Task& task, Examples some, double expected, Share share,
                       bool by_distance) {
  constexpr int passes = 5;
  constexpr double most_work = 6e9;  // operations, a few seconds
  const std::span<const Examples> sets(&some, 1);
  std::vector<std::int32_t> answers;
  visit_first_halves(sets, [&](const Asked& p) { answers.push_back(p.target()); });
  const auto learned = static_cast<double>(some.count / 2);
  const double targets = static_cast<double>(answers.size()) / learned,
               read = by_distance ? targets * window : some.length;
  Regression rule(task, by_distance, std::move(answers));
  const double work = 12 * passes * (read + targets) * static_cast<double>(rule.classes());
  // as many as there is time for
  some.count = std::clamp(static_cast<std::size_t>(2 * most_work / work),
                          std::min<std::size_t>(some.count, 512), some.count);
  for (int pass = 0; pass < passes; ++pass)
    for (std::size_t i = 0; i < some.count / 2; ++i)
      rule.learn(some.tokens_of(i), some.targets_of(i));
  std::vector<std::int32_t> guesses;  // for the example that is scored
  return score(sets, expected, share, [&](const Asked& p) {
    if (p.rank == 0) guesses = rule.guess(some.tokens_of(p.example), some.targets_of(p.example));
    return guesses[p.rank];
  });
}

// Targets change places with those of other examples that are asked for after as many.
void shuffle_targets(Examples& e) {
  std::vector<std::vector<std::int32_t*>> of_rank;
  for (std::size_t i = 0; i < e.count; ++i) {
    std::size_t rank = 0;
    for (std::int32_t& target : e.row(e.targets, i)) {
      if (target < 0) continue;
      if (rank == of_rank.size()) of_rank.emplace_back();
      of_rank[rank++].push_back(&target);
    }
  }
  pes::Random random(0, pes::purpose("shuffled targets"), 0);
  for (const std::vector<std::int32_t*>& all : of_rank)
    for (std::size_t i = all.size(); i > 1; --i)
      std::swap(*all[i - 1], *all[random.below(static_cast<std::uint32_t>(i))]);
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

Score score_permuted(const Task& task, const Examples& e, double expected, Share share) {
  Examples shuffled = e;
  shuffle_targets(shuffled);
  return score_regression(task, std::move(shuffled), expected, share, false);
}

}  // namespace pesuite
