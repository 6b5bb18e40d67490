// A Graph handed to cuDNN: descriptors of its tensors and operations, and the engines that take it.
// None of this needs a device.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backend/cuda/descriptor.h"
#include "backend/cuda/graph.h"

namespace pesuite::cuda {

// cuDNN's id of the tensor at this place of Graph::tensors.
inline std::int64_t unique_id(Id tensor) {
  return tensor + 1;
}

class OperationGraph {
 public:
  explicit OperationGraph(const Graph&);  // Error (device)
  const Descriptor& descriptor() const { return graph_; }

 private:
  void add(const Node&);
  void pointwise(const Node&, cudnnPointwiseMode_t);
  void matmul(const Node&);
  void reduction(const Node&, cudnnReduceTensorOp_t);
  void bernoulli(const Node&);
  void keep(Descriptor operation, Descriptor settings);
  const Descriptor& tensor(Id i) const { return tensors_[static_cast<std::size_t>(i)]; }

  std::vector<Descriptor> tensors_, settings_, operations_;  // settings outlive their operations
  Descriptor graph_;
};

// A device as cuDNN's heuristics see it. cudnn reads it from the device itself, or from JSON, which
// stands for a device that is not here. Error (device).
Descriptor device_profile(std::int32_t device);
Descriptor device_profile(std::string_view json);

struct Engine {
  std::int64_t index = 0, workspace = 0;  // bytes
  Descriptor configuration;
};
// Best first, none larger than `workspace`. Where there are none, `why` receives cuDNN's reasons.
std::vector<Engine> engines(const OperationGraph&, const Descriptor& profile,
                            std::int64_t workspace, std::string& why);

}  // namespace pesuite::cuda
