// Encodings with one mistake each, as authors make them. plugin_check_test.cpp says which check
// must find it, and with what sentence.
#include <pesuite/pesuite.hpp>

#include <array>
#include <cstdlib>

namespace {

struct Sample : pes::Encoding {
  std::int64_t heads, width, train_length, max_length;
  Sample(const pes_model& m, const pes::Values&)
      : heads(m.heads), width(m.width), train_length(m.train_length), max_length(m.max_length) {}
  static pes::Tensor slopes(const pes::Step& s, std::int64_t rows) {
    return s.table({rows, s.offset + s.length}, [](auto h, auto d) {
      return -static_cast<double>(d) / static_cast<double>(h + 2);
    });
  }
};
template <class T>
constexpr pes_card about(const char* name, std::uint32_t claims = 0) {
  return pes::card<T>({.name = name,
                       .summary = "a sample with one mistake",
                       .taxonomy = "relative, fixed, bias",
                       .claims = claims});
}

// ---- what acts nowhere

struct Misspelt : Sample {
  static constexpr pes_card card = about<Misspelt>("misspelt");
  using Sample::Sample;
  void atend(const pes::Step& s, pes::Attention& a) const { a.distance = slopes(s, heads); }
};
struct SetsACopy : Sample {
  static constexpr pes_card card = about<SetsACopy>("sets_a_copy");
  using Sample::Sample;
  void attend(const pes::Step& s, pes::Attention a) const { a.distance = slopes(s, heads); }
};

// ---- shapes

struct DistanceSwapped : Sample {
  static constexpr pes_card card = about<DistanceSwapped>("distance_swapped");
  using Sample::Sample;
  void attend(const pes::Step& s, pes::Attention& a) const {
    a.distance = s.table({s.length, heads}, [](auto d, auto) { return -static_cast<double>(d); });
  }
};
struct DistanceShort : Sample {
  static constexpr pes_card card = about<DistanceShort>("distance_short");
  using Sample::Sample;
  void attend(const pes::Step& s, pes::Attention& a) const {
    a.distance =
        s.table({1, train_length / 2}, [](auto, auto d) { return -static_cast<double>(d); });
  }
};
struct DistanceByLayer : Sample {  // a slice of [layers, heads, 1] keeps three axes
  static constexpr pes_card card = about<DistanceByLayer>("distance_by_layer");
  pes::Param slope;
  DistanceByLayer(const pes_model& m, const pes::Values& v)
      : Sample(m, v), slope(param("slope", {m.layers, m.heads, 1}, pes::constant(1))) {}
  void attend(const pes::Step& s, pes::Attention& a) const {
    a.distance = slice(s[slope], 0, a.layer, 1) * slopes(s, 1);
  }
};
struct BiasSwapped : Sample {  // heads at the end
  static constexpr pes_card card = about<BiasSwapped>("bias_swapped");
  using Sample::Sample;
  void attend(const pes::Step& s, pes::Attention& a) const {
    const pes::Tensor far =
        s.table({s.length, s.length}, [](auto i, auto j) { return static_cast<double>(j - i); });
    a.bias = permute(
        reshape(far, {1, s.length, s.length}) *
            reshape(
                s.table({1, heads}, [](auto, auto h) { return 1.0 / static_cast<double>(h + 1); }),
                {heads, 1, 1}),
        {2, 1, 0});
  }
};
struct WidensQueries : Sample {
  static constexpr pes_card card = about<WidensQueries>("widens_queries");
  using Sample::Sample;
  void attend(const pes::Step&, pes::Attention& a) const { a.q = concat(a.q, a.q, -1); }
};
struct FlatEmbedding : Sample {
  static constexpr pes_card card = about<FlatEmbedding>("flat_embedding");
  using Sample::Sample;
  pes::Tensor embed(const pes::Step&, pes::Tensor x) const { return permute(x, {1, 0, 2}); }
};
struct CutScores : Sample {
  static constexpr pes_card card = about<CutScores>("cut_scores");
  using Sample::Sample;
  void attend(const pes::Step&, pes::Attention& a) const { a.rewrite = true; }
  void rewrite(const pes::Step&, pes::Scores& c) const { c.scores = sum(c.scores, -1); }
};

// ---- handles, parameters, numbers

struct KeepsHandle : Sample {
  static constexpr pes_card card = about<KeepsHandle>("keeps_handle");
  pes::Tensor kept;
  using Sample::Sample;
  void begin(const pes::Step& s) {
    if (kept.id.id == 0) kept = slopes(s, heads);
  }
  void attend(const pes::Step&, pes::Attention& a) const { a.distance = kept; }
};
struct UndeclaredParam : Sample {
  static constexpr pes_card card = about<UndeclaredParam>("undeclared_param");
  pes::Param slope;
  using Sample::Sample;
  void attend(const pes::Step& s, pes::Attention& a) const { a.distance = s[slope] * slopes(s, 1); }
};
struct NotANumber : Sample {
  static constexpr pes_card card = about<NotANumber>("not_a_number");
  using Sample::Sample;
  void attend(const pes::Step& s, pes::Attention& a) const {
    a.distance = s.table({1, s.length}, [](auto, auto d) {
      return d == 3 ? std::sqrt(-1.0 * static_cast<double>(d)) : 0.0;
    });
  }
};
struct ShoutedName : Sample {
  static constexpr pes_card card = about<ShoutedName>("shouted_name");
  pes::Param slope;
  ShoutedName(const pes_model& m, const pes::Values& v)
      : Sample(m, v), slope(param("Slope W", {m.heads, 1}, pes::constant(1))) {}
  void attend(const pes::Step& s, pes::Attention& a) const { a.distance = s[slope] * slopes(s, 1); }
};
struct Dices : Sample {
  static constexpr pes_card card = about<Dices>("dices");
  using Sample::Sample;
  void attend(const pes::Step& s, pes::Attention& a) const {
    const double slope = static_cast<double>(std::rand()) / RAND_MAX;
    a.distance = slopes(s, heads) * slope;
  }
};
struct CountsItsSteps : Sample {
  static constexpr pes_card card = about<CountsItsSteps>("counts_its_steps");
  int steps = 0;
  using Sample::Sample;
  void begin(const pes::Step&) { ++steps; }
  void attend(const pes::Step& s, pes::Attention& a) const {
    a.distance = slopes(s, heads) * (1.0 / steps);
  }
};

// ---- positions

struct FromZero : Sample {  // sines that ignore s.offset
  static constexpr pes_card card = about<FromZero>("from_zero");
  using Sample::Sample;
  pes::Tensor embed(const pes::Step& s, pes::Tensor x) const {
    return x + s.table({s.length, width}, [](auto t, auto c) {
      return std::sin(static_cast<double>(t) / (1.0 + static_cast<double>(c)));
    });
  }
};
struct TurnsFromZero : Sample {
  static constexpr pes_card card = about<TurnsFromZero>("turns_from_zero");
  std::int64_t pairs;
  TurnsFromZero(const pes_model& m, const pes::Values& v) : Sample(m, v), pairs(m.head_dim / 2) {
    if (m.head_dim % 2 != 0) throw pes::Refusal("needs an even head size");
  }
  void attend(const pes::Step& s, pes::Attention& a) const {
    const auto angle = [](auto t, auto r) {
      return static_cast<double>(t) * std::pow(0.5, static_cast<double>(r));
    };
    const pes::Tensor c =
        s.table({s.length, pairs}, [&](auto t, auto r) { return std::cos(angle(t, r)); });
    const pes::Tensor d =
        s.table({s.length, pairs}, [&](auto t, auto r) { return std::sin(angle(t, r)); });
    a.q = rotate(a.q, c, d), a.k = rotate(a.k, c, d);
  }
};
// A learned table of the longest sequence, which never says what of it is not trained.
template <class T>
struct TableSample : Sample {
  pes::Param table;
  TableSample(const pes_model& m, const pes::Values& v)
      : Sample(m, v), table(param("table", {m.max_length, m.width}, pes::normal(0.02))) {}
  pes::Tensor embed(const pes::Step& s, pes::Tensor x) const {
    if (s.offset + s.length > max_length) throw pes::Refusal("the table ends");
    return x + slice(s[table], 0, s.offset, s.length);
  }
};
struct TableUntold : TableSample<TableUntold> {
  static constexpr pes_card card = about<TableUntold>("table_untold");
  using TableSample::TableSample;
};
struct TableUnbounded : TableSample<TableUnbounded> {
  static constexpr pes_card card = about<TableUnbounded>("table_unbounded", PES_UNBOUNDED);
  using TableSample::TableSample;
  double untrained(int n) const {
    return n <= train_length ? 0 : 1 - static_cast<double>(train_length) / n;
  }
};

// ---- the future

struct ForgetsVisible : Sample {  // contextual counts that take what comes later for a key
  static constexpr pes_card card = about<ForgetsVisible>("forgets_visible");
  using Sample::Sample;
  void attend(const pes::Step&, pes::Attention& a) const { a.rewrite = true; }
  void rewrite(const pes::Step&, pes::Scores& c) const {
    c.scores = c.scores - cumsum(sigmoid(c.scores), -1, true);
  }
};

// ---- sound: windows that hide what is far

template <class T>
struct Window : Sample {
  using Sample::Sample;
  void attend(const pes::Step& s, pes::Attention& a) const {
    a.distance = s.table({heads, s.offset + s.length}, [](auto h, auto d) {
      return d < 4 ? -0.5 * static_cast<double>(d * (h + 1)) : T::hidden;
    });
  }
};
struct WindowInfinite : Window<WindowInfinite> {
  static constexpr double hidden = -pes::infinity;
  static constexpr pes_card card =
      about<WindowInfinite>("window_infinite", PES_RELATIVE | PES_MONOTONE_DECAY | PES_UNBOUNDED);
  using Window::Window;
};
struct WindowLarge : Window<WindowLarge> {
  static constexpr double hidden = -1e9;
  static constexpr pes_card card =
      about<WindowLarge>("window_large", PES_RELATIVE | PES_MONOTONE_DECAY | PES_UNBOUNDED);
  using Window::Window;
};
struct HidesItself : Sample {  // and leaves the first query no key at all
  static constexpr pes_card card = about<HidesItself>("hides_itself");
  using Sample::Sample;
  void attend(const pes::Step& s, pes::Attention& a) const {
    a.distance = s.table({1, s.offset + s.length},
                         [](auto, auto d) { return d == 0 ? -pes::infinity : 0.0; });
  }
};
// A gradient that is wrong beside a window: the mask must not hide it.
struct WindowDetached : Sample {
  static constexpr pes_card card = about<WindowDetached>("window_detached");
  pes::Param slope;
  WindowDetached(const pes_model& m, const pes::Values& v)
      : Sample(m, v), slope(param("slope", {m.heads, 1}, pes::constant(0.5))) {}
  void attend(const pes::Step& s, pes::Attention& a) const {
    const pes::Tensor mask = s.table({1, s.offset + s.length},
                                     [](auto, auto d) { return d < 4 ? 0.0 : -pes::infinity; });
    constexpr double fine = 1 << 30;
    const pes::Tensor coarse = floor(s[slope] * fine) / fine;
    a.distance = (coarse + s[slope]) * slopes(s, 1) + mask;
  }
};

struct GrowsUntold : Sample {  // another scale for all in a longer sequence
  static constexpr pes_card card = about<GrowsUntold>("grows_untold");
  using Sample::Sample;
  void attend(const pes::Step& s, pes::Attention& a) const {
    a.distance = slopes(s, heads);
    const std::int64_t length = std::int64_t{s.offset} + s.length;
    if (length > train_length)
      a.scale *= static_cast<double>(length) / static_cast<double>(train_length);
  }
};

struct SharesItsPass : Sample {  // turns from where the latest pass of any instance begins
  static constexpr pes_card card = about<SharesItsPass>("shares_its_pass");
  static inline thread_local std::int64_t begins = 0;
  SharesItsPass(const pes_model& m, const pes::Values& v) : Sample(m, v) {
    if (m.head_dim < 2) throw pes::Refusal("needs a pair to turn");
  }
  void begin(const pes::Step& s) { begins = s.offset; }
  void attend(const pes::Step& s, pes::Attention& a) const {
    const auto table = [&](double (*f)(double)) {
      return s.table({s.length, 1}, [f](auto t, auto) {
        return f(0.1 * static_cast<double>(begins + static_cast<std::int64_t>(t)));
      });
    };
    const pes::Tensor c = table(std::cos), d = table(std::sin);
    a.q = rotate(a.q, c, d), a.k = rotate(a.k, c, d);
  }
};

constexpr const pes_encoding* encodings[] = {&pes::encoding<Misspelt>,
                                             &pes::encoding<SetsACopy>,
                                             &pes::encoding<DistanceSwapped>,
                                             &pes::encoding<DistanceShort>,
                                             &pes::encoding<DistanceByLayer>,
                                             &pes::encoding<BiasSwapped>,
                                             &pes::encoding<WidensQueries>,
                                             &pes::encoding<FlatEmbedding>,
                                             &pes::encoding<CutScores>,
                                             &pes::encoding<KeepsHandle>,
                                             &pes::encoding<UndeclaredParam>,
                                             &pes::encoding<NotANumber>,
                                             &pes::encoding<ShoutedName>,
                                             &pes::encoding<Dices>,
                                             &pes::encoding<CountsItsSteps>,
                                             &pes::encoding<FromZero>,
                                             &pes::encoding<TurnsFromZero>,
                                             &pes::encoding<TableUntold>,
                                             &pes::encoding<TableUnbounded>,
                                             &pes::encoding<ForgetsVisible>,
                                             &pes::encoding<WindowInfinite>,
                                             &pes::encoding<WindowLarge>,
                                             &pes::encoding<HidesItself>,
                                             &pes::encoding<WindowDetached>,
                                             &pes::encoding<SharesItsPass>,
                                             &pes::encoding<GrowsUntold>,
                                             nullptr};

}  // namespace

PES_LIBRARY("mistakes", "1.0.0", "MIT", encodings, nullptr);
