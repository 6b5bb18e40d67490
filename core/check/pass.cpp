#include "check/pass.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <pesuite/random.hpp>
#include <utility>

#include "check/finding.h"

namespace pesuite::checks {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Values normal_values(const Shape& shape, std::uint64_t seed, std::string_view name) {
  Values v{shape, {}};
  pes::Random r(seed, pes::purpose(name), 0);
  for (std::int64_t i = 0; i < shape.count(); ++i) v.data.push_back(static_cast<float>(r.normal()));
  return v;
}

// Some way off the start value, without a change of sign.
double moved_from(double start, pes::Random& r) {
  return static_cast<float>(start + 0.2 * (r.uniform() - 0.5) * (std::fabs(start) + 0.1));
}

}  // namespace

std::vector<std::pair<std::string, Values*>> Inputs::all(const Instance& instance) {
  std::vector<std::pair<std::string, Values*>> out = {
      {"embedding", &e}, {"x", &x}, {"q", &q}, {"k", &k}, {"v", &v}};
  for (std::size_t i = 0; i < parameters.size(); ++i)
    out.emplace_back("parameter " + instance.parameters()[i].name, &parameters[i]);
  return out;
}

Inputs draw_inputs(const Instance& instance, int batch, int length, std::uint64_t seed,
                   bool moved) {
  const ModelShape& m = instance.model();
  Inputs in;
  in.e = normal_values({batch, length, m.width}, seed, "e");
  in.x = normal_values({batch, length, m.width}, seed, "x");
  in.q = normal_values({batch, m.heads, length, m.head_dim}, seed, "q");
  in.k = normal_values({batch, m.kv_heads, length, m.head_dim}, seed, "k");
  in.v = normal_values({batch, m.kv_heads, length, m.head_dim}, seed, "v");
  for (std::size_t i = 0; i < instance.parameters().size(); ++i) {
    const std::vector<float> start = instance.init(i, 1);
    Values p{instance.parameters()[i].shape, {start.begin(), start.end()}};
    pes::Random r(seed, pes::purpose(instance.parameters()[i].name), 1);
    if (moved)
      for (double& value : p.data) value = moved_from(value, r);
    in.parameters.push_back(std::move(p));
  }
  return in;
}

namespace {

using host::Leaf;

// One pass as tensors on a tape.
class Graph {
 public:
  struct LayerTensors {
    Attention a;
    Tensor scores, y;
    bool rewrites;
    AttentionPath path;
  };

  Graph(Backend& backend, Instance& instance, const Inputs& in, const Pass& pass, const Wish& wish,
        bool recording)
      : instance_(instance), pass_(pass), wish_(wish), tape_(backend) {
    tape_.set_recording(recording);
    for (const Values* v : {&in.e, &in.x, &in.q, &in.k, &in.v}) leaves_.emplace_back(backend, *v);
    for (const Values& v : in.parameters) leaves_.emplace_back(backend, v);
    std::vector<Tensor> t;
    for (Leaf& leaf : leaves_) t.push_back(tape_.leaf(leaf.parameter()));
    x_ = t[1];
    instance.begin(tape_, pass, {t.begin() + 5, t.end()});
    embedding_ = instance.embed(tape_, t[0]);
    callbacks_.reserve(static_cast<std::size_t>(instance.model().layers));
    for (int layer = 0; layer < instance.model().layers; ++layer) add_layer(layer, t);
  }

  Tape& tape() { return tape_; }
  Tensor embedding() const { return embedding_; }
  const std::vector<LayerTensors>& layers() const { return layers_; }
  const std::vector<Leaf>& leaves() const { return leaves_; }

 private:
  struct Callback {
    Graph* graph;
    Tensor v;
    int layer;
    double scale;
    bool rewrites;
  };

