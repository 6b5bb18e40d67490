// Rotary encodings where golden vectors do not reach: names that are one encoding, methods that
// follow the length, far positions, shared keys, drawn positions, what is refused.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <set>

#include "base/error.h"
#include "encoding/encoding.h"
#include "tests/catalog.h"
#include "tests/scratch.h"
#include "tests/support.h"

namespace pesuite::testing {
namespace {

using ::testing::HasSubstr;

constexpr int H = 4, D = 8, L = 32, longest = 128;

struct Pass {
  int length = L, offset = 0, layer = 0, groups = H;
  bool training = false;
  std::uint64_t seed = 1;
};

// q and k of one layer as the encoding leaves them, and scale q.k [1, H, T, T].
struct Outcome {
  std::vector<double> q, k, scores;
};
Outcome outcome(const std::string& expression, const Pass& p = {}) {
  ModelShape m;
  m.layers = 2, m.heads = H, m.kv_heads = p.groups, m.head_dim = D, m.width = H * D;
  m.train_length = L, m.max_length = longest;
  Encoding e(built_catalog(), parse_expression(expression), m);
  const auto backend = open_backend("reference", {});
  std::vector<Values> inputs = {random_values({1, H, p.length, D}, 1),
                                random_values({1, p.groups, p.length, D}, 2)};
  for (const auto& spec : e.parameters()) inputs.push_back(random_values(spec.shape, 9, 0.3));
  std::vector<Tensor> parameters;
  const auto build = [&](int which) {
    return [&, which](Tape& t, const std::vector<Tensor>& x) {
      parameters.assign(x.begin() + 2, x.end());
      StepInfo s;
      s.batch = 1, s.length = p.length, s.offset = p.offset;
      s.training = p.training, s.seed = p.seed;
      e.begin(t, s, parameters);
      Attention a;
      a.q = x[0], a.k = x[1], a.v = x[1], a.scale = 1;
      e.attend(t, p.layer, {}, a);
      if (which == 0) return a.q;
      if (which == 1) return a.k;
      const Tensor q = ops::reshape(t, a.q, {1, p.groups, H / p.groups * p.length, D});
      return ops::affine(t, ops::matmul(t, q, a.k, true), a.scale, 0);
    };
  };
  Outcome o;
  for (int which = 0; which < 3; ++which) {
    const Result r = run(*backend, inputs, build(which), false);
    EXPECT_EQ(r.failure, "") << expression;
    (which == 0 ? o.q : which == 1 ? o.k : o.scores) = r.y.data;
  }
  return o;
}
double apart(const std::vector<double>& a, const std::vector<double>& b) {
  EXPECT_EQ(a.size(), b.size());
  double worst = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    worst = std::max(worst, std::fabs(a[i] - b[i]));
  return worst;
}

// As large a share of the wavelengths fits into L as into 2,048 tokens with base 10,000.
TEST(Rotary, FitsItsBaseToTheLength) {
  const double base = std::pow(10000, std::log(L / (2 * M_PI)) / std::log(2048 / (2 * M_PI)));
  EXPECT_NEAR(base, 13.3, 0.1);
  const std::vector<double> fitted = outcome("rope(base=0)").q,
                            given = outcome(fmt::format("rope(base={})", base)).q;
  ASSERT_EQ(fitted.size(), given.size());
  for (std::size_t i = 0; i < fitted.size(); ++i) ASSERT_NEAR(fitted[i], given[i], 1e-9);
  EXPECT_NE(fitted, outcome("rope").q);
  try {
    outcome("rope(base=0.5)");
    ADD_FAILURE() << "wavelengths that shrink";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("needs a base from 1 on, or 0"));
  }
}

TEST(Rotary, NamesOfOneEncoding) {
  const Pass p{.length = 100};
  for (const auto& [a, b] : std::vector<std::pair<std::string, std::string>>{
           {"abf", "rope(base=500000)"},
           {"resonance", "rope(resonance=true)"},
           {"abf(base=10000, resonance=true)", "resonance"},
           {"linear(factor=1, resonance=true)", "resonance"},
           {"llama3(factor=1, resonance=true)", "resonance"},
           {"p_rope(p=1, resonance=true)", "resonance"},
           {"multiscale_rope(base_min=10000, base_max=10000, resonance=true)", "resonance"},
           {"rope(features=0.5)", "rope(features=4)"},
           {"rope(features=1)", "rope"},
           {"p_rope(p=1)", "rope"},
           {"yarn(scale=4)", "yarn(factor=4)"},
           {"yarn", "yarn(scale=4, original=32)"}})  // of 128 and 32 tokens
    EXPECT_EQ(outcome(a, p).q, outcome(b, p).q) << a << " " << b;
}

TEST(Rotary, DynamicMethodsAreRopeUpToTheTrainingLengthAndNotBeyond) {
  for (const char* e : {"linear(dynamic=true)", "ntk(dynamic=true)", "yarn(dynamic=true)",
                        "ntk(dynamic=true, by_parts=true)", "longrope(policy=none)"}) {
    EXPECT_EQ(apart(outcome(e).q, outcome("rope").q), 0) << e;
    const Pass beyond{.length = L + 1};
    EXPECT_GT(apart(outcome(e, beyond).q, outcome("rope", beyond).q), 1e-2) << e;
  }
}

TEST(Rotary, LengthsInAnyOrderGiveTheSame) {  // tables are kept and made again
  ModelShape m;
  m.layers = 1, m.heads = m.kv_heads = 1, m.head_dim = D, m.width = D;
  m.train_length = L, m.max_length = longest;
  const auto backend = open_backend("reference", {});
  const auto turned = [&](Encoding& e, int length, int offset) {
    return run(
        *backend, {random_values({1, 1, length, D}, 1)},
        [&](Tape& t, const std::vector<Tensor>& x) {
          StepInfo s;
          s.batch = 1, s.length = length, s.offset = offset;
          e.begin(t, s, {});
          Attention a;
          a.q = a.k = a.v = x[0], a.scale = 1;
          e.attend(t, 0, {}, a);
          return a.q;
        },
        false);
  };
  for (const char* text : {"rope", "ntk(dynamic=true)", "longrope(start_tokens=5)", "xpos",
                           "rope(resonance=true, log_n=position)"}) {
    Encoding kept(built_catalog(), parse_expression(text), m);
    const int steps[][2] = {{8, 0},  {100, 0},   {8, 0},   {3, 8},
                            {1, 11}, {4, 90000}, {100, 0}, {2, 4}};
    for (const auto& [length, offset] : steps) {
      Encoding fresh(built_catalog(), parse_expression(text), m);
      EXPECT_EQ(turned(kept, length, offset).y.data, turned(fresh, length, offset).y.data)
          << text << " " << length << " at " << offset;
    }
  }
}

TEST(Rotary, ScoresDependOnTheDistanceAlone) {
  for (const char* e :
       {"rope", "p_rope", "xpos", "multiscale_rope", "llama3", "rope(layout=interleaved)"})
    for (const int groups : {H, 2}) {
      const Pass here{.groups = groups}, there{.offset = 1 << 20, .groups = groups};
      EXPECT_LT(apart(outcome(e, here).scores, outcome(e, there).scores), 1e-7) << e;
      EXPECT_GT(apart(outcome(e, here).q, outcome(e, there).q), 1e-2) << e;
    }
}

TEST(Rotary, LogNScalesQueriesBeyondTheTrainingLength) {
  const Pass beyond{.length = 2 * L};
  const Outcome plain = outcome("rope", beyond), each = outcome("rope(log_n=position)", beyond),
                all = outcome("rope(log_n=length)", beyond);
  EXPECT_EQ(apart(outcome("rope(log_n=position)").q, outcome("rope").q), 0);
  for (int n = 0; n < 2 * L; ++n) {
    const auto at = static_cast<std::size_t>(n * D);
    const double gain = std::max(1.0, std::log(n + 1.0) / std::log(L));
    EXPECT_NEAR(each.q[at], gain * plain.q[at], 1e-12);
  }
  EXPECT_NEAR(all.scores[7], plain.scores[7] * std::log(2.0 * L) / std::log(L), 1e-12);
}

TEST(Rotary, RandomizedPositionsDifferByLayerAndSeedAndKeepTheirOrder) {
  const std::string e = "randomized(max=200)";
  const std::vector<double> q = outcome(e).q;
  EXPECT_EQ(q, outcome(e).q);
  EXPECT_GT(apart(q, outcome(e, {.layer = 1}).q), 1e-2);
  EXPECT_GT(apart(q, outcome(e, {.seed = 2}).q), 1e-2);
  // a draw of all there are is no draw
  EXPECT_LT(
      apart(outcome("randomized(max=128)", {.length = 128}).q, outcome("rope", {.length = 128}).q),
      1e-12);
  EXPECT_LT(apart(outcome("randomized(max=200, positions=[3, 1, 2, 0])", {.length = 4}).q,
                  outcome("rope", {.length = 4}).q),
            1e-12);
}

TEST(Rotary, ClexDrawsInTrainingAndFollowsTheLengthInEvaluation) {
  const std::string e = "clex(max_factor=4, time_dt=0.25)";
  EXPECT_EQ(apart(outcome(e).q, outcome("rope").q), 0);  // t = 1
  std::vector<std::vector<double>> drawn;
  for (std::uint64_t seed = 0; seed < 8; ++seed)
    drawn.push_back(outcome(e, {.training = true, .seed = seed}).q);
  EXPECT_EQ(drawn[3], outcome(e, {.training = true, .seed = 3}).q);
  EXPECT_GT(apart(drawn[0], drawn[1]), 1e-2);
  // Beyond 4 L the factor stays: the solution at the end of the grid.
  const Pass far{.length = 4 * L + 1};
  EXPECT_LT(apart(outcome(e, far).q, outcome("clex(time=4, time_dt=0.25)", far).q), 1e-9);
}

// Where the tokens of a pass stand, by how far the slowest pair of head 0 is turned: D = 8 and base
// 10,000 turn it by 0.001 a position.
std::vector<int> places(const std::string& e, const Pass& p) {
  const std::vector<double> before = random_values({1, H, p.length, D}, 1).data;
  const std::vector<double> after = outcome(e, p).q;
  const auto angle = [](const std::vector<double>& q, int t) {
    const auto at = static_cast<std::size_t>(t * D + D / 2 - 1);
    return std::atan2(q[at + D / 2], q[at]);
  };
  std::vector<int> out;
  for (int t = 0; t < p.length; ++t) {
    const double turned = std::remainder(angle(after, t) - angle(before, t), 2 * M_PI);
    out.push_back(static_cast<int>(std::lround(turned / 0.001)));
  }
  return out;
}
// Tokens of each run of consecutive places.
std::vector<int> chunks_of(const std::vector<int>& places) {
  std::vector<int> out;
  for (std::size_t t = 0; t < places.size(); ++t)
    if (t == 0 || places[t] != places[t - 1] + 1)
      out.push_back(1);
    else
      ++out.back();
  return out;
}

TEST(Rotary, PoseSkipsInTrainingAlone) {
  const std::string e = "pose(target=128, interpolation=none)";
  EXPECT_EQ(outcome(e).q, outcome("rope").q);
  EXPECT_EQ(outcome("pose(target=128)").q, outcome("linear(factor=4)").q);
  EXPECT_LT(apart(outcome("pose(interpolation=yarn, beta_fast=32)").q, outcome("yarn(factor=4)").q),
            1e-12);
  EXPECT_LT(apart(outcome("pose(interpolation=yarn)").q,  // 32 / 8 pi
                  outcome("yarn(factor=4, beta_fast=1.2732395447)").q),
            1e-8);
  EXPECT_LT(apart(outcome("pose(interpolation=ntk)").q, outcome("ntk(factor=4)").q), 1e-12);
  double skipped = 0, first = 0;
  std::set<int> lengths;
  constexpr int draws = 1000;
  for (std::uint64_t seed = 0; seed < draws; ++seed) {
    const std::vector<int> at = places(e, {.training = true, .seed = seed});
    const std::vector<int> chunks = chunks_of(at);
    ASSERT_EQ(at[0], 0);
    ASSERT_LE(chunks.size(), 2U);
    ASSERT_LT(at.back(), 128);
    skipped += at.back() - (L - 1);
    if (chunks.size() == 2) {
      ASSERT_LE(chunks[0], L / 2);
      first += chunks[0], lengths.insert(chunks[0]);
    }
  }
  EXPECT_NEAR(skipped / draws, 48, 4 * 28 / std::sqrt(draws));  // uniform on 0 .. 96
  EXPECT_NEAR(first / draws, 8.5 * 96 / 97, 4 * 4.7 / std::sqrt(draws));
  EXPECT_EQ(lengths.size(), L / 2U);
  const Pass training{.training = true, .seed = 3}, above{.layer = 1, .training = true, .seed = 3};
  EXPECT_EQ(places(e, training), places(e, above));
}

TEST(Rotary, PoseCutsSequencesIntoChunks) {
  std::size_t most = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Pass training{.training = true, .seed = seed};
    const std::vector<int> at = places("pose(target=128, chunks=3, interpolation=none)", training);
    const std::vector<int> chunks = chunks_of(at);
    for (std::size_t i = 0; i + 1 < chunks.size(); ++i) ASSERT_LE(chunks[i], i == 0 ? 22 : 11);
    ASSERT_LT(at.back(), 128);
    most = std::max(most, chunks.size());
    for (const char* none : {"pose(target=128, chunks=1, interpolation=none)", "pose(target=16)"})
      ASSERT_EQ(outcome(none, training).q, outcome("rope").q);
    ASSERT_EQ(places("pose(chunks=1000, interpolation=none)", {.length = 1, .training = true})[0],
              0);
  }
  EXPECT_EQ(most, 3U);
}

