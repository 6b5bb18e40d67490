#include "backend/cuda/request.h"

#include <fmt/format.h>

#include <algorithm>

namespace pesuite::cuda {

namespace {

// Devices fall into four families, each with kernels of its own.
int family(int sm) {
  return sm >= 120 ? 120 : sm >= 100 ? 100 : sm >= 90 ? 90 : 80;
}

const char* name_of(Type t) {
  switch (t) {
    case Type::fp32: return "fp32";
    case Type::fp16: return "fp16";
    case Type::bf16: return "bf16";
    case Type::int32: return "int32";
    case Type::int64: return "int64";
    case Type::boolean: return "boolean";
  }
  return "";
}

// ------------------------------------------------------------------------------------ rules
// Each returns "" or why the request is refused.

std::string sizes(const AttentionRequest& r, Pass, const DeviceFacts&) {
  if (std::min({r.B, r.H, r.G, r.T, r.S, r.D, r.E}) < 1)
    return fmt::format("B {}, H {}, G {}, T {}, S {}, D {}, E {}: every size must be 1 or more",
                       r.B, r.H, r.G, r.T, r.S, r.D, r.E);
  if (r.H % r.G != 0)
    return fmt::format("{} query heads are no multiple of {} key-value heads", r.H, r.G);
  if (r.stored > 0 && (r.stored < r.T || r.T != r.S || r.layout != Layout::by_head))
    return fmt::format(
        "{} queries and {} keys of {} tokens: only as many of either, laid out by "
        "head, can be some of more",
        r.T, r.S, r.stored);
  if (r.layout == Layout::packed && r.T != r.S)
    return fmt::format("q, k and v packed by token need one length, not {} queries and {} keys",
                       r.T, r.S);
  return "";
}

std::string types(const AttentionRequest& r, Pass, const DeviceFacts&) {
  if (r.io == Type::bf16 || r.io == Type::fp16) return "";
  return fmt::format(
      "q, k and v are {}, and cuDNN has no fused backward pass for it; it takes bf16 and fp16",
      name_of(r.io));
}

std::string head_sizes(const AttentionRequest& r, Pass pass, const DeviceFacts& d) {
  if (r.D % 8 != 0 || r.E % 8 != 0)
    return fmt::format("head sizes {} of q and k and {} of v: both must be multiples of 8", r.D,
                       r.E);
  // Backward at 256 on sm_90 is accepted by cuDNN and reported to give NaN: not until it is proven.
  const bool backward = pass == Pass::backward;
  const std::int64_t most = !backward ? 256 : family(d.sm) == 90 ? 192 : 128;
  const bool exception = backward && family(d.sm) == 100 && r.D == 192 && r.E == 128;
  if (std::max(r.D, r.E) <= most || exception) return "";
  return fmt::format("head sizes {} of q and k and {} of v: at most {} {} on sm_{}", r.D, r.E, most,
                     backward ? "in a backward pass" : "forward", d.sm);
}

std::string mask(const AttentionRequest& r, Pass pass, const DeviceFacts&) {
  if (r.causal && r.T != r.S)
    return fmt::format(
        "a causal mask over {} queries and {} keys: cuDNN aligns it at the first key, so both must "
        "be as many; for a single query that sees all keys ask for no mask",
        r.T, r.S);
  if (pass != Pass::backward) return "";
  if (r.T == 1)
    return "a backward pass of one query: cuDNN gives NaN where all its scores are very low "
           "(cudnn-frontend issue 1072)";
  if (!r.causal && r.S % 128 != 0)
    return fmt::format(
        "a backward pass over {} keys without causal mask: cuDNN lets padded keys in unless they "
        "are "
        "a multiple of 128 (cudnn-frontend issue 628)",
        r.S);
  return "";
}

std::string form(const AttentionRequest& r, const BiasForm& b, const char* what) {
  const Shape full = {r.B, r.H, r.T, r.S};
  bool fits = b.shape.rank() == 4 && b.shape[3] == r.S;
  for (int i = 0; i < 3; ++i) fits = fits && (b.shape[i] == 1 || b.shape[i] == full[i]);
  if (!fits)
    return fmt::format(
        "{} is {}, and of {} its last extent must be full, the others full or 1: cuDNN would take "
        "parts of it without a word",
        what, b.shape.text(), full.text());
  return "";
}

std::string biases(const AttentionRequest& r, Pass pass, const DeviceFacts& d) {
  if (r.biases.size() > 2)
    return fmt::format("{} biases: two are the most that one graph adds", r.biases.size());
  for (const BiasForm& b : r.biases) {
    if (b.type != Type::fp32 && b.type != Type::fp16 && b.type != Type::bf16)
      return fmt::format("the bias is {}; it must be fp32, fp16 or bf16", name_of(b.type));
    if (std::string why = form(r, b, "the bias"); !why.empty()) return why;
    if (pass == Pass::backward && b.shape[2] < r.T && !d.cudnn_alone)
      return fmt::format(
          "a backward pass with a bias of {}, a value for each key: cuDNN 9.19 gives wrong "
          "gradients on an H100",
          b.shape.text());
    if (b.pitch < r.S || (b.shape[2] > 1 && b.pitch % 8 != 0))
      return fmt::format(
          "the bias has a row every {} elements; wanted are at least {}, a multiple of 8, so that "
          "rows start at 16 bytes",
          b.pitch, r.S);
  }
  return "";
}

std::string bias_gradient(const AttentionRequest& r, Pass, const DeviceFacts& d) {
  if (!r.dbias) return "";
  if (r.dbias->type != Type::fp16 && r.dbias->type != Type::bf16)
    return fmt::format("the gradient of the bias is {}: cuDNN sums it in fp16 or bf16 only",
                       name_of(r.dbias->type));
  if (r.T > d.longest_dbias)
    return fmt::format(
        "the gradient of a bias over {} tokens: its workspace grows with the square of the length, "
        "and {} is where that stops being worth it",
        r.T, d.longest_dbias);
  if (r.dbias->pitch != r.S)
    return fmt::format(
        "the gradient of the bias has a row every {} elements: cuDNN writes rows of {} without "
        "gaps",
        r.dbias->pitch, r.S);
  return form(r, *r.dbias, "the gradient of the bias");
}

std::string dropping(const AttentionRequest& r, Pass pass, const DeviceFacts& d) {
  if (!(r.dropout >= 0 && r.dropout < 1))
    return fmt::format("dropout of {}: it must be at least 0 and below 1", r.dropout);
  if (pass == Pass::inference && r.dropout > 0)
    return "dropout in inference: no backward pass follows that would need it";
  if (pass == Pass::backward && r.dropout > 0 && family(d.sm) == 100 && sums_in_order(r))
    return fmt::format("dropout together with {} has no engine on sm_{}",
                       r.dbias ? "the gradient of a bias" : "deterministic gradients", d.sm);
  return "";
}

std::string memory(const AttentionRequest& r, Pass pass, const DeviceFacts& d) {
  const std::int64_t bytes = scratch_bytes(r, pass) + workspace_bytes(r, pass, d);
  if (bytes <= d.workspace) return "";
  const bool square = std::any_of(r.biases.begin(), r.biases.end(),
                                  [](const BiasForm& b) { return b.shape[2] > 1; }) ||
                      (sums_in_order(r) && pass == Pass::backward);
  return fmt::format(
      "{:.2f} GB are needed beside its inputs and outputs and {:.2f} GB are free for them{}",
      static_cast<double>(bytes) * 1e-9, static_cast<double>(d.workspace) * 1e-9,
      square ? "; they grow with the square of the length" : "");
}

std::string text_of(const BiasForm& b) {
  return fmt::format("{} {} pitch {}", b.shape.text(), name_of(b.type), b.pitch);
}

}  // namespace

std::int64_t bytes_of(Type t) {
  switch (t) {
    case Type::fp16:
    case Type::bf16: return 2;
    case Type::boolean: return 1;
    case Type::int64: return 8;
    case Type::fp32:
    case Type::int32: break;
  }
  return 4;
}

std::string refusal(const AttentionRequest& r, Pass pass, const DeviceFacts& d) {
  for (const auto rule : {sizes, types, head_sizes, mask, biases, bias_gradient, dropping, memory})
    if (std::string why = rule(r, pass, d); !why.empty()) return why;
  return "";
}

bool sums_in_order(const AttentionRequest& r) {
  return r.deterministic || r.dbias.has_value();
}

AttentionRequest part_of(const AttentionRequest& r, std::int64_t examples) {
  AttentionRequest part = r;
  part.B = examples;
  const auto cut = [&](BiasForm& b) {
    if (b.shape[0] > 1) b.shape = {examples, b.shape[1], b.shape[2], b.shape[3]};
  };
  for (BiasForm& b : part.biases) cut(b);
  if (part.dbias) cut(*part.dbias);
  return part;
}

std::int64_t scratch_bytes(const AttentionRequest& r, Pass pass) {
  const std::int64_t queries = r.B * r.H * r.T, keys = r.B * r.G * r.S;
  std::int64_t bytes = (queries + keys) * (r.D + r.E) * bytes_of(r.io);  // q, y, k, v
  if (pass == Pass::backward) bytes += bytes + queries * (1 + r.D) * 4;  // gradients, two sums
  for (const BiasForm& b : r.biases) bytes += b.shape.span(0, 3) * b.pitch * bytes_of(b.type);
  if (r.dbias && pass == Pass::backward) bytes += r.dbias->shape.count() * bytes_of(r.dbias->type);
  return bytes;
}

std::int64_t workspace_bytes(const AttentionRequest& r, Pass pass, const DeviceFacts& d) {
  const int on = family(d.sm);
  const std::int64_t maps = r.B * r.H;
  // sm_100 draws the dropped elements beforehand, a bit each.
  const bool draws = on == 100 && r.dropout > 0;
  const std::int64_t bits = draws ? maps * up_to(128, r.T) * up_to(128, r.S) / 8 : 0;
  if (pass != Pass::backward) return on == 90 ? 256 : bits > 0 ? bits + 128 : 0;
  std::int64_t bytes = bits;
  const bool ampere = on == 80 || on == 120 || (on == 100 && r.T <= 128 && !draws);
  if (sums_in_order(r))
    // The gradient of the scores, from which dQ is then multiplied.
    bytes += maps * up_to(64, r.T) * up_to(64, r.S) * 2;
  else if (ampere)
    bytes += maps * up_to(8, r.T) * r.D * 4;  // its kernel sums dQ a second time
  // dK and dV of every query head, before those of a group are summed.
  if (r.G < r.H) bytes += maps * r.S * (r.D + r.E) * 2;
  if (on == 90) return bytes + 256;
  return bytes > 0 ? bytes + 128 : 0;
}

std::string plan_key(const AttentionRequest& r, Pass pass, int device) {
  const char* const passes[] = {"inference", "forward", "backward"};
  const char* const layouts[] = {"by head", "by token", "packed"};
  std::string key =
      fmt::format("device {} {} {} {}, B {} H {} G {} T {} S {} D {} E {}", device,
                  passes[static_cast<int>(pass)], name_of(r.io),
                  layouts[static_cast<int>(r.layout)], r.B, r.H, r.G, r.T, r.S, r.D, r.E);
  if (r.stored > 0) key += fmt::format(" of {}", r.stored);
  if (r.causal) key += ", causal";
  if (r.slopes) key += ", slopes";
  for (const BiasForm& b : r.biases) key += ", bias " + text_of(b);
  // The graph holds the probability itself.
  if (r.dropout > 0) key += fmt::format(", dropout {}", r.dropout);
  if (pass != Pass::backward) return key;  // what follows is of the gradients alone
  if (r.dbias) key += ", dbias " + text_of(*r.dbias);
  if (r.deterministic) key += ", deterministic";
  return key;
}

}  // namespace pesuite::cuda
