// Runs an encoding's hooks on given tensors, outside a model, and differentiates them.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "encoding/encoding.h"
#include "golden/rules.h"
#include "golden/vector.h"

namespace pesuite::golden {

// One graph: tensors with the inputs' values in, tensors to look at out.
using Build = std::function<std::vector<Tensor>(Tape&, std::span<const Tensor>)>;

struct Response {
  std::vector<Values> outputs;
  std::vector<Values> gradients;  // of sum(cotangent output) in each input
};
// Without cotangents, forward only; else one for each output. Error (plugin) when an op fails.
Response run(Backend&, const std::vector<Values>& inputs, const Build&,
             const std::vector<Values>& cotangents = {});

// One vector's encoding on one backend. Its parameters are inputs of the graph, behind those of
// the vector's kind.
class Rig {
 public:
  // `heads` 0: the vector's. Error (usage, plugin) when there is no such encoding, when it refuses,
  // or when the vector has nothing for one of its parameters.
  Rig(const Vector&, const Spelling&, const Catalog&, Backend&, int heads = 0);

  const Vector& vector() const { return v_; }
  const Spelling& spelling() const { return s_; }
  Backend& backend() { return backend_; }
  Encoding& encoding() { return encoding_; }
  int heads() const { return shape_.heads; }
  int head_dim() const { return shape_.head_dim; }
  int train_length() const { return shape_.train_length; }
  int length() const;                                 // of the vector's sequence
  std::optional<std::vector<int>> scattered() const;  // positions that are no run, sorted

  // Runs `build` with the parameters behind `inputs`, which are `own` in number for it.
  Response operator()(std::vector<Values> inputs, const Build& build,
                      const std::vector<Values>& cotangents = {});
  // Gives the only parameter, a matrix, the values of a function of row and column; its input, if
  // any, no longer counts. Error (plugin) when there is not exactly one.
  void fill(const std::function<double(std::int64_t row, std::int64_t column)>& value);
  // The parameters as hooks find them, moved into their bounds, by the vector's names.
  std::vector<std::pair<std::string, std::vector<double>>> parameters() const;
  // The parameters' gradients behind those of `own` inputs, by the vector's names: "d_table".
  std::vector<std::pair<std::string, std::vector<double>>> parameter_gradients(
      const Response&, std::size_t own) const;

  // Inside a build: q and k [1, H, T, D] as one layer's attention sees them, the bias of scattered
  // positions included, of a layer whose input is x [1, T, W], where the vector has one; the
  // embedding x [1, T, W] with the encoding in it.
  Attention attend(Tape&, Tensor q, Tensor k, Tensor v, Tensor x = {});
  Tensor embed(Tape&, Tensor x);
  // Scores [1, H, T, T] before mask and softmax, rewritten by the encoding where it does that.
  Tensor scores(Tape&, const Attention&);
  void begin(Tape&, int length, int offset);

 private:
  struct Bound {  // a parameter and where its values come from
    std::string input;
    std::vector<int> axes;
    Values values;
  };
  // In the vector's order of axes.
  std::vector<double> as_given(Values, const Bound&) const;
  static ModelShape shape_of(const Vector&, const Spelling&, int heads);
  void bind();
  Attention attend_here(Tape&, Tensor q, Tensor k, Tensor v, Tensor x, int length, int offset);
  void gather_bias(Tape&, Attention&, const std::vector<int>& positions, Tensor q, Tensor k);

  const Vector& v_;
  const Spelling& s_;
  Backend& backend_;
  ModelShape shape_;
  Encoding encoding_;
  std::vector<Bound> bound_;
  std::vector<Tensor> leaves_;  // the parameters' tensors of the graph being built
};

}  // namespace pesuite::golden
