// Programs that set variables to 0 and increment them, among lines that do nothing: what is printed
// in the end? Longer programs than those of training have more lines that do nothing.
#include "counting.h"

#include "examples.h"

namespace {

using namespace counting;

constexpr Weights reduced = {2, 22, 8}, of_the_paper = {1, 50, 7};

// Lines have 2 to 4 tokens, so where the question stands tells how many of them count.
std::vector<pes_shortcut> known(bool paper, int length) {
  const auto rule = [&](const char* name, const char* why,
                        std::initializer_list<tasks::Measured> few,
                        std::initializer_list<tasks::Measured> many) {
    return tasks::measured_shortcut(name, why, length, paper ? many : few);
  };
  return {
      rule(
          "position",
          "lines that count are longer than those that do not, and the question stands behind them",
          {{16, .97},
           {24, .89},
           {32, .83},
           {48, .73},
           {64, .65},
           {96, .49},
           {128, .38},
           {256, .23}},
          {{16, 1},
           {24, .98},
           {32, .97},
           {48, .93},
           {64, .90},
           {96, .78},
           {128, .69},
           {256, .41},
           {512, .22}}),
      rule("bag",
           "of few lines that count, how many there are of each kind and variable tells most",
           {{16, 1}, {24, .96}, {32, .89}, {48, .81}, {64, .68}, {96, .39}, {128, .30}, {256, .25}},
           {{24, 1},
            {32, .98},
            {48, .97},
            {64, .95},
            {96, .87},
            {128, .80},
            {256, .42},
            {512, .22}}),
      rule("window", "the last lines may have set what is printed",
           {{64, .52}, {96, .39}, {128, .37}, {256, .32}},
           {{64, .79}, {96, .66}, {128, .56}, {256, .35}, {512, .26}})};
}

struct Counting : pes::Task {
  static constexpr pes_option options[] = {
      pes::choice("variables", "3", "1|3|5", "how many variables there are"),
      pes::choice(
          "preset", "reduced", "reduced|paper",
          "weights of the lines SET, pass and INC, and their number: 2, 22, 8 and as many as "
          "fit into a training sequence; or 1, 50, 7 and 3 to 512")};
  static constexpr pes_card card =
      pes::card<Counting>({.name = "counting",
                           .summary = "the value of a counter after a program of many lines",
                           .version = "2",
                           .taxonomy = "counting",
                           .paper = "Golovneva et al. 2024, arXiv:2405.18719"});

  static constexpr int variable = PES_FIRST_SYMBOL, value = variable + most_variables,
                       is = value + most + 1, plus_plus = is + 1, end = is + 2, nop = is + 3,
                       print = is + 4;
  static constexpr int longest_line = 4, shortest_line = 2, frame = 4;  // BOS, print v value
  static constexpr int least_lines = 3, most_lines = 512;

  int variables;
  bool paper;
  int trained_lines;  // the longest program of training, without what stretches it
  std::vector<pes_shortcut> known_shortcuts;
  int divided = least_lines;  // from so many lines on programs are dealt to the splits

  Counting(const pes_use& use, const pes::Values& v)
      : variables(static_cast<int>(v.integer("variables"))),
        paper(v.is("preset", "paper")),
        trained_lines(lines_that_fit(use.train_length)),
        known_shortcuts(known(paper, use.train_length)) {
    inputs = outputs = print + 1;
    head = PES_LM;
    for (const pes_shortcut& s : known_shortcuts) shortcuts.push_back(&s);
    const auto distinct_programs = [&](int lines) {
      return -std::log10(law_of_programs(weights(), variables, lines, lines).repeat);
    };
    while (distinct_programs(divided) < tasks::log10_divisible) ++divided;
    if (paper)  // `reduced` has no shorter ones, and those of few lines are said to be few
      pes::require_length(use.train_length, frame + divided * longest_line,
                          "of fewer lines there are too few programs to keep some for testing");
  }
  int lines_that_fit(int length) const {
    pes::require_length(length, frame + least_lines * longest_line, "three lines must fit");
    return std::min((length - frame) / longest_line, paper ? most_lines : length);
  }
  const Weights& weights() const { return paper ? of_the_paper : reduced; }

