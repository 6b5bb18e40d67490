// The solver of CLEX's equation (Chen et al. 2023, section 3) for the logarithms z of the
// frequencies of n = R/2 pairs, t the factor by which the range has grown:
//
//   z(1) = ln theta,  dz/dt = act((z + ln phi(t)) U) V + tau(t),  tau = d ln phi/dt
//
// phi the NTK-aware frequencies at factor a = 2t - 1. A Runge-Kutta step is linear in the slopes,
// so the solution is a sum: what tau alone gives, in double here, and delta, what the network adds,
// in ops, so that gradients reach U and V and nothing is rounded that is not learned.
#pragma once

#include "rotary.h"

namespace rotary {

class ClexSolver {
 public:
  ClexSolver(double base_, std::int64_t R_, double step) : base(base_), R(R_), dt(step) {}

  // Solves on the grid 1, 1 + dt, .. end up to `t`, between whose points the solution is linear.
  // `act` is the network's activation. Returns delta [1, n]; frequencies() then are what tau gives.
  template <class Act>
  pes::Tensor solve(const pes::Step& s, double t, double end, pes::Tensor up, pes::Tensor down,
                    Act act) {
    prepare(t, end);
    const auto steps = static_cast<std::int64_t>(widths.size());
    const pes::Tensor inputs = s.upload({4 * steps, R / 2}, states.data());
    pes::Tensor delta;
    const auto slope = [&](std::int64_t stage, pes::Tensor move) {  // [1, n]
      pes::Tensor z = slice(inputs, 0, stage, 1);
      if (delta.step != nullptr) z = z + delta;
      if (move.step != nullptr) z = z + move;
      return matmul(act(matmul(z, up)), down);
    };
    for (std::int64_t k = 0; k < steps; ++k) {
      const double h = widths[static_cast<std::size_t>(k)];
      const pes::Tensor a = slope(4 * k, {}), b = slope(4 * k + 1, a * (h / 3)),
                        c = slope(4 * k + 2, (b - a / 3.0) * h),
                        d = slope(4 * k + 3, (a - b + c) * h);
      const double share = k + 1 == steps ? reached : 1;
      const pes::Tensor change = (a + 3.0 * (b + c) + d) * (h / 8 * share);
      delta = delta.step == nullptr ? change : delta + change;
    }
    return delta;
  }
  // Of the last solution where the network is silent: NTK-aware ones, but for the solver's error.
  std::vector<double> frequencies() const {
    std::vector<double> out;
    for (const double z : fixed) out.push_back(std::exp(z));
    return out;
  }

 private:
  // Steps of the 3/8 rule for tau, and the network's input at each stage without delta. The grid
  // is torchdiffeq's: ceil((end - 1)/dt + 1) points, the last one moved to `end`.
  void prepare(double t, double end) {
    if (t == solved_t && end == solved_end) return;
    solved_t = t, solved_end = end;
    widths.clear(), states.clear();
    reached = 1;
    fixed = powers(base, R);
    for (double& z : fixed) z = std::log(z);
    const auto points = static_cast<std::int64_t>(std::ceil((end - 1) / dt + 1));
    const auto point = [&](std::int64_t k) {
      return k == points - 1 ? end : 1 + static_cast<double>(k) * dt;
    };
    for (std::int64_t k = 0; k + 1 < points && reached == 1 && point(k) < t; ++k) {
      const double from = point(k), h = point(k + 1) - from;
      if (point(k + 1) > t) reached = (t - from) / h;
      widths.push_back(h);
      const std::vector<double> a = tau(from), b = tau(from + h / 3), c = tau(from + h * 2 / 3),
                                d = tau(point(k + 1));
      const double times[] = {from, from + h / 3, from + h * 2 / 3, point(k + 1)};
      for (int stage = 0; stage < 4; ++stage)
        for (std::size_t r = 0; r < fixed.size(); ++r) {
          const double moves[] = {0, h * a[r] / 3, h * (b[r] - a[r] / 3), h * (a[r] - b[r] + c[r])};
          states.push_back(fixed[r] + moves[stage] + log_phi(times[stage], r));
        }
      for (std::size_t r = 0; r < fixed.size(); ++r)
        fixed[r] += h * (a[r] + 3 * (b[r] + c[r]) + d[r]) / 8 * reached;
    }
  }
  static double growth(double t) { return t < 1 ? 1 : 2 * t - 1; }
  double log_phi(double t, std::size_t r) const {
    const auto width = static_cast<double>(R);
    return -2.0 * static_cast<double>(r) *
           (std::log(base) / width + std::log(growth(t)) / (width - 2));
  }
  std::vector<double> tau(double t) const {
    std::vector<double> out;
    for (std::int64_t r = 0; r < R / 2; ++r)
      out.push_back(-4.0 * static_cast<double>(r) / (static_cast<double>(R - 2) * growth(t)));
    return out;
  }

  double base;
  std::int64_t R;
  double dt, reached = 1;  // share of the last step that leads to t
  double solved_t = 0, solved_end = 0;
  std::vector<double> widths, states, fixed;  // of the steps; [4 steps, n]; ln of frequencies
};

}  // namespace rotary
