// One forward pass of an encoding over given numbers, with all its outputs as doubles, and the
// gradients of a fixed weighted sum of these.
#pragma once

#include <string>
#include <vector>

#include "check/instance.h"
#include "tensor/host.h"

namespace pesuite::checks {

using host::Values;

// What a pass is given. x serves as the input of every layer, q, k and v likewise.
struct Inputs {
  Values e, x;     // [B, T, W]: the token embeddings, a layer's normalized input
  Values q, k, v;  // [B, H, T, D], [B, G, T, D], [B, G, T, D]
  std::vector<Values> parameters;

  // All tensors, by name, for loops over them.
  std::vector<std::pair<std::string, Values*>> all(const Instance&);
};

// Normal numbers, rounded to float so that all backends get the same. Parameters are their start
// values; with `moved`, some way off them, so that what starts at 0 shows its effect too.
Inputs draw_inputs(const Instance&, int batch, int length, std::uint64_t seed, bool moved = true);

struct LayerPass {              // of what attend() left, and what followed from it
  Values q, k, distance, bias;  // the last two empty where unset
  Values scores;                // [B, H, T, T], 0 where a key is not visible
  Values y;                     // [B, T, H D], the attention's output
  double scale = 1;
  bool rewrites = false;
  AttentionPath path = AttentionPath::fused;
};
struct Outputs {
  Values embedding;  // [B, T, W]
  std::vector<LayerPass> layers;
};

struct Wish {
  bool scores = true;     // compute them
  bool attention = true;  // run it: y
  bool composed = false;  // by the composed path, also where nothing asks for it
  int rows = 0;           // of a block that rewrite() gets; 0: all
  bool all_keys = false;  // a block sees the keys of the whole sequence, not of its last row's past
};

Outputs run(Backend&, Instance&, const Inputs&, const Pass&, const Wish& = {});

// Whether the encoding takes a pass of this length. A table that ends may decline.
bool takes(Backend&, Instance&, int length);

// The weighted sum of embedding, q, k, distance, bias, visible scores and y of all layers, with
// fixed random weights, and its gradient in each of Inputs::all().
double loss(Backend&, Instance&, const Inputs&, const Pass&);
std::vector<Values> gradients(Backend&, Instance&, const Inputs&, const Pass&);

// The first difference in bits between two passes' outputs, as a sentence; "" for none.
std::string first_difference(const Outputs& a, const Outputs& b);
// Whether a score hides its key: beside it the scores of others are lost in rounding, so that such
// numbers are equal to each other, and no part of any comparison.
inline bool hides(double score) {
  return score <= -1e6;
}
// max |a - b| / (max |b| + 1e-30) over all tensors of the pass, or infinity where a number is not
// finite or a shape differs; `where` receives the name of the tensor.
double distance_of(const Outputs& a, const Outputs& b, std::string& where);
double distance_of(const Values& a, const Values& b);
// "bias of layer 0 is nan at [0, 1, 3]", of the first number that is not finite, or "". Scores and
// what is added to them may be -inf.
std::string not_finite(const Outputs&);

}  // namespace pesuite::checks
