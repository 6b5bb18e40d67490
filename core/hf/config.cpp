#include "hf/config.h"

#include <cmath>
#include <limits>
#include <map>

#include "base/file.h"
#include "base/text.h"
#include "hf/ignored.h"
#include "hf/rotation.h"
#include "hf/types.h"

namespace pesuite::hf {

Activation activation_of(ConfigFields& f, const std::string& field, const std::string& absent,
                         bool gated) {
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
double positive(ConfigFields& f, const char* name, double absent) {
  const double x = f.number(name, absent);
  if (!(x > 0)) f.refuse(name, fmt::format("is {}, and must be positive", x));
  return x;
}
void turn_part(ConfigFields& f, Published& p, int context, double share, const std::string& where) {
  p.context = f.whole("max_position_embeddings", 1, context);
  Rotary r;
  r.base = base_of(f, "rope_theta", 10000);
  r.features = turned(f, "partial_rotary_factor", share, p.model.head_dim());
  p.encoding = rotary(f, r, p.context, where);
}

namespace {

const std::map<std::string, Reader*> readers = {{"llama", llama},
                                                {"mistral", llama},
                                                {"qwen2", llama},
                                                {"qwen3", llama},
                                                {"smollm3", llama},
                                                {"olmo2", olmo},
                                                {"olmo3", olmo},
                                                {"gemma", gemma},
                                                {"gemma2", gemma},
                                                {"gemma3_text", gemma},
                                                {"cohere", cohere},
                                                {"cohere2", cohere},
                                                {"exaone4", exaone},
                                                {"granite", granite},
                                                {"phi3", phi3},
                                                {"stablelm", stablelm},
                                                {"starcoder2", starcoder2},
                                                {"phi", phi},
                                                {"gpt_neox", neox},
                                                {"gpt2", gpt2},
                                                {"gptj", gptj},
                                                {"bloom", bloom},
                                                {"mpt", mpt},
                                                {"opt", opt}};

std::vector<std::string> names() {
  std::vector<std::string> out;
  for (const auto& [name, reader] : readers) out.push_back(name);
  out.insert(out.end(), {"gemma3", "mistral3"});
  return out;
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

// Models of images and text: the type of the part that reads text, and what its config leaves out
// where it is the published code's default.
struct Tower {
  const char* type;
  Json defaults;
};
const std::map<std::string, Tower> towers = {{"gemma3",
                                              {"gemma3_text",
                                               {{"vocab_size", 262208},
                                                {"hidden_size", 2304},
                                                {"intermediate_size", 9216},
                                                {"num_hidden_layers", 26},
                                                {"num_attention_heads", 8},
                                                {"num_key_value_heads", 4},
                                                {"sliding_window", 4096}}}},
                                             {"mistral3",
                                              {"mistral",
                                               {{"vocab_size", 32000},
                                                {"hidden_size", 4096},
                                                {"intermediate_size", 14336},
                                                {"num_hidden_layers", 32},
                                                {"num_attention_heads", 32},
                                                {"num_key_value_heads", 8},
                                                {"sliding_window", 4096}}}}};

Published text_of(const Json& config, const std::string& where, const Tower& tower) {
  ConfigFields f(config, where);
  f.pass(says_nothing);
  f.pass(of_generation);
  f.pass({"text_config", "vision_config", "image_token_index", "image_token_id", "boi_token_index",
          "eoi_token_index", "boi_token_id", "eoi_token_id", "mm_tokens_per_image",
          "multimodal_projector_bias", "projector_hidden_act", "spatial_merge_size",
          "vision_feature_layer", "eos_token_id", "tie_word_embeddings"});
  if (f.has("quantization_config"))
    f.refuse("quantization_config", "is there, and quantized weights are not read");
  f.finish();
  Json text = tower.defaults;
  text.update(f.object("text_config"));
  if (text.contains("model_type") && text["model_type"] != tower.type)
    f.refuse("text_config", fmt::format("has model_type {}; known there is {}",
                                        text["model_type"].dump(), tower.type));
  text["model_type"] = tower.type;
  for (const char* field : {"eos_token_id", "tie_word_embeddings"})
    if (f.has(field)) text[field] = config[field];
  Published p = published_of(text, where + ": text_config");
  p.beside_images = true;
  return p;
}

}  // namespace

Published published_of(const Json& config, const std::string& where) {
  if (config.is_object() && config.contains("model_type") && config["model_type"].is_string())
    if (const auto tower = towers.find(config["model_type"].get<std::string>());
        tower != towers.end())
      return text_of(config, where, tower->second);
  ConfigFields f(config, where);
  const std::string type = f.text("model_type", "");
  f.pass(says_nothing);
  f.pass(of_generation);
  if (f.has("quantization_config"))
    f.refuse("quantization_config", "is there, and quantized weights are not read");
  const int vocabulary = f.whole("vocab_size", 1);
  const auto reader = readers.find(type);
  if (reader == readers.end())
    f.refuse("model_type", fmt::format("is '{}'; known are {}", type, join(names(), ", ")));
  Published p = reader->second(f, type, where);
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
