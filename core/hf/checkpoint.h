// A checkpoint in Hugging Face's layout as a model of ours.
#pragma once

#include <memory>

#include "hf/weights.h"

namespace pesuite::hf {

class Checkpoint {
 public:
  // `encoding`: an expression in place of the folder's own; "": that. Sequences up to `longest`
  // tokens. Error (data, usage, plugin).
  Checkpoint(const Catalog&, const fs::path& folder, std::unique_ptr<Backend>, int longest,
             const std::string& encoding = "");

  const Published& published() const { return published_; }
  Model& model() { return *model_; }
  // Nats of each token but the first, and the likeliest next token of each, of one sequence.
  Scores score(std::span<const std::int32_t> tokens, const Inspection& = {});

 private:
  Published published_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Model> model_;
};

}  // namespace pesuite::hf
