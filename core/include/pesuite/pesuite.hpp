// pesuite.hpp -- for authors of plugins in C++20: tensors with operators, typed options, and
// the glue that turns a class into a pes_encoding or a pes_task. Header only, on top of
// pesuite.h, which is the specification.
//
//   struct Decay : pes::Encoding {
//     static constexpr pes_option options[] = {
//         pes::real("slope", "0.1", 0, 10, "how fast the score falls with distance")};
//     static constexpr pes_card card = pes::card<Decay>("decay", "score - slope * distance");
//     double slope;
//     Decay(const pes_model&, const pes::Values& v) : slope(v.real("slope")) {}
//     void attend(const pes::Step& s, pes::Attention& a) const {
//       a.distance = s.table({1, s.length}, [&](auto, auto j) { return -slope * j; });
//     }
//   };
//   constexpr const pes_encoding* encodings[] = {&pes::encoding<Decay>, nullptr};
//   PES_LIBRARY("decay", "1.0.0", "MIT", encodings, nullptr);
#ifndef PESUITE_PESUITE_HPP_
#define PESUITE_PESUITE_HPP_

#include <pesuite/pesuite.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <initializer_list>
#include <limits>
#include <new>
#include <pesuite/random.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace pes {

struct Refusal : std::runtime_error {  // thrown by a constructor: the sentence the user reads
  using std::runtime_error::runtime_error;
};

// ------------------------------------------------------------------------------- options

constexpr pes_option option(pes_type type, const char* name, const char* value, double low,
                            double high, const char* choices, const char* help) {
  return {sizeof(pes_option), name, value, help, type, low, high, choices};
}
inline constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr pes_option flag(const char* name, const char* value, const char* help) {
  return option(PES_BOOL, name, value, 0, 1, nullptr, help);
}
constexpr pes_option integer(const char* name, const char* value, double low, double high,
                             const char* help) {
  return option(PES_INT, name, value, low, high, nullptr, help);
}
constexpr pes_option real(const char* name, const char* value, double low, double high,
                          const char* help) {
  return option(PES_REAL, name, value, low, high, nullptr, help);
}
constexpr pes_option choice(const char* name, const char* value, const char* choices,
                            const char* help) {
  return option(PES_CHOICE, name, value, 0, 0, choices, help);
}
constexpr pes_option text(const char* name, const char* value, const char* help) {
  return option(PES_TEXT, name, value, 0, 0, nullptr, help);
}
constexpr pes_option reals(const char* name, const char* value, double low, double high,
                           const char* help) {
  return option(PES_REALS, name, value, low, high, nullptr, help);
}

// The options' values, already checked by the host, by name.
class Values {
 public:
  Values(std::span<const pes_option> options, const char* const* values)
      : options_(options), values_(values) {}

  const char* text(std::string_view name) const {
    for (std::size_t i = 0; i < options_.size(); ++i)
      if (name == options_[i].name) return values_[i];
    throw Refusal("the plugin reads an option '" + std::string(name) + "' that it never declared");
  }
  double real(std::string_view name) const { return std::strtod(text(name), nullptr); }
  std::int64_t integer(std::string_view name) const {
    return std::strtoll(text(name), nullptr, 10);
  }
  bool flag(std::string_view name) const { return std::string_view(text(name)) == "true"; }
  bool is(std::string_view name, std::string_view choice) const { return text(name) == choice; }
  std::vector<double> reals(std::string_view name) const {
    std::vector<double> out;
    const char* p = text(name) + 1;  // behind '['
    for (char* end = nullptr;; p = end + (*end == ',')) {
      const double value = std::strtod(p, &end);
      if (end == p) return out;
      out.push_back(value);
      while (*end == ' ') ++end;
    }
  }

 private:
  std::span<const pes_option> options_;
  const char* const* values_;
};

// ------------------------------------------------------------------------------- tensors

// A handle with the context it lives in. Shapes and rules of each op: pes_ops in pesuite.h.
struct Tensor {
  const pes_step* step = nullptr;
  pes_tensor id{};

  Tensor with(pes_tensor other) const { return {step, other}; }
  int rank() const {
    std::int64_t s[PES_MAX_RANK];
    return step->ops->shape(step->ctx, id, s);
  }
  std::int64_t extent(int axis) const {
    std::int64_t s[PES_MAX_RANK] = {};
    const int rank = step->ops->shape(step->ctx, id, s);
    const int i = axis < 0 ? axis + rank : axis;
    return i >= 0 && i < rank ? s[i] : 0;
  }
};

