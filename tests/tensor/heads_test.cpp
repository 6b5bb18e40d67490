// Heads and their turns: the CPU against the reference, and what encodings do with q and k before
// anybody has made them against the same after they are there.
#include "bench/timed_backend.h"
#include "tests/tensor/head_cases.h"

namespace pesuite::testing {
namespace {

class HeadsOnCpu : public ::testing::TestWithParam<HeadCase> {};

TEST_P(HeadsOnCpu, AgreeWithTheReference) {
  for (const int threads : {1, 2})
    expect_heads_as_the_reference(*open_backend("cpu", {.threads = threads}), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Heads, HeadsOnCpu, ::testing::ValuesIn(head_cases()),
                         [](const auto& info) { return info.param.name; });

// An encoding: what it makes of q, k [2, 4, 5, 6] and v. Tables [5, 3], which learn in `learn`.
struct Use {
  std::string name;
  std::function<std::vector<Tensor>(Tape&, const ops::Heads&, Tensor cos, Tensor sin)> made;
  int passes = 1;     // over the packed heads
  int rotations = 0;  // beside them
  bool learn = false;
};
void PrintTo(const Use& u, std::ostream* out) {
  *out << u.name;
}

std::vector<Use> uses() {
  using T = Tape&;
  using H = const ops::Heads&;
  const auto turn = [](Tape& t, Tensor x, Tensor cos, Tensor sin, Pairs p = Pairs::half) {
    return ops::rotate(t, x, cos, sin, p);
  };
  const auto part = [](Tape& t, Tensor x) { return ops::slice(t, x, -1, 0, 2); };
  std::vector<Use> all = {
      {"nothing",
       [](T, H h, Tensor, Tensor) {
         return std::vector{h.q, h.k, h.v};
       }},
      {"both_turn",
       [=](T t, H h, Tensor c, Tensor s) {
         return std::vector{turn(t, h.q, c, s), turn(t, h.k, c, s), h.v};
       }},
      {"some_interleaved_features_turn",
       [=](T t, H h, Tensor c, Tensor s) {
         c = part(t, c), s = part(t, s);
         return std::vector{turn(t, h.q, c, s, Pairs::interleaved), turn(t, h.k, c, s), h.v};
       }},
      {"only_k_turns",
       [=](T t, H h, Tensor c, Tensor s) {
         return std::vector{h.v, turn(t, h.k, c, s), h.q};
       }},
      {"turned_and_then_plain",
       [=](T t, H h, Tensor c, Tensor s) {
         return std::vector{t.now(turn(t, h.q, c, s)), h.q, turn(t, h.k, c, s), h.v};
       },
       2, 1},
      {"plain_before_what_it_turns_into",
       [=](T t, H h, Tensor c, Tensor s) {
         const Tensor q = turn(t, h.q, c, s);
         return std::vector{t.now(h.q), q, turn(t, h.k, c, s), h.k, h.v};
       },
       3},
      {"plain_before_it_turns",
       [=](T t, H h, Tensor c, Tensor s) {
         const Tensor q = ops::affine(t, t.now(h.q), 2, 0);
         return std::vector{q, turn(t, h.q, c, s), turn(t, h.k, c, s), h.v};
       },
       1, 2},
      {"turns_twice",
       [=](T t, H h, Tensor c, Tensor s) {
         return std::vector{turn(t, turn(t, h.q, c, s), c, s), turn(t, h.k, c, s), h.v};
       },
       1, 2},
      {"turns_in_two_ways",
       [=](T t, H h, Tensor c, Tensor s) {
         return std::vector{turn(t, h.q, c, s), turn(t, h.q, s, c), turn(t, h.k, c, s), h.v};
       },
       2, 1},
      {"turned_plain_and_nobody_asks",
       [=](T t, H h, Tensor c, Tensor s) {
         turn(t, h.q, c, s);
         return std::vector{h.q, h.v};
       },
       2},
      {"only_v_is_read", [](T, H h, Tensor, Tensor) { return std::vector{h.v}; }},
      {"tables_learn",
       [=](T t, H h, Tensor c, Tensor s) {
         return std::vector{turn(t, h.q, c, s), turn(t, h.k, c, s), h.v};
       },
       1, 2, true},
      {"tables_of_k_learn",
       [=](T t, H h, Tensor c, Tensor s) {
         const Values fixed = random_values({5, 3}, 9);
         const Tensor q = turn(t, h.q, t.constant({5, 3}, fixed.data.data()),
                               t.constant({5, 3}, fixed.data.data()));
         return std::vector{q, turn(t, h.k, c, s), h.v};
       },
       1, 1, true},
  };
  return all;
}

// Of x [2, 5, 48] and, where they learn, cos and sin; `at_once`: before anybody looks at them.
Build build(const Use& use, bool at_once) {
  return [=](Tape& t, const std::vector<Tensor>& in) {
    const auto table = [&](std::uint64_t seed) {
      return t.constant({5, 3}, random_values({5, 3}, seed).data.data());
    };
    const Tensor x = ops::affine(t, in[0], 2, 0);  // not a parameter: may be dropped
    const ops::Heads h = ops::split_heads(t, x, 4, 2);
    if (at_once)
      for (const Tensor part : {h.q, h.k, h.v}) t.now(part);
    Tensor y;
    for (const Tensor part :
         use.made(t, h, use.learn ? in[1] : table(1), use.learn ? in[2] : table(2))) {
      const Tensor of = ops::unary(t, Unary::tanh, t.now(part));
      y = y ? ops::concat(t, y, of, 1) : of;
    }
    t.drop(x);
    return y;
  };
}
std::vector<Values> inputs(const Use& use) {
  std::vector<Values> all = {random_values({2, 5, 48}, 31)};
  if (use.learn) all.push_back(random_values({5, 3}, 32)), all.push_back(random_values({5, 3}, 33));
  return all;
}

class HeadsLater : public ::testing::TestWithParam<Use> {};

TEST_P(HeadsLater, AreWhatTheyAreAtOnce) {
  for (const std::string name : {"reference", "cpu"}) {
    const auto b = open_backend(name, {});
    const Result wanted = run(*b, inputs(GetParam()), build(GetParam(), true));
    const Result actual = run(*b, inputs(GetParam()), build(GetParam(), false));
    ASSERT_EQ(actual.failure, "");
    const double tolerance = name == "cpu" ? 1e-6 : 1e-14;
    expect_close(actual.y, wanted.y, tolerance, "y");
    for (std::size_t i = 0; i < wanted.gradients.size(); ++i)
      expect_close(actual.gradients[i], wanted.gradients[i], tolerance, "gradient");
  }
}

TEST_P(HeadsLater, HaveTheGradientsOfDifferences) {
  expect_gradients(*open_backend("reference", {}), inputs(GetParam()), build(GetParam(), false));
}

// What is turned on the way out is turned back on the way in.
TEST_P(HeadsLater, TakeOnePassEach) {
  bench::TimedBackend b(open_backend("reference", {}));
  run(b, inputs(GetParam()), build(GetParam(), false));
  const auto calls = [&](const std::string& kernel) {
    const auto at = b.times().find(kernel);
    return at == b.times().end() ? 0 : at->second.calls;
  };
  EXPECT_EQ(calls("heads"), GetParam().passes);
  EXPECT_EQ(calls("rotate"), GetParam().rotations);
  EXPECT_LE(calls("heads backward"), GetParam().passes);
  EXPECT_EQ(calls("rotate backward"), GetParam().rotations);
}

INSTANTIATE_TEST_SUITE_P(Heads, HeadsLater, ::testing::ValuesIn(uses()),
                         [](const auto& info) { return info.param.name; });

TEST(HeadsWithoutRecording, TurnOnTheirWay) {
  bench::TimedBackend b(open_backend("reference", {}));
  const Use use = uses()[1];
  const Values wanted = run(b, inputs(use), build(use, true), false).y;
  b.clear();
  const Build silent = [&](Tape& t, const std::vector<Tensor>& in) {
    t.set_recording(false);
    return build(use, false)(t, in);
  };
  expect_close(run(b, inputs(use), silent, false).y, wanted, 1e-14, "y");
  EXPECT_EQ(b.times().count("rotate"), 0u);
}

// What an encoding makes of q for its rewriter is asked for in a block of rows, whose tensors the
// tape forgets: it must have been made before.
TEST(Heads, WhatIsAddedToThemIsMadeAtOnce) {
  const auto backend = open_backend("reference", {});
  Tape tape(*backend);
  const Values packed = random_values({1, 3, 12}, 1);
  const ops::Heads heads =
      ops::split_heads(tape, tape.constant(packed.shape, packed.data.data()), 1, 1);
  const double one = 1;
  const Tensor sum = ops::binary(tape, Binary::add, heads.q, tape.constant({1}, &one));
  const auto values = [&] {
    std::vector<double> all(12);
    backend->download(all.data(), tape.view(tape.now(sum)));
    return all;
  };
  const Tape::Mark mark = tape.mark();
  const std::vector<double> in_a_block = values();
  tape.release_since(mark);
  tape.constant({12}, packed.data.data());
  EXPECT_EQ(values(), in_a_block);
  EXPECT_DOUBLE_EQ(in_a_block[0], packed.data[0] + 1);
}

}  // namespace
}  // namespace pesuite::testing
