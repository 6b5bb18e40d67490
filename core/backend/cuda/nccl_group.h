// Processes with a device each, which add up over NCCL, on a queue of their own beside the
// backend's.
#pragma once

#include "backend/cuda/nccl.h"
#include "backend/cuda/queue.h"
#include "backend/group.h"

namespace pesuite::cuda {

class NcclGroup final : public Group {
 public:
  // device: the number among usable devices; ordinal: what CUDA calls it.
  NcclGroup(const Nccl&, const NcclId&, int rank, int size, int device, int ordinal);
  ~NcclGroup() override;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int device() const override { return device_; }
  std::string description() const override;
  // Values of the program are staged on the device.
  void sum(std::span<double>) override;
  void sum(std::span<float>) override;
  void wait() override;
  // Values of a CudaBackend on this device. The program waits for nothing.
  void begin_sum(Backend&, std::span<double>) override;
  void begin_sum(Backend&, std::span<float>) override;
  void finish_sums(Backend&) override;

 private:
  template <class T>
  void sum_staged(std::span<T>);

  Nccl nccl_;
  int rank_, size_, device_;
  Queue queue_;
  ncclComm* group_;
};

}  // namespace pesuite::cuda
