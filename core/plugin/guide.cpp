#include "plugin/guide.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "plugin/card.h"

namespace pesuite {

namespace {

constexpr std::string_view costs[] = {"none", "minimal", "low", "moderate", "high"};
constexpr std::string_view ratings[] = {"poor", "fair", "good", "excellent"};

template <std::size_t n>
int rank_in(const std::string_view (&list)[n], std::string_view word) {
  const auto it = std::find(std::begin(list), std::end(list), word);
  return it == std::end(list) ? -1 : static_cast<int>(it - std::begin(list));
}
bool contains(const std::vector<std::string>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// A model that another encoding trained is asked for, or one that this encoding trains itself.
bool bears_on(const Question& q, const LengthMeasured& m) {
  if (!q.pretrained.empty() && q.pretrained != m.encoding) return m.trained == q.pretrained;
  return m.expression.find("=>") == std::string::npos;
}

std::string tasks_text(const std::set<std::string>& tasks) {
  return join(std::vector<std::string>(tasks.begin(), tasks.end()), ", ");
}

// What was measured outweighs what is claimed.
void weigh_length(const Question& q, const pes_card& c, const Measured& all, Advice& a) {
  for (const LengthMeasured& m : all.of(c.name))
    if (bears_on(q, m)) a.measured.push_back(m);
  if (q.stretch() <= 1) return;
  if ((c.claims & PES_UNBOUNDED) == 0)
    a.obstacles.emplace_back("is not defined past the positions it was made for");
  std::set<std::string> wins, losses;  // tasks that tell encodings apart
  std::vector<LengthMeasured> fails;
  for (const LengthMeasured& m : a.measured) {
    if (m.telling && m.holds >= q.stretch()) wins.insert(m.task);
    if (!fails_within(m, q.stretch())) continue;
    fails.push_back(m);
    if (m.beaten) losses.insert(m.task);
  }
  const bool holds = !wins.empty() && wins.size() >= losses.size();
  const int rating = rating_rank(rating_of(c));
  const double reach = extension_reach(extension_of(c));
  using Ground = Advice::Ground;
  const bool rated = rating >= 0 || !std::isnan(reach);
  a.ground = holds            ? Ground::measured
             : !rated         ? Ground::unrated
             : !fails.empty() ? Ground::contradicted
                              : Ground::claimed;
  if (holds) {
    a.reasons.push_back(fmt::format(
        "holds on {} where others fail{}", tasks_text(wins),
        losses.empty() ? "" : fmt::format(", fails on {} where others hold", tasks_text(losses))));
    const auto won = static_cast<double>(wins.size()), lost = static_cast<double>(losses.size());
    a.score += 20 * (won - lost) / (won + lost + 2);
    return;
  }
  if (!rated && !fails.empty()) a.obstacles.push_back("measured here: " + verdicts_text(fails));
  if (rating == 0) a.obstacles.push_back("its length generalization is rated " + rating_of(c));
  if (reach < q.stretch())
    a.obstacles.push_back(
        fmt::format("claimed reach: {}; you need {:.3g}x", extension_of(c), q.stretch()));
}

void weigh_pretrained(const Question& q, const pes_card& c, Advice& a) {
  if (q.pretrained.empty()) {
    const bool only_extends = (uses_of(c) & PES_SEARCHED) != 0;
    if (only_extends) a.obstacles.emplace_back("wants a trained model to search its values on");
    return;
  }
  if (c.name == q.pretrained) {
    a.reasons.emplace_back("is what the model was trained with");
    return;
  }
  if (!contains(extends_of(c), q.pretrained)) {
    a.obstacles.push_back("cannot take over a model trained with " + q.pretrained);
    return;
  }
  a.reasons.push_back("takes over models trained with " + q.pretrained);
  if (q.tuning) return;
  if ((uses_of(c) & PES_WITHOUT_TUNING) == 0)
    a.obstacles.emplace_back((uses_of(c) & PES_SEARCHED) != 0
                                 ? "wants a search for its values on the trained model"
                                 : "wants further training");
  else
    a.reasons.emplace_back("needs no further training");
}

void weigh_wishes(const Question& q, const pes_encoding& e, Advice& a) {
  const pes_card& c = *e.card;
  if (q.parameter_free && (c.claims & PES_PARAMETER_FREE) == 0)
    a.obstacles.emplace_back("learns parameters");
  if (q.content) {
    if (e.rewrite == nullptr && !contains(taxonomy_of(c), "contextual"))
      a.obstacles.emplace_back("its positions do not depend on content");
    else
      a.reasons.emplace_back("positions depend on content");
  }
  if (!q.cost.empty() && cost_rank(cost_of(c)) > cost_rank(q.cost))
    a.obstacles.push_back("its cost class is " + cost_of(c));
  if (!q.cost.empty() && cost_of(c).empty()) a.obstacles.emplace_back("says nothing of its cost");
  for (const std::string& word : q.taxonomy)
    if (!contains(taxonomy_of(c), word)) a.obstacles.push_back("is not " + word);
}

void check_words(const Catalog& catalog, const Question& q) {
  if (!q.pretrained.empty()) catalog.encoding(q.pretrained);  // refuses unknown names
  if (!q.cost.empty() && cost_rank(q.cost) < 0) {
    const std::vector<std::string> known(std::begin(costs), std::end(costs));
    fail(Exit::usage, "there is no cost class '{}'; known are {}", q.cost, join(known, ", "));
  }
  std::vector<std::string> words;
  for (const std::string& name : catalog.encoding_names())
    for (const std::string& word : taxonomy_of(*catalog.encoding(name).descriptor->card))
      if (!contains(words, word)) words.push_back(word);
  for (const std::string& word : q.taxonomy)
    if (!contains(words, word))
      fail(Exit::usage, "no encoding is '{}'; they are {}", word, join(words, ", "));
}

}  // namespace

double Question::stretch() const {
  if (train_length > 0 && length > 0) return static_cast<double>(length) / train_length;
  return longer ? 2 : 1;
}

int cost_rank(std::string_view cost) {
  return rank_in(costs, cost);
}

int rating_rank(std::string_view rating) {
  return rank_in(ratings, rating.substr(0, rating.find(' ')));
}

double extension_reach(std::string_view extension) {
  const std::string_view word = extension.substr(0, extension.find(' '));
  if (word == "none") return 1;
  if (word == "limited") return 2;
  if (word == "moderate") return 4;
  if (word == "unlimited") return std::numeric_limits<double>::infinity();
  if (!word.ends_with("x")) return std::nan("");
  const std::size_t dash = word.find('-');  // "2-8x"
  const std::string number(word.substr(dash == std::string_view::npos ? 0 : dash + 1));
  return std::strtod(number.c_str(), nullptr);
}

std::vector<Advice> advise(const Catalog& catalog, const Question& q, const Measured& measured) {
  check_words(catalog, q);
  std::vector<Advice> all;
  for (const std::string& name : catalog.encoding_names()) {
    const auto found = catalog.encoding(name);
    Advice a;
    a.encoding = found.descriptor, a.library = found.library;
    const pes_card& c = *found.descriptor->card;
    weigh_length(q, c, measured, a);
    weigh_pretrained(q, c, a);
    weigh_wishes(q, *found.descriptor, a);
    // claims about length count where length is asked for; then the cheaper comes first
    if (q.stretch() > 1) a.score += 10 * rating_rank(rating_of(c));
    const int cost = cost_rank(cost_of(c));
    a.score -= cost < 0 ? static_cast<double>(std::size(costs)) : cost;
    // made for models that are trained already; without one, others come first
    if (q.pretrained.empty() && !extends_of(c).empty()) a.score -= 40;
    if (c.used_in != nullptr) a.score += 0.5;  // of equals, what others have lived with
    all.push_back(std::move(a));
  }
  std::stable_sort(all.begin(), all.end(), [](const Advice& a, const Advice& b) {
    const auto place = [](const Advice& x) {
      return x.obstacles.empty() ? static_cast<int>(x.ground)
                                 : 1 + static_cast<int>(Advice::Ground::unrated);
    };
    return place(a) != place(b) ? place(a) < place(b) : a.score > b.score;
  });
  return all;
}

}  // namespace pesuite
