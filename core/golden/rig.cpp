#include "golden/rig.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "tensor/ops.h"

namespace pesuite::golden {

Response run(Backend& backend, const std::vector<Values>& inputs, const Build& build,
             const std::vector<Values>& cotangents) {
  host::Leaves parameters(backend, inputs);
  Tape tape(backend);
  const std::vector<Tensor> leaves = parameters.on(tape);
  const std::vector<Tensor> made = build(tape, leaves);
  if (tape.failed()) fail(Exit::plugin, "{}", tape.failure());
  Response result;
  for (const Tensor y : made) result.outputs.push_back(host::download(backend, tape.view(y)));
  if (cotangents.empty()) return result;
  PES_CHECK(cotangents.size() == made.size());
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (cotangents[i].data.size() != result.outputs[i].data.size())
      fail(Exit::data, "a cotangent has {} numbers, its output {}", cotangents[i].data.size(),
           result.outputs[i].data.size());
    if (const Out dy = tape.grad(made[i])) backend.upload(dy, cotangents[i].data.data());
  }
  tape.backward();
  result.gradients = parameters.gradients();
  return result;
}

namespace {

// The values with axis i of the result being axis axes[i] of `x`.
Values permuted(const Values& x, const std::vector<int>& axes, const std::string& what) {
  if (axes.empty()) return x;
  std::vector<int> sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  for (int i = 0; i < static_cast<int>(sorted.size()); ++i)
    if (sorted[static_cast<std::size_t>(i)] != i || static_cast<int>(axes.size()) != x.shape.rank())
      fail(Exit::usage, "{}: its {} axes cannot be permuted so", what, x.shape.rank());
  const int rank = x.shape.rank();
  std::int64_t extents[Shape::max_rank] = {}, strides[Shape::max_rank] = {};
  for (int i = 0; i < rank; ++i) {
    const int from = axes[static_cast<std::size_t>(i)];
    extents[i] = x.shape[from];
    strides[i] = x.shape.span(from + 1, rank);
  }
  Values out{Shape::of(rank, extents), {}};
  for (std::int64_t n = 0; n < x.shape.count(); ++n) {
    std::int64_t rest = n, at = 0;
    for (int i = rank - 1; i >= 0; --i) {
      at += rest % extents[i] * strides[i];
      rest /= extents[i];
    }
    out.data.push_back(x.data[static_cast<std::size_t>(at)]);
  }
  return out;
}

std::vector<int> inverse(const std::vector<int>& axes) {
  std::vector<int> out(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i)
    out[static_cast<std::size_t>(axes[i])] = static_cast<int>(i);
  return out;
}

Tensor indices(Tape& t, const std::vector<int>& list) {
  const std::vector<double> data(list.begin(), list.end());
  return t.constant({static_cast<std::int64_t>(list.size())}, data.data());
}

}  // namespace

// A vector without heads, as tables have none, is of a model with one; without a head size, of one
// with 8 features.
ModelShape Rig::shape_of(const Vector& v, const Spelling& s, int heads) {
  ModelShape m;
  m.layers = 1;
  m.heads = m.kv_heads = heads > 0 ? heads : static_cast<int>(v.number("H", 1));
  m.head_dim = s.head_dim.value_or(static_cast<int>(v.number("D", 8)));
  const int length = s.length.value_or(static_cast<int>(v.number("T", v.number("seq_len", 1))));
  m.width = s.identity ? length : static_cast<int>(v.number("d_model", m.heads * m.head_dim));
  m.train_length = s.train_length.value_or(std::max(length + s.offset, 4096));
  m.max_length = std::max({m.train_length, length + s.offset, 4096});
  return m;
}

Rig::Rig(const Vector& v, const Spelling& s, const Catalog& catalog, Backend& backend, int heads)
    : v_(v),
      s_(s),
      backend_(backend),
      shape_(shape_of(v, s, heads)),
      encoding_(catalog, parse_expression(s.encoding), shape_) {
  bind();
}

void Rig::bind() {
  std::vector<std::string> names;
  for (const Encoding::ParameterSpec& p : encoding_.parameters()) {
    names.push_back(p.name);
    const auto rule = s_.parameters.find(p.name);
    Spelling::Source source{p.name, {}, 0};
    if (rule != s_.parameters.end()) source = rule->second;
    Bound b{source.input, source.axes, {p.shape, {}}};
    if (source.input.empty()) {
      b.values.data.assign(static_cast<std::size_t>(p.shape.count()), source.fill);
    } else {
      if (!v_.has_input(source.input))
        fail(Exit::usage,
             "{}: {} has no input '{}' for the parameter '{}' of {}; say in "
             "`parameters` where it comes from",
             s_.rule, v_.name(), source.input, p.name, encoding_.text());
      const Values given = permuted(v_.input(source.input), source.axes, source.input);
      if (given.shape.count() != p.shape.count())
        fail(Exit::plugin, "the parameter '{}' of {} is {}, the vector's '{}' {}", p.name,
             encoding_.text(), p.shape.text(), source.input, given.shape.text());
      b.values.data = given.data;
      p.keep(std::span(b.values.data));
    }
    bound_.push_back(std::move(b));
  }
  for (const auto& [name, source] : s_.parameters)
    if (std::find(names.begin(), names.end(), name) == names.end())
      fail(Exit::usage, "{}: {} has no parameter '{}'", s_.rule, encoding_.text(), name);
}

