// config.json of Hugging Face's transformers: which of our models it is. Both layouts of it, that
// of version 4 (rope_theta, rope_scaling) and of version 5 (rope_parameters).
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "base/json.h"
#include "model/model.h"

namespace pesuite::hf {

namespace fs = std::filesystem;

struct Published {
  std::string type;                // model_type
  ModelConfig model;               // with its vocabulary
  std::string encoding;            // an expression
  int context = 0;                 // tokens that it was made for
  std::vector<std::int32_t> ends;  // tokens that end a text
  // How many times those of the files a module's weights are, by our names of modules, '*' for a
  // layer's number: the published code multiplies elsewhere. Of q, k and v it is of q alone.
  std::map<std::string, double> times;
  bool beside_images = false;  // the part of a model of images and text that reads text
};

// The factor of linear scaling that says: no rotation. Angles of 1e-30 a position are none in any
// precision, and the layout has no other way to say so.
inline constexpr double no_rotation = 1e30;

// Error (data) that names the field which says something that the model cannot be, or that is not
// known: it may change what the checkpoint computes.
Published read_config(const fs::path& folder);
Published published_of(const Json& config, const std::string& where);

}  // namespace pesuite::hf
