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

namespace {

// Numbers of a parameter that no training pass reaches, of `count`.
std::size_t never_trained(Backend& backend, Instance& instance, std::size_t parameter) {
  constexpr int passes = 32;
  std::vector<bool> reached(
      static_cast<std::size_t>(instance.parameters()[parameter].shape.count()));
  for (int i = 0; i < passes; ++i) {
    Pass p;
    p.batch = 1, p.length = instance.model().train_length, p.phase = PES_TRAIN;
    p.step = i, p.seed = static_cast<std::uint64_t>(100 + i);
    const std::vector<Values> all =
        gradients(backend, instance, draw_inputs(instance, 1, p.length, p.seed), p);
    const std::vector<double>& g = all[all.size() - instance.parameters().size() + parameter].data;
    for (std::size_t n = 0; n < g.size(); ++n) reached[n] = reached[n] || g[n] != 0;
  }
  return static_cast<std::size_t>(std::count(reached.begin(), reached.end(), false));
}

// A table that grows with the longest sequence, of which training reaches a part, must say so.
void expect_untrained_told(const Subject& s) {
  std::size_t at = 0;
  const std::string growing = growing_parameter(s, at);
  if (growing.empty()) return;
  const auto backend = open_backend("reference", {});
  Instance instance(s.encoding, s.values, s.model);
  const int longest = s.model.max_length;
  if (instance.untrained(longest) > 0) return;
  const std::size_t rest = never_trained(*backend, instance, at);
  require(rest == 0,
          "parameter {}: training at length {} never reaches {} of its {} numbers, and "
          "untrained({}) says 0; define untrained() as the share of positions or distances that "
          "use them",
          growing, s.model.train_length, rest, instance.parameters()[at].shape.count(), longest);
}

}  // namespace

std::string growing_parameter(const Subject& s, std::size_t& at) {
  ModelShape longer = s.model;
  longer.max_length *= 2;
  try {
    const Instance a(s.encoding, s.values, s.model), b(s.encoding, s.values, longer);
    for (at = 0; at < std::min(a.parameters().size(), b.parameters().size()); ++at) {
      const Shape here = a.parameters()[at].shape, there = b.parameters()[at].shape;
      if (!(here == there))
        return fmt::format("'{}', which is {} for sequences of {} and {} for sequences of {}",
                           a.parameters()[at].name, here.text(), s.model.max_length, there.text(),
                           longer.max_length);
    }
  } catch (const Refused&) {  // of the longer ones
  }
  return "";
}

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
      require(bad.empty(), "{}, at length {}", bad, length);
    } catch (const Refused& refusal) {
      // A table that ends may say so, unless its length is one of training's.
      if (length <= train || s.claims(PES_UNBOUNDED)) fault("{}", refusal.what());
      detail = fmt::format(" Declines length {}: {}", length, refusal.what());
      break;
    }
  }
  expect_untrained_told(s);
  return fmt::format("Finite from length 1 to 4 x {}.{}", train, detail);
}

