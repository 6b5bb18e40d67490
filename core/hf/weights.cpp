#include "hf/weights.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace pesuite::hf {

namespace {

// Modules by our names, '*' for the layer's number. A '+' joins those that stand below each other
// in ours.
struct Layout {
  std::string prefix;   // of most names
  bool bare;            // some writers leave it out
  Rows linear, packed;  // of linear layers, and of q, k and v
  std::map<std::string, std::string> modules;
};

const Layout llama_names = {
    "model.",
    false,
    Rows::straight,
    Rows::straight,
    {{"embedding", "model.embed_tokens"},
     {"layers.*.attention_norm", "model.layers.*.input_layernorm"},
     {"layers.*.attention.qkv",
      "model.layers.*.self_attn.q_proj+model.layers.*.self_attn.k_proj+"
      "model.layers.*.self_attn.v_proj"},
     {"layers.*.attention.q_norm", "model.layers.*.self_attn.q_norm"},
     {"layers.*.attention.k_norm", "model.layers.*.self_attn.k_norm"},
     {"layers.*.attention.out", "model.layers.*.self_attn.o_proj"},
     {"layers.*.mlp_norm", "model.layers.*.post_attention_layernorm"},
     {"layers.*.mlp.in", "model.layers.*.mlp.gate_proj+model.layers.*.mlp.up_proj"},
     {"layers.*.mlp.down", "model.layers.*.mlp.down_proj"},
     {"norm", "model.norm"},
     {"head", "lm_head"}}};
// LLaMA's names but for some modules.
Layout llama_but(const std::map<std::string, std::string>& modules) {
  Layout l = llama_names;
  for (const auto& [ours, theirs] : modules) l.modules[ours] = theirs;
  return l;
}
const Layout olmo_names =
    llama_but({{"layers.*.attention_out_norm", "model.layers.*.post_attention_layernorm"},
               {"layers.*.mlp_out_norm", "model.layers.*.post_feedforward_layernorm"}});
const Layout gemma2_names =
    llama_but({{"layers.*.attention_out_norm", "model.layers.*.post_attention_layernorm"},
               {"layers.*.mlp_norm", "model.layers.*.pre_feedforward_layernorm"},
               {"layers.*.mlp_out_norm", "model.layers.*.post_feedforward_layernorm"}});
const Layout phi3_names =
    llama_but({{"layers.*.attention.qkv", "model.layers.*.self_attn.qkv_proj"},
               {"layers.*.mlp.in", "model.layers.*.mlp.gate_up_proj"}});
const Layout starcoder2_names = llama_but({{"layers.*.mlp.in", "model.layers.*.mlp.c_fc"},
                                           {"layers.*.mlp.down", "model.layers.*.mlp.c_proj"}});
const Layout phi_names = llama_but({{"layers.*.attention.out", "model.layers.*.self_attn.dense"},
                                    {"layers.*.mlp.in", "model.layers.*.mlp.fc1"},
                                    {"layers.*.mlp.down", "model.layers.*.mlp.fc2"},
                                    {"norm", "model.final_layernorm"}});
const Layout neox_names = {
    "gpt_neox.",
    false,
    Rows::straight,
    Rows::by_head,
    {{"embedding", "gpt_neox.embed_in"},
     {"layers.*.attention_norm", "gpt_neox.layers.*.input_layernorm"},
     {"layers.*.attention.qkv", "gpt_neox.layers.*.attention.query_key_value"},
     {"layers.*.attention.out", "gpt_neox.layers.*.attention.dense"},
     {"layers.*.mlp_norm", "gpt_neox.layers.*.post_attention_layernorm"},
     {"layers.*.mlp.in", "gpt_neox.layers.*.mlp.dense_h_to_4h"},
     {"layers.*.mlp.down", "gpt_neox.layers.*.mlp.dense_4h_to_h"},
     {"norm", "gpt_neox.final_layer_norm"},
     {"head", "embed_out"}}};
const Layout gpt2_names = {"transformer.",
                           true,
                           Rows::transposed,
                           Rows::transposed,
                           {{"embedding", "transformer.wte"},
                            {"layers.*.attention_norm", "transformer.h.*.ln_1"},
                            {"layers.*.attention.qkv", "transformer.h.*.attn.c_attn"},
                            {"layers.*.attention.out", "transformer.h.*.attn.c_proj"},
                            {"layers.*.mlp_norm", "transformer.h.*.ln_2"},
                            {"layers.*.mlp.in", "transformer.h.*.mlp.c_fc"},
                            {"layers.*.mlp.down", "transformer.h.*.mlp.c_proj"},
                            {"norm", "transformer.ln_f"},
                            {"head", "lm_head"},
                            {"encoding", "transformer.wpe"}}};
const Layout gptj_names = {"transformer.",
                           false,
                           Rows::straight,
                           Rows::straight,
                           {{"embedding", "transformer.wte"},
                            {"layers.*.attention_norm", "transformer.h.*.ln_1"},
                            {"layers.*.attention.qkv",
                             "transformer.h.*.attn.q_proj+transformer.h.*.attn.k_proj+"
                             "transformer.h.*.attn.v_proj"},
                            {"layers.*.attention.out", "transformer.h.*.attn.out_proj"},
                            {"layers.*.mlp.in", "transformer.h.*.mlp.fc_in"},
                            {"layers.*.mlp.down", "transformer.h.*.mlp.fc_out"},
                            {"norm", "transformer.ln_f"},
                            {"head", "lm_head"}}};
const Layout bloom_names = {
    "transformer.",
    true,
    Rows::straight,
    Rows::by_head,
    {{"embedding", "transformer.word_embeddings"},
     {"embedding_norm", "transformer.word_embeddings_layernorm"},
     {"layers.*.attention_norm", "transformer.h.*.input_layernorm"},
     {"layers.*.attention.qkv", "transformer.h.*.self_attention.query_key_value"},
     {"layers.*.attention.out", "transformer.h.*.self_attention.dense"},
     {"layers.*.mlp_norm", "transformer.h.*.post_attention_layernorm"},
     {"layers.*.mlp.in", "transformer.h.*.mlp.dense_h_to_4h"},
     {"layers.*.mlp.down", "transformer.h.*.mlp.dense_4h_to_h"},
     {"norm", "transformer.ln_f"},
     {"head", "lm_head"}}};
const Layout mpt_names = {"transformer.",
                          false,
                          Rows::straight,
                          Rows::straight,
                          {{"embedding", "transformer.wte"},
                           {"layers.*.attention_norm", "transformer.blocks.*.norm_1"},
                           {"layers.*.attention.qkv", "transformer.blocks.*.attn.Wqkv"},
                           {"layers.*.attention.out", "transformer.blocks.*.attn.out_proj"},
                           {"layers.*.mlp_norm", "transformer.blocks.*.norm_2"},
                           {"layers.*.mlp.in", "transformer.blocks.*.ffn.up_proj"},
                           {"layers.*.mlp.down", "transformer.blocks.*.ffn.down_proj"},
                           {"norm", "transformer.norm_f"},
                           {"head", "lm_head"}}};
const Layout opt_names = {
    "model.",
    true,
    Rows::straight,
    Rows::straight,
    {{"embedding", "model.decoder.embed_tokens"},
     {"layers.*.attention_norm", "model.decoder.layers.*.self_attn_layer_norm"},
     {"layers.*.attention.qkv",
      "model.decoder.layers.*.self_attn.q_proj+model.decoder.layers.*.self_attn.k_proj+"
      "model.decoder.layers.*.self_attn.v_proj"},
     {"layers.*.attention.out", "model.decoder.layers.*.self_attn.out_proj"},
     {"layers.*.mlp_norm", "model.decoder.layers.*.final_layer_norm"},
     {"layers.*.mlp.in", "model.decoder.layers.*.fc1"},
     {"layers.*.mlp.down", "model.decoder.layers.*.fc2"},
     {"norm", "model.decoder.final_layer_norm"},
     {"head", "lm_head"},
     {"encoding", "model.decoder.embed_positions"}}};

const Layout& layout_of(const std::string& type) {
  static const std::map<std::string, const Layout*> all = {
      {"llama", &llama_names},   {"mistral", &llama_names}, {"qwen2", &llama_names},
      {"qwen3", &llama_names},   {"smollm3", &llama_names}, {"stablelm", &llama_names},
      {"gemma", &llama_names},   {"gemma2", &gemma2_names}, {"gemma3_text", &gemma2_names},
      {"olmo2", &olmo_names},    {"olmo3", &olmo_names},    {"cohere", &llama_names},
      {"cohere2", &llama_names}, {"exaone4", &olmo_names},  {"granite", &llama_names},
      {"phi3", &phi3_names},     {"phi", &phi_names},       {"starcoder2", &starcoder2_names},
      {"gpt_neox", &neox_names}, {"gpt2", &gpt2_names},     {"gptj", &gptj_names},
      {"bloom", &bloom_names},   {"mpt", &mpt_names},       {"opt", &opt_names}};
  return *all.at(type);
}

// Stored by some writers beside the weights: masks and tables that follow from the config.
bool follows(const std::string& name) {
  for (const char* end : {".rotary_emb.inv_freq", ".attention.bias", ".attention.masked_bias",
                          ".attn.bias", ".attn.masked_bias"})
    if (name.ends_with(end)) return true;
  return false;
}

// Of the parts that read images.
bool sees(std::string_view name) {
  if (name.starts_with("model.")) name.remove_prefix(6);
  return name.starts_with("vision_tower.") || name.starts_with("multi_modal_projector.");
}

// "layers.3.mlp.in.weight" -> module "layers.*.mlp.in", number "3", ending ".weight".
struct Named {
  std::string module, number, ending;
  explicit Named(std::string name) {
    if (name.starts_with("encoding.")) {
      module = "encoding", ending = ".weight";
      return;
    }
    const std::size_t dot = name.rfind('.');
    ending = name.substr(dot), name.resize(dot);
    if (name.starts_with("layers.")) {
      const std::size_t end = name.find('.', 7);
      number = name.substr(7, end - 7);
      name = "layers.*" + name.substr(end);
    }
    module = name;
  }
};

std::string numbered(std::string name, const std::string& number) {
  if (const std::size_t star = name.find('*'); star != std::string::npos)
    name.replace(star, 1, number);
  return name;
}

std::vector<std::string> parts_of(const std::string& names) {
  std::vector<std::string> out(1);
  for (const char c : names)
    if (c == '+')
      out.emplace_back();
    else
      out.back() += c;
  return out;
}

}  // namespace