  void add_layer(int layer, const std::vector<Tensor>& t) {
    const ModelShape& m = instance_.model();
    LayerTensors l{};
    l.a.q = t[2], l.a.k = t[3], l.a.v = t[4];
    l.a.scale = 1 / std::sqrt(static_cast<double>(m.head_dim));
    l.rewrites = instance_.attend(tape_, layer, x_, l.a);
    callbacks_.push_back({this, l.a.v, layer, l.a.scale, l.rewrites});
    if (wish_.scores) l.scores = all_scores(callbacks_.back(), l.a);
    if (l.rewrites || wish_.composed) l.a.rewrite = {&callbacks_.back(), rewrite};
    if (wish_.attention) {
      l.y = pesuite::attend(tape_, l.a, &l.path);
      require(!tape_.failed(), "{} (length {})", tape_.failure(), pass_.length);
    }
    layers_.push_back(l);
  }

  static Tensor rewrite(const void* self, Tape& tape, Tensor scores, Tensor q, Tensor k,
                        Tensor visible, std::int64_t first) {
    const auto& c = *static_cast<const Callback*>(self);
    if (c.graph->wish_.composed) tape.now(scores);
    if (!c.rewrites) return scores;
    return c.graph->instance_.rewrite(
        tape, {c.layer, c.graph->x_, q, k, c.v, visible, c.scale, scores, first});
  }

  // [rows, keys] of 1 where the key is visible, and the distances i - j, 0 where it is not.
  Tensor geometry(std::int64_t first, std::int64_t rows, std::int64_t keys, bool visible) {
    std::vector<double> out;
    for (std::int64_t i = first; i < first + rows; ++i)
      for (std::int64_t j = 0; j < keys; ++j)
        out.push_back(visible ? (j <= i ? 1.0 : 0.0) : static_cast<double>(std::max(i - j, {})));
    return visible ? tape_.constant({rows, keys}, out.data())
                   : tape_.constant({1, rows, keys}, out.data());
  }

  // Scores of a block of rows [B, H, rows, T]. A plugin may leave anything at invisible keys: the
  // host masks it.
  Tensor block_scores(const Callback& c, const Attention& a, std::int64_t first,
                      std::int64_t rows) {
    using namespace ops;
    const Shape sq = tape_.shape(a.q), sk = tape_.shape(a.k);
    const std::int64_t T = sq[2], keys = wish_.all_keys ? T : first + rows;
    const Tensor q = slice(tape_, a.q, 2, first, rows);  // [B, H, rows, D]
    const Tensor k = slice(tape_, a.k, 2, 0, keys);      // [B, G, keys, D]
    const Tensor grouped =
        reshape(tape_, q, {sq[0], sk[1], sq[1] / sk[1] * rows, sq[3]});  // [B, G, H/G rows, D]
    Tensor s = affine(tape_, matmul(tape_, grouped, k, true), a.scale, 0);
    s = reshape(tape_, s, {sq[0], sq[1], rows, keys});
    if (a.distance) {
      const Shape d = tape_.shape(a.distance);
      s = binary(tape_, Binary::add, s,
                 take(tape_, reshape(tape_, a.distance, {d[0], 1, d[1]}),
                      geometry(first, rows, keys, false)));
    }
    if (a.bias) {
      Tensor bias = a.bias;
      if (tape_.shape(bias)[-1] > 1) bias = slice(tape_, bias, -1, 0, keys);
      if (tape_.shape(bias).rank() > 1 && tape_.shape(bias)[-2] > 1)
        bias = slice(tape_, bias, -2, first, rows);
      s = binary(tape_, Binary::add, s, bias);
    }
    s = rewrite(&c, tape_, s, q, k, geometry(first, rows, keys, true), first);
    if (tape_.failed()) fault("{} (length {})", tape_.failure(), pass_.length);
    if (keys == T) return s;
    const std::vector<double> zeros(static_cast<std::size_t>(sq[0] * sq[1] * rows * (T - keys)));
    return concat(tape_, s, tape_.constant({sq[0], sq[1], rows, T - keys}, zeros.data()), -1);
  }

  Tensor all_scores(const Callback& c, const Attention& a) {
    const std::int64_t T = pass_.length, step = wish_.rows > 0 ? wish_.rows : T;
    Tensor out;
    for (std::int64_t first = 0; first < T; first += step) {
      const Tensor block = block_scores(c, a, first, std::min(step, T - first));
      out = out ? ops::concat(tape_, out, block, 2) : block;
    }
    return out;
  }

