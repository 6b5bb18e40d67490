#include "model/gradient_sum.h"

#include <algorithm>

namespace pesuite {

namespace {

// A message of this size takes far longer than to begin it, and a model has several of them.
constexpr std::size_t enough_bytes = std::size_t{4} << 20;

}  // namespace

GradientSum::GradientSum(Model& model, Group& group)
    : model_(model), group_(group), have_(model.parameters().size()) {}

std::size_t GradientSum::bytes(ParameterRange range) const {
  if (range.first == range.last) return 0;
  const std::vector<Parameter>& all = model_.parameters();
  const Parameter& last = all[range.last - 1];
  return static_cast<std::size_t>(static_cast<std::byte*>(last.grad) -
                                  static_cast<std::byte*>(all[range.first].grad)) +
         static_cast<std::size_t>(last.shape.count()) * model_.backend().element_size();
}

void GradientSum::send(ParameterRange range) {
  for (std::size_t i = range.first; i < range.last; ++i) {
    Parameter& p = model_.parameters()[i];
    have_[i] = p.has_grad ? 1 : 0;
    // fewer passes than processes leave some without a gradient
    if (!p.has_grad) model_.backend().fill({p.grad, p.shape}, 0);
  }
  if (range.last != waiting_.first) {
    begin();
    waiting_ = range;
  }
  waiting_.first = range.first;
  if (bytes(waiting_) >= enough_bytes) begin();
  group_.advance();
}

void GradientSum::begin() {
  const std::size_t size = bytes(waiting_);
  if (size > 0) {
    void* const first = model_.parameters()[waiting_.first].grad;
    if (model_.backend().element_size() == sizeof(double))
      group_.begin_sum(model_.backend(),
                       std::span(static_cast<double*>(first), size / sizeof(double)));
    else
      group_.begin_sum(model_.backend(),
                       std::span(static_cast<float*>(first), size / sizeof(float)));
  }
  waiting_ = {};
}

void GradientSum::finish(std::span<double> more) {
  begin();
  const std::size_t parameters = model_.parameters().size();
  have_.resize(parameters);
  have_.insert(have_.end(), more.begin(), more.end());
  group_.sum(have_);
  group_.finish_sums(model_.backend());
  for (std::size_t i = 0; i < parameters; ++i) model_.parameters()[i].has_grad = have_[i] > 0;
  std::copy(have_.begin() + static_cast<std::ptrdiff_t>(parameters), have_.end(), more.begin());
}

}  // namespace pesuite