namespace {

// Elements first .. of the axis, or all where it broadcasts.
Values from(const Values& v, int axis, std::int64_t first) {
  if (v.shape[axis] <= first || v.shape.rank() < (axis < 0 ? -axis : axis + 1)) return v;
  const int a = axis < 0 ? axis + v.shape.rank() : axis;
  Values out{v.shape, {}};
  out.shape.at(a) -= first;
  const auto inner = static_cast<std::size_t>(v.shape.span(a + 1, v.shape.rank()));
  const auto extent = static_cast<std::size_t>(v.shape[a]),
             skipped = static_cast<std::size_t>(first);
  for (std::size_t i = 0; i < v.data.size(); ++i)
    if (i / inner % extent >= skipped) out.data.push_back(v.data[i]);
  return out;
}

Inputs from(Inputs in, std::int64_t first) {
  in.e = from(in.e, 1, first), in.x = from(in.x, 1, first);
  for (Values* v : {&in.q, &in.k, &in.v}) *v = from(*v, 2, first);
  return in;
}

// What of the positions that both passes have differs: "q of layer 1", by how much; 0 for nothing.
double offset_change(const Outputs& whole, const Outputs& part, std::int64_t first,
                     std::string& where) {
  double worst = 0;
  const auto compare = [&](const Values& a, const Values& b, const std::string& name) {
    const double d = distance_of(b, a);
    if (d > worst) worst = d, where = name;
  };
  compare(from(whole.embedding, 1, first), part.embedding, "the embedding");
  for (std::size_t i = 0; i < whole.layers.size(); ++i) {
    const LayerPass &a = whole.layers[i], &b = part.layers[i];
    compare(from(a.q, 2, first), b.q, fmt::format("q of layer {}", i));
    compare(from(a.k, 2, first), b.k, fmt::format("k of layer {}", i));
  }
  return worst;
}

// The positive factor of each feature by which b is a times it at every position and head; empty
// where there is no such factor.
std::vector<double> factors(const Values& a, const Values& b) {
  const auto D = static_cast<std::size_t>(a.shape[-1]);
  std::vector<double> out(D), largest(D);
  for (std::size_t i = 0; i < a.data.size(); ++i)
    if (std::fabs(a.data[i]) > largest[i % D]) {
      largest[i % D] = std::fabs(a.data[i]);
      out[i % D] = b.data[i] / a.data[i];
    }
  for (std::size_t i = 0; i < a.data.size(); ++i)
    if (!(out[i % D] > 0) || !(std::fabs(b.data[i] - out[i % D] * a.data[i]) <=
                               double_tolerance * out[i % D] * largest[i % D]))
      return {};
  return out;
}

// Whether q and k differ by factors that cancel in each product q.k.
bool cancels(const Outputs& whole, const Outputs& part, std::int64_t first) {
  for (std::size_t i = 0; i < whole.layers.size(); ++i) {
    const Values q = from(whole.layers[i].q, 2, first), k = from(whole.layers[i].k, 2, first);
    if (!(q.shape == part.layers[i].q.shape) || !(k.shape == part.layers[i].k.shape)) return false;
    const std::vector<double> a = factors(q, part.layers[i].q), b = factors(k, part.layers[i].k);
    if (a.empty() || b.empty()) return false;
    for (std::size_t d = 0; d < a.size(); ++d)
      if (std::fabs(a[d] * b[d] - 1) > 1e-6) return false;
  }
  return distance_of(part.embedding, from(whole.embedding, 1, first)) <= double_tolerance;
}

// Whether embedding, q or k of a position follow from other tokens too.
bool reads_other_tokens(Backend& backend, Instance& instance, const Pass& p) {
  const Inputs in = draw_inputs(instance, p.batch, p.length, 3);
  Inputs other = in;
  const Inputs fresh = draw_inputs(instance, p.batch, p.length, 4);
  const auto replace_first = [&](Values& v, const Values& by, int axis) {
    const auto inner = static_cast<std::size_t>(v.shape.span(axis + 1, v.shape.rank()));
    const auto extent = static_cast<std::size_t>(v.shape[axis]);
    for (std::size_t i = 0; i < v.data.size(); ++i)
      if (i / inner % extent == 0) v.data[i] = by.data[i];
  };
  replace_first(other.e, fresh.e, 1), replace_first(other.x, fresh.x, 1);
  replace_first(other.q, fresh.q, 2), replace_first(other.k, fresh.k, 2);
  const Wish wish{.scores = false, .attention = false};
  const Outputs a = run(backend, instance, in, p, wish), b = run(backend, instance, other, p, wish);
  Outputs rest = b;
  rest.embedding = from(b.embedding, 1, 1);
  for (LayerPass& l : rest.layers) l.q = from(l.q, 2, 1), l.k = from(l.k, 2, 1);
  std::string where;
  return offset_change(a, rest, 1, where) > 0;
}

}  // namespace

std::string check_offset(const Subject& s) {
  const auto backend = open_backend("reference", {});
  Instance instance(s.encoding, s.values, s.model);
  Pass whole;
  whole.length = s.model.train_length - 3;
  if (reads_other_tokens(*backend, instance, whole))
    skip("Embedding, q or k of a position follow from other tokens too.");
  const Inputs in = draw_inputs(instance, whole.batch, whole.length, 3);
  const Wish wish{.scores = false, .attention = false};
  const Outputs all = run(*backend, instance, in, whole, wish);
  double worst = 0;
  for (const int first : {1, 4, whole.length - 1}) {
    s.note.say(fmt::format("the tokens from {} on, at offset {}", first, first));
    Pass p = whole;
    p.length -= first, p.offset = first;
    std::string where;
    const Outputs part = run(*backend, instance, from(in, first), p, wish);
    const double d = offset_change(all, part, first, where);
    if (d > double_tolerance * s.tolerance && cancels(all, part, first))
      return "q and k depend on where the sequence starts by factors that cancel in q.k, so that "
             "keys of one step are of no use in another.";
    require(d <= double_tolerance * s.tolerance,
            "encoding '{}': {} differs by a relative {:.2g} between token {} of a sequence that "
            "starts at position 0 and the same token as the first of one that starts at position "
            "{}: a hook counts from 0, or by s.length; token t stands at s.offset + t",
            s.encoding.card->name, where, d, first, first);
    worst = std::max(worst, d);
  }
  return fmt::format("Token n at offset 0 and token 0 at offset n agree, to {:.1g}.", worst);
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
        require(bad.empty(), "{}, with {}", bad, what);
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
              "in blocks of {} rows that see {} keys, {} differ by a relative {:.2g} from those of "
              "one block: rewrite() takes row 0 for position 0, which is c.first, or the last key "
              "for the row's own",
              rows, all_keys ? "all" : "their past's", where, d);
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
