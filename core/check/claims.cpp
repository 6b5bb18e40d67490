// What the card claims for the default options, proven or not.
#include <algorithm>
#include <cmath>

#include "check/checks.h"

namespace pesuite::checks {

namespace {

constexpr double exact = 1e-9;  // relative, in double

void expect_claim(const Subject& s, std::uint32_t bit) {
  if (!s.claims(bit)) skip("It does not claim this.");
}

// Every row of the last axis but one is that of position 0.
void repeat_first_row(Values& v) {
  const auto T = static_cast<std::size_t>(v.shape[-2]), D = static_cast<std::size_t>(v.shape[-1]);
  for (std::size_t i = 0; i < v.data.size(); ++i) v.data[i] = v.data[i / (T * D) * T * D + i % D];
}

// Scores less that of the row's own position: softmax does not see what a whole row has in common,
// so an encoding may leave it out.
Values beside_diagonal(Values scores) {
  const auto T = static_cast<std::size_t>(scores.shape[-1]);
  for (std::size_t row = 0; row < scores.data.size() / T; ++row) {
    const std::size_t i = row % T;
    const double own = scores.data[row * T + i];
    for (std::size_t j = 0; j <= i; ++j) scores.data[row * T + j] -= own;
  }
  return scores;
}

// The largest |scores[i, j] - scores[i - 1, j - 1]|, relative to the largest score.
double off_diagonal(const Values& scores) {
  const std::int64_t T = scores.shape[-1];
  double largest = 0, worst = 0;
  for (std::int64_t n = 0; n < scores.shape.count() / (T * T); ++n) {
    const double* block = &scores.data[static_cast<std::size_t>(n * T * T)];
    for (std::int64_t i = 1; i < T; ++i)
      for (std::int64_t j = 1; j <= i; ++j) {
        if (!hides(block[i * T + j])) largest = std::max(largest, std::fabs(block[i * T + j]));
        if (!hides(block[i * T + j]) || !hides(block[(i - 1) * T + j - 1]))
          worst = std::max(worst, std::fabs(block[i * T + j] - block[(i - 1) * T + j - 1]));
      }
  }
  return worst / (largest + 1e-6);  // scores that are 0 but for rounding differ by nothing
}

}  // namespace

std::string check_relative(const Subject& s) {
  expect_claim(s, PES_RELATIVE);
  const auto backend = open_backend("reference", {});
  Instance instance(s.encoding, s.values, s.model);
  Pass p;
  p.length = s.model.train_length;
  const Inputs in = draw_inputs(instance, p.batch, p.length, 3);
  const Outputs here = run(*backend, instance, in, p);
  double worst = 0;
  for (const int offset : {1, 10, 1000}) {
    s.note.say(fmt::format("positions shifted by {}", offset));
    Pass shifted = p;
    shifted.offset = offset;
    const Outputs there = run(*backend, instance, in, shifted);
    double d = distance_of(there.embedding, here.embedding);
    for (std::size_t i = 0; i < here.layers.size(); ++i)
      d = std::max(d, distance_of(beside_diagonal(there.layers[i].scores),
                                  beside_diagonal(here.layers[i].scores)));
    require(
        d <= exact * s.tolerance,
        "it claims PES_RELATIVE, and shifting all positions by {} changes embedding or scores by "
        "a relative {:.2g}",
        offset, d);
    worst = std::max(worst, d);
  }
  Inputs same = in;
  for (Values* v : {&same.e, &same.x, &same.q, &same.k, &same.v}) repeat_first_row(*v);
  s.note.say("one token repeated");
  for (const LayerPass& l : run(*backend, instance, same, p).layers) {
    const double d = off_diagonal(beside_diagonal(l.scores));
    require(d <= exact * s.tolerance,
            "it claims PES_RELATIVE, and with one token repeated the scores of equal distances "
            "differ by a relative {:.2g}",
            d);
    worst = std::max(worst, d);
  }
  return fmt::format("Scores are shift-invariant to a relative {:.1g}, in double.", worst);
}

std::string check_parameter_free(const Subject& s) {
  expect_claim(s, PES_PARAMETER_FREE);
  for (const ModelShape& m : model_shapes()) try {
      const Instance instance(s.encoding, s.values, m);
      require(instance.parameters().empty(), "it claims PES_PARAMETER_FREE and declares '{}'",
              instance.parameters().empty() ? "" : instance.parameters()[0].name);
    } catch (const Refused&) {
    }
  return "It declares no parameter.";
}

namespace {

// The largest relative change of a row's norm. Rows of `after` may be longer.
double norm_change(const Values& before, const Values& after) {
  const auto D = static_cast<std::size_t>(before.shape[-1]);
  const auto E = static_cast<std::size_t>(after.shape[-1]);
  const auto norm = [](const double* x, std::size_t n) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += x[i] * x[i];
    return std::sqrt(sum);
  };
  double worst = 0;
  for (std::size_t row = 0; row < before.data.size() / D; ++row) {
    const double a = norm(&before.data[row * D], D), b = norm(&after.data[row * E], E);
    worst = std::max(worst, std::fabs(b - a) / (a + 1e-30));
  }
  return worst;
}

}  // namespace

