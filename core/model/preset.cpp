#include "model/preset.h"

#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace pesuite {

namespace {

// Llama-style: RMSNorm, SwiGLU, tied table, no biases.
ModelConfig llama(int width, int layers, int heads, int ff_width, int vocabulary) {
  ModelConfig c;
  c.width = width, c.layers = layers, c.heads = heads, c.ff_width = ff_width;
  c.vocabulary = vocabulary;
  return c;
}

// The sizes of the study of unusual encodings (pe-explorer): head size 64, feed-forward 4 W,
// QK-norm behind the rotation, 65,536 tokens, budgets of 40 tokens a parameter.
ModelConfig explorer(int width, int layers, int heads) {
  ModelConfig c = llama(width, layers, heads, 4 * width, 65536);
  c.qk_norm = QkNorm::after;
  return c;
}

// The sandbox of four synthetic tasks: PyTorch layers with their own start values, biases in the
// feed-forward part and the head only.
ModelConfig sandbox() {
  ModelConfig c = llama(128, 2, 4, 512, 50);
  c.norm = Norm::layer;
  c.activation = Activation::gelu;
  c.tied = false;
  c.mlp_bias = c.head_bias = true;
  c.dropout = 0.1;
  c.init = Init::fan_in;
  return c;
}

// The TinyStories comparison: feed-forward 384, GPT-2's tokens, a head of its own with a bias.
ModelConfig tinystories() {
  ModelConfig c = llama(256, 4, 4, 384, 50257);
  c.norm_eps = 1e-9;
  c.tied = false;
  c.head_bias = true;
  return c;
}

// Biderman et al. 2023: GPT-NeoX blocks, attention and feed-forward in parallel.
ModelConfig pythia() {
  ModelConfig c = llama(768, 12, 12, 3072, 50304);
  c.norm = Norm::layer;
  c.activation = Activation::gelu;
  c.tied = false;
  c.parallel = true;
  c.attention_bias = c.mlp_bias = true;
  return c;
}

}  // namespace

std::span<const Preset> presets() {
  static const std::vector<Preset> all = {
      {"micro", "seconds a cell: width 32, 2 layers", llama(32, 2, 2, 64, 235), 0, 0, 32, 3e-3},
      {"nano", "about a minute a cell: width 64, 4 layers", llama(64, 4, 4, 192, 235), 0, 0, 64,
       3e-3},
      {"sandbox", "the sandbox study: width 128, 2 layers, dropout 0.1", sandbox(), 0, 0, 64, 3e-4},
      {"tinystories-28m", "the TinyStories study: 4 layers, width 256, context 256", tinystories(),
       28012369, 0, 256, 3e-4},
      {"tiny", "59M parameters, 2.4B tokens", explorer(512, 6, 8), 59e6, 2.4e9, 1024, 6e-4},
      {"small", "164M parameters, 6.6B tokens", explorer(768, 12, 12), 164e6, 6.6e9, 1024, 3e-4},
      {"medium", "470M parameters, 18.8B tokens", explorer(1024, 24, 16), 470e6, 18.8e9, 1024,
       2e-4},
      {"large", "1.2B parameters, 48.4B tokens", explorer(2048, 16, 32), 1.2e9, 48.4e9, 1024, 1e-4},
      {"pythia-160m", "Pythia-160M: parallel residual, GELU, context 2048", pythia(), 162322944, 0,
       2048, 6e-4}};
  return all;
}

const Preset& preset(std::string_view name) {
  std::vector<std::string> names;
  for (const Preset& p : presets()) {
    if (p.name == name) return p;
    names.emplace_back(p.name);
  }
  fail(Exit::usage, "there is no model preset '{}'{}; known are {}", name,
       did_you_mean(name, names), join(names, ", "));
}

}  // namespace pesuite
