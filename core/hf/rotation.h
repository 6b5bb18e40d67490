// Rotations of published models: the expression of an encoding, from the fields that say how
// queries and keys turn.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "base/text.h"
#include "hf/fields.h"
#include "model/model.h"

namespace pesuite::hf {

// "name(option=value, ...)" of options that were given.
class EncodingText {
 public:
  explicit EncodingText(std::string name) : name_(std::move(name)) {}
  EncodingText& with(const char* option, double value) {
    return put(option, fmt::format("{}", value));
  }
  EncodingText& with(const char* option, const std::vector<double>& values) {
    return put(option, fmt::format("[{}]", fmt::join(values, ", ")));
  }
  EncodingText& put(const char* option, const std::string& value) {
    options_.push_back(fmt::format("{}={}", option, value));
    return *this;
  }
  std::string text() const {
    return options_.empty() ? name_ : fmt::format("{}({})", name_, join(options_, ", "));
  }

 private:
  std::string name_;
  std::vector<std::string> options_;
};

struct Rotary {
  double base = 10000;
  int features = 0;  // of a head that turn; 0: all
  bool interleaved = false;
  int original = 0;  // where the file names it beside the scaling, which is LongRoPE's then (Phi-3)
  EncodingText start(const char* name) const {
    EncodingText t(name);
    t.with("base", base);
    if (features > 0) t.with("features", features);
    if (interleaved) t.put("layout", "interleaved");
    return t;
  }
};

// The expression, from either version's layout. Error (data) where no encoding turns so.
std::string rotary(ConfigFields&, const Rotary&, int context, const std::string& where);
// Layers with a window turn plainly, by a base of their own; the others as the scaling says.
std::string rotary_by_window(ConfigFields&, const ModelConfig&, double local, double base,
                             int context, const std::string& where);
// The same where `dual_chunk_attention_config` may say that positions begin anew in chunks.
std::string rotary_or_chunks(ConfigFields&, const Rotary&, int context, const std::string& where);
double base_of(ConfigFields&, const char* name, double absent);
// Features of a head that turn, by the share that either layout gives.
int turned(ConfigFields&, const char* name, double absent, int head);

}  // namespace pesuite::hf
