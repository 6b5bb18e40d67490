// Every op that a tape records, with inputs of odd sizes: what each backend is tested with.
#pragma once

#include "tensor/ops.h"
#include "tests/support.h"

namespace pesuite::testing {

struct OpCase {
  std::string name;
  std::vector<Values> inputs;
  Build build;
  double tolerance = 2e-6;  // of fp32 against double
  bool differentiable = true;
};
inline void PrintTo(const OpCase& c, std::ostream* out) {
  *out << c.name;
}

inline Values indices(const Shape& shape, std::int64_t below, std::uint64_t seed) {
  Values v{shape, {}};
  pes::Random r(seed, pes::purpose("index"), 0);
  for (std::int64_t i = 0; i < shape.count(); ++i)
    v.data.push_back(r.below(static_cast<std::uint32_t>(below)));
  return v;
}
inline Tensor constant(Tape& t, const Values& v) {
  return t.constant(v.shape, v.data.data());
}

inline std::vector<OpCase> op_cases() {
  std::vector<OpCase> all;
  const auto add = [&](std::string name, std::vector<Values> inputs, Build build,
                       double tolerance = 2e-6, bool differentiable = true) {
    all.push_back(
        {std::move(name), std::move(inputs), std::move(build), tolerance, differentiable});
  };
  using T = const std::vector<Tensor>&;

  const auto unary = [&](std::string name, Unary op, double scale, double shift) {
    add(
        "unary_" + name, {random_values({3, 37}, 1, scale, shift)},
        [op](Tape& t, T x) { return ops::unary(t, op, x[0]); }, 2e-6, op != Unary::floor);
  };
  unary("exp", Unary::exp, 3, 0);
  unary("log", Unary::log, 0.3, 2);
  unary("sin", Unary::sin, 20, 0);
  unary("cos", Unary::cos, 20, 0);
  unary("tanh", Unary::tanh, 2, 0);
  unary("sigmoid", Unary::sigmoid, 5, 0);
  unary("softplus", Unary::softplus, 5, 0);
  unary("relu", Unary::relu, 1, 0);
  unary("abs", Unary::abs, 1, 0);
  unary("sqrt", Unary::sqrt, 0.3, 2);
  unary("floor", Unary::floor, 5, 0);
  unary("gelu", Unary::gelu, 3, 0);
  unary("gelu_tanh", Unary::gelu_tanh, 3, 0);

  const std::vector<std::pair<std::string, Binary>> binaries = {
      {"add", Binary::add}, {"sub", Binary::sub}, {"mul", Binary::mul},
      {"div", Binary::div}, {"min", Binary::min}, {"max", Binary::max}};
  const std::vector<std::pair<Shape, Shape>> pairs = {
      {{5, 19}, {5, 19}},        {{4, 3, 17}, {17}},           {{2, 3, 17}, {3, 1}},
      {{3, 1, 5}, {2, 1, 4, 1}}, {{2, 3, 4, 5}, {4, 5}},       {{7}, {}},
      {{1, 1}, {3, 40}},         {{2, 1, 1, 33}, {2, 3, 5, 1}}};
  for (const auto& [name, op] : binaries)
    for (std::size_t i = 0; i < pairs.size(); ++i)
      add("binary_" + name + "_" + std::to_string(i),
          {random_values(pairs[i].first, 2), random_values(pairs[i].second, 3, 0.3, 2)},
          [op = op](Tape& t, T x) { return ops::binary(t, op, x[0], x[1]); });
  add("binary_with_itself", {random_values({4, 5}, 2)},
      [](Tape& t, T x) { return ops::binary(t, Binary::mul, x[0], x[0]); });
  add("affine", {random_values({4, 33}, 2)},
      [](Tape& t, T x) { return ops::affine(t, x[0], -1.5, 0.25); });

  const std::vector<std::tuple<Shape, Shape, bool>> products = {
      {{5, 7}, {7, 3}, false},
      {{5, 7}, {3, 7}, true},
      {{2, 3, 5, 7}, {2, 3, 7, 4}, false},
      {{2, 3, 5, 7}, {2, 3, 4, 7}, true},
      {{2, 3, 5, 7}, {7, 4}, false},
      {{2, 3, 5, 7}, {4, 7}, true},
      {{5, 7}, {2, 3, 7, 4}, false},
      {{2, 1, 5, 7}, {1, 3, 7, 4}, false},
      {{2, 3, 5, 7}, {3, 4, 7}, true},
      {{2, 3, 5, 7}, {2, 1, 7, 4}, false}};
  for (std::size_t i = 0; i < products.size(); ++i)
    add("matmul_" + std::to_string(i),
        {random_values(std::get<0>(products[i]), 4), random_values(std::get<1>(products[i]), 5)},
        [transpose = std::get<2>(products[i])](Tape& t, T x) {
          return ops::matmul(t, x[0], x[1], transpose);
        });

  for (int axis : {0, 1, -1})
    add("sum_" + std::to_string(axis + 1), {random_values({3, 5, 7}, 6)},
        [axis](Tape& t, T x) { return ops::sum(t, x[0], axis); });
  for (int axis : {0, 2})
    for (bool reverse : {false, true})
      add("cumsum_" + std::to_string(axis) + (reverse ? "_reverse" : ""),
          {random_values({3, 5, 37}, 6)},
          [=](Tape& t, T x) { return ops::cumsum(t, x[0], axis, reverse); });
  add("cumsum_before_one", {random_values({3, 37, 1}, 6)},
      [](Tape& t, T x) { return ops::cumsum(t, x[0], 1, true); });
  add("reshape", {random_values({3, 4, 5}, 7)}, [](Tape& t, T x) {
    return ops::affine(t, ops::reshape(t, x[0], {6, 10}), 2, 0);
  });
  add("permute_0213", {random_values({2, 3, 5, 7}, 7)}, [](Tape& t, T x) {
    const int axes[] = {0, 2, 1, 3};
    return ops::permute(t, x[0], axes);
  });
  add("permute_3120", {random_values({2, 3, 5, 7}, 7)}, [](Tape& t, T x) {
    const int axes[] = {3, 1, -2, 0};
    return ops::permute(t, x[0], axes);
  });
  add("slice", {random_values({4, 9, 3}, 8)},
      [](Tape& t, T x) { return ops::slice(t, x[0], 1, 2, 5); });
  add("slices_add_up", {random_values({4, 9}, 8)}, [](Tape& t, T x) {
    return ops::binary(t, Binary::mul, ops::slice(t, x[0], -1, 0, 5),
                       ops::slice(t, x[0], -1, 4, 5));
  });
  add("concat", {random_values({2, 3, 4}, 9), random_values({2, 5, 4}, 10)},
      [](Tape& t, T x) { return ops::concat(t, x[0], x[1], 1); });
  add("take_long", {random_values({1, 11}, 11)}, [](Tape& t, T x) {
    return ops::take(t, x[0], constant(t, indices({1, 20011}, 11, 1)));
  });
  add(
      "matmul_flat", {random_values({1, 5, 3}, 11), random_values({1, 3, 2051}, 12)},
      [](Tape& t, T x) { return ops::matmul(t, x[0], x[1], false); }, 4e-6);
  add("concat_long", {random_values({2, 3, 3001}, 11), random_values({2, 4, 3001}, 12)},
      [](Tape& t, T x) { return ops::concat(t, x[0], x[1], 1); });
  add("take", {random_values({3, 1, 11}, 11)}, [](Tape& t, T x) {
    return ops::take(t, x[0], constant(t, indices({4, 6}, 11, 1)));
  });
  add("take_rows_share_index", {random_values({2, 3, 11}, 11)},
      [](Tape& t, T x) { return ops::take(t, x[0], constant(t, indices({6}, 11, 1))); });
  // inside, exactly whole, at both ends and beyond them; differences across a corner say nothing
  const auto interpolates = [&](std::string name, const Shape& x, const Shape& position) {
    const double last = static_cast<double>(x[-1] - 1);
    Values p = random_values(position, 27, 0.6 * last + 1, 0.5 * last);
    for (double& v : p.data)  // off the corners
      if (std::abs(v - std::round(v)) < 0.02) v = std::round(v) + 0.0625;
    add("interpolate_" + name, {random_values(x, 11), p},
        [](Tape& t, T in) { return ops::interpolate(t, in[0], in[1]); });
  };
  interpolates("of_11", {3, 1, 11}, {3, 4, 37});
  interpolates("of_33", {3, 4, 33}, {3, 4, 16});
  interpolates("of_64", {2, 5, 64}, {2, 5, 131});
  interpolates("of_70", {2, 5, 70}, {2, 5, 19});
  interpolates("of_one", {4, 1}, {4, 7});
  interpolates("at_shared_positions", {2, 3, 11}, {6});
  interpolates("of_one_row", {1, 11}, {5, 2, 9});
  interpolates("of_long_rows", {1, 11}, {1, 20011});
  add("interpolate_at_corners", {random_values({2, 40}, 11)}, [](Tape& t, T x) {
    const Values p{{1, 8}, {0, 1, 17, 38.5, 39, 40, 1e9, -0.5}};
    return ops::interpolate(t, x[0], constant(t, p));
  });
  add("rows", {random_values({7, 5}, 12)},
      [](Tape& t, T x) { return ops::rows(t, x[0], constant(t, indices({9}, 7, 2))); });
  for (Pairs p : {Pairs::half, Pairs::interleaved})
    for (int n : {2, 5}) {
      const std::string suffix =
          (p == Pairs::half ? "_half_" : "_interleaved_") + std::to_string(n);
      add("rotate" + suffix,
          {random_values({2, 3, 4, 10}, 13), random_values({4, n}, 14), random_values({4, n}, 15)},
          [p](Tape& t, T x) { return ops::rotate(t, x[0], x[1], x[2], p); });
      add("rotate_per_head" + suffix,
          {random_values({2, 3, 4, 10}, 13), random_values({3, 1, n}, 14),
           random_values({3, 1, n}, 15)},
          [p](Tape& t, T x) { return ops::rotate(t, x[0], x[1], x[2], p); });
    }

  for (Norm kind : {Norm::layer, Norm::rms}) {
    const std::string k = kind == Norm::layer ? "layer" : "rms";
    add(
        k + "norm",
        {random_values({2, 5, 37}, 16, 2, 0.5), random_values({37}, 17, 0.3, 1),
         random_values({37}, 18)},
        [kind](Tape& t, T x) {
          return ops::norm(t, x[0], x[1], kind == Norm::layer ? x[2] : Tensor{}, kind, 1e-5);
        },
        1e-5);
    add(
        k + "norm_without_gain", {random_values({2, 5, 8}, 16, 2, 0.5)},
        [kind](Tape& t, T x) { return ops::norm(t, x[0], {}, {}, kind, 1e-5); }, 1e-5);
  }
  add("linear", {random_values({3, 4, 19}, 19), random_values({11, 19}, 20)},
      [](Tape& t, T x) { return ops::linear(t, x[0], x[1]); });
  add(
      "linear_bias",
      {random_values({600, 19}, 19), random_values({11, 19}, 20), random_values({11}, 21)},
      [](Tape& t, T x) { return ops::linear(t, x[0], x[1], x[2]); }, 5e-6);
  add("linear_bias_residual",
      {random_values({3, 4, 19}, 19), random_values({19, 19}, 20), random_values({19}, 21)},
      [](Tape& t, T x) { return ops::linear(t, x[0], x[1], x[2], x[0]); });
  add(
      "residual_used_twice",
      {random_values({3, 4, 19}, 19), random_values({19, 19}, 20), random_values({3, 4, 19}, 22)},
      [](Tape& t, T x) {
        const Tensor h = ops::affine(t, x[2], 2, 0);  // a tensor that is no parameter
        const Tensor y = ops::linear(t, ops::unary(t, Unary::tanh, h), x[1], {}, h);
        return ops::linear(t, ops::unary(t, Unary::tanh, y), x[1], {}, y);
      },
      1e-5);
  for (int part : {0, 1, 2, 3})
    add("split_heads_" + std::to_string(part), {random_values({2, 5, 8 * 6}, 31)},
        [part](Tape& t, T x) {
          const ops::Heads h = ops::split_heads(t, x[0], 4, 2);
          for (const Tensor made : {h.q, h.k, h.v}) t.now(made);
          if (part < 3) return part == 0 ? h.q : part == 1 ? h.k : h.v;
          return ops::binary(t, Binary::mul, ops::slice(t, h.q, 1, 0, 2),
                             ops::binary(t, Binary::mul, h.k, h.v));
        });
  add("gate", {random_values({3, 2, 38}, 22)}, [](Tape& t, T x) { return ops::gate(t, x[0]); });
  // what an op may write over, another one reads afterwards
  add(
      "gate_of_what_others_read", {random_values({3, 38}, 25)},
      [](Tape& t, T x) {
        const Tensor h = ops::affine(t, x[0], 2, 0);
        const Tensor other = ops::unary(t, Unary::tanh, ops::slice(t, h, 1, 0, 19));
        return ops::binary(t, Binary::mul, ops::binary(t, Binary::mul, other, ops::gate(t, h)),
                           ops::unary(t, Unary::exp, ops::slice(t, h, 1, 19, 19)));
      },
      1e-5);
  add(
      "unary_of_what_others_read", {random_values({3, 38}, 26)},
      [](Tape& t, T x) {
        const Tensor h = ops::affine(t, x[0], 2, 0);
        return ops::binary(t, Binary::mul, ops::unary(t, Unary::sin, h),
                           ops::unary(t, Unary::cos, ops::unary(t, Unary::sin, h)));
      },
      1e-5);
  add("dropout", {random_values({3, 5, 37}, 23)}, [](Tape& t, T x) {
    return ops::dropout(t, x[0], {0.3, 7, 11});
  });
  add(
      "softmax", {random_values({2, 3, 5, 23}, 24, 2)},
      [](Tape& t, T x) { return ops::softmax(t, x[0], 9); }, 5e-6);
  return all;
}

}  // namespace pesuite::testing