void Rig::fill(const std::function<double(std::int64_t, std::int64_t)>& value) {
  const auto matrix = [](const Shape& s) {  // of one layer
    return s.rank() >= 2 && s.span(0, s.rank() - 2) == 1;
  };
  if (bound_.size() != 1 || !matrix(bound_[0].values.shape))
    fail(Exit::plugin, "{} is wanted to have one parameter, a matrix", encoding_.text());
  Values& v = bound_[0].values;
  const std::int64_t columns = v.shape[-1];
  for (std::int64_t n = 0; n < v.shape.count(); ++n)
    v.data[static_cast<std::size_t>(n)] = value(n / columns, n % columns);
}

int Rig::length() const {
  if (s_.length) return *s_.length;
  const double n = v_.number("T", v_.number("seq_len", 0));
  if (n < 1) fail(Exit::data, "{}: its config lacks the length T", v_.name());
  return static_cast<int>(n);
}

std::optional<std::vector<int>> Rig::scattered() const {
  const Json* place = s_.positions.empty() ? nullptr : v_.find(s_.positions);
  if (place == nullptr) return std::nullopt;
  if (place->is_object()) place = &place->at("data");  // a tensor; else a list in the config
  if (!place->is_array()) return std::nullopt;
  std::vector<int> positions = place->get<std::vector<int>>();
  std::sort(positions.begin(), positions.end());
  if (!positions.empty() && positions.front() < 0)
    fail(Exit::data, "{}: a position is negative", v_.name());
  return positions;
}

Response Rig::operator()(std::vector<Values> inputs, const Build& build,
                         const std::vector<Values>& cotangents) {
  const std::size_t own = inputs.size();
  for (const Bound& b : bound_) inputs.push_back(b.values);
  return run(
      backend_, inputs,
      [&](Tape& t, std::span<const Tensor> all) {
        leaves_.assign(all.begin() + static_cast<std::ptrdiff_t>(own), all.end());
        return build(t, all.first(own));
      },
      cotangents);
}

std::vector<std::pair<std::string, std::vector<double>>> Rig::parameter_gradients(
    const Response& r, std::size_t own) const {
  std::vector<std::pair<std::string, std::vector<double>>> out;
  for (std::size_t i = 0; i < bound_.size(); ++i) {
    const Bound& b = bound_[i];
    if (b.input.empty() || !v_.has_output("d_" + b.input)) continue;
    out.emplace_back("d_" + b.input, as_given(r.gradients[own + i], b));
  }
  return out;
}

std::vector<double> Rig::as_given(Values x, const Bound& b) const {
  if (b.axes.empty()) return x.data;
  x.shape = permuted(v_.input(b.input), b.axes, b.input).shape;
  return permuted(x, inverse(b.axes), b.input).data;
}

std::vector<std::pair<std::string, std::vector<double>>> Rig::parameters() const {
  std::vector<std::pair<std::string, std::vector<double>>> out;
  for (const Bound& b : bound_)
    if (!b.input.empty()) out.emplace_back(b.input, as_given(b.values, b));
  return out;
}

void Rig::begin(Tape& t, int length, int offset) {
  StepInfo step;
  step.training = s_.training;
  step.batch = 1, step.length = length, step.offset = offset;
  encoding_.begin(t, step, leaves_);
}

Attention Rig::attend_here(Tape& t, Tensor q, Tensor k, Tensor v, Tensor x, int length,
                           int offset) {
  begin(t, length, offset);
  Attention a;
  a.q = q, a.k = k, a.v = v;
  a.scale = s_.scale.value_or(1 / std::sqrt(shape_.head_dim));
  if (s_.identity) {
    std::vector<double> unit(static_cast<std::size_t>(length * length), 0.0);
    for (int i = 0; i < length; ++i) unit[static_cast<std::size_t>(i * length + i)] = 1;
    x = t.constant({1, length, length}, unit.data());
  }
  encoding_.attend(t, 0, x, a);
  return a;
}

namespace {

// 5, 6, 7: the first one, where the positions are a run.
std::optional<int> run_from(const std::vector<int>& positions) {
  for (std::size_t i = 1; i < positions.size(); ++i)
    if (positions[i] != positions[0] + static_cast<int>(i)) return std::nullopt;
  return positions.empty() ? 0 : positions[0];
}

}  // namespace

