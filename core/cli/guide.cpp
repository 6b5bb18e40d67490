// guide: which encoding to use, from what the libraries' cards say and what was measured.
#include "plugin/guide.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "cli/catalog.h"
#include "cli/guide_topics.h"
#include "plugin/card.h"

namespace pesuite::cli {

namespace {

std::string question_text(const Question& q) {
  std::vector<std::string> parts;
  if (q.train_length > 0 && q.length > 0)
    parts.push_back(fmt::format("training at {} tokens, deployment at {} ({:.3g} times)",
                                q.train_length, q.length, q.stretch()));
  else if (q.longer)
    parts.emplace_back("deployment longer than training");
  if (!q.pretrained.empty())
    parts.push_back(fmt::format("a model trained with {}, {}", q.pretrained,
                                q.tuning ? "which may be trained further" : "as it is"));
  if (q.parameter_free) parts.emplace_back("no learned parameters");
  if (q.content) parts.emplace_back("positions that depend on content");
  if (!q.cost.empty()) parts.push_back("cost at most " + q.cost);
  if (!q.taxonomy.empty()) parts.push_back(join(q.taxonomy, ", "));
  return join(parts, "; ");
}

std::string head_of(const pes_card& c) {
  std::string out = fmt::format("{} ({})", c.name, c.taxonomy);
  if (!cost_of(c).empty()) out += "; cost " + cost_of(c);
  return out;
}

const char* ground_name(Advice::Ground g) {
  switch (g) {
    case Advice::Ground::measured: return "measured";
    case Advice::Ground::claimed: return "claimed";
    case Advice::Ground::contradicted: return "contradicted";
    case Advice::Ground::unrated: break;
  }
  return "unrated";
}

Json to_json(const std::vector<Advice>& all, const Measured& measured) {
  Json out = Json::array();
  for (const Advice& a : all) {
    const pes_card& c = *a.encoding->card;
    out.push_back({{"name", c.name},
                   {"fits", a.fits()},
                   {"ground", ground_name(a.ground)},
                   {"unrated", a.ground == Advice::Ground::unrated},
                   {"score", a.score},
                   {"claimed", claim_text(length_claim(c))},
                   {"measured", verdicts_text(a.measured)},
                   {"disagreement", disagreement(length_claim(c), a.measured)},
                   {"claims_tested", measured.claims_on(c.name)},
                   {"reasons", a.reasons},
                   {"obstacles", a.obstacles},
                   {"use_if", use_if_of(c)}});
  }
  return out;
}

// `text` behind `first` and below itself.
void hanging(const std::string& first, const std::string& text) {
  constexpr std::size_t widest = 100;
  std::string begin = first;
  for (const std::string& line : wrap(text, widest - first.size())) {
    fmt::print("{}{}\n", begin, line);
    begin.assign(first.size(), ' ');
  }
}

class AdvicePrinter {
 public:
  AdvicePrinter(const std::vector<Advice>& all, const Measured& measured)
      : all_(all), measured_(measured) {}

  void print(const Question& q, int top) {
    using Ground = Advice::Ground;
    room_ = top;
    const bool longer = q.stretch() > 1;
    fitting(Ground::measured, "Measured here to hold at that length, with small models");
    fitting(Ground::claimed, longer ? "Claimed by papers; not shown to fail here" : "");
    if (std::none_of(all_.begin(), all_.end(), [](const Advice& a) { return a.fits(); }))
      fmt::print("\nNo encoding of these libraries fits.\n");
    contradicted();
    if (const auto names = unobstructed(Ground::unrated); !names.empty())
      fmt::print(
          "\nUnrated: nothing speaks against them, and nobody says how they do on longer "
          "sequences\n  {}\n",
          join(names, ", "));
    obstructed();
    fmt::print(
        "\nClaims are of those named. Measured are kept runs of small models (docs/results). To "
        "measure: pesuite run suites/length_generalization.toml\n");
  }

 private:
  // Claim and measurement, and whether they agree.
  void both_sides(const Advice& a) const {
    const pes_card& c = *a.encoding->card;
    const auto line = [](const char* what, const std::string& text) {
      if (!text.empty()) hanging(fmt::format("    {:<15}", what), text);
    };
    const std::string claim = claim_text(length_claim(c)), measured = verdicts_text(a.measured);
    line("claimed:", claim.empty() ? "nothing" : claim);
    line("measured:", measured.empty() ? "not tested here" : measured);
    line("they disagree:", disagreement(length_claim(c), a.measured));
    line("hypotheses:", measured_.claims_on(c.name));
  }

