// Attention graphs run by cuDNN on one device.
#pragma once

#include "backend/cuda/fused.h"
#include "backend/cuda/plan.h"

namespace pesuite::cuda {

class CudnnRunner final : public GraphRunner {
 public:
  CudnnRunner(int device, const DeviceFacts&);  // Error (device)
  CudnnRunner(const CudnnRunner&) = delete;
  CudnnRunner& operator=(const CudnnRunner&) = delete;
  ~CudnnRunner() override;

  DeviceFacts facts() const override { return facts_; }
  std::string prepare(const AttentionRequest&, Pass) override;
  void run(Queue&, const AttentionRequest&, Pass, const Bindings&) override;

 private:
  DeviceFacts facts_;
  Plans plans_;
  cudnnHandle_t handle_ = nullptr;
};

}  // namespace pesuite::cuda
