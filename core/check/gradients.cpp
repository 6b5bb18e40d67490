// Gradients of what the host differentiated against central differences of what it computed, on the
// double backend. The host's own ops are right (its tests say so), so what disagrees here is a
// plugin that hides a dependence from it: a value detached from its source, a hook that computes
// something else when the backward pass calls it again, a parameter that is declared and not read.
#include <algorithm>
#include <cmath>
#include <pesuite/random.hpp>

#include "base/text.h"
#include "check/checks.h"

namespace pesuite::checks {

namespace {

struct Worst {
  double error = 0;
  std::string where;
};

struct Difference {
  double slope, noise;  // and what rounding of the loss alone makes of it
};

// A central difference along `direction` of tensor n of the inputs.
Difference difference(Backend& backend, Instance& instance, Inputs& in, std::size_t n,
                      const std::vector<double>& direction, double step, const Pass& p) {
  Values& at = *in.all(instance)[n].second;
  const std::vector<double> kept = at.data;
  const auto shifted = [&](double by) {
    for (std::size_t i = 0; i < kept.size(); ++i) at.data[i] = kept[i] + by * direction[i];
    return loss(backend, instance, in, p);
  };
  const double up = shifted(step), down = shifted(-step);
  at.data = kept;
  constexpr double rounding = 1e-15;
  return {(up - down) / (2 * step), rounding * (std::fabs(up) + std::fabs(down)) / (2 * step)};
}

// Relative error of the gradient along `direction`. At a kink (relu, abs, min, max, a step between
// two rows of a table) a difference is wrong unless its step is small enough to stay on one side,
// so smaller ones are tried before the gradient is blamed.
double error_along(Backend& backend, Instance& instance, Inputs& in, std::size_t n,
                   const std::vector<double>& direction, double gradient, const Pass& p,
                   double tolerance) {
  double best = std::numeric_limits<double>::infinity();
  for (const double step : {1e-4, 1e-5, 1e-6, 1e-7}) {
    const auto [d, noise] = difference(backend, instance, in, n, direction, step, p);
    const double apart = std::max(0.0, std::fabs(d - gradient) - noise);
    best = std::min(best, apart / (1 + std::fabs(d) + std::fabs(gradient)));
    if (best <= tolerance) break;
  }
  return best;
}

// Directions to try for a tensor of `count` numbers: single numbers spread over it, and one that
// moves all of them.
std::vector<std::vector<double>> directions(std::size_t count, std::size_t n) {
  constexpr std::size_t single = 10;
  std::vector<std::vector<double>> out;
  pes::Random r(31, pes::purpose("directions"), n);
  const std::size_t stride = std::max<std::size_t>(1, count / single);
  for (std::size_t i = stride / 2; i < count; i += stride) {
    out.emplace_back(count, 0.0);
    out.back()[i] = 1;
  }
  out.emplace_back();
  for (std::size_t i = 0; i < count; ++i)
    out.back().push_back(r.normal() / std::sqrt(static_cast<double>(count)));
  return out;
}

bool all_zero(const Values& v) {
  return std::all_of(v.data.begin(), v.data.end(), [](double x) { return x == 0; });
}

// Whether a large move of tensor n changes anything.
bool acts(Backend& backend, Instance& instance, Inputs in, std::size_t n, const Pass& p) {
  const double before = loss(backend, instance, in, p);
  Values& v = *in.all(instance)[n].second;
  pes::Random r(41, pes::purpose("move"), n);
  for (double& x : v.data) x += 0.5 + r.uniform();
  return loss(backend, instance, in, p) != before;
}

std::vector<Pass> passes(Backend& backend, Instance& instance) {
  const int train = instance.model().train_length;
  const int beyond = takes(backend, instance, 2 * train) ? 2 * train : train;
  return {{.batch = 2, .length = 7, .phase = PES_TRAIN, .step = 10},
          {.batch = 1, .length = beyond, .phase = PES_EVAL},
          {.batch = 1, .length = 5, .phase = PES_TRAIN, .step = 95}};
}

}  // namespace

std::string check_gradients(const Subject& s) {
  const double tolerance = 1e-5 * s.tolerance;
  const auto backend = open_backend("reference", {});
  Instance instance(s.encoding, s.values, s.model);
  const std::size_t tensors = 5 + instance.parameters().size();
  std::vector<bool> trained(tensors), acting(tensors);
  Worst worst;
  std::size_t compared = 0;
  const std::vector<Pass> all = passes(*backend, instance);
  for (const Pass& p : all) {
    Inputs in = draw_inputs(instance, p.batch, p.length, 13);
    const std::vector<Values> g = gradients(*backend, instance, in, p);
    for (std::size_t n = 0; n < tensors; ++n) {
      const auto [name, values] = in.all(instance)[n];
      s.note.say(fmt::format("the gradient of {} at length {}", name, p.length));
      for (const auto& d : directions(values->data.size(), n)) {
        double along = 0;
        for (std::size_t i = 0; i < d.size(); ++i) along += d[i] * g[n].data[i];
        const double e = error_along(*backend, instance, in, n, d, along, p, tolerance);
        if (!(e <= worst.error))
          worst = {e, fmt::format("{} at length {}, where the host finds {:.6g} and a difference "
                                  "finds {:.6g}",
                                  name, p.length, along,
                                  difference(*backend, instance, in, n, d, 1e-5, p).slope)};
        ++compared;
      }
      trained[n] = trained[n] || !all_zero(g[n]);
      acting[n] = acting[n] || acts(*backend, instance, in, n, p);
    }
    require(worst.error <= tolerance, "the gradient of {}: a relative error of {:.2g}", worst.where,
            worst.error);
  }
  for (std::size_t i = 0; i < instance.parameters().size(); ++i) {
    const std::string& name = instance.parameters()[i].name;
    require(acting[5 + i], "parameter '{}' is declared and changes nothing: no hook reads it",
            name);
    require(trained[5 + i],
            "parameter '{}' changes what the encoding does, and no gradient reaches it: it is read "
            "through floor or an index only, so it can never be trained",
            name);
  }
  return fmt::format("{} with {}: relative error at most {:.1g} over {}.",
                     counted(instance.parameters().size(), "parameter"),
                     fmt::format("{} passes", all.size()), worst.error,
                     counted(compared, "direction"));
}

}  // namespace pesuite::checks
