// The one decoder transformer, which calls the encoding at fixed places:
//
//   x = encoding.embed(table[tokens])
//   each layer:  q, k, v = split(qkv(norm(x)));  encoding.attend(q, k, ...)
//                x = x + out(attention(q, k, v));  x = x + mlp(norm(x))
//   classes = head(norm(x))
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "encoding/composition.h"
#include "tensor/tape.h"

namespace pesuite {

enum class Activation { gelu, swiglu, gelu_tanh, relu, geglu };
// Half of the feed-forward part's first products gate the other half.
constexpr bool is_gated(Activation a) {
  return a == Activation::swiglu || a == Activation::geglu;
}
// Before or after the encoding acts on q and k; q, k: before, of that alone; whole: before, over
// all heads at once (OLMo 2).
enum class QkNorm { off, before, after, q, k, whole };
constexpr bool norms_q(QkNorm n) {
  return n != QkNorm::off && n != QkNorm::k;
}
constexpr bool norms_k(QkNorm n) {
  return n != QkNorm::off && n != QkNorm::q;
}
// Of what a layer's parts read, of what they add (OLMo 2), or of both (Gemma 2).
enum class NormPlace { input, output, both };
enum class Init {
  normal,  // N(0, 0.02^2), projections into the residual stream divided by sqrt(2 layers) (GPT-2)
  fan_in   // matrices and biases U(+-1/sqrt(inputs)), embeddings N(0, 1) (PyTorch's layers)
};

struct ModelConfig {
  int width = 64, layers = 2, heads = 4, kv_heads = 0;  // kv_heads 0: as many as heads
  int head_size = 0;                                    // features of a head; 0: width / heads
  int ff_width = 256;
  Norm norm = Norm::rms;
  NormPlace norm_place = NormPlace::input;
  double norm_eps = 1e-5;
  Activation activation = Activation::swiglu;
  QkNorm qk_norm = QkNorm::off;
  bool tied = true;          // the head is the token table (language models only)
  bool parallel = false;     // attention and mlp both read the layer's input (GPT-NeoX, Pythia)
  bool shared_norm = false;  // parallel: both read it through the attention's norm (GPT-J)
  bool attention_bias = false, mlp_bias = false, head_bias = false;
  bool qkv_bias = false;          // of q, k and v alone (Qwen2)
  bool biasless_norm = false;     // layer norms have no bias (MPT)
  bool embedding_norm = false;    // a norm behind the embedding (BLOOM)
  bool scaled_embedding = false;  // times sqrt(width) (Vaswani et al. 2017, section 3.4; Gemma)
  int window = 0;  // a token attends to so many, itself counted (Mistral); 0: to all before it
  int window_every = 0;  // each so many-th layer has no window (Gemma 3); 0: each has one
  // Of scores of queries and keys, and of logits: c counts as cap tanh(c / cap); 0: as it is
  // (Gemma Team 2024, arXiv:2408.00118, section 2).
  double score_softcap = 0, logit_softcap = 0;
  double dropout = 0;  // of embedding, attention, its output, activations, mlp output
  Init init = Init::normal;
  int vocabulary = 256;       // inputs; a cell sets it to what its task has
  int classes = 0;            // outputs; 0: as many as inputs
  int positions = 0;          // that its task gives tokens; 0: tokens stand at their places
  int padded_vocabulary = 0;  // rows of the token table at least, whatever the task has

