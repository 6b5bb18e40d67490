// One symbol of a sequence occurs twice, all others once. Which one (symbol), how far apart
// (bucket), or which and where (text)?
//
// An example of T tokens is L symbols, ASK and the answer, so L = T - 1 - (length of the answer).
#include "sequences.h"

#include <bit>

namespace {

using namespace sandbox;

constexpr int buckets = 8;  // of floor(log2(distance)), the last one open

constexpr pes_shortcut count_of_two = {sizeof(pes_shortcut), "bag", 1,
                                       "the symbol that was seen twice is the answer"};

int log2_floor(int n) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(n))) - 1;
}

struct Pair {  // places of the two equal symbols
  int first, second;
};
struct Range {  // both ends included
  int low, high;
};

struct PairMatch : pes::Task {
  static constexpr pes_option options[] = {
      pes::choice("variant", "symbol", "symbol|bucket|text",
                  "what is asked: the repeated symbol; floor(log2(distance)), at most 7; or the "
                  "symbol and both places with three digits each")};
  static constexpr pes_card card =
      pes::card<PairMatch>({.name = "pair_match",
                            .summary = "finds the one symbol that occurs twice, and where",
                            .taxonomy = "long distance"});

  enum class Variant { symbol, bucket, text } variant;
  int max_length;
  int symbols;  // more than the longest sequence holds, the same at each length: all are trained
  int extra;    // token of digit 0 or of bucket 0
  std::vector<double> distances;
  pes_axis distance_axis{};

  PairMatch(const pes_use& use, const pes::Values& v)
      : variant(v.is("variant", "bucket") ? Variant::bucket
                : v.is("variant", "text") ? Variant::text
                                          : Variant::symbol),
        max_length(use.max_length),
        symbols(use.max_length + 64),
        extra(PES_FIRST_SYMBOL + symbols) {
    constexpr int extras[] = {0, buckets, 10};
    inputs = outputs = extra + extras[static_cast<int>(variant)];
    head = PES_LM;
    determined = true;
    const int longest = 1000 + 1 + answer_length();
    if (variant == Variant::text && max_length > longest)
      throw pes::Refusal("variant=text names places with three digits, so lengths end at " +
                         std::to_string(longest) + ", not " + std::to_string(max_length));
    if (variant == Variant::symbol) shortcuts = {&count_of_two};
    // where the distance is the answer it is no axis
    if (variant != Variant::bucket) declare_distances(use.train_length);
  }
  void declare_distances(int train_length) {
    const auto octaves = [&](int length) {  // of distances 1 .. L - 1
      return log2_floor(std::max(1, problem_length(length) - 1)) + 1;
    };
    for (int i = 0; i < octaves(max_length); ++i) distances.push_back(i);
    distance_axis = {
        sizeof(pes_axis),    "distance",
        "log2 tokens",       "distance of the two places, from 2^value to 2^(value + 1) - 1",
        distances.data(),    nullptr,
        octaves(max_length), octaves(train_length)};
    axes = {&distance_axis};
  }

  int answer_length() const {
    constexpr int lengths[] = {2, 1, 2 + 2 * digit_count};
    return lengths[static_cast<int>(variant)];
  }
  int problem_length(int length) const { return std::max(0, length - 1 - answer_length()); }

