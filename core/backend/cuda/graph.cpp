#include "backend/cuda/graph.h"

namespace pesuite::cuda {

Four row_major(const Four& extents) {
  Four strides{};
  std::int64_t stride = 1;
  for (std::size_t i = 4; i-- > 0;) {
    strides[i] = stride;
    stride *= extents[i];
  }
  return strides;
}

std::string_view slot_name(Slot s) {
  constexpr std::string_view names[] = {"inner",    "q",           "k",     "v",
                                        "y",        "lse",         "dy",    "dq",
                                        "dk",       "dv",          "bias",  "second bias",
                                        "dbias",    "slopes",      "seed",  "offset",
                                        "row_sums", "dq_sums",     "scale", "minus_infinity",
                                        "keep",     "inverse_keep"};
  static_assert(std::size(names) == static_cast<std::size_t>(Slot::count));
  return names[static_cast<std::size_t>(s)];
}

Id Graph::bound(Slot slot, const Four& extents, const Four& strides, Type type) {
  tensors.push_back({slot, extents, strides, type});
  return static_cast<Id>(tensors.size()) - 1;
}
Id Graph::bound(Slot slot, const Four& extents, Type type) {
  return bound(slot, extents, row_major(extents), type);
}
Id Graph::number(Slot slot) {
  return bound(slot, {1, 1, 1, 1}, Type::fp32);
}
Id Graph::inner(const Four& extents, Type type) {
  return bound(Slot::none, extents, type);
}
Id Graph::inner(const Four& extents, const Four& strides, Type type) {
  return bound(Slot::none, extents, strides, type);
}

Id Graph::apply(Op op, Id x, Id b, Type result, Type precision) {
  const GraphTensor like = tensors[static_cast<std::size_t>(x)];
  const Id y = inner(like.extents, like.strides, result);
  nodes.push_back({op, y, x, b, no_tensor, precision});
  return y;
}
Id Graph::index(Id like, int axis, Type precision) {
  const Id y = apply(Op::index, like, no_tensor, Type::int32, precision);
  nodes.back().axis = axis;
  return y;
}
Id Graph::select(Id predicate, Id x, Id otherwise) {
  const Id y = apply(Op::select, x, otherwise);
  nodes.back().predicate = predicate;
  return y;
}
void Graph::into(Id y, Op op, Id x, Id b) {
  nodes.push_back({op, y, x, b});
}

}  // namespace pesuite::cuda
