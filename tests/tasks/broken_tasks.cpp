// Tasks that break one promise each, and one that keeps all: check_task must tell them apart.
#include <pesuite/pesuite.hpp>

#include <algorithm>
#include <atomic>
#include <cstdlib>

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
struct OneChance : Honest {  // an axis that changes chance, of which chance() knows nothing
  static constexpr pes_card card = ::card<OneChance>("one_chance");
  static constexpr double values[] = {0, 1};
  static constexpr pes_axis upper = {sizeof(pes_axis), "upper", "", "", values, nullptr, 2, 1};
  OneChance(const pes_use& use, const pes::Values& v) : Honest(use, v) { axes = {&upper}; }
  void sample(const pes::Request& r, pes::Random& random, pes::Example& e) const {
    fill(random, e);
    if (!r.draws(0) && r.axis(0) == 1) e.tokens.back() = PES_FIRST_SYMBOL + symbols - 1;
    label(e.tokens, e.targets);
  }
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
struct FarBack : Honest {  // hangs on what stands before the first token
  static constexpr pes_card card = ::card<FarBack>("far_back");
  using Honest::Honest;
  void sample(const pes::Request&, pes::Random& random, pes::Example& e) const {
    for (auto& x : e.tokens) x = PES_FIRST_SYMBOL + symbols - 1;
    label(e.tokens, e.targets);
    random.bits();
    if (!e.distances.empty()) e.distances.back() = static_cast<std::int32_t>(e.tokens.size()) + 1;
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
struct Undivided : Repeating {  // says that they are few, and yet all splits have all
  static constexpr pes_card card = ::card<Undivided>("undivided");
  using Repeating::Repeating;
  double distinct(int) const { return 4; }
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

// An honest corpus: each symbol is the one two places before, or another draw. Its reader of a
// window is told what stands before it. The fakes below change what is said of its law.
struct Echoes : pes::Task {
  static constexpr int kinds = 4;
  static constexpr double p_echo = .5;
  Echoes(const pes_use&, const pes::Values&) {
    document = 1000;
    inputs = outputs = PES_FIRST_SYMBOL + kinds;
    head = PES_LM;
  }
  static std::vector<std::int32_t> write(pes::Random& random, std::size_t count) {
    std::vector<std::int32_t> x(count);
    for (std::size_t t = 0; t < count; ++t) {
      const bool echo = random.event(pes::probability(p_echo)) && t >= 2;
      const std::int32_t drawn = PES_FIRST_SYMBOL + random.between(0, kinds - 1);
      x[t] = echo ? x[t - 2] : drawn;
    }
    return x;
  }
  // Of what follows the symbols x, for one who takes echoes to be this likely.
  static double cost(std::span<const std::int32_t> x, std::int32_t token, double echo = p_echo) {
    const double drawn = 1.0 / kinds;
    if (token < PES_FIRST_SYMBOL) return pes::infinity;
    if (x.size() < 2) return -std::log(drawn);
    return -std::log((1 - echo) * drawn + (token == x[x.size() - 2] ? echo : 0));
  }
  static std::size_t fill(const pes::Request& r, pes::Random& random, pes::Example& e,
                          double echo = p_echo) {
    const std::size_t start = r.start >= 0 ? static_cast<std::size_t>(r.start) : r.index % 100;
    const std::size_t n = e.tokens.size();
    const std::vector<std::int32_t> x = write(random, start + n + 1);
    for (std::size_t t = 0; t < n; ++t) {
      e.tokens[t] = x[start + t], e.targets[t] = x[start + t + 1];
      if (!e.optimum.empty())
        e.optimum[t] = cost(std::span(x).first(start + t + 1), e.targets[t], echo);
    }
    return start;
  }
  static void law(std::span<const std::int32_t> tokens, std::size_t start, std::span<double> nats,
                  double echo = p_echo) {
    constexpr std::size_t width = PES_FIRST_SYMBOL + kinds;
    for (std::size_t t = start; t < tokens.size(); ++t)
      for (std::size_t v = 0; v < width; ++v)
        nats[(t - start) * width + v] =
            cost(tokens.first(t + 1), static_cast<std::int32_t>(v), echo);
  }
  void sample(const pes::Request& r, pes::Random& random, pes::Example& e) const {
    fill(r, random, e);
  }
  double distinct(int) const { return pes::infinity; }
};

struct Lawful : Echoes {
  static constexpr pes_card card = ::card<Lawful>("lawful");
  using Echoes::Echoes;
  void predict(std::span<const std::int32_t> tokens, std::size_t start,
               std::span<double> nats) const {
    law(tokens, start, nats);
  }
};
struct Unpredicted : Echoes {  // says nothing of its law, which is no fault
  static constexpr pes_card card = ::card<Unpredicted>("unpredicted");
  using Echoes::Echoes;
};
struct CheapOptimum : Lawful {  // always the same too little
  static constexpr pes_card card = ::card<CheapOptimum>("cheap_optimum");
  using Lawful::Lawful;
  void sample(const pes::Request& r, pes::Random& random, pes::Example& e) const {
    fill(r, random, e);
    for (double& nats : e.optimum) nats -= .01;
  }
};
struct LateOptimum : Lawful {  // the same, but not at the beginning of documents
  static constexpr pes_card card = ::card<LateOptimum>("late_optimum");
  using Lawful::Lawful;
  void sample(const pes::Request& r, pes::Random& random, pes::Example& e) const {
    if (fill(r, random, e) == 0) return;
    for (double& nats : e.optimum) nats -= .01;
  }
};
struct TooLikely : Echoes {  // probabilities that sum to 1.1, of which the optimum is one
  static constexpr pes_card card = ::card<TooLikely>("too_likely");
  using Echoes::Echoes;
  static constexpr double factor = 1.1;
  void sample(const pes::Request& r, pes::Random& random, pes::Example& e) const {
    fill(r, random, e);
    for (double& nats : e.optimum) nats -= std::log(factor);
  }
  void predict(std::span<const std::int32_t> tokens, std::size_t start,
               std::span<double> nats) const {
    law(tokens, start, nats);
    for (double& x : nats) x -= std::log(factor);
  }
};
struct TooModest : Echoes {  // a law, and its optimum, but of fewer echoes than there are
  static constexpr pes_card card = ::card<TooModest>("too_modest");
  using Echoes::Echoes;
  static constexpr double claimed = .3;
  void sample(const pes::Request& r, pes::Random& random, pes::Example& e) const {
    fill(r, random, e, claimed);
  }
  void predict(std::span<const std::int32_t> tokens, std::size_t start,
               std::span<double> nats) const {
    law(tokens, start, nats, claimed);
  }
};
struct NoOptimum : Lawful {  // a law, and no optimum
  static constexpr pes_card card = ::card<NoOptimum>("no_optimum");
  using Lawful::Lawful;
  void sample(const pes::Request& r, pes::Random& random, pes::Example& e) const {
    fill(r, random, e);
    std::fill(e.optimum.begin(), e.optimum.end(), std::nan(""));
  }
};

struct ReadsAhead : Honest {  // asks at each position for what stands at the end
  static constexpr pes_card card = ::card<ReadsAhead>("reads_ahead");
  ReadsAhead(const pes_use& use, const pes::Values& v) : Honest(use, v) { head = PES_TAG; }
  void sample(const pes::Request&, pes::Random& random, pes::Example& e) const {
    fill(random, e);
    oracle(e.tokens, e.targets);
  }
  void oracle(std::span<const std::int32_t> tokens, std::span<std::int32_t> targets) const {
    label(tokens, targets);
    std::fill(targets.begin(), targets.end(), targets.back());
  }
};
struct FewSaid : Honest {  // the number of examples where its logarithm is asked for
  static constexpr pes_card card = ::card<FewSaid>("few_said");
  using Honest::Honest;
  double distinct(int) const { return 1; }
};
struct DeafAxis : Honest {  // an axis that sample() does not read
  static constexpr pes_card card = ::card<DeafAxis>("deaf_axis");
  static constexpr double values[] = {0.1, 0.5, 0.9};
  static constexpr pes_axis depth = {sizeof(pes_axis), "depth", "", "where it stands",
                                     values,           nullptr, 3,  3};
  DeafAxis(const pes_use& use, const pes::Values& v) : Honest(use, v) { axes = {&depth}; }
};
struct RefusesLate : Honest {  // one training example
  static constexpr pes_card card = ::card<RefusesLate>("refuses_late");
  using Honest::Honest;
  void sample(const pes::Request& r, pes::Random& random, pes::Example& e) const {
    if (r.split == PES_SPLIT_TRAIN && r.index == 22) throw pes::Refusal("has no example 22");
    fill(random, e);
  }
};

struct Crashing : Honest {
  static constexpr pes_card card = ::card<Crashing>("crashing");
  using Honest::Honest;
  void sample(const pes::Request&, pes::Random&, pes::Example&) const { std::abort(); }
};

template <class... T>
constexpr std::array<const pes_task*, sizeof...(T) + 1> list = {&pes::task<T>..., nullptr};
constexpr const auto& tasks =
    list<Sound, WrongTarget, ScoresPad, Silent, Lazy, Stateful, WrongOracle, WrongChance, OneChance,
         WrongExact, DearOptimum, FarBack, HiddenShortcut, Repeating, Undivided, Unsteady, Lawful,
         Unpredicted, CheapOptimum, LateOptimum, TooLikely, TooModest, NoOptimum, ReadsAhead,
         FewSaid, DeafAxis, RefusesLate, Crashing>;

}  // namespace

PES_LIBRARY("broken_tasks", "1.0.0", "MIT", nullptr, tasks.data());
