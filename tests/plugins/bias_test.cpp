// Encodings of scores where golden vectors do not reach: against plain loops, over blocks of rows,
// and their gradients against differences.
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <map>

#include "base/error.h"
#include "encoding/encoding.h"
#include "tests/catalog.h"
#include "tests/support.h"

namespace pesuite::testing {
namespace {

constexpr int B = 2, H = 4, D = 4, W = 8;  // two layers; layer 1 is looked at
constexpr double scale = 0.5;

// An encoding of scores with inputs and parameters of random numbers, on the reference backend.
class Scores {
 public:
  const int T;

  explicit Scores(const std::string& expression, int groups = H, int length = 70)
      : T(length),
        groups_(groups),
        encoding_(built_catalog(), parse_expression(expression), model()) {
    inputs_ = {random_values({B, H, T, D}, 1), random_values({B, groups, T, D}, 2),
               random_values({B, groups, T, D}, 3), random_values({B, T, W}, 4)};
    for (const Encoding::ParameterSpec& p : encoding_.parameters())
      inputs_.push_back(random_values(p.shape, 5 + inputs_.size(), 0.5));
  }
  ModelShape model() const {
    ModelShape m;
    m.layers = 2, m.heads = H, m.kv_heads = groups_, m.head_dim = D, m.width = W;
    m.train_length = m.max_length = T;
    return m;
  }
  const std::vector<Values>& inputs() const { return inputs_; }
  const Values& x() const { return inputs_[3]; }
  const Values& parameter(const std::string& name) const {
    for (std::size_t i = 0; i < encoding_.parameters().size(); ++i)
      if (encoding_.parameters()[i].name == name) return inputs_[4 + i];
    ADD_FAILURE() << "no parameter " << name;
    return inputs_[0];
  }

  // [B, H, rows, first + rows] of the rewritten scores
  Build block(int first, int rows) {
    return [this, first, rows](Tape& t, const std::vector<Tensor>& x) {
      const Attention a = attend(t, x);
      const int keys = first + rows;
      const Tensor q = ops::slice(t, a.q, 2, first, rows), k = ops::slice(t, a.k, 2, 0, keys);
      const Tensor grouped = ops::reshape(t, q, {B, groups_, H / groups_ * rows, D});
      const Tensor s = ops::affine(t, ops::matmul(t, grouped, k, true), a.scale, 0);
      std::vector<double> visible;
      for (int i = 0; i < rows; ++i)
        for (int j = 0; j < keys; ++j) visible.push_back(j <= first + i ? 1 : 0);
      return a.rewrite.call(a.rewrite.self, t, ops::reshape(t, s, {B, H, rows, keys}), q, k,
                            t.constant({rows, keys}, visible.data()), first);
    };
  }
  Build attention() {
    return
        [this](Tape& t, const std::vector<Tensor>& x) { return pesuite::attend(t, attend(t, x)); };
  }
  Build distance() {
    return [this](Tape& t, const std::vector<Tensor>& x) { return attend(t, x).distance; };
  }

 private:
  Attention attend(Tape& t, const std::vector<Tensor>& x) {
    parameters_.assign(x.begin() + 4, x.end());
    StepInfo s;
    s.training = true;
    s.batch = B, s.length = T;
    encoding_.begin(t, s, parameters_);
    Attention a;
    a.q = x[0], a.k = x[1], a.v = x[2], a.scale = scale;
    encoding_.attend(t, 1, x[3], a);
    return a;
  }

