// tokens.hpp -- files of tokens as nanoGPT and llm.c keep them, and their documents, mapped into
// memory: opening reads a page, whatever the size. For tasks; pesuite.hpp does not include it.
//
//   nanoGPT  little-endian uint16 (or uint32, which only who wrote it knows), no header
//   llm.c    256 little-endian int32: magic, version, number of tokens, rest ignored; then tokens:
//            magic 20240520, version 1: uint16; magic 20240801, version 7: uint32
#ifndef PESUITE_TOKENS_HPP_
#define PESUITE_TOKENS_HPP_

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <utility>

namespace pes {

struct TokenHeader {
  static constexpr std::int32_t narrow_magic = 20240520, narrow_version = 1;
  static constexpr std::int32_t wide_magic = 20240801, wide_version = 7;
  static constexpr std::int32_t evaluation_magic = 20240522;
  static constexpr std::size_t bytes = 256 * sizeof(std::int32_t);
};

// A file's bytes, read only. std::runtime_error with a sentence where it cannot be mapped.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) refuse(path, std::strerror(errno));
    struct stat status {};
    const bool known = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
    size_ = known ? static_cast<std::size_t>(status.st_size) : 0;
    void* at =
        known && size_ > 0 ? ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, descriptor, 0) : nullptr;
    const int error = errno;
    ::close(descriptor);
    if (!known) refuse(path, "it is no regular file");
    if (at == MAP_FAILED) refuse(path, std::strerror(error));
    data_ = static_cast<const std::uint8_t*>(at);
  }
  MappedFile(MappedFile&& o) noexcept
      : data_(std::exchange(o.data_, nullptr)), size_(std::exchange(o.size_, 0)) {}
  MappedFile& operator=(MappedFile&& o) noexcept {
    std::swap(data_, o.data_);
    std::swap(size_, o.size_);
    return *this;
  }
  ~MappedFile() {
    if (data_ != nullptr) ::munmap(const_cast<std::uint8_t*>(data_), size_);
  }
  const std::uint8_t* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  [[noreturn]] static void refuse(const std::filesystem::path& path, const std::string& why) {
    throw std::runtime_error("cannot read " + path.string() + ": " + why);
  }
  const std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
};

class TokenFile {
 public:
  // std::runtime_error with a sentence for what is no such file. `raw_bytes`: of a token where
  // there is no header, 2 or 4.
  explicit TokenFile(const std::filesystem::path& path, int raw_bytes = 2)
      : path_(path), file_(path), bytes_per_token_(raw_bytes) {
    if (file_.size() == 0) refuse("is empty");
    const std::int32_t magic = word(0), version = word(1);
    if (magic == TokenHeader::evaluation_magic)
      refuse("holds multiple-choice questions of llm.c, no tokens to train on");
    const bool narrow = magic == TokenHeader::narrow_magic;
    if (narrow || magic == TokenHeader::wide_magic) {
      read_header(version, narrow ? TokenHeader::narrow_version : TokenHeader::wide_version,
                  narrow ? 2 : 4);
    } else if (looks_like_a_header(version)) {
      refuse("begins like a file of llm.c, with the magic number " + std::to_string(magic) +
             ", which is none of 20240520 (uint16) and 20240801 (uint32)");
    }
    if ((file_.size() - offset_) % bytes_per_token_ != 0)
      refuse("has " + std::to_string(file_.size()) +
             " bytes, which is no whole number of tokens of " + std::to_string(bytes_per_token_) +
             " bytes");
    size_ = (file_.size() - offset_) / bytes_per_token_;
  }

  const std::filesystem::path& path() const { return path_; }
  std::uint64_t size() const { return size_; }  // tokens
  int bytes_per_token() const { return bytes_per_token_; }
  bool has_header() const { return offset_ > 0; }
  std::uint32_t operator[](std::uint64_t i) const {
    const std::uint8_t* at = file_.data() + offset_ + i * bytes_per_token_;
    if (bytes_per_token_ == 4) {
      std::uint32_t token;
      std::memcpy(&token, at, sizeof(token));
      return token;
    }
    std::uint16_t token;
    std::memcpy(&token, at, sizeof(token));
    return token;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw std::runtime_error(path_.string() + " " + why);
  }
  std::int32_t word(std::size_t i) const {
    std::int32_t w = 0;
    if (file_.size() >= (i + 1) * sizeof(w))
      std::memcpy(&w, file_.data() + i * sizeof(w), sizeof(w));
    return w;
  }
  void read_header(std::int32_t version, std::int32_t wanted, int bytes) {
    if (file_.size() < TokenHeader::bytes)
      refuse("is cut: it has " + std::to_string(file_.size()) +
             " bytes, and its header takes 1024");
    if (version != wanted)
      refuse("is of version " + std::to_string(version) + ", and readers know version " +
             std::to_string(wanted) + " of this magic number");
    offset_ = TokenHeader::bytes, bytes_per_token_ = bytes;
    const std::int64_t count = word(2);
    const std::uint64_t body = file_.size() - TokenHeader::bytes;
    if (count < 0 || static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(bytes) != body)
      refuse("says that it holds " + std::to_string(count) + " tokens of " + std::to_string(bytes) +
             " bytes, and has " + std::to_string(body) + " bytes of them");
    if (count == 0) refuse("holds no token");
  }
  // Tokens of 16 bits can begin with anything; only a count that fits makes it a header.
  bool looks_like_a_header(std::int32_t version) const {
    if (file_.size() < TokenHeader::bytes || version < 1 || version > 99) return false;
    const std::int64_t count = word(2);
    const auto body = static_cast<std::int64_t>(file_.size() - TokenHeader::bytes);
    return count > 0 && (count * 2 == body || count * 4 == body);
  }

  std::filesystem::path path_;
  MappedFile file_;
  std::size_t offset_ = 0;
  int bytes_per_token_;
  std::uint64_t size_ = 0;
};

}  // namespace pes

#endif  // PESUITE_TOKENS_HPP_
