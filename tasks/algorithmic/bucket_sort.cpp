// Sorts items of which there are five kinds, so that most occur several times: BOS x SEP sorted x
// EOS (Deletang et al. 2023, "Neural networks and the Chomsky hierarchy").
#include "order.h"

namespace {

using namespace algorithmic;

constexpr int kinds = 5;

struct BucketSort : Written<BucketSort> {
  static constexpr bool split_by_answer = false;  // large problems have few answers by nature
  static constexpr pes_option options[] = {
      pes::integer("least", "1", 1, 65536, "items of the smallest problem")};
  static constexpr pes_card card =
      pes::card<BucketSort>({.name = "bucket_sort",
                             .summary = "writes items of five kinds in order: counting in disguise",
                             .taxonomy = "algorithmic",
                             .paper = "Deletang et al. 2023, arXiv:2207.02098"});

  pes_shortcut by_last, by_window, seen;

  BucketSort(const pes_use& use, const pes::Values& v)
      : by_last(measured_shortcut(
            "last_token",
            "what comes next is mostly what was written last, in large problems nearly always",
            use.train_length,
            {{24, .50},
             {48, .66},
             {64, .74},
             {96, .82},
             {128, .86},
             {192, .90},
             {256, .93},
             {512, .97},
             {1024, .99}})),
        by_window{sizeof(pes_shortcut), "window", std::min(1., by_last.level + .02),
                  "the same, and how often it was written"},
        seen(measured_shortcut(
            "bag", "of large problems each kind has a fifth, so that what was written counts them",
            use.train_length,
            {{16, .34}, {64, .43}, {128, .49}, {256, .56}, {384, .61}, {512, .65}, {768, .71}})) {
    declare_sizes(use, static_cast<int>(v.integer("least")), {2, tokens_around}, "items",
                  "items of the problem");
    declare_contents({{PES_FIRST_SYMBOL, kinds}});
    shortcuts = {&by_last, &by_window, &seen};
  }
  void draw(pes::Random& random, std::span<std::int32_t> x, Alphabet a) const {
    draw_uniform(random, x, a.first, a.count);
  }
  void answer(Tokens x, std::span<std::int32_t> y) const {
    std::copy(x.begin(), x.end(), y.begin());
    std::sort(y.begin(), y.end());
  }
  void law(BlindGuess& guess, Range range, Alphabet a, double share) const {
    for (int n = range.low; n <= range.high; ++n) {
      const OrderLaw law = repeated_order_law(n, a.count);
      for (int i = 0; i < n; ++i)
        for (int v = 0; v < a.count; ++v)
          guess.add(i, a.first + v, share * share_of_size(range) * law[i][v]);
    }
  }
  double log10_likeliest(Range range, Alphabet a) const {
    return log10_likeliest_order(range.low, a.count, true);
  }
  double log10_inputs(int n, Alphabet a) const { return n * std::log10(a.count); }
};

}  // namespace

extern const pes_task bucket_sort = pes::task<BucketSort>;