  int head_dim() const { return head_size > 0 ? head_size : width / heads; }
  int mixed() const { return heads * head_dim(); }  // width of all heads side by side
  int groups() const { return kv_heads > 0 ? kv_heads : heads; }
  int outputs() const { return classes > 0 ? classes : vocabulary; }
  bool norms_input() const { return norm_place != NormPlace::output; }
  bool norms_output() const { return norm_place != NormPlace::input; }
  bool has_window(int layer) const {
    return window > 0 && (window_every == 0 || (layer + 1) % window_every != 0);
  }
};
constexpr bool is_softcap(double cap) {
  return cap == 0 || (cap >= 1e-3 && cap <= 1e6);
}
inline constexpr const char* softcap_range = "a cap is from 0.001 to 1e6, or 0 for none";
// Throws Error (usage) when the numbers do not fit together.
void check(const ModelConfig&);
// What an encoding is made for.
ModelShape shape_of(const ModelConfig&, int train_length, int max_length);
// Weights of the model without its encoding.
std::int64_t parameter_count(const ModelConfig&);
// Floating-point operations of a forward pass over one token at `length`: 2 a multiply-add of each
// matrix, and causal attention with length / 2 keys on average. A training step takes 3 times that.
double forward_flops(const ModelConfig&, double length);
// Those of one layer beyond queries, keys and values: attention, its output and the mlp.
double flops_behind_keys(const ModelConfig&, double length);
// Tokens of a sequence that a forward pass leaves out from the last layer's attention on, where
// none before `first_scored` is scored. The others' numbers are the same: bit for bit on CPUs with
// AVX-512, where oneDNN's products of a row do not depend on how many rows there are.
std::int64_t first_needed(std::int64_t first_scored, std::int64_t length, std::int64_t query_step);

struct Batch {
  int size = 0, length = 0;
  std::vector<std::int32_t> tokens, targets;  // [size, length]; target -1: not scored
  std::vector<double> optimum;                // [size, length], or empty
  std::vector<std::int32_t> distances;        // the same, of pes_example
  std::vector<std::int32_t> positions;        // [size, length], or empty: tokens at their places
  std::vector<std::int32_t> candidates = {};  // score() ranks targets among them
  // [size, length], or empty: a token attends to none before this place of its row, where its
  // document begins.
  std::vector<std::int32_t> starts = {};
};
// Row i of an array of a batch, n long; of an empty array an empty one.
template <class T>
std::span<T> row(std::vector<T>& all, std::size_t i, std::size_t n) {
  return all.empty() ? std::span<T>{} : std::span(all).subspan(i * n, n);
}

// One number a scored target, in the order of the batch.
struct Scores {
  std::vector<double> nats;
  std::vector<std::int32_t> best;   // most likely class
  std::vector<std::int64_t> place;  // index into the batch
  // Candidates that are no less likely than the target, itself counted: 1 where it is the
  // likeliest. 0 where the target is no candidate. Empty without candidates.
  std::vector<std::int32_t> rank;
};

// How a pass departs from a plain one, and what it lets others see: for probes. The tape does not
// record then; what is made on it in a call is gone after the call.
struct Inspection {
  bool without_encoding = false;  // it acts nowhere
  // Of each layer, 0: the embeddings, l: what layer l - 1 leaves: [B, T, W].
  std::function<void(int layer, Tape&, Tensor x)> residual = {};
  // May change what the encoding left of a layer's q and k, which came to it as `q` and `k`.
  std::function<void(int layer, Tape&, Tensor q, Tensor k, Attention&)> amend = {};
  // Of each layer's attention before it runs.
  std::function<void(int layer, Tape&, const Attention&)> attention = {};
  // Of the first scored tokens, at most logit_rows of them: [rows, classes].
  static constexpr std::int64_t logit_rows = 64;
  std::function<void(const std::vector<double>& logits)> logits = {};
};

struct ParameterRange {  // first .. last - 1 of a model's parameters
  std::size_t first = 0, last = 0;
};
using GradientsDone = std::function<void(ParameterRange)>;

class Cache;

struct ModelUse {
  bool trains = true;  // else there are no gradients, moments and start values
  // Without training weights are held in bf16 where the backend takes that, and
  bool rounds = false;  // it multiplies in bf16, or
  bool exact = false;   // they are numbers of bf16: it loses nothing.
};

class Model {
 public:
  // Start values follow from `seed` and the parameter's name alone.
  Model(Backend&, const ModelConfig&, Composition, std::uint64_t seed, ModelUse = {});
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  // Start values again, as the constructor made them, and no moments.
  void restart(std::uint64_t seed);
  // Keeps of each layer what goes into it, and computes the rest again in the backward pass: less
  // memory, the time of another forward pass, the same numbers.
  void set_recompute(bool on) { recompute_ = on; }

  const ModelConfig& config() const { return config_; }
  const Composition& encoding() const { return encoding_; }
  Backend& backend() { return backend_; }
  std::vector<Parameter>& parameters() { return parameters_; }
  std::int64_t count() const;                   // all learnable numbers
  std::int64_t encoding_count() const;          // those of the encoding
  AttentionPath path() const { return path_; }  // of the last pass; the worst of its layers
  std::size_t step_memory() const;  // bytes of the largest step so far, beyond the parameters

  // Forward only, in memory that does not grow with the number of layers.
  Scores score(const Batch&, const StepInfo&, const Inspection& = {});
  // Reads tokens [batch, n], which follow those that the cache holds, and gives the logits of the
  // last of each sequence, [batch, outputs], as a pass over all of them would. Error (usage) where
  // the cache is too small.
  std::vector<double> read(Cache&, std::span<const std::int32_t> tokens);
  // The same of the next token of each sequence behind several caches, in their order: in one pass,
  // in which each cache has an encoding of its own, where what is kept allows that.
  std::vector<double> read(std::span<Cache* const>, std::span<const std::int32_t> tokens);
  // Forward and backward: adds the gradient of weight * (sum of nats) to the parameters' gradients.
  // Calls `done` for parameters whose gradients this pass adds nothing more to, while it goes on
  // with others: for the ranges of gradient_order(), in that order.
  Scores learn(const Batch&, const StepInfo&, double weight, const GradientsDone& done = {});
  // Every parameter once. Gradients of a range, gaps included, are one piece of memory, and a range
  // may lie right below the one before it.
  const std::vector<ParameterRange>& gradient_order() const { return gradient_order_; }
  // Lets `body` see the encoding as it is in such a step, with the model's parameters.
  void with_encoding(const StepInfo&, const std::function<void(Tape&, const Composition&)>& body);

