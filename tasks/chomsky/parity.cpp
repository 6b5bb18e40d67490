// Is the number of ones odd?
#include "regular.h"

namespace {

struct Parity {
  static constexpr const char* name = "parity";
  static constexpr const char* summary = "whether a string of bits has an odd number of ones";
  static constexpr int symbols = 2, classes = 2;

  static int label(const chomsky::Word& x) { return std::accumulate(x.begin(), x.end(), 0) % 2; }
  static double blind(int) { return 0.5; }
};

}  // namespace

extern const pes_task parity = pes::task<chomsky::RegularTask<Parity>>;
