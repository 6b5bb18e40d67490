// The ops of one step in the order they ran, walked backwards for gradients. One tape serves the
// model and the encodings of plugins.
//
// A tensor is a handle into its tape. Its gradient exists from the first contribution until the op
// that made it has run backwards; its values until the last op that reads them has. Then the arena
// gets them back, so memory falls during the walk.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "tensor/arena.h"

namespace pesuite {

struct Tensor {
  std::uint32_t id = 0;  // 0: the null handle, which flows through ops
  explicit operator bool() const { return id != 0; }
};

// A tensor that outlives steps: weights with their gradient and the optimiser's moments.
struct Parameter {
  std::string name;
  Shape shape;
  bool decay = false;  // weight decay applies
  void* value = nullptr;
  void* grad = nullptr;
  void* m = nullptr;
  void* v = nullptr;
  bool has_grad = false;           // grad holds contributions of this optimiser step
  Storage storage = Storage::own;  // of value
  View view() const { return {value, shape, storage}; }
  Out out() const { return {value, shape, false, storage}; }
};

class Tape {
 public:
  explicit Tape(Backend& backend) : backend_(backend), arena_(backend) { reset(); }
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  Backend& backend() { return backend_; }
  std::size_t memory() const { return arena_.high_water(); }  // bytes of the largest step

  // ---- tensors
  Tensor leaf(Parameter& p);
  Tensor constant(const Shape& shape, const double* data);
  Tensor constant(const Shape& shape, const float* data);
  // Values that another owns, who keeps them beyond the step.
  Tensor borrow(View v);
  // Uninitialised, to be written by the op that makes it. Its gradient is stored as it is.
  Tensor make(const Shape& shape, bool needs_grad, Storage storage = Storage::own);
  // The same values under another shape of equal count.
  Tensor alias(Tensor t, const Shape& shape);

  // A tensor of `shape` that make(tape) makes on the first call of `now`; without one it costs
  // nothing.
  template <class F>
  Tensor later(const Shape& shape, F make) {
    Slot slot;
    slot.shape = shape;
    slot.owned = false;
    slot.make = make_with<F>;
    slot.closure = share(make);
    slots_.push_back(slot);
    return {static_cast<std::uint32_t>(slots_.size() - 1)};
  }
  Tensor now(Tensor t);
  // The F that will make t; null where t is made already or something else makes it.
  template <class F>
  F* pending(Tensor t) {
    const Slot& slot = slots_[t.id];
    return slot.make == make_with<F> ? static_cast<F*>(slot.closure) : nullptr;
  }
  // A value for closures to share, which lives as long as they do.
  template <class S>
  S* share(const S& value) {
    static_assert(std::is_trivially_destructible_v<S>, "closures are dropped, not destroyed");
    return new (closure_memory(sizeof(S), alignof(S))) S(value);
  }
  bool unmade(Tensor t) const { return slots_[t.id].make != nullptr; }
  // How a tensor that is made later follows from others, for ops that can use those instead.
  struct Terms {
    enum How { unknown, sum, product, relu } how = unknown;
    Tensor a, b;
  };
  Terms terms(Tensor t) const { return unmade(t) ? slots_[t.id].terms : Terms{}; }
  template <class F>
  Tensor later(const Shape& shape, Terms terms, F make) {
    const Tensor t = later(shape, make);
    slots_[t.id].terms = terms;
    return t;
  }
  // While it lives, ops may make their results later. For callers that forget them soon: what is
  // made later must not outlive its terms.
  class Patience {
   public:
    explicit Patience(Tape& t) : tape_(t), was_(t.patient_) { t.patient_ = true; }
    ~Patience() { tape_.patient_ = was_; }
    Patience(const Patience&) = delete;
    Patience& operator=(const Patience&) = delete;

   private:
    Tape& tape_;
    bool was_;
  };
  bool patient() const { return patient_; }

