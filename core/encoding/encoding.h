// A positional encoding of a plugin, created with options for one model. Its hooks run on the
// model's tape; their mistakes become an Error that names encoding, hook, op and shapes.
#pragma once

#include <pesuite/pesuite.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "encoding/expression.h"
#include "plugin/library.h"
#include "tensor/attention.h"

namespace pesuite {

struct ModelShape {  // what an encoding may know of its model
  int layers = 0, heads = 0, kv_heads = 0, head_dim = 0, width = 0;
  int train_length = 0, max_length = 0;
  int positions = 0;  // of the task's own; 0: tokens stand at their places
};

struct StepInfo {  // of one forward pass
  bool training = false;
  bool drops = true;                 // dropout acts, in training
  std::int64_t step = 0, steps = 1;  // training steps done and planned
  std::uint64_t seed = 0;            // of everything drawn in this pass
  int batch = 0, length = 0, offset = 0;
  Tensor positions = {};  // [batch, length], of the task's own; null: token n stands at offset + n
};

class Encoding {
 public:
  struct ParameterSpec {
    std::string name;
    Shape shape;
    bool decay = false;
    double low = 0, high = 0;  // bounds that a pass finds its values in; low = high: none
    bool bounded() const { return low < high; }
    template <class T>
    void keep(std::span<T> values) const {
      for (T& x : values)
        if (bounded()) x = static_cast<T>(std::clamp<double>(x, low, high));
    }
  };
  // What a library declares.
  static ParameterSpec spec_of(const pes_param&);

  // Error (plugin, usage) when there is no such encoding or it refuses the options or the model.
  Encoding(const Catalog&, const Expression&, const ModelShape&);
  // Another of the same, for a pass in which it acts on sequences of several lengths.
  Encoding again() const { return {encoding_, library_, expression_, shape_}; }
  Encoding(Encoding&&) noexcept = default;
  Encoding& operator=(Encoding&&) noexcept = default;

  const pes_card& card() const { return *encoding_->card; }
  const std::string& text() const { return text_; }  // name with its non-default options
  int layers() const { return shape_.layers; }       // of the model it was created for
  bool embeds() const { return encoding_->embed != nullptr; }
  const Library& library() const { return *library_; }
  const std::vector<ParameterSpec>& parameters() const { return parameters_; }
  void init(std::size_t parameter, std::uint64_t seed, std::span<float> out) const;
  double untrained(int length) const;  // share of positions never trained, 0 .. 1
  // Whether its first `from` tokens are encoded otherwise once a sequence has `to`.
  bool stale(int from, int to) const;

  // One forward pass: begin once, embed once, attend once a layer. `parameters` are this
  // encoding's, in order, and must live until the backward pass is done.
  void begin(Tape&, const StepInfo&, std::span<const Tensor> parameters);
  Tensor embed(Tape&, Tensor x) const;
  // Lets the encoding act on one layer's q, k, scale and slots; x is the layer's input.
  void attend(Tape&, int layer, Tensor x, Attention&) const;
  // The scale after other encodings acted on the layer too.
  void rewrite_with(int layer, double scale) const;

 private:
  Encoding(const pes_encoding*, const Library*, const Expression&, const ModelShape&);
  // What hooks see of the step. Lives on the heap, since the tape's closures point to it.
  struct Step;
  struct StepDeleter {
    void operator()(Step*) const;
  };
  struct Rewriting {  // what the rewriter needs when the backward pass makes a block again
    const Encoding* encoding;
    int layer;
    Tensor x, v;
    double scale;
  };
  static Tensor rewrite(const void* layer, Tape&, Tensor scores, Tensor q, Tensor k, Tensor visible,
                        std::int64_t first);
  // Throws what happened in a hook since the last call.
  void settle(Tape&) const;

  const pes_encoding* encoding_;
  const Library* library_;
  Expression expression_;
  ModelShape shape_;
  std::string text_;
  std::vector<ParameterSpec> parameters_;
  std::unique_ptr<void, void (*)(void*)> self_{nullptr, nullptr};
  std::unique_ptr<Step, StepDeleter> step_;
};

}  // namespace pesuite
