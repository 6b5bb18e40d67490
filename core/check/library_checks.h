// The checks of a library as a whole, each called in a process of its own. They throw Fault and
// Skip as those of an encoding do.
#pragma once

#include <filesystem>
#include <string>

#include "check/note.h"

namespace pesuite::checks {

std::string check_loads(const std::filesystem::path& file, Note&);
std::string check_exports(const std::filesystem::path& file, Note&);
std::string check_descriptors(const std::filesystem::path& file, Note&);
std::string check_manifest(const std::filesystem::path& file, Note&);

}  // namespace pesuite::checks