TEST(Rotary, FactorsComeFromAFile) {
  const Scratch folder;
  const std::string path = folder / "factors.txt";
  std::ofstream(path) << "# found\nattention_factor = 1.25\n1, 2\n 3.5  # two more\n4\n";
  const Pass beyond{.length = L + 1};
  EXPECT_EQ(outcome("longrope(factors='" + path + "')", beyond).q,
            outcome("longrope(long_factor=[1, 2, 3.5, 4], attention_factor=1.25)", beyond).q);
}

std::string refusal(const std::string& expression) {
  try {
    outcome(expression);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

constexpr double out_of_sight = std::numeric_limits<double>::infinity();

// Attention whose query i and key j turn as if they stood so far apart, by its definition: q [1, H,
// T, D], k [1, G, T, D], which are the values too; [T, H D].
std::vector<double> by_definition(const Values& q, const Values& k,
                                  const std::function<double(int, int)>& apart) {
  const int T = static_cast<int>(q.shape[2]), G = static_cast<int>(k.shape[1]);
  std::vector<double> y(static_cast<std::size_t>(T * H * D));
  for (int h = 0; h < H; ++h)
    for (int i = 0; i < T; ++i) {
      const double* a = &q.data[static_cast<std::size_t>((h * T + i) * D)];
      std::vector<double> p;
      double total = 0;
      for (int j = 0; j <= i; ++j) {
        const double* b = &k.data[static_cast<std::size_t>((h / (H / G) * T + j) * D)];
        double score = 0;
        for (int r = 0; r < D / 2 && apart(i, j) != out_of_sight; ++r) {
          const double angle = apart(i, j) * std::pow(10000, -2.0 * r / D);
          score += (a[r] * b[r] + a[r + D / 2] * b[r + D / 2]) * std::cos(angle) +
                   (a[r] * b[r + D / 2] - a[r + D / 2] * b[r]) * std::sin(angle);
        }
        p.push_back(apart(i, j) == out_of_sight ? 0 : std::exp(score));
        total += p.back();
      }
      for (int j = 0; j <= i; ++j)
        for (int d = 0; d < D; ++d)
          y[static_cast<std::size_t>((i * H + h) * D + d)] +=
              p[static_cast<std::size_t>(j)] / total *
              k.data[static_cast<std::size_t>((h / (H / G) * T + j) * D + d)];
    }
  return y;
}

// With `T` tokens, in one block of rows or in many.
void far_tokens_turn_by_other_positions(int T) {
  constexpr int G = 2;
  const Values q = random_values({1, H, T, D}, 1), k = random_values({1, G, T, D}, 2);
  // An et al. 2024, equations 3 to 7, where a chunk has `s` tokens and `c` is the largest position
  const auto chunks = [](int s, int c) {
    return [=](int i, int j) {
      if (i / s == j / s) return i % s - j % s;
      return std::min(i / s - j / s == 1 ? i % s + s : 2 * s - 1, c) - j % s;
    };
  };
  const auto first_stand = [](int sinks, const std::function<double(int, int)>& where) {
    return [=](int i, int j) { return j < sinks ? where(i, j) : out_of_sight; };
  };
  // positions in a cache of `sinks` first and `window` last tokens, from which nothing has gone
  // until it is full
  const auto cached = [](int sinks, int window) {
    return [=](int i, int j) -> double {
      if (i < sinks + window || i - j < window) return i - j;
      return j < sinks ? sinks + window - 1 - j : out_of_sight;
    };
  };
  const auto near_or = [](int window, const std::function<double(int, int)>& far) {
    return [=](int i, int j) { return i - j < window ? i - j : far(i, j); };
  };
  struct Wanted {
    const char* expression;
    std::function<double(int, int)> apart;
    double grown = 1;  // scores
  };
  const Wanted wanted[] = {
      {"rope", [](int i, int j) { return i - j; }},
      {"rerope(window=10)", near_or(10, [](int, int) { return 10; })},
      {"rerope(window=10, leak=4)",
       near_or(10, [](int i, int j) { return 10 + (i - j - 10) / 4.0; })},
      {"rerope", near_or(16, [](int, int) { return 16; })},
      {"self_extend(window=10, group=4)",
       near_or(10, [](int i, int j) { return i / 4 - j / 4 + 10 - 10 / 4; })},
      // a quarter of 32 tokens, and groups that bring 128 into 32
      {"self_extend", near_or(8, [](int i, int j) { return i / 5 - j / 5 + 8 - 8 / 5; })},
      {"dual_chunk(chunk=10, window=3)", chunks(7, 10)},
      {"dual_chunk(chunk=10, window=8)", chunks(2, 10)},
      {"dual_chunk(chunk=10, window=3, mscale=0.1)", chunks(7, 10), 0.1 * std::log(T / 32.0) + 1},
      {"dual_chunk(original=40, mscale=2)", chunks(25, 30), 2 * std::log(T / 40.0) + 1},
      {"dual_chunk", chunks(20, 24)},  // three quarters of 32 tokens, and an eighth less
      {"lm_infinite(window=10, sinks=3)", near_or(10, first_stand(3, [](int, int) { return 10; }))},
      {"lm_infinite", near_or(32, first_stand(10, [](int, int) { return 32; }))},
      {"lm_infinite(window=5, distance=9, sinks=40)",
       near_or(5, first_stand(40, [](int, int) { return 9; }))},
      {"streaming_llm(window=10, sinks=3)", cached(3, 10)},
      {"streaming_llm(window=10, sinks=0)", cached(0, 10)},
      {"streaming_llm(window=10, sinks=300)", cached(300, 10)},
      {"streaming_llm", cached(4, 28)}};
  for (const auto& [expression, apart, grown] : wanted) {
    ModelShape m;
    m.layers = 1, m.heads = H, m.kv_heads = G, m.head_dim = D, m.width = H * D;
    m.train_length = L, m.max_length = longest;
    Encoding e(built_catalog(), parse_expression(expression), m);
    const auto backend = open_backend("reference", {});
    const Result r = run(
        *backend, {q, k},
        [&](Tape& t, const std::vector<Tensor>& x) {
          StepInfo s;
          s.batch = 1, s.length = T;
          e.begin(t, s, {});
          Attention a;
          a.q = x[0], a.k = a.v = x[1], a.scale = 1;
          e.attend(t, 0, x[0], a);
          e.rewrite_with(0, a.scale);
          return attend(t, a);
        },
        false);
    EXPECT_EQ(r.failure, "") << expression;
    Values queries = q;
    for (double& x : queries.data) x *= grown;
    const std::vector<double> y = by_definition(queries, k, apart);
    ASSERT_EQ(y.size(), r.y.data.size());
    for (std::size_t i = 0; i < y.size(); ++i)
      ASSERT_NEAR(r.y.data[i], y[i], 1e-9) << expression << ", " << i;
  }
}

TEST(Rotary, FarTokensTurnByOtherPositions) {
  far_tokens_turn_by_other_positions(70);
}
TEST(Rotary, FarTokensTurnSoInEveryBlock) {
  far_tokens_turn_by_other_positions(600);
}

TEST(Rotary, Refuses) {
  EXPECT_THAT(refusal("rope(features=3)"), HasSubstr("even number of features"));
  EXPECT_THAT(refusal("rope(features=10)"), HasSubstr("at most the head size 8"));
  EXPECT_THAT(refusal("yarn(factor=4, scale=8)"), HasSubstr("two names of one number"));
  EXPECT_THAT(refusal("yarn(base=1)"), HasSubstr("base above 1"));
  EXPECT_THAT(refusal("longrope(long_factor=[1, 2])"), HasSubstr("2 factors for 4 pairs"));
  EXPECT_THAT(refusal("longrope(factors='no/such')"), HasSubstr("cannot read the factors file"));
  const Scratch folder;
  const std::string path = folder / "wrong.txt";
  std::ofstream(path) << "1 2 x 4";
  EXPECT_THAT(refusal("longrope(factors='" + path + "')"), HasSubstr("holds 'x'"));
  EXPECT_THAT(refusal("llama3(low_freq_factor=4)"), HasSubstr("low_freq_factor below"));
  EXPECT_THAT(refusal("randomized(max=64)"), HasSubstr("raise max"));
  EXPECT_THAT(refusal("pose(positions=[0, 1])"), HasSubstr("2 positions for 32 tokens; give more"));
  EXPECT_THAT(refusal("clex(features=2)"), HasSubstr("at least 4 features"));
  EXPECT_THAT(refusal("dual_chunk(chunk=8, window=8)"), HasSubstr("wants less than 'chunk', 8"));
}

}  // namespace
}  // namespace pesuite::testing
