// Texts of several lengths read side by side behind caches, with every encoding, against the
// reference in double.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "model/cache.h"
#include "model/preset.h"
#include "tests/catalog.h"
#include "tests/gpu/subject.h"

namespace pesuite::testing {
namespace {

constexpr int symbols = 19, trained = 16, longest = 40, read_on = 4;

// Logits behind texts of 3, 14 and 30 tokens, and behind each of the four that follow.
std::vector<double> logits_behind_caches(Backend& backend, const std::string& encoding) {
  ModelConfig config = preset("micro").config;
  config.vocabulary = config.classes = symbols;
  Model model(backend, config,
              compose(built_catalog(), encoding, shape_of(config, trained, longest)), 3);
  const auto token = [](int text, int place) { return (text + 5 * place * place) % symbols; };
  std::vector<double> all;
  const auto keep = [&](const std::vector<double>& logits) {
    all.insert(all.end(), logits.begin(), logits.end());
  };
  std::vector<std::unique_ptr<Cache>> caches;
  std::vector<Cache*> pointers;
  for (const int length : {3, 14, 30}) {
    caches.push_back(std::make_unique<Cache>(model, 2, longest));
    pointers.push_back(caches.back().get());
    std::vector<std::int32_t> tokens;
    for (int text = 0; text < 2; ++text)
      for (int place = 0; place < length; ++place) tokens.push_back(token(text, place));
    keep(model.read(*caches.back(), tokens));
  }
  for (int n = 0; n < read_on; ++n) {
    std::vector<std::int32_t> next;
    for (const auto& cache : caches)
      for (int text = 0; text < 2; ++text) next.push_back(token(text, cache->length()));
    keep(model.read(pointers, next));
  }
  return all;
}

void expect_as_the_reference(const std::string& encoding, Precision precision, double bound) {
  const auto wanted = logits_behind_caches(*open_backend("reference", {}), encoding);
  const auto actual = logits_behind_caches(*subject(precision), encoding);
  ASSERT_EQ(actual.size(), wanted.size());
  double most = 0, top = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (const double d = std::abs(actual[i] - wanted[i]); !(d <= most)) most = d;  // NaN too
    top = std::max(top, std::abs(wanted[i]));
  }
  EXPECT_LE(most / top, bound);
}

class Caches : public ::testing::TestWithParam<std::string> {};

TEST_P(Caches, OfSeveralLengthsAgreeWithTheReference) {
  if (const std::string why = absent(); !why.empty()) GTEST_SKIP() << why;
  expect_as_the_reference(GetParam(), Precision::fp32, 1e-5);
  expect_as_the_reference(GetParam(), Precision::bf16, 4e-2);
}

INSTANTIATE_TEST_SUITE_P(All, Caches, ::testing::ValuesIn(built_catalog().encoding_names()));

}  // namespace
}  // namespace pesuite::testing
