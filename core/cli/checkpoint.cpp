#include "cli/checkpoint.h"

#include "base/error.h"

namespace pesuite::cli {

namespace fs = std::filesystem;

fs::path find_checkpoint(const std::string& name) {
  for (const fs::path& p :
       {fs::path(name), fs::path(name + ".safetensors"), fs::path(name) / "latest.safetensors",
        fs::path(name) / "last.safetensors"})
    if (fs::is_regular_file(p)) return p;
  fail(Exit::data, "there is no checkpoint {}, neither a file nor a run's folder", name);
}

}  // namespace pesuite::cli
