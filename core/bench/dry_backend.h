// A device that computes nothing: it counts what each op would have to do. Its memory is addresses
// alone, and what is downloaded from it is 0.
#pragma once

#include <algorithm>

#include "bench/timed_backend.h"

namespace pesuite::bench {

class DryBackend final : public TimedBackend {
 public:
  explicit DryBackend(Precision precision)
      : TimedBackend(open_backend("cpu", {.threads = 1})), precision_(precision) {}

  std::string_view name() const override { return "cuda"; }  // whose steps it takes
  std::string description() const override { return "a device that is only counted"; }
  Storage activations() const override {
    return precision_ == Precision::bf16 ? Storage::bf16 : Storage::own;
  }
  bool takes_slopes() const override { return true; }
  bool takes_starts() const override { return false; }
  std::int64_t scores_at_a_time() const override { return std::int64_t{1} << 25; }
  Shape packed_shape(const Shape& keys) const override { return keys; }
  void wait() override {}
  double elapsed(const std::function<void()>& body) override {
    body();
    return 0;
  }
  void* allocate(std::size_t bytes) override {
    char* const memory = next_;
    next_ += (bytes / 256 + 1) * 256;
    return memory;
  }
  void release(void*) noexcept override {}
  void upload(Out, const double*) override {}
  void upload(Out, const float*) override {}
  void upload_tokens(std::int32_t*, std::span<const std::int32_t>) override {}
  void download(float* to, View from) override { std::fill_n(to, from.shape.count(), 0.0f); }
  void download(double* to, View from) override { std::fill_n(to, from.shape.count(), 0.0); }
  void download_tokens(std::span<std::int32_t> to, const std::int32_t*) override {
    std::fill(to.begin(), to.end(), 0);
  }

 private:
  void time(const char* name, const Work& work, const std::function<void()>&) override {
    count(name, work, 0);
  }

  Precision precision_;
  char* next_ = reinterpret_cast<char*>(std::uintptr_t{1} << 40);
};

}  // namespace pesuite::bench
