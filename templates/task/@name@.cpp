// @name@: what is asked for, in a sentence, and why position matters for it.
#include <pesuite/pesuite.hpp>

#include <cmath>

namespace {

// An example that works: at each position, the symbol that stood `back` positions before.
struct @Name@ : pes::Task {
  static constexpr pes_option options[] = {
      pes::integer("symbols", "10", 2, 1000, "size of the alphabet"),
      pes::integer("back", "3", 1, 1000, "distance to the symbol that is asked for")};
  static constexpr pes_card card =
      pes::card<@Name@>({.name = "@name@",
                          .summary = "the symbol that stood some positions before",
                          .taxonomy = "reach"});
  // Cheap rules that are known to work, and how well: `pesuite task check` measures them.
  static constexpr pes_shortcut bag = {sizeof(pes_shortcut), "bag", .22,
                                       "the answer is one of the symbols read, at first few"};
  static constexpr pes_shortcut window = {sizeof(pes_shortcut), "window", 1,
                                          "the answer is among the last eight symbols"};
  int symbols;
  std::size_t back;

  @Name@(const pes_use& use, const pes::Values& v)
      : symbols(static_cast<int>(v.integer("symbols"))),
        back(static_cast<std::size_t>(v.integer("back"))) {
    if (use.train_length <= static_cast<int>(back))
      throw pes::Refusal("needs sequences longer than back = " + std::to_string(back));
    inputs = outputs = symbols;
    head = PES_TAG;  // a class for each position
    shortcuts = {&bag, &window};
  }
  // Draws from `random` alone: any thread can make any example again.
  void sample(const pes::Request&, pes::Random& random, pes::Example& e) const {
    for (auto& x : e.tokens)
      x = static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(symbols)));
    oracle(e.tokens, e.targets);
  }
  // Answers position t from tokens[0..t]; -1 where nothing is asked for.
  void oracle(std::span<const std::int32_t> tokens, std::span<std::int32_t> targets) const {
    for (std::size_t t = 0; t < targets.size(); ++t) targets[t] = t < back ? -1 : tokens[t - back];
  }
  double chance(int) const { return 1.0 / symbols; }  // of one who ignores the input
  double distinct(int length) const { return length * std::log10(symbols); }
};

constexpr const pes_task* tasks[] = {&pes::task<@Name@>, nullptr};

}  // namespace

PES_LIBRARY("@name@", "1.0.0", "MIT", nullptr, tasks);
