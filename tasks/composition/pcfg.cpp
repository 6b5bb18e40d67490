// Functions of strings, applied one to another: BOS program SEP its value EOS, after Hupkes et al.
// 2020, "Compositionality decomposed". A program is a string of 2 to 5 letters, or one of six
// functions before a program, or one of four before two programs with a comma between them.
#include <array>

#include "sized.h"

namespace {

using namespace tasks;

enum Function : std::int32_t {
  copy,
  reverse,
  shift,
  swap,
  repeat,
  echo,
  append,
  prepend,
  remove_first,
  remove_second
};
constexpr bool takes_two(std::int32_t f) {
  return f >= append;
}
constexpr int functions = remove_second + 1, unary = append, binary = functions - unary;
constexpr int shortest = 2, longest = 5;  // letters of a string

constexpr int function0 = PES_FIRST_SYMBOL, comma = function0 + functions, letter0 = comma + 1;

using String = std::vector<std::int32_t>;

String value_of(std::int32_t f, String x, const String& y) {
  switch (f) {
    case reverse: std::reverse(x.begin(), x.end()); break;
    case shift: std::rotate(x.begin(), x.begin() + 1, x.end()); break;
    case swap: std::swap(x.front(), x.back()); break;
    case repeat: {
      const String once = x;
      x.insert(x.end(), once.begin(), once.end());
      break;
    }
    case echo: x.push_back(x.back()); break;
    case append: x.insert(x.end(), y.begin(), y.end()); break;
    case prepend: x.insert(x.begin(), y.begin(), y.end()); break;
    case remove_first: return y;
    default: break;  // copy, remove_second
  }
  return x;
}

// What a program says that begins at `at`, which is left behind it. Nothing where it is broken off,
// or where a value on the way has more than `most` letters: such values double and double.
String evaluate(Tokens tokens, std::size_t& at, std::size_t most) {
  if (at >= tokens.size() || tokens[at] < function0) return {};
  if (const std::int32_t f = tokens[at] - function0; f < functions) {
    String x = evaluate(tokens, ++at, most), y;
    if (takes_two(f)) y = evaluate(tokens, ++at, most);  // the comma lies between
    if (x.empty() || (takes_two(f) && y.empty())) return {};
    String value = value_of(f, std::move(x), y);
    return value.size() > most ? String{} : value;
  }
  String letters;
  for (; at < tokens.size() && tokens[at] >= letter0; ++at) letters.push_back(tokens[at]);
  return letters;
}

constexpr pes_shortcut letters_read = {sizeof(pes_shortcut), "bag", .23,
                                       "the value is made of letters that were read"},
                       string_near = {sizeof(pes_shortcut), "window", .21,
                                      "the last string stands right before the value"},
                       echoes = {sizeof(pes_shortcut), "last_token", .15,
                                 "a letter that was said twice is often said again"};

struct Pcfg : Sized {
  static constexpr pes_option options[] = {
      pes::integer("letters", "20", 2, 65536, "size of the alphabet"),
      pes::integer("least", "1", 1, 65536, "functions of the smallest program")};
  static constexpr pes_card card =
      pes::card<Pcfg>({.name = "pcfg",
                       .summary = "the value of functions of strings, applied one to another",
                       .taxonomy = "composition",
                       .paper = "Hupkes et al. 2020, arXiv:1908.08351"});

  // Room for a program of n functions and its value: more than most need.
  static constexpr int per_function = 6, tokens_around = 19;

  int letters;
  std::vector<double> repeats;

  Pcfg(const pes_use& use, const pes::Values& v) : letters(static_cast<int>(v.integer("letters"))) {
    inputs = outputs = letter0 + letters;
    head = PES_LM;
    determined = true;
    declare_sizes(use, static_cast<int>(v.integer("least")), {per_function, tokens_around},
                  "functions", "functions of the program");
    shortcuts = {&letters_read, &string_near, &echoes};
    repeats = law_of_repeats(largest(use.max_length));
  }

