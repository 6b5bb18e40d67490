// The published types: each reads its fields of a config.json, and what they share.
#pragma once

#include <string>

#include "hf/config.h"
#include "hf/fields.h"

namespace pesuite::hf {

inline constexpr int deepest = 1 << 12;  // layers

// `gated`: silu acts as the gate of the feed-forward part; models without one do not have it.
Activation activation_of(ConfigFields&, const std::string& field, const std::string& absent,
                         bool gated = false);
// The sizes by their names of today.
ModelConfig sizes(ConfigFields&);
double positive(ConfigFields&, const char* name, double absent);
// Where a share of each head turns; both numbers for files that say nothing.
void turn_part(ConfigFields&, Published&, int context, double share, const std::string& where);

// Of a config.json of `type` at `where`. Error (data) that names the field.
using Reader = Published(ConfigFields&, const std::string& type, const std::string& where);

// With a gate in the feed-forward part (gated.cpp).
Reader llama, olmo, gemma, cohere, exaone, granite, phi3, stablelm;
// Without (ungated.cpp).
Reader starcoder2, phi, neox, gpt2, gptj, bloom, mpt, opt;

}  // namespace pesuite::hf
