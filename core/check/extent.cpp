// Lengths, sizes, blocks, paths and backends: the same mathematics wherever it runs.
#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "check/checks.h"

namespace pesuite::checks {

namespace {

constexpr double fp32_tolerance = 2e-4;
constexpr double double_tolerance = 1e-9;

}  // namespace

std::string check_lengths(const Subject& s) {
  const auto backend = open_backend("cpu", {});
  Instance instance(s.encoding, s.values, s.model);
  const int train = s.model.train_length;
  std::string detail;
  for (const int length : {1, 2, train, train + 1, 4 * train}) {
    s.note.say(fmt::format("length {}", length));
    Pass p;
    p.batch = 1, p.length = length;
    const double untrained = instance.untrained(length);
    require(untrained >= 0 && untrained <= 1, "untrained({}) is {}, not a share", length,
            untrained);
    require(untrained == 0 || length > train, "untrained({}) is {} at a length that training has",
            length, untrained);
    try {
      const Outputs o = run(*backend, instance, draw_inputs(instance, 1, length, 3), p);
      const std::string bad = not_finite(o);
      require(bad.empty(), "{} is not finite at length {}", bad, length);
    } catch (const Refused& refusal) {
      // A table that ends may say so, unless its length is one of training's.
      if (length <= train || s.claims(PES_UNBOUNDED)) fault("{}", refusal.what());
      detail = fmt::format(" Declines length {}: {}", length, refusal.what());
      break;
    }
  }
  return fmt::format("Finite from length 1 to 4 x {}.{}", train, detail);
}

std::string check_shapes(const Subject& s) {
  const auto backend = open_backend("cpu", {});
  const ModelShape& m = s.model;
  const auto with = [&](int layers, int heads, int groups, int head_dim) {
    ModelShape odd = m;
    odd.layers = layers, odd.heads = heads, odd.kv_heads = groups, odd.head_dim = head_dim;
    odd.width = heads * head_dim;
    return odd;
  };
  const int D = m.head_dim;
  const ModelShape shapes[] = {with(1, 1, 1, D),         with(2, 3, 3, D),     with(1, 5, 1, D),
                               with(3, 6, 2, D + 2),     with(2, 3, 1, D + 1), with(1, 1, 1, 1),
                               with(2, 16, 4, 2 * D + 6)};
  std::size_t taken = 0;
  std::string refusals;
  for (const ModelShape& shape : shapes) {
    const std::string what = fmt::format("{} layers, {} heads, {} key-value heads of {}",
                                         shape.layers, shape.heads, shape.kv_heads, shape.head_dim);
    s.note.say(what);
    try {
      Instance instance(s.encoding, s.values, shape);
      for (const int length : {1, 3, 13}) {
        Pass p;
        p.batch = length == 3 ? 3 : 1, p.length = length;
        const Outputs o = run(*backend, instance, draw_inputs(instance, p.batch, length, 3), p);
        const std::string bad = not_finite(o);
        require(bad.empty(), "{} is not finite with {}", bad, what);
      }
      ++taken;
    } catch (const Refused& refusal) {
      if (refusals.empty()) refusals = fmt::format(" Refused: {}: {}.", what, refusal.what());
    } catch (const Fault& f) {
      fault("with {}: {}", what, f.what());
    }
  }
  require(taken >= 2, "it takes {} of {} small models.{}", taken, std::size(shapes), refusals);
  return fmt::format("{} of {} odd sizes taken.{}", taken, std::size(shapes), refusals);
}

std::string check_rows(const Subject& s) {
  if (s.encoding.rewrite == nullptr) skip("It rewrites no scores.");
  const auto backend = open_backend("reference", {});
  Instance instance(s.encoding, s.values, s.model);
  Pass p;
  p.length = 13;
  const Inputs in = draw_inputs(instance, p.batch, p.length, 3);
  const Outputs whole = run(*backend, instance, in, p, {.attention = false});
  if (!whole.layers.front().rewrites) skip("It does not ask for a rewrite with these options.");
  double worst = 0;
  for (const int rows : {1, 2, 5, 12})
    for (const bool all_keys : {false, true}) {
      s.note.say(fmt::format("blocks of {} rows", rows));
      const Outputs blocks =
          run(*backend, instance, in, p, {.attention = false, .rows = rows, .all_keys = all_keys});
      std::string where;
      const double d = distance_of(blocks, whole, where);
      require(d <= double_tolerance * s.tolerance,
              "in blocks of {} rows that see {} keys, {} differs by a relative {:.2g}", rows,
              all_keys ? "all" : "their past's", where, d);
      worst = std::max(worst, d);
    }
  return fmt::format("Blocks of 1, 2, 5 and 12 of 13 rows agree with the whole, to {:.1g}.", worst);
}

namespace {

// softmax(scores) v in double, [B, T, H E], from the scores that came of ops.
Values attention_of(const LayerPass& l, const Values& v) {
  const std::int64_t B = l.scores.shape[0], H = l.scores.shape[1], T = l.scores.shape[2];
  const std::int64_t G = v.shape[1], E = v.shape[3];
  Values y{{B, T, H * E}, std::vector<double>(static_cast<std::size_t>(B * T * H * E))};
  for (std::int64_t b = 0; b < B; ++b)
    for (std::int64_t h = 0; h < H; ++h)
      for (std::int64_t i = 0; i < T; ++i) {
        const double* row = &l.scores.data[static_cast<std::size_t>(((b * H + h) * T + i) * T)];
        const double top = *std::max_element(row, row + i + 1);
        double sum = 0;
        for (std::int64_t j = 0; j <= i; ++j) sum += std::exp(row[j] - top);
        double* out = &y.data[static_cast<std::size_t>((b * T + i) * H * E + h * E)];
        for (std::int64_t j = 0; j <= i; ++j) {
          const double weight = std::exp(row[j] - top) / sum;
          const double* from = &v.data[static_cast<std::size_t>(((b * G + h * G / H) * T + j) * E)];
          for (std::int64_t e = 0; e < E; ++e) out[e] += weight * from[e];
        }
      }
  return y;
}

}  // namespace

std::string check_attention(const Subject& s) {
  std::string path;
  double worst = 0;
  for (const char* name : {"reference", "cpu"}) {
    const auto backend = open_backend(name, {});
    Instance instance(s.encoding, s.values, s.model);
    const double tolerance =
        s.tolerance * (std::string_view(name) == "cpu" ? fp32_tolerance : double_tolerance);
    for (const int length : {1, 7, 2 * s.model.train_length + 1}) {
      if (length > s.model.train_length && !takes(*backend, instance, length)) continue;
      Pass p;
      p.length = length;
      s.note.say(fmt::format("length {} on {}", length, name));
      const Inputs in = draw_inputs(instance, p.batch, length, 3);
      const Outputs own = run(*backend, instance, in, p),
                    composed = run(*backend, instance, in, p, {.composed = true});
      for (std::size_t i = 0; i < own.layers.size(); ++i) {
        path = path_name(own.layers[i].path);
        const double a = distance_of(own.layers[i].y, attention_of(own.layers[i], in.v));
        const double b = distance_of(composed.layers[i].y, own.layers[i].y);
        require(a <= tolerance,
                "on {} at length {}, path {} differs from softmax(scores) v by a relative {:.2g}",
                name, length, path, a);
        require(b <= tolerance, "on {} at length {}, path {} and the composed one differ by {:.2g}",
                name, length, path, b);
        worst = std::max({worst, a, b});
      }
    }
  }
  return fmt::format("Path {}, the composed path and a plain softmax agree, to {:.1g} in fp32.",
                     path, worst);
}

std::string check_backends(const Subject& s) {
  const auto reference = open_backend("reference", {}), cpu = open_backend("cpu", {});
  Instance instance(s.encoding, s.values, s.model);
  double worst = 0;
  for (const int length : {5, 2 * s.model.train_length}) {
    if (length > s.model.train_length && !takes(*reference, instance, length)) continue;
    Pass p;
    p.length = length;
    const Inputs in = draw_inputs(instance, p.batch, length, 3);
    std::string where;
    const double d =
        distance_of(run(*cpu, instance, in, p), run(*reference, instance, in, p), where);
    require(d <= fp32_tolerance * s.tolerance,
            "at length {}, {} in fp32 differs from double by a relative {:.2g}", length, where, d);
    worst = std::max(worst, d);
  }
  return fmt::format("fp32 and double agree to a relative {:.1g}.", worst);
}

}  // namespace pesuite::checks
