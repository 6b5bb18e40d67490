#include "data/packed.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

namespace pesuite::data {

namespace {

class PlainStream : public ByteStream {
 public:
  explicit PlainStream(const fs::path& path) : path_(path) {
    file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file_ < 0) cannot_open(path);
    struct stat s {};
    if (::fstat(file_, &s) != 0 || !S_ISREG(s.st_mode)) {
      ::close(file_);
      fail(Exit::data, "cannot read {}: it is no regular file", path.string());
    }
  }
  ~PlainStream() override { ::close(file_); }
  std::size_t read(char* to, std::size_t n) override {
    std::size_t got = 0;
    while (got < n) {
      const ssize_t some = ::read(file_, to + got, n - got);
      if (some < 0 && errno == EINTR) continue;
      if (some < 0) fail(Exit::data, "cannot read {}: {}", path_.string(), std::strerror(errno));
      if (some == 0) break;
      got += static_cast<std::size_t>(some);
    }
    read_ += got;
    return got;
  }
  void skip(std::uint64_t bytes) override {
    if (::lseek(file_, static_cast<off_t>(bytes), SEEK_CUR) < 0)
      fail(Exit::data, "cannot read {}: {}", path_.string(), std::strerror(errno));
    read_ += bytes;
  }
  std::uint64_t packed_read() const override { return read_; }

 private:
  fs::path path_;
  int file_;
  std::uint64_t read_ = 0;
};

// What both ways of unpacking share: packed bytes come in here, a buffer at a time.
class Unpacking : public ByteStream {
 public:
  explicit Unpacking(const fs::path& path) : path_(path), packed_(path), in_(1 << 17) {}
  std::uint64_t packed_read() const override { return packed_.packed_read(); }

 protected:
  bool refill() {  // false at the end of the file
    at_ = 0;
    size_ = packed_.read(in_.data(), in_.size());
    return size_ > 0;
  }
  [[noreturn]] void damaged(const char* why) const {
    fail(Exit::data, "{} is damaged: {}", path_.string(), why);
  }
  [[noreturn]] void cut() const {
    fail(Exit::data, "{} is cut: it ends in the middle of its packed text", path_.string());
  }
  fs::path path_;
  PlainStream packed_;
  std::vector<char> in_;
  std::size_t at_ = 0, size_ = 0;
};

class Gzip : public Unpacking {
 public:
  explicit Gzip(const fs::path& path) : Unpacking(path) {
    if (::inflateInit2(&z_, 15 + 16) != Z_OK) fail(Exit::data, "zlib does not start");
  }
  ~Gzip() override { ::inflateEnd(&z_); }
  std::size_t read(char* to, std::size_t n) override {
    z_.next_out = reinterpret_cast<Bytef*>(to);
    z_.avail_out = static_cast<uInt>(std::min<std::size_t>(n, 1 << 30));
    const std::size_t wanted = z_.avail_out;
    while (z_.avail_out > 0) {
      if (at_ == size_ && !refill()) {
        if (inside_) cut();
        break;
      }
      inside_ = true;
      z_.next_in = reinterpret_cast<Bytef*>(in_.data() + at_);
      z_.avail_in = static_cast<uInt>(size_ - at_);
      const int state = ::inflate(&z_, Z_NO_FLUSH);
      at_ = size_ - z_.avail_in;
      if (state == Z_STREAM_END) {  // another member may follow
        inside_ = false;
        ::inflateReset(&z_);
      } else if (state != Z_OK && state != Z_BUF_ERROR) {
        damaged(z_.msg != nullptr ? z_.msg : "it is no gzip file");
      }
    }
    return wanted - z_.avail_out;
  }

 private:
  z_stream z_{};
  bool inside_ = false;  // a member
};

class Zstd : public Unpacking {
 public:
  explicit Zstd(const fs::path& path) : Unpacking(path), z_(::ZSTD_createDStream()) {
    PES_CHECK(z_ != nullptr);
  }
  ~Zstd() override { ::ZSTD_freeDStream(z_); }
  std::size_t read(char* to, std::size_t n) override {
    ZSTD_outBuffer out{to, n, 0};
    while (out.pos < out.size) {
      if (at_ == size_ && !flushing_ && !refill()) {
        if (inside_) cut();
        break;
      }
      ZSTD_inBuffer in{in_.data(), size_, at_};
      const std::size_t had = out.pos;
      const std::size_t state = ::ZSTD_decompressStream(z_, &out, &in);
      if (::ZSTD_isError(state)) damaged(::ZSTD_getErrorName(state));
      flushing_ = out.pos == out.size || (in.pos == at_ && out.pos > had);
      at_ = in.pos;
      inside_ = state != 0;
      if (at_ == size_ && out.pos < out.size) flushing_ = false;
    }
    return out.pos;
  }

 private:
  ZSTD_DStream* z_;
  bool inside_ = false, flushing_ = false;  // a frame; what is unpacked already
};

}  // namespace

void ByteStream::skip(std::uint64_t bytes) {
  std::vector<char> away(1 << 16);
  while (bytes > 0) {
    const std::size_t n = read(away.data(), std::min<std::uint64_t>(away.size(), bytes));
    if (n == 0) fail(Exit::data, "a file has become shorter since it was read last");
    bytes -= n;
  }
}

bool is_packed(const fs::path& p) {
  return p.extension() == ".gz" || p.extension() == ".zst";
}
fs::path unpacked_name(const fs::path& p) {
  return is_packed(p) ? p.parent_path() / p.stem() : p;
}

std::unique_ptr<ByteStream> open_stream(const fs::path& path) {
  if (path.extension() == ".gz") return std::make_unique<Gzip>(path);
  if (path.extension() == ".zst") return std::make_unique<Zstd>(path);
  return std::make_unique<PlainStream>(path);
}

}  // namespace pesuite::data
