#include "model/cache.h"

#include <algorithm>

#include "base/error.h"

namespace pesuite {

namespace {

// The same bits as numbers of the backend's own, which its copies move.
View as_own(const Backend& backend, View x) {
  if (x.storage == Storage::own) return x;
  PES_CHECK(backend.element_size() == 4 && x.shape[-1] % 2 == 0);
  x.shape.at(-1) /= 2;
  x.storage = Storage::own;
  return x;
}
Out writable(View x) {
  return {const_cast<void*>(x.data), x.shape, false, x.storage};
}

}  // namespace

Cache::Cache(Model& model, int batch, int longest)
    : backend_(model.backend()),
      batch_(batch),
      longest_(longest),
      layers_(static_cast<std::size_t>(model.config().layers)),
      tokens_(static_cast<std::size_t>(batch) * static_cast<std::size_t>(longest)) {
  if (model.config().positions > 0)
    fail(Exit::usage,
         "the model's task gives tokens positions of its own, so that what follows a text has "
         "none: it is read as a whole, not token by token");
}

Cache::~Cache() {
  forget();
}

void Cache::forget() {
  for (Kept& l : layers_)
    for (Held* h : {&l.keys, &l.values, &l.inputs}) {
      backend_.release(h->data);
      *h = {};
    }
  length_ = 0, bytes_ = 0, failed_ = false;
}

void Cache::add(std::span<const std::int32_t> from, int n) {
  if (length_ + n > longest_)
    fail(Exit::usage, "{} tokens behind {} are more than the {} that the cache was made for", n,
         length_, longest_);
  for (int b = 0; b < batch_; ++b)
    std::copy_n(from.begin() + std::ptrdiff_t{b} * n, n,
                tokens_.begin() + std::ptrdiff_t{b} * longest_ + length_);
}

void Cache::cut(int length) {
  PES_CHECK(length >= 0 && length <= length_);
  length_ = length;
}

void Cache::append(Tape& t, Held& to, Tensor x) {
  x = t.now(x);
  const Shape s = t.shape(x);
  const int axis = s.rank() - 2;
  if (to.data == nullptr) {
    const bool whole_words = s[-1] % 2 == 0 && backend_.element_size() == 4;
    to.storage = whole_words ? t.storage(x) : Storage::own;
    to.shape = s.rank() == 4 ? Shape{s[0], s[1], longest_, s[3]} : Shape{s[0], longest_, s[2]};
    const std::size_t size =
        to.storage == Storage::bf16 ? sizeof(std::uint16_t) : backend_.element_size();
    const std::size_t bytes = static_cast<std::size_t>(to.shape.count()) * size;
    to.data = backend_.allocate(bytes);
    bytes_ += bytes;
  }
  PES_CHECK(s[-1] == to.shape[-1]);
  if (t.storage(x) != to.storage) {
    const Tensor same = t.make(s, false, to.storage);
    backend_.affine(t.out(same), t.view(x), 1, 0);
    x = same;
  }
  backend_.copy(writable(as_own(backend_, to.view())), length_, as_own(backend_, t.view(x)), 0,
                axis, s[axis]);
}

Tensor Cache::whole(Tape& t, const Held& from, int length) const {
  const int axis = from.shape.rank() - 2;
  const Shape s = axis == 2 ? Shape{from.shape[0], from.shape[1], length, from.shape[3]}
                            : Shape{from.shape[0], length, from.shape[2]};
  const Tensor y = t.make(s, false, from.storage);
  backend_.copy(writable(as_own(backend_, t.out(y).view())), 0, as_own(backend_, from.view()), 0,
                axis, length);
  return ops::own(t, y);
}

Cache::Seen Cache::show(Tape& t, int layer, Attention& a, Tensor& input) {
  Kept& l = layers_[static_cast<std::size_t>(layer)];
  const Tensor own_q = a.q;
  if (sequence_) {
    append(t, l.keys, a.k), append(t, l.values, a.v);
    if (inputs_) append(t, l.inputs, input);
    if (length_ > 0) {
      const int length = length_ + added_;
      const Shape q = t.shape(a.q);
      a.q = t.later({q[0], q[1], length, q[3]}, [own_q, before = length_](Tape& t) {
        const Shape s = t.shape(own_q);
        const Tensor zeros = t.make({s[0], s[1], before, s[3]}, false);
        t.backend().fill(t.out(zeros), 0);
        return ops::concat(t, zeros, ops::own(t, t.now(own_q)), 2);
      });
      const auto all = [&](const Held& held) {
        const Shape s = held.shape;
        const Shape shape =
            s.rank() == 4 ? Shape{s[0], s[1], length, s[3]} : Shape{s[0], length, s[2]};
        return t.later(shape,
                       [this, from = &held, length](Tape& t) { return whole(t, *from, length); });
      };
      a.k = all(l.keys), a.v = all(l.values);
      // asked for without having been kept, it is not there: settle() sees that
      if (inputs_) input = all(l.inputs);
    }
  }
  return {a.q, a.k, a.v, input, own_q};
}

bool Cache::settle(Tape& t, int layer, const Seen& seen, Attention& a) {
  Kept& l = layers_[static_cast<std::size_t>(layer)];
  const bool reads_input = !t.unmade(seen.input) || a.rewrite;
  const bool looks_back = a.distance || a.bias || a.rewrite || reads_input;
  if ((looks_back && !sequence_) || (reads_input && !inputs_)) {
    sequence_ = failed_ = true, inputs_ = inputs_ || reads_input;
    return false;
  }
  if (!sequence_) {
    append(t, l.keys, a.k), append(t, l.values, a.v);
    if (length_ == 0) return true;
    a.k = t.borrow(l.keys.view()), a.v = t.borrow(l.values.view());
  } else if (length_ > 0) {
    const auto untouched = [&](Tensor now, Tensor was) {
      return now.id == was.id && t.unmade(was);
    };
    a.q = untouched(a.q, seen.q) ? seen.own_q : ops::slice(t, t.now(a.q), 2, length_, added_);
    if (untouched(a.k, seen.k) && untouched(a.v, seen.v) && !a.rewrite)
      a.k = t.borrow(l.keys.view()), a.v = t.borrow(l.values.view());
  } else {
    return true;
  }
  a.first = length_;
  return true;
}

}  // namespace pesuite