std::vector<Piece> pieces_of(const Published& p, const std::string& parameter, const Shape& shape) {
  const Layout& layout = layout_of(p.type);
  const Named named(parameter);
  const auto it = layout.modules.find(named.module);
  if (it == layout.modules.end())
    fail(Exit::internal, "models of type {} have no parameter '{}'", p.type, parameter);
  const ModelConfig& m = p.model;
  const bool packed = named.module.ends_with(".qkv"), matrix = shape.rank() == 2;
  const bool linear = named.module.find(".attention.") != std::string::npos ||
                      named.module.find(".mlp.") != std::string::npos;
  std::vector<std::string> names = parts_of(it->second);
  std::vector<Piece> out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    Piece piece;
    piece.tensor = numbered(names[i], named.number) + named.ending;
    std::int64_t rows = shape[0];
    if (packed && names.size() == 3)
      rows = (i == 0 ? m.heads : m.groups()) * m.head_dim();
    else if (names.size() > 1)
      rows = shape[0] / static_cast<std::int64_t>(names.size());
    piece.rows = !linear ? Rows::straight : packed ? layout.packed : layout.linear;
    if (piece.rows == Rows::transposed && !matrix) piece.rows = Rows::straight;  // of a bias
    if (p.type == "opt" && named.module == "encoding") piece.skip = 2;
    if (p.type.starts_with("gemma") && named.module.ends_with("norm")) piece.less = 1;
    if (const auto factor = p.times.find(named.module);
        factor != p.times.end() && (!packed || i == 0))
      piece.times = factor->second;
    rows += piece.skip;
    piece.shape = !matrix                          ? Shape{rows}
                  : piece.rows == Rows::transposed ? Shape{shape[1], rows}
                                                   : Shape{rows, shape[1]};
    out.push_back(std::move(piece));
  }
  return out;
}

