// A folder of a test's own: tests run side by side, and none may meet another's files.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>

namespace pesuite::testing {

namespace fs = std::filesystem;

class Scratch {
 public:
  Scratch() {
    std::string name = (fs::temp_directory_path() / "pesuite-test-XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error("no folder " + name);
    path_ = name;
  }
  ~Scratch() { fs::remove_all(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  operator const fs::path&() const { return path_; }
  fs::path operator/(const fs::path& name) const { return path_ / name; }
  std::string string() const { return path_.string(); }

 private:
  fs::path path_;
};

}  // namespace pesuite::testing