  // A program of n functions: the first one of ten, each as likely, and of those that are left any
  // share in its first operand.
  void write(pes::Random& random, int n, String& out) const {
    if (n == 0) {
      const std::size_t begin = out.size();
      out.resize(begin + static_cast<std::size_t>(random.between(shortest, longest)));
      return draw_uniform(random, std::span(out).subspan(begin), letter0, letters);
    }
    const int f = random.between(0, functions - 1);
    out.push_back(function0 + f);
    const int first = takes_two(f) ? random.between(0, n - 1) : n - 1;
    write(random, first, out);
    if (!takes_two(f)) return;
    out.push_back(comma);
    write(random, n - 1 - first, out);
  }
  // A program that fits into `length` tokens with its value, and so do all values on the way;
  // others are drawn again.
  void draw(pes::Random& random, int n, int length, String& program, String& value) const {
    do {
      program.clear();
      write(random, n, program);
      std::size_t at = 0;
      value = evaluate(program, at, static_cast<std::size_t>(length));
    } while (value.empty() || program.size() + value.size() + 3 > static_cast<std::size_t>(length));
  }

  void sample(const pes::Request& r, pes::Random& random, pes::Example& e) const {
    const Range range = drawn_for(r, 0);
    const int n = random.between(range.low, range.high);
    String program, value;
    do draw(random, n, r.length, program, value);
    while (splits_matter(n) && !belongs_to(r.split, pes::hash64(card.name), program));
    program.insert(program.begin(), PES_BOS);
    program.push_back(PES_SEP);
    value.push_back(PES_EOS);
    pes::write_problem(e, program, value);
  }
  void oracle(Tokens tokens, Targets targets) const {
    const auto end = std::find(tokens.begin(), tokens.end(), PES_SEP);
    std::size_t at = 1;
    const Tokens program = tokens.first(static_cast<std::size_t>(end - tokens.begin()));
    constexpr std::size_t most = 1 << 20;  // more than examples have
    String value = evaluate(program, at, most);
    value.push_back(PES_EOS);
    pes::score_from(targets, static_cast<std::size_t>(end - tokens.begin()), value);
  }

  // No letter is special. How long values are, and so how likely EOS is at each rank, is known from
  // draws: what one half of them makes the best guess, the other half tries. Error below 0.3
  // points.
  pes::Chance chance_at(const pes::Request& r) const {
    const Range range = sizes(r);
    const int half_of_draws = std::clamp((1 << 20) / range.high, 1 << 10, 1 << 14);
    std::array<std::vector<double>, 2> of_length;  // by half: how many values are so long
    String program, value;
    for (int i = 0; i < 2 * half_of_draws; ++i) {
      pes::Random random(0, pes::purpose("pcfg chance"), static_cast<unsigned>(i));
      draw(random, random.between(range.low, range.high), r.length, program, value);
      for (auto& half : of_length) half.resize(std::max(half.size(), value.size() + 1));
      ++of_length[static_cast<std::size_t>(i % 2)][value.size()];
    }
    double right = 0, asked = 0;
    std::array<double, 2> left;
    left.fill(half_of_draws);
    for (std::size_t rank = 0; rank < of_length[0].size(); ++rank) {
      const double end = of_length[0][rank], tried = of_length[1][rank];
      const bool ends = end > (left[0] - end) / letters;
      right += ends ? tried : (left[1] - tried) / letters;
      asked += left[1];
      left[0] -= end, left[1] -= tried;
    }
    return {right / asked};
  }

  // P(two programs of n functions are the same), n up to `most`: equal strings, or equal functions
  // of equal ones.
  std::vector<double> law_of_repeats(int most) const {
    constexpr double of_function = 1.0 / functions, of_size = 1.0 / (longest - shortest + 1);
    std::vector<double> p(static_cast<std::size_t>(most) + 1);
    for (int size = shortest; size <= longest; ++size)
      p[0] += of_size * of_size * std::pow(letters, -size);
    for (std::size_t n = 1; n < p.size(); ++n) {
      double pairs = 0;
      for (std::size_t first = 0; first < n; ++first) pairs += p[first] * p[n - 1 - first];
      const double share = 1.0 / static_cast<double>(n);
      p[n] = of_function * of_function * (unary * p[n - 1] + binary * share * share * pairs);
    }
    return p;
  }
  double log10_problems(int n, int) const override {
    return -std::log10(repeats[static_cast<std::size_t>(n)]);
  }
  double distinct(int length) const {
    const int most = largest(length), low = length > train_length_ ? most : least_;
    const double share = 1.0 / (most - low + 1);
    double same = 0;
    for (int n = low; n <= most; ++n) same += share * share * repeats[static_cast<std::size_t>(n)];
    return -std::log10(same);
  }
};

}  // namespace

extern const pes_task pcfg = pes::task<Pcfg>;
