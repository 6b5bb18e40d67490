// A synthetic language of facts: a stream of keys, each followed by its value. A key that comes
// again has its latest value, unless the value changes. Its optimum is known exactly.
#include <cmath>
#include <pesuite/pesuite.hpp>

#include "categorical.h"
#include "window.h"

namespace {

struct Facts : pes::Task {
  static constexpr pes_option options[] = {
      pes::integer("document", "4096", 64, 1 << 20, "tokens of a document"),
      pes::integer("keys", "8", 2, 4096, "key k has probability proportional to 1/(k + 1)"),
      pes::integer("values", "8", 2, 4096, "all equally likely"),
      pes::real("change", "0.1", 0, 1, "probability that a key gets a new value")};
  static constexpr pes_card card = pes::card<Facts>(
      {.name = "facts",
       .summary = "a synthetic language of facts to recall, with an exactly known optimum",
       .taxonomy = "language"});

  corpus::Categorical law;
  std::size_t keys, values;
  std::uint64_t change;

  Facts(const pes_use& use, const pes::Values& v)
      : law(corpus::zipf(static_cast<std::size_t>(v.integer("keys")))),
        keys(law.size()),
        values(static_cast<std::size_t>(v.integer("values"))),
        change(pes::probability(v.real("change"))) {
    document = v.integer("document");
    inputs = outputs = PES_FIRST_SYMBOL + static_cast<std::int32_t>(keys + values);
    head = PES_LM;
    corpus::check_document(document, use.max_length);
  }

  std::int32_t key_token(std::size_t key) const {
    return PES_FIRST_SYMBOL + static_cast<std::int32_t>(key);
  }
  std::int32_t value_token(std::size_t value) const { return key_token(keys + value); }

  void sample(const pes::Request& r, pes::Random& random, pes::Example& e) const {
    const auto start = static_cast<std::size_t>(corpus::window_start(r, document, "facts window"));
    const std::size_t length = e.tokens.size();
    const std::vector<std::int32_t> x = write(random, start + length + 1);
    for (std::size_t t = 0; t < length; ++t) {
      e.tokens[t] = x[start + t];
      e.targets[t] = x[start + t + 1];
    }
    if (e.optimum.empty() && e.distances.empty()) return;
    follow(std::span(x).first(start + length), start, [&](std::size_t t, const Reader& reader) {
      if (!e.optimum.empty()) e.optimum[t] = reader.cost(e.targets[t]);
      if (!e.distances.empty()) e.distances[t] = reader.recall_distance();
    });
  }
  void predict(std::span<const std::int32_t> tokens, std::size_t start,
               std::span<double> nats) const {
    follow(tokens, start, [&](std::size_t t, const Reader& reader) {
      double* const row = nats.data() + t * static_cast<std::size_t>(outputs);
      for (std::int32_t token = 0; token < outputs; ++token) row[token] = reader.cost(token);
    });
  }

  // The first `count` tokens of a document.
  std::vector<std::int32_t> write(pes::Random& random, std::size_t count) const {
    std::vector<std::int32_t> x, latest(keys, -1);
    while (x.size() < count) {
      const std::size_t key = law.draw(random);
      const bool changes = random.bits() < change;
      if (latest[key] < 0 || changes)
        latest[key] = value_token(random.below(static_cast<std::uint32_t>(values)));
      x.push_back(key_token(key));
      x.push_back(latest[key]);
    }
    x.resize(count);
    return x;
  }

  // One who knows the rules and the key that runs at the window's first token. A fact counts as
  // seen when its value stands in the window; to him a value that is not seen is uniform.
  class Reader {
   public:
    explicit Reader(const Facts& task) : task_(task), seen_(task.keys) {}

    void read(std::int32_t token, bool in_window) {
      ++time_;
      if (token < task_.value_token(0)) {
        key_ = static_cast<std::size_t>(token - PES_FIRST_SYMBOL);
        return;
      }
      if (in_window) seen_[key_] = {token, time_};
      key_ = none;
    }
    // Nats of `token` as the next one, infinite where it cannot come.
    double cost(std::int32_t token) const { return 0 - std::log(probability(token)); }
    // Where a value comes next: how far back the key's latest value stands, 0 where none was seen.
    int recall_distance() const {
      if (key_ == none) return -1;
      return seen_[key_].time == 0 ? 0 : time_ + 1 - seen_[key_].time;
    }

   private:
    static constexpr std::size_t none = SIZE_MAX;
    struct Fact {
      std::int32_t value = 0;
      int time = 0;  // when it was read, counted from 1; 0: never
    };

    double probability(std::int32_t token) const {
      const std::int32_t first_value = task_.value_token(0);
      if (token < PES_FIRST_SYMBOL || (token < first_value) != (key_ == none)) return 0;
      if (key_ == none) return task_.law.p(static_cast<std::size_t>(token - PES_FIRST_SYMBOL));
      const double any = 1 / static_cast<double>(task_.values);
      if (seen_[key_].time == 0) return any;
      const double changes = static_cast<double>(task_.change) * 0x1p-32;
      return changes * any + (seen_[key_].value == token ? 1 - changes : 0);
    }

    const Facts& task_;
    std::vector<Fact> seen_;
    std::size_t key_ = none;  // whose value comes next
    int time_ = 0;            // tokens read
  };

  // Calls body(t, reader) where he has read token t of the window that begins at `start`.
  template <class Body>
  void follow(std::span<const std::int32_t> text, std::size_t start, Body body) const {
    Reader reader(*this);
    for (std::size_t t = start > 0 ? start - 1 : 0; t < text.size(); ++t) {
      reader.read(text[t], t >= start);
      if (t >= start) body(t - start, reader);
    }
  }
  double distinct(int) const { return pes::infinity; }
};

}  // namespace

extern const pes_task facts_task = pes::task<Facts>;
