#include "tensor/tape.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "tensor/slopes.h"

namespace pesuite {

namespace {
constexpr std::size_t closure_block = 64 * 1024;
}

Tensor Tape::leaf(Parameter& p) {
  Slot slot;
  slot.shape = p.shape;
  slot.needs_grad = recording_ && p.grad != nullptr;
  slot.owned = false;
  slot.data = p.value;
  slot.storage = p.storage;
  slot.parameter = &p;
  slots_.push_back(slot);
  return {static_cast<std::uint32_t>(slots_.size() - 1)};
}

template <class Number>
Tensor Tape::upload(const Shape& shape, const Number* data) {
  const Tensor t = make(shape, false);
  backend_.upload(out(t), data);
  if (!backend_.takes_slopes()) return t;
  if (shape.rank() == 2) slots_[t.id].slopes = linear_slopes(shape, data);
  if (shape.rank() != 1) return t;
  set_level(t, {0, level_from(shape[0], data)});
  slots_[t.id].rises = std::adjacent_find(data, data + shape[0], [](Number a, Number b) {
                         return !(a <= b);  // nor is it where one is no number
                       }) == data + shape[0];
  return t;
}
Tensor Tape::constant(const Shape& shape, const double* data) {
  return upload(shape, data);
}
Tensor Tape::constant(const Shape& shape, const float* data) {
  return upload(shape, data);
}

Tensor Tape::borrow(View v) {
  Slot slot;
  slot.shape = v.shape;
  slot.storage = v.storage;
  slot.owned = false;
  slot.data = const_cast<void*>(v.data);
  slots_.push_back(slot);
  return {static_cast<std::uint32_t>(slots_.size() - 1)};
}

Tensor Tape::now(Tensor t) {
  const auto make = slots_[t.id].make;
  if (make == nullptr) return t;
  slots_[t.id].make = nullptr;
  const Tensor made = make(slots_[t.id].closure, *this);
  PES_CHECK(made && slots_[made.id].shape == slots_[t.id].shape);
  slots_[t.id].alias_of = root(made);
  return t;
}

Tensor Tape::make(const Shape& shape, bool needs_grad, Storage storage) {
  Slot slot;
  slot.shape = shape;
  slot.storage = storage;
  slot.needs_grad = needs_grad && recording_;
  slot.data = arena_.take(bytes(slot));
  slots_.push_back(slot);
  return {static_cast<std::uint32_t>(slots_.size() - 1)};
}

Tensor Tape::alias(Tensor t, const Shape& shape) {
  PES_CHECK(shape.count() == slots_[t.id].shape.count());
  Slot slot;
  slot.shape = shape;
  slot.alias_of = root(t);
  slot.owned = false;
  slots_.push_back(slot);
  return {static_cast<std::uint32_t>(slots_.size() - 1)};
}

Out Tape::grad(Tensor t) {
  if (!needs_grad(t)) return {};
  Slot& slot = slots_[root(t)];
  const Shape& shape = slots_[t.id].shape;
  if (slot.parameter != nullptr) {
    const bool add = slot.parameter->has_grad;
    slot.parameter->has_grad = true;
    return {slot.parameter->grad, shape, add};
  }
  if (slot.grad != nullptr) return {slot.grad, shape, true, slot.storage};
  slot.grad = arena_.take(bytes(slot));
  return {slot.grad, shape, false, slot.storage};
}

Out Tape::grad_over(Tensor t) {
  if (!needs_grad(t)) return {};
  Slot& slot = slots_[root(t)];
  if (slot.readers != 1 || !slot.owned || slot.grad != nullptr) return grad(t);
  slot.grad = std::exchange(slot.data, nullptr);
  slot.owned = false;
  slot.dropped = true;
  return {slot.grad, slots_[t.id].shape, false, slot.storage};
}

View Tape::grad_view(Tensor t) const {
  if (!t) return {};
  const Slot& slot = slots_[root(t)];
  if (slot.parameter != nullptr)
    return slot.parameter->has_grad ? View{slot.parameter->grad, slots_[t.id].shape} : View{};
  return slot.grad != nullptr ? View{slot.grad, slots_[t.id].shape, slot.storage} : View{};
}

void Tape::pass_grad(Tensor from, Tensor to) {
  if (!needs_grad(to)) return;
  Slot &source = slots_[root(from)], &target = slots_[root(to)];
  if (target.parameter == nullptr && target.grad == nullptr && target.storage == source.storage) {
    std::swap(target.grad, source.grad);
  } else {
    backend_.affine(grad(to), grad_view(from), 1, 0);
  }
}

void Tape::drop(Tensor t) {
  if (!t || slots_[t.id].make != nullptr) return;
  Slot& slot = slots_[root(t)];
  if (slot.readers == 0 && slot.owned) give_back_values(slot);
}

void Tape::give_back_values(Slot& slot) {
  arena_.give_back(slot.data, bytes(slot));
  slot.data = nullptr;
  slot.owned = false;
  slot.dropped = true;
}

// Of the latest node, which was taken from the list.
void Tape::forget(const Node& node) {
  const std::size_t first = nodes_.empty() ? 0 : nodes_.back().kept_end;
  for (std::size_t i = first; i < node.kept_end; ++i) {
    Slot& slot = slots_[kept_[i]];
    if (--slot.readers == 0 && slot.owned) give_back_values(slot);
  }
  kept_.resize(first);
}

Out Tape::scratch(const Shape& shape) {
  return {arena_.take(bytes(shape, Storage::own)), shape, false};
}
void Tape::release(Out scratch) {
  arena_.give_back(scratch.data, bytes(scratch.shape, scratch.storage));
}

void Tape::free_slot(Slot& slot) {
  if (slot.owned && slot.data != nullptr) arena_.give_back(slot.data, bytes(slot));
  if (slot.grad != nullptr) arena_.give_back(slot.grad, bytes(slot));
  slot.data = slot.grad = nullptr;
  slot.owned = false;
}

void Tape::backward_to(Mark mark) {
  while (nodes_.size() > mark.nodes) {
    const Node node = nodes_.back();  // stays there: what it may record comes after it
    bool reached = false;
    for (std::uint32_t i = node.first; i < node.last; ++i) reached |= slots_[i].grad != nullptr;
    if (reached) {
      const Pause pause(*this);
      node.run(node.closure, *this);
    }
    nodes_.pop_back();
    forget(node);
    for (std::uint32_t i = node.first; i < node.last; ++i) free_slot(slots_[i]);
  }
  closures_used_ = mark.closure_bytes;
}

void Tape::release_since(Mark mark, Tensor kept) {
  PES_CHECK(nodes_.size() == mark.nodes);
  const std::uint32_t keep = kept ? root(kept) : 0;
  for (std::size_t i = slots_.size(); i-- > mark.slots;)
    if (i != keep) free_slot(slots_[i]);
  if (!kept) {
    slots_.resize(mark.slots);
    closures_used_ = mark.closure_bytes;
  }
}

void Tape::end_watch(std::size_t outer_watched, std::size_t outer_from) {
  const std::size_t from = noted_from_, end = noted_.size();
  watched_ = outer_watched, noted_from_ = outer_from;
  std::size_t told = from;
  for (std::size_t i = from; i < end; ++i) {
    const std::uint32_t id = noted_[i];
    const auto outer = noted_.begin() + static_cast<std::ptrdiff_t>(outer_from);
    const auto known = noted_.begin() + static_cast<std::ptrdiff_t>(told);
    if (id < watched_ && std::find(outer, known, id) == known) noted_[told++] = id;
  }
  noted_.resize(told);
}

void Tape::reset() {
  slots_.assign(1, Slot{});
  nodes_.clear();
  kept_.clear();
  watched_ = noted_from_ = 0;
  noted_.clear();
  closures_used_ = 0;
  failure_.clear();
  refused_ = false;
  caller_ = {};
  arena_.reset();
}

void* Tape::closure_memory(std::size_t size, std::size_t alignment) {
  PES_CHECK(size <= closure_block && alignment <= alignof(std::max_align_t));
  closures_used_ = (closures_used_ + alignment - 1) / alignment * alignment;
  if (closures_used_ % closure_block + size > closure_block)
    closures_used_ = (closures_used_ / closure_block + 1) * closure_block;
  if (closures_used_ / closure_block >= closures_.size())
    closures_.push_back(std::make_unique<std::byte[]>(closure_block));
  void* p = closures_[closures_used_ / closure_block].get() + closures_used_ % closure_block;
  closures_used_ += size;
  return p;
}

Tensor Tape::refuse(std::string message) {
  refused_ |= failure_.empty();
  return fail(std::move(message));
}

Tensor Tape::fail(std::string message) {
  if (failure_.empty()) failure_ = placed(message);
  return {};
}

std::string Tape::placed(std::string_view message) const {
  if (caller_.who.empty()) return std::string(message);
  return fmt::format("encoding '{}', hook {}{}: {}", caller_.who, caller_.hook,
                     caller_.layer < 0 ? "" : fmt::format(", layer {}", caller_.layer), message);
}

}  // namespace pesuite
