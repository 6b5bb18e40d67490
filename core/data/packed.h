// Bytes of a file, unpacked on the way where its name says that they are packed (.gz, .zst).
#pragma once

#include <cstdint>
#include <memory>

#include "base/file.h"

namespace pesuite::data {

class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // Fills as much of the buffer as there is; 0 at the end. Error (data) with the file's name where
  // it is damaged or cut.
  virtual std::size_t read(char* to, std::size_t n) = 0;
  virtual void skip(std::uint64_t bytes);  // unpacked ones; Error (data) where there are fewer
  virtual std::uint64_t packed_read() const = 0;  // bytes of the file so far
};
std::unique_ptr<ByteStream> open_stream(const fs::path&);  // Error (data)
bool is_packed(const fs::path&);
// The name without .gz or .zst.
fs::path unpacked_name(const fs::path&);

}  // namespace pesuite::data
