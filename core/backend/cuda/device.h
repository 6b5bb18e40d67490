// The devices of this machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pesuite::cuda {

struct Device {
  int ordinal = 0;
  std::string name;
  int sm = 0;               // compute capability: 90 for 9.0
  std::int64_t memory = 0;  // bytes
};

struct Devices {
  std::vector<Device> all;  // those that the kernels are built for
  std::string sentence;     // what was found, or why there is nothing; with the libraries' versions
};
// Never fails: without a driver, or with one that is too old, there are no devices.
Devices find_devices();

}  // namespace pesuite::cuda
