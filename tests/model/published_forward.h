// The published models once more, by plain loops in double over the tensors of their files: what
// the reference backend is held to. Shares nothing with core/ but the reading of tensors.
#pragma once

#include <cmath>
#include <functional>
#include <numbers>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "model/safetensors.h"

namespace pesuite::testing {

using Row = std::vector<double>;
using Rows = std::vector<Row>;  // a row a token

class PublishedForward {
 public:
  explicit PublishedForward(const fs::path& folder)
      : config_(Json::parse(read_file(folder / "config.json"))) {
    if (config_.contains("text_config")) config_ = Json(config_["text_config"]);
    for (const auto& item : fs::directory_iterator(folder))
      if (item.path().extension() == ".safetensors") files_.emplace_back(item.path());
  }

  // [tokens, vocabulary]
  Rows logits(std::span<const std::int32_t> tokens) {
    length_ = tokens.size();
    const std::string type = config_.at("model_type");
    if (type == "gpt2") return gpt2(tokens);
    if (type == "opt") return opt(tokens);
    if (type == "bloom") return bloom(tokens);
    if (type == "mpt") return mpt(tokens);
    if (type == "gptj") return gptj(tokens);
    if (type == "gpt_neox") return neox(tokens);
    if (type.starts_with("cohere")) return cohere(tokens);
    if (type.starts_with("olmo") || type.starts_with("gemma") || type == "exaone4")
      return normed_behind(tokens);
    return llama(tokens);
  }

 private:
  // -------------------------------------------------------------------------------- tensors
  const TensorEntry* entry(const std::string& name,
                           const SafetensorsReader** file = nullptr) const {
    for (const SafetensorsReader& f : files_)
      for (const std::string& full :
           {name, "transformer." + name, "language_model." + name,
            name.starts_with("model.") ? "model.language_model." + name.substr(6) : name})
        if (const auto it = f.tensors().find(full); it != f.tensors().end()) {
          if (file != nullptr) *file = &f;
          return &it->second;
        }
    return nullptr;
  }
  Row flat(const std::string& name) const {
    const SafetensorsReader* file = nullptr;
    const TensorEntry* e = entry(name, &file);
    if (e == nullptr) return {};
    std::int64_t count = 1;
    for (const std::int64_t n : e->shape) count *= n;
    std::vector<float> values(static_cast<std::size_t>(count));
    file->read(*e, 0, values);
    return {values.begin(), values.end()};
  }
  Rows matrix(const std::string& name, bool turned = false) const {
    const Row all = flat(name);
    const auto columns = static_cast<std::size_t>(entry(name)->shape[1]);
    const std::size_t rows = all.size() / columns;
    Rows m(turned ? columns : rows, Row(turned ? rows : columns));
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < columns; ++j) (turned ? m[j][i] : m[i][j]) = all[i * columns + j];
    return m;
  }

