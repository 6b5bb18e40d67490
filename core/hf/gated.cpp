// Published types whose feed-forward part has a gate.
#include <algorithm>
#include <cmath>
#include <functional>

#include "base/text.h"
#include "hf/rotation.h"
#include "hf/types.h"

namespace pesuite::hf {

namespace {

void require_gate(ConfigFields& f) {
  if (activation_of(f, "hidden_act", "silu", true) != Activation::swiglu)
    f.refuse("hidden_act", "must be silu: the feed-forward part is gated by it");
}
void refuse_some_windows(ConfigFields& f) {
  if (f.flag("use_sliding_window", false))
    f.refuse("use_sliding_window", "is true, and windows of some layers alone are not known");
  f.pass({"sliding_window"});
}

// The rotation in the layers that no_rope_layers marks with 1; the others have no encoding.
std::string in_some_layers(ConfigFields& f, const std::string& rotation, int layers) {
  const auto count = static_cast<std::size_t>(layers);
  std::vector<double> marks = f.numbers("no_rope_layers");
  const int interval = f.whole("no_rope_layer_interval", 1, 4);
  if (marks.empty())
    for (int l = 1; l <= layers; ++l) marks.push_back(l % interval != 0);
  if (marks.size() < count)
    f.refuse("no_rope_layers", fmt::format("says nothing of layer {}", marks.size()));
  marks.resize(count);
  std::size_t period = 1;  // of the pattern
  const auto repeats = [&] {
    for (std::size_t l = period; l < count; ++l)
      if (marks[l] != marks[l - period]) return false;
    return true;
  };
  while (!repeats()) ++period;
  std::vector<std::string> pattern;
  for (std::size_t l = 0; l < period; ++l) pattern.push_back(marks[l] != 0 ? rotation : "none");
  return period == 1 ? pattern[0] : fmt::format("layers[{}]", join(pattern, ", "));
}

// Which layers see through a window, from a list or from the pattern of those that do not.
void add_windows(ConfigFields& f, ModelConfig& m, int pattern) {
  m.window = f.whole("sliding_window", 1, 0);
  m.window_every = pattern;
  if (const std::vector<std::string> types = f.texts("layer_types"); !types.empty()) {
    if (std::ssize(types) != m.layers)
      f.refuse("layer_types", fmt::format("names {} layers of {}", types.size(), m.layers));
    for (const std::string& t : types)
      if (t != "sliding_attention" && t != "full_attention")
        f.refuse("layer_types",
                 fmt::format("has '{}'; known are sliding_attention and full_attention", t));
    const auto full = std::find(types.begin(), types.end(), "full_attention");
    m.window_every = full == types.end() ? 0 : static_cast<int>(full - types.begin()) + 1;
    for (int l = 0; l < m.layers; ++l)
      if (const bool sees_all = m.window_every > 0 && (l + 1) % m.window_every == 0;
          sees_all != (types[static_cast<std::size_t>(l)] == "full_attention"))
        f.refuse("layer_types", "has full_attention, and not in each so many-th layer");
  }
  if (m.window == 0 && m.window_every != 1)
    f.refuse("sliding_window", "is missing, and layers see through it");
  if (m.window_every == 1) m.window = m.window_every = 0;
  if (m.window_every > m.layers) m.window_every = 0;
}

// The rotation in layers with a window, where those that see all have no encoding.
std::string rotary_in_windows(ConfigFields& f, const ModelConfig& m, const Rotary& r, int context,
                              const std::string& where) {
  const std::string rotation = rotary(f, r, context, where);
  if (m.window == 0) return "none";
  if (m.window_every == 0) return rotation;
  std::vector<std::string> pattern(static_cast<std::size_t>(m.window_every), rotation);
  pattern.back() = "none";
  return fmt::format("layers[{}]", join(pattern, ", "));
}

// null: none.
double softcap(ConfigFields& f, const char* name, double absent) {
  const double cap = f.number(name, f.is_null(name) ? 0 : absent);
  if (!is_softcap(cap)) f.refuse(name, fmt::format("is {}: {}", format_number(cap), softcap_range));
  return cap;
}

}  // namespace

Published llama(ConfigFields& f, const std::string& type, const std::string& where) {
  Published p;
  ModelConfig& m = p.model;
  m = sizes(f);
  const bool qwen3 = type == "qwen3", smollm3 = type == "smollm3";
  m.head_size = f.whole("head_dim", 1, qwen3 ? 128 : 0);
  m.norm = Norm::rms, m.norm_eps = f.number("rms_norm_eps", 1e-6);
  require_gate(f);
  m.tied = f.flag("tie_word_embeddings", smollm3);
  if (type == "mistral")
    m.window = f.whole("sliding_window", 1, 0);
  else if (type != "llama")
    refuse_some_windows(f);
  if (type == "llama" || smollm3 || qwen3) m.attention_bias = f.flag("attention_bias", false);
  if (type == "llama" || smollm3) m.mlp_bias = f.flag("mlp_bias", false);
  if (type == "qwen2") m.qkv_bias = true;
  if (qwen3) m.qk_norm = QkNorm::before;
  f.each("layer_types", m.window > 0 ? "sliding_attention" : "full_attention",
         "all layers see alike");
  f.only("rope_interleaved", false, "features i and i + half turn together");
  p.context = f.whole("max_position_embeddings", 1, type == "llama" ? 2048 : 32768);
  Rotary r;
  r.base = base_of(f, "rope_theta", smollm3 ? 2e6 : 10000);
  p.encoding = type.starts_with("qwen") ? rotary_or_chunks(f, r, p.context, where)
                                        : rotary(f, r, p.context, where);
  if (smollm3) p.encoding = in_some_layers(f, p.encoding, m.layers);
  return p;
}

// Norms of what attention and feed-forward part add, and of all queries and keys of a token.
Published olmo(ConfigFields& f, const std::string& type, const std::string& where) {
  Published p;
  ModelConfig& m = p.model;
  m = sizes(f);
  m.head_size = f.whole("head_dim", 1, 0);
  m.norm = Norm::rms, m.norm_eps = f.number("rms_norm_eps", 1e-5);
  m.norm_place = NormPlace::output, m.qk_norm = QkNorm::whole;
  require_gate(f);
  m.tied = f.flag("tie_word_embeddings", false);
  m.attention_bias = f.flag("attention_bias", false);
  p.context = f.whole("max_position_embeddings", 1, 2048);
  const bool windows = type == "olmo3";
  const double base = base_of(f, "rope_theta", windows ? 500000 : 10000);
  if (windows) {
    add_windows(f, m, 4);
    p.encoding = rotary_by_window(f, m, base, base, p.context, where);
  } else {
    Rotary r;
    r.base = base;
    p.encoding = rotary(f, r, p.context, where);
  }
  return p;
}

// Gains are stored as what they are beyond 1.
Published gemma(ConfigFields& f, const std::string& type, const std::string& where) {
  Published p;
  ModelConfig& m = p.model;
  m = sizes(f);
  const bool first = type == "gemma", third = type == "gemma3_text";
  m.head_size = f.whole("head_dim", 1, 256);
  m.norm = Norm::rms, m.norm_eps = f.number("rms_norm_eps", 1e-6);
  m.activation = Activation::geglu;
  for (const char* field : {"hidden_act", "hidden_activation"})  // the first is not looked at
    if (const std::string a = f.text(field, "gelu_pytorch_tanh");
        a != "gelu_pytorch_tanh" && (a != "gelu" || std::string_view(field) == "hidden_activation"))
      f.refuse(field, fmt::format("is '{}'; the gate of this type is gelu_pytorch_tanh", a));
  m.scaled_embedding = true;
  m.tied = f.flag("tie_word_embeddings", true);
  m.attention_bias = f.flag("attention_bias", false);
  p.context = f.whole("max_position_embeddings", 1, third ? 131072 : 8192);
  Rotary r;
  r.base = third ? 0 : base_of(f, "rope_theta", 10000);
  if (first) {
    p.encoding = rotary(f, r, p.context, where);
    return p;
  }
  m.norm_place = NormPlace::both;
  if (third) m.qk_norm = QkNorm::before;
  p.times[third ? "layers.*.attention.q_norm" : "layers.*.attention.qkv"] =
      std::sqrt(m.head_size / positive(f, "query_pre_attn_scalar", 256));
  m.score_softcap = softcap(f, "attn_logit_softcapping", third ? 0 : 50);
  m.logit_softcap = softcap(f, "final_logit_softcapping", third ? 0 : 30);
  f.only("use_bidirectional_attention", false, "tokens see the past alone");
  f.pass({"cache_implementation"});
  if (!third) {
    add_windows(f, m, 2);
    p.encoding = rotary(f, r, p.context, where);
    return p;
  }
  add_windows(f, m, f.whole("sliding_window_pattern", 1, f.whole("_sliding_window_pattern", 1, 6)));
  p.encoding = rotary_by_window(f, m, f.number("rope_local_base_freq", 10000),
                                base_of(f, "rope_theta", 1e6), p.context, where);
  return p;
}

// Layer norms without biases, one a layer, and a gate.
Published cohere(ConfigFields& f, const std::string& type, const std::string& where) {
  Published p;
  ModelConfig& m = p.model;
  m = sizes(f);
  const bool windows = type == "cohere2";
  m.norm = Norm::layer, m.norm_eps = f.number("layer_norm_eps", 1e-5);
  m.biasless_norm = m.parallel = m.shared_norm = true;
  require_gate(f);
  m.tied = f.flag("tie_word_embeddings", true);
  m.attention_bias = f.flag("attention_bias", false);
  p.times["norm"] = positive(f, "logit_scale", 0.0625);
  f.only("use_qk_norm", false, "queries and keys have no norms");
  f.only("layer_norm_bias", false, "norms have no biases");
  f.only("position_embedding_type", "rope_gptj", "features 2 i and 2 i + 1 turn together");
  f.only("rotary_pct", 1.0, "whole heads turn");
  f.only("order_of_interleaved_layers", "local_attn_first", "windows come first");
  f.only("use_gated_activation", true, "the feed-forward part is gated");
  f.only("use_parallel_block", true, "attention and feed-forward part read the same");
  f.pass({"cache_implementation", "use_embedding_sharing", "use_parallel_embedding"});
  p.context = f.whole("max_position_embeddings", 1, 8192);
  Rotary r;
  r.interleaved = true;
  r.base = base_of(f, "rope_theta", windows ? 10000 : 0);
  if (r.base == 0) f.refuse("rope_theta", "is missing, and versions of the published code differ");
  m.head_size = f.whole("head_dim", 1, 0);
  if (!windows) {
    p.encoding = rotary(f, r, p.context, where);
    return p;
  }
  const int pattern = f.whole("sliding_window_pattern", 1, 4);
  f.only("layer_switch", pattern, "it is the pattern of the windows");
  add_windows(f, m, pattern);
  p.encoding = rotary_in_windows(f, m, r, p.context, where);
  return p;
}

// Norms of what attention and feed-forward part add, and of each head's queries and keys.
Published exaone(ConfigFields& f, const std::string&, const std::string& where) {
  Published p;
  ModelConfig& m = p.model;
  m = sizes(f);
  m.head_size = f.whole("head_dim", 1, 0);
  m.norm = Norm::rms, m.norm_eps = f.number("rms_norm_eps", 1e-5);
  m.norm_place = NormPlace::output, m.qk_norm = QkNorm::before;
  require_gate(f);
  m.tied = f.flag("tie_word_embeddings", false);
  p.context = f.whole("max_position_embeddings", 1, 2048);
  Rotary r;
  r.base = base_of(f, "rope_theta", 10000);
  if (!f.has("sliding_window")) {
    f.pass({"sliding_window_pattern"});
    f.each("layer_types", "full_attention", "there is no window");
    p.encoding = rotary(f, r, p.context, where);
    return p;
  }
  add_windows(f, m, f.turns("sliding_window_pattern", 4));
  p.encoding = rotary_in_windows(f, m, r, p.context, where);
  return p;
}

// As llama, with four factors, which are taken into the weights.
Published granite(ConfigFields& f, const std::string&, const std::string& where) {
  const double embedding = positive(f, "embedding_multiplier", 1);
  const double logits = positive(f, "logits_scaling", 1);
  const double scores = positive(f, "attention_multiplier", 1);
  const double residual = positive(f, "residual_multiplier", 1);
  Published p = llama(f, "llama", where);
  p.times["embedding"] = embedding;
  p.times["norm"] = 1 / (logits * (p.model.tied ? embedding : 1));
  p.times["layers.*.attention.qkv"] = scores * std::sqrt(p.model.head_dim());
  p.times["layers.*.attention.out"] = p.times["layers.*.mlp.down"] = residual;
  return p;
}

Published phi3(ConfigFields& f, const std::string&, const std::string& where) {
  Published p;
  ModelConfig& m = p.model;
  m = sizes(f);
  m.head_size = f.whole("head_dim", 1, 0);
  m.norm = Norm::rms, m.norm_eps = f.number("rms_norm_eps", 1e-5);
  require_gate(f);
  m.tied = f.flag("tie_word_embeddings", false);
  m.window = f.whole("sliding_window", 1, 0);
  for (const char* bias : {"attention_bias", "mlp_bias", "lm_head_bias"})
    f.only(bias, false, "the published code has no biases");
  f.pass({"full_attn_mod", "interpolate_factor"});
  p.context = f.whole("max_position_embeddings", 1, 4096);
  Rotary r;
  r.base = base_of(f, "rope_theta", 10000);
  r.original = f.whole("original_max_position_embeddings", 1, 4096);
  const int features = turned(f, "partial_rotary_factor", 1, m.head_dim());
  r.features = features < m.head_dim() ? features : 0;
  p.encoding = rotary(f, r, p.context, where);
  return p;
}

// Layer norms and a gate.
Published stablelm(ConfigFields& f, const std::string&, const std::string& where) {
  Published p;
  ModelConfig& m = p.model;
  m = sizes(f);
  m.norm = Norm::layer, m.norm_eps = f.number("layer_norm_eps", 1e-5);
  require_gate(f);
  m.tied = f.flag("tie_word_embeddings", false);
  m.qkv_bias = f.flag("use_qkv_bias", false);
  m.parallel = m.shared_norm = f.flag("use_parallel_residual", false);
  f.only("qk_layernorm", false, "queries and keys have no norms of their own");
  turn_part(f, p, 4096, 0.25, where);
  return p;
}

}  // namespace pesuite::hf
