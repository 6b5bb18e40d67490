// Start values of a model's parameters.
#include <algorithm>
#include <cmath>

#include "model/model.h"
#include "pesuite/random.hpp"

namespace pesuite {

namespace {

bool ends_with_any(std::string_view name, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(), [&](auto e) { return name.ends_with(e); });
}

// Start value of entry i of a model's own parameter.
class Initial {
 public:
  Initial(const ModelConfig& c, const Parameter& p, int inputs) {
    const bool bias = p.name.ends_with(".bias"), norm = p.name.find("norm.") != std::string::npos;
    if (norm) {
      constant_ = bias ? 0 : 1;
    } else if (p.name == "embedding.weight") {
      normal_ = c.init == Init::normal ? 0.02 : 1;
    } else if (c.init == Init::fan_in) {
      uniform_ = 1 / std::sqrt(static_cast<double>(inputs));
    } else if (!bias) {
      const bool residual = ends_with_any(p.name, {"attention.out.weight", "mlp.down.weight"});
      normal_ = residual ? 0.02 / std::sqrt(2.0 * c.layers) : 0.02;
    }
  }
  float operator()(pes::Random& r) const {
    if (normal_ > 0) return static_cast<float>(normal_ * r.normal());
    if (uniform_ > 0) return static_cast<float>(uniform_ * (2 * r.uniform() - 1));
    return static_cast<float>(constant_);
  }

 private:
  double normal_ = 0, uniform_ = 0, constant_ = 0;
};

}  // namespace

void Model::restart(std::uint64_t seed) {
  for (Parameter& p : parameters_) {
    p.has_grad = false;
    for (void* memory : {p.m, p.v}) backend_.fill({memory, p.shape}, 0);
  }
  std::vector<float> values;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Parameter& p = parameters_[i];
    values.resize(static_cast<std::size_t>(p.shape.count()));
    if (i >= encoding_first_) {
      encoding_.init(i - encoding_first_, pes::mix64(seed, pes::hash64(p.name)), values);
    } else {
      const int inputs =
          p.name.ends_with("mlp.down.bias")
              ? config_.ff_width
              : static_cast<int>(p.name.ends_with("bias") ? config_.width : p.shape[-1]);
      const Initial initial(config_, p, inputs);
      pes::Random random(pes::mix64(seed, pes::hash64(p.name)), pes::purpose("init"), 0);
      for (float& v : values) v = initial(random);
    }
    backend_.upload({p.value, p.shape}, values.data());
  }
}

}  // namespace pesuite
