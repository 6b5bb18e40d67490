// guide: which encoding to use, from what the libraries' cards say.
#include "plugin/guide.h"

#include <fmt/format.h>

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
  if (!rating_of(c).empty()) out += "; rated " + rating_of(c);
  return out;
}

void print_fitting(const Advice& a) {
  const pes_card& c = *a.encoding->card;
  fmt::print("\n{}\n", head_of(c));
  for (const std::string& reason : a.reasons) fmt::print("    {}\n", reason);
  const auto clauses = use_if_of(c);
  if (!clauses.empty()) fmt::print("  use {} if\n", c.name);
  for (const std::string& clause : clauses) fmt::print("  * {}\n", clause);
}

Json to_json(const std::vector<Advice>& all) {
  Json out = Json::array();
  for (const Advice& a : all)
    out.push_back({{"name", a.encoding->card->name},
                   {"fits", a.fits()},
                   {"unrated", a.unrated},
                   {"score", a.score},
                   {"reasons", a.reasons},
                   {"obstacles", a.obstacles},
                   {"use_if", use_if_of(*a.encoding->card)}});
  return out;
}

void print_advice(const std::vector<Advice>& all, const Question& q, int top) {
  const std::string asked = question_text(q);
  if (!asked.empty()) fmt::print("Asked: {}.\n", asked);
  int shown = 0, fitting = 0;
  for (const Advice& a : all)
    if (a.fits() && ++fitting <= top && ++shown > 0) print_fitting(a);
  if (fitting == 0) fmt::print("\nNo encoding of these libraries fits.\n");
  if (fitting > shown) fmt::print("\nAlso fitting, --top {} shows them:", fitting);
  for (int i = shown; i < fitting; ++i)
    fmt::print("{} {}", i > shown ? "," : "",
               all[static_cast<std::size_t>(i)].encoding->card->name);
  if (fitting > shown) fmt::print("\n");
  std::vector<std::string> unrated;
  bool obstacles = false;
  for (const Advice& a : all) {
    if (a.unrated && a.obstacles.empty()) unrated.emplace_back(a.encoding->card->name);
    obstacles |= !a.obstacles.empty();
  }
  if (!unrated.empty())
    fmt::print(
        "\nUnrated: nothing speaks against them, and nobody says how they do on longer "
        "sequences\n  {}\n",
        join(unrated, ", "));
  if (obstacles) fmt::print("\nNot fitting\n");
  for (const Advice& a : all)
    if (!a.obstacles.empty())
      fmt::print("  {:<20}{}\n", a.encoding->card->name, join(a.obstacles, "; "));
  fmt::print(
      "\nRatings are claims of those named. To measure: pesuite run "
      "suites/length_generalization.toml\n");
}

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
  Arguments a("guide [taxonomy|extension|pitfalls]",
              "Which encoding to use, computed from the cards of the libraries: what fits, when to "
              "use it, and why the others do not fit.\nWithout flags: when to use each. Topics: "
              "taxonomy tables; extension, interpolation and extrapolation; pitfalls and the\n"
              "checks that find them.");
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
  if (a.has("topic")) {
    fmt::print("{}", guide_topic(a.text("topic"), catalog, q));
    return 0;
  }
  const std::vector<Advice> all = advise(catalog, q);
  const bool asked = !question_text(q).empty();
  if (a.flag("json"))
    fmt::print("{}\n", to_json(all).dump(1));
  else
    print_advice(all, q, asked ? a.count("top", 1) : static_cast<int>(all.size()));
  return 0;
}

}  // namespace pesuite::cli
