// Memory, and the way in and out.
#include <cstdlib>
#include <new>

#include "backend/reference/reference.h"

namespace pesuite::reference {

void* Reference::allocate(std::size_t bytes) {
  void* p = std::malloc(std::max<std::size_t>(bytes, 1));
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

void Reference::release(void* memory) noexcept {
  std::free(memory);
}

void Reference::upload(Out to, const double* from) {
  std::copy_n(from, to.shape.count(), out(to));
}

void Reference::upload(Out to, const float* from) {
  std::copy_n(from, to.shape.count(), out(to));
}

void Reference::upload_tokens(std::int32_t* to, std::span<const std::int32_t> from) {
  std::copy(from.begin(), from.end(), to);
}

void Reference::download(float* to, View from) {
  for (Index i = 0; i < from.shape.count(); ++i) to[i] = static_cast<float>(in(from)[i]);
}

void Reference::download(double* to, View from) {
  std::copy_n(in(from), from.shape.count(), to);
}

void Reference::download_tokens(std::span<std::int32_t> to, const std::int32_t* from) {
  std::copy_n(from, to.size(), to.begin());
}

void Reference::fill(Out y, double value) {
  std::fill_n(out(y), y.shape.count(), value);
}

}  // namespace pesuite::reference

namespace pesuite {

std::unique_ptr<Backend> make_reference_backend() {
  return std::make_unique<reference::Reference>();
}

}  // namespace pesuite