  Instance& instance_;
  Pass pass_;
  Wish wish_;
  std::vector<Leaf> leaves_;  // e, x, q, k, v, parameters
  Tape tape_;
  Tensor x_, embedding_;
  std::vector<LayerTensors> layers_;
  std::vector<Callback> callbacks_;  // attention's closures point into it
};

Values download(Tape& tape, Tensor t) {
  if (!t) return {};
  return host::download(tape.backend(), tape.view(t));
}

// Sets what stands at invisible keys to 0.
void mask(Values& scores) {
  const std::int64_t T = scores.shape[-1];
  for (std::size_t i = 0; i < scores.data.size(); ++i) {
    const auto n = static_cast<std::int64_t>(i);
    if (n % T > n / T % T) scores.data[i] = 0;
  }
}

struct Output {
  Tensor tensor;
  std::vector<double> weights;  // in the loss: a stream an output, in order; 0 at invisible keys
};
std::vector<Output> outputs_of(Graph& g) {
  std::vector<Output> out;
  enum class Kind { features, added, scores };
  const auto add = [&](Tensor t, Kind kind) {
    if (!t) return;
    Values w = {g.tape().shape(t), {}};
    pes::Random r(17, pes::purpose("weights"), out.size());
    for (std::int64_t i = 0; i < w.shape.count(); ++i) w.data.push_back(r.normal());
    if (kind == Kind::scores) mask(w);
    if (kind != Kind::features) {
      const Values x = download(g.tape(), t);
      for (std::size_t i = 0; i < x.data.size(); ++i)
        if (hides(x.data[i])) w.data[i] = 0;
    }
    out.push_back({t, std::move(w.data)});
  };
  add(g.embedding(), Kind::features);
  for (const Graph::LayerTensors& l : g.layers()) {
    for (const Tensor t : {l.a.q, l.a.k}) add(t, Kind::features);
    for (const Tensor t : {l.a.distance, l.a.bias}) add(t, Kind::added);
    add(l.scores, Kind::scores);
    add(l.y, Kind::features);
  }
  return out;
}

}  // namespace

Outputs run(Backend& backend, Instance& instance, const Inputs& in, const Pass& pass,
            const Wish& wish) {
  Graph g(backend, instance, in, pass, wish, false);
  Outputs out;
  out.embedding = download(g.tape(), g.embedding());
  for (const Graph::LayerTensors& l : g.layers()) {
    LayerPass layer;
    layer.q = download(g.tape(), l.a.q);
    layer.k = download(g.tape(), l.a.k);
    layer.distance = download(g.tape(), l.a.distance);
    layer.bias = download(g.tape(), l.a.bias);
    layer.scores = download(g.tape(), l.scores);
    mask(layer.scores);
    layer.y = download(g.tape(), l.y);
    layer.scale = l.a.scale;
    layer.rewrites = l.rewrites;
    layer.path = l.path;
    out.layers.push_back(std::move(layer));
  }
  return out;
}

bool takes(Backend& backend, Instance& instance, int length) {
  Pass p;
  p.batch = 1, p.length = length;
  try {
    run(backend, instance, draw_inputs(instance, 1, length, 3), p,
        {.scores = false, .attention = false});
    return true;
  } catch (const Refused&) {
    return false;
  }
}

double loss(Backend& backend, Instance& instance, const Inputs& in, const Pass& pass) {
  Graph g(backend, instance, in, pass, {}, false);
  double sum = 0;
  for (const Output& o : outputs_of(g)) {
    const Values v = download(g.tape(), o.tensor);
    for (std::size_t i = 0; i < v.data.size(); ++i)
      if (o.weights[i] != 0) sum += o.weights[i] * v.data[i];
  }
  return sum;
}

std::vector<Values> gradients(Backend& backend, Instance& instance, const Inputs& in,
                              const Pass& pass) {
  Graph g(backend, instance, in, pass, {}, true);
  Tape& tape = g.tape();
  // A copy of each output receives the weights, since an output may be an input untouched.
  std::vector<Output> all = outputs_of(g);
  for (Output& o : all) o.tensor = ops::affine(tape, o.tensor, 1, 0);
  for (const Output& o : all)
    if (const Out dy = tape.grad(o.tensor)) backend.upload(dy, o.weights.data());
  tape.backward();
  require(!tape.failed(), "{} (in the backward pass)", tape.failure());
  std::vector<Values> out;
  for (const Leaf& leaf : g.leaves()) out.push_back(leaf.gradient());
  return out;
}

