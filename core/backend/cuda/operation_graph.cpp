#include "backend/cuda/operation_graph.h"

#include <fmt/format.h>

#include "base/error.h"

namespace pesuite::cuda {

namespace {

cudnnDataType_t cudnn_type(Type t) {
  switch (t) {
    case Type::fp32: return CUDNN_DATA_FLOAT;
    case Type::fp16: return CUDNN_DATA_HALF;
    case Type::bf16: return CUDNN_DATA_BFLOAT16;
    case Type::int32: return CUDNN_DATA_INT32;
    case Type::int64: return CUDNN_DATA_INT64;
    case Type::boolean: return CUDNN_DATA_BOOLEAN;
  }
  bug("known type", __FILE__, __LINE__);
}

Descriptor tensor_descriptor(const GraphTensor& t, std::int64_t id) {
  Descriptor d(CUDNN_BACKEND_TENSOR_DESCRIPTOR, "a tensor");
  d.set(CUDNN_ATTRIBUTE(TENSOR_DATA_TYPE), cudnn_type(t.type));
  d.set(CUDNN_ATTRIBUTE(TENSOR_DIMENSIONS), std::span<const std::int64_t>(t.extents));
  d.set(CUDNN_ATTRIBUTE(TENSOR_STRIDES), std::span<const std::int64_t>(t.strides));
  d.set(CUDNN_ATTRIBUTE(TENSOR_UNIQUE_ID), id);
  d.set(CUDNN_ATTRIBUTE(TENSOR_BYTE_ALIGNMENT), std::int64_t{t.is_number() ? 4 : 16});
  d.set(CUDNN_ATTRIBUTE(TENSOR_IS_VIRTUAL), t.slot == Slot::none);
  d.set(CUDNN_ATTRIBUTE(TENSOR_IS_BY_VALUE), t.is_number());
  d.finalize();
  return d;
}

}  // namespace

OperationGraph::OperationGraph(const Graph& g)
    : graph_(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, "an operation graph") {
  for (std::size_t i = 0; i < g.tensors.size(); ++i)
    tensors_.push_back(tensor_descriptor(g.tensors[i], unique_id(static_cast<Id>(i))));
  for (const Node& n : g.nodes) add(n);
  graph_.set(CUDNN_ATTRIBUTE(OPERATIONGRAPH_OPS), operations_);
  graph_.finalize();
}

void OperationGraph::add(const Node& n) {
  switch (n.op) {
    case Op::add: return pointwise(n, CUDNN_POINTWISE_ADD);
    case Op::sub: return pointwise(n, CUDNN_POINTWISE_SUB);
    case Op::mul: return pointwise(n, CUDNN_POINTWISE_MUL);
    case Op::div: return pointwise(n, CUDNN_POINTWISE_DIV);
    case Op::exp: return pointwise(n, CUDNN_POINTWISE_EXP);
    case Op::log: return pointwise(n, CUDNN_POINTWISE_LOG);
    case Op::identity: return pointwise(n, CUDNN_POINTWISE_IDENTITY);
    case Op::index: return pointwise(n, CUDNN_POINTWISE_GEN_INDEX);
    case Op::greater_equal: return pointwise(n, CUDNN_POINTWISE_CMP_GE);
    case Op::select: return pointwise(n, CUDNN_POINTWISE_BINARY_SELECT);
    case Op::matmul: return matmul(n);
    case Op::row_max: return reduction(n, CUDNN_REDUCE_TENSOR_MAX);
    case Op::sum: return reduction(n, CUDNN_REDUCE_TENSOR_ADD);
    case Op::bernoulli: return bernoulli(n);
    case Op::view: break;
  }
  Descriptor op(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR, "a reshape");
  op.set(CUDNN_ATTRIBUTE(OPERATION_RESHAPE_XDESC), tensor(n.x));
  op.set(CUDNN_ATTRIBUTE(OPERATION_RESHAPE_YDESC), tensor(n.y));
  op.finalize();
  operations_.push_back(std::move(op));
}

void OperationGraph::keep(Descriptor operation, Descriptor settings) {
  operation.finalize();
  settings_.push_back(std::move(settings));
  operations_.push_back(std::move(operation));
}

void OperationGraph::pointwise(const Node& n, cudnnPointwiseMode_t mode) {
  Descriptor p(CUDNN_BACKEND_POINTWISE_DESCRIPTOR, "the settings of a pointwise operation");
  p.set(CUDNN_ATTRIBUTE(POINTWISE_MODE), mode);
  p.set(CUDNN_ATTRIBUTE(POINTWISE_MATH_PREC), cudnn_type(n.precision));
  if (n.axis >= 0) p.set(CUDNN_ATTRIBUTE(POINTWISE_AXIS), std::int64_t{n.axis});
  p.finalize();
  Descriptor op(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, "a pointwise operation");
  op.set(CUDNN_ATTRIBUTE(OPERATION_POINTWISE_PW_DESCRIPTOR), p);
  op.set(CUDNN_ATTRIBUTE(OPERATION_POINTWISE_XDESC), tensor(n.x));
  if (n.b >= 0) op.set(CUDNN_ATTRIBUTE(OPERATION_POINTWISE_BDESC), tensor(n.b));
  if (n.predicate >= 0) op.set(CUDNN_ATTRIBUTE(OPERATION_POINTWISE_TDESC), tensor(n.predicate));
  op.set(CUDNN_ATTRIBUTE(OPERATION_POINTWISE_YDESC), tensor(n.y));
  keep(std::move(op), std::move(p));
}

void OperationGraph::matmul(const Node& n) {
  Descriptor p(CUDNN_BACKEND_MATMUL_DESCRIPTOR, "the settings of a matrix product");
  p.set(CUDNN_ATTRIBUTE(MATMUL_COMP_TYPE), CUDNN_DATA_FLOAT);
  p.finalize();
  Descriptor op(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, "a matrix product");
  op.set(CUDNN_ATTRIBUTE(OPERATION_MATMUL_DESC), p);
  op.set(CUDNN_ATTRIBUTE(OPERATION_MATMUL_ADESC), tensor(n.x));
  op.set(CUDNN_ATTRIBUTE(OPERATION_MATMUL_BDESC), tensor(n.b));
  op.set(CUDNN_ATTRIBUTE(OPERATION_MATMUL_CDESC), tensor(n.y));
  keep(std::move(op), std::move(p));
}

void OperationGraph::reduction(const Node& n, cudnnReduceTensorOp_t by) {
  Descriptor p(CUDNN_BACKEND_REDUCTION_DESCRIPTOR, "the settings of a reduction");
  p.set(CUDNN_ATTRIBUTE(REDUCTION_COMP_TYPE), CUDNN_DATA_FLOAT);
  p.set(CUDNN_ATTRIBUTE(REDUCTION_OPERATOR), by);
  p.finalize();
  Descriptor op(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, "a reduction");
  op.set(CUDNN_ATTRIBUTE(OPERATION_REDUCTION_DESC), p);
  op.set(CUDNN_ATTRIBUTE(OPERATION_REDUCTION_XDESC), tensor(n.x));
  op.set(CUDNN_ATTRIBUTE(OPERATION_REDUCTION_YDESC), tensor(n.y));
  keep(std::move(op), std::move(p));
}

void OperationGraph::bernoulli(const Node& n) {
  Descriptor p(CUDNN_BACKEND_RNG_DESCRIPTOR, "the settings of a random generator");
  p.set(CUDNN_ATTRIBUTE(RNG_DISTRIBUTION), CUDNN_RNG_DISTRIBUTION_BERNOULLI);
  p.set(CUDNN_ATTRIBUTE(RNG_BERNOULLI_DIST_PROBABILITY), n.probability);
  p.finalize();
  Descriptor op(CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR, "a random generator");
  op.set(CUDNN_ATTRIBUTE(OPERATION_RNG_DESC), p);
  op.set(CUDNN_ATTRIBUTE(OPERATION_RNG_SEED), tensor(n.x));
  op.set(CUDNN_ATTRIBUTE(OPERATION_RNG_OFFSET_DESC), tensor(n.b));
  op.set(CUDNN_ATTRIBUTE(OPERATION_RNG_YDESC), tensor(n.y));
  keep(std::move(op), std::move(p));
}

Descriptor device_profile(std::int32_t device) {
  Descriptor d(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, "a device's profile");
  d.set(CUDNN_ATTRIBUTE(DEVICEPROP_DEVICE_ID), device);
  d.finalize();
  return d;
}
Descriptor device_profile(std::string_view json) {
  Descriptor d(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, "a device's profile from JSON");
  d.set(CUDNN_ATTRIBUTE(DEVICEPROP_JSON_REPRESENTATION), json);
  d.finalize();
  return d;
}

std::vector<Engine> engines(const OperationGraph& graph, const Descriptor& profile,
                            std::int64_t workspace, std::string& why) {
  const Listener listener;
  Descriptor h(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, "the engine heuristics");
  h.set(CUDNN_ATTRIBUTE(ENGINEHEUR_OPERATION_GRAPH), graph.descriptor());
  h.set(CUDNN_ATTRIBUTE(ENGINEHEUR_MODE), CUDNN_HEUR_MODE_A);
  h.set(CUDNN_ATTRIBUTE(ENGINEHEUR_DEVICEPROP), profile);
  h.finalize();
  std::vector<Engine> out;
  for (Descriptor& c :
       h.descriptors(CUDNN_ATTRIBUTE(ENGINEHEUR_RESULTS), CUDNN_BACKEND_ENGINECFG_DESCRIPTOR,
                     "an engine's configuration")) {
    const std::int64_t bytes = c.number(CUDNN_ATTRIBUTE(ENGINECFG_WORKSPACE_SIZE));
    if (bytes > workspace) {
      why = fmt::format("its engines need a workspace of {} bytes, and {} are free", bytes,
                        workspace);
      continue;
    }
    const auto engine = c.descriptors(CUDNN_ATTRIBUTE(ENGINECFG_ENGINE),
                                      CUDNN_BACKEND_ENGINE_DESCRIPTOR, "an engine");
    out.push_back({engine.at(0).number(CUDNN_ATTRIBUTE(ENGINE_GLOBAL_INDEX)), bytes, std::move(c)});
  }
  if (out.empty() && why.empty()) why = listener.reasons();
  return out;
}

}  // namespace pesuite::cuda
