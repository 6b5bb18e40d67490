// What the CUDA backend reads and writes in bf16, op by op, beside the reference in double on the
// same rounded numbers.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>

#include "tests/gpu/subject.h"
#include "tests/support.h"

namespace pesuite::testing {
namespace {

struct StoredCase {
  std::string name;
  std::vector<Shape> outputs, inputs;
  std::string stored;  // b: in bf16, or f: in fp32, outputs first
  std::function<void(Backend&, const std::vector<Out>&, const std::vector<View>&)> call;
  double tolerance = 3e-3;  // of what is in bf16, relative: one rounding
  double of_fp32 = 1e-5;
};
void PrintTo(const StoredCase& c, std::ostream* out) {
  *out << c.name;
}

double nearest_bf16(double x) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(x));
  return std::bit_cast<float>((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u);
}

using B = Backend&;
using O = const std::vector<Out>&;
using V = const std::vector<View>&;

// A linear layer of 9 rows, and its gradients.
void add_linear_cases(std::vector<StoredCase>& all, const std::string& name, std::int64_t I,
                      std::int64_t N) {
  const auto forward = [](B b, O o, V v) { b.linear_forward(o[0], v[0], v[1], v[2], {}); };
  const auto backward = [](B b, O o, V v) {
    b.linear_backward(o[0], o[1], o[2], v[0], v[1], v[2]);
  };
  for (const char* stored : {"bbff", "bfff", "fbff"})
    all.push_back({"linear_" + name + stored, {{9, N}}, {{9, I}, {N, I}, {N}}, stored, forward});
  all.push_back(
      {"linear_to_residual_" + name, {{9, N}}, {{9, I}, {N, I}, {9, N}}, "fbff", [](B b, O o, V v) {
         b.linear_forward(o[0], v[0], v[1], {}, v[2]);
       }});
  for (const char* stored : {"bffbbf", "bfffbf", "fffbff"})
    all.push_back({"linear_backward_" + name + stored,
                   {{9, I}, {N, I}, {N}},
                   {{9, N}, {9, I}, {N, I}},
                   stored,
                   backward});
}

// Heads of D features; `n` pairs of q turn and `fewer` of k.
void add_head_cases(std::vector<StoredCase>& all, const std::string& size, std::int64_t T,
                    std::int64_t D, std::int64_t n, std::int64_t fewer) {
  const Shape x = {2, T, 8 * D}, q = {2, 4, T, D}, k = {2, 2, T, D}, cos = {T, n}, few = {T, fewer};
  for (const Pairs pairs : {Pairs::half, Pairs::interleaved}) {
    const std::string kind = size + (pairs == Pairs::half ? "half_" : "interleaved_");
    const auto turn = [pairs](View c, View s) { return Turn{c, s, pairs}; };
    for (const char* stored : {"bbbbffff", "fffbffff", "bbbfffff"})
      all.push_back({"heads_" + kind + stored,
                     {q, k, k},
                     {x, cos, cos, few, few},
                     stored,
                     [=](B b, O o, V v) {
                       b.heads_forward(o[0], o[1], o[2], v[0], turn(v[1], v[2]), turn(v[3], v[4]));
                     }});
    for (const char* stored : {"bbbbffff", "bfffffff", "fbbbffff"})
      all.push_back({"heads_backward_" + kind + stored,
                     {x},
                     {q, k, k, cos, cos, few, few},
                     stored,
                     [=](B b, O o, V v) {
                       b.heads_backward(o[0], v[0], v[1], v[2], turn(v[3], v[4]), turn(v[5], v[6]));
                     }});
  }
  all.push_back({"heads_without_k_" + size, {q, k}, {x}, "bbb", [=](B b, O o, V v) {
                   b.heads_forward(o[0], {nullptr, k}, o[1], v[0], {}, {});
                 }});
  all.push_back({"heads_backward_without_q_" + size, {x}, {k, k}, "bbb", [=](B b, O o, V v) {
                   b.heads_backward(o[0], {nullptr, q}, v[0], v[1], {}, {});
                 }});
}

// Forward, and the gradients of q, k, v and a table, of 2 examples with 4 heads. What `lse` holds
// is between the two passes.
void add_attention_cases(std::vector<StoredCase>& all, const std::string& name, std::int64_t G,
                         std::int64_t D, std::int64_t E, double drop, const std::string& heads) {
  constexpr std::int64_t T = 33;
  const Shape q = {2, 4, T, D}, k = {2, G, T, D}, v = {2, G, T, E}, y = {2, T, 4 * E},
              rows = {2, 4, T}, table = {4, T};
  const auto input = [=](V x) {
    return AttentionInput{x[0], x[1], x[2], x[3], {}, 0.3, 0, {drop, 5, 7}};
  };
  const auto fresh = [](B b, const Shape& s) {
    return Out{b.allocate(static_cast<std::size_t>(s.count()) * b.element_size()), s};
  };
  all.push_back({name,
                 {y},
                 {q, k, v, table},
                 "b" + heads + "f",
                 [=](B b, O o, V x) {
                   const Out lse = fresh(b, rows);
                   b.attention_forward(o[0], lse, input(x));
                   b.release(lse.data);
                 },
                 1e-2});
  all.push_back({name + "_backward",
                 {q, k, v, table},
                 {q, k, v, table, y},
                 heads + "f" + heads + "fb",
                 [=](B b, O o, V x) {
                   Out made = fresh(b, y);
                   const Out lse = fresh(b, rows);
                   made.storage = x[4].storage;
                   b.attention_forward(made, lse, input(x));
                   b.attention_backward(o[0], o[1], o[2], o[3], {}, x[4], made.view(), lse.view(),
                                        input(x));
                   b.release(made.data), b.release(lse.data);
                 },
                 2e-2,
                 2e-2});
}

std::vector<StoredCase> stored_cases() {
  const Shape x = {6, 37};
  std::vector<StoredCase> all = {
      {"gelu", {x}, {x}, "bb", [](B b, O o, V v) { b.unary_forward(o[0], v[0], Unary::gelu); }},
      {"gelu_backward",
       {x},
       {x, x, x},
       "bbbb",
       [](B b, O o, V v) { b.unary_backward(o[0], v[0], v[1], v[2], Unary::gelu); }},
      {"fill", {x}, {}, "b", [](B b, O o, V) {
         if (!o[0].add) b.fill(o[0], 0.3);
       }}};
  for (const std::int64_t width : {7, 16}) {  // by one and by eights
    const Shape y = {5, width}, both = {5, 2 * width};
    const std::string name = "gate_of_" + std::to_string(width);
    for (const char* stored : {"bb", "ff"})
      all.push_back({name + "_" + stored, {y}, {both}, stored, [](B b, O o, V v) {
                       b.gate_forward(o[0], v[0]);
                     }});
    for (const char* stored : {"bbb", "fff"})
      all.push_back({name + "_backward_" + stored, {both}, {y, both}, stored, [](B b, O o, V v) {
                       b.gate_backward(o[0], v[0], v[1]);
                     }});
  }
  for (const char* stored : {"bf", "fb", "bb"})
    all.push_back(
        {std::string("affine_") + stored, {{2, 3, 5}}, {{3, 1}}, stored, [](B b, O o, V v) {
           b.affine(o[0], v[0], -2, 0.5);
         }});
  for (const std::int64_t width : {37, 40}) {  // by one and by eights
    const Shape y = {6, width}, row = {width}, stats = {6, 2};
    for (const Norm kind : {Norm::layer, Norm::rms}) {
      const std::string name =
          (kind == Norm::layer ? "layernorm_of_" : "rmsnorm_of_") + std::to_string(width);
      for (const char* stored : {"bffff", "fffff"})
        all.push_back(
            {name + "_" + stored, {y, stats}, {y, row, row}, stored, [=](B b, O o, V v) {
               b.norm_forward(o[0], {o[1].data, o[1].shape}, v[0], v[1], v[2], kind, 1e-3);
             }});
      for (const char* stored : {"fffbfff", "fffffff"})
        all.push_back({name + "_backward_" + stored,
                       {y, row, row},
                       {y, y, row, stats},
                       stored,
                       [=](B b, O o, V v) {
                         b.norm_backward(o[0], o[1], o[2], v[0], v[1], v[2], v[3], kind);
                       }});
    }
  }
  for (const std::int64_t width : {24, 37, 2056}) {  // several chunks of rows; too wide for chunks
    const Shape y = {70, width}, row = {width}, stats = {70, 2};
    for (const Norm kind : {Norm::layer, Norm::rms})
      all.push_back(
          {"norm_backward_of_70_rows_" + std::to_string(width) +
               (kind == Norm::layer ? "_layer" : "_rms"),
           {y, row},
           {y, y, row, stats},
           "ffbfff",
           [=](B b, O o, V v) { b.norm_backward(o[0], o[1], {}, v[0], v[1], v[2], v[3], kind); }});
  }
  // by eights and by one; 90 rows: several blocks here
  for (const auto& [classes, cap] : {std::pair(48, 0.0), {21, 0.0}, {48, 0.5}, {21, 0.5}})
    all.push_back({fmt::format("classify_{}{}", classes, cap > 0 ? "_capped" : ""),
                   {{90, 16}, {classes, 16}, {90}},
                   {{90, 16}, {classes, 16}},
                   "fffff",
                   [classes, cap](B b, O o, V v) {
                     std::vector<std::int32_t> targets(90);
                     for (std::size_t i = 0; i < 90; ++i)
                       targets[i] = static_cast<std::int32_t>(7 * i) % classes;
                     auto* const to = static_cast<std::int32_t*>(b.allocate(90 * 4));
                     auto* const best = static_cast<std::int32_t*>(b.allocate(90 * 4));
                     b.upload_tokens(to, targets);
                     b.classify(o[2], best, o[0], o[1], {}, v[0], {v[1], {}, cap}, to, 0.1);
                     b.release(to), b.release(best);
                   },
                   1e-2,
                   1e-2});
  add_linear_cases(all, "as_it_lies_", 16, 24);
  add_linear_cases(all, "of_odd_rows_", 5, 7);
  add_head_cases(all, "", 5, 6, 3, 1);
  add_head_cases(all, "in_eights_", 5, 32, 16, 8);
  add_head_cases(all, "in_eights_of_16_tokens_", 16, 32, 16, 8);
  const Shape q = {2, 4, 33, 8}, y = {2, 33, 32};
  all.push_back({"attention_alone",
                 {q, q, q},
                 {q, q, q, y, y},
                 "bbbbbbbb",
                 [](B b, O o, V x) {
                   const AttentionInput input{x[0], x[1], x[2], {}, {}, 0.3, 0, {}};
                   const Out made{const_cast<void*>(x[4].data), x[4].shape, false, x[4].storage};
                   const Out lse{b.allocate(2 * 4 * 33 * b.element_size()), {2, 4, 33}};
                   b.attention_forward(made, lse, input);
                   b.attention_backward(o[0], o[1], o[2], {}, {}, x[3], made.view(), lse.view(),
                                        input);
                   b.release(lse.data);
                 },
                 2e-2});
  add_attention_cases(all, "attention", 4, 16, 16, 0, "bbb");
  add_attention_cases(all, "attention_of_groups", 2, 8, 8, 0, "bbb");
  add_attention_cases(all, "attention_of_padded_heads", 4, 12, 16, 0, "bbb");
  add_attention_cases(all, "attention_of_fp32_heads", 2, 8, 8, 0, "fff");
  add_attention_cases(all, "attention_in_blocks", 2, 8, 8, 0.25, "bbb");
  add_attention_cases(all, "attention_in_blocks_of_odd_heads", 4, 5, 6, 0.25, "bbb");
  return all;
}

// Numbers are rounded to bf16 before anybody has them; `stored` or as they are in `b`.
std::vector<Values> stored_outcome(Backend& b, const StoredCase& c, bool stored, bool add) {
  std::vector<void*> memory;
  const auto make = [&](const Shape& shape, std::uint64_t seed, bool fresh) {
    Values v = random_values(shape, seed);
    for (double& x : v.data) x = fresh ? std::numeric_limits<double>::quiet_NaN() : nearest_bf16(x);
    const std::size_t next = memory.size();
    Out o{b.allocate(v.data.size() * b.element_size()), shape};
    if (stored && c.stored.at(next) == 'b') o.storage = Storage::bf16;
    b.upload(o, v.data.data());
    memory.push_back(o.data);
    return o;
  };
  std::vector<Out> outs;
  for (const Shape& s : c.outputs) {
    outs.push_back(make(s, 50 + outs.size(), !add));
    outs.back().add = add;
  }
  std::vector<View> views;
  for (const Shape& s : c.inputs) views.push_back(make(s, 10 + views.size(), false).view());
  c.call(b, outs, views);
  std::vector<Values> all;
  for (const Out& o : outs) {
    all.push_back({o.shape, std::vector<double>(static_cast<std::size_t>(o.shape.count()))});
    b.download(all.back().data.data(), o.view());
  }
  for (void* m : memory) b.release(m);
  return all;
}

class StoredInBf16 : public ::testing::TestWithParam<StoredCase> {};

TEST_P(StoredInBf16, AgreesWithTheReference) {
  if (const std::string why = absent(); !why.empty()) GTEST_SKIP() << why;
  const StoredCase& c = GetParam();
  for (const bool add : {false, true}) {
    const auto wanted = stored_outcome(*open_backend("reference", {}), c, false, add);
    const auto actual = stored_outcome(*subject(Precision::bf16), c, true, add);
    for (std::size_t i = 0; i < wanted.size(); ++i)
      EXPECT_LT(relative(actual[i], wanted[i]), c.stored[i] == 'b' ? c.tolerance : c.of_fp32)
          << "output " << i << (add ? ", added to" : "");
  }
}

INSTANTIATE_TEST_SUITE_P(Direct, StoredInBf16, ::testing::ValuesIn(stored_cases()),
                         [](const auto& info) { return info.param.name; });

TEST(StoredInBf16, IsForPrecisionBf16) {
  if (const std::string why = absent(); !why.empty()) GTEST_SKIP() << why;
  EXPECT_EQ(subject(Precision::bf16)->activations(), Storage::bf16);
  EXPECT_EQ(subject(Precision::fp32)->activations(), Storage::own);
}

// Kernels that one call starts beside products and graphs, on outputs and inputs that are stored
// so.
long kernels_of(const std::string& name) {
  const auto all = stored_cases();
  const auto c = std::find_if(all.begin(), all.end(), [&](auto& x) { return x.name == name; });
  const auto b = subject(Precision::bf16);
  StoredCase counted = *c;
  long count = 0;
  counted.call = [&](B backend, O o, V v) {
    const long before = launches();
    c->call(backend, o, v);
    count = launches() - before;
  };
  stored_outcome(*b, counted, true, false);
  return count;
}

TEST(StoredInBf16, IsReadAndWrittenWhereItLies) {
  if (const std::string why = absent(); !why.empty()) GTEST_SKIP() << why;
  if (launches() < 0) GTEST_SKIP() << "a device does not count them";
  EXPECT_EQ(kernels_of("linear_as_it_lies_bbff"), 2) << "the weight and the bias are rounded";
  EXPECT_EQ(kernels_of("linear_to_residual_as_it_lies_"), 1) << "the weight";
  EXPECT_EQ(kernels_of("linear_backward_as_it_lies_bffbbf"), 2) << "the weight; dbias";
  EXPECT_EQ(kernels_of("linear_backward_as_it_lies_bfffbf"), 3) << "the weight, dy once; dbias";
  EXPECT_EQ(kernels_of("attention_alone"), 0);
}

// To the nearest, ties to even; what is no number stays none.
TEST(StoredInBf16, IsRoundedOnce) {
  if (const std::string why = absent(); !why.empty()) GTEST_SKIP() << why;
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> numbers = {1.0f,
                                      infinity,
                                      -infinity,
                                      std::bit_cast<float>(0x3f808000u),
                                      std::bit_cast<float>(0x3f818000u),
                                      std::bit_cast<float>(0x7f7fffffu),
                                      std::bit_cast<float>(0x7fffffffu)};
  const std::vector<float> wanted = {
      1.0f, infinity, -infinity, 1.0f, std::bit_cast<float>(0x3f820000u), infinity};
  const Shape shape = {static_cast<std::int64_t>(numbers.size())};
  const auto b = subject(Precision::bf16);
  const Out own{b->allocate(64), shape}, half{b->allocate(64), shape, false, Storage::bf16};
  for (const bool by_kernel : {false, true}) {
    b->upload(by_kernel ? own : half, numbers.data());
    if (by_kernel) b->affine(half, own.view(), 1, 0);
    std::vector<float> back(numbers.size());
    b->download(back.data(), half.view());
    EXPECT_TRUE(std::isnan(back.back()));
    back.pop_back();
    EXPECT_EQ(back, wanted) << by_kernel;
  }
  b->release(own.data), b->release(half.data);
}

}  // namespace
}  // namespace pesuite::testing
