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
    if (!e.optimum.empty()) pay(text, start, e.optimum);
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
