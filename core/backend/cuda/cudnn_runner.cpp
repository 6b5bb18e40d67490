#include "backend/cuda/cudnn_runner.h"

#include <array>
#include <bit>
#include <cstdint>

#include "backend/cuda/operation_graph.h"
#include "backend/cuda/queue.h"
#include "base/error.h"

namespace pesuite::cuda {

CudnnRunner::CudnnRunner(int device, const DeviceFacts& facts)
    : facts_(facts),
      plans_(device, facts, device_profile(static_cast<std::int32_t>(device)), plan_folder()) {
  check(cudnnCreate(&handle_), "starting on a device");
}
CudnnRunner::~CudnnRunner() {
  cudnnDestroy(handle_);
}

std::string CudnnRunner::prepare(const AttentionRequest& r, Pass pass) {
  try {
    plans_.get(r, pass);
  } catch (const Error& e) {  // there is another way
    return e.what();
  }
  return "";
}

namespace {

using Bits = std::array<std::uint64_t, sizeof(Bindings) / sizeof(std::uint64_t)>;

struct PlanCall {
  cudnnHandle_t handle;
  const Plan* plan;
  void* workspace;
  Bits bindings;
  void start(CUstream_st* stream) const {
    check(cudnnSetStream(handle, stream), "setting the stream");
    plan->run(handle, std::bit_cast<Bindings>(bindings), workspace);
  }
};

}  // namespace

void CudnnRunner::run(Queue& queue, const AttentionRequest& r, Pass pass, const Bindings& b) {
  const Plan& plan = plans_.get(r, pass);
  const Scratch<char> workspace(queue, plan.workspace());
  queue.call(PlanCall{handle_, &plan, workspace.data(), std::bit_cast<Bits>(b)});
}

}  // namespace pesuite::cuda
