// An encoding of a plugin, driven through the C interface alone, so that a check can pass structs
// of any size, blocks of any rows and any offset.
#pragma once

#include <pesuite/pesuite.h>

#include <memory>
#include <string>
#include <vector>

#include "check/lent.h"
#include "encoding/encoding.h"
#include "encoding/op_table.h"
#include "tensor/attention.h"

namespace pesuite::checks {

struct Pass {  // one forward pass, as StepInfo
  int batch = 2, length = 7, offset = 0;
  pes_phase phase = PES_EVAL;
  std::int64_t step = 0, steps = 100;
  std::uint64_t seed = 5;
};

class Instance {
 public:
  // `values`: one text for each option, in the card's order. Throws Refused with the plugin's
  // sentence, and Fault when create() errs.
  Instance(const pes_encoding&, const std::vector<std::string>& values, const ModelShape&,
           Host = Host::current);
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  const pes_encoding& descriptor() const { return encoding_; }
  const ModelShape& model() const { return model_; }
  const std::vector<Encoding::ParameterSpec>& parameters() const { return parameters_; }
  std::vector<float> init(std::size_t parameter, std::uint64_t seed) const;
  double untrained(int length) const;
  bool stale(int from, int to) const;

  // The hooks of one pass, in the order the host calls them. Throw Fault when a hook errs, Refused
  // when it gave the step up with a sentence.
  void begin(Tape&, const Pass&, const std::vector<Tensor>& parameters);
  Tensor embed(Tape&, Tensor x);
  // Lets the encoding act on q, k, scale and slots. True when it asks for rewrite().
  bool attend(Tape&, int layer, Tensor x, Attention&);
  struct Block {
    int layer;
    Tensor x, q, k, v, visible;
    double scale;
    Tensor scores;
    std::int64_t first;
  };
  Tensor rewrite(Tape&, const Block&);

 private:
  struct Context : pes_ctx {
    bool refused = false;  // the plugin called pes_ops.fail
  };
  void settle(Tape&, const char* hook);
  // A fault of a hook; layer -1: none.
  [[noreturn]] void blame(const char* hook, int layer, std::string_view what) const;
  template <class Call>
  void call(Tape&, const char* hook, int layer, Call);

  const pes_encoding& encoding_;
  ModelShape model_;
  Host host_;
  void* self_ = nullptr;
  std::vector<Encoding::ParameterSpec> parameters_;
  Context context_;
  pes_ops ops_;
  pes_step step_{};
  // The same addresses for a whole step: the SDK's tensors point to the step they were made in.
  std::unique_ptr<Lent<pes_ops>> lent_ops_;
  std::unique_ptr<Lent<pes_step>> lent_step_;
  std::vector<pes_tensor> handles_;  // of the parameters in this step
};

}  // namespace pesuite::checks
