// The gradients of several processes added up, while their backward passes go on.
#pragma once

#include <vector>

#include "backend/group.h"
#include "model/model.h"

namespace pesuite {

class GradientSum {
 public:
  GradientSum(Model&, Group&);

  // These parameters have their last contribution in this process. All processes say so in the
  // order of Model::gradient_order(), which makes the same pieces in each, hence the same bits.
  void send(ParameterRange);
  // After all were sent: gradients are the sums over all processes, for work that is queued later.
  // A parameter without a contribution in any process has no gradient. The numbers of `more` are
  // summed in the same message.
  void finish(std::span<double> more);

 private:
  std::size_t bytes(ParameterRange) const;  // of their gradients
  void begin();                             // with what waits

  Model& model_;
  Group& group_;
  ParameterRange waiting_;    // until there is enough for a message
  std::vector<double> have_;  // by parameter: processes with a contribution
};

}  // namespace pesuite
