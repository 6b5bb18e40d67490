// a + b = c and c - b = a, digit by digit, in the forms that were proposed to make sums generalise
// to longer numbers: padded to one size, the answer reversed, digits that carry hints of their
// place, a scratchpad. The numbers a and b are drawn, so that no difference is below 0.
//
// A scratchpad goes from the lowest weight to the highest of c: both digits; them with what was
// carried here, and x + y + carry or 10 + x - y - carry as two digits; the digit of the answer;
// what is carried on; the digits of both numbers that are left, around the sign.
#include "addition.h"

#include "scratchpad.h"

namespace {

using namespace addition;

constexpr double operand_values[] = {0, 1};
constexpr const char* operand_labels[] = {"any", "full"};
constexpr pes_axis operand_axis = {
    sizeof(pes_axis), "operands",     "", "digits of the operands: 1 to n each, or n",
    operand_values,   operand_labels, 2,  2};

// What hints give away, and how far that goes.
constexpr pes_shortcut hints_in_window(double reaches) {
  return {sizeof(pes_shortcut), "window", reaches, "hints come one after the other"};
}
constexpr pes_shortcut hints_seen(double reaches) {
  return {sizeof(pes_shortcut), "bag", reaches,
          "each place is named once in each number, the answer's in turn"};
}

struct Sum {
  static constexpr const char *name = "addition", *summary = "the sum of two decimal numbers";
  static constexpr bool difference = false;
  static constexpr pes_shortcut window = hints_in_window(.68), bag = hints_seen(.70);
  using Law = SumLaw;
};
struct Difference {
  static constexpr const char *name = "subtraction",
                              *summary = "the difference of two decimal numbers";
  static constexpr bool difference = true;
  static constexpr pes_shortcut window = hints_in_window(.74), bag = hints_seen(.76);
  using Law = OperandLaw;
};

template <class Kind>
struct Addition : pes::Task {
  static constexpr pes_option options[] = {
      pes::flag("pad", "true", "numbers have zeros in front: up to n digits, a sum up to n + 1"),
      pes::flag("reversed", "true", "the answer is written least significant digit first"),
      pes::flag("index_hints", "false", "each digit stands behind a token that names its place"),
      pes::flag(
          "coupled_ids", "false",
          "digits of one weight stand at one position (Position Coupling), for encodings that "
          "read the positions of a task"),
      pes::integer("last_id", "0", 0, 65536,
                   "of coupled_ids: the last position; 0: as many as the longest numbers need"),
      tasks::Scratchpad::option(tasks::Scratchpad::icovr)};
  static constexpr pes_card card =
      pes::card<Addition>({.name = Kind::name,
                           .summary = Kind::summary,
                           .version = "2",  // 2: problems are dealt to the splits
                           .taxonomy = "arithmetic"});

  static constexpr int digit = PES_FIRST_SYMBOL, sign = digit + 10, equals = sign + 1,
                       first_hint = equals + 1;

  bool pad, reversed, hints, coupled;
  tasks::Scratchpad scratchpad;
  int places;   // names of places: one for each digit of the longest sum
  int last_id;  // of coupled positions

  Addition(const pes_use& use, const pes::Values& v)
      : pad(v.flag("pad")),
        reversed(v.flag("reversed")),
        hints(v.flag("index_hints")),
        coupled(v.flag("coupled_ids")),
        scratchpad(v, first_hint),
        places(problem_length(use.max_length) + 1),
        last_id(v.integer("last_id") > 0 ? static_cast<int>(v.integer("last_id")) : places + 1) {
    inputs = outputs = first_hint + (hints ? places : scratchpad.vocabulary());
    if (scratchpad.used() && (hints || coupled))
      throw pes::Refusal(std::string("a scratchpad has digits of its own, which ") +
                         (hints ? "index_hints" : "coupled_ids") + " cannot name; choose one");
    if (coupled && hints)
      throw pes::Refusal("index_hints and coupled_ids both name the places of digits; choose one");
    if (coupled && last_id < places + 1)
      throw pes::Refusal("last_id " + std::to_string(last_id) + " is too small: sums of " +
                         std::to_string(places) + " digits need " + std::to_string(places + 1));
    positions = coupled ? last_id + 1 : 0;
    head = PES_LM;
    axes = {&operand_axis};
    if (hints) shortcuts = {&Kind::window, &Kind::bag};
    if (scratchpad.used()) tasks::Scratchpad::add_shortcuts(shortcuts);
  }

