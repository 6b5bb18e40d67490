#include "backend/cuda/lowering.h"

#include <fmt/format.h>

#include <algorithm>

namespace pesuite::cuda {

namespace {

std::int64_t up_to_8(std::int64_t n) {
  return up_to(8, n);
}

Shape four_axes(const Shape& s) {
  return {s[-4], s[-3], s[-2], s[-1]};
}

// Rows of a bias are padded to 16 bytes; cuDNN writes those of its gradient densely.
BiasForm form_of(const Shape& shape, Type type) {
  return {shape, type, shape[2] > 1 ? up_to_8(shape[3]) : shape[3]};
}

BiasForm gradient_of(const Shape& shape, Type type) {
  return {shape, type, shape[3]};
}

Shape wider(const Shape& a, const Shape& b) {
  return {std::max(a[0], b[0]), std::max(a[1], b[1]), std::max(a[2], b[2]), std::max(a[3], b[3])};
}

Lowering composed(std::string reason) {
  Lowering to;
  to.reason = std::move(reason);
  return to;
}

void lower_distance(Lowering& to, const AttentionCase& c) {
  AttentionRequest& r = to.request;
  if (!c.distance_gradient && !c.slopes.empty()) {
    to.slopes.assign(c.slopes.begin(), c.slopes.end());
    to.slopes.resize(static_cast<std::size_t>(r.H), to.slopes.front());  // one row: for all heads
    r.slopes = true;
    return;
  }
  const Shape expanded = {1, (*c.distance)[0], r.T, r.S};
  to.expand_distance = true;
  r.biases.push_back({expanded, c.type, up_to_8(r.S)});  // written eight keys at a time
  if (c.training && c.distance_gradient) r.dbias = gradient_of(expanded, c.type);
}

void lower_bias(Lowering& to, const AttentionCase& c) {
  AttentionRequest& r = to.request;
  const Shape shape = four_axes(*c.bias);
  if (shape[3] == 1 && r.S > 1) {
    to.bias_is_idle = true;
    return;
  }
  to.add_bias = true;
  // A value for each key costs nothing in fp32, and running sums need it.
  r.biases.push_back(form_of(shape, shape[2] > 1 ? c.type : Type::fp32));
  if (c.training && c.bias_gradient)
    r.dbias = gradient_of(r.dbias ? wider(r.dbias->shape, shape) : shape, c.type);
}

// cuDNN reads from addresses that are multiples of 16 bytes, also those of a further example.
bool may_go_by_parts(const AttentionRequest& r) {
  return !r.dbias && r.layout == Layout::by_head && r.H * r.T % 4 == 0 &&
         std::all_of(r.biases.begin(), r.biases.end(), [](const BiasForm& b) {
           return b.shape[0] == 1 || b.shape[1] * b.shape[2] * b.pitch * bytes_of(b.type) % 16 == 0;
         });
}
// As many examples of a request at a time as there is memory for in a backward pass: its workspace
// is theirs alone. "" or why there is no such number.
std::string divide_backward(Lowering& to, const AttentionRequest& r, const DeviceFacts& device) {
  to.examples = r.B;
  std::string why = refusal(r, Pass::backward, device);
  if (why.empty() || !may_go_by_parts(r)) return why;
  const std::int64_t all = scratch_bytes(r, Pass::backward);
  for (to.examples = r.B / 2; to.examples > 0; --to.examples) {
    if (r.B % to.examples != 0) continue;
    const AttentionRequest part = part_of(r, to.examples);
    DeviceFacts rest = device;
    rest.workspace -= all - scratch_bytes(part, Pass::backward);
    if (refusal(part, Pass::backward, rest).empty()) return "";
  }
  return why;
}

// What the tiles of a backward pass leave each other takes no more, where a group of heads does not
// need more. A device is busy with as many tiles as that.
constexpr std::int64_t most_kept = std::int64_t{1} << 30;

// The groups of heads that there is memory for at a time, for the gradient of the scores and what a
// table's is summed from (tiled_attention.h).
std::int64_t groups_at_a_time(const AttentionRequest& r, std::int64_t window, bool table,
                              std::int64_t room) {
  const std::int64_t T = up_to(64, r.T), distances = window > 0 ? window + 64 : T,
                     numbers = window > 0 ? T * distances : T * (T + 64) / 2,
                     sums = table ? T / 64 * distances * bytes_of(Type::fp32) : 0,
                     group = r.H / r.G * (numbers * bytes_of(Type::bf16) + sums);
  if (group > room) return 0;
  const std::int64_t groups = std::max<std::int64_t>(1, std::min(room, most_kept) / group);
  return groups < r.G ? groups : std::min(groups / r.G, r.B) * r.G;
}
// Where the table is level, to cuDNN.
void leave_level(const AttentionCase& c, Lowering& to, const DeviceFacts& device) {
  const std::int64_t window = up_to(64, c.level);
  if (c.level <= 0 || to.request.T < 2 * window || to.request.layout != Layout::by_head) return;
  AttentionRequest r = to.request;
  r.stored = r.T;
  r.T = r.S = r.T - window;
  if (!refusal(r, c.training ? Pass::forward : Pass::inference, device).empty() ||
      (c.training && !divide_backward(to, r, device).empty()))
    return;
  to.window = window, to.beyond = r;
}
// What cuDNN reads from a tensor of T x S, or gets wrong, our kernels take as it is. The forward
// pass does not know what learns.
bool is_tiled(const AttentionCase& c, Lowering& to, const DeviceFacts& device) {
  const AttentionRequest& r = to.request;
  const bool table = c.distance && (c.distance_gradient || c.slopes.empty());
  const Shape bias = c.bias ? four_axes(*c.bias) : Shape{1, 1, 1, 1};
  const bool values = c.bias && bias[2] == 1 && bias[3] == r.S;  // for keys
  if (device.cudnn_alone || r.io != Type::bf16 || !r.causal || r.T != r.S || r.dropout > 0 ||
      r.D > 128 || r.E > 128 || r.E % 8 != 0 || !(table || (values && c.training)) ||
      (c.bias && !values && bias[3] > 1))
    return false;
  const std::int64_t room =
      device.workspace - scratch_bytes(r, c.training ? Pass::backward : Pass::forward);
  if (!values && device.splits) leave_level(c, to, device);
  if (c.training) to.groups = groups_at_a_time(r, to.window, c.distance_gradient, room);
  return c.training ? to.groups > 0 : room >= 0;
}
std::string what_is_added(const Lowering& to) {
  std::string why;
  for (const BiasForm& b : to.request.biases)
    if (b.shape[2] > 1) why = fmt::format("a bias of {} is read", b.shape.text());
  if (to.expand_distance) why += ", made from the table by distance";
  if (!why.empty()) return why;
  if (to.request.slopes) return "the table is linear in the distance and becomes a slope a head";
  if (to.add_bias) return "the bias has a value for each key only";
  if (to.bias_is_idle) return "the bias is constant in each row, which the softmax ignores";
  return "the scores are those of q and k";
}
std::string by_parts(const Lowering& to) {
  if (to.examples == 0 || to.examples == to.request.B) return "";
  return fmt::format(", {} of {} examples at a time", to.examples, to.request.B);
}
std::string why_fused(const Lowering& to) {
  std::string why = what_is_added(to);
  if (to.sums_scores) why += ", and its gradient is summed over scores that are made again";
  return why + by_parts(to);
}

Lowering tiled(const AttentionCase& c, Lowering to) {
  const Shape bias = c.bias ? four_axes(*c.bias) : Shape{1, 1, 1, 1};
  to.route = Route::tiled;
  to.bias_is_idle = c.bias && bias[3] == 1;
  to.add_bias = c.bias && !to.bias_is_idle;
  to.reason = std::string(c.distance ? "the table by distance" : "the values for keys") +
              (c.distance && to.add_bias ? " and the values for keys are"
               : c.distance              ? " is"
                                         : " are") +
              " read tile by tile";
  if (to.window > 0)
    to.reason +=
        fmt::format(" up to a distance of {}, where it is level", to.window) + by_parts(to);
  return to;
}

}  // namespace

Lowering lower(const AttentionCase& c, const DeviceFacts& device) {
  if (c.rewrite) return composed("the encoding rewrites the scores by content");
  Lowering to;
  AttentionRequest& r = to.request;
  r.B = c.q[0], r.H = c.q[1], r.T = c.q[2], r.D = up_to_8(c.q[3]);
  r.G = c.k[1], r.S = c.k[2], r.E = c.v[3];
  r.io = c.type, r.dropout = c.dropout, r.deterministic = c.deterministic;
  to.padding = r.D - c.q[3];
  r.layout = to.padding > 0 ? Layout::by_head : c.layout;  // padded in a copy
  r.causal = c.first + 1 < r.S;
  if (r.causal && c.first != 0)
    return composed(fmt::format(
        "the queries start at position {} of {}: the fused mask starts at the first key", c.first,
        r.S));
  if (is_tiled(c, to, device)) return tiled(c, std::move(to));
  if (c.distance) lower_distance(to, c);
  if (c.bias) lower_bias(to, c);
  // the tiles that make scores again
  const bool fits = std::max(r.D, r.E) <= 128 && r.io == Type::bf16;
  if (r.dbias && r.causal && fits && r.T > device.longest_dbias) {
    to.sums_scores = true;
    r.dbias.reset();
  }
  if (std::string why = refusal(r, c.training ? Pass::forward : Pass::inference, device);
      !why.empty())
    return composed(std::move(why));
  if (c.training)
    if (std::string why = divide_backward(to, r, device); !why.empty())
      return composed(std::move(why));
  const bool square = std::any_of(r.biases.begin(), r.biases.end(),
                                  [](const BiasForm& b) { return b.shape[2] > 1; });
  to.route = square ? Route::bias_tensor : Route::fused;
  to.reason = why_fused(to);
  return to;
}

}  // namespace pesuite::cuda
