// Probes against numbers by hand, plain loops in double, and models that do the same on purpose.
#include "model/probes.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <numbers>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "model/safetensors.h"
#include "tests/scratch.h"
#include "tests/support.h"

namespace pesuite::testing {
namespace {

const Catalog& catalog() {
  static const Catalog all = open_catalog({PESUITE_TEST_PLUGINS});
  return all;
}

constexpr int train_length = 16, max_length = 96;

ModelConfig config_of(int vocabulary) {
  ModelConfig c;
  c.width = 32, c.layers = 2, c.heads = 4, c.kv_heads = 2, c.ff_width = 48;
  c.vocabulary = c.classes = vocabulary;
  return c;
}

// A model with start values that are large enough for its attention to be sharp, on a task.
struct Subject {
  std::unique_ptr<Backend> backend;
  Task task;
  std::unique_ptr<Model> model;

  explicit Subject(const std::string& encoding, const std::string& on = "reference",
                   const std::string& task_text = "toylag(document=256)")
      : backend(open_backend(on, {})),
        task(catalog(), parse_expression(task_text, "task"), train_length, max_length) {
    const ModelConfig c = config_of(task.info().inputs);
    const ModelShape shape{c.layers, c.heads,      c.groups(), c.head_dim(),
                           c.width,  train_length, max_length};
    model = std::make_unique<Model>(
        *backend, c, Composition(catalog(), parse_encoding(encoding).first, shape), 7);
    scale("embedding.weight", 20);
    scale(".qkv.weight", 8);
    scale(".out.weight", 8);
  }
  std::vector<double> values(const Parameter& p) {
    std::vector<double> v(static_cast<std::size_t>(p.shape.count()));
    backend->download(v.data(), View{p.value, p.shape});
    return v;
  }
  // Replaces values of the parameters whose names end so: f(index, value).
  template <class F>
  void change(const std::string& ending, F f) {
    for (Parameter& p : model->parameters()) {
      if (!p.name.ends_with(ending)) continue;
      std::vector<double> v = values(p);
      for (std::size_t i = 0; i < v.size(); ++i) v[i] = f(i, v[i]);
      backend->upload(Out{p.value, p.shape}, v.data());
    }
  }
  void scale(const std::string& ending, double by) {
    change(ending, [by](std::size_t, double x) { return by * x; });
  }
  std::vector<Observation> look(ProbeConfig p, int length = 24) {
    return probe(*model, task, config(), p, length, 5, 1);
  }
  double nll(int length = 24) {
    for (const Observation& o : evaluate(*model, task, config(), length, 5, 1))
      if (o.metric == "nll" && !o.coords.contains("pos_lo")) return o.value;
    return 0;
  }
  static EvalConfig config() {
    EvalConfig c;
    c.lengths = {24, 48}, c.protocols = {Protocol{}}, c.examples = 3, c.train_length = train_length;
    return c;
  }
};

double value_of(const std::vector<Observation>& all, const std::string& metric,
                const Json& where = Json::object()) {
  std::vector<double> found;
  for (const Observation& o : all) {
    bool here = o.metric == metric;
    for (const auto& [key, value] : where.items())
      here = here && o.coords.value(key, Json()) == value;
    if (here) found.push_back(o.value);
  }
  EXPECT_EQ(found.size(), 1u) << metric << " " << where;
  return found.empty() ? Observation::none : found[0];
}

// ---------------------------------------------------------------------------------- shuffled

TEST(ShuffledProbe, LeavesSignsOtherDocumentsAndTheKeptInPlace) {
  using Places = std::vector<std::size_t>;
  const std::int32_t a = PES_FIRST_SYMBOL;
  const std::vector<std::int32_t> tokens = {PES_BOS, a, a + 1, a + 2, PES_SEP, a, a + 1},
                                  targets = {-1, -1, -1, -1, a, a + 1, a + 2},
                                  starts = {0, 0, 2, 2, 2, 2, 2}, none(7, -1);
  EXPECT_EQ(places_to_shuffle(tokens, targets, {}, true, 0), Places({1, 2, 3}));
  EXPECT_EQ(places_to_shuffle(tokens, targets, {}, false, 0), Places({0, 1, 2, 3}));
  EXPECT_EQ(places_to_shuffle(tokens, targets, {}, true, 2), Places({1}));
  EXPECT_EQ(places_to_shuffle(tokens, targets, starts, false, 0), Places({2, 3}));
  EXPECT_EQ(places_to_shuffle(tokens, targets, {}, true, 5), Places());
  EXPECT_EQ(places_to_shuffle(tokens, none, {}, true, 0), Places());
}

TEST(ShuffledProbe, CostsWhatTheOrderIsWorth) {
  const auto of = [](Subject& s, const char* protocol, std::vector<int> kept, int pass = 2048) {
    EvalConfig c = Subject::config();
    c.protocols = {parse_protocol(protocol)}, c.pass_tokens = pass;
    ProbeConfig p{.kind = ProbeKind::shuffled};
    p.kept = std::move(kept);
    return probe(*s.model, s.task, c, p, 24, 5, 1);
  };
  for (const char* backend : {"reference", "cpu"}) {
    Subject s("rope", backend);
    const double cost = value_of(of(s, "last(8)", {0}), "shuffled_cost", {{"kept", 0}});
    EXPECT_GT(std::fabs(cost), 1e-3);
    EXPECT_NEAR(value_of(of(s, "last(8)", {0}, 24), "shuffled_cost"), cost, 1e-5)
        << "passes change nothing";
    EXPECT_NE(value_of(of(s, "last(8)", {0, 12}), "shuffled_cost", {{"kept", 12}}), cost);
    EXPECT_TRUE(of(s, "last(8)", {15}).empty()) << "one token cannot change its place";
    EXPECT_TRUE(of(s, "non_overlapping", {0}).empty()) << "all tokens are scored";
    s.scale(".out.weight", 0);
    EXPECT_EQ(value_of(of(s, "last(8)", {0}), "shuffled_cost"), 0)
        << "who looks at nothing pays nothing";
  }
}

// --------------------------------------------------------------------------------- attention

TEST(RowStatistics, ByHand) {
  const std::vector<double> p = {0.5, 0.25, 0, 0.25};
  const RowStatistics s = row_statistics(p);
  EXPECT_DOUBLE_EQ(s.distance, 0.5 * 3 + 0.25 * 2);
  EXPECT_DOUBLE_EQ(s.entropy, 1.5 * std::numbers::ln2);
  EXPECT_DOUBLE_EQ(s.sink, 0.5);
  const std::vector<double> even(8, 0.125), one = {1};
  EXPECT_DOUBLE_EQ(row_statistics(even).distance, 3.5);
  EXPECT_DOUBLE_EQ(row_statistics(even).entropy, std::log(8));
  EXPECT_DOUBLE_EQ(row_statistics(even).sink, 0.125);
  EXPECT_DOUBLE_EQ(row_statistics(one).distance, 0);
  EXPECT_DOUBLE_EQ(row_statistics(one).entropy, 0);
  EXPECT_DOUBLE_EQ(row_statistics(one).sink, 1);
}

// Queries of zeros see every key alike, or as the bias alone says.
TEST(AttentionProbe, OfQueriesOfZeros) {
  for (const char* backend : {"reference", "cpu"}) {
    const double tolerance = std::string(backend) == "cpu" ? 1e-5 : 1e-12;
    for (const char* encoding : {"none", "alibi"}) {
      Subject s(encoding, backend);
      s.scale(".qkv.weight", 0);
      const auto found = s.look({.kind = ProbeKind::attention});
      EXPECT_EQ(found.size(), 2u * 4 * 3);
      for (int head = 0; head < 4; ++head) {
        const double slope =
            std::string(encoding) == "none" ? 0 : std::exp2(-2.0 * (head + 1));  // 2^(-8 h / H)
        double distance = 0, entropy = 0, sink = 0;
        for (int i = 1; i < 24; ++i) {
          double total = 0, weighted = 0;
          for (int d = 0; d <= i; ++d)
            total += std::exp(-slope * d), weighted += d * std::exp(-slope * d);
          distance += weighted / total / 23;
          entropy += (std::log(total) + slope * weighted / total) / 23;
          sink += std::exp(-slope * i) / total / 23;
        }
        for (int layer = 0; layer < 2; ++layer) {
          const Json where = {{"layer", layer}, {"head", head}, {"probe", "attention"}};
          EXPECT_NEAR(value_of(found, "attention_distance", where), distance, 20 * tolerance);
          EXPECT_NEAR(value_of(found, "attention_entropy", where), entropy, tolerance);
          EXPECT_NEAR(value_of(found, "attention_sink", where), sink, tolerance);
        }
      }
      for (const Observation& o : found) {
        EXPECT_EQ(o.n, 3);
        EXPECT_NEAR(o.standard_error, 0, 1e-4) << "all examples are alike";
        EXPECT_EQ(o.split, "ood") << "24 tokens, trained at 16";
      }
    }
  }
}

// softmax(scale q.k + distance + bias) by plain loops, from what the layer was given.
std::vector<double> plain_map(Tape& t, const Attention& a, std::size_t head) {
  const Shape q = t.shape(a.q), k = t.shape(a.k);
  const auto T = static_cast<std::size_t>(q[2]), D = static_cast<std::size_t>(q[3]);
  const auto read = [&](Tensor x) {
    std::vector<double> v(static_cast<std::size_t>(t.shape(x).count()));
    t.backend().download(v.data(), t.view(x));
    return v;
  };
  const std::vector<double> qs = read(a.q), ks = read(a.k);
  const std::vector<double> distance = a.distance ? read(a.distance) : std::vector<double>();
  const std::size_t columns = a.distance ? static_cast<std::size_t>(t.shape(a.distance)[1]) : 0;
  const std::size_t row_of_table = a.distance && t.shape(a.distance)[0] > 1 ? head : 0;
  const std::size_t group = head / static_cast<std::size_t>(q[1] / k[1]);
  std::vector<double> out(T * T);
  for (std::size_t i = 0; i < T; ++i) {
    double total = 0;
    for (std::size_t j = 0; j <= i; ++j) {
      double score = 0;
      for (std::size_t d = 0; d < D; ++d)
        score += qs[(head * T + i) * D + d] * ks[(group * T + j) * D + d];
      score *= a.scale;
      if (a.distance) score += distance[row_of_table * columns + i - j];
      total += out[i * T + j] = std::exp(score);
    }
    for (std::size_t j = 0; j <= i; ++j) out[i * T + j] /= total;
  }
  return out;
}

TEST(AttentionMaps, AreThoseOfTheLayersByPlainLoops) {
  const Scratch folder;
  const fs::path file = folder / "maps.safetensors";
  for (const char* encoding : {"rope", "alibi", "rope + alibi", "yarn(scale=2)"})
    for (const char* backend : {"reference", "cpu"}) {
      Subject s(encoding, backend);
      ProbeConfig p{.kind = ProbeKind::maps, .example = 1, .layers = {1}, .heads = {0, 3}};
      write_maps(file, *s.model, s.task, s.config(), p, 24, 5, 1, {{"note", "x"}});
      const SafetensorsReader maps(file);
      EXPECT_EQ(maps.tensors().size(), 2u);
      EXPECT_EQ(maps.metadata().at("note"), "x");
      EXPECT_EQ(maps.metadata().at("heads"), "[0,3]");
      EXPECT_EQ(maps.metadata().at("length"), "24");
      const auto tokens =
          Json::parse(maps.metadata().at("tokens")).get<std::vector<std::int32_t>>();
      Batch b{1, 24, tokens, std::vector<std::int32_t>(24, -1), {}, {}, {}};
      Inspection look;
      int compared = 0;
      look.attention = [&](int layer, Tape& t, const Attention& a) {
        if (layer != 1) return;
        for (const std::size_t head : {0, 3}) {
          const Values wanted{{24, 24}, plain_map(t, a, head)};
          const Values found{{24, 24}, maps.read(fmt::format("layers.1.heads.{}", head), {24, 24})};
          expect_close(found, wanted, std::string(backend) == "cpu" ? 1e-5 : 1e-12, encoding);
          double sharp = 0;
          for (const double x : wanted.data) sharp = std::max(sharp, x < 1 ? x : 0);
          EXPECT_GT(sharp, 0.3) << "an even map would compare nothing";
          ++compared;
        }
      };
      s.model->score(b, evaluation_step(1, 24, 5, 1), look);
      EXPECT_EQ(compared, 2);
    }
  fs::remove(file);
}

TEST(AttentionMaps, RefuseWhatIsNotThereOrTooLarge) {
  const ModelConfig m = config_of(30);
  const auto refusal = [&](const ProbeConfig& p, int length) {
    try {
      check(p, m, length);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  ProbeConfig p{.kind = ProbeKind::maps};
  EXPECT_EQ(refusal(p, 1024), "");
  EXPECT_EQ(refusal(p, 8192),
            "the attention of 8 heads at length 8192 takes 2.0 GiB, above 1.0 GiB: choose fewer "
            "layers and heads, or a shorter length");
  p.heads = {1};
  EXPECT_EQ(refusal(p, 8192), "");
  p.layers = {2};
  EXPECT_EQ(refusal(p, 64), "there is no layer 2: the model has 2 of them, 0 to 1");
}

// ---------------------------------------------------------------------------------- encoding

// Weights follow from the seed and their names, so a model without the encoding is another model.
TEST(ZeroedProbe, IsTheModelWithoutItsEncoding) {
  const double without = Subject("none").nll();
  for (const char* encoding : {"rope", "alibi", "sinusoidal", "cope", "pope", "sinusoidal + alibi",
                               "layers[rope, none]"}) {
    Subject s(encoding);
    s.change("cope.embeddings",
             [](std::size_t i, double) { return std::sin(static_cast<double>(i)); });
    const auto found = s.look({.kind = ProbeKind::zeroed});
    EXPECT_NEAR(value_of(found, "zeroed_cost", {{"protocol", "non_overlapping"}}),
                without - s.nll(), 1e-9)
        << encoding;
    EXPECT_GT(std::fabs(without - s.nll()), 1e-4) << encoding << " must do something";
    for (const Observation& o : found) EXPECT_EQ(o.coords["probe"], "zeroed");
  }
  const auto none = Subject("none").look({.kind = ProbeKind::zeroed});
  EXPECT_EQ(value_of(none, "zeroed_cost"), 0);
}

TEST(ZeroedProbe, OfProblemsTellsTheAccuracyThatIsLeft) {
  Subject s("rope", "reference", "copy"), none("none", "reference", "copy");
  const auto found = s.look({.kind = ProbeKind::zeroed}, 23);
  double wanted = 0, wanted_acc = 0;
  for (const Observation& o : evaluate(*none.model, none.task, none.config(), 23, 5, 1))
    if (!o.coords.contains("bucket")) {
      if (o.metric == "nll") wanted += o.value;
      if (o.metric == "acc") wanted_acc = o.value;
    }
  for (const Observation& o : evaluate(*s.model, s.task, s.config(), 23, 5, 1))
    if (o.metric == "nll") wanted -= o.value;
  EXPECT_NEAR(value_of(found, "zeroed_cost"), wanted, 1e-9);
  EXPECT_EQ(value_of(found, "zeroed_acc"), wanted_acc);
}

TEST(OffsetProbe, RelativeOnesDoNotMoveAndTablesDo) {
  const ProbeConfig p{.kind = ProbeKind::offset, .offsets = {8, 40}};
  for (const char* encoding : {"none", "rope", "alibi", "t5", "yarn(scale=4)", "cope"}) {
    const auto found = Subject(encoding).look(p);
    for (const int offset : {8, 40})
      EXPECT_NEAR(value_of(found, "offset_change", {{"offset", offset}}), 0, 1e-9) << encoding;
  }
  // a table whose rows are moved is a model that stands elsewhere
  Subject s("learned(init=1)"), moved("learned(init=1)");
  std::vector<double> table;
  for (const Parameter& t : s.model->parameters())
    if (t.name.ends_with("learned.table")) table = s.values(t);
  moved.change("learned.table", [&](std::size_t i, double) {
    return i + 40 * 32 < table.size() ? table[i + 40 * 32] : 0;
  });
  const auto found = s.look(p);
  EXPECT_NEAR(value_of(found, "offset_cost", {{"offset", 40}}), moved.nll() - s.nll(), 1e-9);
  EXPECT_GT(value_of(found, "offset_change", {{"offset", 40}}),
            std::fabs(value_of(found, "offset_cost", {{"offset", 40}})));
}

// ---------------------------------------------------------------------------------- position

TEST(LinearFit, ByHand) {
  LinearFit line(1);
  for (const auto& [x, y] : {std::pair{0.0, 1.0}, std::pair{1.0, 2.0}, std::pair{2.0, 2.0}})
    line.add(std::span(&x, 1), y);
  const std::vector<double> w = line.solve(0);
  EXPECT_NEAR(w[1], 0.5, 1e-12);
  EXPECT_NEAR(w[0], 5.0 / 3 - 0.5, 1e-12);
  EXPECT_NEAR(line.solve(0.25)[1], 0.4, 1e-12) << "covariance / (variance (1 + ridge))";

  LinearFit plane(3);  // the third goes with the first
  pes::Random random(1, 2, 3);
  for (int i = 0; i < 50; ++i) {
    const double a = random.normal(), b = random.normal();
    const std::array<double, 3> x = {a, b, 2 * a};
    plane.add(x, 3 + 2 * a - b);
  }
  const std::vector<double> v = plane.solve(1e-9);
  EXPECT_NEAR(v[0], 3, 1e-6);
  EXPECT_NEAR(v[1] + 2 * v[3], 2, 1e-6);
  EXPECT_NEAR(v[2], -1, 1e-6);
  EXPECT_EQ(LinearFit(2).solve(1), std::vector<double>(3));
}

TEST(PositionProbe, ReadsATableOfPositionsAndNothingElse) {
  // the embedding is the position in the first number, or nothing at all
  Subject s("learned");
  s.scale("embedding.weight", 0);
  s.change("learned.table", [](std::size_t i, double) {
    return i % 32 == 0 ? 0.01 * static_cast<double>(i / 32) : 0;
  });
  const auto found = s.look({.kind = ProbeKind::position});
  EXPECT_EQ(found.size(), 2u * 3);
  EXPECT_NEAR(value_of(found, "position_r2", {{"layer", 0}}), 1, 1e-5);
  EXPECT_NEAR(value_of(found, "position_error", {{"layer", 0}}), 0, 1e-3);

  Subject none("none");
  none.scale("embedding.weight", 0);
  none.change("embedding.weight", [](std::size_t, double) { return 1.0; });
  const auto blind = none.look({.kind = ProbeKind::position});
  for (const int layer : {0, 1, 2}) {
    EXPECT_NEAR(value_of(blind, "position_r2", {{"layer", layer}}), 0, 1e-6)
        << "one repeated token: without an encoding all positions look alike";
    EXPECT_NEAR(value_of(blind, "position_error", {{"layer", layer}}), 6, 1e-3) << "24 / 4";
  }
}

// ------------------------------------------------------------------------------------- bands

std::vector<std::vector<TurnedPair>> queries_of(const std::string& encoding, std::size_t layer = 0,
                                                const std::string& backend = "reference") {
  Subject s(encoding, backend);
  const auto r = rotation_of(*s.model, evaluation_step(1, 24, 5, 1));
  EXPECT_TRUE(r) << encoding;
  return r ? r->queries.at(layer) : std::vector<std::vector<TurnedPair>>();
}

TEST(Rotation, IsFoundFromWhatHappensToFeatures) {
  for (const char* backend : {"reference", "cpu"}) {
    const auto half = queries_of("rope", 0, backend);
    ASSERT_EQ(half.size(), 4u);
    for (const auto& head : half) {
      ASSERT_EQ(head.size(), 4u);
      for (int r = 0; r < 4; ++r) {
        const TurnedPair& p = head[static_cast<std::size_t>(r)];
        EXPECT_EQ(p.first, r);
        EXPECT_EQ(p.second, r + 4);
        EXPECT_NEAR(p.frequency, std::pow(10000, -2.0 * r / 8), 1e-6);
        EXPECT_NEAR(p.factor, 1, 1e-6);
      }
    }
  }
  const auto interleaved = queries_of("rope(layout=interleaved)")[2];
  for (int r = 0; r < 4; ++r) {
    EXPECT_EQ(interleaved[static_cast<std::size_t>(r)].first, 2 * r);
    EXPECT_EQ(interleaved[static_cast<std::size_t>(r)].second, 2 * r + 1);
  }
  EXPECT_EQ(queries_of("rope(features=4)")[0].size(), 2u);
  EXPECT_EQ(queries_of("p_rope(p=0.5)")[0].size(), 2u) << "the others do not turn";
  EXPECT_NEAR(queries_of("yarn(scale=4)")[0][0].factor, 0.1 * std::log(4) + 1, 1e-6);
  EXPECT_EQ(queries_of("layers[rope, none]", 1)[0].size(), 0u);
  EXPECT_EQ(queries_of("rope + alibi")[0].size(), 4u);
  for (const char* encoding :
       {"none", "alibi", "sinusoidal", "pope", "cope", "rope(layout=mismatched)"}) {
    Subject s(encoding);
    EXPECT_FALSE(rotation_of(*s.model, evaluation_step(1, 24, 5, 1))) << encoding;
    EXPECT_TRUE(s.look({.kind = ProbeKind::bands}).empty()) << encoding;
  }
}

TEST(BandsProbe, HeldPairsAreThoseOfAModelThatNeverTurnsThem) {
  Subject rope("rope"), slow_still("p_rope(p=0.5)");
  const ProbeConfig two{.kind = ProbeKind::bands, .bands = 2};
  const auto halves = rope.look(two);
  EXPECT_NEAR(value_of(halves, "band_cost", {{"band", 1}}), slow_still.nll() - rope.nll(), 1e-9);
  EXPECT_GT(std::fabs(value_of(halves, "band_cost", {{"band", 0}})),
            std::fabs(value_of(halves, "band_cost", {{"band", 1}})))
      << "in 24 tokens the slow pairs hardly turn";
  const auto one = rope.look({.kind = ProbeKind::bands, .bands = 1});
  EXPECT_NEAR(value_of(one, "band_cost"),
              value_of(rope.look({.kind = ProbeKind::zeroed}), "zeroed_cost"), 1e-9)
      << "all of them: no encoding is left";
  for (const Observation& o : halves)
    if (o.coords["band"] == 1) {
      EXPECT_NEAR(o.coords["wavelength_lo"].get<double>(), 2 * std::numbers::pi * 100, 1e-3);
      EXPECT_NEAR(o.coords["wavelength_hi"].get<double>(), 2 * std::numbers::pi * 1000, 1e-2);
    }
  EXPECT_EQ(rope.look({.kind = ProbeKind::bands, .bands = 9}).size(), 4u) << "of four pairs";
  // scores keep a factor that the pairs have
  Subject yarn("yarn(scale=4)");
  const auto all = yarn.look({.kind = ProbeKind::bands, .bands = 1});
  Subject warmer("none");
  const double m = 0.1 * std::log(4) + 1;
  warmer.change(".qkv.weight",
                [m](std::size_t i, double x) { return i / 32 < 32 ? m * m * x : x; });
  EXPECT_NEAR(value_of(all, "band_cost"), warmer.nll() - yarn.nll(), 1e-6);
}

// --------------------------------------------------------------------------------- generated

// What the model writes where every token is found by a pass over all that stands before it.
std::vector<std::int32_t> written_by_whole_passes(Model& model, Batch b) {
  std::vector<std::int32_t> out;
  const std::vector<std::int32_t> asked = b.targets;
  for (std::size_t t = 0; t < asked.size(); ++t) {
    if (asked[t] < 0) continue;
    std::fill(b.targets.begin(), b.targets.end(), -1);
    b.targets[t] = asked[t];
    out.push_back(model.score(b, evaluation_step(1, b.length, 5, 1)).best.at(0));
    b.tokens[t + 1] = out.back();
  }
  return out;
}

TEST(GeneratedProbe, WritesWhatWholePassesWouldWrite) {
  for (const char* task : {"niah(variant=multi_query)", "passkey(digits=9,least=2)", "copy"})
    for (const char* encoding : {"none", "sinusoidal", "rope", "alibi", "cope", "fire",
                                 "self_extend(window=8,group=4)", "ntk(scale=2,dynamic=true)"}) {
      Subject s(encoding, "reference", task);
      constexpr int length = 56;
      std::vector<Task::Request> requests;
      for (int i = 0; i < 4; ++i)
        requests.push_back(request_of(s.task, Subject::config(), PES_SPLIT_TEST, i, length, 5));
      const Batch all = batch_of(s.task, requests);
      const Scores scores = generated(*s.model, s.task)(all, evaluation_step(4, length, 5, 1));
      std::map<std::int64_t, std::int32_t> found;
      for (std::size_t i = 0; i < scores.place.size(); ++i) {
        found[scores.place[i]] = scores.best[i];
        EXPECT_GT(scores.nats[i], 0);
      }
      std::vector<std::int32_t> in_order, whole;
      for (const auto& [place, token] : found) in_order.push_back(token);
      for (const Task::Request& r : requests)
        for (const std::int32_t token :
             written_by_whole_passes(*s.model, batch_of(s.task, {&r, 1})))
          whole.push_back(token);
      EXPECT_EQ(in_order, whole) << task << ", " << encoding;
    }
}

TEST(GeneratedProbe, IsAsRightAsTheEvaluationSays) {
  Subject s("rope", "reference", "passkey(digits=1)");
  EvalConfig c = Subject::config();
  c.examples = 200;
  double shown = 0, generated = 0;
  for (const Observation& o : evaluate(*s.model, s.task, c, 32, 5, 1))
    if (o.metric == "acc" && o.whole()) shown = o.value;
  for (const Observation& o :
       probe(*s.model, s.task, c, {.kind = ProbeKind::generated}, 32, 5, 1)) {
    EXPECT_EQ(o.metric, "generated_acc") << "one token: nothing beyond it is exact";
    EXPECT_EQ(o.coords["probe"], "generated");
    EXPECT_DOUBLE_EQ(o.chance, 0.1);
    generated = o.value;
  }
  EXPECT_EQ(generated, shown);
}

TEST(GeneratedProbe, WantsAnswersInTokens) {
  for (const char* task : {"toylag(document=256)", "parity"}) {
    Subject s("rope", "reference", task);
    EXPECT_THROW(generated(*s.model, s.task), Error) << task;
  }
}

TEST(PredictionsProbe, KeepsWhatIsReadWantedAndFound) {
  Subject s("rope", "reference", "copy");
  EvalConfig c = Subject::config();
  c.examples = 12;
  double accuracy = 0, right = 0;
  std::int64_t count = 0;
  for (const Observation& o : evaluate(*s.model, s.task, c, 24, 5, 1))
    if (o.metric == "acc" && o.whole()) accuracy = o.value;
  const auto found = probe(*s.model, s.task, c, {.kind = ProbeKind::predictions}, 24, 5, 1);
  ASSERT_EQ(found.size(), 12u);
  for (const Observation& o : found) {
    right += o.value * static_cast<double>(o.count), count += o.count;
    const Task::Request r = request_of(s.task, c, c.split, o.coords["example"], 24, 5);
    const Batch b = batch_of(s.task, {&r, 1});
    std::vector<std::string> read, wanted;
    bool asked = false;
    for (std::size_t t = 0; t < b.tokens.size(); ++t) {
      if (!asked) read.push_back(std::to_string(b.tokens[t]));
      if (b.targets[t] < 0) continue;
      asked = true;
      wanted.push_back(std::to_string(b.targets[t]));
    }
    EXPECT_EQ(o.coords["read"], join(read, " "));
    EXPECT_EQ(o.coords["wanted"], join(wanted, " "));
    EXPECT_EQ(split(o.coords["found"].get<std::string>(), ' ').size(),
              static_cast<std::size_t>(o.count));
  }
  EXPECT_NEAR(right / static_cast<double>(count), accuracy, 1e-12);
  Subject corpus("rope");
  EXPECT_THROW(corpus.look({.kind = ProbeKind::predictions}), Error);
}

TEST(Probes, HaveNames) {
  for (const std::string& name : probe_names())
    EXPECT_EQ(probe_names()[static_cast<std::size_t>(parse_probe(name))], name);
  try {
    parse_probe("zero");
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), ::testing::HasSubstr("there is no probe 'zero'; known are attention, "));
  }
}

}  // namespace
}  // namespace pesuite::testing