inline Tensor unary(pes_unary op, Tensor x) {
  return x.with(x.step->ops->unary(x.step->ctx, op, x.id));
}
inline Tensor exp(Tensor x) {
  return unary(PES_EXP, x);
}
inline Tensor log(Tensor x) {
  return unary(PES_LOG, x);
}
inline Tensor sin(Tensor x) {
  return unary(PES_SIN, x);
}
inline Tensor cos(Tensor x) {
  return unary(PES_COS, x);
}
inline Tensor tanh(Tensor x) {
  return unary(PES_TANH, x);
}
inline Tensor sigmoid(Tensor x) {
  return unary(PES_SIGMOID, x);
}
inline Tensor softplus(Tensor x) {
  return unary(PES_SOFTPLUS, x);
}
inline Tensor relu(Tensor x) {
  return unary(PES_RELU, x);
}
inline Tensor abs(Tensor x) {
  return unary(PES_ABS, x);
}
inline Tensor sqrt(Tensor x) {
  return unary(PES_SQRT, x);
}
inline Tensor floor(Tensor x) {
  return unary(PES_FLOOR, x);
}

inline Tensor binary(pes_binary op, Tensor a, Tensor b) {
  return a.with(a.step->ops->binary(a.step->ctx, op, a.id, b.id));
}
inline Tensor operator+(Tensor a, Tensor b) {
  return binary(PES_ADD, a, b);
}
inline Tensor operator-(Tensor a, Tensor b) {
  return binary(PES_SUB, a, b);
}
inline Tensor operator*(Tensor a, Tensor b) {
  return binary(PES_MUL, a, b);
}
inline Tensor operator/(Tensor a, Tensor b) {
  return binary(PES_DIV, a, b);
}
inline Tensor min(Tensor a, Tensor b) {
  return binary(PES_MIN, a, b);
}
inline Tensor max(Tensor a, Tensor b) {
  return binary(PES_MAX, a, b);
}

inline Tensor affine(Tensor x, double scale, double shift) {
  return x.with(x.step->ops->affine(x.step->ctx, x.id, scale, shift));
}
inline Tensor operator*(Tensor x, double s) {
  return affine(x, s, 0);
}
inline Tensor operator*(double s, Tensor x) {
  return affine(x, s, 0);
}
inline Tensor operator/(Tensor x, double s) {
  return affine(x, 1 / s, 0);
}
inline Tensor operator+(Tensor x, double s) {
  return affine(x, 1, s);
}
inline Tensor operator+(double s, Tensor x) {
  return affine(x, 1, s);
}
inline Tensor operator-(Tensor x, double s) {
  return affine(x, 1, -s);
}
inline Tensor operator-(double s, Tensor x) {
  return affine(x, -1, s);
}
inline Tensor operator-(Tensor x) {
  return affine(x, -1, 0);
}

inline Tensor matmul(Tensor a, Tensor b, bool transpose_b = false) {
  return a.with(a.step->ops->matmul(a.step->ctx, a.id, b.id, transpose_b));
}
inline Tensor sum(Tensor x, int axis) {
  return x.with(x.step->ops->sum(x.step->ctx, x.id, axis));
}
inline Tensor cumsum(Tensor x, int axis, bool reverse = false) {
  return x.with(x.step->ops->cumsum(x.step->ctx, x.id, axis, reverse));
}
inline Tensor reshape(Tensor x, std::initializer_list<std::int64_t> shape) {
  return x.with(
      x.step->ops->reshape(x.step->ctx, x.id, static_cast<int>(shape.size()), shape.begin()));
}
inline Tensor permute(Tensor x, std::initializer_list<int> axes) {
  return x.with(x.step->ops->permute(x.step->ctx, x.id, axes.begin()));
}
inline Tensor slice(Tensor x, int axis, std::int64_t start, std::int64_t length) {
  return x.with(x.step->ops->slice(x.step->ctx, x.id, axis, start, length));
}
inline Tensor concat(Tensor a, Tensor b, int axis) {
  return a.with(a.step->ops->concat(a.step->ctx, a.id, b.id, axis));
}
inline Tensor take(Tensor x, Tensor index) {
  return x.with(x.step->ops->take(x.step->ctx, x.id, index.id));
}
inline Tensor rows(Tensor x, Tensor index) {
  return x.with(x.step->ops->rows(x.step->ctx, x.id, index.id));
}
inline Tensor rotate(Tensor x, Tensor cos, Tensor sin, pes_pairs pairs = PES_PAIRS_HALF) {
  return x.with(x.step->ops->rotate(x.step->ctx, x.id, cos.id, sin.id, pairs));
}