 private:
  // Indices into parameters_, -1 for what is not there; and what dropout is for.
  struct Addition {  // to the residual stream
    int weight, bias, norm, norm_bias;
    std::uint32_t drop;
  };
  struct LayerWeights {
    int attention_norm, attention_norm_bias, qkv, qkv_bias, q_norm, k_norm;
    int mlp_norm, mlp_norm_bias, in, in_bias;
    Addition out, down;
    std::uint32_t drop_attention, drop_activation;
  };
  int add(std::string name, const Shape& shape, bool decay);
  void allocate_gradients();
  void backward(const GradientsDone&);
  Scores run(const Batch&, const StepInfo&, double weight, bool learn, const Inspection&,
             const GradientsDone&);
  void begin(StepInfo, bool recording, std::span<const std::int32_t> positions = {});
  // Places and targets, into the buffers too: there as rows of what the last layer makes.
  void find_scored(const Batch&, Scores&);
  void rank(const Batch&, Tensor h, Scores&);
  std::vector<double> logits_of(Tensor h);        // [rows, outputs]
  std::vector<double> first_logits_of(Tensor h);  // of its first rows
  Classifier classifier() {
    return {tape_.view(leaf(head_)), tape_.view(leaf(head_bias_)), config_.logit_softcap};
  }
  // Sequences that a pass reads behind one cache.
  struct Reading {
    Cache* cache;
    const Composition* encoding;
    StepInfo step;  // that the encoding sees
  };
  // The tokens that caches were given; nothing where one keeps too little of what it holds.
  std::vector<double> read_behind(std::span<Cache* const>);
  void begin_readings(std::span<Cache* const>);
  Tensor embedded(const Reading&);                                      // its new tokens: [B, n, W]
  Tensor embedded(std::span<const std::int32_t> tokens, const Shape&);  // without the encoding
  Tensor last_of_each(Tensor x);                                        // [B, T, W] -> [B, W]
  Tensor scored_of(Tensor x, std::int64_t count);  // what the last layer made -> [count, W]
  Tensor rows_to_keep(std::int64_t made);          // of what the last layer makes; null: all
  Tensor rows_of(Tensor x, Tensor rows);           // [B, T, W] -> [rows, W]; without rows: [B T, W]
  Tensor leaf(int parameter) {
    return parameter < 0 ? Tensor{} : leaves_[static_cast<std::size_t>(parameter)];
  }
  Tensor layer(Tensor x, int index, const StepInfo&, const Inspection&);
  // A layer's attention, from its input, the normed input and the projection of that; null where
  // the cache keeps too little. Of each reading of the pass, the latter.
  Tensor mix(Tensor& x, Tensor& h, Tensor qkv, int index, const StepInfo&, const Inspection&);
  Tensor mix_each(Tensor h, Tensor qkv, int index, const StepInfo&);
  std::int64_t first_needed_of(const Batch&) const;
  // Drops those before needed_from_ of the layer's input and the normed input, and skips the
  // queries.
  void keep_needed(Tensor& x, Tensor& h, Attention&);
  Tensor mlp(Tensor x, Tensor residual, const LayerWeights&, const StepInfo&);
  // `seen`: tokens before the batch's.
  void set_starts(std::span<const std::int32_t> of_documents, int batch, int length, int seen);
  Tensor normed(Tensor x, int gain, int bias, Storage = Storage::own);
  Dropout dropout(std::uint32_t purpose, const StepInfo&) const;
  // residual + dropout(norm(linear(y))), in one pass where nothing is dropped and normed
  Tensor project(Tensor y, const Addition&, Tensor residual, const StepInfo&);
  Tensor norm_whole(Tensor qkv, const LayerWeights&);

  Backend& backend_;
  ModelUse use_;
  ModelConfig config_;
  Composition encoding_;
  Tape tape_;
  bool recompute_ = false;
  std::vector<Parameter> parameters_;
  struct Bounds {  // device memory of one number each
    std::size_t parameter;
    void *low, *high;
  };
  std::vector<Bounds> bounds_;  // of parameters that have any
  std::vector<LayerWeights> layers_;
  std::vector<std::size_t> layer_first_;  // of each layer's parameters
  std::vector<std::int32_t> window_starts_;
  int table_ = -1, embedding_norm_ = -1, embedding_norm_bias_ = -1, norm_ = -1, norm_bias_ = -1,
      head_ = -1, head_bias_ = -1;
  std::size_t encoding_first_ = 0;  // of its parameters
  void* gradients_ = nullptr;       // of all parameters, in their order
  std::vector<ParameterRange> gradient_order_;
  std::vector<Tensor> leaves_;
  // Of the batch of the pass: where its documents begin, and where what layers with a window see.
  std::span<const std::int32_t> documents_, starts_;
  std::int64_t needed_from_ = 0;             // of the last layer: its first row in each sequence
  Tensor scored_rows_;                       // rows_to_keep() of the pass
  std::vector<Reading> readings_;            // of the pass, where it reads behind caches,
  const Reading* reading_ = nullptr;         // and the one that it is at
  std::vector<Composition> more_encodings_;  // of readings beyond the first
  std::vector<Tape::Mark> marks_;            // before each layer, and after the last
  AttentionPath path_ = AttentionPath::fused;
  // device memory for tokens, targets and the classifier's answers, grown on demand
  struct Buffers;
  std::unique_ptr<Buffers> buffers_;
};

}  // namespace pesuite
