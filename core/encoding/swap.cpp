#include "encoding/swap.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "plugin/card.h"
#include "plugin/options.h"

namespace pesuite {

namespace {

constexpr const char* nothing = "none";
constexpr std::size_t most_turns = 1 << 12;  // no model has more layers

const pes_card& card_of(const Catalog& catalog, const std::string& name) {
  return *catalog.encoding(name).descriptor->card;
}

// The encoding whose options two have in common; null: none.
const pes_card* shared(const Catalog& catalog, const std::string& a, const std::string& b) {
  if (a == b) return &card_of(catalog, a);
  const auto roots = [&](const std::string& name) {
    std::vector<std::string> all = extends_of(card_of(catalog, name));
    all.push_back(name);
    return all;
  };
  const std::vector<std::string> known = catalog.encoding_names();
  const std::vector<std::string> ours = roots(a), theirs = roots(b);
  for (const std::string& root : ours)
    if (std::find(theirs.begin(), theirs.end(), root) != theirs.end() &&
        std::find(known.begin(), known.end(), root) != known.end())
      return &card_of(catalog, root);
  return nullptr;
}

const pes_option* option_of(const pes_card& card, std::string_view name) {
  for (const pes_option* o : options_of(card))
    if (o->name == name) return o;
  return nullptr;
}

void take_options(const Catalog& catalog, Sum& sum, const std::vector<Expression>& own) {
  for (Sum::Factor& f : sum.factors) {
    for (Sum& turn : f.pattern) take_options(catalog, turn, own);
    if (f.pattern.empty())
      for (const Expression& e : own) f.term = with_options_of(catalog, std::move(f.term), e);
  }
}

Sum with_options_of(const Catalog& catalog, Sum sum, const Sum& trained) {
  std::vector<Expression> own;
  const std::vector<std::string> known = catalog.encoding_names();
  each_term(trained, [&](const Expression& e) {
    if (std::find(known.begin(), known.end(), e.name) != known.end()) own.push_back(e);
  });
  take_options(catalog, sum, own);
  return sum;
}

bool is_nothing(const Sum& s) {
  return names_of(s) == std::vector<std::string>{nothing};
}

bool has_pattern(const Sum& s) {
  return std::any_of(s.factors.begin(), s.factors.end(),
                     [](const Sum::Factor& f) { return !f.pattern.empty(); });
}

// What each layer was trained with, over as many as it takes to come round.
struct Layers {
  std::vector<Sum> trained;
  std::vector<bool> stays;  // no encoding, or a window: nothing is swapped in
};
Layers layers_of(const Sum& trained, int window_every) {
  std::vector<Sum> turns = {trained};
  if (trained.factors.size() == 1 && !trained.factors[0].pattern.empty())
    turns = trained.factors[0].pattern;
  const auto every = static_cast<std::size_t>(std::max(1, window_every));
  Layers out;
  for (std::size_t l = 0; l < std::min(std::lcm(turns.size(), every), most_turns); ++l) {
    out.trained.push_back(turns[l % turns.size()]);
    out.stays.push_back(is_nothing(out.trained.back()) || (l + 1) % every != 0);
  }
  return out;
}

// What weights were trained with at last.
Sum trained_of(const std::string& own) {
  const EncodingExpression all = parse_encoding(own);
  return all.switches.empty() ? all.first : all.switches.back().to;
}

}  // namespace

Expression with_options_of(const Catalog& catalog, Expression e, const Expression& trained) {
  const pes_card* root = shared(catalog, e.name, trained.name);
  if (root == nullptr) return e;
  for (const pes_option* o : options_of(*root)) {
    const auto given = trained.options.find(o->name);
    if (given == trained.options.end() || given->second == o->value) continue;
    const pes_option* here = option_of(card_of(catalog, e.name), o->name);
    if (here != nullptr && std::string_view(here->value) == o->value)
      e.options.emplace(given->first, given->second);
  }
  return e;
}

std::string swapped_in(const Catalog& catalog, const std::string& text, const std::string& own,
                       int window_every) {
  EncodingExpression x = parse_encoding(text);
  to_text(x, full_terms(catalog, text));
  if (!x.switches.empty() || !x.evaluation.empty()) return text;
  const Sum trained = trained_of(own);
  if (!has_pattern(x.first) && !is_nothing(x.first)) {
    const Layers all = layers_of(trained, window_every);
    Sum::Factor layers;
    for (std::size_t l = 0; l < all.trained.size(); ++l)
      layers.pattern.push_back(all.stays[l] ? all.trained[l]
                                            : with_options_of(catalog, x.first, all.trained[l]));
    if (std::any_of(layers.pattern.begin(), layers.pattern.end(),
                    [&](const Sum& turn) { return to_text(turn) != to_text(layers.pattern[0]); })) {
      x.first = Sum{{layers}};
      return to_text(x);
    }
  }
  x.first = with_options_of(catalog, x.first, trained);
  return to_text(x);
}

bool no_layer_takes(const std::string& text, const std::string& own, int window_every) {
  const EncodingExpression x = parse_encoding(text);
  if (!x.switches.empty() || !x.evaluation.empty() || has_pattern(x.first) || is_nothing(x.first))
    return false;
  const Sum trained = trained_of(own);
  const Layers all = layers_of(trained, window_every);
  return !is_nothing(trained) && std::all_of(all.stays.begin(), all.stays.end(), std::identity());
}

}  // namespace pesuite
