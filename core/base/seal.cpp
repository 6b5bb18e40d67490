#include "base/seal.h"

#include <xxhash.h>

#include "base/error.h"
#include "base/file.h"

namespace pesuite {

namespace {

// JSON, since most of what is sealed is a JSON value a line.
std::string seal_of(std::string_view content) {
  return fmt::format("{{\"xxh3\":\"{}\"}}\n", checksum(content));
}

}  // namespace

std::string checksum(std::string_view bytes) {
  return fmt::format("{:016x}", std::uint64_t{XXH3_64bits(bytes.data(), bytes.size())});
}

void write_sealed(const fs::path& path, std::string_view content) {
  write_file_atomic(path, seal_of(content) + std::string(content));
}

std::string read_sealed(const fs::path& path) {
  std::string text = read_file(path);
  const std::size_t end = text.find('\n');
  const std::size_t start = end == std::string::npos ? text.size() : end + 1;
  const std::string_view content = std::string_view(text).substr(start);
  if (text.substr(0, start) != seal_of(content))
    fail(Exit::data, "{} is damaged: its checksum is of something else", path.string());
  return text.substr(start);
}

bool is_sealed(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return false;
  try {
    read_sealed(path);
    return true;
  } catch (const Unopened&) {
    throw;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace pesuite
