#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace pesuite {

void cannot_open(const fs::path& path) {
  const int why = errno;
  const std::string text = fmt::format("cannot open {}: {}", path.string(), std::strerror(why));
  if (why == ENOENT || why == ENOTDIR) throw Error(Exit::data, text);
  throw Unopened(Exit::data, text);
}

namespace {

[[noreturn]] void refuse(const char* what, const fs::path& path) {
  fail(Exit::data, "cannot {} {}: {}", what, path.string(), std::strerror(errno));
}

class Descriptor {
 public:
  Descriptor(const fs::path& path, int flags) : fd_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {
    if (fd_ < 0) cannot_open(path);
  }
  ~Descriptor() { ::close(fd_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

void write_all(int fd, std::string_view content, const fs::path& path) {
  while (!content.empty()) {
    const ssize_t n = ::write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) refuse("write", path);
    content.remove_prefix(static_cast<std::size_t>(n));
  }
}

void sync(int fd, const fs::path& path) {
  // EINVAL and EROFS: a file system without fsync, where nothing better can be done
  if (::fsync(fd) != 0 && errno != EINVAL && errno != EROFS) refuse("flush", path);
}

fs::path with_parent(const fs::path& path) {
  std::error_code error;
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);
  if (error)
    fail(Exit::data, "cannot create folder {}: {}", path.parent_path().string(), error.message());
  return path;
}

}  // namespace

namespace {

constexpr int to_read = O_RDONLY | O_NONBLOCK;  // a pipe is to be refused, not waited for
void refuse_pipes(const Descriptor& file, const fs::path& path) {
  struct stat of {};
  if (::fstat(file.get(), &of) == 0 && (S_ISFIFO(of.st_mode) || S_ISCHR(of.st_mode)))
    fail(Exit::data, "cannot read {}: it is no regular file", path.string());
}

std::size_t read_some(const Descriptor& file, char* to, std::size_t n, const fs::path& path) {
  for (;;) {
    const ssize_t got = ::read(file.get(), to, n);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse("read", path);
    return static_cast<std::size_t>(got);
  }
}

}  // namespace

std::string read_file(const fs::path& path) {
  const Descriptor file(path, to_read);
  refuse_pipes(file, path);
  std::string out;
  std::error_code error;
  const auto size = fs::file_size(path, error);
  out.resize(error ? 0 : static_cast<std::size_t>(size));
  std::size_t used = 0;
  for (;;) {
    if (used == out.size()) out.resize(out.size() + 65536);
    const std::size_t n = read_some(file, out.data() + used, out.size() - used, path);
    if (n == 0) break;
    used += n;
  }
  out.resize(used);
  return out;
}

// Which machine writes, since numbers of processes are a machine's own.
static const std::string& machine_tag() {
  static const std::string tag = sha256(host_name()).substr(0, 8);
  return tag;
}

AtomicFile::AtomicFile(const fs::path& path)
    : path_(with_parent(path)),
      temporary_(fs::path(path) += fmt::format(".{}@{}.tmp", ::getpid(), machine_tag())),
      descriptor_(::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) refuse("create", temporary_);
}
AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}
void AtomicFile::write(std::string_view bytes) {
  write_all(descriptor_, bytes, temporary_);
}
void AtomicFile::overwrite(std::uint64_t at, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) refuse("write", temporary_);
    bytes.remove_prefix(static_cast<std::size_t>(n));
    at += static_cast<std::uint64_t>(n);
  }
}
void AtomicFile::commit() {
  sync(descriptor_, temporary_);
  ::close(std::exchange(descriptor_, -1));
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    ::unlink(temporary_.c_str());
    refuse("replace", path_);
  }
  const fs::path folder = path_.has_parent_path() ? path_.parent_path() : fs::path(".");
  const Descriptor parent(folder, O_RDONLY | O_DIRECTORY);
  sync(parent.get(), folder);
}

void write_file_atomic(const fs::path& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content);
  file.commit();
}

