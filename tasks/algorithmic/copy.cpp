// Writes down again what it has read: BOS x SEP x EOS.
#include "echo.h"

namespace {

using namespace algorithmic;

struct Copy : Echo<Copy> {
  static constexpr pes_card card =
      pes::card<Copy>({.name = "copy",
                       .summary = "repeats a sequence that was read, at sizes beyond training",
                       .taxonomy = "algorithmic",
                       .paper = "Kazemnejad et al. 2023, arXiv:2305.19466"});
  using Echo::Echo;
  void answer(Tokens x, std::span<std::int32_t> y) const {
    std::copy(x.begin(), x.end(), y.begin());
  }
};

}  // namespace

extern const pes_task copy_task = pes::task<Copy>;