  // Lines that are drawn, and lines that do nothing to stretch the program with.
  struct Size {
    int low, high, stretch;
  };
  Size size(int length) const {
    const int high = std::min(lines_that_fit(length), trained_lines);
    const int rest = length - frame - high * longest_line;
    const bool stretched = lines_that_fit(length) > trained_lines;
    return {paper ? least_lines : high, high, stretched ? rest / shortest_line : 0};
  }

  void sample(const pes::Request& r, pes::Random& random, pes::Example& e) const {
    const Size s = size(r.length);
    // training has all of the shortest programs
    const int low = r.split == PES_SPLIT_TRAIN ? s.low : std::min(std::max(s.low, divided), s.high);
    for (;;) {  // until there is something to print, in a program of this split
      std::vector<Line> program(random.between(low, s.high));
      State state = nothing;
      for (Line& line : program) {
        line = draw_line(random, weights(), variables, state);
        run(line, state);
      }
      const int asked = draw_holder(random, state);
      if (asked == unset) continue;
      const auto prompt = text(random, program, s.stretch, asked);
      if (std::ssize(program) >= divided &&
          !tasks::belongs_to(r.split, pes::hash64(card.name), prompt))
        continue;
      return pes::write_problem(e, prompt, std::array{std::int32_t{value + state[asked]}});
    }
  }
  int draw_holder(pes::Random& random, const State& state) const {
    std::vector<int> holders;
    for (int v = 0; v < variables; ++v)
      if (state[v] != unset) holders.push_back(v);
    if (holders.empty()) return unset;
    return holders[random.below(static_cast<std::uint32_t>(holders.size()))];
  }
  // The program with `stretch` lines that do nothing at uniform places, and the question.
  static std::vector<std::int32_t> text(pes::Random& random, const std::vector<Line>& program,
                                        int stretch, int asked) {
    std::vector<std::int32_t> out = {PES_BOS};
    auto next = program.begin();
    for (auto left =
             static_cast<std::uint32_t>(program.size()) + static_cast<std::uint32_t>(stretch);
         left > 0; --left) {
      const bool extra = stretch > 0 && random.below(left) < static_cast<std::uint32_t>(stretch);
      stretch -= extra ? 1 : 0;
      const Line line = extra ? Line{pass, 0} : *next++;
      switch (line.kind) {
        case set: out.insert(out.end(), {variable + line.variable, is, value, end}); break;
        case increment: out.insert(out.end(), {variable + line.variable, plus_plus, end}); break;
        case pass: out.insert(out.end(), {nop, end}); break;
      }
    }
    out.insert(out.end(), {print, variable + asked});
    return out;
  }

  void oracle(pes::Tokens tokens, pes::Targets targets) const {
    State state = nothing;
    std::size_t t = 1;
    for (; t + 1 < tokens.size() && tokens[t] != print; ++t) {
      if (tokens[t] < variable || tokens[t] >= value) continue;
      if (tokens[t + 1] == is) run({set, tokens[t] - variable}, state);
      if (tokens[t + 1] == plus_plus) run({increment, tokens[t] - variable}, state);
    }
    const int answer = t + 1 < tokens.size() ? state[tokens[t + 1] - variable] : 0;
    pes::score_from(targets, t + 1, std::array{std::int32_t{value + answer}});
  }

  double chance(int length) const {
    const Law l = law(length);
    return *std::max_element(l.value.begin(), l.value.end());
  }
  double distinct(int length) const { return -std::log10(law(length).repeat); }
  Law law(int length) const {
    const Size s = size(length);
    return law_of_programs(weights(), variables, s.low, s.high);
  }
};

}  // namespace

extern const pes_task counting_task = pes::task<Counting>;
