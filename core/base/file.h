// Files that survive a crash: written to a temporary name, fsynced, renamed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.h"

namespace pesuite {

namespace fs = std::filesystem;

// A file that is there and cannot be opened, as where a process has too many open: that says
// nothing of what it holds, so it must not be taken for a damaged one.
struct Unopened : Error {
  using Error::Error;
};
// By errno: Unopened, or Error (data) where there is no such file.
[[noreturn]] void cannot_open(const fs::path& path);

// Whole file as bytes. Error (data) with the reason when it cannot be read, or is a pipe or the
// like, whose end may never come.
std::string read_file(const fs::path& path);

// A file that appears whole under its name or not at all: written to a temporary name beside it,
// fsynced, renamed by commit(). Without commit() nothing remains. Error (data) with the reason,
// e.g. a full disk.
class AtomicFile {
 public:
  explicit AtomicFile(const fs::path& path);  // creates missing folders
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  void write(std::string_view bytes);
  void overwrite(std::uint64_t at, std::string_view bytes);  // of what is written already
  void commit();

 private:
  fs::path path_, temporary_;
  int descriptor_;
};

// Replaces `path` in one step: readers see the old or the new content, never a part, also after
// a crash.
void write_file_atomic(const fs::path& path, std::string_view content);

// Removes what AtomicFiles of processes that are gone have left in a folder, not below it.
void sweep_temporaries(const fs::path& folder);

// Appends and flushes to the disk. One call, one write: lines of two processes never mix.
void append_file(const fs::path& path, std::string_view content);

// A lock between processes, also of several machines where the file system has such; on one that
// has none, nobody ever waits. On a file that is created if missing. Held until destroyed, or until
// the process ends, whatever other processes it has started. One object a file and process: the end
// of any of them ends the lock.
class FileLock {
 public:
  explicit FileLock(const fs::path& path);  // Error (data) with the reason
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  bool try_take();       // false when another process has it
  void take();           // waits; a signal with a handler ends the wait, without the lock
  void share();          // waits while one has taken it; several may share it
  bool is_free() const;  // of other processes that took or share it
  void release();

 private:
  int descriptor_;
};

// Of this machine, as others see it.
std::string host_name();

// Where this user's programs keep what can be made again: $XDG_CACHE_HOME/pesuite or
// ~/.cache/pesuite; empty where neither is known.
fs::path cache_folder();

// Folder of the running program.
fs::path program_folder();

// A program on PATH; empty where there is none of that name.
fs::path find_program(const std::string& name);

std::string sha256(std::string_view bytes);  // 64 hexadecimal digits
std::string sha256_file(const fs::path& path);

}  // namespace pesuite