  int groups_;
  Encoding encoding_;
  std::vector<Values> inputs_;
  std::vector<Tensor> parameters_;
};

std::unique_ptr<Backend> reference() {
  return open_backend("reference", {});
}
double at(const Values& v, std::initializer_list<std::int64_t> index) {
  std::int64_t n = 0;
  int axis = 0;
  for (const std::int64_t i : index) n = n * v.shape[axis++] + i;
  return v.data[static_cast<std::size_t>(n)];
}
Values forward(Scores& s, const Build& build) {
  const auto backend = reference();
  const Result r = run(*backend, s.inputs(), build, false);
  EXPECT_EQ(r.failure, "");
  return r.y;
}

class Rewriting : public ::testing::TestWithParam<const char*> {};

// Blocks that start and end anywhere, since a host may choose them so.
TEST_P(Rewriting, InBlocksOfRowsIsTheWhole) {
  Scores s(GetParam(), 2);
  const int T = s.T;
  const Values whole = forward(s, s.block(0, T));
  for (const auto& [first, rows] :
       std::map<int, int>{{0, 16}, {5, 64}, {16, 16}, {33, 1}, {48, 22}}) {
    const Values part = forward(s, s.block(first, rows));
    for (std::int64_t n = 0; n < B * H; ++n)
      for (int i = 0; i < rows; ++i)
        for (int j = 0; j <= first + i; ++j)
          ASSERT_NEAR(at(part, {n / H, n % H, i, j}), at(whole, {n / H, n % H, first + i, j}), 1e-9)
              << first << "+" << i << ", " << j;
  }
}

TEST_P(Rewriting, HasTheGradientsOfItsDifferences) {
  Scores s(GetParam(), H, 12);
  const auto backend = reference();
  expect_gradients(*backend, s.inputs(), s.attention(), 2e-6);
}

INSTANTIATE_TEST_SUITE_P(
    Encodings, Rewriting,
    ::testing::Values("fire", "fire(mlp=per_head, layers=shared)", "fire(random_positions=200)",
                      "cope", "cope(gate=separate_key, scale=head)", "cope(gate=value)", "dape",
                      "dape(bias=none)", "transformer_xl(biases=each)", "path_attention",
                      "path_attention(forget=plain)", "grape_a", "grape_a(gate=key)",
                      "grape_a(gate=query)", "grape_ap", "grape_ap(features=4, normalize=both)"));

// Where heads share keys, which golden vectors do not have: each head has its own eye for them.
TEST(GrapeA, GatesSharedKeysHeadByHead) {
  Scores s("grape_a", 2);
  const Values scores = forward(s, s.block(0, s.T));
  const auto gate = [&](const Values& features, int head, int n, const char* name, int b, int h) {
    double size = 0, product = 0;
    for (int c = 0; c < D; ++c) {
      const double u = at(s.parameter(name), {1, h, 0, c});
      size += u * u;
      product += u * at(features, {b, head, n, c});
    }
    return std::log1p(std::exp(product / std::sqrt(size) / std::sqrt(D)));
  };
  for (int b = 0; b < B; ++b)
    for (int h = 0; h < H; ++h)
      for (int i = 0; i < s.T; i += 7)
        for (int j = 0; j <= i; j += 3) {
          const Values &q = s.inputs()[0], &k = s.inputs()[1];
          double wanted = 0;
          for (int c = 0; c < D; ++c) wanted += at(q, {b, h, i, c}) * at(k, {b, h / 2, j, c});
          const double omega = std::log1p(std::exp(at(s.parameter("omega"), {1, h, 0, 0})));
          const double rate = gate(q, h, i, "v", b, h) + gate(k, h / 2, j, "u", b, h);
          wanted = scale * wanted - (i - j) * omega * std::exp2(-2 * (h + 1)) * rate;
          ASSERT_NEAR(at(scores, {b, h, i, j}), wanted, 1e-9) << h << " " << i << " " << j;
        }
}

// Token by token, over three chunks and with two heads a group.
TEST(PathAttention, IsTheProductOfItsReflections) {
  Scores s("path_attention", 2);
  const int T = s.T;
  const Values scores = forward(s, s.block(0, T));
  for (int b = 0; b < B; ++b)
    for (int h = 0; h < H; ++h) {
      std::vector<std::array<double, D>> w(T);
      std::vector<double> beta(T);
      for (int t = 0; t < T; ++t) {
        double squares = 0, z = 0;
        for (int c = 0; c < W; ++c) z += at(s.x(), {b, t, c}) * at(s.parameter("beta"), {1, c, h});
        beta[t] = 2 / (1 + std::exp(-z));
        for (int d = 0; d < D; ++d) {
          w[t][d] = 0;
          for (int c = 0; c < W; ++c)
            w[t][d] += at(s.x(), {b, t, c}) * at(s.parameter("w"), {1, c, h * D + d});
          squares += w[t][d] * w[t][d];
        }
        for (double& e : w[t]) e /= std::sqrt(squares + 1e-6);
      }
      for (int j = 0; j < T; ++j) {
        std::array<double, D> k;
        for (int d = 0; d < D; ++d) k[d] = at(s.inputs()[1], {b, h / 2, j, d});
        for (int i = j; i < T; ++i) {
          double along = 0, score = 0;
          for (int d = 0; d < D && i > j; ++d) along += w[i][d] * k[d];
          for (int d = 0; d < D; ++d) {
            if (i > j) k[d] -= beta[i] * along * w[i][d];
            score += scale * at(s.inputs()[0], {b, h, i, d}) * k[d];
          }
          ASSERT_NEAR(at(scores, {b, h, i, j}), score, 1e-9) << h << " " << i << " " << j;
        }
      }
    }
}

// Where the same token comes again and again, all w are parallel; the series of (1 + L)^-1 then has
// terms that fp32 cannot hold.
TEST(PathAttention, KeepsItsDigitsWhereTokensRepeat) {
  Scores s("path_attention", 2);
  std::vector<Values> inputs = s.inputs();
  for (std::size_t n = 0; n < inputs[3].data.size(); ++n) inputs[3].data[n] = inputs[3].data[n % W];
  const auto of = [&](const char* backend) {
    return run(*open_backend(backend, {}), inputs, s.attention(), false).y;
  };
  expect_close(of("cpu"), of("reference"), 2e-5, "attention");
}

TEST(Fire, PerHeadIsOneNetworkForEachHead) {
  Scores s("fire(mlp=per_head, width=5, threshold=20)");
  const int T = s.T;
  const Values scores = forward(s, s.block(0, T));
  const double c = std::fabs(at(s.parameter("c"), {1, 0})),
               threshold = std::fabs(20 * at(s.parameter("multiplier"), {1, 0}));
  const auto psi = [&](double u) { return std::log(c * u + 1); };
  for (int h = 0; h < H; ++h)
    for (int i = 0; i < T; ++i)
      for (int j = 0; j <= i; ++j) {
        const double x = psi(i - j) / (psi(std::max<double>(i, threshold)) + 1e-6);
        double bias = at(s.parameter("b2"), {1, h, 0, 0}), content = 0;
        for (int f = 0; f < 5; ++f)
          bias += at(s.parameter("w2"), {1, h, 0, f}) *
                  std::max(0.0, at(s.parameter("w1"), {1, h, f, 0}) * x +
                                    at(s.parameter("b1"), {1, h, f, 0}));
        for (int d = 0; d < D; ++d)
          content += scale * at(s.inputs()[0], {1, h, i, d}) * at(s.inputs()[1], {1, h, j, d});
        ASSERT_NEAR(at(scores, {1, h, i, j}), content + bias, 1e-9) << h << " " << i << " " << j;
      }
}

TEST(DynamicBias, IsItsNetworkAtEachDistance) {
  Scores s("dynamic_bias(width=3, depth=2)");
  const int T = s.T;
  const Values bias = forward(s, s.distance());  // [H, T]
  for (int n = 0; n < T; ++n) {
    double first[3], second[3];
    for (int f = 0; f < 3; ++f)
      first[f] = std::max(
          0.0, at(s.parameter("w_in"), {f, 0}) * std::log1p(n) + at(s.parameter("b_in"), {f, 0}));
    for (int f = 0; f < 3; ++f) {
      second[f] = at(s.parameter("b_hidden"), {0, f, 0});
      for (int g = 0; g < 3; ++g) second[f] += at(s.parameter("w_hidden"), {0, f, g}) * first[g];
      second[f] = std::max(0.0, second[f]);
    }
    for (int h = 0; h < H; ++h) {
      double wanted = at(s.parameter("b_out"), {h, 0});
      for (int f = 0; f < 3; ++f) wanted += at(s.parameter("w_out"), {h, f}) * second[f];
      ASSERT_NEAR(at(bias, {h, n}), wanted, 1e-12) << h << " " << n;
    }
  }
}

TEST(Alibi, OptionsChangeSlopesAndDistances) {
  const auto slope = [](const std::string& expression, int h) {
    Scores s(expression);
    return -at(forward(s, s.distance()), {h, 1});
  };
  EXPECT_EQ(slope("alibi", 0), 0.25);
  EXPECT_EQ(slope("alibi(largest=4)", 3), 1 / 16.0);
  EXPECT_EQ(slope("alibi(heads=2)", 1), 1 / 256.0);
  EXPECT_EQ(slope("alibi(heads=2)", 2), 0);
  // three heads: 2^-4 2^-8 2^-2 as published, 2^(-8/3) 2^(-16/3) 2^-8 by the other rule
  EXPECT_EQ(slope("alibi(heads=3)", 2), 0.25);
  EXPECT_NEAR(slope("alibi(heads=3, slopes=geometric)", 1), std::exp2(-16 / 3.0), 1e-15);
  // interpolated: 70 tokens, where 35 were trained
  EXPECT_EQ(slope("alibi(factor=4)", 0), 0.0625);
  EXPECT_EQ(slope("alibi(dynamic=true, original=35)", 0), 0.125);
  EXPECT_EQ(slope("alibi(dynamic=true, original=140)", 0), 0.25);
  EXPECT_NEAR(slope("alibi(dynamic=true, original=35, shorten=0.5)", 0), 0.0625, 1e-15);
  Scores learned("alibi(learned=true)");
  const double f = at(learned.parameter("log_factor"), {2, 0});
  EXPECT_NEAR(-at(forward(learned, learned.distance()), {2, 1}), std::exp(f) / 64, 1e-15);
  Scores drawn("alibi(random_distances=500, shorten=0.5)");
  const Values table = forward(drawn, drawn.distance());
  std::vector<double> distances;
  for (int n = 1; n < drawn.T; ++n) distances.push_back(-4 * at(table, {0, n}) + 0.5);
  EXPECT_THAT(distances, ::testing::Each(::testing::AllOf(::testing::Ge(1), ::testing::Le(499))));
  for (std::size_t n = 1; n < distances.size(); ++n) EXPECT_GT(distances[n], distances[n - 1]);
  EXPECT_GT(distances.back(), 100) << "69 of 499 drawn, and all below 101";
}

// Distance n is the n-th that was drawn (Ruoss et al. 2023), the same of all encodings.
TEST(DrawnDistances, TakeThePlaceOfOneTwoThree) {
  const auto same = [](double a, double b) {  // logarithms of what parameters at random made < 0
    return a == b || (std::isnan(a) && std::isnan(b));
  };
  Scores drawn("alibi(random_distances=500)");
  const Values slopes = forward(drawn, drawn.distance());
  for (const std::string e : {"t5(max_distance=100", "t5(buckets=64, max_distance=499",
                              "kerple(floor=0.01", "kerple(kernel=power", "kerple(kernel=nemo"}) {
    Scores few(e + ", random_distances=500)"), all(e + ")", H, 500);
    const Values some = forward(few, few.distance()), whole = forward(all, all.distance());
    for (int n = 0; n < few.T; ++n)
      for (int h = 0; h < H; ++h)
        ASSERT_PRED2(same, at(some, {h, n}), at(whole, {h, std::lround(-4 * at(slopes, {0, n}))}))
            << e << " " << n;
  }
  // where all there are were drawn
  Scores every("transformer_xl(random_distances=70)"), plain("transformer_xl"),
      far("transformer_xl(random_distances=500)");
  const std::vector<double> near = forward(plain, plain.attention()).data;
  EXPECT_EQ(forward(every, every.attention()).data, near);
  EXPECT_NE(forward(far, far.attention()).data, near);
  // buckets reach as far as what is drawn
  Scores wide("t5(random_distances=500)"), known("t5(max_distance=499, random_distances=500)");
  EXPECT_EQ(forward(wide, wide.distance()).data, forward(known, known.distance()).data);
}

// Who sees which distances, by head.
TEST(HardAlibi, ShowsAHeadItsLastTokensAlone) {
  const auto seen = [](const std::string& expression) {
    Scores s(expression);
    const Values table = forward(s, s.distance());
    std::vector<int> out;
    for (int h = 0; h < H; ++h) {
      int count = 0;
      while (count < s.T && at(table, {h, count}) == 0) ++count;
      for (int n = count; n < s.T; ++n) EXPECT_LT(at(table, {h, n}), -1e4) << h << " " << n;
      out.push_back(count < s.T ? count : 0);
    }
    return out;
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(seen("hard_alibi"), ElementsAre(1, 2, 0, 0));
  EXPECT_THAT(seen("hard_alibi(masked_heads=3)"), ElementsAre(1, 2, 3, 0));
  EXPECT_THAT(seen("hard_alibi(windows=[8, 4])"), ElementsAre(8, 4, 0, 0));
  EXPECT_THAT(seen("hard_alibi(windows=[5, 5, 1, 2])"), ElementsAre(5, 5, 1, 2));
  const auto refusal = [](const std::string& expression) -> std::string {
    try {
      Scores s(expression);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  using ::testing::HasSubstr;
  EXPECT_THAT(refusal("hard_alibi(masked_heads=5)"),
              HasSubstr("'masked_heads' wants at most the model's 4 heads, not 5"));
  EXPECT_THAT(refusal("hard_alibi(windows=[1, 1, 1, 1, 1])"),
              HasSubstr("'windows' wants at most the model's 4 heads, not 5"));
  EXPECT_THAT(refusal("hard_alibi(masked_heads=2, windows=[3])"),
              HasSubstr("one for each of the 2 masked heads, not 1"));
  EXPECT_THAT(refusal("hard_alibi(windows=[1.5])"), HasSubstr("whole numbers"));
}

TEST(Alibi, RefusesListsThatAreNoDistances) {
  const auto refusal = [](const std::string& expression) -> std::string {
    try {
      Scores s(expression);
      forward(s, s.distance());
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_THAT(refusal("alibi(factor=2, dynamic=true)"), ::testing::HasSubstr("exclude each other"));
  EXPECT_THAT(refusal("alibi(heads=5)"), ::testing::HasSubstr("at most the model's 4 heads"));
  for (const char* e : {"alibi", "t5", "kerple", "transformer_xl"})
    EXPECT_THAT(refusal(std::string(e) + "(random_distances=1)"),
                ::testing::HasSubstr("0, or 2 and more"));
  EXPECT_THAT(refusal("t5(bidirectional=true, random_distances=9)"),
              ::testing::HasSubstr("exclude each other"));
  EXPECT_THAT(refusal("transformer_xl(argument=remaining, random_distances=9)"),
              ::testing::HasSubstr("exclude each other"));
  EXPECT_THAT(refusal("alibi(distances=[1, 2.5])"), ::testing::HasSubstr("whole numbers"));
  EXPECT_THAT(refusal("alibi(distances=[1, 2])"), ::testing::HasSubstr("69 numbers of the 2"));
  EXPECT_THAT(refusal("alibi(distances=[3], random_distances=9)"),
              ::testing::HasSubstr("exclude each other"));
}

}  // namespace
}  // namespace pesuite::testing
