// encoding.hpp -- turns a class into a pes_encoding. Included by pesuite.hpp.
#ifndef PESUITE_ENCODING_HPP_
#define PESUITE_ENCODING_HPP_

#include <pesuite/pesuite.h>

#include <pesuite/options.hpp>
#include <pesuite/random.hpp>
#include <pesuite/tensor.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

namespace pes {

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

  // [B, T] where the task places its tokens; null handle: token n stands at offset + n.
  Tensor positions() const { return {c, PES_HAS(c, positions) ? c->positions : pes_tensor{}}; }
  Tensor operator[](Param p) const {
    if (p.index >= 0) return {c, c->params[p.index]};
    c->ops->fail(c->ctx, "reads a pes::Param that no param() of its constructor gave a value");
    return {c, {}};
  }
  // Into the log of the cell; hosts older than 1.4 have none.
  void log(const std::string& sentence) const {
    if (!PES_HAS(c->ops, extension)) return;
    if (const auto* l = static_cast<const pes_log*>(c->ops->extension("log", 1)))
      l->say(c->ctx, sentence.c_str());
  }
  Tensor upload(std::initializer_list<std::int64_t> shape, const double* data) const {
    return {c, c->ops->upload(c->ctx, static_cast<int>(shape.size()), shape.begin(), data)};
  }
  // A constant [rows, columns] with value(row, column). For what is cheap to make each step.
  template <class F>
  Tensor table(std::initializer_list<std::int64_t> shape, F value) const {
    const std::int64_t columns = *(shape.end() - 1);
    std::int64_t rows = 1;
    for (const std::int64_t* e = shape.begin(); e + 1 != shape.end(); ++e) rows *= *e;
    std::vector<double> data;
    data.reserve(static_cast<std::size_t>(rows * columns));
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) data.push_back(value(i, j));
    return upload(shape, data.data());
  }
};

// What an option `base` says: itself, or for 0 the base at which as large a share of the
// wavelengths fits into the training length as fits into 2,048 tokens with 10,000, the setting of
// most studies.
inline double base_of(const pes_model& m, const Values& v) {
  const double given = v.real("base");
  if (given >= 1) return given;
  if (given != 0) throw Refusal("needs a base from 1 on, or 0 for one that fits the length");
  const auto turns = [](double length) { return std::log(length / (2 * std::numbers::pi)); };
  return std::pow(10000, turns(std::max(8.0, static_cast<double>(m.train_length))) / turns(2048));
}

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
  Tensor v;  // the null handle where the host is older than 1.1
};

// A table [rows, columns] of doubles that is computed once and extended on demand.
class Table {
 public:
  template <class F>  // value(row, column)
  const double* extend(std::int64_t rows, std::int64_t columns, F value) {
    return range(0, rows, columns, value);
  }
  // Of the rows from `first` on. Those before are not made: a sequence may begin far behind 0.
  template <class F>
  const double* range(std::int64_t first, std::int64_t rows, std::int64_t columns, F value) {
    const auto next = [&] { return first_ + static_cast<std::int64_t>(data_.size()) / columns; };
    if (first < first_ || first > next()) data_.clear(), first_ = first;
    const auto wanted = static_cast<std::size_t>((first + rows - first_) * columns);
    if (wanted > data_.capacity()) data_.reserve(std::max(wanted, 2 * data_.capacity()));
    for (std::int64_t i = next(); i < first + rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) data_.push_back(value(i, j));
    return data_.data() + (first - first_) * columns;
  }

 private:
  std::int64_t first_ = 0;
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
// of begin, embed, attend, rewrite, untrained and stale; what it leaves out becomes a null hook.
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
  // The host keeps its values there: projected, not clamped, so that the gradient is whole.
  void keep_within(Param p, double low, double high) {
    pes_param& c = declared[static_cast<std::size_t>(p.index)].c;
    c.low = low, c.high = high;
  }
};

namespace detail {

struct EncodingNames {
  void begin(), embed(), attend(), rewrite(), untrained(), stale();
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
      Scores b{c->layer,     c->first,          {step, c->x},
               {step, c->q}, {step, c->k},      {step, c->visible},
               c->scale,     {step, c->scores}, {step, PES_HAS(c, v) ? c->v : pes_tensor{}}};
      of(self).rewrite(s, b);
      c->scores = b.scores.id;
    });
  }
  static double untrained(const void* self, std::int32_t length) {
    return of(self).untrained(length);
  }
  static bool stale(const void* self, std::int32_t from, std::int32_t to) {
    return of(self).stale(from, to);
  }

  static constexpr pes_encoding make() {
    pes_encoding e{};
    e.size = sizeof(pes_encoding);
    e.card = &T::card;
    e.create = create;
    e.destroy = destroy;
    e.init = init;
    // A hook is there when it can be called.
    constexpr bool begins = requires(T & t, const Step& s) {
      t.begin(s);
    };
    constexpr bool embeds = requires(const T& t, const Step& s, Tensor x) {
      x = t.embed(s, x);
    };
    constexpr bool attends = requires(const T& t, const Step& s, Attention& a) {
      t.attend(s, a);
    };
    constexpr bool rewrites = requires(const T& t, const Step& s, Scores& c) {
      t.rewrite(s, c);
    };
    constexpr bool tells = requires(const T& t, int n, double share) {
      share = t.untrained(n);
    };
    constexpr bool changes = requires(const T& t, int n, bool is) {
      is = t.stale(n, n);
    };
    if constexpr (begins) e.begin = begin;
    if constexpr (embeds) e.embed = embed;
    if constexpr (attends) e.attend = attend;
    if constexpr (rewrites) e.rewrite = rewrite;
    if constexpr (tells) e.untrained = untrained;
    if constexpr (changes) e.stale = stale;
    using Both = BesideNames<T, EncodingNames>;
    static_assert(
        begins || requires { &Both::begin; },
        "begin() is no hook: it must be public and callable as begin(const pes::Step&)");
    static_assert(
        embeds || requires { &Both::embed; },
        "embed() is no hook: it must be public, const and callable as "
        "pes::Tensor embed(const pes::Step&, pes::Tensor) const");
    static_assert(
        attends || requires { &Both::attend; },
        "attend() is no hook: it must be public, const and callable as "
        "attend(const pes::Step&, pes::Attention&) const");
    static_assert(
        rewrites || requires { &Both::rewrite; },
        "rewrite() is no hook: it must be public, const and callable as "
        "rewrite(const pes::Step&, pes::Scores&) const");
    static_assert(
        tells || requires { &Both::untrained; },
        "untrained() is no hook: it must be public, const and callable as "
        "double untrained(int) const");
    static_assert(
        changes || requires { &Both::stale; },
        "stale() is no hook: it must be public, const and callable as "
        "bool stale(int, int) const");
    return e;
  }
};

}  // namespace detail

template <class T>
inline constexpr pes_encoding encoding = detail::EncodingGlue<T>::make();

}  // namespace pes

#endif  // PESUITE_ENCODING_HPP_
