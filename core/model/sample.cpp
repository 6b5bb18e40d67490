#include "model/sample.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
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

// Prompts of one length, read and continued side by side.
class SideBySide {
 public:
  SideBySide(Model& m, std::span<const std::vector<std::int32_t>> prompts,
             std::vector<std::size_t> members, const Generating& g, std::vector<Continuation>& out,
             GenerationTime& time)
      : model_(m),
        prompts_(prompts),
        members_(std::move(members)),
        g_(g),
        out_(out),
        time_(time),
        length_(static_cast<int>(prompts[members_[0]].size())),
        cache_(m, static_cast<int>(members_.size()), length_ + g.tokens) {}

  void run() {
    std::vector<std::int32_t> next;
    for (const std::size_t i : members_)
      next.insert(next.end(), prompts_[i].begin(), prompts_[i].end());
    std::vector<double> logits;
    time_.reading += seconds_of([&] { logits = model_.read(cache_, next); });
    time_.read += std::ssize(next);
    time_.drawing += seconds_of([&] {
      for (int n = 0; n < g_.tokens; ++n) {
        next = drawn(logits, n);
        if (n + 1 == g_.tokens || all_ended()) break;
        logits = model_.read(cache_, next);
      }
    });
    time_.rereads += cache_.rereads();
  }

 private:
  bool all_ended() const {
    return std::all_of(members_.begin(), members_.end(),
                       [&](std::size_t i) { return out_[i].ended; });
  }
  std::vector<std::int32_t> drawn(const std::vector<double>& logits, int n) {
    const std::size_t classes = logits.size() / members_.size();
    std::vector<std::int32_t> next;
    for (std::size_t b = 0; b < members_.size(); ++b) {
      Continuation& c = out_[members_[b]];
      next.push_back(0);  // what is read behind an end counts for nobody
      if (c.ended) continue;
      pes::Random random(pes::mix64(g_.seed, members_[b]), pes::purpose("sample"),
                         static_cast<std::uint32_t>(n));
      const std::int32_t token =
          draw(std::span(logits).subspan(b * classes, classes), g_.sampling, random.uniform());
      c.ended = std::find(g_.ends.begin(), g_.ends.end(), token) != g_.ends.end();
      if (c.ended) continue;
      next.back() = token;
      c.tokens.push_back(token);
      ++time_.drawn;
      if (g_.each) g_.each(members_[b], token);
    }
    return next;
  }

  Model& model_;
  std::span<const std::vector<std::int32_t>> prompts_;
  std::vector<std::size_t> members_;
  const Generating& g_;
  std::vector<Continuation>& out_;
  GenerationTime& time_;
  int length_;
  Cache cache_;
};

}  // namespace

std::vector<Continuation> generate(Model& model, std::span<const std::vector<std::int32_t>> prompts,
                                   const Generating& g, GenerationTime* time) {
  check(g.sampling);
  std::map<std::size_t, std::vector<std::size_t>> by_length;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    if (prompts[i].empty()) fail(Exit::usage, "a prompt has no tokens; there is nothing to go on");
    for (const std::int32_t t : prompts[i])
      if (t < 0 || t >= model.config().vocabulary)
        fail(Exit::usage, "token {} of a prompt is none of the model's {}", t,
             model.config().vocabulary);
    by_length[prompts[i].size()].push_back(i);
  }
  std::vector<Continuation> out(prompts.size());
  GenerationTime spent;
  const auto most = static_cast<std::size_t>(std::max(1, g.batch));
  for (const auto& [length, members] : by_length)
    for (std::size_t first = 0; first < members.size() && g.tokens > 0; first += most) {
      const auto begin = members.begin() + static_cast<std::ptrdiff_t>(first);
      const auto end = begin + static_cast<std::ptrdiff_t>(std::min(most, members.size() - first));
      SideBySide(model, prompts, {begin, end}, g, out, spent).run();
    }
  if (time != nullptr) *time = spent;
  return out;
}

}  // namespace pesuite
