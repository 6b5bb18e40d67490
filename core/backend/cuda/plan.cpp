#include "backend/cuda/plan.h"

#include <fmt/format.h>

#include <vector>

#include "backend/cuda/attention_graph.h"
#include "backend/cuda/operation_graph.h"
#include "base/error.h"

namespace pesuite::cuda {

namespace {

const void* address(const Bindings& b, Slot s) {
  switch (s) {
    case Slot::scale: return &b.scale;
    case Slot::keep: return &b.keep;
    case Slot::inverse_keep: return &b.inverse_keep;
    case Slot::minus_infinity: return &b.minus_infinity;
    default: break;
  }
  const void* const at = b.memory[static_cast<std::size_t>(s)];
  if (at == nullptr) fail(Exit::device, "attention: '{}' of its graph is not bound", slot_name(s));
  if (reinterpret_cast<std::uintptr_t>(at) % 16 != 0)
    fail(Exit::device, "attention: '{}' is bound to {}, wanted is a multiple of 16 bytes",
         slot_name(s), at);
  return at;
}

}  // namespace

Plan::Plan(const AttentionRequest& r, Pass pass, const Descriptor& profile,
           const DeviceFacts& facts)
    : plan_(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, "a plan") {
  if (const std::string why = refusal(r, pass, facts); !why.empty())
    fail(Exit::device, "fused attention refuses {}: {}", plan_key(r, pass, 0), why);
  graph_ = attention_graph(r, pass);
  const OperationGraph operations(graph_);
  std::string why;
  std::vector<Engine> all = engines(operations, profile, facts.workspace, why);
  for (Engine& e : all) {
    Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, "a plan");
    plan.set(CUDNN_ATTRIBUTE(EXECUTION_PLAN_ENGINE_CONFIG), e.configuration);
    try {
      plan.finalize();
    } catch (const Error& error) {  // the next one may be compiled
      if (why.empty()) why = error.what();
      continue;
    }
    plan_ = std::move(plan);
    workspace_ = plan_.number(CUDNN_ATTRIBUTE(EXECUTION_PLAN_WORKSPACE_SIZE));
    return;
  }
  fail(Exit::device, "cuDNN has no engine for {}: {}", plan_key(r, pass, 0),
       why.empty() ? "it gives no reason" : why);
}

Plan::Plan(const AttentionRequest& r, Pass pass, const Descriptor& profile, std::string_view text)
    : graph_(attention_graph(r, pass)),
      plan_(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, "a plan that was kept") {
  plan_.set(CUDNN_ATTRIBUTE(EXECUTION_PLAN_DEVICEPROP), profile);  // before the text, or it crashes
  plan_.set(CUDNN_ATTRIBUTE(EXECUTION_PLAN_JSON_REPRESENTATION), text);
  plan_.finalize();
  workspace_ = plan_.number(CUDNN_ATTRIBUTE(EXECUTION_PLAN_WORKSPACE_SIZE));
}

std::string Plan::text() const {
  return plan_.text(CUDNN_ATTRIBUTE(EXECUTION_PLAN_JSON_REPRESENTATION));
}

Descriptor Plan::pack(const Bindings& b, void* workspace) const {
  if (workspace == nullptr && workspace_ > 0)
    fail(Exit::device, "attention: a workspace of {} bytes is not bound", workspace_);
  std::vector<std::int64_t> ids;
  std::vector<void*> pointers;
  for (std::size_t i = 0; i < graph_.tensors.size(); ++i) {
    const Slot s = graph_.tensors[i].slot;
    if (s == Slot::none) continue;
    ids.push_back(unique_id(static_cast<Id>(i)));
    pointers.push_back(const_cast<void*>(address(b, s)));  // cuDNN takes inputs as void* too
  }
  Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, "the tensors of a plan");
  pack.set(CUDNN_ATTRIBUTE(VARIANT_PACK_UNIQUE_IDS), std::span<const std::int64_t>(ids));
  pack.set(CUDNN_ATTRIBUTE(VARIANT_PACK_DATA_POINTERS), std::span<void* const>(pointers));
  pack.set(CUDNN_ATTRIBUTE(VARIANT_PACK_WORKSPACE), std::span<void* const>(&workspace, 1));
  pack.finalize();
  return pack;
}

void Plan::run(cudnnHandle_t handle, const Bindings& b, void* workspace) const {
  const Descriptor tensors = pack(b, workspace);
  check(cudnnBackendExecute(handle, plan_.raw(), tensors.raw()), "running a plan");
}

Plans::Plans(int device, const DeviceFacts& facts, Descriptor profile,
             const std::filesystem::path& folder)
    : device_(device),
      facts_(facts),
      profile_(std::move(profile)),
      store_(folder,
             folder.empty()
                 ? ""
                 : fmt::format("cuDNN {}, {}", cudnnGetVersion(),
                               profile_.text(CUDNN_ATTRIBUTE(DEVICEPROP_JSON_REPRESENTATION)))) {}

Plan Plans::made(const AttentionRequest& r, Pass pass, const std::string& key) {
  if (const std::optional<std::string> text = store_.read(key)) try {
      return Plan(r, pass, profile_, *text);
    } catch (const Error&) {  // compiled below, and kept anew
    }
  Plan plan(r, pass, profile_, facts_);
  store_.write(key, plan.text());
  return plan;
}

const Plan& Plans::get(const AttentionRequest& r, Pass pass) {
  const std::string key = plan_key(r, pass, device_);
  if (const auto at = plans_.find(key); at != plans_.end()) return at->second;
  if (const auto at = refused_.find(key); at != refused_.end()) throw at->second;
  try {
    return plans_.emplace(key, made(r, pass, key)).first->second;
  } catch (const Error& e) {
    refused_.emplace(key, e);
    throw;
  }
}

}  // namespace pesuite::cuda