  // -------------------------------------------------------------------------------- parts
  // `name`.weight [out, in], or [in, out] where it is turned; `name`.bias where it is there.
  Rows linear(const Rows& x, const std::string& name, bool turned = false) const {
    const Rows w = matrix(name + ".weight", turned);
    const Row bias = flat(name + ".bias");
    Rows y(x.size(), Row(w.size()));
    for (std::size_t t = 0; t < x.size(); ++t)
      for (std::size_t o = 0; o < w.size(); ++o) {
        double sum = bias.empty() ? 0 : bias[o];
        for (std::size_t i = 0; i < w[o].size(); ++i) sum += w[o][i] * x[t][i];
        y[t][o] = sum;
      }
    return y;
  }
  Rows norm(Rows x, const std::string& name, double eps, bool rms = false, double more = 0) const {
    const Row gain = flat(name + ".weight"), bias = flat(name + ".bias");
    for (Row& row : x) {
      double mean = 0, squares = 0;
      for (const double v : row) mean += v / static_cast<double>(row.size());
      if (rms) mean = 0;
      for (const double v : row)
        squares += (v - mean) * (v - mean) / static_cast<double>(row.size());
      for (std::size_t i = 0; i < row.size(); ++i)
        row[i] = (row[i] - mean) / std::sqrt(squares + eps) * (gain[i] + more) +
                 (bias.empty() ? 0 : bias[i]);
    }
    return x;
  }
  static Rows times(Rows x, double factor) {
    for (Row& row : x)
      for (double& v : row) v *= factor;
    return x;
  }
  static Rows each(Rows x, const std::function<double(double)>& f) {
    for (Row& row : x)
      for (double& v : row) v = f(v);
    return x;
  }
  static double gelu(double x) { return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2)); }
  static double gelu_tanh(double x) {
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
  }
  static double silu(double x) { return x / (1 + std::exp(-x)); }
  static double relu(double x) { return x > 0 ? x : 0; }
  static Rows sum(Rows a, const Rows& b) {
    for (std::size_t t = 0; t < a.size(); ++t)
      for (std::size_t i = 0; i < a[t].size(); ++i) a[t][i] += b[t][i];
    return a;
  }
  Rows embedded(std::span<const std::int32_t> tokens, const std::string& name) const {
    const Rows table = matrix(name);
    Rows x;
    for (const std::int32_t t : tokens) x.push_back(table[static_cast<std::size_t>(t)]);
    return x;
  }
  // Columns first .. first + size - 1 of each row.
  static Rows columns(const Rows& x, std::size_t first, std::size_t size) {
    Rows y;
    for (const Row& row : x)
      y.emplace_back(row.begin() + static_cast<std::ptrdiff_t>(first),
                     row.begin() + static_cast<std::ptrdiff_t>(first + size));
    return y;
  }

  // -------------------------------------------------------------------------------- attention
  struct Heads {
    std::vector<Rows> q, k, v;  // of each head; key heads may be fewer
  };
  using Bias = std::function<double(std::size_t head, std::size_t query, std::size_t key)>;
  static double softcapped(double x, double cap) { return cap > 0 ? cap * std::tanh(x / cap) : x; }
  static Rows attention(const Heads& h, std::size_t window = 0, const Bias& bias = {},
                        double cap = 0) {
    const std::size_t T = h.q[0].size(), D = h.q[0][0].size(), shared = h.q.size() / h.k.size();
    Rows y(T, Row(h.q.size() * D));
    for (std::size_t head = 0; head < h.q.size(); ++head)
      for (std::size_t i = 0; i < T; ++i) {
        const std::size_t first = window > 0 && i + 1 > window ? i + 1 - window : 0;
        Row p;
        for (std::size_t j = first; j <= i; ++j) {
          double s = 0;
          for (std::size_t d = 0; d < D; ++d) s += h.q[head][i][d] * h.k[head / shared][j][d];
          s = softcapped(s / std::sqrt(static_cast<double>(D)), cap);
          p.push_back(s + (bias ? bias(head, i, j) : 0));
        }
        const double top = *std::max_element(p.begin(), p.end());
        double total = 0;
        for (double& s : p) total += s = std::exp(s - top);
        for (std::size_t j = first; j <= i; ++j)
          for (std::size_t d = 0; d < D; ++d)
            y[i][head * D + d] += p[j - first] / total * h.v[head / shared][j][d];
      }
    return y;
  }
  static std::vector<Rows> heads(const Rows& x, std::size_t size) {
    std::vector<Rows> out;
    for (std::size_t at = 0; at < x[0].size(); at += size) out.push_back(columns(x, at, size));
    return out;
  }
  // Rows of one product, for each head [q | k | v] (NeoX, BLOOM).
  static Heads by_head(const Rows& x, std::size_t size) {
    Heads h;
    for (std::size_t at = 0; at < x[0].size(); at += 3 * size) {
      h.q.push_back(columns(x, at, size));
      h.k.push_back(columns(x, at + size, size));
      h.v.push_back(columns(x, at + 2 * size, size));
    }
    return h;
  }
  static Heads in_thirds(const Rows& x, std::size_t size) {
    const std::size_t third = x[0].size() / 3;
    return {heads(columns(x, 0, third), size), heads(columns(x, third, third), size),
            heads(columns(x, 2 * third, third), size)};
  }

  // -------------------------------------------------------------------------------- rotation
  struct Rotation {
    Row frequency;  // of pairs
    double factor = 1;
    bool interleaved = false;
  };
  static void turn(std::vector<Rows>& heads, const Rotation& r) {
    const std::size_t n = r.frequency.size();
    for (Rows& head : heads)
      for (std::size_t t = 0; t < head.size(); ++t)
        for (std::size_t i = 0; i < n; ++i) {
          double &a = head[t][r.interleaved ? 2 * i : i],
                 &b = head[t][r.interleaved ? 2 * i + 1 : i + n];
          const double angle = static_cast<double>(t) * r.frequency[i];
          const double c = r.factor * std::cos(angle), s = r.factor * std::sin(angle), x = a;
          a = c * x - s * b, b = c * b + s * x;
        }
  }
  Rotation rotation(std::size_t turned) const {
    Json s = config_.value("rope_parameters", Json());
    double theta = s.is_object() ? s.value("rope_theta", 10000.0) : 10000.0;
    theta = config_.value("rope_theta", config_.value("rotary_emb_base", theta));
    if (!s.is_object()) s = config_.value("rope_scaling", Json());
    return scaled(turned, theta, s);
  }
  Rotation scaled(std::size_t turned, double theta, const Json& s) const {
    const auto R = static_cast<double>(turned), T = static_cast<double>(length_);
    const auto plain = [&](double base) {
      Rotation r;
      for (std::size_t i = 0; i < turned / 2; ++i)
        r.frequency.push_back(std::pow(base, -2.0 * static_cast<double>(i) / R));
      return r;
    };
    if (!s.is_object()) return plain(theta);
    const std::string kind = s.contains("rope_type") ? s.at("rope_type") : s.at("type");
    const double context = config_.value("max_position_embeddings", 0);
    const double original = config_.value("original_max_position_embeddings",
                                          s.value("original_max_position_embeddings", context));
    const double factor = s.value("factor", context / original);
    Rotation r = plain(theta);
    if (kind == "linear")
      for (double& f : r.frequency) f /= factor;
    if (kind == "dynamic" && T > context)
      return plain(theta * std::pow(factor * T / context - (factor - 1), R / (R - 2)));
    if (kind == "llama3") scale_by_wavelength(r, s, factor, original);
    if (kind == "yarn") interpolate_slow(r, s, theta, factor, original, R);
    if (kind == "longrope") {
      const Json& by = s.at(T > original ? "long_factor" : "short_factor");
      for (std::size_t i = 0; i < r.frequency.size(); ++i) r.frequency[i] /= by.at(i).get<double>();
      r.factor = std::sqrt(1 + std::log(factor) / std::log(original));
    }
    return r;
  }
  static void scale_by_wavelength(Rotation& r, const Json& s, double factor, double original) {
    const double low = s.at("low_freq_factor"), high = s.at("high_freq_factor");
    for (double& f : r.frequency) {
      const double turns = original * f / (2 * std::numbers::pi);  // in the original length
      if (turns < low) {
        f /= factor;
      } else if (turns <= high) {
        const double kept = (turns - low) / (high - low);
        f = (1 - kept) * f / factor + kept * f;
      }
    }
  }
  static void interpolate_slow(Rotation& r, const Json& s, double theta, double factor,
                               double original, double R) {
    const auto pair_of = [&](double turns) {
      return R * std::log(original / (turns * 2 * std::numbers::pi)) / (2 * std::log(theta));
    };
    const double low = std::max(std::floor(pair_of(s.value("beta_fast", 32.0))), 0.0);
    double high = std::min(std::ceil(pair_of(s.value("beta_slow", 1.0))), R - 1);
    if (low == high) high += 0.001;
    for (std::size_t i = 0; i < r.frequency.size(); ++i) {
      const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
      r.frequency[i] = r.frequency[i] / factor * ramp + r.frequency[i] * (1 - ramp);
    }
    r.factor = 0.1 * std::log(factor) + 1;
  }

  // -------------------------------------------------------------------------------- models
  std::size_t whole(const char* key) const { return config_.at(key).get<std::size_t>(); }
  std::string at(const std::string& list, std::size_t i) const {
    return list + "." + std::to_string(i) + ".";
  }

  // What LLaMA and its like do with n, the layer's normed input: q, k and v of all heads.
  Heads projected(const Rows& n, const std::string& l, std::size_t D, double eps) const {
    Heads h;
    if (entry(l + "self_attn.qkv_proj.weight") != nullptr) {  // below each other
      const Rows all = linear(n, l + "self_attn.qkv_proj");
      const std::size_t q = whole("num_attention_heads") * D, k = (all[0].size() - q) / 2;
      h = {heads(columns(all, 0, q), D), heads(columns(all, q, k), D),
           heads(columns(all, q + k, k), D)};
    } else {
      h = {heads(linear(n, l + "self_attn.q_proj"), D), heads(linear(n, l + "self_attn.k_proj"), D),
           heads(linear(n, l + "self_attn.v_proj"), D)};
    }
    if (entry(l + "self_attn.q_norm.weight") != nullptr) {
      for (Rows& q : h.q) q = norm(q, l + "self_attn.q_norm", eps, true);
      for (Rows& k : h.k) k = norm(k, l + "self_attn.k_norm", eps, true);
    }
    return h;
  }
  Rows feed_forward(const Rows& n, const std::string& l, double (*act)(double) = silu) const {
    if (entry(l + "mlp.c_fc.weight") != nullptr)
      return linear(each(linear(n, l + "mlp.c_fc"), gelu_tanh), l + "mlp.c_proj");
    if (entry(l + "mlp.fc1.weight") != nullptr)
      return linear(each(linear(n, l + "mlp.fc1"), gelu_tanh), l + "mlp.fc2");
    Rows gate, up;
    if (entry(l + "mlp.gate_up_proj.weight") != nullptr) {
      const Rows both = linear(n, l + "mlp.gate_up_proj");
      gate = columns(both, 0, both[0].size() / 2);
      up = columns(both, both[0].size() / 2, both[0].size() / 2);
    } else {
      gate = linear(n, l + "mlp.gate_proj"), up = linear(n, l + "mlp.up_proj");
    }
    gate = each(gate, act);
    for (std::size_t t = 0; t < gate.size(); ++t)
      for (std::size_t f = 0; f < gate[t].size(); ++f) gate[t][f] *= up[t][f];
    return linear(gate, l + "mlp.down_proj");
  }

  Rows llama(std::span<const std::int32_t> tokens) const {
    const std::string type = config_.at("model_type");
    const bool rms = config_.contains("rms_norm_eps");
    const double eps = config_.at(rms                    ? "rms_norm_eps"
                                  : type == "starcoder2" ? "norm_epsilon"
                                                         : "layer_norm_eps");
    const std::size_t D =
        config_.value("head_dim", whole("hidden_size") / whole("num_attention_heads"));
    const Rotation r = rotation(static_cast<std::size_t>(
        static_cast<double>(D) * config_.value("partial_rotary_factor", 1.0)));
    Json window;
    if (type == "mistral" || type == "phi3" || type == "starcoder2")
      window = config_["sliding_window"];
    const bool parallel = type == "phi" || config_.value("use_parallel_residual", false);
    const auto turns = [&](std::size_t layer) {
      return !config_.contains("no_rope_layers") || config_["no_rope_layers"].at(layer) == 1;
    };
    const double root = std::sqrt(static_cast<double>(D)), added = factor("residual_multiplier");
    const double scores = config_.value("attention_multiplier", 1 / root) * root;
    Rows x = times(embedded(tokens, "model.embed_tokens.weight"), factor("embedding_multiplier"));
    for (std::size_t i = 0; i < whole("num_hidden_layers"); ++i) {
      const std::string l = at("model.layers", i);
      const Rows n = norm(x, l + "input_layernorm", eps, rms);
      Heads h = projected(n, l, D, eps);
      for (Rows& q : h.q) q = times(q, scores);
      if (turns(i)) turn(h.q, r), turn(h.k, r);
      const Rows y = attention(h, window.is_number() ? window.get<std::size_t>() : 0);
      const char* out = type == "phi" ? "self_attn.dense" : "self_attn.o_proj";
      x = sum(x, times(linear(y, l + out), added));
      const Rows m = parallel ? n : norm(x, l + "post_attention_layernorm", eps, rms);
      x = sum(x, times(feed_forward(m, l), added));
    }
    x = norm(x, type == "phi" ? "model.final_layernorm" : "model.norm", eps, rms);
    return times(linear(x, entry("lm_head.weight") != nullptr ? "lm_head" : "model.embed_tokens"),
                 1 / factor("logits_scaling"));
  }
  double factor(const char* key) const { return config_.value(key, 1.0); }

  Rows cohere(std::span<const std::int32_t> tokens) const {
    const double eps = config_.at("layer_norm_eps");
    const std::size_t D = whole("hidden_size") / whole("num_attention_heads");
    const bool windows = config_.contains("sliding_window");
    Rotation r = rotation(D);
    r.interleaved = true;
    Rows x = embedded(tokens, "model.embed_tokens.weight");
    for (std::size_t i = 0; i < whole("num_hidden_layers"); ++i) {
      const std::string l = at("model.layers", i);
      const Rows n = norm(x, l + "input_layernorm", eps);
      Heads h = projected(n, l, D, eps);
      const bool far = windows && sees_all(i);
      if (!far) turn(h.q, r), turn(h.k, r);
      const Rows y = attention(h, windows && !far ? whole("sliding_window") : 0);
      x = sum(sum(x, linear(y, l + "self_attn.o_proj")), feed_forward(n, l));
    }
    return times(linear(norm(x, "model.norm", eps), "model.embed_tokens"), factor("logit_scale"));
  }

  // Whether a layer sees all, and how far each way of turning goes.
  bool sees_all(std::size_t layer) const {
    if (!config_.contains("sliding_window")) return true;
    if (config_.contains("layer_types"))
      return config_["layer_types"].at(layer) == "full_attention";
    if (config_.at("model_type") == "gemma2") return layer % 2 == 1;
    return (layer + 1) % whole("sliding_window_pattern") == 0;
  }
  Rotation rotation_of_layer(std::size_t layer, std::size_t D) const {
    const bool all = sees_all(layer);
    if (config_.at("model_type") == "gemma2") return rotation(D);
    if (config_.at("model_type") == "exaone4")
      return all && config_["sliding_window"].is_number() ? Rotation{} : rotation(D);
    const Json p = config_.value("rope_parameters", Json());
    if (p.is_object()) {
      const Json& own = p.at(all ? "full_attention" : "sliding_attention");
      return scaled(D, own.at("rope_theta"), own);
    }
    const double theta = config_.value("rope_theta", 1e6);
    const bool gemma = config_.at("model_type") == "gemma3_text";
    return all ? scaled(D, theta, config_["rope_scaling"])
               : scaled(D, config_.value("rope_local_base_freq", gemma ? 1e4 : theta), Json());
  }
  // OLMo, EXAONE and Gemma: all but the first Gemma have norms behind their parts.
  Rows normed_behind(std::span<const std::int32_t> tokens) const {
    const std::string type = config_.at("model_type");
    const bool olmo = type.starts_with("olmo");
    const bool gemma = type.starts_with("gemma"), behind = type != "gemma";
    const double eps = config_.at("rms_norm_eps"), more = gemma ? 1 : 0;
    const std::size_t D =
        config_.value("head_dim", whole("hidden_size") / whole("num_attention_heads"));
    const auto normed = [&](const Rows& x, const std::string& name) {
      return norm(x, name, eps, true, more);
    };
    Rows x = embedded(tokens, "model.embed_tokens.weight");
    if (gemma)
      for (Row& row : x)
        for (double& v : row) v *= std::sqrt(static_cast<double>(whole("hidden_size")));
    for (std::size_t i = 0; i < whole("num_hidden_layers"); ++i) {
      const std::string l = at("model.layers", i), a = l + "self_attn.";
      const Rows n = gemma ? normed(x, l + "input_layernorm") : x;
      Rows q = linear(n, a + "q_proj"), k = linear(n, a + "k_proj");
      if (olmo) q = normed(q, a + "q_norm"), k = normed(k, a + "k_norm");
      Heads h{heads(q, D), heads(k, D), heads(linear(n, a + "v_proj"), D)};
      if (!olmo && behind) {
        const double by = std::sqrt(static_cast<double>(D) /
                                    config_.value("query_pre_attn_scalar", static_cast<double>(D)));
        for (Rows& each : h.q)
          each = times(type == "gemma2" ? each : normed(each, a + "q_norm"), by);
        for (Rows& each : h.k) each = type == "gemma2" ? each : normed(each, a + "k_norm");
      }
      const Rotation r = rotation_of_layer(i, D);
      turn(h.q, r), turn(h.k, r);
      Rows y = attention(h, sees_all(i) ? 0 : whole("sliding_window"), {}, cap("attn_logit"));
      y = linear(y, a + "o_proj");
      x = sum(x, behind ? normed(y, l + "post_attention_layernorm") : y);
      y = !gemma
              ? x
              : normed(x, l + (behind ? "pre_feedforward_layernorm" : "post_attention_layernorm"));
      y = feed_forward(y, l, gemma ? gelu_tanh : silu);
      x = sum(x, behind ? normed(y, l + "post_feedforward_layernorm") : y);
    }
    x = linear(normed(x, "model.norm"),
               entry("lm_head.weight") != nullptr ? "lm_head" : "model.embed_tokens");
    return each(x, [c = cap("final_logit")](double z) { return softcapped(z, c); });
  }
  double cap(const std::string& of) const {
    const Json c = config_.value(of + "_softcapping", Json());
    return c.is_number() ? c.get<double>() : 0;
  }

  Rows neox(std::span<const std::int32_t> tokens) const {
    const double eps = config_.at("layer_norm_eps");
    const std::size_t D = whole("hidden_size") / whole("num_attention_heads");
    double share = config_.value("rotary_pct", 0.25);
    if (const Json p = config_.value("rope_parameters", Json()); p.is_object())
      share = p.value("partial_rotary_factor", share);
    const Rotation r = rotation(static_cast<std::size_t>(static_cast<double>(D) * share));
    Rows x = embedded(tokens, "gpt_neox.embed_in.weight");
    for (std::size_t i = 0; i < whole("num_hidden_layers"); ++i) {
      const std::string l = at("gpt_neox.layers", i);
      Heads h =
          by_head(linear(norm(x, l + "input_layernorm", eps), l + "attention.query_key_value"), D);
      turn(h.q, r), turn(h.k, r);
      const Rows y = sum(x, linear(attention(h), l + "attention.dense"));
      const Rows n =
          norm(config_.at("use_parallel_residual") ? x : y, l + "post_attention_layernorm", eps);
      x = sum(y, linear(each(linear(n, l + "mlp.dense_h_to_4h"), gelu), l + "mlp.dense_4h_to_h"));
    }
    return linear(norm(x, "gpt_neox.final_layer_norm", eps), "embed_out");
  }

  Rows gptj(std::span<const std::int32_t> tokens) const {
    const double eps = config_.at("layer_norm_epsilon");
    const std::size_t D = whole("n_embd") / whole("n_head");
    Rotation r = rotation(whole("rotary_dim"));
    r.interleaved = true;
    Rows x = embedded(tokens, "wte.weight");
    for (std::size_t i = 0; i < whole("n_layer"); ++i) {
      const std::string l = at("h", i);
      const Rows n = norm(x, l + "ln_1", eps);
      Heads h{heads(linear(n, l + "attn.q_proj"), D), heads(linear(n, l + "attn.k_proj"), D),
              heads(linear(n, l + "attn.v_proj"), D)};
      turn(h.q, r), turn(h.k, r);
      x = sum(x, linear(attention(h), l + "attn.out_proj"));
      x = sum(x, linear(each(linear(n, l + "mlp.fc_in"), gelu_tanh), l + "mlp.fc_out"));
    }
    return linear(norm(x, "ln_f", eps), "lm_head");
  }

  Rows gpt2(std::span<const std::int32_t> tokens) const {
    const double eps = config_.at("layer_norm_epsilon");
    const std::size_t D = whole("n_embd") / whole("n_head");
    Rows x = embedded(tokens, "wte.weight");
    const Rows places = matrix("wpe.weight");
    x = sum(x, places);
    for (std::size_t i = 0; i < whole("n_layer"); ++i) {
      const std::string l = at("h", i);
      const Heads h = in_thirds(linear(norm(x, l + "ln_1", eps), l + "attn.c_attn", true), D);
      x = sum(x, linear(attention(h), l + "attn.c_proj", true));
      const Rows n = norm(x, l + "ln_2", eps);
      x = sum(x, linear(each(linear(n, l + "mlp.c_fc", true), gelu_tanh), l + "mlp.c_proj", true));
    }
    return linear(norm(x, "ln_f", eps), "wte");
  }

  Rows opt(std::span<const std::int32_t> tokens) const {
    constexpr double eps = 1e-5;
    const std::size_t D = whole("hidden_size") / whole("num_attention_heads");
    const std::string all = "model.decoder.";
    Rows x = embedded(tokens, all + "embed_tokens.weight");
    Rows places = matrix(all + "embed_positions.weight");
    places.erase(places.begin(), places.begin() + 2);
    x = sum(x, places);
    for (std::size_t i = 0; i < whole("num_hidden_layers"); ++i) {
      const std::string l = at(all + "layers", i);
      const Rows n = norm(x, l + "self_attn_layer_norm", eps);
      const Heads h{heads(linear(n, l + "self_attn.q_proj"), D),
                    heads(linear(n, l + "self_attn.k_proj"), D),
                    heads(linear(n, l + "self_attn.v_proj"), D)};
      x = sum(x, linear(attention(h), l + "self_attn.out_proj"));
      const Rows m = norm(x, l + "final_layer_norm", eps);
      x = sum(x, linear(each(linear(m, l + "fc1"), relu), l + "fc2"));
    }
    return linear(norm(x, all + "final_layer_norm", eps), all + "embed_tokens");
  }

  // 2^(-8 h / H), h = 1 .. H, of a power of two.
  static Bias alibi(std::size_t count) {
    return [count](std::size_t head, std::size_t query, std::size_t key) {
      const double slope =
          std::exp2(-8 * static_cast<double>(head + 1) / static_cast<double>(count));
      return -slope * static_cast<double>(query - key);
    };
  }

  Rows bloom(std::span<const std::int32_t> tokens) const {
    const double eps = config_.at("layer_norm_epsilon");
    const std::size_t H = whole("n_head"), D = whole("hidden_size") / H;
    Rows x = norm(embedded(tokens, "word_embeddings.weight"), "word_embeddings_layernorm", eps);
    for (std::size_t i = 0; i < whole("n_layer"); ++i) {
      const std::string l = at("h", i);
      const Heads h = by_head(
          linear(norm(x, l + "input_layernorm", eps), l + "self_attention.query_key_value"), D);
      x = sum(x, linear(attention(h, 0, alibi(H)), l + "self_attention.dense"));
      const Rows n = norm(x, l + "post_attention_layernorm", eps);
      x = sum(x,
              linear(each(linear(n, l + "mlp.dense_h_to_4h"), gelu_tanh), l + "mlp.dense_4h_to_h"));
    }
    return linear(norm(x, "ln_f", eps), "word_embeddings");
  }

  Rows mpt(std::span<const std::int32_t> tokens) const {
    const double eps = config_.at("layer_norm_epsilon");
    const std::size_t H = whole("n_heads"), D = whole("d_model") / H;
    Rows x = embedded(tokens, "wte.weight");
    for (std::size_t i = 0; i < whole("n_layers"); ++i) {
      const std::string l = at("blocks", i);
      const Heads h = in_thirds(linear(norm(x, l + "norm_1", eps), l + "attn.Wqkv"), D);
      x = sum(x, linear(attention(h, 0, alibi(H)), l + "attn.out_proj"));
      x = sum(x, linear(each(linear(norm(x, l + "norm_2", eps), l + "ffn.up_proj"), gelu),
                        l + "ffn.down_proj"));
    }
    return linear(norm(x, "norm_f", eps), "wte");
  }

  Json config_;
  std::vector<SafetensorsReader> files_;
  std::size_t length_ = 0;
};

}  // namespace pesuite::testing