  Shape shape(Tensor t) const { return slots_[t.id].shape; }
  // Of a constant [rows, N] that is a line by rows, the slopes [rows] (slopes.h), where the backend
  // asks for them; else nothing. What ops make of a constant is another tensor, without slopes.
  std::span<const float> slopes(Tensor t) const { return slots_[t.id].slopes; }
  // From `from` on, the slices of an axis are made of the same numbers, so that only the sum of
  // their gradients counts. Of constants [N], and of what rows, permute and affine make by them.
  struct Level {
    int axis = 0;
    std::int64_t from = 0;  // 0: nothing is known
  };
  Level level(Tensor t) const { return slots_[t.id].level; }
  void set_level(Tensor t, Level level) { slots_[t.id].level = level; }
  // Whether no number of a constant [N] is below the one before; false where nobody looked.
  bool rises(Tensor t) const { return slots_[t.id].rises; }
  Storage storage(Tensor t) const { return slots_[root(t)].storage; }
  bool needs_grad(Tensor t) const { return t && slots_[root(t)].needs_grad; }
  View view(Tensor t) const {
    PES_CHECK(!t || !slots_[root(t)].dropped);
    if (root(t) < watched_) note(root(t));
    return t ? View{slots_[root(t)].data, slots_[t.id].shape, storage(t)} : View{};
  }
  Out out(Tensor t) { return {slots_[root(t)].data, slots_[t.id].shape, false, storage(t)}; }
  // Where to put a contribution to t's gradient: replaces at the first call, adds afterwards.
  // Without data where t needs none.
  Out grad(Tensor t);
  // grad(), in the place of t's values where nothing reads them any more: for an op that has kept
  // t, works element by element, and has called view(t).
  Out grad_over(Tensor t);
  // The gradient collected so far; without data when nothing contributed.
  View grad_view(Tensor t) const;
  // Hands the whole gradient of `from` on to `to`, without a copy where nothing is there yet.
  // The last thing a backward does with `from`.
  void pass_grad(Tensor from, Tensor to);
  // For an op whose backward reads t's values; before it is recorded.
  void keep(Tensor t) {
    if (!t || !recording_) return;
    ++slots_[root(t)].readers;
    kept_.push_back(root(t));
  }
  // The same for an op that cannot tell what its backward reads, because that asks an encoding
  // again: while a watch lives, the tape notes which earlier tensors are viewed. Inside another it
  // tells that one what it saw.
  class Watch {
   public:
    explicit Watch(Tape& t) : tape_(t), outer_watched_(t.watched_), outer_from_(t.noted_from_) {
      t.watched_ = t.slots_.size(), t.noted_from_ = t.noted_.size();
    }
    ~Watch() { tape_.end_watch(outer_watched_, outer_from_); }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    void keep() {  // them
      for (std::size_t i = tape_.noted_from_; i < tape_.noted_.size(); ++i)
        tape_.keep({tape_.noted_[i]});
    }

   private:
    Tape& tape_;
    std::size_t outer_watched_, outer_from_;
  };
  // No later op reads t's values: they are given back, unless a recorded op keeps them. The
  // gradient may still come.
  void drop(Tensor t);
  // Memory for the length of one op.
  Out scratch(const Shape& shape);
  void release(Out scratch);

  // ---- recording
  bool recording() const { return recording_; }
  // Keeps `backward` for the walk. It is called once, if a gradient reached `made` or a later
  // tensor of the same op (`made` .. the last tensor made so far).
  template <class F>
  void record(Tensor made, F backward) {
    if (!recording_) return;
    nodes_.push_back({[](void* f, Tape& t) { (*static_cast<F*>(f))(t); }, share(backward), made.id,
                      static_cast<std::uint32_t>(slots_.size()), kept_.size()});
  }
  class Pause {  // no recording while it lives
   public:
    explicit Pause(Tape& t) : tape_(t), was_(t.recording_) { t.recording_ = false; }
    ~Pause() { tape_.recording_ = was_; }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    Tape& tape_;
    bool was_;
  };
  void set_recording(bool on) { recording_ = on; }
  // make(*this, x) with nothing kept but x and the result: its ops run again when the walk comes to
  // them (Chen et al. 2016, Training Deep Nets with Sublinear Memory Cost). `make` must give the
  // same again; what it refers to must outlive the step.
  template <class F>
  Tensor recomputed(Tensor x, F make) {
    if (!recording_) return make(*this, x);
    const Mark before = mark();
    Watch watch(*this);  // what it reads besides x, such as an encoding's tables
    Tensor y;
    {
      const Pause pause(*this);
      y = make(*this, x);
    }
    if (!y) return y;  // it failed
    y = {root(y)};
    release_since(before, y);
    slots_[y.id].needs_grad = true;
    keep(x);
    watch.keep();
    record(y, [x, y, make](Tape& t) { t.walk_again(x, y, make); });
    return y;
  }

