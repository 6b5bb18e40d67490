// Where does a walk on a cycle of five places end? Symbols 0, 1, 2 are the steps 0, +1, -1.
#include "regular.h"

namespace {

constexpr int places = 5;

struct CycleNav {
  static constexpr const char* name = "cycle_nav";
  static constexpr const char* summary = "the place where a walk on a cycle of five places ends";
  static constexpr int symbols = 3, classes = places;

  static int label(const chomsky::Word& x) {
    constexpr int step[symbols] = {0, 1, places - 1};
    int place = 0;
    for (const int s : x) place = (place + step[s]) % places;
    return place;
  }
  static double blind(int n) {
    std::array<double, places> law{1};
    for (int t = 0; t < n; ++t) {
      std::array<double, places> next{};
      for (int p = 0; p < places; ++p)
        for (const int from : {p, p + 1, p + places - 1}) next[p] += law[from % places] / symbols;
      law = next;
    }
    return *std::max_element(law.begin(), law.end());
  }
};

}  // namespace

extern const pes_task cycle_nav = pes::task<chomsky::RegularTask<CycleNav>>;
