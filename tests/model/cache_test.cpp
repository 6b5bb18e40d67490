// Tokens read one by one behind a cache, against one pass over all of them.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "backend/cpu/bf16.h"
#include "model/cache.h"
#include "model/preset.h"
#include "model/sample.h"
#include "pesuite/random.hpp"
#include "tests/model/each_option.h"
#include "tests/model/forms.h"

namespace pesuite::testing {
namespace {

constexpr int symbols = 20, trained = 24, longest = 72, batch = 2;

class CachedModel {
 public:
  explicit CachedModel(const std::string& encoding, const std::string& backend = "cpu",
                       Precision precision = Precision::fp32, ModelConfig c = small())
      : backend_(open_backend(backend, {.threads = 1, .precision = precision})) {
    model_ = std::make_unique<Model>(
        *backend_, c, compose(built_catalog(), encoding, shape_of(c, trained, longest)), 1);
    pes::Random r(5, 1, 1);
    for (int i = 0; i < batch * longest; ++i)
      tokens_.push_back(static_cast<std::int32_t>(r.below(symbols)));
  }
  static ModelConfig small() {
    ModelConfig c = preset("micro").config;
    c.vocabulary = c.classes = symbols;
    return c;
  }
  Model& model() { return *model_; }
  std::vector<std::int32_t> tokens(int from, int to) const {  // [batch, to - from]
    std::vector<std::int32_t> out;
    for (int b = 0; b < batch; ++b)
      out.insert(out.end(), tokens_.begin() + b * longest + from,
                 tokens_.begin() + b * longest + to);
    return out;
  }
  // Logits behind the first `length` tokens, of one pass over them.
  std::vector<double> full(int length) {
    Batch b;
    b.size = batch, b.length = length;
    b.tokens = tokens(0, length);
    b.targets.assign(b.tokens.size(), -1);
    for (int i = 0; i < batch; ++i) b.targets[static_cast<std::size_t>((i + 1) * length - 1)] = 0;
    StepInfo s;
    s.batch = batch, s.length = length;
    std::vector<double> out;
    Inspection look;
    look.logits = [&](const std::vector<double>& logits) { out = logits; };
    model_->score(b, s, look);
    return out;
  }

