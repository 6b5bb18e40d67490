#include "hf/rotation.h"

#include "hf/config.h"

namespace pesuite::hf {

namespace {

std::string scaled(const Rotary& r, ConfigFields& s, std::string kind, int context) {
  const int inside = s.whole("original_max_position_embeddings", 1, context);
  const int original = r.original > 0 ? r.original : inside;
  if (r.original > 0 && kind != "longrope" && kind != "su" && kind != "yarn")
    s.refuse("rope_type", fmt::format("is '{}'; models of this type have LongRoPE alone", kind));
  if (r.original > 0) kind = "longrope";
  const double factor = s.number("factor", 1);
  if (!(factor > 0)) s.refuse("factor", "must be positive");
  if (kind == "linear" && factor >= no_rotation) return "none";
  if (kind == "linear") return r.start("linear").with("factor", factor).text();
  if (kind == "dynamic")
    return r.start("ntk")
        .put("dynamic", "true")
        .with("factor", factor)
        .with("original", context)
        .text();
  if (kind == "llama3")
    return r.start("llama3")
        .with("factor", factor)
        .with("original", original)
        .with("low_freq_factor", s.number("low_freq_factor", 1))
        .with("high_freq_factor", s.number("high_freq_factor", 4))
        .text();
  if (kind == "yarn") {
    EncodingText t = r.start("yarn").with("factor", factor).with("original", original);
    t.with("beta_fast", s.number("beta_fast", 32)).with("beta_slow", s.number("beta_slow", 1));
    if (const double m = s.number("attention_factor", 0); m > 0) t.with("attention_factor", m);
    const double mscale = s.number("mscale", 0), all = s.number("mscale_all_dim", 0);
    if (mscale > 0 && all > 0) t.with("mscale", mscale).with("mscale_all_dim", all);
    if (!s.flag("truncate", true)) t.put("truncate", "false");
    return t.text();
  }
  if (kind == "longrope" || kind == "su") {
    EncodingText t = r.start("longrope").with("original", original);
    const double grown =
        s.has("factor") && r.original == 0 ? factor : static_cast<double>(context) / original;
    t.with("factor", grown);
    t.with("long_factor", s.numbers("long_factor")).with("short_factor", s.numbers("short_factor"));
    if (const double m = s.number("attention_factor", 0); m > 0) t.with("attention_factor", m);
    return t.text();
  }
  s.refuse("rope_type", fmt::format("is '{}'; known are default, linear, dynamic, yarn, llama3 and "
                                    "longrope",
                                    kind));
}

std::string rotary_in(ConfigFields s, const Rotary& r, int context) {
  s.pass({"rope_theta"});
  if (s.number("partial_rotary_factor", 1) != 1 && r.features == 0)
    s.refuse("partial_rotary_factor", "is not 1, and models of this type turn whole heads");
  const std::string old = s.text("type", "default"), kind = s.text("rope_type", old);
  const std::string text =
      kind == "default" || kind == "mrope" ? r.start("rope").text() : scaled(r, s, kind, context);
  if (kind == "mrope") s.refuse("rope_type", "is 'mrope', positions in space, which text has not");
  s.finish();
  return text;
}

}  // namespace

std::string rotary(ConfigFields& f, const Rotary& r, int context, const std::string& where) {
  const bool fifth = f.has("rope_parameters");
  const Json scaling = f.object("rope_scaling"), parameters = f.object("rope_parameters");
  return rotary_in(
      {fifth ? parameters : scaling, where + (fifth ? ": rope_parameters" : ": rope_scaling")}, r,
      context);
}

// By which vLLM and SGLang, which read this field, let scores grow with ln(T / original).
constexpr double chunk_mscale = 0.1;

std::string rotary_or_chunks(ConfigFields& f, const Rotary& r, int context,
                             const std::string& where) {
  const std::string plain = rotary(f, r, context, where);
  if (!f.has("dual_chunk_attention_config")) return plain;
  if (plain != r.start("rope").text())
    f.refuse("dual_chunk_attention_config", "stands beside a rope_scaling, which it would replace");
  ConfigFields s(f.object("dual_chunk_attention_config"), where + ": dual_chunk_attention_config");
  const int chunk = s.whole("chunk_size", 1, 8192), local = s.whole("local_size", 1, 1024);
  if (local >= chunk) s.refuse("local_size", fmt::format("is not below chunk_size, {}", chunk));
  s.only("sparse_attention_enabled", false, "scores of all keys are computed");
  EncodingText t = r.start("dual_chunk").with("chunk", chunk).with("window", local);
  if (const int original = s.whole("original_max_position_embeddings", 0, 0); original > 0)
    t.with("original", original).with("mscale", chunk_mscale);
  s.finish();
  return t.text();
}

double base_of(ConfigFields& f, const char* name, double absent) {
  const Json parameters = f.object("rope_parameters");
  const double own = f.number(name, f.number("rope_theta", absent));
  if (f.number("rope_theta", own) != own)
    f.refuse("rope_theta", fmt::format("is not {}, {}", name, own));
  return parameters.contains("rope_theta") && parameters["rope_theta"].is_number()
             ? parameters["rope_theta"].get<double>()
             : own;
}

int turned(ConfigFields& f, const char* name, double absent, int head) {
  const Json parameters = f.object("rope_parameters");
  double share = f.number(name, f.number("partial_rotary_factor", absent));
  if (f.number("partial_rotary_factor", share) != share)
    f.refuse("partial_rotary_factor", fmt::format("is not {}, {}", name, share));
  if (parameters.contains("partial_rotary_factor") &&
      parameters["partial_rotary_factor"].is_number())
    share = parameters["partial_rotary_factor"].get<double>();
  const int features = static_cast<int>(head * share);
  if (features < 1 || features > head)
    f.refuse(name, fmt::format("is {}, of heads of {} features", share, head));
  return features;
}

std::string rotary_by_window(ConfigFields& f, const ModelConfig& m, double local, double base,
                             int context, const std::string& where) {
  Rotary near, far;
  const Json nested = f.object("rope_parameters");
  std::string all;
  if (nested.contains("full_attention") || nested.contains("sliding_attention")) {
    const auto part = [&](const char* layers, Rotary& r, double absent) {
      static const Json none = Json::object();
      const Json& p = nested.contains(layers) ? nested[layers] : none;
      const std::string there = fmt::format("{}: rope_parameters: {}", where, layers);
      r.base = ConfigFields(p, there).number("rope_theta", absent);
      return rotary_in({p, there}, r, context);
    };
    const std::string windowed = part("sliding_attention", near, local);
    if (windowed != near.start("rope").text())
      f.refuse("rope_parameters", "scales layers that see through a window");
    all = part("full_attention", far, base);
    f.pass({"rope_scaling"});  // says the same
  } else {
    near.base = local, far.base = base;
    all = rotary(f, far, context, where);
  }
  const std::string windowed = near.start("rope").text();
  if (m.window == 0 || all == windowed) return all;
  if (m.window_every == 0) return windowed;
  std::vector<std::string> pattern(static_cast<std::size_t>(m.window_every), windowed);
  pattern.back() = all;
  return fmt::format("layers[{}]", join(pattern, ", "));
}

}  // namespace pesuite::hf