// ------------------------------------------------------------------------------ encodings

struct Param {  // names a parameter declared in the constructor
  int index = -1;
};

// pes_step with the things that a hook wants of it.
struct Step {
  const pes_step* c;
  pes_phase phase = c->phase;
  std::int64_t step = c->step, steps = c->steps;
  std::uint64_t seed = c->seed;
  int batch = c->batch, length = c->length, offset = c->offset;

  Tensor operator[](Param p) const { return {c, c->params[p.index]}; }
  Tensor upload(std::initializer_list<std::int64_t> shape, const double* data) const {
    return {c, c->ops->upload(c->ctx, static_cast<int>(shape.size()), shape.begin(), data)};
  }
  // A constant [rows, columns] with value(row, column). For what is cheap to make each step.
  template <class F>
  Tensor table(std::initializer_list<std::int64_t> shape, F value) const {
    const std::int64_t columns = *(shape.end() - 1);
    std::int64_t rows = 1;
    for (const std::int64_t e : shape) rows *= e;
    rows /= columns;
    std::vector<double> data;
    data.reserve(static_cast<std::size_t>(rows * columns));
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) data.push_back(value(i, j));
    return upload(shape, data.data());
  }
};

struct Attention {  // pes_attention with tensors that have operators
  int layer;
  Tensor x, q, k;
  double& scale;
  Tensor distance, bias;
  bool& rewrite;
};
struct Scores {
  int layer, first;
  Tensor x, q, k, visible;
  double scale;
  Tensor scores;
};

// A table [rows, columns] of doubles that is computed once and extended on demand.
class Table {
 public:
  template <class F>  // value(row, column)
  const double* extend(std::int64_t rows, std::int64_t columns, F value) {
    for (auto i = static_cast<std::int64_t>(data_.size()) / columns; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) data_.push_back(value(i, j));
    return data_.data();
  }

 private:
  std::vector<double> data_;
};

using Init = std::function<double(Random&)>;
inline Init normal(double sd) {
  return [sd](Random& r) { return sd * r.normal(); };
}
inline Init uniform(double low, double high) {
  return [=](Random& r) { return low + (high - low) * r.uniform(); };
}
inline Init constant(double value) {
  return [value](Random&) { return value; };
}

// Base of an encoding: keeps the parameters it declares. A derived class defines what it needs
// of begin, embed, attend, rewrite and untrained; what it leaves out becomes a null hook.
class Encoding {
 public:
  struct Declared {
    std::string name;
    pes_param c;
    Init init;
  };
  std::vector<Declared> declared;

 protected:
  Param param(std::string name, std::initializer_list<std::int64_t> shape, Init init,
              bool decay = false) {
    Declared d{std::move(name), {}, std::move(init)};
    d.c.size = sizeof(pes_param);
    d.c.rank = static_cast<int>(shape.size());
    std::copy(shape.begin(), shape.end(), d.c.shape);
    d.c.decay = decay;
    declared.push_back(std::move(d));
    return {static_cast<int>(declared.size()) - 1};
  }
};

namespace detail {

inline void say(char* error, const char* sentence) {
  std::snprintf(error, PES_ERROR_SIZE, "%s", sentence);
}
template <class F>
bool guard(char* error, F body) {  // nothing throws across the line
  try {
    body();
    return true;
  } catch (const std::bad_alloc&) {
    say(error, "out of memory");
  } catch (const std::exception& e) {
    say(error, e.what());
  } catch (...) {
    say(error, "the plugin threw something that is not a std::exception");
  }
  return false;
}

template <class T>
constexpr auto option_span() {
  if constexpr (requires { T::options; })
    return std::span<const pes_option>(T::options);
  else
    return std::span<const pes_option>();
}
template <class T>
struct OptionPointers {
  static constexpr std::size_t count = option_span<T>().size();
  static constexpr auto pointers = [] {
    std::array<const pes_option*, count + 1> p{};
    if constexpr (count > 0)
      for (std::size_t i = 0; i < count; ++i) p[i] = &T::options[i];
    return p;
  }();
};

template <class T>
struct EncodingGlue {
  struct Instance {
    T self;
    std::vector<const pes_param*> params;
  };
  static const T& of(const void* p) { return static_cast<const Instance*>(p)->self; }

