// Owns a descriptor of the cuDNN 9 backend API: attributes are set, then it is finalized, then it
// can be read and be an attribute of others. What cuDNN refuses is an Error (device) that names the
// call, the descriptor, the attribute and cuDNN's own words.
#pragma once

#include <cudnn.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pesuite::cuda {

// An attribute with its name, for messages.
struct Attribute {
  cudnnBackendAttributeName_t id;
  const char* name;
};
#define CUDNN_ATTRIBUTE(x)     \
  ::pesuite::cuda::Attribute { \
    CUDNN_ATTR_##x, #x         \
  }

// Error (device) unless the call succeeded: "cuDNN 9.19.0: WHAT failed with STATUS: its words".
void check(cudnnStatus_t, std::string_view what);

class Descriptor {
 public:
  // `what` names it in messages: "a tensor", "the engine heuristics".
  Descriptor(cudnnBackendDescriptorType_t, const char* what);
  Descriptor(Descriptor&& other) noexcept
      : raw_(std::exchange(other.raw_, nullptr)), what_(other.what_) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(raw_, other.raw_);
    std::swap(what_, other.what_);
    return *this;
  }
  ~Descriptor();

  cudnnBackendDescriptor_t raw() const { return raw_; }

  void set(Attribute, std::span<const std::int64_t>);
  void set(Attribute, std::int64_t);
  void set(Attribute, std::int32_t);
  void set(Attribute, bool);
  void set(Attribute, double);
  void set(Attribute, cudnnDataType_t);
  void set(Attribute, cudnnPointwiseMode_t);
  void set(Attribute, cudnnReduceTensorOp_t);
  void set(Attribute, cudnnRngDistribution_t);
  void set(Attribute, cudnnBackendHeurMode_t);
  void set(Attribute, std::string_view text);
  void set(Attribute, const Descriptor&);
  void set(Attribute, const std::vector<Descriptor>&);
  void set(Attribute, std::span<void* const> pointers);
  void finalize();

  std::int64_t number(Attribute) const;
  std::string text(Attribute) const;
  // All descriptors that an attribute holds, each of `type`.
  std::vector<Descriptor> descriptors(Attribute, cudnnBackendDescriptorType_t type,
                                      const char* what) const;

 private:
  void set(Attribute, cudnnBackendAttributeType_t, std::int64_t count, const void* values);
  std::int64_t get(Attribute, cudnnBackendAttributeType_t, std::int64_t count, void* values) const;

  cudnnBackendDescriptor_t raw_ = nullptr;
  const char* what_;
};

// Collects what cuDNN says while it lives: why it offers no engine is told in no other way. cuDNN
// has one listener for the whole process.
class Listener {
 public:
  Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener();
  // The first reason of each refusal, once each, joined by "; ". "" if cuDNN said nothing.
  std::string reasons() const;

 private:
  std::string said_;
};

}  // namespace pesuite::cuda