  // ---- the walk
  struct Mark {
    std::size_t nodes, slots, closure_bytes;
  };
  Mark mark() const { return {nodes_.size(), slots_.size(), closures_used_}; }
  void backward() { backward_to({0, 1, 0}); }
  // Runs the nodes recorded after `mark` backwards and forgets them.
  void backward_to(Mark mark);
  // Gives back everything made after `mark` except `kept`, which keeps its handle.
  void release_since(Mark mark, Tensor kept = {});
  // Forgets all tensors and failures.
  void reset();

  // ---- failures: the first one of a step is kept, with the place it happened in
  Tensor fail(std::string message);
  // The same where a plugin refuses this step.
  Tensor refuse(std::string message);
  bool refused() const { return refused_; }
  bool failed() const { return !failure_.empty(); }
  const std::string& failure() const { return failure_; }
  // Where ops are called from, for the failure's sentence; an empty one is the model itself.
  struct Caller {
    std::string_view who, hook;  // must outlive the step
    int layer = -1;
  };
  void set_caller(Caller caller) { caller_ = caller; }
  // A sentence behind the place that ops are called from.
  std::string placed(std::string_view message) const;
  bool knows(Tensor t) const { return t.id < slots_.size(); }

 private:
  template <class F>
  static Tensor make_with(void* f, Tape& t) {
    return (*static_cast<F*>(f))(t);
  }
  struct Slot {
    Shape shape;
    std::uint32_t alias_of = 0;
    Storage storage = Storage::own;  // of data and grad
    bool needs_grad = false;
    bool owned = true;  // data belongs to the arena
    bool dropped = false;
    std::uint32_t readers = 0;  // recorded ops whose backward reads the data
    void* data = nullptr;
    void* grad = nullptr;
    Parameter* parameter = nullptr;
    Tensor (*make)(void*, Tape&) = nullptr;  // of a tensor that is made later
    void* closure = nullptr;
    Terms terms;
    std::vector<float> slopes;
    Level level;
    bool rises = false;
  };
  struct Node {
    void (*run)(void*, Tape&);
    void* closure;
    std::uint32_t first, last;  // tensors the op made
    std::size_t kept_end;       // of what it reads, which follows the node's before in kept_
  };

  std::uint32_t root(Tensor t) const {
    PES_CHECK(slots_[t.id].make == nullptr);  // nobody asked for it: it has no values yet
    return slots_[t.id].alias_of ? slots_[t.id].alias_of : t.id;
  }
  template <class Number>
  Tensor upload(const Shape& shape, const Number* data);
  std::size_t bytes(const Shape& s, Storage storage) const {
    return static_cast<std::size_t>(s.count()) *
           (storage == Storage::bf16 ? sizeof(std::uint16_t) : backend_.element_size());
  }
  std::size_t bytes(const Slot& s) const { return bytes(s.shape, s.storage); }
  void free_slot(Slot& slot);
  void give_back_values(Slot& slot);
  void forget(const Node&);  // what it read
  template <class F>
  void walk_again(Tensor x, Tensor y, F make) {
    const Mark before = mark();
    recording_ = true;  // the walk pauses it
    const Tensor again = make(*this, x);
    recording_ = false;
    if (again) {
      pass_grad(y, again);
      backward_to(before);
    }
    release_since(before);
  }
  void note(std::uint32_t slot) const {
    const auto from = noted_.begin() + static_cast<std::ptrdiff_t>(noted_from_);
    if (std::find(from, noted_.end(), slot) == noted_.end()) noted_.push_back(slot);
  }
  void end_watch(std::size_t outer_watched, std::size_t outer_from);
  void* closure_memory(std::size_t size, std::size_t alignment);

  Backend& backend_;
  Arena arena_;
  std::vector<Slot> slots_;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> kept_;                     // roots of tensors that nodes read
  std::size_t watched_ = 0;                             // slots that a watch notes when viewed
  mutable std::vector<std::uint32_t> noted_;            // of those; from noted_from_ on each once
  std::size_t noted_from_ = 0;                          // those of the innermost watch
  std::vector<std::unique_ptr<std::byte[]>> closures_;  // blocks of closure_block bytes
  std::size_t closures_used_ = 0;
  bool recording_ = true;
  bool patient_ = false;
  std::string failure_;
  bool refused_ = false;
  Caller caller_;
};

}  // namespace pesuite
