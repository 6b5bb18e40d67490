#include "backend/cuda/cudnn_runner.h"

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

void CudnnRunner::run(Queue& queue, const AttentionRequest& r, Pass pass, const Bindings& b) {
  const Plan& plan = plans_.get(r, pass);
  check(cudnnSetStream(handle_, queue.stream()), "setting the stream");
  const Scratch<char> workspace(queue, plan.workspace());
  plan.run(handle_, b, workspace.data());
}

}  // namespace pesuite::cuda
