// A string of bits stands twice, one bit is hidden: which is it?
#include "strings.h"

namespace {

using chomsky::Word;

constexpr int hidden = 2, rest = 3;

struct MissingDuplicate {
  static constexpr const char* name = "missing_duplicate";
  static constexpr const char* summary = "the hidden bit of a string that stands twice";
  static constexpr const char* taxonomy = "context-sensitive";
  static constexpr int symbols = 4, classes = 2, least = 2;
  static constexpr bool terminated = false;

  static int answer_length(int) { return 1; }
  static Word draw(pes::Random& random, int n) {
    Word x = chomsky::draw_word(random, n / 2, 2);
    x.resize(2 * x.size());
    std::copy(x.begin(), x.begin() + n / 2, x.begin() + n / 2);
    x[random.below(static_cast<std::uint32_t>(x.size()))] = hidden;
    if (n % 2 == 1) x.push_back(rest);
    return x;
  }
  static Word solve(const Word& x) {
    const std::size_t half = x.size() / 2;
    const auto at = static_cast<std::size_t>(std::find(x.begin(), x.end(), hidden) - x.begin());
    return {x[at < half ? at + half : at - half]};
  }
  static double blind(int) { return 0.5; }
  static std::vector<pes_shortcut> known(bool, int) {
    return {{sizeof(pes_shortcut), "bag", .57,
             "of the visible bits one has no double, so the commoner bit is the likelier one"}};
  }
  static double distinct(int n) { return n / 2 * std::log10(2) + std::log10(2 * (n / 2)); }
};

}  // namespace

extern const pes_task missing_duplicate = pes::task<chomsky::StringTask<MissingDuplicate>>;
