// What a shared library shows to the dynamic linker, read from its file: nothing of it runs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace pesuite::checks {

// Names of the symbols that the file defines for others, sorted. Error (plugin) with the reason
// when it is no 64-bit ELF library of this machine's byte order or its tables do not add up.
std::vector<std::string> exported_symbols(const std::filesystem::path& file);

}  // namespace pesuite::checks
