// What a shared library's file says of itself, read without loading it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace pesuite {

// Names of the symbols that a 64-bit ELF library exports, sorted. Error (plugin) when the file is
// something else or cut.
std::vector<std::string> exported_symbols(const std::filesystem::path& file);

// Throws when the file ends before what a loader would map of it: touching that would end the
// process. Errors as above.
void expect_whole(const std::filesystem::path& file);

// The GNU build id in hexadecimal digits, "" where the library has none. The linker derives it from
// what it links; stripping leaves it alone. Errors as above.
std::string build_id(const std::filesystem::path& file);

}  // namespace pesuite
