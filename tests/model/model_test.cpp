// Presets, options, expressions, schedules; training that goes on bit for bit.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/interval.h"
#include "model/evaluate.h"
#include "model/metrics.h"
#include "model/preset.h"
#include "model/safetensors.h"
#include "model/train.h"
#include "tests/catalog.h"
#include "tests/failure.h"
#include "tests/scratch.h"
#include "tests/support.h"

namespace pesuite::testing {
namespace {

namespace fs = std::filesystem;

// ---------------------------------------------------------------------------------- presets

TEST(Presets, HaveTheirStatedParameters) {
  for (const Preset& p : presets()) {
    if (p.stated_parameters == 0) continue;
    const auto n = static_cast<double>(parameter_count(p.config));
    // "59M" is stated to two digits, 28,012,369 to the last one
    const double tolerance =
        p.stated_parameters > 1e9 ||
                p.stated_parameters == std::round(p.stated_parameters / 1e6) * 1e6
            ? 0.01
            : 0;
    EXPECT_NEAR(n, p.stated_parameters, tolerance * p.stated_parameters) << p.name;
  }
  EXPECT_EQ(preset("tiny").tokens, 2.4e9);
  EXPECT_EQ(
      failure([] { preset("tinny"); }),
      "there is no model preset 'tinny', did you mean 'tiny'?; known are micro, nano, sandbox, "
      "tinystories-28m, tiny, small, medium, large, pythia-160m");
}

TEST(Presets, CountsAreThoseOfTheModel) {
  for (const char* name : {"micro", "nano", "sandbox"}) {
    ModelConfig c = preset(name).config;
    const auto backend = open_backend("cpu", {});
    Model m(*backend, c, Encoding(built_catalog(), {"none", {}}, shape_of(c, 8, 8)), 1);
    EXPECT_EQ(m.count(), parameter_count(c)) << name;
  }
}

TEST(Presets, CountsAreThoseOfTheModelWithNormsOfQueriesAndKeys) {
  const std::pair<QkNorm, int> norms[] = {
      {QkNorm::off, 0}, {QkNorm::before, 2}, {QkNorm::after, 2}, {QkNorm::q, 1}, {QkNorm::k, 1}};
  const std::int64_t plain = parameter_count(preset("micro").config);
  for (const auto& [norm, gains] : norms) {
    ModelConfig c = preset("micro").config;
    c.qk_norm = norm;
    const auto backend = open_backend("cpu", {});
    Model m(*backend, c, Encoding(built_catalog(), {"none", {}}, shape_of(c, 8, 8)), 1);
    EXPECT_EQ(m.count(), parameter_count(c));
    EXPECT_EQ(m.count(), plain + gains * c.layers * c.head_dim());
    int q = 0, k = 0;
    for (const Parameter& p : m.parameters())
      q += p.name.ends_with("q_norm.weight"), k += p.name.ends_with("k_norm.weight");
    EXPECT_EQ(q, norms_q(norm) ? c.layers : 0);
    EXPECT_EQ(k, norms_k(norm) ? c.layers : 0);
  }
}

// ---------------------------------------------------------------------- options, expressions

TEST(Expressions, ReadNamesAndOptions) {
  const Expression e = parse_expression(" text( path = 'a, b (c)', n=[1, 2.5], flag=true )");
  EXPECT_EQ(e.name, "text");
  EXPECT_EQ(e.options, (Options{{"path", "a, b (c)"}, {"n", "[1, 2.5]"}, {"flag", "true"}}));
  EXPECT_EQ(parse_expression("none").options.size(), 0u);
  EXPECT_EQ(parse_expression("rope()").options.size(), 0u);
}

TEST(Expressions, PointAtWhatIsWrong) {
  const auto reason = [](const char* text) { return failure([&] { parse_expression(text); }); };
  EXPECT_EQ(reason("rope(base=)"), "encoding 'rope(base=)': expected a value at column 11");
  EXPECT_EQ(reason("rope(base 3)"), "encoding 'rope(base 3)': expected '=' at column 11");
  EXPECT_EQ(reason("rope(base=3"), "encoding 'rope(base=3': expected ')' at column 12");
  EXPECT_EQ(reason("rope x"), "encoding 'rope x': unexpected 'x' at column 6");
  EXPECT_EQ(reason(""), "encoding '': expected a name at column 1");
  EXPECT_EQ(reason("t(p='x)"), "encoding 't(p='x)': a quote that is never closed at column 5");
  EXPECT_EQ(reason("r(a=1, a=2)"),
            "encoding 'r(a=1, a=2)': option 'a' given twice, the second time at column 11");
}

TEST(Options, AreCheckedAgainstTypeAndBounds) {
  const pes_card& rope = *built_catalog().encoding("rope").descriptor->card;
  const auto reason = [&](Options o) {
    return failure([&] { resolve_options(rope, o, "encoding 'rope'"); });
  };
  EXPECT_EQ(reason({{"bse", "3"}}), "encoding 'rope' has no option 'bse', did you mean 'base'?");
  EXPECT_EQ(reason({{"base", "x"}}), "encoding 'rope': option 'base' = 'x' is not a number");
  EXPECT_EQ(reason({{"base", "nan"}}), "encoding 'rope': option 'base' = 'nan' is not a number");
  EXPECT_EQ(reason({{"base", "-0.5"}}),
            "encoding 'rope': option 'base' = '-0.5' is outside 0 .. 1000000000000");
  EXPECT_EQ(reason({{"layout", "hlaf"}}),
            "encoding 'rope': option 'layout' = 'hlaf' is none of half, interleaved, mismatched, "
            "did you mean 'half'?");
  const pes_card& t5 = *built_catalog().encoding("t5").descriptor->card;
  EXPECT_EQ(failure([&] {
              resolve_options(t5, {{"buckets", "1.5"}}, "encoding 't5'");
            }),
            "encoding 't5': option 'buckets' = '1.5' is not an integer");
  // plugins read plain decimals
  EXPECT_EQ(resolve_options(t5, {{"buckets", "1e1"}}, "x")[0], "10");
  EXPECT_EQ(expression_text(rope, resolve_options(rope, {{"base", "500"}}, "x")), "rope(base=500)");
  EXPECT_EQ(expression_text(rope, resolve_options(rope, {}, "x")), "rope");
}

// One value, one text: cells are told apart by it.
TEST(Options, HaveOneSpellingForOneNumber) {
  const pes_card& rope = *built_catalog().encoding("rope").descriptor->card;
  const auto base = [&](const std::string& value) {
    return expression_text(rope, resolve_options(rope, {{"base", value}}, "x"));
  };
  for (const std::string usual : {"10000", "1e4", "10000.0", "1.0e+04"})
    EXPECT_EQ(base(usual), "rope") << usual;
  for (const std::string other : {"500000", "5e5", "500000.00"})
    EXPECT_EQ(base(other), "rope(base=500000)") << other;
  EXPECT_EQ(base("1234.50"), "rope(base=1234.5)");
  const pes_card& longrope = *built_catalog().encoding("longrope").descriptor->card;
  const auto factors = [&](const std::string& value) {
    return expression_text(longrope, resolve_options(longrope, {{"long_factor", value}}, "x"));
  };
  EXPECT_EQ(factors("[1,2.50 , 1e1]"), factors("[1, 2.5, 10]"));
  EXPECT_EQ(factors("[]"), "longrope");
}

TEST(Catalog, NamesWhatIsNear) {
  EXPECT_EQ(failure([] { built_catalog().encoding("alibbi"); }),
            "there is no encoding 'alibbi', did you mean 'alibi'?");
  EXPECT_EQ(failure([] { built_catalog().task("zzzzzz"); }),
            "there is no task 'zzzzzz'; 'pesuite list task' shows all");
}

TEST(Library, RefusalsAreSentences) {
  pes_library entry{};
  entry.size = sizeof entry;
  entry.abi_major = PES_ABI_MAJOR + 1;
  entry.name = "x", entry.version = "1";
  const auto reason = [&] { return failure([&] { check_entry(entry, "x.plugin.so"); }); };
  const std::string ours = fmt::format("{}.{}", PES_ABI_MAJOR, PES_ABI_MINOR);
  EXPECT_EQ(reason(), fmt::format("x.plugin.so: built for plugin ABI 2.0, this pesuite has {}; use "
                                  "a newer pesuite, or rebuild the plugin against this one's "
                                  "headers",
                                  ours));
  entry.abi_major = 0;
  EXPECT_EQ(reason(), fmt::format("x.plugin.so: built for plugin ABI 0.0, this pesuite has {}; "
                                  "rebuild the plugin against this pesuite's headers",
                                  ours));
  entry.abi_major = PES_ABI_MAJOR;
  entry.abi_minor = 9;  // a newer minor loads
  EXPECT_EQ(reason(), "");
  entry.size = 12;
  EXPECT_EQ(reason(), "x.plugin.so: its entry is 12 bytes long, too short to hold a version");
  EXPECT_EQ(failure([] { Library::open("/no/such.so"); }),
            "/no/such.so: there is no such plugin file");
}

// -------------------------------------------------------------------------------- schedules

TEST(Schedules, HaveTheirShapes) {
  const auto at = [](ScheduleKind kind, std::int64_t step, std::int64_t steps = 100) {
    return schedule_factor({kind, 10, 20, 0.1}, step, steps);
  };
  for (const ScheduleKind kind :
       {ScheduleKind::constant, ScheduleKind::linear, ScheduleKind::cosine,
        ScheduleKind::inverse_sqrt, ScheduleKind::wsd}) {
    EXPECT_NEAR(at(kind, 0), 0.1, 1e-12);  // warm-up
    EXPECT_NEAR(at(kind, 9), 1.0, 1e-12);
  }
  EXPECT_EQ(at(ScheduleKind::constant, 99), 1);
  EXPECT_NEAR(at(ScheduleKind::linear, 99), 0.1, 1e-12);
  EXPECT_NEAR(at(ScheduleKind::cosine, 99), 0.1, 1e-12);
  EXPECT_NEAR(at(ScheduleKind::cosine, 10 + 89 / 2), 0.55, 0.01);
  EXPECT_NEAR(at(ScheduleKind::inverse_sqrt, 39), 0.5, 1e-12);
  EXPECT_EQ(at(ScheduleKind::wsd, 79), 1);
  EXPECT_LT(at(ScheduleKind::wsd, 80), 1);
  EXPECT_NEAR(at(ScheduleKind::wsd, 99), 0.1 + 0.9 / 21, 1e-12);
  EXPECT_EQ(schedule_factor({ScheduleKind::linear, 0, 0, 0}, 0, 1), 1) << "a run of one step";
}

TEST(Intervals, WilsonIsWilsons) {
  const Interval i = wilson(0.9, 100);  // a textbook's 90 of 100
  EXPECT_NEAR(i.low, 0.8256, 5e-4);
  EXPECT_NEAR(i.high, 0.9448, 5e-4);
  EXPECT_EQ(wilson(0, 10).low, 0);
  EXPECT_NEAR(wilson(1, 10).high, 1, 1e-15);
}

// ------------------------------------------------------------------------- positions of tasks

// Positions that a task gives stand for the places of tokens, and an offset moves either.
TEST(Positions, OfATaskAreReadWhereAnEncodingReadsThem) {
  constexpr int T = 6, B = 2;
  ModelConfig plain = preset("micro").config;
  plain.vocabulary = 20;
  ModelConfig placed = plain;
  placed.positions = 2 * T;
  Batch b{B, T, {}, {}, {}, {}, {}};
  for (int i = 0; i < B * T; ++i) b.tokens.push_back(8 + i % 7), b.targets.push_back(8 + i % 5);
  const auto backend = open_backend("cpu", {});
  const auto nats = [&](const ModelConfig& c, const char* encoding, const Batch& batch,
                        int offset = 0) {
    Model m(*backend, c, Encoding(built_catalog(), {encoding, {}}, shape_of(c, T, 2 * T)), 1);
    StepInfo s;
    s.batch = B, s.length = T, s.offset = offset;
    return m.score(batch, s).nats;
  };
  Batch same = b, moved = b, turned = b;
  for (int i = 0; i < B * T; ++i) {
    same.positions.push_back(i % T), moved.positions.push_back(i % T + 3);
    turned.positions.push_back(i < T ? i % T : T - 1 - i % T);  // each row has its own
  }
  EXPECT_EQ(nats(placed, "learned", same), nats(plain, "learned", b));
  EXPECT_EQ(nats(placed, "learned", same, 3), nats(plain, "learned", b, 3));
  EXPECT_EQ(nats(placed, "learned", moved), nats(plain, "learned", b, 3));
  const auto as_it_stands = nats(plain, "learned", b), in_part = nats(placed, "learned", turned);
  for (int i = 0; i < B * T; ++i)
    EXPECT_EQ(in_part[static_cast<std::size_t>(i)] == as_it_stands[static_cast<std::size_t>(i)],
              i < T)
        << i;
  EXPECT_EQ(nats(placed, "rope", turned), nats(plain, "rope", b));  // which does not read them
  Batch far = same;
  far.positions[3] = 2 * T;
  EXPECT_EQ(failure([&] { nats(placed, "learned", far); }),
            "a token stands at 12, and the model has positions 0 to 11");
  EXPECT_NE(failure([&] {
              Encoding(built_catalog(), {"learned", {{"rows", "4"}}}, shape_of(placed, T, T));
            }).find("the task's positions reach 11, past the table's 4 rows"),
            std::string::npos);
}

// --------------------------------------------------------------------------------- training

struct Trainee {
  std::unique_ptr<Backend> backend = open_backend("cpu", {});
  Task task{built_catalog(), parse_expression("toylag(document=256)"), 24, 96};
  std::unique_ptr<Model> model;
  TrainConfig config;
  explicit Trainee(double dropout = 0) {
    ModelConfig c = preset("micro").config;
    c.vocabulary = c.classes = task.info().inputs;
    c.dropout = dropout;
    model = std::make_unique<Model>(*backend, c,
                                    Encoding(built_catalog(), {"t5", {}}, shape_of(c, 24, 96)), 5);
    config.length = 24, config.batch = 10, config.micro_batch = 4, config.steps = 23;
    config.log_every = 4, config.eval_every = 7, config.checkpoint_every = 3,
    config.validation_examples = 6;
    config.optimizer.lr = 3e-3;
  }
  std::vector<std::vector<float>> weights() {
    std::vector<std::vector<float>> out;
    for (const Parameter& p : model->parameters()) {
      out.emplace_back(static_cast<std::size_t>(p.shape.count()));
      backend->download(out.back().data(), View{p.value, p.shape});
    }
    return out;
  }
};

std::string without_times(const TrainState& s) {
  std::string out;
  for (Observation o : s.observations) {
    o.seconds = 0;
    if (!is_cost(o.metric)) out += to_json(o).dump() + "\n";
  }
  return out;
}

class Resumed : public ::testing::TestWithParam<int> {};

// Stopping after any step and going on from the file gives the bits of a run that never stopped.
TEST_P(Resumed, EqualsUninterrupted) {
  const Scratch scratch;
  Trainee whole(0.2);
  TrainState wanted;
  train(*whole.model, whole.task, whole.config, 9, "id", {}, {}, wanted);

  const fs::path last = scratch / "last";
  Trainee first(0.2);
  TrainState state;
  std::atomic<bool> stop{false};
  TrainWatch watch;
  watch.stop = &stop;
  watch.progress = [&](const TrainState& s, double) { stop = s.step == GetParam(); };
  ASSERT_EQ(train(*first.model, first.task, first.config, 9, "id", {last, {}, {}}, watch, state),
            TrainOutcome::stopped);

  Trainee second(0.2);
  TrainState resumed;
  load_checkpoint(last, *second.model, resumed, "id");
  EXPECT_EQ(resumed.step, GetParam());
  ASSERT_EQ(train(*second.model, second.task, second.config, 9, "id", {}, {}, resumed),
            TrainOutcome::finished);
  EXPECT_EQ(second.weights(), whole.weights());
  EXPECT_EQ(without_times(resumed), without_times(wanted));
}
INSTANTIATE_TEST_SUITE_P(AtStep, Resumed, ::testing::Values(1, 6, 7, 12, 22));

TEST(Training, ABranchTakesWhatFitsByNameAndShape) {
  const Scratch scratch;
  Trainee trunk;
  TrainState state;
  trunk.config.steps = 5;
  train(*trunk.model, trunk.task, trunk.config, 9, "id", {scratch / "last", {}, {}}, {}, state);
  for (const bool reset : {false, true}) {
    const ModelConfig& c = trunk.model->config();
    Model branch(
        *trunk.backend, c,
        Composition(built_catalog(), parse_encoding("t5 + learned").first, shape_of(c, 24, 96)), 6);
    const auto values = [&](const Parameter& p, void* data) {
      std::vector<float> out(static_cast<std::size_t>(p.shape.count()));
      trunk.backend->download(out.data(), View{data, p.shape});
      return out;
    };
    std::map<std::string, std::vector<float>> started, ended;
    for (const Parameter& p : branch.parameters()) started[p.name] = values(p, p.value);
    TrainState at;
    branch_checkpoint(scratch / "last", branch, at, "id", reset);
    EXPECT_EQ(at.step, 5);
    EXPECT_EQ(at.best_step, -1) << "the trunk's best is not the branch's";
    EXPECT_EQ(at.observations.size(), state.observations.size());
    std::size_t passed = 0;
    for (const Parameter& t : trunk.model->parameters())
      for (const Parameter& p : branch.parameters()) {
        if (p.name != t.name) continue;
        ++passed;
        EXPECT_EQ(values(p, p.value), values(t, t.value)) << p.name;
        const std::vector<float> zeros(static_cast<std::size_t>(p.shape.count()));
        EXPECT_EQ(values(p, p.m), reset ? zeros : values(t, t.m)) << p.name;
        EXPECT_EQ(values(p, p.v), reset ? zeros : values(t, t.v)) << p.name;
      }
    EXPECT_EQ(passed, trunk.model->parameters().size());
    const Parameter& own = branch.parameters().back();
    EXPECT_EQ(own.name, "encoding.learned.table");
    EXPECT_EQ(values(own, own.value), started[own.name]);
    EXPECT_THROW(branch_checkpoint(scratch / "last", branch, at, "another", reset), Error);
  }
}

TEST(Training, AccumulatesWhatOnePassWouldGive) {
  Trainee whole, parts;
  whole.config.micro_batch = 10;
  whole.config.steps = parts.config.steps = 3;
  TrainState a, b;
  train(*whole.model, whole.task, whole.config, 9, "id", {}, {}, a);
  train(*parts.model, parts.task, parts.config, 9, "id", {}, {}, b);
  const auto x = whole.weights(), y = parts.weights();
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t k = 0; k < x[i].size(); ++k)
      worst = std::max(worst, std::fabs(static_cast<double>(x[i][k]) - y[i][k]));
  EXPECT_LT(worst, 2e-3);  // Adam's first steps are as long as lr whatever the gradient
  EXPECT_NEAR(a.observations[0].value, b.observations[0].value, 1e-3);
}

TEST(Training, KeepsPeriodicCheckpoints) {
  const Scratch scratch;
  Trainee t;
  t.config.keep_periodic = 2;
  TrainState state;
  TrainPaths paths{scratch / "last", scratch / "best",
                   [&](std::int64_t s) { return scratch / fmt::format("step_{}", s); }};
  train(*t.model, t.task, t.config, 9, "id", paths, {}, state);
  std::set<std::string> names;
  for (const auto& item : fs::directory_iterator(scratch / ""))
    names.insert(item.path().filename());
  EXPECT_EQ(names, (std::set<std::string>{"last", "best", "step_18", "step_21", "step_23"}));
}

TEST(Training, RecordsDivergence) {
  Trainee t;
  t.config.optimizer.lr = 1e30;
  t.config.optimizer.clip = 0;
  TrainState state;
  EXPECT_EQ(train(*t.model, t.task, t.config, 9, "id", {}, {}, state), TrainOutcome::diverged);
  EXPECT_LT(state.step, t.config.steps);
  EXPECT_NE(state.reason, "");
  EXPECT_EQ(state.observations.back().status, "diverged");
}

TEST(Checkpoints, RefuseAnotherRunAndDamage) {
  const Scratch scratch;
  Trainee t;
  TrainState state;
  save_checkpoint(scratch / "c", *t.model, state, "one run");
  EXPECT_TRUE(failure([&] {
                load_checkpoint(scratch / "c", *t.model, state, "another");
              }).ends_with("belongs to another run: its configuration or its seed differs"));
  const std::string whole = read_file(scratch / "c");
  for (const std::size_t size :
       {whole.size() - 1, whole.size() / 2, std::size_t{100}, std::size_t{3}}) {
    write_file_atomic(scratch / "c", whole.substr(0, size));
    EXPECT_TRUE(failure([&] {
                  load_checkpoint(scratch / "c", *t.model, state, "one run");
                }).find("truncated") != std::string::npos)
        << size;
  }
}

// Evaluating must not leave the model in another mode (a defect of a published comparison).
TEST(Training, EvaluationChangesNothing) {
  Trainee with(0.3), without(0.3);
  with.config.eval_every = 1;
  without.config.eval_every = 0;
  TrainState a, b;
  train(*with.model, with.task, with.config, 9, "id", {}, {}, a);
  train(*without.model, without.task, without.config, 9, "id", {}, {}, b);
  EXPECT_EQ(with.weights(), without.weights());
}

TEST(Evaluation, ScoresTheSameTokensAtEveryLength) {
  Trainee t;
  EvalConfig c;
  c.lengths = {24, 48, 96}, c.examples = 3, c.train_length = 24;
  c.protocols = {parse_protocol("non_overlapping"), parse_protocol("sliding(8)"),
                 parse_protocol("last(16)")};
  check(c, t.task);
  std::map<std::string, std::set<std::int64_t>> counts;
  for (const int length : c.lengths)
    for (const Observation& o : evaluate(*t.model, t.task, c, length, 9, 1))
      if (o.metric == "nll" && !o.coords.contains("pos_lo")) {
        counts[o.coords["protocol"]].insert(o.count);
        EXPECT_EQ(o.n, 3);
        EXPECT_GT(o.standard_error, 0);
      }
  EXPECT_EQ(counts["non_overlapping"], std::set<std::int64_t>{3 * 96});
  EXPECT_EQ(counts["sliding(8)"], std::set<std::int64_t>{3 * 24});
  EXPECT_EQ(counts["last(16)"], std::set<std::int64_t>{3 * 16});
  EXPECT_EQ(failure([&] {
              c.lengths = {250};
              check(c, t.task);
            }),
            "corpus 'toylag(document=256)' has documents of 256 tokens, and the windows at length "
            "250 reach 274: raise its "
            "option 'document' or shorten the evaluation");
}

// A classifier of 50,000 tokens costs more than a small model's layers.
TEST(Evaluation, ClassifiesOnlyWhatCounts) {
  Trainee t;
  EvalConfig c;
  c.lengths = {24, 48}, c.examples = 3, c.train_length = 24;
  for (const auto& [protocol, classified] : std::map<std::string, std::size_t>{
           {"last(16)", 3 * 16}, {"sliding(8)", 3 * 24}, {"non_overlapping", 3 * 48}}) {
    c.protocols = {parse_protocol(protocol)};
    std::size_t targets = 0, scored = 0;
    const Scorer counts = [&](const Batch& b, const StepInfo& s) {
      targets += static_cast<std::size_t>(
          std::count_if(b.targets.begin(), b.targets.end(), [](std::int32_t x) { return x >= 0; }));
      Scores out = t.model->score(b, s);
      scored += out.nats.size();
      return out;
    };
    evaluate(counts, t.task, c, 24, 9, 1);
    EXPECT_EQ(scored, targets);
    EXPECT_EQ(scored, classified) << protocol;
    ModelConfig big = t.model->config();
    big.classes = big.vocabulary = 50000;
    const double all = tokens_read(c, 24) * forward_flops(big, 24);
    EXPECT_NEAR(all - evaluation_flops(big, c, 24, 1),
                (tokens_read(c, 24) - static_cast<double>(classified)) * 2 * big.width * 50000,
                1e-6 * all)
        << protocol;
  }
}

// The rank among candidates is what scoring each candidate as the target gives.
TEST(Evaluation, RanksCandidatesByTheirNats) {
  Trainee t;
  Batch b = make_batch(t.task, PES_SPLIT_TEST, 3, 0, 4, 24);
  for (int c = 0; c < 9; ++c) b.candidates.push_back(PES_FIRST_SYMBOL + 5 + c);
  std::swap(b.candidates.front(), b.candidates.back());  // no run of tokens
  StepInfo s;
  s.batch = 4, s.length = 24;
  const Scores scores = t.model->score(b, s);
  ASSERT_EQ(scores.rank.size(), scores.nats.size());
  std::vector<std::int32_t> ranks(scores.rank.size(), 0);
  Batch other = b;
  other.candidates.clear();
  for (const std::int32_t candidate : b.candidates) {
    std::fill(other.targets.begin(), other.targets.end(), candidate);
    const Scores of_candidate = t.model->score(other, s);
    EXPECT_TRUE(of_candidate.rank.empty());
    for (std::size_t k = 0; k < ranks.size(); ++k)
      ranks[k] += of_candidate.nats[k] <= scores.nats[k] ? 1 : 0;
  }
  int ranked = 0;
  for (std::size_t k = 0; k < ranks.size(); ++k) {
    const std::int32_t target = b.targets[static_cast<std::size_t>(scores.place[k])];
    const bool candidate = target >= PES_FIRST_SYMBOL + 5 && target < PES_FIRST_SYMBOL + 14;
    EXPECT_EQ(scores.rank[k], candidate ? ranks[k] : 0) << k;
    ranked += candidate;
  }
  EXPECT_GT(ranked, 10);
}

TEST(Evaluation, BucketsAddUpToTheWhole) {
  Trainee t;
  EvalConfig c;
  c.lengths = {96}, c.examples = 4, c.train_length = 24, c.protocols = {Protocol{}};
  double sum = 0, whole = 0;
  std::int64_t count = 0;
  for (const Observation& o : evaluate(*t.model, t.task, c, 96, 9, 1)) {
    if (o.metric != "nll") continue;
    if (!o.coords.contains("pos_lo"))
      whole = o.sum;
    else
      sum += o.sum, count += o.count;
  }
  EXPECT_NEAR(sum, whole, 1e-9 * whole);
  EXPECT_EQ(count, 4 * 96);
}

TEST(Evaluation, KnowsWhatABlindModelPays) {
  Trainee t;
  EvalConfig c;
  c.lengths = {96}, c.examples = 4, c.train_length = 24, c.protocols = {Protocol{}};
  std::map<std::int32_t, double> counts;
  for (std::uint64_t d = 0; d < 4; ++d) {
    std::vector<std::int32_t> tokens(96), targets(96);
    Task::Request r;
    r.split = c.split, r.seed = 9, r.index = d, r.length = 96;
    r.start = Protocol{}.windows(c.window_lengths(), 96).at(0).start;
    t.task.sample(r, tokens, targets);
    for (const std::int32_t target : targets) ++counts[target];
  }
  double entropy = 0;
  for (const auto& [token, n] : counts) entropy += n / 384 * std::log(384 / n);
  int seen = 0;
  for (const Observation& o : evaluate(*t.model, t.task, c, 96, 9, 1))
    if (o.metric == "unigram") {
      EXPECT_NEAR(o.value, entropy, 1e-12);
      EXPECT_EQ(o.count, 384);
      ++seen;
    }
  EXPECT_EQ(seen, 1);
}

// A pass finds parameters within the bounds that their encoding declares.
TEST(Model, MovesParametersIntoTheirBounds) {
  for (const char* name : {"cpu", "reference"}) {
    const auto backend = open_backend(name, {});
    ModelConfig c;
    c.width = 16, c.layers = 1, c.heads = 2, c.ff_width = 16, c.vocabulary = 8;
    Model m(*backend, c, compose(built_catalog(), "kerple(kernel=power)", shape_of(c, 8, 8)), 1);
    Batch batch;
    batch.size = 1, batch.length = 8;
    batch.tokens.assign(8, 1), batch.targets.assign(8, 2);
    StepInfo step;
    step.batch = 1, step.length = 8;
    int found = 0;
    for (Parameter& p : m.parameters()) {
      const bool power = p.name == "encoding.kerple.p";
      if (!power && p.name != "encoding.kerple.a") continue;
      ++found;
      ASSERT_EQ(p.shape.count(), 2);
      const double out_of_bounds[] = {-3, 5};
      backend->upload({p.value, p.shape}, out_of_bounds);
      m.score(batch, step);
      double after[2];
      backend->download(after, View{p.value, p.shape});
      EXPECT_NEAR(after[0], 0.01, 1e-8);
      EXPECT_EQ(after[1], power ? 2 : 5);
    }
    EXPECT_EQ(found, 2);
  }
}

}  // namespace
}  // namespace pesuite::testing