  static bool create(const pes_model* model, const char* const* values, pes_created* out,
                     char* error) {
    return guard(error, [&] {
      auto* in = new Instance{T(*model, Values(option_span<T>(), values)), {}};
      for (auto& d : in->self.declared) {
        d.c.name = d.name.c_str();
        in->params.push_back(&d.c);
      }
      in->params.push_back(nullptr);
      out->self = in;
      out->params = in->params.data();
    });
  }
  static void destroy(void* self) { delete static_cast<Instance*>(self); }
  static void init(const void* self, std::int32_t param, std::uint64_t seed, float* out) {
    const Encoding::Declared& d = of(self).declared[static_cast<std::size_t>(param)];
    Random random(seed, purpose(d.name), 0);
    std::int64_t n = 1;
    for (int i = 0; i < d.c.rank; ++i) n *= d.c.shape[i];
    for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(d.init(random));
  }

  template <class F>
  static void hook(const pes_step* step, F body) {
    char error[PES_ERROR_SIZE];
    if (!guard(error, [&] { body(Step{step}); })) step->ops->fail(step->ctx, error);
  }
  static void begin(void* self, const pes_step* step) {
    hook(step, [&](const Step& s) { static_cast<Instance*>(self)->self.begin(s); });
  }
  static pes_tensor embed(const void* self, const pes_step* step, pes_tensor x) {
    pes_tensor y{};
    hook(step, [&](const Step& s) { y = of(self).embed(s, {step, x}).id; });
    return y;
  }
  static void attend(const void* self, const pes_step* step, pes_attention* c) {
    hook(step, [&](const Step& s) {
      Attention a{c->layer, {step, c->x},        {step, c->q},    {step, c->k},
                  c->scale, {step, c->distance}, {step, c->bias}, c->rewrite};
      of(self).attend(s, a);
      c->q = a.q.id;
      c->k = a.k.id;
      c->distance = a.distance.id;
      c->bias = a.bias.id;
    });
  }
  static void rewrite(const void* self, const pes_step* step, pes_scores* c) {
    hook(step, [&](const Step& s) {
      Scores b{c->layer,     c->first,           {step, c->x}, {step, c->q},
               {step, c->k}, {step, c->visible}, c->scale,     {step, c->scores}};
      of(self).rewrite(s, b);
      c->scores = b.scores.id;
    });
  }
  static double untrained(const void* self, std::int32_t length) {
    return of(self).untrained(length);
  }

  static constexpr pes_encoding make() {
    pes_encoding e{};
    e.size = sizeof(pes_encoding);
    e.card = &T::card;
    e.create = create;
    e.destroy = destroy;
    e.init = init;
    if constexpr (requires { &T::begin; }) e.begin = begin;
    if constexpr (requires { &T::embed; }) e.embed = embed;
    if constexpr (requires { &T::attend; }) e.attend = attend;
    if constexpr (requires { &T::rewrite; }) e.rewrite = rewrite;
    if constexpr (requires { &T::untrained; }) e.untrained = untrained;
    return e;
  }
};

}  // namespace detail

// A card with the class's options; the rest is set by name: card<T>("rope", "...").
struct About {
  const char* name;
  const char* summary;
  const char* version = "1";
  const char* taxonomy = "";
  const char* used_in = nullptr;
  const char* paper = nullptr;
  const char* bibtex = nullptr;
  std::uint32_t claims = 0;
};
template <class T>
constexpr pes_card card(About a) {
  return {
      sizeof(pes_card), a.name,  a.summary, a.version, a.taxonomy,
      a.used_in,        a.paper, a.bibtex,  a.claims,  detail::OptionPointers<T>::pointers.data()};
}
template <class T>
constexpr pes_card card(const char* name, const char* summary) {
  return card<T>(About{.name = name, .summary = summary});
}

template <class T>
inline constexpr pes_encoding encoding = detail::EncodingGlue<T>::make();

// ---------------------------------------------------------------------------------- tasks

struct Request {
  const pes_request* c;
  pes_split split = c->split;
  std::uint64_t seed = c->seed, index = c->index;
  int length = c->length;
  std::int64_t start = c->start;

  // True when the request leaves axis `i` to the task, to be drawn as in training.
  bool draws(int i) const { return c->axes == nullptr || std::isnan(c->axes[i]); }
  double axis(int i) const { return c->axes[i]; }
};
struct Example {
  std::span<std::int32_t> tokens, targets;
  std::span<double> optimum;  // empty when nobody asks for it
};

