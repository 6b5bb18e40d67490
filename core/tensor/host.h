// Tensors on the host, and as leaves of a tape: for those who run a graph on given numbers.
#pragma once

#include <utility>
#include <vector>

#include "tensor/tape.h"

namespace pesuite::host {

struct Values {  // row-major
  Shape shape;
  std::vector<double> data;
};

inline Values download(Backend& backend, const View& from) {
  Values v{from.shape, std::vector<double>(static_cast<std::size_t>(from.shape.count()))};
  backend.download(v.data.data(), from);
  return v;
}

// Memory of one tensor on a backend, with a gradient; given back whatever happens.
class Leaf {
 public:
  Leaf(Backend& backend, const Values& v) : backend_(backend) {
    const auto bytes = static_cast<std::size_t>(v.shape.count()) * backend.element_size();
    p_.shape = v.shape;
    p_.value = backend.allocate(bytes);
    p_.grad = backend.allocate(bytes);
    backend.upload({p_.value, p_.shape}, v.data.data());
  }
  Leaf(Leaf&& other) noexcept : backend_(other.backend_), p_(std::exchange(other.p_, {})) {}
  ~Leaf() {
    backend_.release(p_.value);
    backend_.release(p_.grad);
  }
  Parameter& parameter() { return p_; }
  Values gradient() const {
    if (p_.has_grad) return download(backend_, View{p_.grad, p_.shape});
    return {p_.shape, std::vector<double>(static_cast<std::size_t>(p_.shape.count()))};
  }

 private:
  Backend& backend_;
  Parameter p_;
};

class Leaves {
 public:
  Leaves(Backend& backend, const std::vector<Values>& all) {
    leaves_.reserve(all.size());
    for (const Values& v : all) leaves_.emplace_back(backend, v);
  }
  std::vector<Tensor> on(Tape& tape) {
    std::vector<Tensor> out;
    for (Leaf& leaf : leaves_) out.push_back(tape.leaf(leaf.parameter()));
    return out;
  }
  std::vector<Values> gradients() const {
    std::vector<Values> out;
    for (const Leaf& leaf : leaves_) out.push_back(leaf.gradient());
    return out;
  }

 private:
  std::vector<Leaf> leaves_;
};

}  // namespace pesuite::host
