// Nested brackets of several types, never deeper than D: at depth d the next one opens with
// probability (D - d)/D, with a uniform type, or closes the last one that is open.
#include <algorithm>
#include <cmath>
#include <pesuite/pesuite.hpp>

#include "window.h"

namespace {

struct Brackets : pes::Task {
  static constexpr pes_option options[] = {
      pes::integer("document", "4096", 64, 1 << 20, "tokens of a document"),
      pes::integer("depth", "4", 1, 64, "most brackets open at a time"),
      pes::integer("types", "8", 1, 256, "of brackets")};
  static constexpr pes_card card =
      pes::card<Brackets>({.name = "brackets",
                           .summary = "nested brackets with an exactly known optimum",
                           .taxonomy = "language"});
  static constexpr int begin = PES_FIRST_SYMBOL, open = begin + 1;  // then closing ones

  int depth, types, close;

  Brackets(const pes_use& use, const pes::Values& v)
      : depth(static_cast<int>(v.integer("depth"))),
        types(static_cast<int>(v.integer("types"))),
        close(open + types) {
    document = v.integer("document");
    inputs = outputs = close + types;
    head = PES_LM;
    corpus::check_document(document, use.max_length);
  }

  void sample(const pes::Request& r, pes::Random& random, pes::Example& e) const {
    const auto start =
        static_cast<std::size_t>(corpus::window_start(r, document, "brackets window"));
    const std::vector<std::int32_t> x = write(random, start + e.tokens.size() + 1);
    const auto first = x.begin() + static_cast<std::ptrdiff_t>(start);
    std::copy_n(first, e.tokens.size(), e.tokens.begin());
    std::copy_n(first + 1, e.targets.size(), e.targets.begin());
    if (!e.optimum.empty())
      follow(e.tokens, [&](std::size_t t, const Reader& reader) {
        e.optimum[t] = reader.cost(e.targets[t]);
      });
    measure(e);
  }
  // From a bracket that closes to the one that it closes.
  void measure(pes::Example& e) const {
    std::vector<int> opened;  // places of those that are open
    for (int t = 0; t < std::ssize(e.distances); ++t) {
      if (e.tokens[t] >= open && e.tokens[t] < close) opened.push_back(t);
      if (e.tokens[t] >= close && !opened.empty()) opened.pop_back();
      if (e.targets[t] >= close) e.distances[t] = opened.empty() ? 0 : t + 1 - opened.back();
    }
  }
  void predict(std::span<const std::int32_t> tokens, std::size_t start,
               std::span<double> nats) const {
    follow(tokens.subspan(start), [&](std::size_t t, const Reader& reader) {
      double* const row = nats.data() + t * static_cast<std::size_t>(outputs);
      for (std::int32_t token = 0; token < outputs; ++token) row[token] = reader.cost(token);
    });
  }

  std::vector<std::int32_t> write(pes::Random& random, std::size_t count) const {
    std::vector<std::int32_t> x = {begin}, stack;
    while (x.size() < count) {
      if (random.between(0, depth - 1) >= std::ssize(stack)) {
        stack.push_back(random.between(0, types - 1));
        x.push_back(open + stack.back());
      } else {
        x.push_back(close + stack.back());
        stack.pop_back();
      }
    }
    return x;
  }

  // One who knows the rules and sees the window alone: how deep it begins is a guess, unless it
  // begins with the document, and so is the type of what opened before it.
  class Reader {
   public:
    explicit Reader(const Brackets& task) : task_(task), law_(stationary()) {}

    void read(std::int32_t token) {
      if (token == begin) {
        law_.assign(law_.size(), 0);
        law_[0] = 1;
        return;
      }
      const bool opening = token < task_.close;
      law_ = moved(opening);
      if (opening)
        seen_.push_back(token - open);
      else if (!seen_.empty())
        seen_.pop_back();
    }
    // Nats of `token` as the next one, infinite where it cannot come.
    double cost(std::int32_t token) const {
      if (token < open) return pes::infinity;
      const bool opening = token < task_.close, any_type = opening || seen_.empty();
      if (!any_type && token - task_.close != seen_.back()) return pes::infinity;
      // rounding may take opens() beyond 1
      const double p = opening ? opens() : std::max(0.0, 1 - opens());
      return std::max(0.0, -std::log(p) + (any_type ? std::log(task_.types) : 0));
    }

   private:
    // The law of the depth long after the beginning: Binomial(D, 1/2).
    std::vector<double> stationary() const {
      std::vector<double> law = {std::ldexp(1.0, -task_.depth)};
      for (int d = 0; d < task_.depth; ++d) law.push_back(law.back() * (task_.depth - d) / (d + 1));
      return law;
    }
    double opens() const {
      double p = 0;
      for (int d = 0; d < task_.depth; ++d) p += law_[d] * (task_.depth - d) / task_.depth;
      return p;
    }
    // The law of the depth behind a bracket that opens or closes.
    std::vector<double> moved(bool opening) const {
      const int depth = task_.depth;
      std::vector<double> next(law_.size());
      const double p = opening ? opens() : 1 - opens();
      for (int d = 0; d <= depth; ++d) {
        if (opening && d < depth) next[d + 1] = law_[d] * (depth - d) / depth / p;
        if (!opening && d > 0) next[d - 1] = law_[d] * d / depth / p;
      }
      return next;
    }

    const Brackets& task_;
    std::vector<double> law_;         // of the depth
    std::vector<std::int32_t> seen_;  // types of the window's brackets that are open
  };

  // Calls body(t, reader) where he has read the window's token t.
  template <class Body>
  void follow(std::span<const std::int32_t> window, Body body) const {
    Reader reader(*this);
    for (std::size_t t = 0; t < window.size(); ++t) {
      reader.read(window[t]);
      body(t, reader);
    }
  }
  double distinct(int) const { return pes::infinity; }
};

}  // namespace

extern const pes_task brackets_task = pes::task<Brackets>;
