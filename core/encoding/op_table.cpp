#include "encoding/op_table.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <string_view>

#include "tensor/ops.h"

namespace pesuite {

namespace {

bool known(const pes_ctx& c, pes_tensor x) {
  if (c.knows(x)) return true;
  c.tape->fail(c.is_of_step(x) ? "an unknown tensor handle"
                               : "a tensor handle of another step: none lives longer than the step "
                                 "it was made in; make it again in begin()");
  return false;
}

// Runs an op for a plugin: handles checked, exceptions kept for the host. Tensors that are made
// later are made now, unless the op does that itself.
template <class F>
pes_tensor guarded(pes_ctx* ctx, std::initializer_list<pes_tensor> arguments, F op,
                   bool made = true) noexcept {
  try {
    Tape& tape = *ctx->tape;
    for (const pes_tensor a : arguments) {
      if (!known(*ctx, a)) return {};
      if (made) tape.now(ctx->tensor(a));
    }
    const Tensor t = op(tape);
    PES_CHECK(t.id >> handle_bits == 0);
    return ctx->lend(t);
  } catch (...) {
    if (!ctx->thrown) ctx->thrown = std::current_exception();
    return {};
  }
}

void op_fail(pes_ctx* ctx, const char* message) {
  guarded(ctx, {},
          [&](Tape& t) { return t.refuse(message == nullptr ? "no reason given" : message); });
}

int op_shape(pes_ctx* ctx, pes_tensor x, std::int64_t out[PES_MAX_RANK]) {
  if (x.id == 0 || !ctx->knows(x)) return -1;
  const Shape s = ctx->tape->shape(ctx->tensor(x));
  for (int i = 0; i < s.rank(); ++i) out[i] = s[i];
  return s.rank();
}

// The shape a plugin asked for, or a failure.
bool read_shape(Tape& t, const char* op, int rank, const std::int64_t* extents, Shape& out) {
  if (rank < 0 || rank > Shape::max_rank) {
    t.fail(fmt::format("{}: a tensor has 0 to {} axes, not {}", op, Shape::max_rank, rank));
    return false;
  }
  for (int i = 0; i < rank; ++i)
    if (extents[i] < 1) {
      t.fail(fmt::format("{}: extent {} of axis {} is not positive", op, extents[i], i));
      return false;
    }
  out = Shape::of(rank, extents);
  return true;
}

pes_tensor op_upload(pes_ctx* ctx, int rank, const std::int64_t* extents, const double* data) {
  return guarded(ctx, {}, [&](Tape& t) {
    Shape shape;
    return read_shape(t, "upload", rank, extents, shape) ? t.constant(shape, data) : Tensor{};
  });
}

constexpr Unary unary_ops[] = {Unary::exp,  Unary::log,     Unary::sin,      Unary::cos,
                               Unary::tanh, Unary::sigmoid, Unary::softplus, Unary::relu,
                               Unary::abs,  Unary::sqrt,    Unary::floor};
constexpr Binary binary_ops[] = {Binary::add, Binary::sub, Binary::mul,
                                 Binary::div, Binary::min, Binary::max};

pes_tensor op_unary(pes_ctx* ctx, pes_unary op, pes_tensor x) {
  const auto run = [&](Tape& t) {
    if (static_cast<std::size_t>(op) >= std::size(unary_ops))
      return t.fail(fmt::format("unary: this pesuite has no op {}", static_cast<int>(op)));
    return ops::unary(t, unary_ops[op], ctx->tensor(x));
  };
  return guarded(ctx, {x}, run, false);
}
pes_tensor op_binary(pes_ctx* ctx, pes_binary op, pes_tensor a, pes_tensor b) {
  const auto run = [&](Tape& t) {
    if (static_cast<std::size_t>(op) >= std::size(binary_ops))
      return t.fail(fmt::format("binary: this pesuite has no op {}", static_cast<int>(op)));
    return ops::binary(t, binary_ops[op], ctx->tensor(a), ctx->tensor(b));
  };
  return guarded(ctx, {a, b}, run, false);
}
pes_tensor op_affine(pes_ctx* ctx, pes_tensor x, double scale, double shift) {
  return guarded(ctx, {x}, [&](Tape& t) { return ops::affine(t, ctx->tensor(x), scale, shift); });
}
pes_tensor op_matmul(pes_ctx* ctx, pes_tensor a, pes_tensor b, bool transpose_b) {
  const auto run = [&](Tape& t) {
    return ops::matmul(t, ctx->tensor(a), ctx->tensor(b), transpose_b);
  };
  return guarded(ctx, {a, b}, run, false);
}
pes_tensor op_sum(pes_ctx* ctx, pes_tensor x, int axis) {
  return guarded(ctx, {x}, [&](Tape& t) { return ops::sum(t, ctx->tensor(x), axis); });
}
pes_tensor op_cumsum(pes_ctx* ctx, pes_tensor x, int axis, bool reverse) {
  return guarded(ctx, {x}, [&](Tape& t) { return ops::cumsum(t, ctx->tensor(x), axis, reverse); });
}
pes_tensor op_reshape(pes_ctx* ctx, pes_tensor x, int rank, const std::int64_t* extents) {
  return guarded(ctx, {x}, [&](Tape& t) {
    Shape shape;
    if (!read_shape(t, "reshape", rank, extents, shape)) return Tensor{};
    return ops::reshape(t, ctx->tensor(x), shape);
  });
}
pes_tensor op_permute(pes_ctx* ctx, pes_tensor x, const int* axes) {
  return guarded(ctx, {x}, [&](Tape& t) { return ops::permute(t, ctx->tensor(x), axes); });
}
pes_tensor op_slice(pes_ctx* ctx, pes_tensor x, int axis, std::int64_t start, std::int64_t length) {
  return guarded(ctx, {x},
                 [&](Tape& t) { return ops::slice(t, ctx->tensor(x), axis, start, length); });
}
pes_tensor op_concat(pes_ctx* ctx, pes_tensor a, pes_tensor b, int axis) {
  return guarded(ctx, {a, b},
                 [&](Tape& t) { return ops::concat(t, ctx->tensor(a), ctx->tensor(b), axis); });
}
pes_tensor op_take(pes_ctx* ctx, pes_tensor x, pes_tensor index) {
  return guarded(ctx, {x, index},
                 [&](Tape& t) { return ops::take(t, ctx->tensor(x), ctx->tensor(index)); });
}
pes_tensor op_rows(pes_ctx* ctx, pes_tensor x, pes_tensor index) {
  return guarded(ctx, {x, index},
                 [&](Tape& t) { return ops::rows(t, ctx->tensor(x), ctx->tensor(index)); });
}
pes_tensor op_rotate(pes_ctx* ctx, pes_tensor x, pes_tensor cos, pes_tensor sin, pes_pairs pairs) {
  // not x: rotate() decides whether that has to be made
  return guarded(ctx, {cos, sin}, [&](Tape& t) {
    if (!known(*ctx, x)) return Tensor{};
    return ops::rotate(t, ctx->tensor(x), ctx->tensor(cos), ctx->tensor(sin),
                       pairs == PES_PAIRS_INTERLEAVED ? Pairs::interleaved : Pairs::half);
  });
}
pes_tensor op_interpolate(pes_ctx* ctx, pes_tensor x, pes_tensor position) {
  return guarded(ctx, {x, position}, [&](Tape& t) {
    return ops::interpolate(t, ctx->tensor(x), ctx->tensor(position));
  });
}

void log_say(pes_ctx* ctx, const char* sentence) {
  guarded(ctx, {}, [&](Tape& t) {
    spdlog::info("{}", t.placed(sentence == nullptr ? "" : sentence));
    return Tensor{};
  });
}

const void* op_extension(const char* id, std::uint32_t revision) {
  static constexpr pes_log log = {sizeof(pes_log), log_say};
  return id != nullptr && id == std::string_view("log") && revision == 1 ? &log : nullptr;
}

}  // namespace

const pes_ops& op_table() {
  static constexpr pes_ops table = {.size = sizeof(pes_ops),
                                    .fail = op_fail,
                                    .shape = op_shape,
                                    .upload = op_upload,
                                    .unary = op_unary,
                                    .binary = op_binary,
                                    .affine = op_affine,
                                    .matmul = op_matmul,
                                    .sum = op_sum,
                                    .cumsum = op_cumsum,
                                    .reshape = op_reshape,
                                    .permute = op_permute,
                                    .slice = op_slice,
                                    .concat = op_concat,
                                    .take = op_take,
                                    .rows = op_rows,
                                    .rotate = op_rotate,
                                    .interpolate = op_interpolate,
                                    .extension = op_extension};
  return table;
}

pes_attention lend_slots(const pes_ctx& ctx, int layer, Tensor x, const Attention& a) {
  return {sizeof(pes_attention),
          layer,
          ctx.lend(x),
          ctx.lend(a.q),
          ctx.lend(a.k),
          a.scale,
          ctx.lend(a.distance),
          ctx.lend(a.bias),
          false};
}

void take_slots(const pes_ctx& ctx, const pes_attention& c, Attention& a) {
  a.q = ctx.tensor(c.q);
  a.k = ctx.tensor(c.k);
  a.scale = c.scale;
  a.distance = ctx.tensor(c.distance);
  a.bias = ctx.tensor(c.bias);
}

}  // namespace pesuite
