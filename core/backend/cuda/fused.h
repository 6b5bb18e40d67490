// Who runs attention graphs: cuDNN on a device, an interpreter in tests.
#pragma once

#include <string>

#include "backend/cuda/bindings.h"
#include "backend/cuda/graph.h"
#include "backend/cuda/lowering.h"

namespace pesuite::cuda {

class Queue;

class GraphRunner {
 public:
  virtual ~GraphRunner() = default;
  virtual DeviceFacts facts() const = 0;
  // "", or why the graph cannot be run. It is compiled here where it is new.
  virtual std::string prepare(const AttentionRequest&, Pass) = 0;
  virtual void run(Queue&, const AttentionRequest&, Pass, const Bindings&) = 0;
};

}  // namespace pesuite::cuda
