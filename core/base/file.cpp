#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "base/error.h"

namespace pesuite {

namespace {

class Descriptor {
 public:
  Descriptor(const fs::path& path, int flags)
      : path_(path), fd_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {
    if (fd_ < 0) fail(Exit::data, "cannot open {}: {}", path.string(), std::strerror(errno));
  }
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  void write(std::string_view content) {
    while (!content.empty()) {
      const ssize_t n = ::write(fd_, content.data(), content.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail(Exit::data, "cannot write {}: {}", path_.string(), std::strerror(errno));
      content.remove_prefix(static_cast<std::size_t>(n));
    }
  }
  void sync() {
    if (::fsync(fd_) != 0 && errno != EINVAL && errno != EROFS)
      fail(Exit::data, "cannot flush {}: {}", path_.string(), std::strerror(errno));
  }
  int get() const { return fd_; }

 private:
  fs::path path_;
  int fd_;
};

void make_parent(const fs::path& path) {
  std::error_code error;
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);
  if (error)
    fail(Exit::data, "cannot create folder {}: {}", path.parent_path().string(), error.message());
}

}  // namespace

std::string read_file(const fs::path& path) {
  Descriptor file(path, O_RDONLY);
  std::string out;
  std::error_code error;
  const auto size = fs::file_size(path, error);
  out.resize(error ? 0 : static_cast<std::size_t>(size));
  std::size_t used = 0;
  for (;;) {
    if (used == out.size()) out.resize(out.size() + 65536);
    const ssize_t n = ::read(file.get(), out.data() + used, out.size() - used);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(Exit::data, "cannot read {}: {}", path.string(), std::strerror(errno));
    if (n == 0) break;
    used += static_cast<std::size_t>(n);
  }
  out.resize(used);
  return out;
}

void write_file_atomic(const fs::path& path, std::string_view content) {
  make_parent(path);
  fs::path temporary = path;
  temporary += fmt::format(".{}.tmp", ::getpid());
  try {
    Descriptor file(temporary, O_WRONLY | O_CREAT | O_TRUNC);
    file.write(content);
    file.sync();
  } catch (...) {
    std::error_code ignored;
    fs::remove(temporary, ignored);
    throw;
  }
  std::error_code error;
  fs::rename(temporary, path, error);
  if (error) fail(Exit::data, "cannot rename {}: {}", temporary.string(), error.message());
  if (path.has_parent_path()) Descriptor(path.parent_path(), O_RDONLY | O_DIRECTORY).sync();
}

void append_file(const fs::path& path, std::string_view content) {
  make_parent(path);
  Descriptor file(path, O_WRONLY | O_CREAT | O_APPEND);
  file.write(content);
  file.sync();
}

std::string sha256(std::string_view bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  PES_CHECK(EVP_Digest(bytes.data(), bytes.size(), digest, &length, EVP_sha256(), nullptr) == 1);
  std::string out;
  for (unsigned int i = 0; i < length; ++i) out += fmt::format("{:02x}", digest[i]);
  return out;
}

std::string sha256_file(const fs::path& path) {
  return sha256(read_file(path));
}

}  // namespace pesuite
