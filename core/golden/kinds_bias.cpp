// What an encoding does to the scores of attention. Attention is causal here: of matrices [query,
// key], what lies above the diagonal is compared only where an encoding fills it in.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "golden/golden.h"
#include "tensor/ops.h"

namespace pesuite::golden {

namespace {

Values zeros(const Shape& s) {
  return {s, std::vector<double>(static_cast<std::size_t>(s.count()), 0.0)};
}

// `actual` [H, T, T] with everything above the diagonal taken from `wanted`.
std::vector<double> lower(std::vector<double> actual, const Values& wanted) {
  const std::int64_t T = wanted.shape[-1];
  for (std::int64_t n = 0; n < wanted.shape.count() && actual.size() == wanted.data.size(); ++n)
    if (n % T > n / T % T)
      actual[static_cast<std::size_t>(n)] = wanted.data[static_cast<std::size_t>(n)];
  return actual;
}
bool reaches_above(const Values& g) {  // any number above the diagonal
  const std::int64_t T = g.shape[-1];
  for (std::int64_t n = 0; n < g.shape.count(); ++n)
    if (n % T > n / T % T && g.data[static_cast<std::size_t>(n)] != 0) return true;
  return false;
}

// Scores of queries and keys of zeros: the bias, in whatever slot the encoding puts it.
Build bias_of(Rig& p) {
  return [&p](Tape& t, std::span<const Tensor> x) -> std::vector<Tensor> {
    return {p.scores(t, p.attend(t, x[0], x[0], x[0]))};
  };
}
Values no_content(const Rig& p, std::int64_t length) {
  return zeros({1, p.heads(), length, p.head_dim()});
}

}  // namespace

void check_bias(Case& c) {
  Rig p = c.rig();
  const Values wanted = c.compare.wanted("bias");  // [H, T, T]
  const std::vector<Values> inputs = {no_content(p, wanted.shape[-1])};
  bool square = false;  // keys ahead of the query have a bias of their own
  const Build build = [&](Tape& t, std::span<const Tensor> x) -> std::vector<Tensor> {
    const Attention a = p.attend(t, x[0], x[0], x[0]);
    square = reaches_above(wanted) && a.bias && !a.distance && !p.scattered();
    return {p.scores(t, a)};
  };
  const bool differentiated = c.v.has_input("G");
  const Values g = differentiated ? c.v.input("G") : Values();
  const Response r = differentiated ? p(inputs, build, {g}) : p(inputs, build);
  c.compare("bias", square ? r.outputs[0].data : lower(r.outputs[0].data, wanted));
  for (const auto& [name, values] : p.parameters())
    if (c.compare.wants(name + "_after")) c.compare(name + "_after", values);
  if (!differentiated) return;
  if (reaches_above(g) && !square)
    return c.compare.leave("d_*", "its cotangent reaches above the diagonal, attention is causal");
  for (const auto& [name, gradient] : p.parameter_gradients(r, 1)) c.compare(name, gradient);
}

// What the bias falls by from one distance to the next, for several numbers of heads.
void check_slopes(Case& c) {
  const Json* counts = c.v.find("heads");
  if (counts == nullptr || !counts->is_array())
    fail(Exit::data, "{}: its config lacks 'heads', a list", c.v.name());
  for (const int heads : counts->get<std::vector<int>>()) {
    Rig p(c.v, c.spelling, c.catalog, c.backend, heads);
    const Values bias = p({no_content(p, 2)}, bias_of(p)).outputs[0];  // [1, H, 2, 2]
    std::vector<double> slopes;
    for (int h = 0; h < heads; ++h)
      slopes.push_back(-bias.data[static_cast<std::size_t>(4 * h + 2)]);
    c.compare(fmt::format("slopes_{}", heads), slopes);
  }
}

// A table whose entry b is the number b shows which one each distance takes.
void check_buckets(Case& c) {
  Rig p = c.rig();
  const std::vector<double> relative = c.v.input("relative_position").data;  // key - query
  double farthest = 0;
  for (const double r : relative) farthest = std::max(farthest, std::fabs(r));
  const auto T = static_cast<std::int64_t>(farthest) + 1;
  p.fill([](std::int64_t row, std::int64_t) { return static_cast<double>(row); });
  const std::vector<double> bias = p({no_content(p, T)}, bias_of(p)).outputs[0].data;  // [T, T]
  std::vector<double> actual;
  for (const double r : relative) {  // of a query as early as can be
    const auto i = static_cast<std::int64_t>(std::max(0.0, -r)),
               j = i + static_cast<std::int64_t>(r);
    actual.push_back(bias[static_cast<std::size_t>(i * T + j)]);
  }
  c.compare("bucket", actual);
}

// Scores of given queries and keys before the mask; without the factor where the vector says so.
void check_scores(Case& c) {
  Rig p = c.rig();
  const auto with_batch = [&](const char* name) {
    Values v = c.v.input(name);
    v.shape = {1, v.shape[0], v.shape[1], v.shape[2]};
    return v;
  };
  const Json* plain = c.v.find("unscaled");
  const bool unscaled = plain != nullptr && plain->is_boolean() && plain->get<bool>();
  const Build build = [&](Tape& t, std::span<const Tensor> x) -> std::vector<Tensor> {
    const Attention a = p.attend(t, x[0], x[1], x[0]);
    return {ops::affine(t, p.scores(t, a), unscaled ? 1 / a.scale : 1, 0)};
  };
  const Values wanted = c.compare.wanted("logits");
  const Response r = p({with_batch("q"), with_batch("k")}, build);
  c.compare("logits", lower(r.outputs[0].data, wanted));
}

// Positions that follow from content: with each query's part of the one table [D, P] chosen so that
// a position p is worth p, the bias is the position. One query of one head at a time, since they
// share the table. The rule gives each of the vector's outputs, cut at some position or not, its
// own expression.
void check_contextual_positions(Case& c) {
  const Values q = c.v.input("q");
  const std::int64_t H = q.shape[0], T = q.shape[1], D = q.shape[2];
  std::vector<Values> inputs = {q, c.v.input("k")};
  for (Values& v : inputs) v.shape = {1, H, T, D};
  for (const std::string& output : c.v.output_names()) {
    const Spelling spelling = c.rules.spell(c.v, output);
    Rig p(c.v, spelling, c.catalog, c.backend);
    const Build build = [&](Tape& t, std::span<const Tensor> x) -> std::vector<Tensor> {
      const Attention a = p.attend(t, x[0], x[1], x[0]);
      Attention content;
      content.q = a.q, content.k = a.k, content.scale = a.scale;
      return {ops::binary(t, Binary::sub, p.scores(t, a), p.scores(t, content))};
    };
    const Values wanted = c.v.output(output);  // [H, T, T]
    std::vector<double> actual = wanted.data;
    for (std::int64_t n = 0; n < H * T; ++n) {
      const double* row = &q.data[static_cast<std::size_t>(n * D)];
      double squared = 0;
      for (std::int64_t d = 0; d < D; ++d) squared += row[d] * row[d];
      p.fill([&](std::int64_t d, std::int64_t position) {
        return row[d] / squared * static_cast<double>(position);
      });
      const std::vector<double> bias = p(inputs, build).outputs[0].data;
      for (std::int64_t at = n * T; at <= n * T + n % T; ++at)
        actual[static_cast<std::size_t>(at)] = bias[static_cast<std::size_t>(at)];
    }
    c.compare(output, actual);
  }
}

// The factor that an encoding puts on the scores of sequences s times as long as training's, in
// units of 1/sqrt(D), for each of the vector's outputs.
void check_temperature(Case& c) {
  const std::vector<double> stretches = c.v.input("s").data;
  for (const std::string& output : c.v.output_names()) {
    const Spelling spelling = c.rules.spell(c.v, output);
    std::vector<double> factors;
    for (const double s : stretches) {
      Spelling at = spelling;
      at.train_length = spelling.train_length.value_or(64);
      at.length = static_cast<int>(std::lround(s * *at.train_length));
      if (std::fabs(*at.length - s * *at.train_length) > 1e-9)
        fail(Exit::usage, "{}: {} times {} is no length; give train_length another value", at.rule,
             s, *at.train_length);
      Rig p(c.v, at, c.catalog, c.backend);
      double scale = 0;
      p({no_content(p, *at.length)},
        [&](Tape& t, std::span<const Tensor> x) -> std::vector<Tensor> {
          scale = p.attend(t, x[0], x[0], x[0]).scale;
          return {x[0]};
        });
      factors.push_back(scale * std::sqrt(p.head_dim()));
    }
    c.compare(output, factors);
  }
}

}  // namespace pesuite::golden
