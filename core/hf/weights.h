// The weights of a checkpoint in Hugging Face's layout: which tensors make each of our parameters,
// and how they lie in them.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "hf/config.h"
#include "model/safetensors.h"

namespace pesuite::hf {

// How rows of a parameter lie in the tensor.
enum class Rows : std::uint8_t {
  straight,
  transposed,  // the tensor is [in, out] (GPT-2's Conv1D)
  by_head      // of each head first q, then k, then v (GPT-NeoX, BLOOM)
};

struct Piece {
  std::string tensor;
  Shape shape;  // of the tensor
  Rows rows = Rows::straight;
  std::int64_t skip = 0;  // rows of the tensor before those that count
  float less = 0;         // ours are (those of the tensor + less) * times (Gemma's gains)
  double times = 1;       // a factor of the published code, of Published::times
};

// A parameter's pieces, one below the other. `parameter` as Model names it, with its shape.
// Error (internal) for a parameter that models of this type do not have.
std::vector<Piece> pieces_of(const Published&, const std::string& parameter, const Shape& shape);

// Row r of a parameter of q, k and v stands in this row of a tensor that holds them head by head.
std::int64_t by_head(std::int64_t r, const ModelConfig&);

class WeightFiles {
 public:
  // model.safetensors, or the files that model.safetensors.index.json names. Error (data).
  explicit WeightFiles(const fs::path& folder);
  std::uint64_t bytes() const;
  // How a model reads them: matrices that are all in bf16 stay in it, where they are the model's.
  ModelUse use(const Published&) const;
  // Error (data) where they cannot hold the weights that the config describes: before memory is
  // asked for.
  void require_room_for(const Published&) const;

  // Puts them into a model that was made of the folder's config. Error (data) where a tensor is
  // missing, has another shape or is none of this model's.
  void load(const Published&, Model&) const;

 private:
  struct Held {
    const SafetensorsReader* file;
    const TensorEntry* entry;
  };
  // With or without the prefix that some writers leave out.
  const Held* find(const Published&, const std::string& tensor) const;
  const Held& held(const Published&, const Piece&) const;
  // Error (data) for a tensor that is none of the model's.
  void refuse_others(const Published&, std::set<const TensorEntry*> used) const;

  fs::path folder_;
  std::map<std::string, SafetensorsReader> files_;
  std::map<std::string, Held> tensors_;
};

}  // namespace pesuite::hf
