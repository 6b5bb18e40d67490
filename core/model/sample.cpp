#include "model/sample.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>

#include "base/error.h"
#include "pesuite/random.hpp"

namespace pesuite {

void check(const Sampling& s) {
  if (!(s.temperature >= 0) || !std::isfinite(s.temperature))
    fail(Exit::usage, "temperature {}: wants a number from 0 on, 0 for the likeliest token",
         s.temperature);
  if (s.top_k < 0) fail(Exit::usage, "top_k {}: wants a number of tokens, 0 for all", s.top_k);
  if (!(s.top_p > 0 && s.top_p <= 1))
    fail(Exit::usage, "top_p {}: wants a probability above 0, 1 for all tokens", s.top_p);
}

namespace {

// The largest; infinity where one is no number. Side by side, in one pass: 8 texts have 256,000 of
// them a step, and one after another they would be 4 % of it.
double top_of(std::span<const double> logits) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  std::array<double, 8> tops;
  tops.fill(-infinity);
  for (std::size_t i = 0; i < logits.size(); i += tops.size()) {
    const std::size_t n = std::min(tops.size(), logits.size() - i);
    const auto take = [&](std::size_t j) {
      const double x = logits[i + j];
      const double known = x < infinity ? x : infinity;  // NaN is not below
      tops[j] = known > tops[j] ? known : tops[j];
    };
    if (n == tops.size())
      for (std::size_t j = 0; j < tops.size(); ++j) take(j);
    else
      for (std::size_t j = 0; j < n; ++j) take(j);
  }
  return std::ranges::max(tops);
}

// Tokens that may be drawn, and their weights.
struct Choice {
  std::vector<std::int32_t> tokens;
  std::vector<double> weights;
};
Choice choice(std::span<const double> logits, double top, const Sampling& s) {
  Choice c;
  c.tokens.resize(logits.size());
  std::iota(c.tokens.begin(), c.tokens.end(), 0);
  const auto logit = [&](std::int32_t t) { return logits[static_cast<std::size_t>(t)]; };
  const auto likelier = [&](std::int32_t a, std::int32_t b) {
    return logit(a) != logit(b) ? logit(a) > logit(b) : a < b;
  };
  const auto all = static_cast<int>(c.tokens.size());
  const int kept = s.top_k > 0 ? std::min(s.top_k, all) : all;
  if (kept < all) {
    std::nth_element(c.tokens.begin(), c.tokens.begin() + kept, c.tokens.end(), likelier);
    c.tokens.resize(static_cast<std::size_t>(kept));
  }
  if (kept < all || s.top_p < 1) std::sort(c.tokens.begin(), c.tokens.end(), likelier);
  for (const std::int32_t t : c.tokens)
    c.weights.push_back(std::exp((logit(t) - top) / s.temperature));
  const double total = std::accumulate(c.weights.begin(), c.weights.end(), 0.0);
  if (s.top_p == 1) return c;
  double held = 0;
  std::size_t n = 0;
  while (n < c.weights.size() && (n == 0 || held < s.top_p * total)) held += c.weights[n++];
  c.tokens.resize(n), c.weights.resize(n);
  return c;
}

double seconds_of(const std::function<void()>& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

std::int32_t draw(std::span<const double> logits, const Sampling& s, double u) {
  PES_CHECK(!logits.empty());
  const double top = top_of(logits);
  if (!std::isfinite(top))
    fail(Exit::internal, "the model's logits are no numbers: nothing can be drawn from them");
  if (s.temperature == 0)
    return static_cast<std::int32_t>(std::ranges::find(logits, top) - logits.begin());
  const Choice c = choice(logits, top, s);
  double left = u * std::accumulate(c.weights.begin(), c.weights.end(), 0.0);
  for (std::size_t i = 0; i < c.tokens.size(); ++i)
    if ((left -= c.weights[i]) < 0) return c.tokens[i];
  return c.tokens.back();
}

namespace {

// Prompts that are continued side by side, those of one length behind one cache.
class SideBySide {
 public:
  // `members`: by length.
  SideBySide(Model& m, std::span<const std::vector<std::int32_t>> prompts,
             std::span<const std::size_t> members, const Generating& g,
             std::vector<Continuation>& out, GenerationTime& time)
      : model_(m), prompts_(prompts), g_(g), out_(out), time_(time) {
    const auto length = [&](std::size_t i) { return prompts[i].size(); };
    for (std::size_t first = 0, end = 0; first < members.size(); first = end) {
      while (end < members.size() && length(members[end]) == length(members[first])) ++end;
      const std::span<const std::size_t> own = members.subspan(first, end - first);
      groups_.push_back({{own.begin(), own.end()},
                         std::make_unique<Cache>(m, static_cast<int>(own.size()),
                                                 static_cast<int>(length(own[0])) + g.tokens)});
    }
  }

  void run() {
    std::vector<double> logits;
    time_.reading += seconds_of([&] {
      for (const Group& group : groups_) {
        std::vector<std::int32_t> tokens;
        for (const std::size_t i : group.members)
          tokens.insert(tokens.end(), prompts_[i].begin(), prompts_[i].end());
        const std::vector<double> own = model_.read(*group.cache, tokens);
        logits.insert(logits.end(), own.begin(), own.end());
        time_.read += std::ssize(tokens);
      }
    });
    time_.drawing += seconds_of([&] {
      for (int n = 0; n < g_.tokens; ++n) {
        const std::vector<std::int32_t> next = drawn(logits, n);
        if (n + 1 == g_.tokens || groups_.empty()) break;
        std::vector<Cache*> caches;
        for (const Group& group : groups_) caches.push_back(group.cache.get());
        logits = model_.read(caches, next);
      }
    });
    for (const Group& group : groups_) time_.rereads += group.cache->rereads();
  }

 private:
  struct Group {
    std::vector<std::size_t> members;
    std::unique_ptr<Cache> cache;
  };

  // The next token of each that goes on. A group whose members have all ended leaves.
  std::vector<std::int32_t> drawn(const std::vector<double>& logits, int n) {
    const auto classes = static_cast<std::size_t>(model_.config().outputs());
    std::vector<std::int32_t> next;
    std::size_t row = 0;
    std::erase_if(groups_, [&](const Group& group) {
      std::vector<std::int32_t> own;
      for (const std::size_t i : group.members)
        own.push_back(draw_for(i, std::span(logits).subspan(row++ * classes, classes), n));
      const bool ended = std::ranges::all_of(group.members, [&](auto i) { return out_[i].ended; });
      if (ended)
        time_.rereads += group.cache->rereads();
      else
        next.insert(next.end(), own.begin(), own.end());
      return ended;
    });
    return next;
  }
  // 0 for one that has ended: what is read behind an end counts for nobody.
  std::int32_t draw_for(std::size_t i, std::span<const double> logits, int n) {
    Continuation& c = out_[i];
    if (c.ended) return 0;
    pes::Random random(pes::mix64(g_.seed, i), pes::purpose("sample"),
                       static_cast<std::uint32_t>(n));
    const std::int32_t token = draw(logits, g_.sampling, random.uniform());
    c.ended = std::ranges::find(g_.ends, token) != g_.ends.end();
    if (c.ended) return 0;
    c.tokens.push_back(token);
    ++time_.drawn;
    if (g_.each) g_.each(i, token);
    return token;
  }

  Model& model_;
  std::span<const std::vector<std::int32_t>> prompts_;
  const Generating& g_;
  std::vector<Continuation>& out_;
  GenerationTime& time_;
  std::vector<Group> groups_;
};

}  // namespace

std::vector<Continuation> generate(Model& model, std::span<const std::vector<std::int32_t>> prompts,
                                   const Generating& g, GenerationTime* time) {
  check(g.sampling);
  std::vector<std::size_t> by_length;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    if (prompts[i].empty()) fail(Exit::usage, "a prompt has no tokens; there is nothing to go on");
    for (const std::int32_t t : prompts[i])
      if (t < 0 || t >= model.config().vocabulary)
        fail(Exit::usage, "token {} of a prompt is none of the model's {}", t,
             model.config().vocabulary);
    by_length.push_back(i);
  }
  std::ranges::stable_sort(by_length, {}, [&](std::size_t i) { return prompts[i].size(); });
  std::vector<Continuation> out(prompts.size());
  GenerationTime spent;
  const auto most = static_cast<std::size_t>(std::max(1, g.batch));
  for (std::size_t first = 0; first < by_length.size() && g.tokens > 0; first += most) {
    const std::size_t n = std::min(most, by_length.size() - first);
    SideBySide(model, prompts, std::span(by_length).subspan(first, n), g, out, spent).run();
  }
  if (time != nullptr) *time = spent;
  return out;
}

}  // namespace pesuite
