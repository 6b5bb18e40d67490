// A graph compiled for one device, and the plans of a device kept by what they depend on.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "backend/cuda/bindings.h"
#include "backend/cuda/descriptor.h"
#include "backend/cuda/graph.h"
#include "backend/cuda/plan_store.h"
#include "backend/cuda/request.h"
#include "base/error.h"

namespace pesuite::cuda {

class Plan {
 public:
  // Compiles the best engine that fits in the device's workspace: 0.3 to several seconds. Error
  // (device) with the rule or cuDNN's reasons where there is none. cuDNN 9.19 can also share
  // forward kernels between lengths (a kernel cache over graphs of dynamic shape): on an H100 all
  // lengths but the first came out wrong.
  Plan(const AttentionRequest&, Pass, const Descriptor& profile, const DeviceFacts&);
  // Of what text() gave, on a device of the same profile and with the same cuDNN: milliseconds.
  Plan(const AttentionRequest&, Pass, const Descriptor& profile, std::string_view text);
  std::string text() const;

  std::int64_t workspace() const { return workspace_; }  // bytes, on the device
  // Queues the plan on the handle's stream. Error (device) where a tensor of the graph is not bound
  // or lies at an address that is no multiple of 16.
  void run(cudnnHandle_t, const Bindings&, void* workspace) const;
  // What run() hands to cuDNN; valid as long as the bindings.
  Descriptor pack(const Bindings&, void* workspace) const;

 private:
  Graph graph_;
  Descriptor plan_;
  std::int64_t workspace_ = 0;
};

// Of one device, for one thread. Which kernel a plan has follows from its request alone, not from
// what was asked for before: results must not depend on that.
class Plans {
 public:
  // `folder` of compiled plans; none: not kept.
  Plans(int device, const DeviceFacts& facts, Descriptor profile,
        const std::filesystem::path& folder = {});
  // Compiled where it is new; Error as of Plan, at once where it was refused before.
  const Plan& get(const AttentionRequest&, Pass);

 private:
  Plan made(const AttentionRequest&, Pass, const std::string& key);

  int device_;
  DeviceFacts facts_;
  Descriptor profile_;
  PlanStore store_;
  std::map<std::string, Plan> plans_;
  std::map<std::string, Error> refused_;
};

}  // namespace pesuite::cuda
