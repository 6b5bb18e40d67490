#include "backend/part.h"

#include <dlfcn.h>

#include "base/file.h"

namespace pesuite {

const void* open_part(const Part& part) {
  for (const char* folder : {"../backends", PESUITE_BACKEND_INSTALL_DIR}) {
    const fs::path file = program_folder() / folder / part.file;
    std::error_code ignored;
    if (!fs::exists(file, ignored)) continue;
    void* library = ::dlopen(file.c_str(), RTLD_NOW | (part.global ? RTLD_GLOBAL : RTLD_LOCAL));
    if (library == nullptr) fail(Exit::device, "{} cannot be opened: {}", file.string(), dlerror());
    return ::dlsym(library, part.symbol);
  }
  fail(Exit::device, "{}", part.missing);
}

void refuse_version(const Part& part) {
  fail(Exit::device, "{} is of another version of pesuite; install both together", part.file);
}

}  // namespace pesuite
