// Computes a graph node by node in double precision, addressing every tensor by its strides.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "backend/cuda/graph.h"

namespace pesuite::testing {

using cuda::Four;
using cuda::Graph;
using cuda::GraphTensor;
using cuda::Id;
using cuda::Node;
using cuda::Op;
using cuda::Slot;
using Numbers = std::vector<double>;

inline std::size_t offset(const GraphTensor& t, const Four& at) {
  std::int64_t o = 0;
  for (std::size_t i = 0; i < 4; ++i) o += at[i] * t.strides[i];
  return static_cast<std::size_t>(o);
}
inline std::size_t room(const GraphTensor& t) {
  Four last = t.extents;
  for (auto& e : last) --e;
  return offset(t, last) + 1;
}
// The place in x that goes with a place in y: extents of 1 stretch, heads form groups.
inline std::size_t matching(const GraphTensor& x, const Four& at, const Four& extents) {
  Four p{};
  for (std::size_t i = 0; i < 4; ++i) p[i] = at[i] * x.extents[i] / extents[i];
  return offset(x, p);
}
template <class F>
void each(const Four& e, F f) {
  for (std::int64_t a = 0; a < e[0]; ++a)
    for (std::int64_t b = 0; b < e[1]; ++b)
      for (std::int64_t c = 0; c < e[2]; ++c)
        for (std::int64_t d = 0; d < e[3]; ++d) f(Four{a, b, c, d});
}

// Whether two elements would lie at one place.
inline bool overlaps(const GraphTensor& t) {
  std::vector<std::pair<std::int64_t, std::int64_t>> axes;  // stride and extent
  for (std::size_t i = 0; i < 4; ++i)
    if (t.extents[i] > 1) axes.emplace_back(t.strides[i], t.extents[i]);
  std::sort(axes.begin(), axes.end());
  for (std::size_t i = 1; i < axes.size(); ++i)
    if (axes[i].first < axes[i - 1].first * axes[i - 1].second) return true;
  return false;
}

// Whether dropout keeps an element of the scores: any fixed pattern will do.
inline bool kept(const Four& at) {
  return (at[0] * 7 + at[1] * 5 + at[2] * 3 + at[3]) % 4 != 1;
}

class Interpreter {
 public:
  // bound: what the slots hold, laid out as the graph says.
  Interpreter(const Graph& g, const std::map<Slot, Numbers>& bound) : g_(g) {
    // dy y has the strides that cuDNN's pattern wants, and is never stored.
    for (GraphTensor& t : g_.tensors)
      if (t.slot == Slot::none && overlaps(t)) t.strides = cuda::row_major(t.extents);
    for (const GraphTensor& t : g_.tensors) {
      const auto at = bound.find(t.slot);
      data_.push_back(at != bound.end() ? at->second : Numbers(room(t), std::nan("")));
    }
    for (const Node& n : g.nodes) compute(n);
  }
  // As a dense [.., .., .., ..] tensor.
  Numbers dense(Slot s) const {
    Numbers out;
    for (std::size_t i = 0; i < g_.tensors.size(); ++i)
      if (g_.tensors[i].slot == s)
        each(g_.tensors[i].extents,
             [&](const Four& at) { out.push_back(data_[i][offset(g_.tensors[i], at)]); });
    return out;
  }

 private:
  const GraphTensor& tensor(Id i) const { return g_.tensors[static_cast<std::size_t>(i)]; }
  Numbers& data(Id i) { return data_[static_cast<std::size_t>(i)]; }
  double read(Id i, const Four& at, const Four& extents) {
    return i < 0 ? 0 : data(i)[matching(tensor(i), at, extents)];
  }

  void compute(const Node& n) {
    switch (n.op) {
      case Op::matmul: return product(n);
      case Op::sum:
      case Op::row_max: return reduce(n);
      case Op::view: data(n.y) = data(n.x); return;
      default: break;
    }
    const GraphTensor& y = tensor(n.y);
    each(y.extents, [&](const Four& at) {
      const double x = n.op == Op::index ? 0 : read(n.x, at, y.extents);
      const double b = read(n.b, at, y.extents), p = read(n.predicate, at, y.extents);
      data(n.y)[offset(y, at)] = value(n, x, b, p, at);
    });
  }
  static double value(const Node& n, double x, double b, double p, const Four& at) {
    switch (n.op) {
      case Op::add: return x + b;
      case Op::sub: return x - b;
      case Op::mul: return x * b;
      case Op::div: return x / b;
      case Op::exp: return std::exp(x);
      case Op::log: return std::log(x);
      case Op::index: return static_cast<double>(at[static_cast<std::size_t>(n.axis)]);
      case Op::greater_equal: return x >= b ? 1 : 0;
      case Op::select: return p != 0 ? x : b;
      case Op::bernoulli: return kept(at) ? 1 : 0;
      default: return x;  // identity
    }
  }
  void product(const Node& n) {
    const GraphTensor &x = tensor(n.x), &b = tensor(n.b), &y = tensor(n.y);
    const auto in_group = [&](const GraphTensor& t, const Four& at, std::int64_t i,
                              std::int64_t j) {
      return offset(t, {at[0], at[1] * t.extents[1] / y.extents[1], i, j});
    };
    each(y.extents, [&](const Four& at) {
      double sum = 0;
      for (std::int64_t i = 0; i < x.extents[3]; ++i)
        sum += data(n.x)[in_group(x, at, at[2], i)] * data(n.b)[in_group(b, at, i, at[3])];
      data(n.y)[offset(y, at)] = sum;
    });
  }
  void reduce(const Node& n) {
    const bool adds = n.op == Op::sum;
    const GraphTensor &x = tensor(n.x), &y = tensor(n.y);
    std::fill(data(n.y).begin(), data(n.y).end(),
              adds ? 0 : -std::numeric_limits<double>::infinity());
    each(x.extents, [&](const Four& at) {
      double& to = data(n.y)[matching(y, at, x.extents)];
      const double v = data(n.x)[offset(x, at)];
      to = adds ? to + v : std::max(to, v);
    });
  }

  Graph g_;
  std::vector<Numbers> data_;
};

}  // namespace pesuite::testing
