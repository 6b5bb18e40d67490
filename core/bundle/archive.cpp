#include "bundle/archive.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

#ifdef PESUITE_HAS_LIBARCHIVE
#include <archive.h>
#include <archive_entry.h>
#endif

namespace pesuite {

bool is_safe_path(std::string_view path) {
  if (path.empty() || path.size() > 1024) return false;
  for (const char c : path)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '\\') return false;
  for (const std::string& part : split(path, '/'))
    if (part.empty() || part == "." || part == "..") return false;
  return true;
}

#ifndef PESUITE_HAS_LIBARCHIVE

bool archives_are_built_in() {
  return false;
}

namespace {
[[noreturn]] void refuse() {
  fail(Exit::usage,
       "bundles need libarchive, which this build does not have; install libarchive-dev (Debian) "
       "and build again");
}
}  // namespace

struct ArchiveWriter::State {};
ArchiveWriter::ArchiveWriter(const fs::path&) {
  refuse();
}
ArchiveWriter::~ArchiveWriter() = default;
void ArchiveWriter::add(const std::string&, std::string_view) {}
void ArchiveWriter::add_file(const std::string&, const fs::path&, std::uint64_t) {}
void ArchiveWriter::finish() {}

struct ArchiveReader::State {};
ArchiveReader::ArchiveReader(const fs::path&) {
  refuse();
}
ArchiveReader::~ArchiveReader() = default;
std::optional<ArchiveReader::Entry> ArchiveReader::next() {
  return {};
}
std::string ArchiveReader::read(std::uint64_t) {
  return {};
}
void ArchiveReader::read_into(const fs::path&, std::uint64_t) {}

#else

bool archives_are_built_in() {
  return true;
}

namespace {

constexpr std::size_t piece = 1 << 16;

std::string reason_of(archive* a) {
  const char* said = archive_error_string(a);
  return said != nullptr ? said : "no reason given";
}

}  // namespace

struct ArchiveWriter::State {
  fs::path file, temporary;
  archive* out = nullptr;
  State() = default;
  State(const State&) = delete;
  ~State() {  // also of a writer that failed while it was made
    if (out == nullptr) return;
    archive_write_free(out);
    std::error_code ignored;
    fs::remove(temporary, ignored);
  }
  void check(int code) const {
    if (code != ARCHIVE_OK) fail(Exit::data, "cannot write {}: {}", file.string(), reason_of(out));
  }
  void begin(const std::string& path, std::uint64_t bytes) const {
    const std::unique_ptr<archive_entry, void (*)(archive_entry*)> entry(archive_entry_new(),
                                                                         archive_entry_free);
    archive_entry_set_pathname(entry.get(), path.c_str());
    archive_entry_set_size(entry.get(), static_cast<la_int64_t>(bytes));
    archive_entry_set_filetype(entry.get(), AE_IFREG);
    archive_entry_set_perm(entry.get(), 0644);
    archive_entry_set_mtime(entry.get(), 0, 0);
    check(archive_write_header(out, entry.get()));
  }
  void write(std::string_view bytes) const {
    if (archive_write_data(out, bytes.data(), bytes.size()) !=
        static_cast<la_ssize_t>(bytes.size()))
      check(ARCHIVE_FATAL);
  }
};

ArchiveWriter::ArchiveWriter(const fs::path& file) : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.file = file, s.temporary = file;
  s.temporary += fmt::format(".part-{}", ::getpid());
  std::error_code ignored;
  if (file.has_parent_path()) fs::create_directories(file.parent_path(), ignored);
  s.out = archive_write_new();
  s.check(archive_write_add_filter_zstd(s.out));
  s.check(archive_write_set_format_pax_restricted(s.out));
  s.check(archive_write_open_filename(s.out, s.temporary.c_str()));
}

ArchiveWriter::~ArchiveWriter() = default;

void ArchiveWriter::add(const std::string& path, std::string_view content) {
  state_->begin(path, content.size());
  state_->write(content);
}

