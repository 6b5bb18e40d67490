// Tasks that break one promise each, and one that keeps all: check_task must tell them apart.
#include <pesuite/pesuite.hpp>

#include <algorithm>
#include <atomic>

namespace {

constexpr int symbols = 8;

// An honest task: does the last symbol belong to the upper half? Each fake changes one thing.
struct Honest : pes::Task {
  static constexpr pes_shortcut easy = {sizeof(pes_shortcut), "last_token", 1, "that is the task"};
  static constexpr pes_shortcut bag = {sizeof(pes_shortcut), "bag", 0.7, "the last one is in it"};
  static constexpr pes_shortcut window = {sizeof(pes_shortcut), "window", 1, "it is in it"};

  Honest(const pes_use&, const pes::Values&) {
    inputs = PES_FIRST_SYMBOL + symbols;
    outputs = 2;
    head = PES_CLS;
    shortcuts = {&easy, &bag, &window};
  }
  static void fill(pes::Random& random, pes::Example& e) {
    for (auto& x : e.tokens) x = PES_FIRST_SYMBOL + static_cast<int>(random.below(symbols));
    label(e.tokens, e.targets);
  }
  static void label(std::span<const std::int32_t> tokens, std::span<std::int32_t> targets) {
    std::fill(targets.begin(), targets.end(), -1);
    targets.back() = tokens.back() >= PES_FIRST_SYMBOL + symbols / 2 ? 1 : 0;
  }
  void sample(const pes::Request&, pes::Random& random, pes::Example& e) const { fill(random, e); }
  void oracle(std::span<const std::int32_t> tokens, std::span<std::int32_t> targets) const {
    label(tokens, targets);
  }
  double chance(int) const { return 0.5; }
  double distinct(int length) const { return length * std::log10(symbols); }
};

template <class T>
constexpr pes_card card(const char* name) {
  return pes::card<T>({.name = name, .summary = "for tests"});
}

struct Sound : Honest {
  static constexpr pes_card card = ::card<Sound>("sound");
  using Honest::Honest;
};
struct WrongTarget : Honest {  // an lm task whose target is not the next token
  static constexpr pes_card card = ::card<WrongTarget>("wrong_target");
  WrongTarget(const pes_use& use, const pes::Values& v) : Honest(use, v) {
    outputs = inputs;
    head = PES_LM;
  }
  void sample(const pes::Request&, pes::Random& random, pes::Example& e) const {
    fill(random, e);
    std::copy(e.tokens.begin(), e.tokens.end(), e.targets.begin());
  }
};
struct ScoresPad : Honest {
  static constexpr pes_card card = ::card<ScoresPad>("scores_pad");
  ScoresPad(const pes_use& use, const pes::Values& v) : Honest(use, v) {
    outputs = inputs;
    head = PES_LM;
  }
  void sample(const pes::Request&, pes::Random&, pes::Example& e) const {
    std::fill(e.tokens.begin(), e.tokens.end(), std::int32_t{PES_PAD});
    std::fill(e.targets.begin(), e.targets.end(), std::int32_t{PES_PAD});
  }
};
struct Silent : Honest {  // scores nothing
  static constexpr pes_card card = ::card<Silent>("silent");
  using Honest::Honest;
  void sample(const pes::Request&, pes::Random& random, pes::Example& e) const {
    fill(random, e);
    e.targets.back() = -1;
  }
};
struct Lazy : Honest {  // leaves targets as they were
  static constexpr pes_card card = ::card<Lazy>("lazy");
  using Honest::Honest;
  void sample(const pes::Request&, pes::Random& random, pes::Example& e) const {
    for (auto& x : e.tokens) x = PES_FIRST_SYMBOL + static_cast<int>(random.below(symbols));
    e.targets.back() = 0;
  }
};
struct Stateful : Honest {  // examples depend on how many were made before
  static constexpr pes_card card = ::card<Stateful>("stateful");
  using Honest::Honest;
  mutable std::atomic<std::uint64_t> calls = 0;
  void sample(const pes::Request& r, pes::Random&, pes::Example& e) const {
    pes::Random random(r.seed, 0, calls++);
    fill(random, e);
  }
};
struct WrongOracle : Honest {
  static constexpr pes_card card = ::card<WrongOracle>("wrong_oracle");
  using Honest::Honest;
  void oracle(std::span<const std::int32_t> tokens, std::span<std::int32_t> targets) const {
    label(tokens, targets);
    if (tokens.front() == PES_FIRST_SYMBOL) targets.back() = 1 - targets.back();
  }
};
struct WrongChance : Honest {
  static constexpr pes_card card = ::card<WrongChance>("wrong_chance");
  using Honest::Honest;
  double chance(int) const { return 0.25; }
};
struct WrongExact : Honest {  // one target an example, and yet less chance for all of it
  static constexpr pes_card card = ::card<WrongExact>("wrong_exact");
  using Honest::Honest;
  pes::Chance chance_at(const pes::Request&) const { return {0.5, 0.25}; }
};
struct DearOptimum : Honest {  // asks a price for what is certain
  static constexpr pes_card card = ::card<DearOptimum>("dear_optimum");
  using Honest::Honest;
  void sample(const pes::Request&, pes::Random& random, pes::Example& e) const {
    fill(random, e);
    std::fill(e.optimum.begin(), e.optimum.end(), 0.1);
  }
};
struct HiddenShortcut : Honest {  // declares nothing, and the last token tells all
  static constexpr pes_card card = ::card<HiddenShortcut>("hidden_shortcut");
  HiddenShortcut(const pes_use& use, const pes::Values& v) : Honest(use, v) { shortcuts.clear(); }
};
struct Repeating : Honest {  // 10000 examples, in all splits, where there should be 8^length
  static constexpr pes_card card = ::card<Repeating>("repeating");
  using Honest::Honest;
  void sample(const pes::Request& r, pes::Random& example, pes::Example& e) const {
    pes::Random random(r.seed, 0, example.below(10000));
    fill(random, e);
  }
};
struct Unsteady : Honest {  // a corpus whose windows disagree
  static constexpr pes_card card = ::card<Unsteady>("unsteady");
  Unsteady(const pes_use& use, const pes::Values& v) : Honest(use, v) {
    document = 1000;
    outputs = inputs;
    head = PES_LM;
  }
  void sample(const pes::Request& r, pes::Random& random, pes::Example& e) const {
    if (r.start > 0) random.bits();
    fill(random, e);
    std::copy(e.tokens.begin() + 1, e.tokens.end(), e.targets.begin());
    e.targets.back() = PES_FIRST_SYMBOL;
    std::fill(e.optimum.begin(), e.optimum.end(), -1.0);
  }
};

template <class... T>
constexpr std::array<const pes_task*, sizeof...(T) + 1> list = {&pes::task<T>..., nullptr};
constexpr const auto& tasks =
    list<Sound, WrongTarget, ScoresPad, Silent, Lazy, Stateful, WrongOracle, WrongChance,
         WrongExact, DearOptimum, HiddenShortcut, Repeating, Unsteady>;

}  // namespace

PES_LIBRARY("broken_tasks", "1.0.0", "MIT", nullptr, tasks.data());
