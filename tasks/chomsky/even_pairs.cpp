// Is the number of unequal neighbours odd? That is the same as: do the first and the last bit
// differ?
#include "regular.h"

namespace {

struct EvenPairs {
  static constexpr const char* name = "even_pairs";
  static constexpr const char* summary =
      "whether a string of bits has an odd number of unequal neighbours";
  static constexpr int symbols = 2, classes = 2;

  static int label(const chomsky::Word& x) {
    int unequal = 0;
    for (std::size_t t = 1; t < x.size(); ++t) unequal += x[t] != x[t - 1] ? 1 : 0;
    return unequal % 2;
  }
  static double blind(int n) { return n < 2 ? 1 : 0.5; }
};

}  // namespace

extern const pes_task even_pairs = pes::task<chomsky::RegularTask<EvenPairs>>;
