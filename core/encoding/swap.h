// An encoding that takes the place of the one which a model was trained with.
#pragma once

#include <string>

#include "encoding/composition.h"

namespace pesuite {

// `e` with the options that it leaves open as `trained` has them: all of them where the two are one
// encoding; else those of the encoding that both take over, where that one and `e` have the same
// default. So a scaling keeps the base and the features of the rotation that the weights were
// trained with, and nothing of another scaling.
Expression with_options_of(const Catalog&, Expression e, const Expression& trained);

// `text` in place of `own`, the model's encoding: in each layer each term with the options of own's
// there, and none in layers in which the model has none. Where only each `window_every`-th layer
// sees all, the others keep their own: in a window no distance is new. All this but where `text`
// has a pattern of its own; `text` itself where it changes in the course of a training. Error
// (plugin, usage) as full_terms.
std::string swapped_in(const Catalog&, const std::string& text, const std::string& own,
                       int window_every = 0);
// Whether that changes nothing: layers with a window keep their own, and the others have none.
bool no_layer_takes(const std::string& text, const std::string& own, int window_every);
// What a refusal says of it.
inline constexpr const char* no_layer_changes =
    "layers with a window keep the encoding that they were trained with, and the others have none: "
    "no layer would change; write them out, as in 'layers[none, NAME]'";

}  // namespace pesuite
