// A device: it owns memory and runs each op forward and backward. `cpu` computes in fp32 on oneDNN
// and kernels of our own, `reference` in double with plain loops, as the oracle in tests.
//
// Every kernel writes to an Out, which replaces or adds: several ops can contribute to a gradient
// without a pass of its own. An Out or View without data means "not wanted" or "not given" where a
// kernel says so. Outputs come first, then inputs, then settings. dx of a unary op and of the gate
// may stand where x does.
//
// Letters: B batch, H query heads, G key-value heads, T queries, S keys, D head size of q and k,
// E head size of v, N rows, I inputs, O outputs, W width, V size of the output alphabet.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/shape.h"

namespace pesuite {

// How numbers are stored: as the backend's own, of element_size() bytes, or rounded to bf16.
// Kernels take bf16 where their comment says so. Only products and fused attention know fp16, in
// copies that they make themselves.
enum class Storage : std::uint8_t { own, bf16, fp16 };

struct View {  // values to read
  const void* data = nullptr;
  Shape shape;
  Storage storage = Storage::own;
  explicit operator bool() const { return data != nullptr; }
};
struct Out {  // values to write, or to add to
  void* data = nullptr;
  Shape shape;
  bool add = false;
  Storage storage = Storage::own;
  explicit operator bool() const { return data != nullptr; }
  View view() const { return {data, shape, storage}; }
};

// gelu: x Phi(x) (Hendrycks & Gimpel 2016); gelu_tanh: its approximation there, as GPT-2 has it.
enum class Unary {
  exp,
  log,
  sin,
  cos,
  tanh,
  sigmoid,
  softplus,
  relu,
  abs,
  sqrt,
  floor,
  gelu,
  gelu_tanh
};
enum class Binary { add, sub, mul, div, min, max };
enum class Pairs { half, interleaved };
enum class Norm { layer, rms };
struct Turn {  // of pairs of features, as rotate_forward() turns them; without tables nothing turns
  View cos, sin;
  Pairs pairs = Pairs::half;
  explicit operator bool() const { return static_cast<bool>(cos); }
};

// Dropout keeps an element with probability 1 - p and divides it by that. (seed, purpose, row,
// column) alone decide, so a recomputed block drops the same elements. Row and column: in attention
// the running number of (batch, head, query) and the key; elsewhere 0 and the running number of the
// element.
struct Dropout {
  double p = 0;
  std::uint64_t seed = 0;
  std::uint32_t purpose = 0;
};

constexpr std::int64_t cpu_query_step = 64;  // Backend::query_step: rows of a block

struct AttentionInput {
  View q, k, v;            // [B, H, T, D], [B, G, S, D], [B, G, S, E]
  View distance;           // optional [H or 1, at least S]: adds distance[h, i - j]
  View bias;               // optional, broadcasts to [B, H, rows, keys], added
  double scale = 1;        // factor of q.k
  std::int64_t first = 0;  // query i sees the keys j <= first + i
  Dropout dropout;         // of the probabilities
  // [rows of distance]: where not empty, distance[h, d] is a constant of h less slopes[h] d but for
  // rounding, so that a backend may add slopes[h] (j - i) instead.
  std::span<const float> slopes = {};
  // Where not 0, distance[h, d] is one number for all d from here on, and of their gradients only
  // the sum counts: all of it may stand at one of them.
  std::int64_t level = 0;
  // [B, T], on the host: of those keys query i sees j >= starts[i] alone, its own among them. They
  // never fall along a row. Empty: all. Only where takes_starts().
  std::span<const std::int32_t> starts = {};
  // Only the queries row .. row + rows - 1 of q, y, lse and their gradients; 0: all of them. They
  // see the first keys of k and v; behind those, gradients that replace hold no valid numbers.
  std::int64_t row = 0, rows = 0;
  std::int64_t own_rows() const { return rows > 0 ? rows : q.shape[2]; }
  std::int64_t keys() const { return std::min(k.shape[2], first + row + own_rows()); }
};

struct Classifier {  // logits [N, V] = h w^T + bias of rows h [N, W]
  View w, bias;      // [V, W]; optional, [V]
  // Where not 0: of logits z, softcap tanh(z / softcap) count (Gemma 2).
  double softcap = 0;
};

struct TwoLayers {  // as two_layers_forward() reads them
  View w2, b2, w1, b1, x;
};
struct TwoLayerGradients {
  Out w2, b2, w1, b1, x;
};

struct AdamW {
  double lr = 0, beta1 = 0.9, beta2 = 0.95, eps = 1e-8;
  double clip = 0;        // largest global norm of the gradient; 0: no clipping
  std::int64_t step = 1;  // 1 in the first update, for the bias correction
  double loss_scale = 1;  // gradients are this many times too large
};
struct Update {  // of one parameter; all of one shape
  Out value, m, v;
  View grad;
  double weight_decay = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;
  virtual std::string description() const = 0;   // device, instruction set, library, threads
  virtual std::size_t element_size() const = 0;  // bytes of a number
  // Of activations between a product and the op before or behind it: bf16 where products round
  // their inputs to bf16 anyway.
  virtual Storage activations() const = 0;
  // How the latest attention ran and why, "" where there is but one way.
  virtual std::string attention_route() const { return ""; }
  // Whether to find tables that are lines, or level from a distance on, and pass
  // AttentionInput::slopes and level.
  virtual bool takes_slopes() const { return false; }
  // Whether gradients pass through fp16, which holds nothing below 6e-8: training scales its losses
  // (LossScale of model/optimizer.h).
  virtual bool rounds_to_fp16() const { return false; }
  // Whether attention reads AttentionInput::starts.
  virtual bool takes_starts() const { return false; }
  // Where the first queries of a sequence are not asked for, others can begin behind a multiple of
  // so many (AttentionInput::first), with the same numbers in less time. 0: not in less time.
  virtual std::int64_t query_step() const { return 0; }
  // Batches of drawn lengths are made as long as a multiple of this, for what is compiled for each.
  virtual std::int64_t length_step() const { return 1; }
  // Whether weights of linear layers, the token table and the head may be bf16 where nothing is
  // trained.
  virtual bool takes_bf16_weights() const { return false; }
  // Numbers of scores that attention composed of ops makes at a time: on a CPU as many as stay in
  // its caches, on a device enough to keep it busy.
  virtual std::int64_t scores_at_a_time() const { return std::int64_t{1} << 17; }
  // Waits until all queued work is done: a device computes while the program goes on.
  virtual void wait() {}
  // Seconds that the work queued by `body` takes, by the device's own clock where it has one.
  // Waits for it.
  virtual double elapsed(const std::function<void()>& body) {
    const auto start = std::chrono::steady_clock::now();
    body();
    wait();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  // ---- memory. Contents of fresh memory are undefined. Throws std::bad_alloc.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory) noexcept = 0;
  virtual void upload(Out to, const double* from) = 0;  // rounded once; here any storage will do
  virtual void upload(Out to, const float* from) = 0;
  virtual void upload_tokens(std::int32_t* to, std::span<const std::int32_t> from) = 0;
  virtual void download(float* to, View from) = 0;
  virtual void download(double* to, View from) = 0;
  virtual void download_tokens(std::span<std::int32_t> to, const std::int32_t* from) = 0;
  virtual void fill(Out y, double value) = 0;

  // ---- element by element. gelu and the gate: all or none in bf16; affine: either side.
  virtual void unary_forward(Out y, View x, Unary op) = 0;
  virtual void unary_backward(Out dx, View dy, View x, View y, Unary op) = 0;
  virtual void binary_forward(Out y, View a, View b, Binary op) = 0;  // broadcast
  virtual void binary_backward(Out da, Out db, View dy, View a, View b, Binary op) = 0;
  virtual void affine(Out y, View x, double scale, double shift) = 0;  // x broadcasts to y
  virtual void dropout(Out y, View x, const Dropout&) = 0;             // its own backward, on dy
  // y [N, F] = silu(x[:, :F]) * x[:, F:], x [N, 2F] (Shazeer 2020, SwiGLU)
  virtual void gate_forward(Out y, View x) = 0;
  virtual void gate_backward(Out dx, View dy, View x) = 0;

  // ---- moving values
  virtual void permute(Out y, View x, const int* axes) = 0;  // y axis i is axes[i] of x
  // y[.., y_start + i, ..] = x[.., x_start + i, ..] for i < length along `axis`
  virtual void copy(Out y, std::int64_t y_start, View x, std::int64_t x_start, int axis,
                    std::int64_t length) = 0;
  virtual void sum(Out y, View x, int axis) = 0;
  virtual void cumsum(Out y, View x, int axis, bool reverse) = 0;
  virtual void take_forward(Out y, View x, View index) = 0;
  virtual void take_backward(Out dx, View dy, View index) = 0;
  // y [.., J] = x [.., V] on a line between the entries beside position [.., J], which is clamped
  // to 0 .. V - 1; NaN stays NaN. Either gradient may be missing.
  virtual void interpolate_forward(Out y, View x, View position) = 0;
  virtual void interpolate_backward(Out dx, Out dposition, View dy, View x, View position) = 0;
  virtual void rows_forward(Out y, View x, View index) = 0;
  // rising: no index is below the one before.
  virtual void rows_backward(Out dx, View dy, View index, bool rising) = 0;
  virtual void rotate_forward(Out y, View x, View cos, View sin, Pairs) = 0;
  virtual void rotate_backward(Out dx, Out dcos, Out dsin, View dy, View x, View cos, View sin,
                               Pairs) = 0;

  // ---- products. c [.., M, N] = op(a) op(b); leading axes broadcast, and where c has fewer
  // than the products, they are summed.
  virtual void matmul(Out c, View a, View b, bool transpose_a, bool transpose_b) = 0;
  // y [.., O, N] = w2 [.., O, F] relu(w1 [.., F, I] x [.., I, N] + b1 [.., F, 1]) + b2 [.., O, 1],
  // b1 and b2 optional, of few units and many columns. All leading axes count the same, or x has
  // one.
  virtual void two_layers_forward(Out y, const TwoLayers&) = 0;
  virtual void two_layers_backward(const TwoLayerGradients&, View dy, const TwoLayers&) = 0;
  // y [N, O] = x [N, I] w^T [O, I] + bias [O] + residual [N, O], the last two optional. x and y,
  // and their gradients, may be bf16; y not together with a residual.
  virtual void linear_forward(Out y, View x, View w, View bias, View residual) = 0;
  virtual void linear_backward(Out dx, Out dw, Out dbias, View dy, View x, View w) = 0;

  // ---- of the model
  // y [N, W] = table[tokens[n]]
  virtual void embed_forward(Out y, View table, const std::int32_t* tokens) = 0;
  virtual void embed_backward(Out dtable, View dy, const std::int32_t* tokens) = 0;
  // q [B, H, T, D], k and v [B, G, T, D] from x [B, T, (H + 2G) D], the heads side by side; q and k
  // are turned on their way. An Out without data, but with its shape, is not wanted. All but tables
  // may be bf16, q, k and v alike; so may their gradients.
  virtual void heads_forward(Out q, Out k, Out v, View x, const Turn& of_q, const Turn& of_k) = 0;
  // Missing gradients, which have their shape, are 0.
  virtual void heads_backward(Out dx, View dq, View dk, View dv, const Turn& of_q,
                              const Turn& of_k) = 0;
  // y = (x - mean) rstd gain + bias over the last axis; rms has neither mean nor bias.
  // gain and bias are optional. stats [N, 2]: mean (0 for rms) and rstd of each row. y and dy may
  // be bf16.
  virtual void norm_forward(Out y, Out stats, View x, View gain, View bias, Norm, double eps) = 0;
  virtual void norm_backward(Out dx, Out dgain, Out dbias, View dy, View x, View gain, View stats,
                             Norm) = 0;
  // y [B, T, H E] = softmax(scale q.k + distance + bias, masked) v; lse [B, H, T] is the natural
  // log of each row's sum of exponentials, kept for the backward pass. y may be bf16, and q, k and
  // v, with their gradients. Memory beyond inputs and outputs is linear in T.
  virtual void attention_forward(Out y, Out lse, const AttentionInput&) = 0;
  virtual void attention_backward(Out dq, Out dk, Out dv, Out ddistance, Out dbias, View dy, View y,
                                  View lse, const AttentionInput&) = 0;
  // The products of an attention that is composed from ops, a block of R query rows first ..
  // first + R - 1 at a time, against the K = first + R keys that its last row sees. packed: k or v
  // [B, G, S, .] in the backend's own layout, of `packed_shape`.
  virtual Shape packed_shape(const Shape& keys) const = 0;
  virtual void pack_keys(Out packed, View keys) = 0;
  // scores [B, H, R, K] = scale q.k, also of keys that a row does not see
  virtual void score_rows_forward(Out scores, View q, View packed_k, std::int64_t first,
                                  double scale) = 0;
  // Into the block's rows of dq; dk [B, G, S, D] is added to.
  virtual void score_rows_backward(Out dq, Out dk, View dscores, View q, View k, std::int64_t first,
                                   double scale) = 0;
  // The block's rows of y [B, T, H E] = p [B, H, R, K] v
  virtual void mix_rows_forward(Out y, View p, View v, std::int64_t first) = 0;
  // dv [B, G, S, E] is added to.
  virtual void mix_rows_backward(Out dp, Out dv, View dy, View p, View packed_v,
                                 std::int64_t first) = 0;
  // Softmax over the last axis of scores [B, H, T, S] with the mask and dropout of an attention
  // that was composed from ops. Rows of dy and y are those of the block.
  virtual void softmax_forward(Out y, View scores, std::int64_t first) = 0;
  virtual void softmax_backward(Out dscores, View dy, View y) = 0;
  // Cross-entropy of the classifier's softmax for rows h [N, W] against targets, row by row: nats
  // [N] and the most likely class best [N]. Where gradients are wanted they are computed in the
  // same sweep, of weight * sum of nats, over blocks of rows, so that [N, V] is never stored whole.
  virtual void classify(Out nats, std::int32_t* best, Out dh, Out dw, Out dbias, View h,
                        const Classifier&, const std::int32_t* targets, double weight) = 0;

  // ---- the optimiser (Loshchilov & Hutter 2017). norm [1] receives the global norm of the
  // gradient before clipping, the loss's scale divided out; when it is not finite nothing is
  // updated.
  virtual void adamw(Out norm, std::span<const Update>, const AdamW&) = 0;
};

// Of matrix products. bf16 rounds their inputs to 8 bits of mantissa and sums in fp32; activations
// that only products and the ops beside them read are stored in it too. fp16 rounds them to 11
// bits, from 6e-8 to 65,504; all else stays in fp32.
enum class Precision { fp32, bf16, fp16 };
inline std::string_view precision_name(Precision p) {
  return p == Precision::bf16 ? "bf16" : p == Precision::fp16 ? "fp16" : "fp32";
}
Precision parse_precision(std::string_view name);  // Error (usage)

struct BackendOptions {
  int threads = 1;
  Precision precision = Precision::fp32;
  int device = 0;  // of `cuda`: its number among those that this process sees
};
// Default tokens of a training pass. CPU: 2048 take half the memory of 4096 at 2 % less speed,
// measured on 0.4 to 21 M parameters. A device needs more to be busy; its number is not measured.
int usual_pass_tokens(std::string_view backend);

// "cpu", "reference" or "cuda". Error (device) with what to do for anything else.
std::unique_ptr<Backend> open_backend(std::string_view name, const BackendOptions&);

}  // namespace pesuite