// Tokens at given positions are each run alone, at their own offset: what a hook does to q and k of
// one token may depend on its position and on nothing of the others.
Attention Rig::attend(Tape& t, Tensor q, Tensor k, Tensor v, Tensor x) {
  const int length = static_cast<int>(t.shape(q)[2]);
  const auto positions = scattered();
  const auto first = positions ? run_from(*positions) : s_.offset;
  if (first) return attend_here(t, q, k, v, x, length, *first);
  if (static_cast<int>(positions->size()) != length)
    fail(Exit::data, "{}: {} positions for {} tokens", v_.name(), positions->size(), length);
  Attention all;
  bool biased = false;
  for (int n = 0; n < length; ++n) {
    const Attention one = attend_here(t, ops::slice(t, q, 2, n, 1), ops::slice(t, k, 2, n, 1),
                                      ops::slice(t, v, 2, n, 1), x ? ops::slice(t, x, 1, n, 1) : x,
                                      1, (*positions)[static_cast<std::size_t>(n)]);
    all.scale = one.scale;
    biased |= one.distance || one.bias || one.rewrite;
    all.q = n == 0 ? one.q : ops::concat(t, all.q, one.q, 2);
    all.k = n == 0 ? one.k : ops::concat(t, all.k, one.k, 2);
  }
  all.v = v;
  if (biased) gather_bias(t, all, *positions, q, k);
  return all;
}

// A bias of positions is that of a long sequence at their rows and columns.
void Rig::gather_bias(Tape& t, Attention& a, const std::vector<int>& positions, Tensor q,
                      Tensor k) {
  const int end = positions.back() + 1;
  const auto zeros = [&](Tensor like) {
    const Shape s{1, t.shape(like)[1], end, t.shape(like)[3]};
    const std::vector<double> none(static_cast<std::size_t>(s.count()), 0.0);
    return t.constant(s, none.data());
  };
  const Tensor q0 = zeros(q), k0 = zeros(k);
  const Attention whole = attend_here(t, q0, k0, k0, {}, end, 0);
  if (whole.rewrite)
    fail(Exit::plugin, "{} rewrites scores, which cannot be tried at positions with gaps",
         encoding_.text());
  const auto length = static_cast<std::int64_t>(positions.size());
  if (whole.distance) {
    std::vector<int> of;
    for (const int i : positions)
      for (const int j : positions) of.push_back(std::max(0, i - j));
    const Shape s{1, t.shape(whole.distance)[0], length, length};
    a.bias = ops::reshape(t, ops::take(t, whole.distance, indices(t, of)), s);
  }
  if (whole.bias) {
    const int swap[] = {0, 1, 3, 2};
    const Tensor at = indices(t, positions);
    const Shape s = t.shape(whole.bias);  // [1, H, end, end], leading axes of 1 may be missing
    const Tensor square = ops::reshape(t, whole.bias, {s[-4], s[-3], s[-2], s[-1]});
    const Tensor columns = ops::take(t, square, at);  // [1, H, end, T]
    const Tensor both = ops::permute(t, ops::take(t, ops::permute(t, columns, swap), at), swap);
    a.bias = a.bias ? ops::binary(t, Binary::add, a.bias, both) : both;
  }
}

Tensor Rig::embed(Tape& t, Tensor x) {
  const int length = static_cast<int>(t.shape(x)[1]);
  const auto positions = scattered();
  const auto first = positions ? run_from(*positions) : s_.offset;
  if (first) {
    begin(t, length, *first);
    return encoding_.embed(t, x);
  }
  Tensor all;
  for (int n = 0; n < length; ++n) {
    begin(t, 1, positions->at(static_cast<std::size_t>(n)));
    const Tensor one = encoding_.embed(t, ops::slice(t, x, 1, n, 1));
    all = n == 0 ? one : ops::concat(t, all, one, 1);
  }
  return all;
}

Tensor Rig::scores(Tape& t, const Attention& a) {
  const std::int64_t H = t.shape(a.q)[1], T = t.shape(a.q)[2];
  Tensor s = ops::affine(t, ops::matmul(t, a.q, a.k, true), a.scale, 0);  // [1, H, T, T]
  std::vector<double> visible;
  std::vector<int> distance;
  for (int i = 0; i < T; ++i)
    for (int j = 0; j < T; ++j) {
      visible.push_back(j <= i ? 1 : 0);
      distance.push_back(std::max(0, i - j));
    }
  if (a.distance) {
    const Tensor by = ops::take(t, a.distance, indices(t, distance));
    const Shape shape{1, t.shape(a.distance)[0], T, T};
    s = ops::binary(t, Binary::add, s, ops::reshape(t, by, shape));
  }
  if (a.bias) s = ops::binary(t, Binary::add, s, a.bias);
  if (a.rewrite)
    s = a.rewrite.call(a.rewrite.self, t, s, a.q, a.k, t.constant({T, T}, visible.data()), 0);
  PES_CHECK(t.failed() || t.shape(s) == Shape({1, H, T, T}));
  return s;
}

}  // namespace pesuite::golden
