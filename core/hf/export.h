// A model of ours in Hugging Face's layout, where a published type carries its form and encoding.
#pragma once

#include "hf/weights.h"

namespace pesuite::hf {

// The config.json, in the words of versions 4 and 5 of transformers, of the first type that reads
// back as this model. `encoding`: an expression; `context`: tokens that the model was trained at.
// Error (usage) where no type does, with what differs in those that come near.
Json config_for(const Catalog&, const ModelConfig&, const std::string& encoding, int context,
                const std::vector<std::int32_t>& ends);

// Writes config.json and model.safetensors. Error (data) where the folder cannot be written.
void write_checkpoint(const fs::path& folder, const Json& config, Model&);

}  // namespace pesuite::hf
