// Chains of variables, VAR v x, scattered over text that says nothing. Which ones have this value?
// After Hsieh et al. 2024, "RULER", section 3.2.
#include <map>

#include "filler.h"

namespace {

using namespace retrieval;

constexpr int most_hops = 8;
constexpr std::array<double, most_hops> hop_values = {1, 2, 3, 4, 5, 6, 7, 8};

struct VariableTracking : pes::Task {
  static constexpr pes_option options[] = {
      pes::integer("chains", "2", 1, 4, "chains, each with a value of its own"),
      pes::integer("hops", "4", 1, most_hops, "most hops of a chain in training, uniform from 1")};
  static constexpr pes_card card = pes::card<VariableTracking>(
      {.name = "variable_tracking",
       .summary = "names all variables of a chain that is scattered over a text",
       .taxonomy = "retrieval",
       .paper = "Hsieh et al. 2024, arXiv:2404.06654"});

  static constexpr int variables = 64, values = 64, assignment = 3;
  static constexpr int var = filler0 + filler_words, variable0 = var + 1,
                       value0 = variable0 + variables;

  int chains, hops;
  pes_axis axis;
  pes_shortcut variables_seen, variables_left;

  VariableTracking(const pes_use& use, const pes::Values& v)
      : chains(static_cast<int>(v.integer("chains"))),
        hops(static_cast<int>(v.integer("hops"))),
        variables_seen{sizeof(pes_shortcut), "bag", .3 + .4 / hops,
                       "the answer is made of variables that occur, the fewer the surer"},
        variables_left{sizeof(pes_shortcut), "window", .3 + .15 / hops,
                       "near variables, but for those that were written"} {
    inputs = outputs = value0 + values;
    head = PES_LM;
    determined = true;
    require_length(use.train_length, tokens(hops), "the longest chains and a question");
    axis = {sizeof(pes_axis),  "hops",  "",        "hops of a chain",
            hop_values.data(), nullptr, most_hops, hops};
    axes = {&axis};
    shortcuts = {&variables_seen, &variables_left};
  }
  // Of everything but the text: BOS, assignments, ASK, a value, its variables, EOS.
  int tokens(int n) const { return 1 + assignment * chains * (n + 1) + 2 + n + 1 + 1; }

  struct Range {
    int low, high;
  };
  Range drawn(const pes::Request& r) const {
    if (r.draws(0)) {
      require_length(r.length, tokens(hops), "the longest chains and a question");
      return {1, hops};
    }
    const double n = r.axis(0);
    if (!(n >= 1 && n <= most_hops) || n != static_cast<int>(n) ||
        tokens(static_cast<int>(n)) > r.length)
      throw pes::Refusal("axis hops takes whole numbers from 1 to " + std::to_string(most_hops) +
                         " whose chains fit into length " + std::to_string(r.length) + ", not " +
                         number_text(n));
    return {static_cast<int>(n), static_cast<int>(n)};
  }

  void sample(const pes::Request& r, pes::Random& random, pes::Example& e) const {
    const Range range = drawn(r);
    const int n = random.between(range.low, range.high);
    const std::size_t links = static_cast<std::size_t>(n) + 1, all = links * chains;
    std::vector<std::int32_t> name(all), value(chains), turn(all);
    draw_distinct(random, name, variable0, variables);
    draw_distinct(random, value, value0, values);
    draw_distinct(random, turn, 0, static_cast<int>(all));  // whose turn: its chain, by rank

    const std::size_t text = e.tokens.size() - static_cast<std::size_t>(tokens(n));
    std::vector<std::int32_t> place(all);  // of the text, which an assignment stands before
    draw_uniform(random, place, 0, static_cast<int>(text) + 1);
    std::sort(place.begin(), place.end());

    Filler filler(random);
    std::vector<std::size_t> next(chains);  // links of each chain that are written
    auto out = e.tokens.begin();
    *out++ = PES_BOS;
    std::size_t written = 0;
    const auto write_text = [&](std::size_t until) {
      filler.write({out, until - written});
      out += static_cast<std::ptrdiff_t>(until - written);
      written = until;
    };
    for (std::size_t i = 0; i < all; ++i) {
      write_text(static_cast<std::size_t>(place[i]));
      const std::size_t chain = static_cast<std::size_t>(turn[i]) / links, k = next[chain]++;
      const std::size_t self = chain * links + k;
      *out++ = var;
      *out++ = name[self];
      *out++ = k == 0 ? value[chain] : name[self - 1];
    }
    write_text(text);
    *out++ = PES_ASK;
    const std::size_t asked = random.below(static_cast<std::uint32_t>(chains));
    *out++ = value[asked];
    const auto answer = static_cast<std::size_t>(out - e.tokens.begin());
    for (std::size_t k = 0; k < links; ++k) *out++ = name[asked * links + k];
    *out++ = PES_EOS;
    score_tokens(e.targets, e.tokens, answer, links + 1);
  }

  void oracle(Tokens tokens, Targets targets) const {
    const auto ask = std::find(tokens.begin(), tokens.end(), PES_ASK);
    std::fill(targets.begin(), targets.end(), unscored);
    if (tokens.end() - ask < 2) return;
    std::map<std::int32_t, std::int32_t> value_of;
    std::vector<std::int32_t> answer;
    for (auto t = tokens.begin(); t + 2 < ask; ++t) {
      if (*t != var) continue;
      const auto known = value_of.find(t[2]);
      value_of[t[1]] = known == value_of.end() ? t[2] : known->second;
      if (value_of[t[1]] == ask[1]) answer.push_back(t[1]);
    }
    answer.push_back(PES_EOS);
    pes::score_from(targets, static_cast<std::size_t>(ask + 1 - tokens.begin()), answer);
  }

  pes::Chance chance_at(const pes::Request& r) const {
    const Range range = drawn(r);
    const double share = 1.0 / (range.high - range.low + 1);
    BlindGuess guess;
    for (int n = range.low; n <= range.high; ++n) {
      for (int k = 0; k <= n; ++k)
        for (int v = 0; v < variables; ++v) guess.add(k, variable0 + v, share / variables);
      guess.add(n + 1, PES_EOS, share);
    }
    return {guess.accuracy(), share * std::pow(10, -log10_samples(variables, range.low + 1))};
  }
  // By the names, the values and the places of assignments, were sets of places as likely.
  double distinct(int length) const {
    std::vector<double> repeats;
    for (int n = 1; n <= hops; ++n) {
      const int all = chains * (n + 1), gaps = length - tokens(n) + 1;
      const double places = all * std::log10(gaps) - std::lgamma(all + 1) / std::log(10);
      repeats.push_back(-log10_samples(variables, all) - log10_samples(values, chains) -
                        std::max(0.0, places) - 2 * std::log10(hops));
    }
    return -log10_sum(repeats);
  }
};

}  // namespace

extern const pes_task variable_tracking = pes::task<VariableTracking>;
