#include "check/task_law.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "base/error.h"
#include "check/guess.h"

namespace pesuite {

namespace {

constexpr double tolerance = 1e-9;  // of probabilities and nats that should be equal

struct Law {  // one row
  double mass = 0, entropy = 0;
  explicit Law(std::span<const double> nats) {
    for (const double x : nats) {
      const double p = std::exp(-x);
      mass += p;
      if (p > 0) entropy += p * x;
    }
  }
};

struct Paid {
  double excess = 0, targets = 0;  // nats beyond the entropy, of so many targets
};

// What is wrong with the targets of a window, or "". `tokens` are the window's and, in front of
// them, `before` that its reader does not see.
std::string compare(const Task& task, std::span<const std::int32_t> tokens, std::int32_t before,
                    std::span<const std::int32_t> targets, std::span<const double> optimum,
                    Paid& paid) {
  const auto width = static_cast<std::size_t>(task.info().outputs);
  std::vector<double> nats(targets.size() * width, std::nan(""));
  task.predict(tokens, before, nats);
  for (std::size_t t = 0; t < targets.size(); ++t) {
    if (targets[t] < 0) continue;
    const std::span<const double> row(nats.data() + t * width, width);
    const Law law(row);
    if (!(std::fabs(law.mass - 1) <= tolerance))
      return fmt::format("the probabilities of the targets at position {} sum to {}", t, law.mass);
    const double said = row[static_cast<std::size_t>(targets[t])];
    if (!(std::fabs(optimum[t] - said) <= tolerance))
      return fmt::format("the optimum at position {} is {} nats, and the law says {}", t,
                         optimum[t], said);
    paid.excess += said - law.entropy;
    ++paid.targets;
  }
  return "";
}

}  // namespace

bool LawFinding::follows() const {
  return std::fabs(excess) <= 3 * standard_error + tolerance;
}

LawFinding examine_law(const Task& task, Task::Request request, std::size_t count) {
  const bool corpus = task.is_corpus();
  if (corpus) request.start = 0;
  const Examples e = make_examples(task, request, count);
  const std::int32_t half = request.length / 2;
  Examples late;
  if (corpus) {
    request.start = half, request.length -= half;
    late = make_examples(task, request, count);
  }
  double sum = 0, squares = 0, targets = 0;
  for (std::size_t i = 0; i < e.count; ++i) {
    Paid paid, elsewhere;
    std::string wrong =
        compare(task, e.tokens_of(i), 0, e.targets_of(i), e.row(e.optimum, i), paid);
    if (!wrong.empty()) return {fmt::format("Of example {}, {}.", i, wrong), 0, 0};
    sum += paid.excess, squares += paid.excess * paid.excess, targets += paid.targets;
    if (!corpus) continue;
    wrong = compare(task, e.tokens_of(i), half, late.targets_of(i), late.row(late.optimum, i),
                    elsewhere);
    if (!wrong.empty())
      return {fmt::format("Of document {}, read from token {} on, {}.", i, half, wrong), 0, 0};
  }
  // The error is that of the sum, whose mean is 0 however many targets the examples have.
  const double variance = std::max(0.0, squares - sum * sum / static_cast<double>(e.count));
  return {"", sum / targets, std::sqrt(variance) / targets};
}

}  // namespace pesuite