  void sample(const pes::Request& r, pes::Random& random, pes::Example& e) const {
    require_length(r.length, 3 + answer_length(), "two symbols, ASK and the answer");
    const int n = problem_length(r.length);
    const Pair pair = draw_pair(distances_of(r, n), random, n);
    const std::span<std::int32_t> x = e.tokens.first(n);
    draw_distinct(random, x.first(x.size() - 1), PES_FIRST_SYMBOL, symbols);
    x.back() = x[pair.first];
    std::rotate(x.begin() + pair.second, x.end() - 1, x.end());  // to its place
    e.tokens[x.size()] = PES_ASK;
    const auto words = answer(x, pair);
    std::copy(words.begin(), words.end(), e.tokens.end() - std::ssize(words));
    score_answer(e.targets, words);
  }
  Range distances_of(const pes::Request& r, int n) const {
    if (variant == Variant::bucket || r.draws(0)) return {1, n - 1};
    if (std::find(distances.begin(), distances.end(), r.axis(0)) == distances.end())
      throw pes::Refusal("axis distance has no value " + number_text(r.axis(0)));
    const int low = 1 << static_cast<int>(r.axis(0));
    if (low >= n)
      throw pes::Refusal("no two of " + std::to_string(n) + " symbols are " + std::to_string(low) +
                         " apart");
    return {low, std::min(2 * low, n) - 1};
  }
  static Pair draw_pair(Range distance_of, pes::Random& random, int n) {
    const int distance = random.between(distance_of.low, distance_of.high);
    const int first = random.between(0, n - 1 - distance);
    return {first, first + distance};
  }

  std::vector<std::int32_t> answer(Tokens x, Pair pair) const {
    const std::int32_t symbol = x[pair.first];
    const auto i = digits(pair.first), j = digits(pair.second);
    switch (variant) {
      case Variant::symbol: return {symbol, PES_EOS};
      case Variant::bucket: return {extra + bucket(pair.second - pair.first)};
      case Variant::text:
        return {symbol,       extra + i[0], extra + i[1], extra + i[2],
                extra + j[0], extra + j[1], extra + j[2], PES_EOS};
    }
    return {};
  }
  static int bucket(int distance) { return std::min(buckets - 1, log2_floor(distance)); }

  void oracle(Tokens tokens, Targets targets) const {
    const int n = problem_length(static_cast<int>(tokens.size()));
    const Tokens x = tokens.first(n);
    score_answer(targets, answer(x, find_pair(x)));
  }
  Pair find_pair(Tokens x) const {
    std::vector<int> place(inputs, -1);
    for (int t = 0; t < std::ssize(x); ++t) {
      int& earlier = place[x[t]];
      if (earlier >= 0) return {earlier, t};
      earlier = t;
    }
    return {0, 0};
  }

  pes::Chance chance_at(const pes::Request& r) const {
    const int n = problem_length(r.length);
    switch (variant) {
      case Variant::symbol: return {(1.0 / symbols + 1) / answer_length()};  // EOS is certain
      case Variant::bucket: return {likeliest_bucket(n)};
      // The second place has the law of the first, counted from the end.
      case Variant::text: {
        const std::vector<double> first = law_of_first(distances_of(r, n), n),
                                  second(first.rbegin(), first.rend());
        return {(1.0 / symbols + digits_guessed(first) + digits_guessed(second) + 1) /
                answer_length()};
      }
    }
    return {};
  }
  static double likeliest_bucket(int n) {
    std::array<double, buckets> law{};
    for (int d = 1; d < n; ++d) law[bucket(d)] += 1.0 / (n - 1);
    return *std::max_element(law.begin(), law.end());
  }
  // P(first = i) is the sum over distances d <= n - 1 - i of P(d) / (n - d).
  static std::vector<double> law_of_first(Range distance, int n) {
    std::vector<double> law(n);
    double sum = 0;
    int d = distance.low;
    for (int i = n - 1 - distance.low; i >= 0; --i) {
      for (; d <= std::min(distance.high, n - 1 - i); ++d)
        sum += 1.0 / (distance.high - distance.low + 1) / (n - d);
      law[i] = sum;
    }
    return law;
  }
  double distinct(int length) const {  // pairs of places, times ordered samples of n - 1 symbols
    const int n = problem_length(length);
    double sum = std::log10(n * (n - 1) / 2.0);
    for (int i = 0; i < n - 1; ++i) sum += std::log10(symbols - i);
    return sum;
  }
};

}  // namespace

extern const pes_task pair_match = pes::task<PairMatch>;