WeightFiles::WeightFiles(const fs::path& folder) : folder_(folder) {
  const fs::path index = folder / "model.safetensors.index.json";
  std::map<std::string, std::string> wanted;  // files by tensor
  if (fs::exists(index)) {
    const Json j = Json::parse(read_file(index), nullptr, false);
    if (!j.is_object() || !j.contains("weight_map") || !j["weight_map"].is_object() ||
        j["weight_map"].empty())
      fail(Exit::data, "{} holds no 'weight_map'", index.string());
    for (const auto& [tensor, file] : j["weight_map"].items()) {
      const std::string name = file.is_string() ? file.get<std::string>() : "";
      if (name.empty() || fs::path(name).filename() != name)
        fail(Exit::data, "{}: tensor '{}' lies in {}, which is no name of a file beside it",
             index.string(), tensor, file.dump());
      wanted[tensor] = name;
      if (!files_.contains(name)) files_.emplace(name, SafetensorsReader(folder / name));
    }
  } else if (fs::exists(folder / "model.safetensors")) {
    files_.emplace("model.safetensors", SafetensorsReader(folder / "model.safetensors"));
  } else {
    fail(Exit::data,
         "{} holds no model.safetensors and no index of several; other forms of weights "
         "are not read: convert them to safetensors",
         folder.string());
  }
  for (const auto& [name, file] : files_)
    for (const auto& [tensor, entry] : file.tensors()) {
      if (!tensors_.emplace(tensor, Held{&file, &entry}).second)
        fail(Exit::data, "{}: tensor '{}' stands in two files", folder.string(), tensor);
      if (!wanted.empty() && (!wanted.contains(tensor) || wanted.at(tensor) != name))
        fail(Exit::data, "{}: tensor '{}' lies in {}, and the index does not say so",
             folder.string(), tensor, name);
    }
  for (const auto& [tensor, name] : wanted)
    if (!tensors_.contains(tensor))
      fail(Exit::data, "{} says that {} holds tensor '{}', and it does not", index.string(), name,
           tensor);
}

