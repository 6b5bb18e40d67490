// What open_backend() chooses from.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <utility>

#include "backend/backend.h"
#include "backend/group.h"

namespace pesuite {

std::unique_ptr<Backend> make_reference_backend();
std::unique_ptr<Backend> make_cpu_backend(const BackendOptions&);
bool cpu_bf16_is_fast();  // whether its products are faster in bf16 than in fp32
// On the first device; opens the library. Error (device) with a sentence.
std::unique_ptr<Backend> make_cuda_backend(const BackendOptions&);

// "", or why there is no backend `cuda` here. The first is cheap and starts nothing; the second
// starts the driver. Error (device) where the library is missing or cannot be opened.
std::string why_no_driver();
std::string why_no_device();

// Of processes with a device each, over NCCL. An id is made by their rank 0, or with the same
// NCCL_COMM_ID in the environment by each of them alike. Error (device).
using DeviceGroupId = std::array<char, 128>;
struct DeviceGroup {
  DeviceGroupId id{};
  int rank = 0, size = 1;
  int device = 0;  // of this process, among those that it sees
};
DeviceGroupId make_device_group_id();
std::unique_ptr<Group> make_device_group(const DeviceGroup&);  // all of them at once
// How many devices this process sees, and which, or why there is none.
std::pair<int, std::string> count_devices();

}  // namespace pesuite