void sweep_temporaries(const fs::path& folder) {
  static constexpr std::string_view ending = ".tmp";
  std::error_code error;
  for (const auto& item : fs::directory_iterator(folder, error)) {
    const std::string name = item.path().filename().string();
    if (!name.ends_with(ending)) continue;
    const std::string_view rest(name.data(), name.size() - ending.size());
    const std::size_t dot = rest.rfind('.');
    if (dot == std::string_view::npos) continue;
    pid_t writer = 0;
    const char* const last = rest.data() + rest.size();
    const auto [end, wrong] = std::from_chars(rest.data() + dot + 1, last, writer);
    if (wrong != std::errc() || writer <= 0 || (end != last && *end != '@')) continue;
    const bool of_this_machine = end == last || std::string_view(end + 1, last) == machine_tag();
    // what another machine writes takes no day
    const bool gone = of_this_machine ? ::kill(writer, 0) != 0 && errno == ESRCH
                                      : fs::file_time_type::clock::now() -
                                                fs::last_write_time(item.path(), error) >
                                            std::chrono::hours(24);
    if (gone && !error) fs::remove(item.path(), error);
  }
}

void append_file(const fs::path& path, std::string_view content) {
  const Descriptor file(with_parent(path), O_WRONLY | O_CREAT | O_APPEND);
  write_all(file.get(), content, path);
  sync(file.get(), path);
}

FileLock::FileLock(const fs::path& path) {
  with_parent(path);
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail(Exit::data, "cannot open {}: {}", path.string(), std::strerror(errno));
}
FileLock::~FileLock() {
  ::close(descriptor_);
}
namespace {

// Of the process, not of the descriptor as flock() has it: a child that a plugin has forked does
// not keep it.
bool lock_whole(int descriptor, int how, short type) {
  struct flock whole {};
  whole.l_type = type;
  whole.l_whence = SEEK_SET;
  if (::fcntl(descriptor, how, &whole) == 0) return true;
  return errno == ENOLCK || errno == ENOSYS || errno == EOPNOTSUPP;  // there are none here
}

}  // namespace

bool FileLock::try_take() {
  return lock_whole(descriptor_, F_SETLK, F_WRLCK);
}
void FileLock::take() {
  lock_whole(descriptor_, F_SETLKW, F_WRLCK);
}
void FileLock::share() {
  lock_whole(descriptor_, F_SETLKW, F_RDLCK);
}
bool FileLock::is_free() const {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  return ::fcntl(descriptor_, F_GETLK, &whole) != 0 || whole.l_type == F_UNLCK;
}
void FileLock::release() {
  lock_whole(descriptor_, F_SETLK, F_UNLCK);
}

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 && name[0] != 0 ? name : "localhost";
}

fs::path cache_folder() {
  for (const auto& [variable, below] : {std::pair{"XDG_CACHE_HOME", ""}, {"HOME", ".cache"}})
    if (const char* const folder = std::getenv(variable); folder != nullptr && *folder == '/')
      return fs::path(folder) / below / "pesuite";
  return {};
}

fs::path program_folder() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::current_path() : program.parent_path();
}

fs::path find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  if (path == nullptr) return {};
  for (const std::string& folder : split(path, ':')) {
    const fs::path p = fs::path(folder) / name;
    if (!folder.empty() && ::access(p.c_str(), X_OK) == 0 && !fs::is_directory(p)) return p;
  }
  return {};
}

namespace {

// Takes its bytes piece by piece.
class Sha256 {
 public:
  Sha256() { PES_CHECK(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1); }
  void add(std::string_view bytes) {
    PES_CHECK(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
  }
  std::string text() {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int length = 0;
    PES_CHECK(EVP_DigestFinal_ex(context_.get(), digest, &length) == 1);
    std::string out;
    for (unsigned int i = 0; i < length; ++i) out += fmt::format("{:02x}", digest[i]);
    return out;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_{EVP_MD_CTX_new(),
                                                                   EVP_MD_CTX_free};
};

}  // namespace

std::string sha256(std::string_view bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.text();
}

std::string sha256_file(const fs::path& path) {
  const Descriptor file(path, to_read);
  refuse_pipes(file, path);
  Sha256 hash;
  std::string piece(1 << 20, '\0');
  while (const std::size_t n = read_some(file, piece.data(), piece.size(), path))
    hash.add(std::string_view(piece).substr(0, n));
  return hash.text();
}

}  // namespace pesuite
