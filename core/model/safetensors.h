// The safetensors format: a length, a JSON header with names, types, shapes and offsets, the bytes.
// Files from outside are hostile until checked: every offset lies in the file, no two tensors
// overlap, sizes agree with shapes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/shape.h"

namespace pesuite {

namespace fs = std::filesystem;

struct TensorEntry {
  std::string name;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0, end = 0;  // offsets into the file
  std::string type = {};             // as the format writes it: "F32"
  std::string checksum = {};         // of its bytes; "": the file's writer left none
};

class SafetensorsReader {
 public:
  // Error (data) with file and reason when it is no sound safetensors file, or its header is not
  // what was written.
  explicit SafetensorsReader(const fs::path& path);
  const std::map<std::string, TensorEntry>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  bool has(const std::string& name) const { return tensors_.contains(name); }
  bool has_checksums() const { return metadata_.contains("xxh3"); }
  // Error (data) when there is no such tensor, its shape is another, it does not hold F64, F32, F16
  // or BF16, or its bytes are not those that were written.
  std::vector<double> read(const std::string& name, const Shape& shape) const;
  // Elements first .. first + out.size() - 1 of a tensor of such numbers, for those too large to
  // hold twice; their checksum is not looked at.
  void read(const TensorEntry&, std::uint64_t first, std::span<float> out) const;

  void check() const;  // reads all tensors for that

 private:
  std::string bytes_of(const TensorEntry&) const;
  void require_numbers(const TensorEntry&) const;
  std::vector<TensorEntry*> in_order();
  void take_checksums(std::string header);

  fs::path path_;
  std::map<std::string, TensorEntry> tensors_;
  std::map<std::string, std::string> metadata_;
};

// It is there, and all of it is what was written.
bool is_sound_safetensors(const fs::path&);

// Writes tensors one after the other; appears under its name only when all are written.
// values(i) yields tensor i as doubles, which are stored as F32, or as F64 where `wide`. The
// metadata gets an entry "xxh3": 16 digits each of the header, with these as zeros, and of each
// tensor in their order.
struct TensorToWrite {
  std::string name;
  Shape shape;
};
void write_safetensors(const fs::path& path, const std::vector<TensorToWrite>& tensors,
                       const std::map<std::string, std::string>& metadata, bool wide,
                       const std::function<std::vector<double>(std::size_t)>& values);

}  // namespace pesuite