std::string check_norm_preserving(const Subject& s) {
  expect_claim(s, PES_NORM_PRESERVING);
  const auto backend = open_backend("reference", {});
  Instance instance(s.encoding, s.values, s.model);
  double worst = 0;
  for (const int offset : {0, 1000}) {
    Pass p;
    p.length = s.model.train_length, p.offset = offset;
    const Inputs in = draw_inputs(instance, p.batch, p.length, 3);
    for (const LayerPass& l :
         run(*backend, instance, in, p, {.scores = false, .attention = false}).layers)
      for (const auto& [before, after, name] :
           {std::tuple{&in.q, &l.q, "q"}, std::tuple{&in.k, &l.k, "k"}}) {
        const double d = norm_change(*before, *after);
        require(d <= exact * s.tolerance,
                "it claims PES_NORM_PRESERVING and changes the norm of {} by a relative {:.2g}",
                name, d);
        worst = std::max(worst, d);
      }
  }
  return fmt::format("Norms of q and k change by a relative {:.1g} at most.", worst);
}

namespace {

// Where row i of a bias [.., T, T] grows with distance: the sentence's end, or "".
std::string growth(const Values& bias) {
  const std::int64_t T = bias.shape[-1];
  for (std::int64_t n = 0; n < bias.shape.count() / (T * T); ++n)
    for (std::int64_t i = 0; i < T; ++i) {
      const double* row = &bias.data[static_cast<std::size_t>((n * T + i) * T)];
      for (std::int64_t j = 1; j <= i; ++j)
        if (row[j - 1] > row[j] + exact * (1 + std::fabs(row[j])))
          return fmt::format("from {:.6g} at distance {} to {:.6g} at distance {}", row[j], i - j,
                             row[j - 1], i - j + 1);
    }
  return "";
}

}  // namespace

std::string check_monotone_decay(const Subject& s) {
  expect_claim(s, PES_MONOTONE_DECAY);
  const auto backend = open_backend("reference", {});
  Instance instance(s.encoding, s.values, s.model);
  Pass p;
  p.batch = 1;
  p.length =
      takes(*backend, instance, s.model.max_length) ? s.model.max_length : s.model.train_length;
  Inputs in = draw_inputs(instance, p.batch, p.length, 3);
  // Without q and k the scores are the bias alone, wherever it was put.
  for (Values* v : {&in.q, &in.k}) std::fill(v->data.begin(), v->data.end(), 0);
  double largest = 0;
  for (const LayerPass& l : run(*backend, instance, in, p, {.attention = false}).layers) {
    const std::string grows = growth(l.scores);
    require(grows.empty(), "it claims PES_MONOTONE_DECAY, and its bias grows {}", grows);
    for (const double x : l.scores.data) largest = std::max(largest, std::fabs(x));
  }
  require(largest > 0, "it claims PES_MONOTONE_DECAY and adds no bias to the scores");
  return fmt::format("The bias never grows over {} positions.", p.length);
}

std::string check_unbounded(const Subject& s) {
  expect_claim(s, PES_UNBOUNDED);
  std::size_t at = 0;
  if (const std::string growing = growing_parameter(s, at); !growing.empty())
    fault("it claims PES_UNBOUNDED, and has the parameter {}: a table that ends", growing);
  const auto backend = open_backend("cpu", {});
  ModelShape m = s.model;
  m.max_length = 64 * m.train_length;
  Instance instance(s.encoding, s.values, m);
  Pass p;
  p.batch = 1, p.length = m.max_length;
  s.note.say(fmt::format("length {}", p.length));
  try {
    const Outputs o = run(*backend, instance, draw_inputs(instance, 1, p.length, 3), p,
                          {.scores = false, .attention = false});
    const std::string bad = not_finite(o);
    require(bad.empty(), "it claims PES_UNBOUNDED, and {}, at length {}", bad, p.length);
  } catch (const Refused& refusal) {
    fault("it claims PES_UNBOUNDED and declines length {}: {}", p.length, refusal.what());
  }
  return fmt::format("Finite at length {}, 64 x training.", p.length);
}

}  // namespace pesuite::checks
