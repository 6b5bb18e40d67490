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
    if (!e.optimum.empty()) pay(x, start, e.optimum);
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

  // The law of the depth long after the beginning: Binomial(D, 1/2).
  std::vector<double> stationary() const {
    std::vector<double> law = {std::ldexp(1.0, -depth)};
    for (int d = 0; d < depth; ++d) law.push_back(law.back() * (depth - d) / (d + 1));
    return law;
  }
  double opens(const std::vector<double>& law) const {
    double p = 0;
    for (int d = 0; d < depth; ++d) p += law[d] * (depth - d) / depth;
    return p;
  }
  // The law of the depth behind a bracket that opens or closes.
  std::vector<double> moved(const std::vector<double>& law, bool opening) const {
    std::vector<double> next(law.size());
    const double p = opening ? opens(law) : 1 - opens(law);
    for (int d = 0; d <= depth; ++d) {
      if (opening && d < depth) next[d + 1] = law[d] * (depth - d) / depth / p;
      if (!opening && d > 0) next[d - 1] = law[d] * d / depth / p;
    }
    return next;
  }

  // Cost of each target for one who sees the window alone: how deep it begins is a guess, unless it
  // begins with the document, and so is the type of what opened before it.
  void pay(const std::vector<std::int32_t>& x, std::size_t start, std::span<double> optimum) const {
    std::vector<double> law = stationary();
    std::int64_t seen = 0;  // brackets of the window that are open
    const double any_type = std::log(types);
    for (std::size_t t = start; t <= start + optimum.size(); ++t) {
      if (x[t] == begin) {
        law.assign(law.size(), 0);
        law[0] = 1;
        continue;
      }
      const bool opening = x[t] < close;
      const double p = opening ? opens(law) : 1 - opens(law);
      // taking it from 0 turns the -0 of a certain token into 0
      if (t > start)
        optimum[t - start - 1] = 0 - std::log(p) + (opening || seen == 0 ? any_type : 0);
      law = moved(law, opening);
      seen = opening ? seen + 1 : std::max<std::int64_t>(seen - 1, 0);
    }
  }
  double distinct(int) const { return pes::infinity; }
};

}  // namespace

extern const pes_task brackets_task = pes::task<Brackets>;
