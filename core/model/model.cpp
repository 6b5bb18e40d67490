#include "model/model.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "model/cache.h"
#include "pesuite/random.hpp"

namespace pesuite {

ModelShape shape_of(const ModelConfig& m, int train_length, int max_length) {
  return {m.layers, m.heads,      m.groups(), m.head_dim(),
          m.width,  train_length, max_length, m.positions};
}

void check(const ModelConfig& c) {
  const auto refuse = [](const std::string& reason) { fail(Exit::usage, "model: {}", reason); };
  if (c.width < 1 || c.layers < 1 || c.heads < 1 || c.ff_width < 1)
    refuse("width, layers, heads and ff_width must be positive");
  if (c.head_size == 0 && c.width % c.heads != 0)
    refuse(fmt::format("width {} is no multiple of {} heads", c.width, c.heads));
  if (c.heads % c.groups() != 0)
    refuse(fmt::format("{} heads are no multiple of {} kv_heads", c.heads, c.groups()));
  if (c.shared_norm && !c.parallel)
    refuse("shared_norm needs parallel_residual: one norm cannot stand in two places");
  if (c.shared_norm && !c.norms_input())
    refuse("shared_norm is a norm of what is read; norm_place 'output' has none");
  if (c.window_every > 0 && c.window == 0) refuse("window_every needs a window");
  for (const auto& [name, cap] :
       {std::pair("score_softcap", c.score_softcap), std::pair("logit_softcap", c.logit_softcap)})
    if (!is_softcap(cap)) refuse(fmt::format("{} is {}: {}", name, cap, softcap_range));
  if (c.dropout < 0 || c.dropout >= 1)
    refuse(fmt::format("dropout {} is not in [0, 1)", c.dropout));
  if (c.tied && c.outputs() != c.vocabulary)
    refuse(fmt::format("a tied head needs as many classes as tokens, not {} and {}", c.outputs(),
                       c.vocabulary));
}

std::int64_t parameter_count(const ModelConfig& c) {
  const std::int64_t W = c.width, F = c.ff_width, V = c.vocabulary, O = c.outputs();
  const std::int64_t qkv = (c.heads + 2 * c.groups()) * c.head_dim();
  const std::int64_t in = is_gated(c.activation) ? 2 * F : F;
  const std::int64_t norm = c.norm == Norm::layer && !c.biasless_norm ? 2 * W : W;
  const int norms = (c.norms_input() ? c.shared_norm ? 1 : 2 : 0) + (c.norms_output() ? 2 : 0);
  std::int64_t layer = norms * norm + W * qkv + c.mixed() * W + W * in + F * W;
  if (c.qk_norm == QkNorm::whole)
    layer += (c.heads + c.groups()) * c.head_dim();
  else
    layer += (norms_q(c.qk_norm) + norms_k(c.qk_norm)) * c.head_dim();
  if (c.attention_bias || c.qkv_bias) layer += qkv;
  if (c.attention_bias) layer += W;
  if (c.mlp_bias) layer += in + W;
  return V * W + (c.embedding_norm ? norm : 0) + c.layers * layer + norm + (c.tied ? 0 : O * W) +
         (c.head_bias ? O : 0);
}

double forward_flops(const ModelConfig& c, double length) {
  const double qkv = (c.heads + 2.0 * c.groups()) * c.head_dim();
  return c.layers * (2 * c.width * qkv + flops_behind_keys(c, length)) +
         2.0 * c.width * c.outputs();
}

double flops_behind_keys(const ModelConfig& c, double length) {
  const double W = c.width, F = c.ff_width, mixed = c.mixed();
  const double in = is_gated(c.activation) ? 2 * F : F;
  double keys = 0;  // of all layers
  for (int i = 0; i < c.layers; ++i)
    keys += c.has_window(i) ? std::min(length / 2, double(c.window)) : length / 2;
  const double seen = keys / c.layers;
  return 2 * (mixed * W + W * in + F * W) + 4 * mixed * seen;  // q.k and p.v
}

// That are made where others are left out: kernels for a few round otherwise.
static constexpr std::int64_t fewest_rows = 32;

std::int64_t first_needed(std::int64_t first_scored, std::int64_t length, std::int64_t query_step) {
  const std::int64_t first = std::min(first_scored, length - fewest_rows);
  return query_step == 0 || first <= 0 ? 0 : first / query_step * query_step;
}

struct Model::Buffers {
  explicit Buffers(Backend& b) : backend(b) {}
  ~Buffers() {
    for (void* p : {tokens, targets, best}) backend.release(p);
  }
  void reserve(std::int64_t n) {
    if (n <= capacity) return;
    for (void** p : {&tokens, &targets, &best}) {
      backend.release(*p);
      *p = nullptr;
      *p = backend.allocate(static_cast<std::size_t>(n) * sizeof(std::int32_t));
    }
    capacity = n;
  }
  Backend& backend;
  void *tokens = nullptr, *targets = nullptr, *best = nullptr;
  std::int64_t capacity = 0;
  std::vector<std::int32_t> scored;  // targets of the scored places
  std::vector<double> places;
};

Model::Model(Backend& backend, const ModelConfig& config, Composition encoding, std::uint64_t seed,
             ModelUse use)
    : backend_(backend),
      use_(use),
      config_(config),
      encoding_(std::move(encoding)),
      tape_(backend),
      buffers_(std::make_unique<Buffers>(backend)) {
  check(config_);
  const ModelConfig& c = config_;
  const bool layer_norm = c.norm == Norm::layer && !c.biasless_norm;
  const std::int64_t W = c.width, F = c.ff_width, D = c.head_dim();
  const std::int64_t qkv = (c.heads + 2 * c.groups()) * D;
  const std::int64_t in = is_gated(c.activation) ? 2 * F : F;
  const std::int64_t of_q = c.qk_norm == QkNorm::whole ? c.heads * D : D,
                     of_k = c.qk_norm == QkNorm::whole ? c.groups() * D : D;
  const auto add_if = [&](bool wanted, const std::string& name, const Shape& shape) {
    return wanted ? add(name, shape, false) : -1;
  };
  table_ = add("embedding.weight", {c.vocabulary, W}, true);
  embedding_norm_ = add_if(c.embedding_norm, "embedding_norm.weight", {W});
  embedding_norm_bias_ = add_if(c.embedding_norm && layer_norm, "embedding_norm.bias", {W});
  for (int i = 0; i < c.layers; ++i) {
    const std::string at = fmt::format("layers.{}.", i);
    const auto purpose = [&](const char* what) { return pes::purpose(at + "dropout." + what); };
    const auto norm = [&](bool wanted, const char* what, int& gain, int& bias) {
      gain = add_if(wanted, at + what + ".weight", {W});
      bias = add_if(wanted && layer_norm, at + what + ".bias", {W});
    };
    LayerWeights l{};
    layer_first_.push_back(parameters_.size());
    norm(c.norms_input(), "attention_norm", l.attention_norm, l.attention_norm_bias);
    l.qkv = add(at + "attention.qkv.weight", {qkv, W}, true);
    l.qkv_bias = add_if(c.attention_bias || c.qkv_bias, at + "attention.qkv.bias", {qkv});
    l.q_norm = add_if(norms_q(c.qk_norm), at + "attention.q_norm.weight", {of_q});
    l.k_norm = add_if(norms_k(c.qk_norm), at + "attention.k_norm.weight", {of_k});
    l.out.weight = add(at + "attention.out.weight", {W, c.mixed()}, true);
    l.out.bias = add_if(c.attention_bias, at + "attention.out.bias", {W});
    norm(c.norms_output(), "attention_out_norm", l.out.norm, l.out.norm_bias);
    norm(c.norms_input() && !c.shared_norm, "mlp_norm", l.mlp_norm, l.mlp_norm_bias);
    l.in = add(at + "mlp.in.weight", {in, W}, true);
    l.in_bias = add_if(c.mlp_bias, at + "mlp.in.bias", {in});
    l.down.weight = add(at + "mlp.down.weight", {W, F}, true);
    l.down.bias = add_if(c.mlp_bias, at + "mlp.down.bias", {W});
    norm(c.norms_output(), "mlp_out_norm", l.down.norm, l.down.norm_bias);
    l.drop_attention = purpose("attention");
    l.out.drop = purpose("out");
    l.drop_activation = purpose("activation");
    l.down.drop = purpose("mlp");
    layers_.push_back(l);
  }
  norm_ = add("norm.weight", {W}, false);
  norm_bias_ = add_if(layer_norm, "norm.bias", {W});
  head_ = c.tied ? table_ : add("head.weight", {c.outputs(), W}, true);
  head_bias_ = add_if(c.head_bias, "head.bias", {c.outputs()});
  encoding_first_ = parameters_.size();
  // As the walk back leaves them behind; an encoding may have used its own from the beginning.
  std::size_t end = encoding_first_;
  for (std::size_t i = layers_.size() + 1; i-- > 0; end = gradient_order_.back().first)
    gradient_order_.push_back(
        {i < layers_.size() ? layer_first_[i] : static_cast<std::size_t>(norm_), end});
  gradient_order_.push_back({0, end});
  for (const Encoding::ParameterSpec& p : encoding_.parameters()) {
    const auto at = static_cast<std::size_t>(add("encoding." + p.name, p.shape, p.decay));
    if (!p.bounded()) continue;
    bounds_.push_back(
        {at, backend.allocate(backend.element_size()), backend.allocate(backend.element_size())});
    backend.upload({bounds_.back().low, {1}}, &p.low);
    backend.upload({bounds_.back().high, {1}}, &p.high);
  }
  gradient_order_.push_back({encoding_first_, parameters_.size()});
  if (!use_.trains) return;
  allocate_gradients();
  restart(seed);
}

Model::~Model() {
  for (Parameter& p : parameters_)
    for (void* memory : {p.value, p.m, p.v}) backend_.release(memory);
  backend_.release(gradients_);
  for (const Bounds& b : bounds_)
    for (void* memory : {b.low, b.high}) backend_.release(memory);
}

int Model::add(std::string name, const Shape& shape, bool decay) {
  Parameter p;
  p.name = std::move(name);
  p.shape = shape;
  p.decay = decay;
  const bool weight = decay && shape.rank() == 2 && !p.name.starts_with("encoding.");
  const bool halves = use_.exact || (use_.rounds && backend_.activations() == Storage::bf16);
  if (weight && !use_.trains && halves && backend_.takes_bf16_weights()) p.storage = Storage::bf16;
  const std::size_t number =
      p.storage == Storage::bf16 ? sizeof(std::uint16_t) : backend_.element_size();
  const std::size_t bytes = static_cast<std::size_t>(shape.count()) * number;
  p.value = backend_.allocate(bytes);
  if (use_.trains) p.m = backend_.allocate(bytes), p.v = backend_.allocate(bytes);
  parameters_.push_back(p);
  return static_cast<int>(parameters_.size()) - 1;
}

// In one piece, so that neighbours can be sent together. Each begins as an allocation would. Only
// the gaps are written: memory without training costs nothing.
void Model::allocate_gradients() {
  constexpr std::size_t alignment = 256;
  const std::size_t number = backend_.element_size();
  const auto size = [&](const Parameter& p) {
    return static_cast<std::size_t>(p.shape.count()) * number;
  };
  const auto room = [&](const Parameter& p) {
    return (size(p) + alignment - 1) / alignment * alignment;
  };
  std::size_t all = 0;
  for (const Parameter& p : parameters_) all += room(p);
  gradients_ = backend_.allocate(all);
  auto* at = static_cast<std::byte*>(gradients_);
  for (Parameter& p : parameters_) {
    p.grad = at;
    const auto gap = static_cast<std::int64_t>((room(p) - size(p)) / number);
    if (gap > 0) backend_.fill({at + size(p), {gap}}, 0);
    at += room(p);
  }
}

std::int64_t Model::count() const {
  std::int64_t n = 0;
  for (const Parameter& p : parameters_) n += p.shape.count();
  return n;
}
std::int64_t Model::encoding_count() const {
  std::int64_t n = 0;
  for (std::size_t i = encoding_first_; i < parameters_.size(); ++i)
    n += parameters_[i].shape.count();
  return n;
}
std::size_t Model::step_memory() const {
  return tape_.memory();
}

Dropout Model::dropout(std::uint32_t purpose, const StepInfo& s) const {
  return {s.training && s.drops ? config_.dropout : 0, s.seed, purpose};
}

Tensor Model::normed(Tensor x, int gain, int bias, Storage storage) {
  return ops::norm(tape_, x, leaf(gain), leaf(bias), config_.norm, config_.norm_eps, storage);
}

Tensor Model::project(Tensor y, const Addition& a, Tensor residual, const StepInfo& s) {
  const Dropout d = dropout(a.drop, s);
  if (d.p == 0 && a.norm < 0) return ops::linear(tape_, y, leaf(a.weight), leaf(a.bias), residual);
  Tensor out = ops::linear(tape_, y, leaf(a.weight), leaf(a.bias));
  if (a.norm >= 0) out = normed(out, a.norm, a.norm_bias);
  return ops::binary(tape_, Binary::add, residual, ops::dropout(tape_, out, d));
}

Tensor Model::mlp(Tensor x, Tensor residual, const LayerWeights& l, const StepInfo& s) {
  const Dropout drop = dropout(l.drop_activation, s);
  const Activation f = config_.activation;
  const bool stored = drop.p == 0 && (f == Activation::swiglu || f == Activation::gelu);
  Tensor h = ops::linear(tape_, x, leaf(l.in), leaf(l.in_bias), {},  // [.., F or 2F]
                         stored ? backend_.activations() : Storage::own);
  switch (f) {
    case Activation::swiglu: h = ops::gate(tape_, h); break;
    case Activation::gelu: h = ops::unary(tape_, Unary::gelu, h); break;
    case Activation::gelu_tanh: h = ops::unary(tape_, Unary::gelu_tanh, h); break;
    case Activation::relu: h = ops::unary(tape_, Unary::relu, h); break;
    case Activation::geglu: {
      const std::int64_t F = config_.ff_width;
      const int last = tape_.shape(h).rank() - 1;
      const Tensor by = ops::unary(tape_, Unary::gelu_tanh, ops::slice(tape_, h, last, 0, F));
      h = ops::binary(tape_, Binary::mul, by, ops::slice(tape_, h, last, F, F));
    } break;
  }
  h = ops::dropout(tape_, h, drop);  // [.., F]
  return project(h, l.down, residual, s);
}

Tensor Model::layer(Tensor x, int index, const StepInfo& s, const Inspection& look) {
  const LayerWeights& l = layers_[static_cast<std::size_t>(index)];
  const Storage storage = backend_.activations();
  const bool norms = config_.norms_input();
  Tensor h = norms ? normed(x, l.attention_norm, l.attention_norm_bias, storage) : x;  // [B, T, W]
  const bool several = readings_.size() > 1, whole = config_.qk_norm == QkNorm::whole;
  Tensor qkv = ops::linear(tape_, h, leaf(l.qkv), leaf(l.qkv_bias), {},
                           several || whole ? Storage::own : storage);
  if (whole) qkv = norm_whole(qkv, l);
  Tensor mixed = several ? mix_each(h, qkv, index, s) : mix(x, h, qkv, index, s, look);
  if (!mixed) return {};                              // [B, T, H E]
  if (scored_rows_ && index + 1 == config_.layers) {  // from here on, tokens do not meet
    const auto kept = [&](Tensor t) { return rows_of(ops::own(tape_, t), scored_rows_); };
    x = kept(x), mixed = kept(mixed);
    if (config_.shared_norm) h = kept(h);
  }
  const Tensor y = project(mixed, l.out, x, s);
  if (config_.shared_norm) return mlp(h, y, l, s);
  const Tensor read = config_.parallel ? x : y;
  return mlp(norms ? normed(read, l.mlp_norm, l.mlp_norm_bias, storage) : read, y, l, s);
}

// Its queries and its keys, each over all heads at once: [B, T, (H + 2G) D].
Tensor Model::norm_whole(Tensor qkv, const LayerWeights& l) {
  const std::int64_t q = std::int64_t{config_.heads} * config_.head_dim(),
                     k = std::int64_t{config_.groups()} * config_.head_dim();
  const auto normed = [&](std::int64_t first, std::int64_t n, int gain) {
    return ops::norm(tape_, ops::slice(tape_, qkv, 2, first, n), leaf(gain), {}, Norm::rms,
                     config_.norm_eps);
  };
  const Tensor both = ops::concat(tape_, normed(0, q, l.q_norm), normed(q, k, l.k_norm), 2);
  return ops::concat(tape_, both, ops::slice(tape_, qkv, 2, q + k, k), 2);
}

Tensor Model::mix(Tensor& x, Tensor& h, Tensor qkv, int index, const StepInfo& s,
                  const Inspection& look) {
  const LayerWeights& l = layers_[static_cast<std::size_t>(index)];
  const Storage storage = backend_.activations();
  Cache* const cache = reading_ != nullptr ? reading_->cache : nullptr;
  const Composition& encoding = reading_ != nullptr ? *reading_->encoding : encoding_;
  const ops::Heads heads = ops::split_heads(tape_, qkv, config_.heads, config_.groups());
  Attention a;
  a.q = heads.q, a.k = heads.k, a.v = heads.v;  // [B, H, T, D]
  a.scale = 1 / std::sqrt(static_cast<double>(config_.head_dim()));
  a.softcap = config_.score_softcap;
  a.dropout = dropout(l.drop_attention, s);
  a.starts = config_.has_window(index) ? starts_ : documents_;
  const auto norm_q_and_k = [&] {
    const auto norm = [&](Tensor& x, int gain) {
      x = ops::norm(tape_, tape_.now(x), leaf(gain), {}, Norm::rms, config_.norm_eps);
    };
    if (norms_q(config_.qk_norm)) norm(a.q, l.q_norm);
    if (norms_k(config_.qk_norm)) norm(a.k, l.k_norm);
  };
  if (config_.qk_norm != QkNorm::after && config_.qk_norm != QkNorm::whole) norm_q_and_k();
  Tensor input = tape_.later(tape_.shape(h), [h](Tape& t) { return ops::own(t, t.now(h)); });
  Cache::Seen seen;
  if (cache != nullptr) seen = cache->show(tape_, index, a, input);
  const Tensor q = a.q, k = a.k;
  if (!look.without_encoding) encoding.attend(tape_, index, input, a);
  if (a.rewrite)  // which may read them
    for (const Tensor t : {input, q, k}) tape_.now(t);
  if (look.amend) {
    for (const Tensor t : {q, k, a.q, a.k, a.v}) tape_.now(t);
    look.amend(index, tape_, q, k, a);
  }
  if (config_.qk_norm == QkNorm::after) {
    if (tape_.shape(a.q)[-1] != config_.head_dim())
      fail(Exit::usage,
           "qk_norm = 'after' needs heads of the model's size; encoding '{}' widens them",
           encoding_.text());
    norm_q_and_k();
  }
  if (!a.needs_scores() && !look.attention) ops::store_heads(tape_, heads, storage);
  if (cache != nullptr && !cache->settle(tape_, index, seen, a)) return {};
  if (index + 1 == config_.layers && needed_from_ > 0) keep_needed(x, h, a);
  for (const Tensor t : {a.q, a.k, a.v}) tape_.now(t);
  tape_.drop(qkv);
  if (look.attention) look.attention(index, tape_, a);
  AttentionPath path = AttentionPath::fused;
  const Tensor mixed = attend(tape_, a, &path);
  path_ = std::max(path_, path);
  for (const Tensor t : {heads.q, heads.k, heads.v}) tape_.drop(t);  // an encoding has its own
  return mixed;
}

void Model::set_starts(std::span<const std::int32_t> of_documents, int batch, int length,
                       int seen) {
  starts_ = documents_ = of_documents;
  if (config_.window == 0 || config_.window >= seen + length) return;
  window_starts_.assign(of_documents.begin(), of_documents.end());
  window_starts_.resize(static_cast<std::size_t>(batch) * static_cast<std::size_t>(length));
  for (std::size_t i = 0; i < window_starts_.size(); ++i) {
    const auto place = seen + static_cast<std::int32_t>(i % static_cast<std::size_t>(length));
    window_starts_[i] = std::max(window_starts_[i], place - config_.window + 1);
  }
  starts_ = window_starts_;
}

// A step with its tape empty and the encoding's tables made.
void Model::begin(StepInfo s, bool recording, std::span<const std::int32_t> positions) {
  tape_.reset();
  tape_.set_recording(recording);
  for (const Bounds& b : bounds_) {
    const Parameter& p = parameters_[b.parameter];
    const View value{p.value, p.shape};
    backend_.binary_forward({p.value, p.shape}, value, {b.low, {1}}, Binary::max);
    backend_.binary_forward({p.value, p.shape}, value, {b.high, {1}}, Binary::min);
  }
  leaves_.clear();
  scored_rows_ = {};
  for (Parameter& p : parameters_) leaves_.push_back(tape_.leaf(p));
  if (!positions.empty()) {
    std::vector<double> at(positions.begin(), positions.end());
    for (double& position : at) position += s.offset;
    if (const double last = *std::max_element(at.begin(), at.end()); last >= config_.positions)
      fail(Exit::usage, "a token stands at {}, and the model has positions 0 to {}", last,
           config_.positions - 1);
    s.positions = tape_.constant({s.batch, s.length}, at.data());
  }
  encoding_.begin(tape_, s, std::span(leaves_).subspan(encoding_first_));
}

void Model::with_encoding(const StepInfo& s,
                          const std::function<void(Tape&, const Composition&)>& body) {
  begin(s, false);
  body(tape_, encoding_);
}

// Layer by layer: what only a layer uses is complete when the walk has left it.
void Model::backward(const GradientsDone& done) {
  for (std::size_t i = 0; i < gradient_order_.size(); ++i) {
    if (i < marks_.size())
      tape_.backward_to(marks_[marks_.size() - 1 - i]);
    else
      tape_.backward();
    if (done) done(gradient_order_[i]);
  }
}

Tensor Model::embedded(std::span<const std::int32_t> tokens, const Shape& shape) {
  Buffers& b = *buffers_;
  b.reserve(std::ssize(tokens));
  backend_.upload_tokens(static_cast<std::int32_t*>(b.tokens), tokens);
  Tensor x = ops::embed(tape_, leaf(table_), static_cast<std::int32_t*>(b.tokens), shape);
  if (config_.scaled_embedding)
    x = ops::affine(tape_, x, std::sqrt(static_cast<double>(config_.width)), 0);
  return config_.embedding_norm ? normed(x, embedding_norm_, embedding_norm_bias_) : x;
}

Scores Model::run(const Batch& batch, const StepInfo& s, double weight, bool learn,
                  const Inspection& look, const GradientsDone& done) {
  PES_CHECK(batch.tokens.size() ==
            static_cast<std::size_t>(batch.size) * static_cast<std::size_t>(batch.length));
  PES_CHECK(batch.positions.empty() || batch.positions.size() == batch.tokens.size());
  PES_CHECK(batch.starts.empty() || batch.starts.size() == batch.tokens.size());
  begin(s, learn, batch.positions);
  path_ = AttentionPath::fused;
  set_starts(batch.starts, batch.size, batch.length, 0);
  const bool all = look.residual || look.amend || look.attention;
  needed_from_ = all || learn || s.training ? 0 : first_needed_of(batch);
  Scores scores;
  find_scored(batch, scores);

  const std::int64_t n = batch.size * (batch.length - needed_from_);
  Buffers& b = *buffers_;
  const auto count = static_cast<std::int64_t>(b.scored.size());
  if (!all) scored_rows_ = rows_to_keep(n);
  Tensor x = embedded(batch.tokens, {batch.size, batch.length});
  if (!look.without_encoding) x = encoding_.embed(tape_, x);
  x = ops::dropout(tape_, x, dropout(pes::purpose("dropout.embedding"), s));
  const Tape::Mark mark = tape_.mark();
  if (look.residual) look.residual(0, tape_, x);
  marks_.assign(1, mark);
  for (int i = 0; i < config_.layers; ++i) {
    if (recompute_ && learn)
      x = tape_.recomputed(
          x, [this, i, info = &s](Tape&, Tensor in) { return layer(in, i, *info, {}); });
    else
      x = layer(x, i, s, look);
    if (look.residual) look.residual(i + 1, tape_, x);
    if (learn) marks_.push_back(tape_.mark());
    if (!learn) tape_.release_since(mark, x);
  }

  if (count > 0) {
    const Tensor h = normed(scored_of(x, count), norm_, norm_bias_);
    if (tape_.failed()) fail(Exit::internal, "{}", tape_.failure());
    if (look.logits) look.logits(first_logits_of(h));
    backend_.upload_tokens(static_cast<std::int32_t*>(b.targets), b.scored);
    const Tensor nats = tape_.make({count}, false);
    backend_.classify(tape_.out(nats), static_cast<std::int32_t*>(b.best),
                      learn ? tape_.grad(h) : Out{}, learn ? tape_.grad(leaf(head_)) : Out{},
                      learn ? tape_.grad(leaf(head_bias_)) : Out{}, tape_.view(h), classifier(),
                      static_cast<std::int32_t*>(b.targets), weight);
    if (learn) backward(done);  // first, since a download waits for all that is queued
    scores.nats.resize(b.scored.size());
    scores.best.resize(b.scored.size());
    backend_.download(scores.nats.data(), tape_.view(nats));
    backend_.download_tokens(scores.best, static_cast<std::int32_t*>(b.best));
    if (!batch.candidates.empty() && !learn) rank(batch, h, scores);
  } else if (done) {
    for (const ParameterRange range : gradient_order_) done(range);
  }
  return scores;
}

// The scored ones, and the last of them again up to one of sixteen counts: oneDNN makes kernels for
// each count that it meets.
Tensor Model::rows_to_keep(std::int64_t made) {
  const auto up_to = [](std::int64_t n, std::int64_t step) { return (n + step - 1) / step * step; };
  std::vector<double>& places = buffers_->places;
  const std::size_t scored = places.size();
  const std::int64_t rows = up_to(std::ssize(places), up_to((made + 15) / 16, fewest_rows));
  if (places.empty() || rows >= made) return {};
  places.resize(static_cast<std::size_t>(rows), double{places.back()});
  const Tensor kept = tape_.constant({rows}, places.data());
  places.resize(scored);
  return kept;
}

Tensor Model::scored_of(Tensor x, std::int64_t count) {
  if (!x || scored_rows_) return ops::slice(tape_, x, 0, 0, count);
  const bool all = count * config_.width == tape_.shape(x).count();
  return rows_of(x, all ? Tensor{} : tape_.constant({count}, buffers_->places.data()));
}

Tensor Model::rows_of(Tensor x, Tensor rows) {
  if (!x) return {};
  const Shape s = tape_.shape(x);
  x = ops::reshape(tape_, x, {s[0] * s[1], s[2]});
  return rows ? ops::rows(tape_, x, rows) : x;
}

std::int64_t Model::first_needed_of(const Batch& batch) const {
  std::int64_t first = batch.length;
  for (std::int64_t i = 0; i < std::ssize(batch.targets); ++i)
    if (batch.targets[static_cast<std::size_t>(i)] >= 0) first = std::min(first, i % batch.length);
  return first_needed(first, batch.length, backend_.query_step());
}

void Model::find_scored(const Batch& batch, Scores& scores) {
  Buffers& b = *buffers_;
  b.scored.clear();
  b.places.clear();
  scores.place.reserve(batch.tokens.size());
  for (std::int64_t i = 0; i < std::ssize(batch.tokens); ++i)
    if (const auto target = batch.targets[static_cast<std::size_t>(i)]; target >= 0) {
      const std::int64_t not_made = (i / batch.length + 1) * needed_from_;
      b.scored.push_back(target);
      b.places.push_back(static_cast<double>(i - not_made));
      scores.place.push_back(i);
    }
}

std::vector<double> Model::first_logits_of(Tensor h) {
  const std::int64_t rows = std::min(tape_.shape(h)[0], Inspection::logit_rows);
  std::vector<double> first(static_cast<std::size_t>(rows));
  std::iota(first.begin(), first.end(), 0.0);
  return logits_of(ops::rows(tape_, h, tape_.constant({rows}, first.data())));
}

std::vector<double> Model::logits_of(Tensor h) {
  const Tensor logits = ops::softcapped(tape_, ops::linear(tape_, h, leaf(head_), leaf(head_bias_)),
                                        config_.logit_softcap);
  if (tape_.failed()) fail(Exit::internal, "{}", tape_.failure());
  std::vector<double> out(static_cast<std::size_t>(tape_.shape(logits).count()));
  backend_.download(out.data(), tape_.view(logits));
  return out;
}

// Asks the classifier for each candidate in turn, as if it were the target: h [scored, W].
void Model::rank(const Batch& batch, Tensor h, Scores& scores) {
  const auto candidate_of = [&](std::size_t k) {  // its number; as many as there are: none
    const std::int32_t target = batch.targets[static_cast<std::size_t>(scores.place[k])];
    return static_cast<std::size_t>(
        std::find(batch.candidates.begin(), batch.candidates.end(), target) -
        batch.candidates.begin());
  };
  scores.rank.assign(scores.place.size(), 0);
  std::vector<std::size_t> asked;
  std::vector<double> rows;  // of h
  for (std::size_t k = 0; k < scores.place.size(); ++k)
    if (candidate_of(k) < batch.candidates.size()) {
      asked.push_back(k);
      rows.push_back(static_cast<double>(k));
    }
  if (asked.empty()) return;
  const auto count = static_cast<std::int64_t>(asked.size());
  const Tensor x = ops::rows(tape_, h, tape_.constant({count}, rows.data()));  // [count, W]
  const Tensor nats = tape_.make({count}, false);
  if (tape_.failed()) fail(Exit::internal, "{}", tape_.failure());
  Buffers& b = *buffers_;
  std::vector<std::vector<double>> cost(batch.candidates.size());
  for (std::size_t c = 0; c < cost.size(); ++c) {
    const std::vector<std::int32_t> targets(asked.size(), batch.candidates[c]);
    backend_.upload_tokens(static_cast<std::int32_t*>(b.targets), targets);
    backend_.classify(tape_.out(nats), static_cast<std::int32_t*>(b.best), {}, {}, {},
                      tape_.view(x), classifier(), static_cast<std::int32_t*>(b.targets), 0);
    cost[c].resize(asked.size());
    backend_.download(cost[c].data(), tape_.view(nats));
  }
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const double own = cost[candidate_of(asked[i])][i];
    // what is not a number is no better than anything
    scores.rank[asked[i]] = static_cast<std::int32_t>(
        std::count_if(cost.begin(), cost.end(), [&](const auto& of) { return !(of[i] > own); }));
  }
}

Scores Model::score(const Batch& batch, const StepInfo& s, const Inspection& look) {
  return run(batch, s, 0, false, look, {});
}
Scores Model::learn(const Batch& batch, const StepInfo& s, double weight,
                    const GradientsDone& done) {
  PES_CHECK(use_.trains);
  return run(batch, s, weight, true, {}, done);
}

}  // namespace pesuite
