// Phases at position 2^20. Eight bits of mantissa lose a phase from position 256 on, 24 bits lose
// 0.06 rad there; the published code of many models has one of the two faults.
//
// Three witnesses, since a plugin may lose the phase on the device or on the host:
//   the fp32 backend against the double one, for what is computed with ops;
//   shift invariance: scores that depend on i - j at small positions must do so there;
//   the recurrence f(p + 1) + f(p - 1) = 2 cos(w) f(p) of a sine: a feature of the embedding that
//   obeys it at small positions must obey it there with the same constant.
#include <algorithm>
#include <cmath>

#include "check/checks.h"

namespace pesuite::checks {

namespace {

constexpr int far = 1 << 20, seen = 4;
constexpr int near = 40;
constexpr int beyond = 602;  // what an option sets for the first tokens, and no phase in bf16

struct Bench {
  std::unique_ptr<Backend> cpu, reference;
  Instance& instance;
  Inputs in;     // parameters moved off their start values
  Inputs start;  // the same with the parameters at them

  Outputs at(Backend& backend, int offset) {
    Pass p;
    p.batch = 1, p.length = seen, p.offset = offset;
    return run(backend, instance, in, p, {.attention = false});
  }
};

// Relative size of the change of scores when all positions shift.
double shift_change(const Outputs& a, const Outputs& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.layers.size(); ++i)
    worst = std::max(worst, distance_of(a.layers[i].scores, b.layers[i].scores));
  return worst;
}

// What the embedding adds at positions offset .. offset + seen - 1 to tokens of value 0: [T, W].
std::vector<double> added(Backend& backend, Instance& instance, int offset) {
  Pass p;
  p.batch = 1, p.length = seen, p.offset = offset;
  Inputs in = draw_inputs(instance, 1, seen, 3);
  std::fill(in.e.data.begin(), in.e.data.end(), 0);
  return run(backend, instance, in, p, {.scores = false, .attention = false}).embedding.data;
}

// Of feature w: 2 cos(w) by least squares over the middle positions, and what remains of the
// recurrence with a given constant, relative to the feature's size.
struct Feature {
  const std::vector<double>& f;
  std::size_t width, w;
  double at(int t) const { return f[static_cast<std::size_t>(t) * width + w]; }
  double size() const {
    double top = 0;
    for (int t = 0; t < seen; ++t) top = std::max(top, std::fabs(at(t)));
    return top;
  }
  double constant() const {
    double xy = 0, xx = 0;
    for (int t = 1; t + 1 < seen; ++t) xy += at(t) * (at(t + 1) + at(t - 1)), xx += at(t) * at(t);
    return xx > 0 ? xy / xx : 2;
  }
  double rest(double c) const {
    double worst = 0;
    for (int t = 1; t + 1 < seen; ++t)
      worst = std::max(worst, std::fabs(at(t + 1) + at(t - 1) - c * at(t)));
    return worst / (size() + 1e-30);
  }
};

// The worst feature's rest at `far`, over those that are sines at small positions, and their
// number.
std::pair<double, int> embedding_rest(Backend& backend, Instance& instance) {
  const auto width = static_cast<std::size_t>(instance.model().width);
  const std::vector<double> small = added(backend, instance, 3),
                            there = added(backend, instance, far);
  double worst = 0;
  int sines = 0;
  for (std::size_t w = 0; w < width; ++w) {
    const Feature a{small, width, w}, b{there, width, w};
    // constant features and straight lines obey it too, with c = 2, and say nothing of phases
    const double c = a.constant();
    if (a.size() < 1e-6 || b.size() < 1e-3 || c > 2 - 1e-4 || c < -2 || a.rest(c) > 1e-2) continue;
    worst = std::max(worst, b.rest(c));
    ++sines;
  }
  return {worst, sines};
}

// Whether the parameters move q or k: then the angles cannot be computed ahead of the step.
bool turned_by_parameters(Bench& bench) {
  const Outputs moved = bench.at(*bench.reference, far);
  std::swap(bench.in, bench.start);
  const Outputs start = bench.at(*bench.reference, far);
  std::swap(bench.in, bench.start);
  for (std::size_t i = 0; i < moved.layers.size(); ++i)
    if (distance_of(moved.layers[i].q, start.layers[i].q) > 0 ||
        distance_of(moved.layers[i].k, start.layers[i].k) > 0)
      return true;
  return false;
}

// The largest power of two at which fp32 and double agree.
int last_exact(Bench& bench, double tolerance) {
  int position = far / 2;
  for (std::string where; position > 1; position /= 2)
    if (distance_of(bench.at(*bench.cpu, position), bench.at(*bench.reference, position), where) <=
        tolerance)
      break;
  return position;
}

}  // namespace

