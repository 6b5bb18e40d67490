#include "backend/cuda/nccl_group.h"

#include <exception>

#include "backend/cuda/cuda.h"
#include "base/error.h"

namespace pesuite::cuda {

namespace {

Queue& queue_of(Backend& backend) {
  PES_CHECK(backend.name() == "cuda");
  return static_cast<CudaBackend&>(backend).queue();
}
constexpr Nccl::Number number_of(double) {
  return Nccl::Number::fp64;
}
constexpr Nccl::Number number_of(float) {
  return Nccl::Number::fp32;
}

}  // namespace

NcclGroup::NcclGroup(const Nccl& nccl, const NcclId& id, int rank, int size, int device,
                     int ordinal)
    : nccl_(nccl),
      rank_(rank),
      size_(size),
      device_(device),
      queue_(ordinal),  // chooses the device
      group_(nccl_.join(id, rank, size)) {}

NcclGroup::~NcclGroup() {
  // Who leaves because of an error would wait here for the others, who wait for it elsewhere.
  if (std::uncaught_exceptions() > 0) return;
  queue_.wait();
  nccl_.leave(group_);
}

std::string NcclGroup::description() const {
  return fmt::format("{} processes over NCCL {}", size_, nccl_.version());
}

template <class T>
void NcclGroup::sum_staged(std::span<T> values) {
  const Scratch<T> staged(queue_, static_cast<Index>(values.size()));
  queue_.upload(staged.data(), values.data(), values.size_bytes());
  nccl_.sum(staged.data(), values.size(), number_of(T{}), group_, queue_.stream());
  queue_.download(values.data(), staged.data(), values.size_bytes());
}
void NcclGroup::sum(std::span<double> values) {
  sum_staged(values);
}
void NcclGroup::sum(std::span<float> values) {
  sum_staged(values);
}
void NcclGroup::wait() {
  double nothing = 0;
  sum(std::span(&nothing, 1));
}

void NcclGroup::begin_sum(Backend& backend, std::span<double> values) {
  queue_.follow(queue_of(backend));
  nccl_.sum(values.data(), values.size(), Nccl::Number::fp64, group_, queue_.stream());
}
void NcclGroup::begin_sum(Backend& backend, std::span<float> values) {
  queue_.follow(queue_of(backend));
  nccl_.sum(values.data(), values.size(), Nccl::Number::fp32, group_, queue_.stream());
}
void NcclGroup::finish_sums(Backend& backend) {
  queue_of(backend).follow(queue_);
}

}  // namespace pesuite::cuda