 private:
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Model> model_;
  std::vector<std::int32_t> tokens_;
};

double furthest(const std::vector<double>& a, const std::vector<double>& b) {
  EXPECT_EQ(a.size(), b.size());
  double most = 0, top = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (const double d = std::abs(a[i] - b[i]); !(d <= most)) most = d;  // nan too
    top = std::max(top, std::abs(b[i]));
  }
  return most / top;
}

// Reads on in steps of 1, 7 and more, within the training length and past it.
void expect_equal(CachedModel& m, double bound) {
  Cache cache(m.model(), batch, longest);
  int at = 0;
  for (const int to : {1, 2, 9, 10, 23, 24, 25, 26, 33, 64, 65, 72}) {
    const std::vector<double> cached = m.model().read(cache, m.tokens(at, to));
    EXPECT_LE(furthest(cached, m.full(to)), bound) << "tokens " << at << " to " << to;
    at = to;
  }
  EXPECT_EQ(cache.length(), longest);
  EXPECT_GT(cache.memory(), 0u);
}

// Reads on behind caches of several lengths, a token of each at a time: past the training length,
// and past one that has ended.
void expect_equal_side_by_side(CachedModel& m, double bound) {
  std::vector<int> at = {3, 22, 40, 1};
  std::vector<std::unique_ptr<Cache>> caches;
  for (const int length : at) {
    caches.push_back(std::make_unique<Cache>(m.model(), batch, longest));
    m.model().read(*caches.back(), m.tokens(0, length));
  }
  for (int n = 0; n < 6; ++n) {
    if (n == 4) caches.erase(caches.begin()), at.erase(at.begin());
    std::vector<Cache*> all;
    std::vector<std::int32_t> next;
    std::vector<double> wanted;
    for (std::size_t c = 0; c < caches.size(); ++c) {
      all.push_back(caches[c].get());
      const std::vector<std::int32_t> own = m.tokens(at[c], at[c] + 1);
      next.insert(next.end(), own.begin(), own.end());
      const std::vector<double> full = m.full(++at[c]);
      wanted.insert(wanted.end(), full.begin(), full.end());
    }
    EXPECT_LE(furthest(m.model().read(all, next), wanted), bound) << "step " << n;
  }
  for (std::size_t c = 0; c < caches.size(); ++c) EXPECT_EQ(caches[c]->length(), at[c]);
}

class CacheOf : public ::testing::TestWithParam<std::string> {};

TEST_P(CacheOf, EqualsAPassOverAllTokens) {
  CachedModel cpu(GetParam());
  expect_equal(cpu, 1e-5);
  CachedModel reference(GetParam(), "reference");
  expect_equal(reference, 1e-12);
}
TEST_P(CacheOf, OfSeveralLengthsSideBySide) {
  CachedModel cpu(GetParam());
  expect_equal_side_by_side(cpu, 1e-5);
  CachedModel reference(GetParam(), "reference");
  expect_equal_side_by_side(reference, 1e-12);
}

TEST(Cache, EqualsAPassOverAllTokensWithEachOption) {
  int held = 0;
  for (const std::string& expression : with_one_option()) {
    SCOPED_TRACE(expression);
    try {
      CachedModel m(expression, "reference");
      m.full(longest);
      expect_equal(m, 1e-12);
    } catch (const Error&) {
      continue;  // the option wants another beside it, or shorter texts
    }
    ++held;
  }
  EXPECT_GE(held, 200);
}

INSTANTIATE_TEST_SUITE_P(All, CacheOf, ::testing::ValuesIn(built_catalog().encoding_names()));

INSTANTIATE_TEST_SUITE_P(
    Options, CacheOf,
    ::testing::Values(
        "alibi(dynamic=true)", "alibi(random_distances=500)", "t5(random_distances=500)",
        "kerple(random_distances=500)", "transformer_xl(random_distances=500)",
        "yarn(dynamic=true)", "ntk(dynamic=true)", "linear(dynamic=true)", "longrope(dynamic=true)",
        "longrope(start_tokens=4)", "rope(log_n=length)", "rope(log_n=position)",
        "clex(log_scale=true)", "rope + alibi", "sinusoidal + alibi", "sinusoidal + fire",
        "learned + cope", "layers[rope, none]", "layers[rope, alibi]", "layers[rope, fox]",
        "hard_alibi", "learned(rows=24, past=interpolate)", "learned(rows=24, past=clamp)",
        "drope(qk_norm=true)", "rope + fox", "transformer_xl(argument=remaining)",
        "pose(target=96)", "randomized(encoding=rotary)", "rope + drope", "rope + ssmax",
        "grape_m(contextual=true)", "fope(learned=true)", "selective_rope(kernel=0, gate=true)"));

TEST(Cache, OfModelsOfOtherForms) {
  for (const std::string encoding : {"rope", "alibi", "cope", "sinusoidal"}) {
    ModelConfig grouped = CachedModel::small();
    grouped.kv_heads = 1, grouped.window = 10, grouped.parallel = true;
    CachedModel m(encoding, "cpu", Precision::fp32, grouped);
    expect_equal(m, 1e-5);
    expect_equal_side_by_side(m, 1e-5);
    for (const QkNorm norm : {QkNorm::before, QkNorm::after, QkNorm::q, QkNorm::k}) {
      ModelConfig normed = CachedModel::small();
      normed.qk_norm = norm, normed.tied = false, normed.embedding_norm = true;
      CachedModel n(encoding, "cpu", Precision::fp32, normed);
      expect_equal(n, 1e-5);
      expect_equal_side_by_side(n, 1e-5);
    }
  }
}

TEST(Cache, OfModelsOfPublishedForms) {
  for (auto& [name, form] : other_forms()) {
    form.vocabulary = form.classes = symbols;
    for (const std::string encoding : {"rope", "layers[rope, none]", "cope"}) {
      SCOPED_TRACE(name + ", " + encoding);
      CachedModel m(encoding, "cpu", Precision::fp32, form);
      expect_equal(m, 1e-5);
      expect_equal_side_by_side(m, 1e-5);
    }
  }
}

TEST(Cache, InBf16) {
  if (bf16::best_kernel() == bf16::Kernel::none) GTEST_SKIP() << "no bf16 here";
  for (const std::string encoding : {"rope", "alibi", "fire", "cope", "sinusoidal"}) {
    CachedModel m(encoding, "cpu", Precision::bf16);
    expect_equal(m, 3e-2);
    expect_equal_side_by_side(m, 3e-2);
  }
}

TEST(Cache, ReadsAgainWhatIsStale) {
  CachedModel fixed("yarn"), dynamic("yarn(dynamic=true)");
  for (CachedModel* m : {&fixed, &dynamic}) {
    Cache cache(m->model(), batch, longest);
    m->model().read(cache, m->tokens(0, trained));
    EXPECT_EQ(cache.rereads(), 0);
    m->model().read(cache, m->tokens(trained, trained + 1));
    EXPECT_EQ(cache.rereads(), m == &dynamic ? 1 : 0);
  }
}

// The same texts whether prompts go on side by side or one after the other, also where some end.
TEST(Generation, OfPromptsOfSeveralLengths) {
  CachedModel m("rope", "reference");
  const std::vector<std::vector<std::int32_t>> prompts = {
      {1, 2, 3, 4, 5}, {6}, {7, 8, 9, 10, 11}, {12, 13}, {14, 15}, {16, 17, 18}};
  Generating g;
  g.tokens = 8, g.seed = 3, g.ends = {0, 1};
  const auto written = [&](int at_a_time) {
    g.batch = at_a_time;
    std::vector<std::vector<std::int32_t>> heard(prompts.size());
    g.each = [&](std::size_t i, std::int32_t token) { heard[i].push_back(token); };
    GenerationTime time;
    const std::vector<Continuation> all = generate(m.model(), prompts, g, &time);
    std::int64_t drawn = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(heard[i], all[i].tokens);
      drawn += std::ssize(all[i].tokens);
    }
    EXPECT_EQ(time.drawn, drawn);
    EXPECT_EQ(time.read, 18);
    return all;
  };
  const std::vector<Continuation> alone = written(1);
  std::size_t ended = 0;
  for (const int at_a_time : {2, 4, 8}) {
    const std::vector<Continuation> all = written(at_a_time);
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(all[i].tokens, alone[i].tokens) << i << " of " << at_a_time;
      EXPECT_EQ(all[i].ended, alone[i].ended) << i << " of " << at_a_time;
      ended += all[i].ended ? 1 : 0;
    }
  }
  EXPECT_GT(ended, 0u);
  EXPECT_LT(ended, 3 * prompts.size());
}

TEST(Cache, GoesBackAndHasAnEnd) {
  CachedModel m("rope");
  Cache cache(m.model(), batch, 30);
  m.model().read(cache, m.tokens(0, 20));
  const std::vector<double> once = m.model().read(cache, m.tokens(20, 30));
  EXPECT_THROW(m.model().read(cache, m.tokens(30, 31)), Error);
  cache.cut(20);
  EXPECT_EQ(m.model().read(cache, m.tokens(20, 30)), once);

  Cache other(m.model(), batch, 30), full(m.model(), batch, 20);
  m.model().read(other, m.tokens(0, 3));
  m.model().read(full, m.tokens(0, 20));
  cache.cut(25);
  std::vector<Cache*> all = {&cache, &other, &full};
  std::vector<std::int32_t> next(6, 1);
  EXPECT_THROW(m.model().read(all, next), Error);
  EXPECT_EQ(cache.length(), 25);
  EXPECT_EQ(other.length(), 3);
}

}  // namespace
}  // namespace pesuite::testing
