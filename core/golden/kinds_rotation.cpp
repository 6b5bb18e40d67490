// What an encoding does to queries and keys, seen from outside: turned vectors, and the angles and
// lengths that pairs of features come out with.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "golden/golden.h"
#include "tensor/ops.h"

namespace pesuite::golden {

void check_queries_and_keys(Case& c) {
  Rig p = c.rig();
  const auto with_batch = [&](const char* name) {
    Values v = c.v.input(name);
    v.shape = {1, v.shape[0], v.shape[1], v.shape[2]};
    return v;
  };
  const std::vector<Values> inputs = {with_batch("q"), with_batch("k")};
  const Build build = [&](Tape& t, std::span<const Tensor> x) -> std::vector<Tensor> {
    const Attention a = p.attend(t, x[0], x[1], x[0]);
    return {a.q, a.k};
  };
  const bool differentiated = c.v.has_input("G_q");
  const Response r =
      differentiated ? p(inputs, build, {c.v.input("G_q"), c.v.input("G_k")}) : p(inputs, build);
  const std::string end = c.compare.wants("q_out") ? "_out" : "_rot";
  c.compare("q" + end, r.outputs[0].data);
  c.compare("k" + end, r.outputs[1].data);
  if (!differentiated) return;
  c.compare("d_q", r.gradients[0].data);
  c.compare("d_k", r.gradients[1].data);
  for (const auto& [name, gradient] : p.parameter_gradients(r, 2)) c.compare(name, gradient);
}

namespace {

// Pairs of features (1, 0) at every position, and what becomes of them.
class TurnedPairs {
 public:
  TurnedPairs(Rig& p, std::int64_t length, std::int64_t pairs) : p_(p), T_(length), n_(pairs) {
    // feature 0 of position 1 alone: its partner is where a part of it goes
    Values probe = zeros();
    for (std::int64_t h = 0; h < p_.heads(); ++h) probe.data[at(h, 1, 0)] = 1;
    const Values turned = p_({probe}, build()).outputs[0];
    interleaved_ =
        std::fabs(turned.data[at(0, 1, 1)]) > std::fabs(turned.data[at(0, 1, n_)]) || n_ == 1;
    units_ = zeros();
    for (std::int64_t h = 0; h < p_.heads(); ++h)
      for (std::int64_t n = 0; n < T_; ++n)
        for (std::int64_t r = 0; r < n_; ++r) units_.data[first(h, n, r)] = 1;
    turned_ = p_({units_}, build()).outputs[0];
  }
  double x(std::int64_t h, std::int64_t n, std::int64_t r) const {
    return turned_.data[first(h, n, r)];
  }
  double y(std::int64_t h, std::int64_t n, std::int64_t r) const {
    return turned_.data[first(h, n, r) + partner()];
  }
  // Gradients of sum(g w) in the parameters, w [H, pairs] the angles at position 1: with the
  // cotangent (-sin w, cos w) g / length the chain rule gives g dw.
  Response backward(const std::vector<double>& g) {
    Values cotangent = zeros();
    for (std::int64_t h = 0; h < p_.heads(); ++h)
      for (std::int64_t r = 0; r < n_; ++r) {
        const double a = x(h, 1, r), b = y(h, 1, r), squared = a * a + b * b;
        const double of = g[static_cast<std::size_t>(h * n_ + r)];
        cotangent.data[first(h, 1, r)] = -b / squared * of;
        cotangent.data[first(h, 1, r) + partner()] = a / squared * of;
      }
    return p_({units_}, build(), {cotangent});
  }

 private:
  Values zeros() const {
    const Shape s{1, p_.heads(), T_, p_.head_dim()};
    return {s, std::vector<double>(static_cast<std::size_t>(s.count()), 0.0)};
  }
  Build build() const {
    return [this](Tape& t, std::span<const Tensor> x) -> std::vector<Tensor> {
      return {p_.attend(t, x[0], x[0], x[0]).q};
    };
  }
  std::size_t at(std::int64_t h, std::int64_t n, std::int64_t feature) const {
    return static_cast<std::size_t>((h * T_ + n) * p_.head_dim() + feature);
  }
  std::size_t first(std::int64_t h, std::int64_t n, std::int64_t r) const {
    return at(h, n, interleaved_ ? 2 * r : r);
  }
  std::size_t partner() const { return static_cast<std::size_t>(interleaved_ ? 1 : n_); }

