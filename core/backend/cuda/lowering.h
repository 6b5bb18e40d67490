// From an attention as the model describes it to what runs on the device: the one place that
// decides between cuDNN's fused attention and the composed one, and why. Pure functions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/cuda/request.h"
#include "base/shape.h"

namespace pesuite::cuda {

// What the slots of an encoding hold for one attention. q and k come with whatever was done to
// them: a rotation shows nowhere, a wider last axis as D > E.
struct AttentionCase {
  Shape q, k, v;                  // [B, H, T, D], [B, G, S, D], [B, G, S, E]
  std::optional<Shape> distance;  // [H or 1, N], N at least S: adds distance[h, i - j]
  std::span<const float> slopes;  // [rows of distance], where that is a line by rows; else empty
  std::int64_t level = 0;         // of AttentionInput: distance is one number a head from here on
  bool distance_gradient = false;
  std::optional<Shape> bias;  // broadcasts to [B, H, T, S]
  bool bias_gradient = false;
  bool rewrite = false;    // the scores are rewritten by content
  std::int64_t first = 0;  // query i sees the keys j <= first + i
  double dropout = 0;
  bool training = false;  // a backward pass follows
  bool deterministic = false;
  Type type = Type::bf16;  // that the model computes in
  Layout layout = Layout::by_head;
};

enum class Route {
  fused,        // one graph, and no tensor of T x S
  tiled,        // one kernel of ours, which knows tables and values for keys (tiled_attention.h)
  bias_tensor,  // the same graph, which reads a bias of T x S
  composed,     // products and softmax by blocks of rows
};

struct Lowering {
  Route route = Route::composed;
  std::string reason;  // a clause for the record
  // The rest is of fused, tiled and bias_tensor.
  AttentionRequest request;
  std::int64_t padding = 0;      // zero features appended to q and k, and cut off dq and dk
  std::vector<float> slopes;     // [H], in place of a table
  bool expand_distance = false;  // the table becomes request.biases.front()
  bool add_bias = false;         // the bias becomes request.biases.back(); tiled, it is read itself
  bool bias_is_idle = false;     // constant in each row: not added, and its gradient is 0
  std::int64_t examples = 0;     // that a backward pass of cuDNN takes at a time; they divide B
  std::int64_t groups = 0;       // of heads, that a tiled backward pass takes at a time
  std::int64_t window = 0;       // tiled, distances from here on are those of `beyond`; 0: none
  AttentionRequest beyond;       // of cuDNN: the last queries, and the first keys
  bool sums_scores = false;      // gradients of biases are summed by us (score_gradient.h)
};

Lowering lower(const AttentionCase&, const DeviceFacts&);

}  // namespace pesuite::cuda
