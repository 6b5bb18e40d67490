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
  static std::vector<pes_shortcut> known(bool slots) {
    if (!slots) return {};
    return {{sizeof(pes_shortcut), "bag", .57, "the commoner bit of 32 is at 57 % of the places"}};
  }
  static double distinct(int n) { return n * std::log10(2); }
};

}  // namespace

extern const pes_task odds_first = pes::task<chomsky::StringTask<OddsFirst>>;
