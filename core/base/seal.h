// Texts that tell whether they are still what was written: a first line holds the checksum of the
// rest.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace pesuite {

namespace fs = std::filesystem;

// XXH3 in 16 hexadecimal digits: finds damage, at the speed of memory. It is no sha256, which also
// withstands malice.
std::string checksum(std::string_view bytes);

// Replaces `path` in one step, as write_file_atomic().
void write_sealed(const fs::path& path, std::string_view content);
// What was written. Error (data) when the file cannot be read, is damaged or never had a seal.
std::string read_sealed(const fs::path& path);
// It is there and what was written. Unopened where that cannot be told.
bool is_sealed(const fs::path& path);

}  // namespace pesuite