std::string check_phases(const Subject& s) {
  ModelShape m = s.model;
  m.max_length = far + seen;
  std::unique_ptr<Instance> created;
  try {
    created = std::make_unique<Instance>(s.encoding, s.values, m);
  } catch (const Refused& refusal) {
    if (s.claims(PES_UNBOUNDED)) fault("it claims PES_UNBOUNDED and refuses {}", refusal.what());
    skip("It refuses sequences of {}: {}", m.max_length, refusal.what());
  }
  Instance& instance = *created;
  for (const Encoding::ParameterSpec& p : instance.parameters())
    if (p.shape.count() > far) skip("Its table '{}' grows with the longest sequence.", p.name);
  Bench bench{open_backend("cpu", {}), open_backend("reference", {}), instance,
              draw_inputs(instance, 1, seen, 3), draw_inputs(instance, 1, seen, 3, false)};
  const Outputs start = bench.at(*bench.reference, 0), small = bench.at(*bench.reference, near);
  bool positions = distance_of(start.embedding, small.embedding) > 0;
  for (std::size_t i = 0; i < start.layers.size(); ++i)
    positions = positions || distance_of(start.layers[i].q, small.layers[i].q) > 0 ||
                distance_of(start.layers[i].k, small.layers[i].k) > 0;
  if (!positions) skip("Neither q, k nor the embedding depend on the position.");

  s.note.say(fmt::format("position {}", far));
  Outputs exact, single;
  try {
    exact = bench.at(*bench.reference, far);
    single = bench.at(*bench.cpu, far);
  } catch (const Refused& refusal) {
    if (s.claims(PES_UNBOUNDED)) fault("{}", refusal.what());
    skip("It ends before position {}: {}", far, refusal.what());
  }
  std::string where;
  const double between = distance_of(single, exact, where);
  if (between > 1e-4 * s.tolerance && turned_by_parameters(bench))
    skip(
        "Its angles follow from learned parameters, so they are computed in the model's precision: "
        "fp32 agrees with double up to position {}.",
        last_exact(bench, 1e-4 * s.tolerance));
  require(
      between <= 1e-4 * s.tolerance,
      "at position {}, {} in fp32 differs from double by a relative {:.2g}: a phase is computed "
      "in the model's precision; compute angles in double on the host and upload the table",
      far, where, between);

  if (instance.stale(seen, near + seen) || instance.stale(near + seen, far + seen))
    return fmt::format(
        "At position 2^20, fp32 differs from double by a relative {:.1g}. What it does changes "
        "with the length, so that no shift was tried.",
        between);
  std::string shifts;
  const double nearby = shift_change(small, start);
  if (nearby < 0.25) {
    const double there = std::min(shift_change(exact, start),
                                  shift_change(exact, bench.at(*bench.reference, beyond)));
    require(there <= std::max(1e-6, 1.01 * nearby) * s.tolerance,
            "scores depend on the distance only, to {:.2g}, at position {}, and to {:.2g} at "
            "position {}: angles are rounded before they are used; compute them in double",
            nearby, near, there, far);
    shifts = fmt::format(" Scores shift there with a relative change of {:.1g}.", there);
  }
  const auto [rest, sines] = embedding_rest(*bench.reference, instance);
  require(rest <= 1e-5 * s.tolerance,
          "features of the embedding that are sines of the position at small positions are off by "
          "{:.2g} at position {}: angles are rounded before they are used; compute them in double",
          rest, far);
  if (sines > 0)
    shifts += fmt::format(" {} sines of the embedding continue there, to {:.1g}.", sines, rest);
  return fmt::format("At position 2^20, fp32 differs from double by a relative {:.1g}.{}", between,
                     shifts);
}

}  // namespace pesuite::checks
