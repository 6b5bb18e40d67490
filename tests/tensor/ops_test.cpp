// Every op, on one list of cases: gradients of the reference against central differences, the CPU
// backend against the reference, two threads against one.
#include "tensor/ops.h"

#include "backend/cpu/bf16.h"

#include "tests/support.h"
#include "tests/tensor/op_cases.h"

namespace pesuite::testing {
namespace {

class OpTest : public ::testing::TestWithParam<OpCase> {};

TEST_P(OpTest, GradientsOfTheReferenceAgreeWithDifferences) {
  const OpCase& c = GetParam();
  if (!c.differentiable) GTEST_SKIP() << "has no gradient";
  expect_gradients(*open_backend("reference", {}), c.inputs, c.build);
}

TEST_P(OpTest, CpuAgreesWithTheReference) {
  const OpCase& c = GetParam();
  const Result wanted = run(*open_backend("reference", {}), c.inputs, c.build);
  const Result actual = run(*open_backend("cpu", {}), c.inputs, c.build);
  ASSERT_EQ(actual.failure, "");
  expect_close(actual.y, wanted.y, c.tolerance, "y");
  for (std::size_t i = 0; i < c.inputs.size(); ++i)
    expect_close(actual.gradients[i], wanted.gradients[i], 5 * c.tolerance,
                 "gradient of input " + std::to_string(i));
}

TEST_P(OpTest, TwoThreadsGiveTheBitsOfOne) {
  const OpCase& c = GetParam();
  const Result one = run(*open_backend("cpu", {.threads = 1}), c.inputs, c.build);
  const Result two = run(*open_backend("cpu", {.threads = 2}), c.inputs, c.build);
  EXPECT_EQ(one.y.data, two.y.data);
  for (std::size_t i = 0; i < c.inputs.size(); ++i)
    EXPECT_EQ(one.gradients[i].data, two.gradients[i].data) << "gradient of input " << i;
}

INSTANTIATE_TEST_SUITE_P(Ops, OpTest, ::testing::ValuesIn(op_cases()),
                         [](const auto& info) { return info.param.name; });

// At corners, where differences say nothing: the gradients of what `interpolate` stands for, a
// clamp that passes its gradient on at a tie, entries taken at a whole number, and a way without
// one.
TEST(Interpolate, HasTheGradientsOfItsPartsAtCorners) {
  const Values x = random_values({3, 40}, 1),
               p{{3, 9}, {0,  1,    17, 38.5, 39,    40,  1e9, -0.5, 2.25, 3,  39,  38, 37, 0,
                          -3, 39.5, 5,  5,    12.75, 5.5, 39,  39,   1,    40, 0.5, 38, 0}};
  for (const std::int64_t V : {40, 1}) {
    const Build parts = [V](Tape& t, const std::vector<Tensor>& in) {
      using namespace ops;
      const Tensor x = slice(t, in[0], 1, 0, V), flat = affine(t, slice(t, x, 1, 0, 1), 0, 0);
      const Tensor rise =
          V == 1
              ? flat
              : concat(t,
                       binary(t, Binary::sub, slice(t, x, 1, 1, V - 1), slice(t, x, 1, 0, V - 1)),
                       flat, 1);
      const auto bound = [&](std::int64_t v) {
        return constant(t, {{1}, {static_cast<double>(v)}});
      };
      const Tensor p =
          binary(t, Binary::max, binary(t, Binary::min, in[1], bound(V - 1)), bound(0));
      const Tensor low = unary(t, Unary::floor, p);
      return binary(t, Binary::add, take(t, x, low),
                    binary(t, Binary::mul, binary(t, Binary::sub, p, low), take(t, rise, low)));
    };
    const Build whole = [V](Tape& t, const std::vector<Tensor>& in) {
      return ops::interpolate(t, ops::slice(t, in[0], 1, 0, V), in[1]);
    };
    const Result wanted = run(*open_backend("reference", {}), {x, p}, parts);
    for (const char* backend : {"reference", "cpu"}) {
      const Result r = run(*open_backend(backend, {}), {x, p}, whole);
      ASSERT_EQ(r.failure, "");
      expect_close(r.y, wanted.y, 2e-6, "y");
      for (std::size_t i = 0; i < 2; ++i)
        expect_close(r.gradients[i], wanted.gradients[i], 2e-6, i == 0 ? "dx" : "dposition");
    }
  }
}

TEST(Interpolate, OfNoNumberIsNone) {
  for (const std::int64_t V : {20, 64, 100}) {
    const Values x = random_values({V}, 1), p{{3}, {1.5, std::nan(""), 2}};
    for (const char* backend : {"reference", "cpu"}) {
      const Result r = run(
          *open_backend(backend, {}), {x, p},
          [](Tape& t, const std::vector<Tensor>& in) { return ops::interpolate(t, in[0], in[1]); });
      EXPECT_TRUE(std::isfinite(r.y.data[0]) && std::isnan(r.y.data[1]) &&
                  std::isfinite(r.y.data[2]));
    }
  }
}

// A classifier goes by blocks of 512 rows and more, the last one shorter.
void expect_classified(double softcap) {
  const std::int64_t N = 1100, W = 32, V = 600;
  const Values h = random_values({N, W}, 1), w = random_values({V, W}, 2, 0.3),
               bias = random_values({V}, 3);
  std::vector<std::int32_t> targets(static_cast<std::size_t>(N));
  for (std::size_t i = 0; i < targets.size(); ++i)
    targets[i] = static_cast<std::int32_t>(i * 37 % static_cast<std::size_t>(V));
  // nats, and the gradients of h, w and bias
  const auto results = [&](Backend& b) {
    std::vector<void*> memory;
    const auto take = [&](const Shape& shape, const double* from) {
      memory.push_back(b.allocate(static_cast<std::size_t>(shape.count()) * b.element_size()));
      if (from != nullptr) b.upload(Out{memory.back(), shape}, from);
      return Out{memory.back(), shape};
    };
    const auto bytes = targets.size() * sizeof(std::int32_t);
    auto* const t = static_cast<std::int32_t*>(b.allocate(bytes));
    auto* const best = static_cast<std::int32_t*>(b.allocate(bytes));
    b.upload_tokens(t, targets);
    const Out given[] = {take(h.shape, h.data.data()), take(w.shape, w.data.data()),
                         take(bias.shape, bias.data.data())};
    const Out made[] = {take({N}, nullptr), take(h.shape, nullptr), take(w.shape, nullptr),
                        take(bias.shape, nullptr)};
    for (int again = 0; again < 2; ++again)  // nothing of the first call is left
      b.classify(made[0], best, made[1], made[2], made[3], given[0].view(),
                 {given[1].view(), given[2].view(), softcap}, t, 1.0 / 64);
    std::vector<Values> all;
    for (const Out& o : made) {
      all.push_back({o.shape, std::vector<double>(static_cast<std::size_t>(o.shape.count()))});
      b.download(all.back().data.data(), o.view());
    }
    for (void* m : memory) b.release(m);
    b.release(t), b.release(best);
    return all;
  };
  const auto wanted = results(*open_backend("reference", {}));
  const auto near = [&](const BackendOptions& options, double tolerance) {
    const auto actual = results(*open_backend("cpu", options));
    for (std::size_t i = 0; i < wanted.size(); ++i)
      expect_close(actual[i], wanted[i], tolerance, "result " + std::to_string(i));
  };
  near({}, 1e-5);
  if (bf16::best_kernel() != bf16::Kernel::none)
    near({.threads = 2, .precision = Precision::bf16}, 0.02);
}
TEST(Classify, OfSeveralBlocksAgreesWithTheReference) {
  expect_classified(0);
}
TEST(Classify, OfCappedLogitsAgreesWithTheReference) {  // which are some 1.7 large
  expect_classified(1);
}

// Shapes that do not fit give a sentence, not a crash, and the null handle flows on.
TEST(OpFailures, NameOpAndShapes) {
  const auto backend = open_backend("reference", {});
  const auto failure = [&](const Build& build) {
    return run(*backend, {random_values({2, 3}, 1), random_values({4, 5}, 2)}, build).failure;
  };
  using T = const std::vector<Tensor>&;
  EXPECT_EQ(failure([](Tape& t, T x) { return ops::binary(t, Binary::add, x[0], x[1]); }),
            "binary: [2, 3] and [4, 5] do not broadcast against each other");
  EXPECT_EQ(failure([](Tape& t, T x) { return ops::matmul(t, x[0], x[1], false); }),
            "matmul: [2, 3] times [4, 5]: the inner extents differ");
  EXPECT_EQ(failure([](Tape& t, T x) { return ops::slice(t, x[0], 1, 2, 5); }),
            "slice: 2 .. 6 of axis 1 of [2, 3] does not exist");
  EXPECT_EQ(failure([](Tape& t, T x) { return ops::reshape(t, x[0], {5}); }),
            "reshape: [2, 3] has 6 numbers, [5] has 5");
  EXPECT_EQ(failure([](Tape& t, T x) { return ops::sum(t, x[0], 4); }),
            "sum: axis 4 of a tensor [2, 3] does not exist");
  EXPECT_EQ(failure([](Tape& t, T x) {
              t.set_caller({"x", "attend", 0});
              const Tensor bad = ops::rotate(t, x[0], x[1], x[1], Pairs::half);
              return ops::affine(t, ops::unary(t, Unary::exp, bad), 2, 0);
            }),
            "encoding 'x', hook attend, layer 0: rotate: x [2, 3], cos [4, 5], sin [4, 5]: more "
            "pairs than the last axis of x holds");
}

TEST(Tape, GivesMemoryBackWhileItWalks) {
  const auto backend = open_backend("cpu", {});
  Tape tape(*backend);
  Parameter p;
  p.shape = {1000};
  p.value = backend->allocate(4000);
  p.grad = backend->allocate(4000);
  backend->fill({p.value, p.shape}, 0.5);
  for (int step = 0; step < 3; ++step) {
    Tensor x = tape.leaf(p);
    p.has_grad = false;
    for (int i = 0; i < 50; ++i) x = ops::affine(tape, x, 1.01, 0);
    backend->fill(tape.grad(x), 1);
    tape.backward();
    tape.reset();
  }
  // 50 activations and no more than two gradients at a time, in whole 256 bytes
  EXPECT_LE(tape.memory(), 53u * 4096u);
  backend->release(p.value);
  backend->release(p.grad);
}

// What a backward reads stays, what none reads goes at once.
TEST(Tape, DropsWhatNoBackwardReads) {
  const auto backend = open_backend("cpu", {});
  Tape tape(*backend);
  Parameter p;
  p.shape = {1 << 16};
  p.value = backend->allocate(4 << 16);
  p.grad = backend->allocate(4 << 16);
  backend->fill({p.value, p.shape}, 0.5);
  const auto memory = [&](bool square) {
    tape.reset();
    p.has_grad = false;
    Tensor x = ops::affine(tape, tape.leaf(p), 2, 0);
    for (int i = 0; i < 20; ++i) {
      const Tensor y = square ? ops::binary(tape, Binary::mul, x, x) : ops::affine(tape, x, 1, 0);
      tape.drop(x);
      x = y;
    }
    const std::size_t before = tape.memory();
    backend->fill(tape.grad(x), 1);
    tape.backward();
    double gradient = 0;
    backend->download(&gradient, View{p.grad, {1}});
    return std::pair(before, gradient);
  };
  const auto linear = memory(false);  // before the others: memory() is that of the largest step
  EXPECT_LE(linear.first, 3u * (4u << 16));
  EXPECT_EQ(linear.second, 2);
  const auto squared = memory(true);
  EXPECT_GE(squared.first, 20u * (4u << 16));
  EXPECT_EQ(squared.second, 2 * (1 << 20)) << "1 squared 20 times";
  backend->release(p.value);
  backend->release(p.grad);
}

// A gate's gradient stands where its input stood, and its output is gone when its gradient is made:
// so the walk needs no more than the values that the forward pass left.
TEST(Tape, GradientsTakeThePlaceOfValuesThatNobodyReads) {
  const auto backend = open_backend("cpu", {});
  Tape tape(*backend);
  constexpr std::int64_t rows = 256, width = 64;
  constexpr std::size_t unit = rows * width * sizeof(float);
  Parameter p;
  p.shape = {rows, 2 * width};
  p.value = backend->allocate(2 * unit);
  p.grad = backend->allocate(2 * unit);
  backend->fill({p.value, p.shape}, 0.5);
  const Tensor x = ops::affine(tape, tape.leaf(p), 2, 0);  // 2 units
  const Tensor y = ops::gate(tape, x);                     // 1
  Tensor z = ops::unary(tape, Unary::exp, y);              // 1
  backend->fill(tape.grad(z), 1);                          // 1
  EXPECT_EQ(tape.memory(), 5 * unit);
  tape.backward();
  EXPECT_EQ(tape.memory(), 5 * unit);
  backend->release(p.value);
  backend->release(p.grad);
}

}  // namespace
}  // namespace pesuite::testing
