// Published types whose feed-forward part has no gate.
#include "hf/rotation.h"
#include "hf/types.h"

namespace pesuite::hf {

Published starcoder2(ConfigFields& f, const std::string&, const std::string& where) {
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

Published phi(ConfigFields& f, const std::string&, const std::string& where) {
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

Published neox(ConfigFields& f, const std::string&, const std::string& where) {
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

Published gpt2(ConfigFields& f, const std::string&, const std::string&) {
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

Published gptj(ConfigFields& f, const std::string&, const std::string& where) {
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

Published bloom(ConfigFields& f, const std::string&, const std::string&) {
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

Published mpt(ConfigFields& f, const std::string&, const std::string& where) {
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

Published opt(ConfigFields& f, const std::string&, const std::string&) {
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

}  // namespace pesuite::hf
