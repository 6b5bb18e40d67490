// Writes down what it has read in order: BOS x SEP sorted x EOS. What is read needs no position,
// what is written does. A scratchpad sorts by selection: what stands first; the least; what is left
// once the two have changed places.
#include "order.h"

namespace {

using namespace algorithmic;

constexpr int symbols = 50;

// Who sees little of an example, of few symbols (10 digits or 26 letters) or of many.
std::vector<pes_shortcut> known(bool repeats, bool few, int length) {
  using Levels = std::initializer_list<Measured>;
  const auto rule = [&](const char* name, const char* why, Levels of_few, Levels of_many) {
    return measured_shortcut(name, why, length, few ? of_few : of_many);
  };
  constexpr const char *bounded = "what was written last bounds what comes next",
                       *seen = "what was read more often than written comes next";
  if (repeats)
    return {rule("last_token", bounded,
                 {{16, .30},
                  {32, .34},
                  {48, .40},
                  {64, .45},
                  {96, .54},
                  {128, .60},
                  {256, .76},
                  {512, .88},
                  {1024, .94}},
                 {{16, .25},
                  {32, .22},
                  {48, .25},
                  {64, .29},
                  {96, .34},
                  {128, .38},
                  {256, .51},
                  {512, .69},
                  {1024, .83}}),
            rule("window", bounded,
                 {{64, .49}, {96, .58}, {128, .63}, {256, .78}, {512, .88}, {1024, .94}},
                 {{64, .32}, {96, .35}, {128, .39}, {256, .53}, {512, .69}, {1024, .83}}),
            rule("bag", seen,
                 {{16, .22}, {64, .25}, {96, .28}, {128, .30}, {256, .37}, {512, .47}, {1024, .55}},
                 {{16, .12}, {64, .14}, {128, .17}, {256, .21}, {512, .28}, {1024, .36}})};
  return {rule("last_token", bounded, {{24, .50}},
               {{12, .31},
                {16, .25},
                {24, .22},
                {32, .24},
                {48, .32},
                {64, .42},
                {96, .62},
                {128, .68}}),
          rule("window", bounded, {{64, .75}, {512, .68}}, {{64, .46}, {96, .63}, {128, .69}}),
          rule("bag", seen, {{24, .26}}, {{48, .03}, {64, .06}, {96, .29}, {128, .38}})};
}

struct Sort : Written<Sort> {
  // Who has seen the answer in another order knows it.
  static constexpr bool split_by_answer = true;
  static constexpr pes_option options[] = {
      pes::choice("content", "symbols", "symbols|mixed",
                  "50 symbols whose order is not that of their tokens; 10 digits or 26 letters in "
                  "natural order, one kind an example"),
      pes::flag("repeats", "false", "items may occur several times"),
      pes::integer("least", "1", 1, 65536, "items of the smallest problem"),
      Scratchpad::option(Scratchpad::ior)};
  static constexpr pes_card card =
      pes::card<Sort>({.name = "sort",
                       .summary = "writes items in a learned order, at sizes beyond training",
                       .taxonomy = "algorithmic",
                       .paper = "Kazemnejad et al. 2023, arXiv:2305.19466"});

  bool repeats;
  Scratchpad scratchpad;
  std::vector<pes_shortcut> known_shortcuts;
  std::vector<int> rank, by_rank;  // of symbol s in the order; the symbol of a rank

  Sort(const pes_use& use, const pes::Values& v)
      : repeats(v.flag("repeats")), scratchpad(v, end_of(contents_of(v).back())) {
    const bool mixed = v.is("content", "mixed");
    const std::vector<Alphabet> contents = contents_of(v);
    int most = std::numeric_limits<int>::max();
    if (!repeats) most = contents.front().count;
    declare_sizes(use, static_cast<int>(v.integer("least")),
                  Cost{2, tokens_around} + scratchpad.cost(1, 0, 1, 0, 1), "items",
                  "items of the problem", most);
    declare_contents(contents);
    known_shortcuts = known(repeats, mixed, use.train_length);
    for (const pes_shortcut& s : known_shortcuts) shortcuts.push_back(&s);
    if (scratchpad.used()) Scratchpad::add_shortcuts(shortcuts);
    const int all = outputs - PES_FIRST_SYMBOL;
    std::vector<std::int32_t> order(all);
    std::iota(order.begin(), order.end(), 0);
    if (!mixed) {
      pes::Random random(pes::hash64("order of the symbols, version 1"), pes::purpose("sort"), 0);
      draw_distinct(random, order, 0, all);
    }
    by_rank.assign(order.begin(), order.end());
    rank.resize(order.size());
    for (std::size_t r = 0; r < order.size(); ++r) rank[order[r]] = static_cast<int>(r);
    inputs = outputs += scratchpad.vocabulary();
  }
  static std::vector<Alphabet> contents_of(const pes::Values& v) {
    if (v.is("content", "mixed")) return digits_and_letters();
    return {{PES_FIRST_SYMBOL, symbols}};
  }
  static int end_of(const Alphabet& a) { return a.first + a.count; }
  bool before(std::int32_t a, std::int32_t b) const {
    return rank[a - PES_FIRST_SYMBOL] < rank[b - PES_FIRST_SYMBOL];
  }

  void draw(pes::Random& random, std::span<std::int32_t> x, Alphabet a) const {
    if (repeats)
      draw_uniform(random, x, a.first, a.count);
    else
      draw_distinct(random, x, a.first, a.count);
  }
  void answer(Tokens x, std::span<std::int32_t> y) const {
    std::copy(x.begin(), x.end(), y.begin());
    std::sort(y.begin(), y.end(), [&](auto a, auto b) { return before(a, b); });
  }
  bool worked() const { return scratchpad.used(); }
  void work(Tokens x, std::vector<std::int32_t>& out) const {
    std::vector<std::int32_t> left(x.begin(), x.end());
    std::vector<Step> steps;
    while (scratchpad.used() && !left.empty()) {
      const std::int32_t first = left.front();
      std::iter_swap(left.begin(), std::min_element(left.begin(), left.end(),
                                                    [&](auto a, auto b) { return before(a, b); }));
      const std::int32_t least = left.front();
      left.erase(left.begin());
      steps.push_back({.input = {first},
                       .computation = {},
                       .output = {least},
                       .variables = {},
                       .remaining = scratchpad.left(left)});
    }
    scratchpad.write(steps, out);
  }
  void law(BlindGuess& guess, Range range, Alphabet a, double share) const {
    for (int n = range.low; n <= range.high; ++n) {
      const OrderLaw law =
          repeats ? repeated_order_law(n, a.count) : distinct_order_law(n, a.count);
      for (int i = 0; i < n; ++i)
        for (int v = 0; v < a.count; ++v)
          guess.add(i, PES_FIRST_SYMBOL + by_rank[a.first - PES_FIRST_SYMBOL + v],
                    share * share_of_size(range) * law[i][v]);
    }
  }
  double log10_likeliest(Range range, Alphabet a) const {
    double best = -pes::infinity;
    for (int n = range.low; n <= range.high; ++n)
      best = std::max(best, log10_likeliest_order(n, a.count, repeats));
    return best;
  }
  double log10_inputs(int n, Alphabet a) const {
    return repeats ? n * std::log10(a.count) : log10_samples(a.count, n);
  }
  double log10_answers(int n, Alphabet a) const {
    return repeats ? log10_choose(n + a.count - 1, n) : log10_choose(a.count, n);
  }
};

}  // namespace

extern const pes_task sort_task = pes::task<Sort>;
