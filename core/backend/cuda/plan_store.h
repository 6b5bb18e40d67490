// Compiled plans on disk, so that the next process need not compile them: a file each, by cuDNN's
// version, device and request. What cannot be read is compiled anew, and nothing is said about it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace pesuite::cuda {

class PlanStore {
 public:
  // `machine`: all that a plan hangs on besides its key. No folder: nothing is kept.
  PlanStore(std::filesystem::path folder, std::string machine)
      : folder_(std::move(folder)), machine_(std::move(machine)) {}

  std::optional<std::string> read(const std::string& key) const;
  void write(const std::string& key, std::string_view plan) const;

 private:
  std::filesystem::path file(const std::string& key) const;
  std::string head(const std::string& key, std::string_view plan) const;  // what stands before it

  std::filesystem::path folder_;
  std::string machine_;
};

// $PESUITE_PLANS, or pesuite/plans in the user's folder of caches; none where PESUITE_PLANS is
// empty or there is no such folder.
std::filesystem::path plan_folder();

}  // namespace pesuite::cuda