  // Most digits n of a and of b: BOS a + b = c EOS or BOS c - b = a EOS, each digit with its hint,
  // and a step for each digit of c.
  int problem_length(int length) const {
    const tasks::Cost cost = tokens();
    pes::require_length(length, static_cast<int>(cost.of(1)), "two digits and their sum must fit");
    return cost.largest(length);
  }
  tasks::Cost tokens() const {
    if (hints) return {6, 6};
    const tasks::Cost steps = scratchpad.cost(2, 5, 1, 1, 2);  // of numbers of n digits
    const int of_last = steps.per_item + (steps.per_pair > 0 ? 1 : 0);
    const int longer = steps.per_pair > 0 ? (Kind::difference ? 2 : 1) : 0;  // the sign; c's digit
    return tasks::Cost{3, 5} + steps + tasks::Cost{longer, of_last};
  }
  Operands operands(const pes::Request& r) const {
    if (r.draws(0) || r.axis(0) == 0) return Operands::any;
    if (r.axis(0) == 1) return Operands::full;
    throw pes::Refusal("axis operands has the values 0 (any) and 1 (full) only");
  }

  // A number, most significant digit first or last. The digit of weight w has the hint units - w.
  void write(std::vector<std::int32_t>& out, const Digits& d, bool backwards, int units) const {
    for (std::size_t i = 0; i < d.size(); ++i) {
      const std::size_t w = backwards ? i : d.size() - 1 - i;
      if (hints) out.push_back(units - static_cast<std::int32_t>(w));
      out.push_back(digit + d[w]);
    }
  }
  // first + second = answer, or first - second = answer.
  struct Problem {
    Digits first, second, answer;
  };
  Problem of_numbers(Digits a, Digits b, int n) const {
    if (pad) {
      a.resize(static_cast<std::size_t>(n));
      b.resize(static_cast<std::size_t>(n));
    }
    Digits c = pad ? sum(a, b) : trimmed(sum(a, b));
    if (Kind::difference) return {std::move(c), std::move(b), std::move(a)};
    return {std::move(a), std::move(b), std::move(c)};
  }
  // The answer, behind the steps to it.
  std::vector<std::int32_t> worked(const Problem& p, int units) const {
    std::vector<std::int32_t> out;
    if (scratchpad.used()) scratchpad.write(steps(p), out);
    write(out, p.answer, reversed, units);
    out.push_back(PES_EOS);
    return out;
  }
  // One for each digit of the largest number.
  std::vector<tasks::Step> steps(const Problem& p) const {
    std::vector<tasks::Step> out;
    const auto at = [](const Digits& d, std::size_t w) { return w < d.size() ? d[w] : 0; };
    const auto left = [](const Digits& d, std::size_t w, std::vector<std::int32_t>& to) {
      for (std::size_t k = d.size(); k-- > w;) to.push_back(digit + d[k]);
    };
    int carry = 0;
    for (std::size_t w = 0; w < std::max(p.first.size(), p.answer.size()); ++w) {
      const int x = at(p.first, w), y = at(p.second, w), before = carry;
      const int total = Kind::difference ? 10 + x - y - carry : x + y + carry;
      carry = total < 10 ? Kind::difference : !Kind::difference;
      tasks::Step step = {.input = {digit + x, digit + y},
                          .computation = {digit + x, digit + y, digit + before, digit + total / 10,
                                          digit + total % 10},
                          .output = {digit + total % 10},
                          .variables = {digit + carry},
                          .remaining = {}};
      if (scratchpad.says_what_is_left()) {
        left(p.first, w + 1, step.remaining);
        step.remaining.push_back(sign);
        left(p.second, w + 1, step.remaining);
      }
      out.push_back(std::move(step));
    }
    return out;
  }
  // Short numbers are few: without a deal, training would meet those of validation and test.
  static bool in_split(pes_split split, const Digits& a, const Digits& b) {
    constexpr std::size_t few = 12;  // digits of both; examples of more meet as good as never
    if (a.size() + b.size() > few) return true;
    Digits problem = a;
    problem.push_back(sign);
    problem.insert(problem.end(), b.begin(), b.end());
    return tasks::belongs_to(split, pes::hash64(card.name), problem);
  }
  static int most_digits(int n) { return Kind::difference ? n : n + 1; }  // of an answer

