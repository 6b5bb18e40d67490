#include "hf/export.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace pesuite::hf {

namespace {

// An encoding alone, with all its options as they act in a model.
struct Given {
  std::string name;
  Options options;
  std::vector<bool> acts = {};    // of each layer; empty: in all
  std::vector<Given> local = {};  // one: what acts in layers with a window, where others have none

  double number(const char* option) const {
    const auto it = options.find(option);
    return it != options.end() ? std::strtod(it->second.c_str(), nullptr) : 0;
  }
  bool is(const char* option, const char* value) const {
    const auto it = options.find(option);
    return it != options.end() && it->second == value;
  }
};

// What acts in all layers, or in those whose turn in a pattern is not 'none', or in those without a
// window where it is another in the rest. Nothing where more do.
std::optional<Given> alone(const Sum& sum, const ModelConfig& m) {
  if (sum.factors.size() != 1) return std::nullopt;
  const Sum::Factor& factor = sum.factors[0];
  if (factor.pattern.empty()) return Given{factor.term.name, factor.term.options};
  std::optional<Given> found, local;
  std::vector<bool> acts;
  for (int l = 0; l < m.layers; ++l) {
    const Sum& here = factor.pattern[static_cast<std::size_t>(l) % factor.pattern.size()];
    if (here.factors.size() != 1 || !here.factors[0].pattern.empty()) return std::nullopt;
    const Expression& term = here.factors[0].term;
    if (m.window_every > 0 && m.has_window(l)) {
      if (local && (local->name != term.name || local->options != term.options))
        return std::nullopt;
      local = Given{term.name, term.options};
      continue;
    }
    acts.push_back(term.name != "none");
    if (!acts.back()) continue;
    if (found && (found->name != term.name || found->options != term.options)) return std::nullopt;
    if (!found) found = Given{term.name, term.options};
  }
  if (!found) found = Given{"none", {}};
  if (local && (local->name != found->name || local->options != found->options))
    found->local = {*local};
  if (found->name == "none") return found;
  if (std::find(acts.begin(), acts.end(), false) != acts.end()) found->acts = acts;
  return found;
}

// What its zeros stand for, and one name for each rotation.
void settle(Given& g, const ModelConfig& m, int context) {
  const auto put = [&](const char* option, double value) {
    if (g.options.contains(option)) g.options[option] = format_number(value);
  };
  const double features = g.number("features");
  put("features", features == 0   ? m.head_dim()
                  : features <= 1 ? std::floor(features * m.head_dim())
                                  : features);
  if (g.number("original") == 0) put("original", context);
  put("factor", std::max(g.number("factor"), g.number("scale")));
  put("scale", 0);
  if (g.number("rows") == 0) put("rows", context);
  if (g.name == "learned") g.options.erase("init"), g.options.erase("scale_rows");
  if (g.name == "ntk" && g.is("dynamic", "true") && g.number("factor") == 0) put("factor", 1);
  // one factor on all positions' base is another base
  if (g.name == "ntk" && !g.is("dynamic", "true") && g.is("by_parts", "false") &&
      g.is("resonance", "false")) {
    const double R = g.number("features");
    put("base", g.number("base") * std::pow(g.number("factor"), R / (R - 2)));
    g.name = "rope";
  }
  if (g.name == "abf") g.name = "rope";
  if (g.name == "dual_chunk") {
    const double original = g.number("original");
    if (g.number("window") == 0) put("window", std::max(1.0, std::floor(original / 8)));
    if (g.number("chunk") == 0)
      put("chunk", std::max(g.number("window") + 1, std::floor(original * 3 / 4)));
    if (g.number("mscale") == 0) put("original", context);  // says nothing then
  }
}

Given given(const Catalog& catalog, const std::string& text, const ModelConfig& m, int context) {
  const EncodingExpression x = parse_encoding(text);
  const EncodingExpression full = parse_encoding(to_text(x, full_terms(catalog, text)));
  std::optional<Given> only = alone(full.first, m);
  if (!only)
    fail(Exit::usage,
         "encoding '{}': models of published types have one encoding, the same in all layers that "
         "have one, but for layers with a window",
         text);
  settle(*only, m, context);
  for (Given& local : only->local) settle(local, m, context);
  return *only;
}

// What is missing or other in `a`, of two forms of a model; "" for nothing.
std::string difference(const ModelConfig& ours, const ModelConfig& theirs) {
  const std::pair<const char*, bool> forms[] = {
      {"its norm is another", ours.norm == theirs.norm},
      {"its activation is another", ours.activation == theirs.activation},
      {"its queries and keys are normed otherwise", ours.qk_norm == theirs.qk_norm},
      {"its norms stand elsewhere", ours.norm_place == theirs.norm_place},
      {"its embedding is scaled otherwise", ours.scaled_embedding == theirs.scaled_embedding},
      {"its head is tied otherwise", ours.tied == theirs.tied},
      {"its residuals run otherwise", ours.parallel == theirs.parallel},
      {"its norms are shared otherwise", ours.shared_norm == theirs.shared_norm},
      {"biases of its attention", ours.attention_bias == theirs.attention_bias},
      {"biases of its q, k and v", ours.qkv_bias == theirs.qkv_bias},
      {"biases of its feed-forward part", ours.mlp_bias == theirs.mlp_bias},
      {"a bias of its head", ours.head_bias == theirs.head_bias},
      {"biases of its norms", ours.biasless_norm == theirs.biasless_norm},
      {"the norm behind its embedding", ours.embedding_norm == theirs.embedding_norm}};
  for (const auto& [what, equal] : forms)
    if (!equal) return what;
  const std::pair<const char*, std::pair<double, double>> numbers[] = {
      {"width", {ours.width, theirs.width}},
      {"layers", {ours.layers, theirs.layers}},
      {"heads", {ours.heads, theirs.heads}},
      {"kv_heads", {ours.groups(), theirs.groups()}},
      {"head size", {ours.head_dim(), theirs.head_dim()}},
      {"ff_width", {ours.ff_width, theirs.ff_width}},
      {"norm_eps", {ours.norm_eps, theirs.norm_eps}},
      {"window", {ours.window, theirs.window}},
      {"window_every", {ours.window_every, theirs.window_every}},
      {"score_softcap", {ours.score_softcap, theirs.score_softcap}},
      {"logit_softcap", {ours.logit_softcap, theirs.logit_softcap}},
      {"classes", {ours.outputs(), theirs.outputs()}}};
  for (const auto& [name, n] : numbers)
    if (n.first != n.second)
      return fmt::format("{} {} where it has {}", name, format_number(n.first),
                         format_number(n.second));
  return "";
}

std::string difference(const Given& ours, const Given& theirs) {
  if (ours.acts != theirs.acts) return "layers without an encoding";
  if (ours.name != theirs.name) return fmt::format("its encoding is '{}'", theirs.name);
  for (const auto& [option, value] : ours.options) {
    const auto it = theirs.options.find(option);
    if (it != theirs.options.end() && it->second != value)
      return fmt::format("{}={} where it has {}", option, value, it->second);
  }
  if (ours.local.size() != theirs.local.size())
    return theirs.local.empty()
               ? "an encoding of its own in layers with a window, where it has one for all; "
                 "--encoding 'layers[E, E]' gives E to all"
               : "layers with a window that turn as the others do";
  const std::string there = ours.local.empty() ? "" : difference(ours.local[0], theirs.local[0]);
  return there.empty() ? "" : there + ", in layers with a window";
}

// ---------------------------------------------------------------------- the fields of the types

Json numbers(const Given& g, const char* option) {
  const auto it = g.options.find(option);
  const Json j = it == g.options.end() ? Json::array() : Json::parse(it->second, nullptr, false);
  return j.is_array() ? j : Json::array();
}

// rope_scaling of version 4, without rope_theta; null for a plain rotation.
Json scaling(const Given& g) {
  Json s;
  const auto kind = [&](const char* name) { s["rope_type"] = s["type"] = name; };
  if (g.name == "none") {
    kind("linear"), s["factor"] = no_rotation;
  } else if (g.name == "linear") {
    kind("linear"), s["factor"] = g.number("factor");
  } else if (g.name == "ntk") {
    kind("dynamic"), s["factor"] = std::max(1.0, g.number("factor"));
  } else if (g.name == "llama3") {
    kind("llama3"), s["factor"] = g.number("factor");
    s["low_freq_factor"] = g.number("low_freq_factor");
    s["high_freq_factor"] = g.number("high_freq_factor");
    s["original_max_position_embeddings"] = static_cast<std::int64_t>(g.number("original"));
  } else if (g.name == "yarn") {
    kind("yarn"), s["factor"] = g.number("factor");
    s["original_max_position_embeddings"] = static_cast<std::int64_t>(g.number("original"));
    s["beta_fast"] = g.number("beta_fast"), s["beta_slow"] = g.number("beta_slow");
    for (const char* m : {"attention_factor", "mscale", "mscale_all_dim"})
      if (g.number(m) > 0) s[m] = g.number(m);
    if (g.is("truncate", "false")) s["truncate"] = false;
  } else if (g.name == "longrope") {
    kind("longrope"), s["factor"] = g.number("factor");
    s["original_max_position_embeddings"] = static_cast<std::int64_t>(g.number("original"));
    s["long_factor"] = numbers(g, "long_factor"), s["short_factor"] = numbers(g, "short_factor");
    if (g.number("attention_factor") > 0) s["attention_factor"] = g.number("attention_factor");
  }
  return s;
}

// Of both versions.
void add_rotation(Json& c, const Given& g, double share) {
  const double base = g.number("base") > 0 ? g.number("base") : 10000;
  const Json s = scaling(g);
  c["rope_theta"] = base;
  c["rope_scaling"] = s;
  Json p = s.is_null() ? Json{{"rope_type", "default"}} : s;
  p.erase("type");
  p["rope_theta"] = base;
  if (share < 1) p["partial_rotary_factor"] = share;
  c["rope_parameters"] = p;
}

const char* activation(Activation a) {
  switch (a) {
    case Activation::swiglu: return "silu";
    case Activation::gelu: return "gelu";
    case Activation::gelu_tanh: return "gelu_new";
    case Activation::relu: return "relu";
    case Activation::geglu: return "gelu_pytorch_tanh";
  }
  return "";
}

// The smallest share of a head whose product with its size rounds down to the features that turn.
double turned_share(const ModelConfig& m, const Given& g) {
  const double turned = g.number("features") > 0 ? g.number("features") : m.head_dim();
  double share = turned / m.head_dim();
  while (std::floor(m.head_dim() * share) < turned) share = std::nextafter(share, 2.0);
  return share;
}

void add_sizes(Json& c, const ModelConfig& m, int context) {
  c["hidden_size"] = m.width, c["num_hidden_layers"] = m.layers;
  c["num_attention_heads"] = m.heads, c["num_key_value_heads"] = m.groups();
  c["intermediate_size"] = m.ff_width, c["hidden_act"] = activation(m.activation);
  c["max_position_embeddings"] = context;
}
Json window(const ModelConfig& m) {
  return m.window > 0 ? Json(m.window) : Json();
}

void add_llama(Json& c, const std::string& type, const ModelConfig& m, const Given& g,
               int context) {
  add_sizes(c, m, context);
  c["head_dim"] = m.head_dim(), c["rms_norm_eps"] = m.norm_eps;
  if (type == "llama" || type == "smollm3") c["mlp_bias"] = m.mlp_bias;
  if (type == "llama" || type == "smollm3" || type == "qwen3")
    c["attention_bias"] = m.attention_bias;
  if (type == "mistral")
    c["sliding_window"] = window(m);
  else if (type != "llama")
    c["use_sliding_window"] = false;
  if (g.name == "dual_chunk" && type.starts_with("qwen"))
    c["dual_chunk_attention_config"] = {
        {"chunk_size", static_cast<std::int64_t>(g.number("chunk"))},
        {"local_size", static_cast<std::int64_t>(g.number("window"))},
        {"original_max_position_embeddings",
         static_cast<std::int64_t>(g.number("mscale") > 0 ? g.number("original") : 0)}};
  if (type == "smollm3") {
    c["no_rope_layers"] = std::vector<int>(static_cast<std::size_t>(m.layers), 1);
    for (std::size_t l = 0; l < g.acts.size(); ++l) c["no_rope_layers"][l] = g.acts[l] ? 1 : 0;
  }
  add_rotation(c, g, 1);
}

void add_kinds_of_layers(Json& c, const ModelConfig& m) {
  c["sliding_window"] = window(m);
  for (int l = 0; l < m.layers; ++l)
    c["layer_types"].push_back(m.has_window(l) ? "sliding_attention" : "full_attention");
}

// Where layers with a window turn plainly, by a base of their own.
void add_windows(Json& c, const ModelConfig& m, const Given& g, bool own_base) {
  add_kinds_of_layers(c, m);
  const Given plain{"rope", {{"base", fmt::format("{}", c["rope_theta"].get<double>())}}};
  const Given& local = g.local.empty() ? plain : g.local[0];
  const double base = local.number("base") > 0 ? local.number("base") : 10000;
  if (own_base) c["rope_local_base_freq"] = base;
  c["rope_parameters"] = {{"full_attention", c["rope_parameters"]},
                          {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", base}}}};
}

void add_olmo(Json& c, const std::string& type, const ModelConfig& m, const Given& g, int context) {
  add_sizes(c, m, context);
  c["head_dim"] = m.head_dim(), c["rms_norm_eps"] = m.norm_eps;
  c["attention_bias"] = m.attention_bias;
  add_rotation(c, g, 1);
  if (type == "olmo3") add_windows(c, m, g, false);
}

void add_gemma(Json& c, const std::string& type, const ModelConfig& m, const Given& g,
               int context) {
  add_sizes(c, m, context);
  c["hidden_activation"] = c["hidden_act"];
  c["head_dim"] = m.head_dim(), c["rms_norm_eps"] = m.norm_eps;
  c["attention_bias"] = m.attention_bias;
  add_rotation(c, g, 1);
  if (type == "gemma") return;
  c["query_pre_attn_scalar"] = m.head_dim();
  const auto cap = [](double number) { return number > 0 ? Json(number) : Json(); };
  c["attn_logit_softcapping"] = cap(m.score_softcap);
  c["final_logit_softcapping"] = cap(m.logit_softcap);
  if (type == "gemma2")
    add_kinds_of_layers(c, m);
  else
    add_windows(c, m, g, true);
}

// Cohere2 and EXAONE 4, whose layers that see all have no encoding where others see through a
// window, and cohere, which has no windows.
void add_cohere_or_exaone(Json& c, const std::string& type, const ModelConfig& m, const Given& g,
                          int context) {
  add_sizes(c, m, context);
  c["head_dim"] = m.head_dim();
  if (type == "exaone4")
    c["rms_norm_eps"] = m.norm_eps;
  else
    c["layer_norm_eps"] = m.norm_eps, c["logit_scale"] = 1.0,
    c["attention_bias"] = m.attention_bias;
  add_rotation(c, g.local.empty() ? g : g.local[0], 1);
  if (type != "cohere") add_kinds_of_layers(c, m);
}

// Types that turn a part of each head.
void add_partial(Json& c, const std::string& type, const ModelConfig& m, const Given& g,
                 int context) {
  add_sizes(c, m, context);
  add_rotation(c, g, turned_share(m, g));
  c["partial_rotary_factor"] = turned_share(m, g);
  if (type == "phi3") {
    c["rms_norm_eps"] = m.norm_eps, c["head_dim"] = m.head_dim(), c["sliding_window"] = window(m);
    c["original_max_position_embeddings"] =
        g.name == "longrope" ? static_cast<int>(g.number("original")) : context;
    return;
  }
  c["layer_norm_eps"] = m.norm_eps, c["qk_layernorm"] = false;
  if (type == "stablelm") c["use_qkv_bias"] = m.qkv_bias, c["use_parallel_residual"] = m.parallel;
}

void add_starcoder2(Json& c, const ModelConfig& m, const Given& g, int context) {
  add_sizes(c, m, context);
  c["norm_epsilon"] = m.norm_eps, c["use_bias"] = m.attention_bias, c["sliding_window"] = window(m);
  add_rotation(c, g, 1);
}

void add_neox(Json& c, const ModelConfig& m, const Given& g, int context) {
  c["hidden_size"] = m.width, c["num_hidden_layers"] = m.layers;
  c["num_attention_heads"] = m.heads, c["intermediate_size"] = m.ff_width;
  c["layer_norm_eps"] = m.norm_eps, c["hidden_act"] = activation(m.activation);
  c["max_position_embeddings"] = context, c["use_parallel_residual"] = m.parallel;
  c["attention_bias"] = m.attention_bias;
  const double share = turned_share(m, g);
  c["rotary_pct"] = share;
  add_rotation(c, g, share);
  c["rotary_emb_base"] = c["rope_theta"];
  c["rope_parameters"]["partial_rotary_factor"] = share;
}

void add_gpt(Json& c, const std::string& type, const ModelConfig& m, const Given& g, int context) {
  c["n_embd"] = m.width, c["n_layer"] = m.layers, c["n_head"] = m.heads, c["n_inner"] = m.ff_width;
  c["layer_norm_epsilon"] = m.norm_eps;
  c["activation_function"] = activation(m.activation);
  c["n_positions"] = type == "gpt2" ? static_cast<int>(g.number("rows")) : context;
  if (type == "gptj") c["rotary_dim"] = static_cast<int>(g.number("features"));
}

void add_opt(Json& c, const ModelConfig& m, const Given& g) {
  c["hidden_size"] = c["word_embed_proj_dim"] = m.width, c["num_hidden_layers"] = m.layers;
  c["num_attention_heads"] = m.heads, c["ffn_dim"] = m.ff_width;
  c["activation_function"] = activation(m.activation), c["do_layer_norm_before"] = true;
  c["max_position_embeddings"] = static_cast<int>(g.number("rows"));
}

void add_bloom(Json& c, const ModelConfig& m) {
  c["hidden_size"] = m.width, c["n_layer"] = m.layers, c["n_head"] = m.heads;
  c["layer_norm_epsilon"] = m.norm_eps;
  c["apply_residual_connection_post_layernorm"] = false;
}

void add_mpt(Json& c, const ModelConfig& m, int context) {
  c["d_model"] = m.width, c["n_layers"] = m.layers, c["n_heads"] = m.heads;
  c["expansion_ratio"] = 4, c["max_seq_len"] = context, c["no_bias"] = true;
  c["layer_norm_epsilon"] = m.norm_eps, c["learned_pos_emb"] = false;
  c["attn_config"] = {{"alibi", true},
                      {"alibi_bias_max", 8},
                      {"attn_type", "multihead_attention"},
                      {"qk_ln", false},
                      {"prefix_lm", false}};
}

struct Type {
  const char *name, *architecture;
};
constexpr Type types[] = {
    {"llama", "LlamaForCausalLM"},        {"qwen2", "Qwen2ForCausalLM"},
    {"mistral", "MistralForCausalLM"},    {"qwen3", "Qwen3ForCausalLM"},
    {"smollm3", "SmolLM3ForCausalLM"},    {"phi3", "Phi3ForCausalLM"},
    {"olmo2", "Olmo2ForCausalLM"},        {"olmo3", "Olmo3ForCausalLM"},
    {"gemma", "GemmaForCausalLM"},        {"gemma2", "Gemma2ForCausalLM"},
    {"gemma3_text", "Gemma3ForCausalLM"}, {"cohere", "CohereForCausalLM"},
    {"cohere2", "Cohere2ForCausalLM"},    {"exaone4", "Exaone4ForCausalLM"},
    {"gpt_neox", "GPTNeoXForCausalLM"},   {"starcoder2", "Starcoder2ForCausalLM"},
    {"stablelm", "StableLmForCausalLM"},  {"phi", "PhiForCausalLM"},
    {"gpt2", "GPT2LMHeadModel"},          {"opt", "OPTForCausalLM"},
    {"bloom", "BloomForCausalLM"},        {"mpt", "MptForCausalLM"},
    {"gptj", "GPTJForCausalLM"}};

Json config_of(const Type& type, const ModelConfig& m, const Given& g, int context,
               const std::vector<std::int32_t>& ends) {
  const std::string name = type.name;
  Json c;
  c["architectures"] = {type.architecture};
  c["model_type"] = name;
  if (name == "llama" || name == "qwen2" || name == "mistral" || name == "qwen3" ||
      name == "smollm3")
    add_llama(c, name, m, g, context);
  else if (name == "olmo2" || name == "olmo3")
    add_olmo(c, name, m, g, context);
  else if (name.starts_with("gemma"))
    add_gemma(c, name, m, g, context);
  else if (name == "cohere" || name == "cohere2" || name == "exaone4")
    add_cohere_or_exaone(c, name, m, g, context);
  else if (name == "phi3" || name == "stablelm" || name == "phi")
    add_partial(c, name, m, g, context);
  else if (name == "starcoder2")
    add_starcoder2(c, m, g, context);
  else if (name == "gpt_neox")
    add_neox(c, m, g, context);
  else if (name == "gpt2" || name == "gptj")
    add_gpt(c, name, m, g, context);
  else if (name == "opt")
    add_opt(c, m, g);
  else if (name == "bloom")
    add_bloom(c, m);
  else
    add_mpt(c, m, context);
  c["vocab_size"] = m.vocabulary, c["tie_word_embeddings"] = m.tied;
  c["torch_dtype"] = c["dtype"] = "float32";
  c["bos_token_id"] = c["eos_token_id"] = ends.empty()       ? Json()
                                          : ends.size() == 1 ? Json(ends[0])
                                                             : Json(ends);
  if (!ends.empty()) c["bos_token_id"] = ends[0];
  c["use_cache"] = true;
  return c;
}

// Why a type does not carry the model; nothing: it does.
struct Misfit {
  std::string why;
  bool encoding_alone = false;
};
std::optional<Misfit> misfit(const Catalog& catalog, const Json& config, const ModelConfig& m,
                             const Given& g) {
  Published back;
  try {
    back = published_of(config, "config.json");
  } catch (const Error&) {  // the encoding is not one of the type's
    return Misfit{};
  }
  const Given theirs = given(catalog, back.encoding, back.model, back.context);
  if (const std::string d = difference(m, back.model); !d.empty()) return Misfit{d};
  if (const std::string d = difference(g, theirs); !d.empty()) return Misfit{d, true};
  return std::nullopt;
}

}  // namespace

Json config_for(const Catalog& catalog, const ModelConfig& m, const std::string& encoding,
                int context, const std::vector<std::int32_t>& ends) {
  if (m.positions > 0)
    fail(Exit::usage,
         "the model's task gives its tokens positions of their own, which no published type has");
  const Given g = given(catalog, encoding, m, context);
  for (const char* derived : {"factor", "base"})
    if (g.options.contains(derived) && g.number(derived) == 0 && !g.is("dynamic", "true"))
      fail(Exit::usage,
           "encoding '{}': {} follows from the lengths it is made for, and a config.json holds a "
           "number; write it out, as in --encoding '{}({}=...)'",
           encoding, derived, g.name, derived);
  std::vector<std::string> forms, encodings;  // what is other
  for (const Type& type : types) {
    const Json config = config_of(type, m, g, context, ends);
    const std::optional<Misfit> other = misfit(catalog, config, m, g);
    if (!other) return config;
    if (!other->why.empty())
      (other->encoding_alone ? encodings : forms)
          .push_back(fmt::format("{}: {}", type.name, other->why));
  }
  // Where a type has the model's form, the others say nothing.
  fail(Exit::usage, "no published type carries this model with '{}' ({})", g.name,
       join(encodings.empty() ? forms : encodings, "; "));
}

namespace {

// The values of a piece, of the parameter's values and the first of its rows that stands there.
std::vector<double> values_of(const Piece& piece, const ModelConfig& m,
                              std::span<const double> parameter, std::int64_t width,
                              std::int64_t first) {
  const std::int64_t rows =
      (piece.rows == Rows::transposed ? piece.shape[1] : piece.shape[0]) - piece.skip;
  std::vector<double> out(static_cast<std::size_t>(piece.shape.count()));
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < width; ++c) {
      const std::int64_t row = piece.rows == Rows::by_head ? by_head(r, m) : r;
      const std::int64_t at =
          piece.rows == Rows::transposed ? c * rows + r : (piece.skip + row) * width + c;
      out[static_cast<std::size_t>(at)] =
          parameter[static_cast<std::size_t>((first + r) * width + c)] / piece.times - piece.less;
    }
  return out;
}

}  // namespace

void write_checkpoint(const fs::path& folder, const Json& config, Model& model) {
  const Published p = published_of(config, "config.json");
  struct Part {
    const Parameter* from;
    Piece piece;
    std::int64_t first;  // row of the parameter
  };
  std::vector<Part> parts;
  std::vector<TensorToWrite> tensors;
  for (const Parameter& from : model.parameters()) {
    std::int64_t first = 0;
    for (const Piece& piece : pieces_of(p, from.name, from.shape)) {
      parts.push_back({&from, piece, first});
      tensors.push_back({piece.tensor, piece.shape});
      first += (piece.rows == Rows::transposed ? piece.shape[1] : piece.shape[0]) - piece.skip;
    }
    PES_CHECK(first == from.shape[0]);
  }
  fs::create_directories(folder);
  std::vector<double> parameter;
  write_safetensors(folder / "model.safetensors", tensors, {{"format", "pt"}}, false,
                    [&](std::size_t i) {
                      const Part& part = parts[i];
                      const Shape& shape = part.from->shape;
                      parameter.resize(static_cast<std::size_t>(shape.count()));
                      model.backend().download(parameter.data(), part.from->view());
                      return values_of(part.piece, model.config(), parameter,
                                       shape.rank() == 2 ? shape[1] : 1, part.first);
                    });
  write_file_atomic(folder / "config.json", config.dump(2) + "\n");
}

}  // namespace pesuite::hf
