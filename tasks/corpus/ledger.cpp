// A synthetic language whose optimum is known: records that are set and asked for again, filler
// words of a hidden topic, nested brackets. An example is a window of a document.
#include "ledger.h"
#include "window.h"

#include <algorithm>
#include <pesuite/pesuite.hpp>

namespace {

struct Ledger : pes::Task {
  static constexpr pes_option options[] = {
      pes::integer("document", "4096", 64, 1 << 20, "tokens of a document"),
      pes::choice("mix", "standard", "standard|retrieval",
                  "kinds of sentences: ASK .28 and FIL .50, or ASK .45 and FIL .33, where more of "
                  "the text depends on what was written far away")};
  static constexpr pes_card card = pes::card<Ledger>(
      {.name = "ledger",
       .summary = "a synthetic language with long-range records and an exactly known optimum",
       .taxonomy = "language"});

  ledger::Law law;

  Ledger(const pes_use& use, const pes::Values& v)
      : law(ledger::make_law(v.is("mix", "retrieval") ? ledger::Mix::retrieval
                                                      : ledger::Mix::standard)) {
    document = v.integer("document");
    inputs = outputs = PES_FIRST_SYMBOL + static_cast<std::int32_t>(law.alphabet());
    head = PES_LM;
    corpus::check_document(document, use.max_length);
  }

  void sample(const pes::Request& r, pes::Random& random, pes::Example& e) const {
    const auto start = static_cast<std::size_t>(corpus::window_start(r, document, "ledger window"));
    const std::size_t length = e.tokens.size();
    // one more token than the window holds: the last target
    const std::vector<std::int32_t> text = ledger::write(law, random, start + length + 1);
    for (std::size_t t = 0; t < length; ++t) {
      e.tokens[t] = PES_FIRST_SYMBOL + text[start + t];
      e.targets[t] = PES_FIRST_SYMBOL + text[start + t + 1];
    }
    if (!e.optimum.empty() || !e.distances.empty())
      follow(std::span(text).first(start + length), start,
             [&](std::size_t t, const ledger::Reader& reader) {
               if (!e.optimum.empty()) e.optimum[t - start] = reader.cost(text[t + 1]);
               if (!e.distances.empty()) e.distances[t - start] = reader.recall_distance();
             });
  }
  void predict(std::span<const std::int32_t> tokens, std::size_t start,
               std::span<double> nats) const {
    std::vector<std::int32_t> text(tokens.begin(), tokens.end());
    for (std::int32_t& token : text) token -= PES_FIRST_SYMBOL;
    follow(text, start, [&](std::size_t t, const ledger::Reader& reader) {
      double* const row = nats.data() + (t - start) * static_cast<std::size_t>(outputs);
      for (std::size_t token = 0; token < law.alphabet(); ++token)
        row[PES_FIRST_SYMBOL + token] = reader.cost(token);
    });
  }
  // Calls body(t, reader) where he has read text[t], for each t of the window from `start` on.
  template <class Body>
  void follow(std::span<const std::int32_t> text, std::size_t start, Body body) const {
    ledger::Reader reader(law, start);
    for (std::size_t t = 0; t < text.size(); ++t) {
      reader.read(text[t]);
      if (t >= start) body(t, reader);
    }
  }
  double distinct(int) const { return pes::infinity; }
};

}  // namespace

extern const pes_task ledger_task = pes::task<Ledger>;
