#include "cli/guide_topics.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/error.h"
#include "base/text.h"
#include "cli/guide_trends.h"
#include "plugin/card.h"

namespace pesuite::cli {

namespace {

using Test = std::function<bool(const pes_encoding&)>;

std::vector<std::string> names_where(const Catalog& catalog, const Test& test) {
  std::vector<std::string> out;
  for (const std::string& name : catalog.encoding_names())
    if (test(*catalog.encoding(name).descriptor)) out.push_back(name);
  return out;
}
std::string list_where(const Catalog& catalog, const Test& test) {
  const std::string list = join(names_where(catalog, test), ", ");
  return list.empty() ? "-" : list;
}
Test is(const std::string& word) {
  return [word](const pes_encoding& e) {
    const auto words = taxonomy_of(*e.card);
    return std::find(words.begin(), words.end(), word) != words.end();
  };
}

std::string table_of(const std::string& head, const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::vector<std::string>> all = {{head, "encodings"}};
  all.insert(all.end(), rows.begin(), rows.end());
  return markdown_text_table(all) + "\n";
}

std::string taxonomy_text(const Catalog& catalog, const Measured& measured) {
  const auto row = [&](const char* name, const Test& test) -> std::vector<std::string> {
    return {name, list_where(catalog, test)};
  };
  std::string out = "## Taxonomy\n\n";
  out += table_of("what enters a score", {row("absolute: each position has a code", is("absolute")),
                                          row("relative: the distance counts", is("relative"))});
  out += table_of("where it comes from",
                  {row("fixed: a formula", is("fixed")), row("learned: parameters", is("learned")),
                   row("hybrid: a formula with parameters", is("hybrid"))});
  out +=
      table_of("where it acts", {row("additive: on the embeddings", is("additive")),
                                 row("multiplicative: on queries and keys", is("multiplicative")),
                                 row("bias: on the scores", is("bias")),
                                 row("contextual: on the scores, by content", is("contextual"))});
  std::vector<std::vector<std::string>> rows;
  for (const char* word : {"excellent", "good", "fair", "poor"})
    rows.push_back(row(word, [&](const pes_encoding& e) {
      return rating_rank(rating_of(*e.card)) == rating_rank(word);
    }));
  out += table_of("claimed length generalization", rows);
  rows.clear();
  for (const char* word : {"none", "minimal", "low", "moderate", "high"})
    rows.push_back(row(word, [&](const pes_encoding& e) { return cost_of(*e.card) == word; }));
  out += table_of("cost class", rows);
  out += table_of(
      "claims",
      {row("learns nothing",
           [](const pes_encoding& e) { return (e.card->claims & PES_PARAMETER_FREE) != 0; }),
       row("defined at any length",
           [](const pes_encoding& e) { return (e.card->claims & PES_UNBOUNDED) != 0; }),
       row("its bias never grows with distance",
           [](const pes_encoding& e) { return (e.card->claims & PES_MONOTONE_DECAY) != 0; })});
  std::vector<std::vector<std::string>> all = {
      {"encoding", "taxonomy", "cost", "used in", "papers claim", "measured here"}};
  for (const std::string& name : catalog.encoding_names()) {
    const pes_card& c = *catalog.encoding(name).descriptor->card;
    const auto or_dash = [](const std::string& s) { return s.empty() ? "-" : s; };
    all.push_back({name, or_dash(c.taxonomy), or_dash(cost_of(c)),
                   or_dash(c.used_in == nullptr ? "" : c.used_in),
                   or_dash(claim_text(length_claim(c))),
                   or_dash(verdicts_text(measured.of(name)))});
  }
  return out + markdown_text_table(all);
}

std::string extension_text(const Catalog& catalog, const Question& q) {
  const int trained = q.train_length > 0 ? q.train_length : 2048;
  const int length = q.length > 0 ? q.length : 2 * trained;
  const double s = static_cast<double>(length) / trained;
  const auto takes_over = [](const pes_encoding& e) { return !extends_of(*e.card).empty(); };
  const auto unbounded = [&](const pes_encoding& e) {
    return (e.card->claims & PES_UNBOUNDED) != 0 && !takes_over(e);
  };
  return fmt::format(
      "## Interpolation and extrapolation\n\n"
      "A model trained on {0} tokens is used on {1}, {2:.3g} times as many.\n\n"
      "**Extrapolation** keeps the positions 0, 1, 2, ... {3}. Near tokens look as they did in "
      "training; positions\n"
      "from {0} on, and distances that long, are new to the model. It works as far as the "
      "encoding treats large\n"
      "distances as it treats small ones. Encodings defined at any length:\n"
      "{4}.\n\n"
      "**Interpolation** squeezes positions into the trained range: 0, {5:.3g}, {6:.3g}, ... "
      "{7:.6g}. No angle or place is\n"
      "new, but neighbours are {2:.3g} times closer than in training. That blurs exact small "
      "distances until the\n"
      "model is tuned. Reasonable for small factors.\n\n"
      "**Between the two** each frequency is treated by its wavelength: those that turned many "
      "times in training stay,\n"
      "those that never completed a turn are squeezed. Near tokens keep their distances, far ones "
      "stay in range. A\n"
      "factor on the scores offsets that more keys share the attention.\n"
      "Encodings that take over a trained model:\n"
      "{8}.\n\n"
      "Trying it costs an evaluation, not a training run: 'a => b' in a suite evaluates one "
      "checkpoint with the other\n"
      "encoding, and 'pesuite guide --pretrained ENCODING --train-length {0} --length {1}' "
      "narrows the choice.\n",
      trained, length, s, length - 1, list_where(catalog, unbounded), 1 / s, 2 / s,
      (length - 1) / s, list_where(catalog, takes_over));
}

struct Pitfall {
  const char *name, *what, *remedy, *check;
};
constexpr Pitfall pitfalls[] = {
    {"Training is short, deployment is long",
     "perplexity at the training length says nothing about twice that length; rows of a table that "
     "training never reached hold their start values.",
     "choose an encoding by its curve over lengths, and read how much of a length is untrained.",
     "the record `untrained` of every evaluation and the sentence about it in the report; `pesuite "
     "plan` names evaluation lengths; test `Pitfalls.UntrainedShareIsToldPastTheTable`"},
    {"Scores that are not scaled for length",
     "softmax over more keys is flatter: with scores of equal size the entropy of attention grows "
     "with the logarithm of the length.",
     "a factor on the scores that grows with the length (an attention factor, a temperature).",
     "vectors of kind `inv_freq` compare `attention_scaling` with public code; test "
     "`Pitfalls.AttentionSpreadsUnlessScoresGrowWithLength`"},
    {"One factor for all frequencies",
     "dividing every frequency by the factor slows the fastest pairs too, which tell neighbours "
     "apart.",
     "leave fast pairs and squeeze slow ones.",
     "test `Pitfalls.OneFactorSlowsTheFastestPairOthersDoNot`"},
    {"Tables made again at every step",
     "sines and cosines of all positions cost more than the rotation that uses them.",
     "make a table once and extend it when a longer sequence comes (`pes::Table`).",
     "`pesuite bench` times each encoding against none; test `Pitfalls.TablesAreMadeOnce`"},
    {"Wavelengths that are not integers",
     "a pair whose wavelength is not a whole number of tokens never repeats its phase: each longer "
     "sequence shows phases that training did not.",
     "round wavelengths to integers.",
     "vectors of kind `cossin`; test `Pitfalls.IntegerWavelengthsRepeatTheirPhases`"},
};

std::string pitfalls_text() {
  std::string out = "## Pitfalls\n\n";
  int n = 0;
  for (const Pitfall& p : pitfalls)
    out += fmt::format("{}. **{}.** {}\n   *Remedy:* {}\n   *What finds it here:* {}.\n", ++n,
                       p.name, p.what, p.remedy, p.check);
  return out;
}

std::string choices_text(const Catalog& catalog, const Measured& measured) {
  std::string out = "## When to use which\n";
  for (const std::string& name : catalog.encoding_names()) {
    const pes_card& c = *catalog.encoding(name).descriptor->card;
    if (use_if_of(c).empty()) continue;
    out += fmt::format("\n**Use [{0}](encodings/{0}.md) if**\n\n", name);
    for (const std::string& clause : use_if_of(c)) out += "* " + clause + "\n";
    if (const std::string contrary = disagreement(length_claim(c), measured.of(name));
        !contrary.empty())
      out += "\nBut claim and measurement disagree: " + contrary + ".\n";
  }
  return out;
}

}  // namespace

std::string guide_topic(const std::string& topic, const Catalog& catalog, const Question& q,
                        const Measured& measured) {
  const std::vector<std::string> topics = {"taxonomy", "extension", "pitfalls", "trends"};
  if (topic == "taxonomy") return taxonomy_text(catalog, measured);
  if (topic == "extension") return extension_text(catalog, q);
  if (topic == "pitfalls") return pitfalls_text();
  if (topic == "trends") return trends_text(catalog, measured);
  fail(Exit::usage, "the guide has no topic '{}'; it has {}{}", topic, join(topics, ", "),
       did_you_mean(topic, topics));
}

std::string guide_page(const Catalog& catalog, const Measured& measured) {
  return "# Which encoding?\n\n"
         "Made by `pesuite docs .` from the cards of the libraries and the runs kept in "
         "`docs/results`; a test compares.\n"
         "`pesuite guide` with flags answers for one's own case: `--train-length 512 --length "
         "4096`, "
         "`--pretrained ENCODING\n--no-tuning`, `--parameter-free`, `--content`, `--max-cost low`, "
         "`--taxonomy relative,bias`. It lists first what was\nmeasured to hold, then what papers "
         "claim, and apart what nobody rated.\n\n"
         "*Papers claim* is what those named in brackets say, mostly of large models. *Measured "
         "here* are the [verdicts](results.md#verdicts)\non small models; pages of encodings have "
         "the numbers and link the reports.\n\n" +
         choices_text(catalog, measured) + "\n" + taxonomy_text(catalog, measured) + "\n" +
         extension_text(catalog, {}) + "\n" + pitfalls_text() + "\n" +
         trends_text(catalog, measured);
}

}  // namespace pesuite::cli
