// The graphs of attention are right: computed node by node in double they give what the formulas
// give, and gradients that central differences confirm. No cuDNN, no device.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "backend/cuda/attention_graph.h"
#include "tests/gpu/interpreter.h"

namespace pesuite::testing {
namespace {

using cuda::AttentionRequest;
using cuda::BiasForm;
using cuda::Layout;
using cuda::Pass;

constexpr std::int64_t B = 2, H = 4, T = 5, D = 3, E = 2;
constexpr double scale = 0.7;

struct Dense {
  Four extents{};
  Numbers data;
  double& at(const Four& p) { return data[index(p)]; }
  double at(const Four& p) const { return data[index(p)]; }

 private:
  std::size_t index(const Four& p) const {  // extents of 1 stretch, heads form groups
    std::int64_t i = 0;
    const Four full = {B, H, T, T};
    for (std::size_t a = 0; a < 4; ++a) {
      const bool stretched = extents[a] == 1 || (a == 1 && extents[a] < H);
      i = i * extents[a] + (stretched ? p[a] * extents[a] / full[a] : p[a]);
    }
    return static_cast<std::size_t>(i);
  }
};

Dense random(const Four& extents, int seed) {
  Dense d{extents,
          Numbers(static_cast<std::size_t>(extents[0] * extents[1] * extents[2] * extents[3]))};
  std::uint64_t state = 0x9E3779B97F4A7C15u * static_cast<std::uint64_t>(seed + 1);
  for (double& x : d.data) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    x = static_cast<double>(state >> 33) * 0x1p-30 - 1;  // in -1 .. 1
  }
  return d;
}

// Attention by its formula, one query at a time.
struct Formula {
  AttentionRequest r;
  std::map<Slot, Dense> in;  // with dbias: what is added to the scores, 0, to differentiate in

