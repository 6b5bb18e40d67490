// Writes down what it has read from its end: BOS x SEP reversed x EOS.
#include "echo.h"

namespace {

using namespace algorithmic;

constexpr const char* near = "the last items of x stand right before the first ones of y";
constexpr pes_shortcut window = {sizeof(pes_shortcut), "window", .13, near},
                       window_of_bits = {sizeof(pes_shortcut), "window", .58, near};

struct Reverse : Echo<Reverse> {
  static constexpr pes_card card =
      pes::card<Reverse>({.name = "reverse",
                          .summary = "repeats a sequence from its end, at sizes beyond training",
                          .taxonomy = "algorithmic",
                          .paper = "Kazemnejad et al. 2023, arXiv:2305.19466"});
  Reverse(const pes_use& use, const pes::Values& v) : Echo(use, v) {
    shortcuts.push_back(v.is("content", "bits") ? &window_of_bits : &window);
  }
  void answer(Tokens x, std::span<std::int32_t> y) const {
    std::reverse_copy(x.begin(), x.end(), y.begin());
  }
};

}  // namespace

extern const pes_task reverse_task = pes::task<Reverse>;
