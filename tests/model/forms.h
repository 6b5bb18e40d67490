// Models of the forms that published ones have beyond the presets.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/preset.h"

namespace pesuite::testing {

inline std::vector<std::pair<std::string, ModelConfig>> other_forms() {
  const auto form = [](auto change) {
    ModelConfig c = preset("micro").config;
    c.kv_heads = c.heads / 2;
    change(c);
    return c;
  };
  return {
      {"OLMo 2",
       form([](ModelConfig& c) { c.norm_place = NormPlace::output, c.qk_norm = QkNorm::whole; })},
      {"OLMo 3", form([](ModelConfig& c) {
         c.norm_place = NormPlace::output, c.qk_norm = QkNorm::whole;
         c.window = 10, c.window_every = 2;
       })},
      {"Gemma", form([](ModelConfig& c) {
         c.activation = Activation::geglu, c.scaled_embedding = true, c.head_size = 24;
       })},
      {"Gemma 2", form([](ModelConfig& c) {  // caps that these small scores and logits come near
         c.activation = Activation::geglu, c.scaled_embedding = true;
         c.norm_place = NormPlace::both, c.window = 10, c.window_every = 2;
         c.score_softcap = 0.25, c.logit_softcap = 0.5;
       })},
      {"Gemma 3", form([](ModelConfig& c) {
         c.activation = Activation::geglu, c.scaled_embedding = true;
         c.norm_place = NormPlace::both, c.qk_norm = QkNorm::before;
         c.window = 10, c.window_every = 2;
       })},
      {"layer norms of both, in parallel", form([](ModelConfig& c) {
         c.norm_place = NormPlace::both, c.norm = Norm::layer;
         c.parallel = c.shared_norm = true, c.mlp_bias = c.attention_bias = true;
       })},
      {"layer norms behind, in parallel", form([](ModelConfig& c) {
         c.norm_place = NormPlace::output, c.norm = Norm::layer, c.parallel = true;
       })}};
}

}  // namespace pesuite::testing
