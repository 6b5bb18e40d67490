// A task: shown in docs/plugins.md.
#include <pesuite/pesuite.hpp>

namespace {
struct FirstCopy : pes::Task {
  static constexpr pes_option options[] = {
      pes::integer("symbols", "10", 2, 1000, "size of the alphabet")};
  static constexpr pes_card card = pes::card<FirstCopy>(
      {.name = "first_copy", .summary = "the first symbol, at each position", .taxonomy = "reach"});
  static constexpr pes_shortcut bag = {sizeof(pes_shortcut), "bag", .23,
                                       "the answer is one of the symbols read, at first few"};
  static constexpr pes_shortcut window = {sizeof(pes_shortcut), "window", .20,
                                          "at first it is among the last eight symbols"};
  int symbols;

  FirstCopy(const pes_use&, const pes::Values& v)
      : symbols(static_cast<int>(v.integer("symbols"))) {
    inputs = outputs = symbols;
    head = PES_TAG;  // a class for each position
    shortcuts = {&bag, &window};
  }
  void sample(const pes::Request&, pes::Random& random, pes::Example& e) const {
    for (auto& x : e.tokens)
      x = static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(symbols)));
    oracle(e.tokens, e.targets);
  }
  void oracle(std::span<const std::int32_t> tokens, std::span<std::int32_t> targets) const {
    for (std::size_t t = 0; t < targets.size(); ++t) targets[t] = t == 0 ? -1 : tokens[0];
  }
  double chance(int) const { return 1.0 / symbols; }
  double distinct(int length) const { return length * std::log10(symbols); }
};
constexpr const pes_task* tasks[] = {&pes::task<FirstCopy>, nullptr};
}  // namespace

PES_LIBRARY("first_copy", "1.0.0", "MIT", nullptr, tasks);
