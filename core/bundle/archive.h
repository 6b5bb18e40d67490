// Files packed into one: a tar compressed by zstd, written and read by libarchive, which may be
// missing from a build. What is read is not trusted: regular files alone, never more bytes than
// the caller allows.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/file.h"

namespace pesuite {

bool archives_are_built_in();

// A name inside an archive that stays inside the folder it is unpacked to: relative, its parts
// neither empty nor "." nor "..", without control characters and backslashes.
bool is_safe_path(std::string_view path);

// The same files give the same bytes: owners and times are left out.
class ArchiveWriter {
 public:
  // Appears under its name in finish(), or not at all. Error (usage) without libarchive, (data)
  // where nothing can be written.
  explicit ArchiveWriter(const fs::path& file);
  ~ArchiveWriter();
  ArchiveWriter(const ArchiveWriter&) = delete;
  ArchiveWriter& operator=(const ArchiveWriter&) = delete;
  void add(const std::string& path, std::string_view content);
  // Error (data) where the file has another size than `bytes`: it was changed meanwhile.
  void add_file(const std::string& path, const fs::path& from, std::uint64_t bytes);
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

class ArchiveReader {
 public:
  struct Entry {
    std::string path;
    std::uint64_t bytes = 0;
  };
  explicit ArchiveReader(const fs::path& file);
  ~ArchiveReader();
  ArchiveReader(const ArchiveReader&) = delete;
  ArchiveReader& operator=(const ArchiveReader&) = delete;
  // The next file; none at the end. Error (data) for links, devices, folders and unsafe paths, and
  // where the archive is cut off or damaged.
  std::optional<Entry> next();
  // What the entry holds. Error (data) beyond `most` bytes.
  std::string read(std::uint64_t most);
  void read_into(const fs::path& file, std::uint64_t most);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace pesuite