namespace {

struct Named {
  std::string name;
  const Values* values;
};
std::vector<Named> named(const Outputs& o) {
  std::vector<Named> out = {{"the embedding", &o.embedding}};
  for (std::size_t i = 0; i < o.layers.size(); ++i) {
    const LayerPass& l = o.layers[i];
    const std::pair<const char*, const Values*> parts[] = {
        {"q", &l.q},       {"k", &l.k},           {"distance", &l.distance},
        {"bias", &l.bias}, {"scores", &l.scores}, {"the attention's output", &l.y}};
    for (const auto& [name, values] : parts)
      out.push_back({fmt::format("{} of layer {}", name, i), values});
  }
  return out;
}

}  // namespace

namespace {

// [1, 0, 3] of element i.
std::string place_of(const Shape& shape, std::size_t i) {
  std::vector<std::int64_t> at(static_cast<std::size_t>(shape.rank()));
  auto rest = static_cast<std::int64_t>(i);
  for (int axis = shape.rank(); axis-- > 0; rest /= shape[axis])
    at[static_cast<std::size_t>(axis)] = rest % shape[axis];
  return Shape::of(shape.rank(), at.data()).text();
}

}  // namespace

std::string first_difference(const Outputs& a, const Outputs& b) {
  const auto x = named(a), y = named(b);
  for (std::size_t n = 0; n < x.size(); ++n) {
    const Values &p = *x[n].values, &q = *y[n].values;
    if (!(p.shape == q.shape))
      return fmt::format("{} is {} and then {}", x[n].name, p.shape.text(), q.shape.text());
    for (std::size_t i = 0; i < p.data.size(); ++i)
      if (std::memcmp(&p.data[i], &q.data[i], sizeof(double)) != 0)
        return fmt::format("{} is {} and then {} at {}", x[n].name, p.data[i], q.data[i],
                           place_of(p.shape, i));
  }
  for (std::size_t i = 0; i < a.layers.size(); ++i)
    if (a.layers[i].scale != b.layers[i].scale || a.layers[i].rewrites != b.layers[i].rewrites)
      return fmt::format("scale or rewrite of layer {} differ", i);
  return "";
}

double distance_of(const Values& a, const Values& b) {
  if (!(a.shape == b.shape)) return infinity;
  double largest = 0, difference = 0;
  for (std::size_t i = 0; i < a.data.size(); ++i) {
    if (a.data[i] == b.data[i] || (hides(a.data[i]) && hides(b.data[i]))) continue;
    if (!std::isfinite(a.data[i]) || !std::isfinite(b.data[i])) return infinity;
    difference = std::max(difference, std::fabs(a.data[i] - b.data[i]));
  }
  for (const double x : b.data) largest = std::max(largest, hides(x) ? 0 : std::fabs(x));
  return difference / (largest + 1e-30);
}

double distance_of(const Outputs& a, const Outputs& b, std::string& where) {
  const auto x = named(a), y = named(b);
  double worst = 0;
  for (std::size_t n = 0; n < x.size(); ++n) {
    const double d = distance_of(*x[n].values, *y[n].values);
    if (d > worst) worst = d, where = x[n].name;
  }
  return worst;
}

std::string not_finite(const Outputs& o) {
  for (const Named& n : named(o)) {
    const bool may_hide = n.name.starts_with("bias") || n.name.starts_with("distance") ||
                          n.name.starts_with("scores");
    for (std::size_t i = 0; i < n.values->data.size(); ++i) {
      const double x = n.values->data[i];
      if (!std::isfinite(x) && !(x < 0 && may_hide))
        return fmt::format("{} is {} at {}", n.name, std::isnan(x) ? "nan" : fmt::format("{}", x),
                           place_of(n.values->shape, i));
    }
  }
  return "";
}

}  // namespace pesuite::checks
