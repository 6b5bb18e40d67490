// task.hpp -- turns a class into a pes_task. Included by pesuite.hpp.
#ifndef PESUITE_TASK_HPP_
#define PESUITE_TASK_HPP_

#include <pesuite/pesuite.h>

#include <pesuite/options.hpp>
#include <pesuite/random.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace pes {

struct Request {
  const pes_request* c;
  pes_split split = c->split;
  std::uint64_t seed = c->seed, index = c->index;
  int length = c->length;
  std::int64_t start = c->start;

  // True when the request leaves axis `i` to the task, to be drawn as in training.
  bool draws(int i) const { return c->axes == nullptr || std::isnan(c->axes[i]); }
  double axis(int i) const { return c->axes[i]; }
};
struct Example {
  std::span<std::int32_t> tokens, targets;
  std::span<double> optimum;          // empty when nobody asks for it
  std::span<std::int32_t> positions;  // the same; zeros at first
  std::span<std::int32_t> distances;  // the same; -1 at first
};

struct Chance {
  double accuracy = std::nan(""), exact = std::nan("");  // of targets; of whole examples
};

// Base of a task: the fields of pes_task_created, filled by the derived constructor. A derived
// class defines sample(), and of oracle(), chance() and distinct() what exists for it; instead of
// chance(length), Chance chance_at(const Request&) where it depends on axes or is known for whole
// examples; where the law of the targets is known, predict(tokens, start, nats), as pes_task has
// it: span<const int32_t>, size_t, span<double> of [tokens - start, outputs], infinity at first.
class Task {
 public:
  std::int32_t inputs = 0, outputs = 0;
  pes_head head = PES_LM;
  std::int64_t document = 0, documents[3] = {};
  std::vector<std::int32_t> token_bytes;
  std::string digest, note;
  std::vector<const pes_axis*> axes;
  std::vector<const pes_shortcut*> shortcuts;
  std::int32_t candidate_first = 0, candidates = 0;
  std::vector<std::int32_t> candidate_tokens;  // instead of both, where they are no run
  std::int32_t positions = 0;
  std::int32_t separator = -1;  // where a document begins that sees none before it; -1: no such
  bool determined = false;      // targets follow from the visible tokens: the optimum is 0 nats
};

namespace detail {

struct TaskNames {
  void oracle(), chance(), chance_at(), distinct(), predict();
};

template <class T>
struct TaskGlue {
  using Seen = std::span<const std::int32_t>;
  using Targets = std::span<std::int32_t>;
  static constexpr bool guesses_at = requires(const T& t, const Request& r, Chance c) {
    c = t.chance_at(r);
  };

  static const T& of(const void* p) { return *static_cast<const T*>(p); }

  static bool create(const pes_use* use, const char* const* values, pes_task_created* out,
                     char* error) {
    return guard(error, [&] {
      T* t = new T(*use, Values(option_span<T>(), values));
      t->axes.push_back(nullptr);
      t->shortcuts.push_back(nullptr);
      out->self = t;
      out->inputs = t->inputs;
      out->outputs = t->outputs;
      out->head = t->head;
      out->document = t->document;
      std::copy(t->documents, t->documents + 3, out->documents);
      out->token_bytes = t->token_bytes.empty() ? nullptr : t->token_bytes.data();
      out->digest = t->digest.empty() ? nullptr : t->digest.c_str();
      out->note = t->note.empty() ? nullptr : t->note.c_str();
      out->axes = t->axes.data();
      out->shortcuts = t->shortcuts.data();
      if (PES_HAS(out, candidates)) {  // a host of minor 0 does not rank
        out->candidate_first = t->candidate_first;
        out->candidates = t->candidates;
      }
      if (PES_HAS(out, candidate_tokens) && !t->candidate_tokens.empty()) {
        out->candidates = static_cast<std::int32_t>(t->candidate_tokens.size());
        out->candidate_tokens = t->candidate_tokens.data();
      }
      if (PES_HAS(out, positions)) out->positions = t->positions;
      if (t->separator >= 0) {
        if (!PES_HAS(out, separator))
          throw Refusal("separates documents, which needs a pesuite of plugin ABI 1.6 or newer");
        out->separated = 1;
        out->separator = t->separator;
      }
    });
  }
  static void destroy(void* self) { delete static_cast<T*>(self); }

