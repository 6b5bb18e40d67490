#include "hf/config.h"

#include <cmath>
#include <limits>
#include <map>

#include "base/file.h"
#include "base/text.h"
#include "hf/fields.h"
#include "hf/ignored.h"
#include "hf/rotation.h"

namespace pesuite::hf {

namespace {

// `gated`: silu acts as the gate of the feed-forward part; models without one do not have it.
Activation activation_of(ConfigFields& f, const std::string& field, const std::string& absent,
                         bool gated = false) {
  static const std::map<std::string, Activation> known = {
      {"silu", Activation::swiglu},         {"gelu", Activation::gelu},
      {"gelu_new", Activation::gelu_tanh},  {"gelu_pytorch_tanh", Activation::gelu_tanh},
      {"gelu_fast", Activation::gelu_tanh}, {"relu", Activation::relu}};
  const std::string name = f.text(field, absent);
  const auto it = known.find(name);
  if (it == known.end())
    f.refuse(field, fmt::format("is '{}'; known are silu, gelu, gelu_new, gelu_pytorch_tanh, "
                                "gelu_fast and relu",
                                name));
  if (it->second == Activation::swiglu && !gated) f.refuse(field, "is silu without a gate");
  return it->second;
}

constexpr int deepest = 1 << 12;  // layers

// The sizes by their names of today.
ModelConfig sizes(ConfigFields& f) {
  ModelConfig m;
  m.width = f.whole("hidden_size", 1), m.layers = f.whole("num_hidden_layers", 1);
  if (m.layers > deepest)  // before anything is made for each
    f.refuse("num_hidden_layers", fmt::format("is {}: no model is that deep", m.layers));
  m.heads = f.whole("num_attention_heads", 1);
  m.kv_heads = f.whole("num_key_value_heads", 1, m.heads);
  m.ff_width = f.whole("intermediate_size", 1);
  return m;
}
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
  p.encoding = rotary(f, r, p.context, where);
  if (smollm3) p.encoding = in_some_layers(f, p.encoding, m.layers);
  return p;
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
  const bool third = type == "gemma3_text";
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
  if (!third) {
    Rotary r;
    r.base = base_of(f, "rope_theta", 10000);
    p.encoding = rotary(f, r, p.context, where);
    return p;
  }
  m.norm_place = NormPlace::both, m.qk_norm = QkNorm::before;
  f.only("query_pre_attn_scalar", m.head_size, "scores are divided by the root of the head's size");
  for (const char* cap : {"attn_logit_softcapping", "final_logit_softcapping"})
    f.only(cap, nullptr, "nothing is capped");
  f.only("use_bidirectional_attention", false, "tokens see the past alone");
  f.pass({"cache_implementation"});
  add_windows(f, m, f.whole("sliding_window_pattern", 1, f.whole("_sliding_window_pattern", 1, 6)));
  p.encoding = rotary_by_window(f, m, f.number("rope_local_base_freq", 10000),
                                base_of(f, "rope_theta", 1e6), p.context, where);
  return p;
}

Published phi3(ConfigFields& f, const std::string& where) {
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

// Where a share of each head turns; both numbers for files that say nothing.
void turn_part(ConfigFields& f, Published& p, int context, double share, const std::string& where) {
  p.context = f.whole("max_position_embeddings", 1, context);
  Rotary r;
  r.base = base_of(f, "rope_theta", 10000);
  r.features = turned(f, "partial_rotary_factor", share, p.model.head_dim());
  p.encoding = rotary(f, r, p.context, where);
}

// Layer norms and a gate.
Published stablelm(ConfigFields& f, const std::string& where) {
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

Published starcoder2(ConfigFields& f, const std::string& where) {
  Published p;
  ModelConfig& m = p.model;
  m = sizes(f);
  m.norm = Norm::layer, m.norm_eps = f.number("norm_epsilon", 1e-5);
  m.activation = activation_of(f, "hidden_act", "gelu_pytorch_tanh");
  m.tied = f.flag("tie_word_embeddings", true);
  m.attention_bias = m.mlp_bias = f.flag("use_bias", true);
  m.window = f.whole("sliding_window", 1, 0);
  f.only("mlp_type", "default", "the feed-forward part has no gate");
  f.only("norm_type", "layer_norm", "the published code has no other norm");
  f.only("scale_attn_weights", true, "scores are divided by the root of the head's size");
  f.pass({"layer_norm_epsilon", "residual_dropout", "embedding_dropout",
          "scale_attention_softmax_in_fp32"});
  f.each("layer_types", m.window > 0 ? "sliding_attention" : "full_attention",
         "all layers see alike");
  p.context = f.whole("max_position_embeddings", 1, 4096);
  Rotary r;
  r.base = base_of(f, "rope_theta", 10000);
  p.encoding = rotary(f, r, p.context, where);
  return p;
}

Published phi(ConfigFields& f, const std::string& where) {
  Published p;
  ModelConfig& m = p.model;
  m = sizes(f);
  m.norm = Norm::layer, m.norm_eps = f.number("layer_norm_eps", 1e-5);
  m.activation = activation_of(f, "hidden_act", "gelu_new");
  m.parallel = m.shared_norm = true;
  m.attention_bias = m.mlp_bias = m.head_bias = true;
  m.tied = f.flag("tie_word_embeddings", false);
  f.only("qk_layernorm", false, "queries and keys have no norms");
  turn_part(f, p, 2048, 0.5, where);
  return p;
}

Published neox(ConfigFields& f, const std::string& where) {
  Published p;
  ModelConfig& m = p.model;
  m.width = f.whole("hidden_size", 1), m.layers = f.whole("num_hidden_layers", 1);
  m.heads = f.whole("num_attention_heads", 1);
  m.ff_width = f.whole("intermediate_size", 1);
  m.norm = Norm::layer, m.norm_eps = f.number("layer_norm_eps", 1e-5);
  m.activation = activation_of(f, "hidden_act", "gelu");
  m.parallel = f.flag("use_parallel_residual", true);
  m.tied = f.flag("tie_word_embeddings", false);
  m.attention_bias = f.flag("attention_bias", true), m.mlp_bias = true;
  p.context = f.whole("max_position_embeddings", 1, 2048);
  Rotary r;
  r.base = base_of(f, "rotary_emb_base", 10000);
  r.features = turned(f, "rotary_pct", 0.25, m.head_dim());
  p.encoding = rotary(f, r, p.context, where);
  return p;
}

Published gpt2(ConfigFields& f) {
  Published p;
  ModelConfig& m = p.model;
  m.width = f.whole("n_embd", 1), m.layers = f.whole("n_layer", 1);
  m.heads = f.whole("n_head", 1);
  m.ff_width = f.whole("n_inner", 1, 4 * m.width);
  m.norm = Norm::layer, m.norm_eps = f.number("layer_norm_epsilon", 1e-5);
  m.activation = activation_of(f, "activation_function", "gelu_new");
  m.tied = f.flag("tie_word_embeddings", true);
  m.attention_bias = m.mlp_bias = true;
  f.only("scale_attn_weights", true, "scores are divided by the root of the head's size");
  f.only("scale_attn_by_inverse_layer_idx", false, "all layers scale scores alike");
  f.only("add_cross_attention", false, "there is no other text to attend to");
  p.context = f.whole("n_positions", 1, 1024);
  p.encoding = EncodingText("learned").with("rows", p.context).text();
  return p;
}

Published gptj(ConfigFields& f, const std::string& where) {
  Published p;
  ModelConfig& m = p.model;
  m.width = f.whole("n_embd", 1), m.layers = f.whole("n_layer", 1);
  m.heads = f.whole("n_head", 1);
  m.ff_width = f.whole("n_inner", 1, 4 * m.width);
  m.norm = Norm::layer, m.norm_eps = f.number("layer_norm_epsilon", 1e-5);
  m.activation = activation_of(f, "activation_function", "gelu_new");
  m.parallel = m.shared_norm = true;
  m.tied = f.flag("tie_word_embeddings", false);
  m.mlp_bias = m.head_bias = true;
  f.only("rotary", true, "the published code has no other encoding");
  f.only("scale_attn_weights", true, "scores are divided by the root of the head's size");
  p.context = f.whole("n_positions", 1, 2048);
  Rotary r;
  r.features = f.whole("rotary_dim", 1, 64);
  if (r.features > m.head_dim()) f.refuse("rotary_dim", "is larger than a head");
  r.interleaved = true;
  p.encoding = rotary(f, r, p.context, where);
  return p;
}

Published bloom(ConfigFields& f) {
  Published p;
  ModelConfig& m = p.model;
  m.width = f.has("n_embed") ? f.whole("n_embed", 1) : f.whole("hidden_size", 1);
  f.pass({"n_embed", "hidden_size"});
  m.layers = f.has("num_hidden_layers") ? f.whole("num_hidden_layers", 1) : f.whole("n_layer", 1);
  m.heads = f.has("num_attention_heads") ? f.whole("num_attention_heads", 1) : f.whole("n_head", 1);
  f.pass({"num_hidden_layers", "n_layer", "num_attention_heads", "n_head"});
  m.ff_width = 4 * m.width;
  m.norm = Norm::layer, m.norm_eps = f.number("layer_norm_epsilon", 1e-5);
  m.activation = Activation::gelu_tanh;
  m.embedding_norm = true;
  m.tied = f.flag("tie_word_embeddings", true);
  m.attention_bias = m.mlp_bias = true;
  f.only("apply_residual_connection_post_layernorm", false, "residuals pass the norms by");
  p.context = 2048;
  p.encoding = "alibi";
  return p;
}

Published mpt(ConfigFields& f, const std::string& where) {
  Published p;
  ModelConfig& m = p.model;
  m.width = f.whole("d_model", 1), m.layers = f.whole("n_layers", 1);
  m.heads = f.whole("n_heads", 1);
  m.ff_width = 4 * m.width;  // whatever expansion_ratio says
  m.norm = Norm::layer, m.norm_eps = f.number("layer_norm_epsilon", 1e-5);
  m.biasless_norm = true;
  m.activation = Activation::gelu;
  m.tied = f.flag("tie_word_embeddings", true);
  f.only("no_bias", true, "the published code has no biases");
  f.only("expansion_ratio", 4, "the published code takes 4");
  f.only("embedding_fraction", 1.0, "gradients of the embedding are whole");
  f.pass({"logit_scale", "learned_pos_emb", "norm_type"});
  const Json& attention = f.object("attn_config");
  ConfigFields a(attention, where + ": attn_config");
  a.only("alibi", true, "the published code has no other encoding");
  a.only("alibi_bias_max", 8, "the published code takes 8");
  a.only("attn_type", "multihead_attention", "one head of keys is not in the published code");
  a.only("prefix_lm", false, "all tokens see the past alone");
  a.only("qk_ln", false, "queries and keys have no norms");
  a.only("attn_uses_sequence_id", false, "rows hold one text");
  a.only("clip_qkv", nullptr, "nothing is clipped");
  a.only("softmax_scale", nullptr, "scores are divided by the root of the head's size");
  a.pass({"attn_impl", "attn_pdrop", "model_type"});
  a.finish();
  p.context = f.whole("max_seq_len", 1, 2048);
  p.encoding = "alibi";
  return p;
}

Published opt(ConfigFields& f) {
  Published p;
  ModelConfig& m = p.model;
  m.width = f.whole("hidden_size", 1), m.layers = f.whole("num_hidden_layers", 1);
  m.heads = f.whole("num_attention_heads", 1);
  m.ff_width = f.whole("ffn_dim", 1);
  m.norm = Norm::layer, m.norm_eps = 1e-5;
  m.activation = activation_of(f, "activation_function", "relu");
  m.tied = f.flag("tie_word_embeddings", true);
  m.attention_bias = m.mlp_bias = true;
  f.only("do_layer_norm_before", true, "norms stand before attention and feed-forward part");
  f.only("enable_bias", true, "linear layers have biases");
  f.only("layer_norm_elementwise_affine", true, "norms have weights");
  f.only("_remove_final_layer_norm", false, "a norm stands before the head");
  f.only("word_embed_proj_dim", m.width, "tokens are embedded at the model's width");
  p.context = f.whole("max_position_embeddings", 1, 2048);
  p.encoding = EncodingText("learned").with("rows", p.context).text();
  return p;
}

// No model is larger than some; with these no product of sizes overflows.
void require_sizes(const ModelConfig& m, const std::string& where) {
  constexpr int widest = 1 << 17;
  const std::int64_t mixed = std::int64_t{m.heads} * std::max(m.head_size, m.width / m.heads);
  if (m.width > widest || m.ff_width > 8 * widest || mixed > 8 * widest || m.layers > deepest)
    fail(Exit::data,
         "{}: {} layers of width {}, with {} heads and {} units: no model is that large", where,
         m.layers, m.width, m.heads, m.ff_width);
}

// One token, several or none.
std::vector<std::int32_t> tokens_in(ConfigFields& f, const char* name, const Json& config) {
  f.pass({name});
  const Json given = config.contains(name) ? config[name] : Json();
  std::vector<std::int32_t> out;
  for (const Json& token : given.is_array()  ? given
                           : given.is_null() ? Json::array()
                                             : Json{given}) {
    if (!token.is_number_integer() || token.get<std::int64_t>() < 0 ||
        token.get<std::int64_t>() > std::numeric_limits<std::int32_t>::max())
      f.refuse(name, "is neither a token nor a list of tokens");
    out.push_back(token.get<std::int32_t>());
  }
  return out;
}

}  // namespace

Published published_of(const Json& config, const std::string& where) {
  ConfigFields f(config, where);
  const std::string type = f.text("model_type", "");
  f.pass(says_nothing);
  f.pass(of_generation);
  if (f.has("quantization_config"))
    f.refuse("quantization_config", "is there, and quantized weights are not read");
  const int vocabulary = f.whole("vocab_size", 1);
  Published p;
  if (type == "llama" || type == "mistral" || type == "qwen2" || type == "qwen3" ||
      type == "smollm3")
    p = llama(f, type, where);
  else if (type == "olmo2" || type == "olmo3")
    p = olmo(f, type, where);
  else if (type == "gemma" || type == "gemma3_text")
    p = gemma(f, type, where);
  else if (type == "phi3")
    p = phi3(f, where);
  else if (type == "stablelm")
    p = stablelm(f, where);
  else if (type == "starcoder2")
    p = starcoder2(f, where);
  else if (type == "phi")
    p = phi(f, where);
  else if (type == "gpt_neox")
    p = neox(f, where);
  else if (type == "gpt2")
    p = gpt2(f);
  else if (type == "gptj")
    p = gptj(f, where);
  else if (type == "bloom")
    p = bloom(f);
  else if (type == "mpt")
    p = mpt(f, where);
  else if (type == "opt")
    p = opt(f);
  else
    f.refuse("model_type",
             fmt::format("is '{}'; known are llama, mistral, qwen2, qwen3, smollm3, olmo2, olmo3, "
                         "gemma, gemma3_text, phi3, phi, stablelm, starcoder2, gpt_neox, gptj, "
                         "gpt2, bloom, mpt and opt",
                         type));
  p.ends = tokens_in(f, "eos_token_id", config);
  f.finish();
  p.type = type;
  p.model.vocabulary = vocabulary;
  require_sizes(p.model, where);
  if (p.model.kv_heads == p.model.heads) p.model.kv_heads = 0;
  if (p.model.head_size * p.model.heads == p.model.width) p.model.head_size = 0;
  try {
    check(p.model);
  } catch (const Error& e) {
    fail(Exit::data, "{}: {}", where, e.what());
  }
  return p;
}

Published read_config(const fs::path& folder) {
  const fs::path file = folder / "config.json";
  if (!fs::exists(file))
    fail(Exit::data, "{} holds no config.json: it is no checkpoint of that layout",
         folder.string());
  const Json j = Json::parse(read_file(file), nullptr, false);
  if (j.is_discarded()) fail(Exit::data, "{} is no JSON", file.string());
  return published_of(j, file.string());
}

}  // namespace pesuite::hf