void ArchiveWriter::add_file(const std::string& path, const fs::path& from, std::uint64_t bytes) {
  const int fd = ::open(from.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) fail(Exit::data, "cannot open {}: {}", from.string(), std::strerror(errno));
  const struct Closer {
    int fd;
    ~Closer() { ::close(fd); }
  } closer{fd};
  state_->begin(path, bytes);
  char buffer[piece];
  std::uint64_t done = 0;
  for (ssize_t n; (n = ::read(fd, buffer, sizeof buffer)) > 0;
       done += static_cast<std::uint64_t>(n))
    if (done + static_cast<std::uint64_t>(n) <= bytes)
      state_->write({buffer, static_cast<std::size_t>(n)});
  if (done != bytes)
    fail(Exit::data, "{} was changed while it was packed: wait until the run is over",
         from.string());
}

void ArchiveWriter::finish() {
  State& s = *state_;
  s.check(archive_write_close(s.out));
  archive_write_free(s.out);
  s.out = nullptr;
  fs::rename(s.temporary, s.file);
}

struct ArchiveReader::State {
  fs::path file;
  archive* in = nullptr;
  std::string path;  // of the entry
  State() = default;
  State(const State&) = delete;
  ~State() {  // also of a reader that was refused while it was made
    if (in != nullptr) archive_read_free(in);
  }
  [[noreturn]] void refuse(const std::string& why) const {
    fail(Exit::data, "{}: {}; nothing of it was taken", file.string(), why);
  }
  // Calls `take` with each piece.
  template <class Take>
  void pieces(std::uint64_t most, const Take& take) const {
    char buffer[piece];
    std::uint64_t done = 0;
    for (;;) {
      const la_ssize_t n = archive_read_data(in, buffer, sizeof buffer);
      if (n < 0) refuse(fmt::format("it is damaged at {}: {}", path, reason_of(in)));
      if (n == 0) return;
      done += static_cast<std::uint64_t>(n);
      if (done > most) refuse(fmt::format("{} is longer than the {} bytes allowed", path, most));
      take(std::string_view(buffer, static_cast<std::size_t>(n)));
    }
  }
};

ArchiveReader::ArchiveReader(const fs::path& file) : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.file = file;
  if (!fs::is_regular_file(file)) fail(Exit::data, "there is no file {}", file.string());
  s.in = archive_read_new();
  archive_read_support_filter_zstd(s.in);
  archive_read_support_format_tar(s.in);
  if (archive_read_open_filename(s.in, file.c_str(), piece) != ARCHIVE_OK)
    s.refuse(fmt::format("it is no tar.zst: {}", reason_of(s.in)));
}

ArchiveReader::~ArchiveReader() = default;

std::optional<ArchiveReader::Entry> ArchiveReader::next() {
  State& s = *state_;
  archive_entry* entry = nullptr;
  const int code = archive_read_next_header(s.in, &entry);
  if (code == ARCHIVE_EOF) return {};
  if (code != ARCHIVE_OK) s.refuse(fmt::format("it is damaged or cut off: {}", reason_of(s.in)));
  const char* name = archive_entry_pathname(entry);
  s.path = name != nullptr ? name : "";
  if (archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry) != nullptr ||
      archive_entry_symlink(entry) != nullptr)
    s.refuse(fmt::format("'{}' is a link or no regular file", s.path));
  if (!is_safe_path(s.path))
    s.refuse(fmt::format("the name '{}' leads outside of the folder, or is none", s.path));
  if (archive_entry_size_is_set(entry) == 0 || archive_entry_size(entry) < 0)
    s.refuse(fmt::format("'{}' has no size", s.path));
  return Entry{s.path, static_cast<std::uint64_t>(archive_entry_size(entry))};
}

std::string ArchiveReader::read(std::uint64_t most) {
  std::string out;
  state_->pieces(most, [&](std::string_view bytes) { out += bytes; });
  return out;
}

void ArchiveReader::read_into(const fs::path& file, std::uint64_t most) {
  AtomicFile out(file);
  state_->pieces(most, [&](std::string_view bytes) { out.write(bytes); });
  out.commit();
}

#endif

}  // namespace pesuite
