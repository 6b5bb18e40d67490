// A synthetic language of exact lags: a symbol follows from the one before, or from the one three
// places before, or comes from the document's hidden topic. Its optimum is known exactly.
#include <algorithm>
#include <cmath>
#include <pesuite/pesuite.hpp>

#include "categorical.h"
#include "toylag_tables.h"
#include "window.h"

namespace {

constexpr int symbols = 24, topics = 6;
constexpr double p_near = .35, p_far = .35, p_topic = .30;  // lag 1, lag 3, topic

struct Toylag : pes::Task {
  static constexpr pes_option options[] = {
      pes::integer("document", "4096", 64, 1 << 20, "tokens of a document")};
  static constexpr pes_card card = pes::card<Toylag>(
      {.name = "toylag",
       .summary = "a synthetic language of exact lags with an exactly known optimum",
       .taxonomy = "language"});

  std::vector<corpus::Categorical> laws;  // of the topics

  Toylag(const pes_use& use, const pes::Values& v) {
    document = v.integer("document");
    inputs = outputs = PES_FIRST_SYMBOL + symbols;
    head = PES_LM;
    for (const auto& units : toylag::topic_symbols) laws.push_back(corpus::from_units(units));
    corpus::check_document(document, use.max_length);
  }

  void sample(const pes::Request& r, pes::Random& random, pes::Example& e) const {
    const auto start = static_cast<std::size_t>(corpus::window_start(r, document, "toylag window"));
    const std::vector<int> x = write(random, start + e.tokens.size() + 1);
    for (std::size_t t = 0; t < e.tokens.size(); ++t) {
      e.tokens[t] = PES_FIRST_SYMBOL + x[start + t];
      e.targets[t] = PES_FIRST_SYMBOL + x[start + t + 1];
    }
    if (!e.optimum.empty())
      follow(x, start, start + e.tokens.size(), [&](std::size_t t, const Posterior& posterior) {
        e.optimum[t - start] = cost(posterior, x, t + 1, x[t + 1]);
      });
  }
  void predict(std::span<const std::int32_t> tokens, std::size_t start,
               std::span<double> nats) const {
    std::vector<int> x(tokens.begin(), tokens.end());
    for (int& symbol : x) symbol -= PES_FIRST_SYMBOL;
    follow(x, start, x.size(), [&](std::size_t t, const Posterior& posterior) {
      double* const row = nats.data() + (t - start) * static_cast<std::size_t>(outputs);
      for (int symbol = 0; symbol < symbols; ++symbol)
        row[PES_FIRST_SYMBOL + symbol] = cost(posterior, x, t + 1, symbol);
    });
  }

  std::vector<int> write(pes::Random& random, std::size_t count) const {
    const corpus::Categorical& law = laws[random.below(topics)];
    constexpr std::uint64_t near = pes::probability(p_near), far = pes::probability(p_near + p_far);
    std::vector<int> x(count);
    for (std::size_t t = 0; t < count; ++t) {
      const std::uint64_t kind = t < 3 ? far : random.bits();
      x[t] = kind < near  ? toylag::follower[0][x[t - 1]]
             : kind < far ? toylag::follower[1][x[t - 3]]
                          : static_cast<int>(law.draw(random));
    }
    return x;
  }

  // P(the symbol at t | topic z and the symbols before), the lagged ones being known.
  double probability(const std::vector<int>& x, std::size_t t, int symbol, std::size_t z) const {
    const double from_topic = laws[z].p(static_cast<std::size_t>(symbol));
    if (t < 3) return from_topic;
    return p_topic * from_topic + (toylag::follower[0][x[t - 1]] == symbol ? p_near : 0) +
           (toylag::follower[1][x[t - 3]] == symbol ? p_far : 0);
  }
  using Posterior = std::array<double, topics>;
  double probability(const Posterior& posterior, const std::vector<int>& x, std::size_t t,
                     int symbol) const {
    double total = 0;
    for (std::size_t z = 0; z < topics; ++z) total += posterior[z] * probability(x, t, symbol, z);
    return total;
  }
  double cost(const Posterior& posterior, const std::vector<int>& x, std::size_t t,
              int symbol) const {
    return -std::log(probability(posterior, x, t, symbol));
  }
  // Calls body(t, posterior) for start <= t < end, of one who has read x[t] and sees the window
  // and, at its start, the symbols that lags reach back to; of the topic he knows what the window
  // tells.
  template <class Body>
  void follow(const std::vector<int>& x, std::size_t start, std::size_t end, Body body) const {
    Posterior posterior;
    posterior.fill(1.0 / topics);
    for (std::size_t t = start; t < end; ++t) {
      const double total = probability(posterior, x, t, x[t]);
      for (std::size_t z = 0; z < topics; ++z) posterior[z] *= probability(x, t, x[t], z) / total;
      body(t, posterior);
    }
  }
  double distinct(int) const { return pes::infinity; }
};

}  // namespace

extern const pes_task toylag_task = pes::task<Toylag>;
