// An operation graph as plain values: tensors and the nodes between them, in the order in which
// they were added. What becomes of it in cuDNN stands in operation_graph.h; tests compute it node
// by node.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "backend/cuda/request.h"

namespace pesuite::cuda {

using Four = std::array<std::int64_t, 4>;
Four row_major(const Four& extents);  // strides in elements

// What a tensor of an attention graph is bound to when it runs.
enum class Slot {
  none,  // lives inside the graph only
  // in device memory
  q,
  k,
  v,
  y,
  lse,
  dy,
  dq,
  dk,
  dv,
  bias_a,
  bias_b,
  dbias,
  slopes,
  seed,
  offset,
  row_sums,  // scratch, fp32 [B, H, T]
  dq_sums,   // scratch, fp32 [B, H, T, D]
  // single fp32 numbers, read from the host
  scale,
  minus_infinity,
  keep,
  inverse_keep,
  count,
};
std::string_view slot_name(Slot);

struct Node;

struct GraphTensor {
  Slot slot = Slot::none;
  Four extents{}, strides{};
  Type type = Type::fp32;
  bool is_number() const { return slot >= Slot::scale; }
};

enum class Op {
  add,
  sub,
  mul,
  div,
  exp,
  log,
  identity,
  index,          // of the element along `axis`
  greater_equal,  // x >= b
  select,         // predicate ? x : b
  matmul,
  row_max,
  sum,
  view,       // the same elements under other extents and strides
  bernoulli,  // 1 with `probability`, else 0, drawn from seed x and offset b
};

using Id = int;  // a tensor, by its place in Graph::tensors
constexpr Id no_tensor = -1;

struct Node {
  Op op = Op::identity;
  Id y = no_tensor, x = no_tensor, b = no_tensor, predicate = no_tensor;
  Type precision = Type::fp32;  // computed in
  int axis = -1;
  double probability = 0;
};

struct Graph {
  std::vector<GraphTensor> tensors;
  std::vector<Node> nodes;

  Id bound(Slot, const Four& extents, const Four& strides, Type);
  Id bound(Slot, const Four& extents, Type);
  Id number(Slot);
  Id inner(const Four& extents, Type = Type::fp32);
  Id inner(const Four& extents, const Four& strides, Type);

  // A node whose result is a new inner tensor, shaped and laid out like x.
  Id apply(Op, Id x, Id b = no_tensor, Type result = Type::fp32, Type precision = Type::fp32);
  Id index(Id like, int axis, Type precision);
  Id select(Id predicate, Id x, Id otherwise);
  // A node whose result is a tensor that is there already.
  void into(Id y, Op, Id x, Id b = no_tensor);
};

}  // namespace pesuite::cuda