std::uint64_t WeightFiles::bytes() const {
  std::uint64_t n = 0;
  for (const auto& [name, at] : tensors_) n += at.entry->end - at.entry->begin;
  return n;
}

ModelUse WeightFiles::use(const Published& p) const {
  const bool as_they_are = std::all_of(p.times.begin(), p.times.end(), [](const auto& factor) {
    return factor.first.ends_with("norm") || factor.second == 1;
  });
  const bool halves = std::all_of(tensors_.begin(), tensors_.end(), [](const auto& t) {
    return t.second.entry->shape.size() != 2 || t.second.entry->type == "BF16";
  });
  return {.trains = false, .rounds = true, .exact = halves && as_they_are};
}

void WeightFiles::require_room_for(const Published& p) const {
  if (parameter_count(p.model) > static_cast<std::int64_t>(bytes()))
    fail(Exit::data, "{}: config.json describes {} weights, and the files hold {} bytes",
         folder_.string(), parameter_count(p.model), bytes());
}

const WeightFiles::Held* WeightFiles::find(const Published& p, const std::string& tensor) const {
  const Layout& layout = layout_of(p.type);
  auto it = tensors_.find(tensor);
  if (it == tensors_.end() && layout.bare && tensor.starts_with(layout.prefix))
    it = tensors_.find(tensor.substr(layout.prefix.size()));
  if (it == tensors_.end() && p.beside_images) it = tensors_.find("language_model." + tensor);
  if (it == tensors_.end() && p.beside_images && tensor.starts_with(layout.prefix))
    it = tensors_.find("model.language_model." + tensor.substr(layout.prefix.size()));
  return it == tensors_.end() ? nullptr : &it->second;
}

