// A synthetic language whose optimum is known: records that are set and asked for again, filler
// words of a hidden topic, nested brackets. An example is a window of a document.
#include "ledger.h"

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
    if (use.max_length > document)
      throw pes::Refusal("lengths up to " + std::to_string(use.max_length) +
                         " do not fit into documents of " + std::to_string(document) +
                         " tokens; set document to at least that");
  }

  void sample(const pes::Request& r, pes::Random& random, pes::Example& e) const {
    const std::size_t start = window_start(r);
    const std::size_t length = e.tokens.size();
    // one more token than the window holds: the last target
    const std::vector<std::int32_t> text = ledger::write(law, random, start + length + 1);
    for (std::size_t t = 0; t < length; ++t) {
      e.tokens[t] = PES_FIRST_SYMBOL + text[start + t];
      e.targets[t] = PES_FIRST_SYMBOL + text[start + t + 1];
    }
    if (!e.optimum.empty()) pay(text, start, e.optimum);
  }
  // Drawn from a stream of its own, so that the document is the same for every window.
  std::int64_t window_start(const pes::Request& r) const {
    const std::int64_t last = document - r.length;
    if (last < std::max<std::int64_t>(r.start, 0))
      throw pes::Refusal("a window of " + std::to_string(r.length) + " tokens from token " +
                         std::to_string(std::max<std::int64_t>(r.start, 0)) +
                         " does not fit into a document of " + std::to_string(document));
    if (r.start >= 0) return r.start;
    pes::Random random(pes::mix64(r.seed, r.split), pes::purpose("ledger window"), r.index);
    return static_cast<std::int64_t>(random.below64(last + 1));
  }
  void pay(std::span<const std::int32_t> text, std::size_t start, std::span<double> optimum) const {
    ledger::Reader reader(law, start);
    for (std::size_t i = 0; i < start; ++i) reader.read(text[i]);
    for (std::size_t t = 0; t < optimum.size(); ++t) {
      reader.read(text[start + t]);
      optimum[t] = reader.cost(text[start + t + 1]);
    }
  }
  double distinct(int) const { return pes::infinity; }
};

}  // namespace

extern const pes_task ledger_task = pes::task<Ledger>;
