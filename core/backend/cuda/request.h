// One attention as the fused path is asked for it, and the rules by which it is refused. Plain
// values and pure functions: nothing here knows cuDNN, CUDA or a device.
//
// Letters: B batch, H query heads, G key-value heads, T queries, S keys, D head size of q and k,
// E head size of v.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/shape.h"

namespace pesuite::cuda {

enum class Type { fp32, fp16, bf16, int32, int64, boolean };
std::int64_t bytes_of(Type);
// n, or the next multiple.
inline std::int64_t up_to(std::int64_t multiple, std::int64_t n) {
  return (n + multiple - 1) / multiple * multiple;
}

// How q, k, v and their gradients lie in memory. The output is [B, T, H, E] in all of them.
enum class Layout {
  by_head,   // [B, H, T, D]
  by_token,  // [B, T, H, D]
  packed,    // [B, T, H D + G D + G E]: q, k and v of a token side by side
};

enum class Pass {
  inference,  // y alone
  forward,    // y and the log-sum-exp that the backward pass reads
  backward,
};

// An additive bias, or the gradient of one.
struct BiasForm {
  Shape shape;  // [B or 1, H or 1, T or 1, S]
  Type type = Type::bf16;
  std::int64_t pitch = 0;  // elements from a query's row to the next; S in a gradient

  friend bool operator==(const BiasForm&, const BiasForm&) = default;
};

// softmax(scale q.k + slope[h] (j - i) + biases, causal) v and its gradients. The scale and the
// slopes are given when it runs.
struct AttentionRequest {
  std::int64_t B = 0, H = 0, G = 0, T = 0, S = 0, D = 0, E = 0;
  Type io = Type::bf16;  // of q, k, v, y and their gradients; all sums are fp32
  Layout layout = Layout::by_head;
  // Tokens of a head in memory, where these T queries and S = T keys are some of more; else 0. What
  // is not of the model, such as lse, lies dense.
  std::int64_t stored = 0;
  bool causal = true;            // query i sees the keys j <= i; else all of them
  bool slopes = false;           // fp32 [H]
  std::vector<BiasForm> biases;  // at most two
  std::optional<BiasForm>
      dbias;  // where a gradient of a bias is wanted: sums of the scores' gradient
  double dropout = 0;
  bool deterministic = false;  // the gradients repeat bit by bit
};

// Tokens from one head of q, or of y, to the next.
inline std::int64_t stored_queries(const AttentionRequest& r) {
  return r.stored > 0 ? r.stored : r.T;
}
inline std::int64_t stored_keys(const AttentionRequest& r) {
  return r.stored > 0 ? r.stored : r.S;
}

// What the rules need to know of a device.
struct DeviceFacts {
  int sm = 90;                 // compute capability: 80, 89, 90, 100, 120
  std::int64_t workspace = 0;  // bytes that one attention may use beside its inputs and outputs
  std::int64_t longest_dbias = 4096;  // tokens; tests take fewer
  bool cudnn_alone = false;           // no kernels of ours, and backward passes known to be wrong
  bool splits = false;  // tables that become level are ours as far as they are not, cuDNN's beyond
};

// "" where the fused path takes the request, else a sentence: what, why, and what would be taken.
std::string refusal(const AttentionRequest&, Pass, const DeviceFacts&);

// The same for some of the examples, of which there are B.
AttentionRequest part_of(const AttentionRequest&, std::int64_t examples);

// Bytes of what the backend makes for a pass beside inputs and outputs that are all in fp32: copies
// in 16 bits, biases and the gradient of one, rows of sums. Less where some are in bf16. cuDNN's
// workspace comes on top.
std::int64_t scratch_bytes(const AttentionRequest&, Pass);

// The workspace in bytes that cuDNN 9.19 asks for on this device. Of requests that are not refused.
std::int64_t workspace_bytes(const AttentionRequest&, Pass, const DeviceFacts&);

// dQ is summed in a fixed order, so that a repeated backward pass gives the same bits. It costs a
// workspace of B H T S elements.
bool sums_in_order(const AttentionRequest&);

// All that a plan depends on, in words: requests with the same text share one plan.
std::string plan_key(const AttentionRequest&, Pass, int device);

}  // namespace pesuite::cuda