  Rig& p_;
  std::int64_t T_, n_;
  bool interleaved_ = false;
  Values units_, turned_;
};

// What the angles imply: periods, and the bases of heads that have their own.
void compare_implied(Case& c, const std::vector<double>& w, std::int64_t heads) {
  const auto pairs = static_cast<std::int64_t>(w.size()) / heads;
  if (c.compare.wants("wavelengths")) {
    std::vector<double> lengths;
    for (const double x : w) lengths.push_back(2 * std::numbers::pi / x);
    c.compare("wavelengths", lengths);
  }
  if (c.compare.wants("bases") && pairs > 1) {  // w_r = w_0 b^(-r / pairs)
    std::vector<double> bases;
    for (std::int64_t h = 0; h < heads; ++h) {
      const double ratio =
          w[static_cast<std::size_t>(h * pairs)] / w[static_cast<std::size_t>(h * pairs + 1)];
      bases.push_back(std::pow(ratio, static_cast<double>(pairs)));
    }
    c.compare("bases", bases);
  }
}

// What divides the frequencies at each of several lengths; each output has its own expression.
void check_rescaled_factors(Case& c) {
  for (const std::string& output : c.v.output_names()) {
    const Spelling spelling = c.rules.spell(c.v, output);
    Rig p(c.v, spelling, c.catalog, c.backend);
    const std::int64_t pairs = c.v.input("factors").shape.count();
    const TurnedPairs seen(p, p.length(), pairs);
    std::vector<double> factors;
    for (std::int64_t r = 0; r < pairs; ++r) {
      const double unscaled =
          std::pow(c.v.number("base", 10000), -static_cast<double>(r) / static_cast<double>(pairs));
      factors.push_back(unscaled / std::atan2(seen.y(0, 1, r), seen.x(0, 1, r)));
    }
    c.compare(output, factors);
  }
}

}  // namespace

// Angle and length of what becomes of pairs (1, 0) at position 1 of a sequence as long as the
// vector's, on which the frequencies may depend. Factors are what divides those of a base.
void check_frequencies(Case& c) {
  if (c.v.has_input("factors")) return check_rescaled_factors(c);
  Rig p = c.rig();
  const std::string output = c.compare.wants("inv_freq") ? "inv_freq" : "init_factors";
  const Values wanted = c.compare.wanted(output);
  const std::int64_t heads = wanted.shape.rank() == 2 ? wanted.shape[0] : 1;
  if (heads != 1 && heads != p.heads())
    fail(Exit::data, "{}: frequencies of {} heads, its config has {}", c.v.name(), heads,
         p.heads());
  const std::int64_t pairs = wanted.shape.count() / heads;
  const double length = c.v.number("seq_len", 2);
  TurnedPairs seen(p, c.spelling.length.value_or(std::max(2, static_cast<int>(length))), pairs);
  std::vector<double> w, factors;
  for (std::int64_t h = 0; h < heads; ++h)
    for (std::int64_t r = 0; r < pairs; ++r) {
      w.push_back(std::atan2(seen.y(h, 1, r), seen.x(h, 1, r)));
      const double unscaled =
          std::pow(c.v.number("base", 10000), -static_cast<double>(r) / static_cast<double>(pairs));
      factors.push_back(unscaled / w.back());
    }
  c.compare(output, output == "inv_freq" ? w : factors);
  if (c.compare.wants("mask")) {  // share of a frequency that is kept: f = scale (1 - mask) + mask
    const double scale = c.v.number("scale", 1);
    for (double& f : factors) f = (scale - f) / (scale - 1);
    c.compare("mask", factors);
  }
  compare_implied(c, w, heads);
  for (const char* scaling : {"attention_scaling", "mscale"})
    if (c.compare.wants(scaling))
      c.compare(scaling, {std::hypot(seen.x(0, 1, 0), seen.y(0, 1, 0))});
  if (!c.v.has_input("G")) return;
  for (const auto& [name, gradient] : p.parameter_gradients(seen.backward(c.v.input("G").data), 1))
    c.compare(name, gradient);
}

void check_cosines(Case& c) {
  Rig p = c.rig();
  const Values wanted = c.compare.wanted("cos");  // [T, D/2]
  const TurnedPairs seen(p, wanted.shape[0], wanted.shape[1]);
  std::vector<double> cosines, sines, w;
  for (std::int64_t n = 0; n < wanted.shape[0]; ++n)
    for (std::int64_t r = 0; r < wanted.shape[1]; ++r) {
      cosines.push_back(seen.x(0, n, r));
      sines.push_back(seen.y(0, n, r));
      if (n == 1) w.push_back(std::atan2(sines.back(), cosines.back()));
    }
  c.compare("cos", cosines);
  c.compare("sin", sines);
  compare_implied(c, w, 1);
}

}  // namespace pesuite::golden