  void sample(const pes::Request& r, pes::Random& random, pes::Example& e) const {
    const int n = problem_length(r.length);
    Digits a = draw_number(random, n, operands(r)), b = draw_number(random, n, operands(r));
    while (!in_split(r.split, a, b))  // others of as many digits, whose law stays what it is
      for (Digits* d : {&a, &b})
        *d = draw_number(random, static_cast<int>(d->size()), Operands::full);
    const int units = hints ? first_hint + n + random.between(0, places - 1 - n) : 0;
    const Problem problem = of_numbers(std::move(a), std::move(b), n);
    std::vector<std::int32_t> prompt = {PES_BOS};
    write(prompt, problem.first, false, units);
    prompt.push_back(sign);
    write(prompt, problem.second, false, units);
    prompt.push_back(equals);
    pes::write_problem(e, prompt, worked(problem, units));
    if (e.positions.empty()) return;
    // Any start would do; training meets all of them, and a test begins at the first.
    place(e.tokens, r.split == PES_SPLIT_TEST ? 1 : random.between(1, last_id - n - 1),
          e.positions);
  }

  // Cho et al. 2024, arXiv:2405.20671: the sign and = stand at `start`, a digit of weight w at
  // start + 1 + w, all else at 0.
  void place(pes::Tokens tokens, int start, std::span<std::int32_t> out) const {
    const auto at_sign = std::find(tokens.begin(), tokens.end(), sign);
    const auto at_equals = std::find(at_sign, tokens.end(), equals);
    const auto end = std::find(at_equals, tokens.end(), PES_EOS);
    const auto at = [&](auto token) -> std::int32_t& {
      return out[static_cast<std::size_t>(token - tokens.begin())];
    };
    at(at_sign) = at(at_equals) = start;
    const auto number = [&](auto first, auto last, bool backwards) {
      for (auto t = first; t != last; ++t)
        at(t) = start + 1 + static_cast<std::int32_t>(backwards ? t - first : last - 1 - t);
    };
    number(tokens.begin() + 1, at_sign, false);
    number(at_sign + 1, at_equals, false);
    number(at_equals + 1, end, reversed);
  }

  void oracle(pes::Tokens tokens, pes::Targets targets) const {
    const auto at_sign = std::find(tokens.begin(), tokens.end(), sign);
    const auto at_equals = std::find(at_sign, tokens.end(), equals);
    const auto read = [&](auto from, auto to) {
      Digits d;
      for (auto t = to; t-- != from;)
        if (*t < sign) d.push_back(*t - digit);
      return d;
    };
    Problem p = {read(tokens.begin() + 1, at_sign), read(at_sign + 1, at_equals), {}};
    p.answer = Kind::difference ? difference(p.first, p.second) : sum(p.first, p.second);
    if (!pad) p.answer = trimmed(p.answer);
    if (pad && Kind::difference) p.answer.pop_back();  // which c alone needs
    pes::score_from(targets, static_cast<std::size_t>(at_equals - tokens.begin()),
                    worked(p, hints ? *(at_sign - 2) : 0));
  }

  pes::Chance chance_at(const pes::Request& r) const {
    const int n = problem_length(r.length), per_digit = hints ? 2 : 1;
    if (scratchpad.used())
      return tasks::chance_of_draws(r.length, outputs, [&](unsigned i) {
        pes::Random random(pes::hash64(card.name), pes::purpose("chance"), i);
        const Digits a = draw_number(random, n, operands(r));
        return worked(of_numbers(a, draw_number(random, n, operands(r)), n), 0);
      });
    const int most = most_digits(n);
    pes::BlindGuess guess(per_digit * most + 1, inputs);
    const typename Kind::Law law(n, operands(r));
    double targets = per_digit * most + 1;  // of an example, on average
    if (!pad) {
      targets = 1;  // EOS
      for (int size = 1; size <= most; ++size)
        targets += per_digit * size * law.of_size(size, [](int, int, double) {});
    }
    const auto numbers_of = [&](int size) {
      const auto place = [&](int w) { return per_digit * (reversed ? w : size - 1 - w); };
      const auto visit = [&](int w, int d, double p) {
        guess.add(place(w) + per_digit - 1, digit + d, p, p / targets);
      };
      double p = 1;
      if (pad)
        law.padded(visit);
      else
        p = law.of_size(size, visit);
      guess.add(per_digit * size, PES_EOS, p, p / targets);
      const int starts = places - n;  // the hint of the highest place is uniform on so many
      for (int w = 0; hints && w < size; ++w)
        for (int s = 0; s < starts; ++s)
          guess.add(place(w), first_hint + s + n - w, p / starts, p / starts / targets);
    };
    if (pad) numbers_of(most);
    for (int size = 1; !pad && size <= most; ++size) numbers_of(size);
    return {guess.accuracy()};
  }
  double distinct(int length) const {
    const int n = problem_length(length);
    return (hints ? std::log10(places - n) : 0) - std::log10(repeat(n, Operands::any));
  }
};

}  // namespace

extern const pes_task addition_task = pes::task<Addition<Sum>>,
                      subtraction_task = pes::task<Addition<Difference>>;