  // The stream of an example: (seed; task, version, split, and for problems length and axes;
  // index). A corpus leaves the length out, so that a document is the same at every length.
  static Random stream(const T& t, const pes_request& r) {
    std::uint64_t key = hash64(T::card.version, hash64(T::card.name));
    key = mix64(key, static_cast<std::uint64_t>(r.split));
    if (t.document == 0) {
      key = mix64(key, static_cast<std::uint64_t>(r.length));
      for (std::size_t i = 0; i + 1 < t.axes.size(); ++i) {
        const double value = r.axes == nullptr ? std::nan("") : r.axes[i];
        key = mix64(key, std::isnan(value) ? ~0ull : std::bit_cast<std::uint64_t>(value));
      }
    }
    return Random(mix64(key, r.seed), purpose("task"), r.index);
  }
  static bool sample(const void* self, const pes_request* r, pes_example* out, char* error) {
    return guard(error, [&] {
      const T& t = of(self);
      const auto n = static_cast<std::size_t>(r->length);
      std::int32_t* const positions = PES_HAS(out, positions) ? out->positions : nullptr;
      std::int32_t* const distances = PES_HAS(out, distances) ? out->distances : nullptr;
      Example e{{out->tokens, n},
                {out->targets, n},
                {out->optimum, out->optimum ? n : 0},
                {positions, positions ? n : 0},
                {distances, distances ? n : 0}};
      std::fill(e.positions.begin(), e.positions.end(), 0);
      std::fill(e.optimum.begin(), e.optimum.end(), std::nan(""));
      Random random = stream(t, *r);
      t.sample(Request{r}, random, e);
      if (t.determined && !e.optimum.empty())
        for (std::size_t i = 0; i < n; ++i)
          if (e.targets[i] >= 0) e.optimum[i] = 0;
    });
  }
  static void oracle(const void* self, const std::int32_t* tokens, std::int32_t length,
                     std::int32_t* targets) {
    const auto n = static_cast<std::size_t>(length);
    of(self).oracle(std::span(tokens, n), std::span(targets, n));
  }
  static double chance(const void* self, std::int32_t length) {
    if constexpr (guesses_at) {
      pes_request r{};
      r.size = sizeof(r);
      r.length = length;
      return of(self).chance_at(Request{&r}).accuracy;
    } else {
      return of(self).chance(length);
    }
  }
  static void chance_at(const void* self, const pes_request* r, double* accuracy, double* exact) {
    const Chance c = of(self).chance_at(Request{r});
    *accuracy = c.accuracy;
    *exact = c.exact;
  }
  static double distinct(const void* self, std::int32_t length) {
    return of(self).distinct(length);
  }

  static void predict(const void* self, const std::int32_t* tokens, std::int32_t length,
                      std::int32_t start, double* nats) {
    const auto n = static_cast<std::size_t>(length), first = static_cast<std::size_t>(start);
    const std::span out(nats, (n - first) * static_cast<std::size_t>(of(self).outputs));
    std::fill(out.begin(), out.end(), infinity);
    of(self).predict(std::span(tokens, n), first, out);
  }

  static constexpr pes_task make() {
    pes_task t{};
    t.size = sizeof(pes_task);
    t.card = &T::card;
    t.create = create;
    t.destroy = destroy;
    t.sample = sample;
    constexpr bool answers = requires(const T& t, Seen seen, Targets out) {
      t.oracle(seen, out);
    };
    constexpr bool guesses = requires(const T& t, int n, double share) {
      share = t.chance(n);
    };
    constexpr bool counts = requires(const T& t, int n, double log10) {
      log10 = t.distinct(n);
    };
    constexpr bool predicts = requires(const T& t, Seen seen, std::span<double> out) {
      t.predict(seen, std::size_t{}, out);
    };
    if constexpr (answers) t.oracle = oracle;
    if constexpr (guesses || guesses_at) t.chance = chance;
    if constexpr (guesses_at) t.chance_at = chance_at;
    if constexpr (counts) t.distinct = distinct;
    if constexpr (predicts) t.predict = predict;
    using Both = BesideNames<T, TaskNames>;
    static_assert(
        answers || requires { &Both::oracle; },
        "oracle() is no function of the task: it must be public, const and callable as "
        "oracle(std::span<const std::int32_t>, std::span<std::int32_t>) const");
    static_assert(
        guesses || requires { &Both::chance; },
        "chance() is no function of the task: it must be public, const and callable as "
        "double chance(int) const");
    static_assert(
        guesses_at || requires { &Both::chance_at; },
        "chance_at() is no function of the task: it must be public, const and callable "
        "as pes::Chance chance_at(const pes::Request&) const");
    static_assert(
        counts || requires { &Both::distinct; },
        "distinct() is no function of the task: it must be public, const and callable "
        "as double distinct(int) const");
    static_assert(
        predicts || requires { &Both::predict; },
        "predict() is no function of the task: it must be public, const and callable as "
        "predict(std::span<const std::int32_t>, std::size_t, std::span<double>) const");
    return t;
  }
};

}  // namespace detail

template <class T>
inline constexpr pes_task task = detail::TaskGlue<T>::make();

}  // namespace pes

#endif  // PESUITE_TASK_HPP_
