// An encoding that takes the place of the one which a model was trained with.
#pragma once

#include <string>

#include "encoding/composition.h"

namespace pesuite {

// `text` with the options that it does not write as `own` has them, the model's encoding: all of
// them where it names the same encoding; else those of the encoding that both take over, where its
// default is that encoding's own. So a scaling keeps the base and the features of the rotation that
// the weights were trained with. Layers in which the model has no encoding keep none, but where
// `text` has a pattern of its own. `text` itself where it changes in the course of a training.
// Error (plugin, usage) as full_terms.
std::string swapped_in(const Catalog&, const std::string& text, const std::string& own);

}  // namespace pesuite