const WeightFiles::Held& WeightFiles::held(const Published& p, const Piece& piece) const {
  const Held* found = find(p, piece.tensor);
  if (found == nullptr)
    fail(Exit::data, "{} holds no tensor '{}', which a model of type {} has", folder_.string(),
         piece.tensor, p.type);
  const std::vector<std::int64_t> wanted(piece.shape.data(),
                                         piece.shape.data() + piece.shape.rank());
  if (found->entry->shape != wanted)
    fail(Exit::data, "{}: tensor '{}' is [{}], and config.json makes it {}", folder_.string(),
         piece.tensor, fmt::join(found->entry->shape, ", "), piece.shape.text());
  return *found;
}

std::int64_t by_head(std::int64_t r, const ModelConfig& m) {
  const std::int64_t D = m.head_dim(), part = r / (m.heads * D), h = r / D % m.heads;
  return (h * 3 + part) * D + r % D;
}

namespace {

constexpr std::int64_t floats_at_once = 1 << 18;  // 1 MB, in a cache until they are stored

}  // namespace

void WeightFiles::load(const Published& p, Model& model) const {
  std::set<const TensorEntry*> used;
  std::vector<float> values, turned;
  Backend& backend = model.backend();
  for (const Parameter& to : model.parameters()) {
    if (to.name.starts_with("encoding.") && !layout_of(p.type).modules.contains("encoding"))
      fail(Exit::usage,
           "{} holds no '{}': an encoding with learned parameters has to be trained; swap in one "
           "without",
           folder_.string(), to.name);
    const std::int64_t width = to.shape.rank() == 2 ? to.shape[1] : 1;
    std::int64_t done = 0;  // rows of the parameter
    const auto put = [&](std::int64_t row, std::span<const float> rows) {
      const std::size_t number =
          to.storage == Storage::bf16 ? sizeof(std::uint16_t) : backend.element_size();
      auto* at = static_cast<std::byte*>(to.value) + static_cast<std::size_t>(row * width) * number;
      backend.upload({at, {std::ssize(rows)}, false, to.storage}, rows.data());
    };
    for (const Piece& piece : pieces_of(p, to.name, to.shape)) {
      const Held& from = held(p, piece);
      used.insert(from.entry);
      const auto read = [&](std::int64_t row, std::int64_t rows) {
        values.resize(static_cast<std::size_t>(rows * width));
        from.file->read(*from.entry, static_cast<std::uint64_t>(row * width), values);
        if (piece.less != 0 || piece.times != 1)
          for (float& v : values)
            v = static_cast<float>((static_cast<double>(v) + piece.less) * piece.times);
      };
      if (piece.rows == Rows::transposed) {
        const std::int64_t rows = piece.shape[1];
        read(0, rows);
        turned.resize(values.size());
        for (std::int64_t r = 0; r < rows; ++r)
          for (std::int64_t c = 0; c < width; ++c)
            turned[static_cast<std::size_t>(r * width + c)] =
                values[static_cast<std::size_t>(c * rows + r)];
        put(done, turned);
        done += rows;
        continue;
      }
      const std::int64_t rows = piece.shape[0] - piece.skip;
      const std::int64_t D = p.model.head_dim();
      const std::int64_t step =
          piece.rows == Rows::by_head ? D : std::max<std::int64_t>(1, floats_at_once / width);
      for (std::int64_t r = 0; r < rows; r += step) {
        const std::int64_t n = std::min(step, rows - r);
        read(piece.skip + (piece.rows == Rows::by_head ? by_head(r, p.model) : r), n);
        put(done + r, values);
      }
      done += rows;
    }
    PES_CHECK(done == to.shape[0]);
  }
  refuse_others(p, std::move(used));
}

void WeightFiles::refuse_others(const Published& p, std::set<const TensorEntry*> used) const {
  // Some tied models store the head beside the table; it is not looked at.
  if (p.model.tied)
    if (const Held* head = find(p, layout_of(p.type).modules.at("head") + ".weight"))
      used.insert(head->entry);
  for (const auto& [name, at] : tensors_)
    if (!used.contains(at.entry) && !follows(name) && !(p.beside_images && sees(name)))
      fail(Exit::data, "{}: tensor '{}' is none that a model of this config.json has",
           folder_.string(), name);
}

}  // namespace pesuite::hf