  // Those on one ground, as many as there is room for; the others by name.
  void fitting(Advice::Ground ground, const std::string& heading) {
    std::vector<std::string> more;
    bool first = true;
    for (const Advice& a : all_) {
      if (!a.fits() || a.ground != ground) continue;
      if (first && !heading.empty()) fmt::print("\n{}\n", heading);
      first = false;
      if (--room_ >= 0)
        advice(a);
      else
        more.emplace_back(a.encoding->card->name);
    }
    if (!more.empty()) fmt::print("\nand, --top shows more: {}\n", join(more, ", "));
  }
  void advice(const Advice& a) const {
    const pes_card& c = *a.encoding->card;
    fmt::print("\n{}\n", head_of(c));
    both_sides(a);
    for (const std::string& reason : a.reasons) hanging("    ", reason);
    const auto clauses = use_if_of(c);
    if (!clauses.empty()) fmt::print("  use {} if\n", c.name);
    for (const std::string& clause : clauses) fmt::print("  * {}\n", clause);
  }

  std::vector<std::string> unobstructed(Advice::Ground ground) const {
    std::vector<std::string> out;
    for (const Advice& a : all_)
      if (a.obstacles.empty() && a.ground == ground) out.emplace_back(a.encoding->card->name);
    return out;
  }
  void contradicted() const {
    if (unobstructed(Advice::Ground::contradicted).empty()) return;
    fmt::print("\nClaimed by papers, but measured here to fail before, with small models\n");
    for (const Advice& a : all_) {
      if (!a.obstacles.empty() || a.ground != Advice::Ground::contradicted) continue;
      fmt::print("  {}\n", a.encoding->card->name);
      both_sides(a);
    }
  }
  void obstructed() const {
    bool first = true;
    for (const Advice& a : all_) {
      if (a.obstacles.empty()) continue;
      if (first) fmt::print("\nNot fitting\n");
      first = false;
      hanging(fmt::format("  {:<20}", a.encoding->card->name), join(a.obstacles, "; "));
    }
  }

  const std::vector<Advice>& all_;
  const Measured& measured_;
  int room_ = 0;
};

Question question_of(const Arguments& a) {
  Question q;
  q.train_length = a.count("train-length");
  q.length = a.count("length");
  if ((q.train_length > 0) != (q.length > 0) && !a.flag("extrapolate"))
    fail(Exit::usage, "--train-length and --length belong together; give both, or --extrapolate");
  q.longer = a.flag("extrapolate");
  q.pretrained = a.text("pretrained");
  q.tuning = !a.flag("no-tuning");
  if (!q.tuning && q.pretrained.empty())
    fail(Exit::usage, "--no-tuning is about a trained model: which one? --pretrained ENCODING");
  q.parameter_free = a.flag("parameter-free");
  q.content = a.flag("content");
  q.cost = a.text("max-cost");
  for (const std::string& word : split(a.text("taxonomy"), ','))
    if (!trim(word).empty()) q.taxonomy.push_back(trim(word));
  return q;
}

}  // namespace

int guide_verb(const std::vector<std::string>& words) {
  Arguments a(
      "guide [taxonomy|extension|pitfalls|trends]",
      "Which encoding to use, from the cards of the libraries and what was measured here: what "
      "fits, when to use it, and why the others do not fit.\nWithout flags: when to use each. "
      "Topics: taxonomy tables; extension, interpolation and extrapolation;\npitfalls and the "
      "checks that find them; trends of research, and what is open.");
  a.flags()("extrapolate", po::bool_switch(), "sequences are longer than in training")(
      "train-length", po::value<int>(), "tokens of training sequences")("length", po::value<int>(),
                                                                        "tokens in deployment")(
      "pretrained", po::value<std::string>(), "the encoding that a model was trained with")(
      "no-tuning", po::bool_switch(), "that model must not be trained further")(
      "parameter-free", po::bool_switch(), "the encoding may learn nothing")(
      "content", po::bool_switch(), "positions are to depend on content")(
      "max-cost", po::value<std::string>(), "none, minimal, low, moderate or high")(
      "taxonomy", po::value<std::string>(), "words that must apply, e.g. relative,bias")(
      "top", po::value<int>()->default_value(5), "so many of those that fit in full")(
      "json", po::bool_switch(), "as JSON");
  a.positional("topic");
  if (!a.parse(words)) return 0;
  const Catalog catalog = catalog_of(a);
  const Question q = question_of(a);
  const Measured measured = shipped_measured();
  if (a.has("topic")) {
    fmt::print("{}", guide_topic(a.text("topic"), catalog, q, measured));
    return 0;
  }
  const std::vector<Advice> all = advise(catalog, q, measured);
  if (a.flag("json")) {
    fmt::print("{}\n", to_json(all, measured).dump(1));
    return 0;
  }
  const std::string asked = question_text(q);
  if (!asked.empty()) fmt::print("Asked: {}.\n", asked);
  AdvicePrinter(all, measured)
      .print(q, asked.empty() ? static_cast<int>(all.size()) : a.count("top", 1));
  return 0;
}

}  // namespace pesuite::cli
