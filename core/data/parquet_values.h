// The ways in which pages of Parquet write numbers and texts, each read one value after the other.
// https://parquet.apache.org/docs/file-format/data-pages/encodings/
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace pesuite::data::parquet {

// Thrown where a page is not what it says: what it does, for "its page ... WHAT".
struct Damaged {
  std::string what;
};

// Numbers in runs of one value and runs of packed ones (RLE / bit-packing hybrid).
class Runs {
 public:
  Runs(std::string_view bytes, int width);  // bits of a number, 0..32
  std::uint32_t next();

 private:
  std::string_view bytes_;
  int width_;
  std::size_t at_ = 0;       // of the next run
  std::uint64_t left_ = 0;   // numbers of this one
  std::uint64_t first_ = 0;  // bit of the next packed number
  bool packed_ = false;
  std::uint32_t value_ = 0;
};

// Numbers as differences in blocks (DELTA_BINARY_PACKED).
class Deltas {
 public:
  explicit Deltas(std::string_view bytes);
  std::uint64_t count() const { return count_; }
  std::int64_t next();
  std::size_t size() const;  // bytes of all of them

 private:
  void begin_block();

  std::string_view bytes_;
  std::uint64_t block_ = 0, parts_ = 0,
                count_ = 0;  // numbers of a block, its parts, numbers in all
  std::uint64_t given_ = 0, in_block_ = 0;
  std::size_t at_ = 0;                 // of the next byte that nobody has read
  std::size_t widths_ = 0, part_ = 0;  // where the block's widths stand, where the part begins
  std::uint64_t least_ = 0, value_ = 0;
};

// The texts of a page; they live as long as its bytes, or to the next call.
class Texts {
 public:
  virtual ~Texts() = default;
  virtual std::string_view next() = 0;
};

using Dictionary = std::vector<std::string_view>;
Dictionary dictionary_of(std::string_view bytes, std::int64_t count);

// `encoding` as the format numbers it. Damaged where texts have no such encoding.
std::unique_ptr<Texts> texts_of(std::int64_t encoding, std::string_view bytes, const Dictionary*);

}  // namespace pesuite::data::parquet
