// Files of data sets on the Hugging Face hub, or on a mirror of it.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>

namespace pesuite::data {

inline constexpr const char* hub = "https://huggingface.co";

struct Remote {
  std::string url, sha256;  // "": not known
  std::uint64_t bytes = 0;
};

std::string hub_address(const std::string& base, const std::string& repository,
                        const std::string& path);
// All files of a folder ("": of the data set), and of those in it where `below`, by their paths.
// Error (data) where there is none of that name.
std::map<std::string, Remote> hub_files(const std::string& base, const std::string& repository,
                                        const std::string& folder, bool below,
                                        const std::atomic<bool>& stop);

}  // namespace pesuite::data