  double score(const Four& p) const {  // [b, h, i, j]
    double x = 0;
    for (std::int64_t d = 0; d < D; ++d)
      x += in.at(Slot::q).at({p[0], p[1], p[2], d}) * in.at(Slot::k).at({p[0], p[1], p[3], d});
    x *= scale;
    for (const Slot s : {Slot::bias_a, Slot::bias_b, Slot::dbias})
      if (in.contains(s)) x += in.at(s).at(p);
    if (r.slopes)
      x += in.at(Slot::slopes).data[static_cast<std::size_t>(p[1])] *
           static_cast<double>(p[3] - p[2]);
    return x;
  }
  void compute(Dense& y, Dense& lse) const {
    y = {{B, H, T, E}, Numbers(B * H * T * E)};
    lse = {{B, H, T, 1}, Numbers(B * H * T)};
    each({B, H, T, 1}, [&](const Four& p) {
      const std::int64_t keys = r.causal ? p[2] + 1 : T;
      Numbers e;
      double sum = 0;
      for (std::int64_t j = 0; j < keys; ++j) {
        e.push_back(std::exp(score({p[0], p[1], p[2], j})));
        sum += e.back();
      }
      lse.at(p) = std::log(sum);
      for (std::int64_t j = 0; j < keys; ++j) {
        const Four at = {p[0], p[1], p[2], j};
        double weight = e[static_cast<std::size_t>(j)] / sum;
        if (r.dropout > 0) weight *= kept(at) ? 1 / (1 - r.dropout) : 0;
        for (std::int64_t d = 0; d < E; ++d)
          y.at({p[0], p[1], p[2], d}) += weight * in.at(Slot::v).at({p[0], p[1], j, d});
      }
    });
  }
  double loss() const {
    Dense y, lse;
    compute(y, lse);
    double sum = 0;
    for (std::size_t i = 0; i < y.data.size(); ++i) sum += y.data[i] * in.at(Slot::dy).data[i];
    return sum;
  }
  // How fast the loss rises when s moves in a direction, by central differences.
  double slope(Slot s, const Numbers& direction) {
    constexpr double h = 1e-5;
    const Numbers before = in.at(s).data;
    const auto moved = [&](double by) {
      for (std::size_t i = 0; i < before.size(); ++i)
        in.at(s).data[i] = before[i] + by * direction[i];
      return loss();
    };
    const double slope = (moved(h) - moved(-h)) / (2 * h);
    in.at(s).data = before;
    return slope;
  }
};

// All that a graph is bound to, laid out as it asks.
std::map<Slot, Numbers> bind(const Graph& g, const Formula& f) {
  const double keep = 1 - f.r.dropout;
  std::map<Slot, Numbers> out = {
      {Slot::scale, {scale}},
      {Slot::keep, {keep}},
      {Slot::inverse_keep, {1 / keep}},
      {Slot::minus_infinity, {-std::numeric_limits<double>::infinity()}}};
  for (const GraphTensor& t : g.tensors) {
    if (!f.in.contains(t.slot) || t.slot == Slot::dbias) continue;
    Numbers& to = out[t.slot] = Numbers(room(t), std::nan(""));  // also between the rows
    // k and v may be asked for transposed.
    const Dense& from = f.in.at(t.slot);
    const bool turned = t.extents != from.extents;
    each(from.extents, [&](const Four& p) {
      std::size_t i = 0;
      for (std::size_t a = 0; a < 4; ++a)
        i = i * static_cast<std::size_t>(from.extents[a]) + static_cast<std::size_t>(p[a]);
      to[offset(t, turned ? Four{p[0], p[1], p[3], p[2]} : p)] = from.data[i];
    });
  }
  return out;
}

void expect_near(const Numbers& a, const Numbers& b, double tolerance, const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (std::size_t i = 0; i < a.size(); ++i)
    ASSERT_NEAR(a[i], b[i], tolerance) << what << " at " << i;
}

// A gradient agrees with central differences in random directions.
void expect_gradient(const Numbers& gradient, Formula& f, Slot s) {
  for (int seed = 10; seed < 14; ++seed) {
    const Numbers direction = random(f.in.at(s).extents, seed).data;
    ASSERT_EQ(gradient.size(), direction.size()) << slot_name(s);
    double along = 0;
    for (std::size_t i = 0; i < direction.size(); ++i) along += gradient[i] * direction[i];
    const double expected = f.slope(s, direction);
    EXPECT_NE(expected, 0) << slot_name(s);
    EXPECT_NEAR(along, expected, 1e-8) << slot_name(s);
  }
}

void expect_right(const AttentionRequest& r) {
  SCOPED_TRACE(plan_key(r, Pass::backward, 0));
  Formula f{r, {}};
  f.in = {{Slot::q, random({B, H, T, D}, 1)},
          {Slot::k, random({B, r.G, T, D}, 2)},
          {Slot::v, random({B, r.G, T, E}, 3)},
          {Slot::dy, random({B, H, T, E}, 4)},
          {Slot::slopes, random({1, H, 1, 1}, 5)}};
  for (std::size_t i = 0; i < r.biases.size(); ++i) {
    const Shape& s = r.biases[i].shape;
    f.in[i == 0 ? Slot::bias_a : Slot::bias_b] = random({s[0], s[1], s[2], s[3]}, 6);
  }
  Dense y, lse;
  f.compute(y, lse);

  const Graph forward = attention_graph(r, Pass::forward);
  const Interpreter ran(forward, bind(forward, f));
  expect_near(ran.dense(Slot::y), y.data, 1e-13, "y");
  expect_near(ran.dense(Slot::lse), lse.data, 1e-13, "lse");
  const Graph inference = attention_graph(r, Pass::inference);
  expect_near(Interpreter(inference, bind(inference, f)).dense(Slot::y), y.data, 1e-13,
              "y of inference");

  f.in[Slot::y] = y;
  f.in[Slot::lse] = lse;
  const Graph backward = attention_graph(r, Pass::backward);
  const Interpreter back(backward, bind(backward, f));
  expect_gradient(back.dense(Slot::dq), f, Slot::q);
  expect_gradient(back.dense(Slot::dk), f, Slot::k);
  expect_gradient(back.dense(Slot::dv), f, Slot::v);
  if (!r.dbias) return;
  const Shape& s = r.dbias->shape;
  const Four extents = {s[0], s[1], s[2], s[3]};
  f.in[Slot::dbias] = {extents, Numbers(static_cast<std::size_t>(s.count()))};
  expect_gradient(back.dense(Slot::dbias), f, Slot::dbias);
}

AttentionRequest request() {
  AttentionRequest r;
  r.B = B, r.H = r.G = H, r.T = r.S = T, r.D = D, r.E = E;
  return r;
}
BiasForm form(const Shape& s) {
  return {s, cuda::Type::bf16, T + 3};
}

std::vector<AttentionRequest> with_both(const std::vector<AttentionRequest>& all,
                                        void (*change)(AttentionRequest&)) {
  std::vector<AttentionRequest> out = all;
  for (AttentionRequest r : all) {
    change(r);
    out.push_back(r);
  }
  return out;
}

TEST(AttentionGraph, IsTheFormulaInEveryCombination) {
  std::vector<AttentionRequest> all = {request()};
  all = with_both(all, [](AttentionRequest& r) { r.G = 2; });
  all = with_both(all, [](AttentionRequest& r) { r.slopes = true; });
  all = with_both(all, [](AttentionRequest& r) { r.biases = {form({1, H, T, T})}; });
  all = with_both(all, [](AttentionRequest& r) { r.dropout = 0.25; });
  all = with_both(all, [](AttentionRequest& r) { r.dbias = form({1, H, T, T}); });
  for (const AttentionRequest& r : all) expect_right(r);
}

TEST(AttentionGraph, IsTheFormulaInEveryLayout) {
  for (const Layout layout : {Layout::by_head, Layout::by_token, Layout::packed})
    for (const std::int64_t groups : {1, 2, 4})
      for (const bool deterministic : {false, true}) {
        AttentionRequest r = request();
        r.layout = layout, r.G = groups, r.deterministic = deterministic;
        expect_right(r);
      }
}

TEST(AttentionGraph, IsTheFormulaForEveryBroadcastOfABiasAndItsGradient) {
  for (const Shape& s : {Shape{1, 1, T, T},
                         {B, 1, T, T},
                         {B, H, T, T},
                         {1, 1, 1, T},
                         {1, H, 1, T},
                         {B, 1, 1, T},
                         {B, H, 1, T}}) {
    AttentionRequest r = request();
    r.biases = {form(s)};
    r.dbias = form(s);
    expect_right(r);
    r.biases.push_back(form({1, H, T, T}));
    r.dbias = form({B, H, T, T});
    expect_right(r);
  }
}

TEST(AttentionGraph, NeedsNoMask) {
  AttentionRequest r = request();
  r.causal = false;
  expect_right(r);
}

// What cuDNN asks of every graph, whatever it computes.
TEST(AttentionGraph, BindsEachSlotOnceAndKeepsTheScoresInside) {
  AttentionRequest r = request();
  r.slopes = true, r.dropout = 0.1;
  r.biases = {form({1, H, T, T}), form({B, H, 1, T})};
  r.dbias = form({B, H, T, T});
  for (const Pass pass : {Pass::inference, Pass::forward, Pass::backward}) {
    const Graph g = attention_graph(r, pass);
    std::set<Slot> seen;
    for (const GraphTensor& t : g.tensors)
      if (t.slot != Slot::none) {
        EXPECT_TRUE(seen.insert(t.slot).second) << slot_name(t.slot);
      }
    for (const Node& n : g.nodes) {
      const GraphTensor& x = g.tensors[static_cast<std::size_t>(n.x)];
      if (n.op != Op::matmul && x.extents == Four{B, H, T, T}) {
        EXPECT_EQ(x.slot, Slot::none);
      }
    }
  }
}

}  // namespace
}  // namespace pesuite::testing
