// The bits at odd places (from 0), then those at even places.
#include "strings.h"

namespace {

using chomsky::Word;

struct OddsFirst {
  static constexpr const char* name = "odds_first";
  static constexpr const char* summary = "the bits at odd places, then those at even places";
  static constexpr const char* taxonomy = "context-sensitive";
  static constexpr int symbols = 2, classes = 2, least = 1;
  static constexpr bool terminated = false;

  static int answer_length(int n) { return n; }
  static Word draw(pes::Random& random, int n) { return chomsky::draw_word(random, n, 2); }
  static Word solve(const Word& x) {
    Word y;
    for (const std::size_t first : {1, 0})
      for (std::size_t t = first; t < x.size(); t += 2) y.push_back(x[t]);
    return y;
  }
  static double blind(int) { return 0.5; }
  static constexpr const char* commoner =
      "the commoner bit is at more than half of the places, of 32 at 57 %";
  static std::vector<pes_shortcut> known(bool slots, int length) {
    return {
        slots
            ? tasks::measured_shortcut("bag", commoner, length,
                                       {{12, .66},
                                        {16, .64},
                                        {24, .62},
                                        {32, .60},
                                        {64, .57},
                                        {128, .55},
                                        {256, .54},
                                        {512, .52}})
            : tasks::measured_shortcut(
                  "bag", commoner, length,
                  {{16, .66}, {24, .62}, {32, .60}, {48, .58}, {64, .55}, {96, .53}, {128, .52}})};
  }
  static double distinct(int n) { return n * std::log10(2); }
};

}  // namespace

extern const pes_task odds_first = pes::task<chomsky::StringTask<OddsFirst>>;
