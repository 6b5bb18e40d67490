#include "backend/cuda/descriptor.h"

#include <fmt/format.h>

#include <cstring>
#include <sstream>

#include "base/error.h"

namespace pesuite::cuda {

void check(cudnnStatus_t status, std::string_view what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  char words[4096] = {};
  cudnnGetLastErrorString(words, sizeof words);
  const std::size_t v = cudnnGetVersion();
  fail(Exit::device, "cuDNN {}.{}.{}: {} failed with {}{}{}", v / 10000, v / 100 % 100, v % 100,
       what, cudnnGetErrorString(status), *words != 0 ? ": " : "", words);
}

Descriptor::Descriptor(cudnnBackendDescriptorType_t type, const char* what) : what_(what) {
  check(cudnnBackendCreateDescriptor(type, &raw_), fmt::format("making {}", what));
}
Descriptor::~Descriptor() {
  if (raw_ != nullptr) cudnnBackendDestroyDescriptor(raw_);
}

void Descriptor::set(Attribute a, cudnnBackendAttributeType_t type, std::int64_t count,
                     const void* values) {
  const cudnnStatus_t status = cudnnBackendSetAttribute(raw_, a.id, type, count, values);
  if (status != CUDNN_STATUS_SUCCESS) check(status, fmt::format("setting {} of {}", a.name, what_));
}
std::int64_t Descriptor::get(Attribute a, cudnnBackendAttributeType_t type, std::int64_t count,
                             void* values) const {
  std::int64_t there = 0;
  const cudnnStatus_t status = cudnnBackendGetAttribute(raw_, a.id, type, count, &there, values);
  if (status != CUDNN_STATUS_SUCCESS) check(status, fmt::format("reading {} of {}", a.name, what_));
  return there;
}

void Descriptor::set(Attribute a, std::span<const std::int64_t> v) {
  set(a, CUDNN_TYPE_INT64, static_cast<std::int64_t>(v.size()), v.data());
}
void Descriptor::set(Attribute a, std::int64_t v) {
  set(a, CUDNN_TYPE_INT64, 1, &v);
}
void Descriptor::set(Attribute a, std::int32_t v) {
  set(a, CUDNN_TYPE_INT32, 1, &v);
}
void Descriptor::set(Attribute a, bool v) {
  set(a, CUDNN_TYPE_BOOLEAN, 1, &v);
}
void Descriptor::set(Attribute a, double v) {
  set(a, CUDNN_TYPE_DOUBLE, 1, &v);
}
void Descriptor::set(Attribute a, cudnnDataType_t v) {
  set(a, CUDNN_TYPE_DATA_TYPE, 1, &v);
}
void Descriptor::set(Attribute a, cudnnPointwiseMode_t v) {
  set(a, CUDNN_TYPE_POINTWISE_MODE, 1, &v);
}
void Descriptor::set(Attribute a, cudnnReduceTensorOp_t v) {
  set(a, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &v);
}
void Descriptor::set(Attribute a, cudnnRngDistribution_t v) {
  set(a, CUDNN_TYPE_RNG_DISTRIBUTION, 1, &v);
}
void Descriptor::set(Attribute a, cudnnBackendHeurMode_t v) {
  set(a, CUDNN_TYPE_HEUR_MODE, 1, &v);
}
void Descriptor::set(Attribute a, std::string_view text) {
  set(a, CUDNN_TYPE_CHAR, static_cast<std::int64_t>(text.size()), text.data());
}
void Descriptor::set(Attribute a, const Descriptor& v) {
  set(a, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &v.raw_);
}
void Descriptor::set(Attribute a, const std::vector<Descriptor>& v) {
  std::vector<cudnnBackendDescriptor_t> raw;
  for (const Descriptor& d : v) raw.push_back(d.raw_);
  set(a, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<std::int64_t>(raw.size()), raw.data());
}
void Descriptor::set(Attribute a, std::span<void* const> v) {
  set(a, CUDNN_TYPE_VOID_PTR, static_cast<std::int64_t>(v.size()), v.data());
}

void Descriptor::finalize() {
  const cudnnStatus_t status = cudnnBackendFinalize(raw_);
  if (status != CUDNN_STATUS_SUCCESS) check(status, fmt::format("finalizing {}", what_));
}

std::int64_t Descriptor::number(Attribute a) const {
  std::int64_t v = 0;
  get(a, CUDNN_TYPE_INT64, 1, &v);
  return v;
}

std::string Descriptor::text(Attribute a) const {
  std::string out(static_cast<std::size_t>(get(a, CUDNN_TYPE_CHAR, 0, nullptr)), ' ');
  get(a, CUDNN_TYPE_CHAR, static_cast<std::int64_t>(out.size()), out.data());
  while (!out.empty() && out.back() == 0) out.pop_back();
  return out;
}

std::vector<Descriptor> Descriptor::descriptors(Attribute a, cudnnBackendDescriptorType_t type,
                                                const char* what) const {
  const std::int64_t count = get(a, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, nullptr);
  std::vector<Descriptor> all;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (std::int64_t i = 0; i < count; ++i) {
    all.emplace_back(type, what);
    raw.push_back(all.back().raw());
  }
  if (count == 0) return all;
  const std::int64_t filled = get(a, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, raw.data());
  while (static_cast<std::int64_t>(all.size()) > filled) all.pop_back();
  return all;
}

Listener::Listener() {
  const auto hear = [](cudnnSeverity_t, void* self, const cudnnDebug_t*, const char* text) {
    for (; *text != 0; text += std::strlen(text) + 1)  // texts in a row, the last one empty
      static_cast<Listener*>(self)->said_ += std::string(text) + "\n";
  };
  check(cudnnSetCallback(CUDNN_SEV_ERROR_EN | CUDNN_SEV_WARNING_EN, this, hear), "listening");
}
Listener::~Listener() {
  cudnnSetCallback(0, nullptr, nullptr);
}

std::string Listener::reasons() const {
  std::string out, line;
  std::istringstream in(said_);
  bool first_of_its_stack = false;
  while (std::getline(in, line)) {
    if (line.find("error stack") != std::string::npos) first_of_its_stack = true;
    const std::size_t at = line.find("Reason: ");
    if (!first_of_its_stack || at == std::string::npos) continue;
    first_of_its_stack = false;
    const std::string reason = line.substr(at + 8);
    if (out.find(reason) == std::string::npos) out += (out.empty() ? "" : "; ") + reason;
  }
  return out;
}

}  // namespace pesuite::cuda