// Base of a task: the fields of pes_task_created, filled by the derived constructor. A derived
// class defines sample(), and of oracle(), chance() and distinct() what exists for it.
class Task {
 public:
  std::int32_t inputs = 0, outputs = 0;
  pes_head head = PES_LM;
  std::int64_t document = 0, documents[3] = {};
  std::vector<std::int32_t> token_bytes;
  std::string digest, note;
  std::vector<const pes_axis*> axes;
  std::vector<const pes_shortcut*> shortcuts;
};

namespace detail {

template <class T>
struct TaskGlue {
  static const T& of(const void* p) { return *static_cast<const T*>(p); }

  static bool create(const pes_use* use, const char* const* values, pes_task_created* out,
                     char* error) {
    return guard(error, [&] {
      T* t = new T(*use, Values(option_span<T>(), values));
      t->axes.push_back(nullptr);
      t->shortcuts.push_back(nullptr);
      out->self = t;
      out->inputs = t->inputs;
      out->outputs = t->outputs;
      out->head = t->head;
      out->document = t->document;
      std::copy(t->documents, t->documents + 3, out->documents);
      out->token_bytes = t->token_bytes.empty() ? nullptr : t->token_bytes.data();
      out->digest = t->digest.empty() ? nullptr : t->digest.c_str();
      out->note = t->note.empty() ? nullptr : t->note.c_str();
      out->axes = t->axes.data();
      out->shortcuts = t->shortcuts.data();
    });
  }
  static void destroy(void* self) { delete static_cast<T*>(self); }

  // The stream of an example: (seed; task, version, split, and for problems length and axes;
  // index). A corpus leaves the length out, so that a document is the same at every length.
  static Random stream(const T& t, const pes_request& r) {
    std::uint64_t key = hash64(T::card.version, hash64(T::card.name));
    key = mix64(key, static_cast<std::uint64_t>(r.split));
    if (t.document == 0) {
      key = mix64(key, static_cast<std::uint64_t>(r.length));
      for (std::size_t i = 0; i + 1 < t.axes.size(); ++i) {
        const double value = r.axes == nullptr ? std::nan("") : r.axes[i];
        key = mix64(key, std::isnan(value) ? ~0ull : std::bit_cast<std::uint64_t>(value));
      }
    }
    return Random(mix64(key, r.seed), purpose("task"), r.index);
  }
  static bool sample(const void* self, const pes_request* r, pes_example* out, char* error) {
    return guard(error, [&] {
      const T& t = of(self);
      const auto n = static_cast<std::size_t>(r->length);
      Example e{{out->tokens, n}, {out->targets, n}, {out->optimum, out->optimum ? n : 0}};
      std::fill(e.optimum.begin(), e.optimum.end(), std::nan(""));
      Random random = stream(t, *r);
      t.sample(Request{r}, random, e);
    });
  }
  static void oracle(const void* self, const std::int32_t* tokens, std::int32_t length,
                     std::int32_t* targets) {
    const auto n = static_cast<std::size_t>(length);
    of(self).oracle(std::span(tokens, n), std::span(targets, n));
  }
  static double chance(const void* self, std::int32_t length) { return of(self).chance(length); }
  static double distinct(const void* self, std::int32_t length) {
    return of(self).distinct(length);
  }

  static constexpr pes_task make() {
    pes_task t{};
    t.size = sizeof(pes_task);
    t.card = &T::card;
    t.create = create;
    t.destroy = destroy;
    t.sample = sample;
    if constexpr (requires { &T::oracle; }) t.oracle = oracle;
    if constexpr (requires { &T::chance; }) t.chance = chance;
    if constexpr (requires { &T::distinct; }) t.distinct = distinct;
    return t;
  }
};

}  // namespace detail

template <class T>
inline constexpr pes_task task = detail::TaskGlue<T>::make();

}  // namespace pes

// The library's entry, once a library. `encodings` and `tasks`: null, or arrays of pointers to
// pes_encoding (pes::encoding<T>) and pes_task (pes::task<T>) that end with a null pointer.
#define PES_LIBRARY(name, version, licence, encodings, tasks) \
  extern "C" const pes_library pes_entry = {                  \
      sizeof(pes_library), PES_ABI_MAJOR, PES_ABI_MINOR, name, version, licence, encodings, tasks}

#endif  // PESUITE_PESUITE_HPP_
