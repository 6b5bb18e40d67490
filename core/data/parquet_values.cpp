#include "data/parquet_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace pesuite::data::parquet {

namespace {

[[noreturn]] void too_short() {
  throw Damaged{"ends before its values do"};
}

// `width` bits from bit `first` on, lowest first.
std::uint64_t bits(std::string_view bytes, std::uint64_t first, int width) {
  if (first + static_cast<std::uint64_t>(width) > 8 * std::uint64_t{bytes.size()}) too_short();
  std::uint64_t value = 0;
  for (int got = 0; got < width;) {
    const std::uint64_t bit = first + static_cast<std::uint64_t>(got);
    const int inside = static_cast<int>(bit % 8), some = std::min(8 - inside, width - got);
    const auto byte = static_cast<std::uint8_t>(bytes[static_cast<std::size_t>(bit / 8)]);
    value |= static_cast<std::uint64_t>((byte >> inside) & ((1 << some) - 1)) << got;
    got += some;
  }
  return value;
}

std::uint64_t varint(std::string_view bytes, std::size_t& at) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (at >= bytes.size()) too_short();
    const auto b = static_cast<std::uint8_t>(bytes[at++]);
    value |= static_cast<std::uint64_t>(b & 0x7F) << shift;
    if (b < 0x80) return value;
  }
  throw Damaged{"has a number that does not end"};
}

std::uint64_t zigzag(std::string_view bytes, std::size_t& at) {
  const std::uint64_t u = varint(bytes, at);
  return (u >> 1) ^ (~(u & 1) + 1);
}

std::string_view take(std::string_view bytes, std::size_t& at, std::uint64_t n) {
  if (at > bytes.size() || n > bytes.size() - at) too_short();
  at += static_cast<std::size_t>(n);
  return bytes.substr(at - static_cast<std::size_t>(n), static_cast<std::size_t>(n));
}

std::string_view plain(std::string_view bytes, std::size_t& at) {
  const std::string_view length = take(bytes, at, 4);
  std::uint32_t n = 0;
  for (int i = 3; i >= 0; --i)
    n = n << 8 | static_cast<std::uint8_t>(length[static_cast<std::size_t>(i)]);
  return take(bytes, at, n);
}

std::uint64_t length_of(std::int64_t length) {
  if (length < 0) throw Damaged{"has a text of negative length"};
  return static_cast<std::uint64_t>(length);
}

// Each behind its length.
class Plain : public Texts {
 public:
  explicit Plain(std::string_view bytes) : bytes_(bytes) {}
  std::string_view next() override { return plain(bytes_, at_); }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
};

// Places in the dictionary.
class Named : public Texts {
 public:
  Named(std::string_view bytes, const Dictionary& dictionary)
      : dictionary_(dictionary),
        // a page of nothing but nulls may have no byte
        places_(bytes.empty() ? bytes : bytes.substr(1),
                bytes.empty() ? 0 : static_cast<std::uint8_t>(bytes[0])) {}
  std::string_view next() override {
    const std::uint32_t place = places_.next();
    if (place >= dictionary_.size())
      throw Damaged{fmt::format("names text {} of a dictionary of {}", place, dictionary_.size())};
    return dictionary_[place];
  }

 private:
  const Dictionary& dictionary_;
  Runs places_;
};

// All lengths, then all texts (DELTA_LENGTH_BYTE_ARRAY).
class Lengths : public Texts {
 public:
  explicit Lengths(std::string_view bytes) : bytes_(bytes), lengths_(bytes), at_(lengths_.size()) {}
  std::string_view next() override { return take(bytes_, at_, length_of(lengths_.next())); }

 private:
  std::string_view bytes_;
  Deltas lengths_;
  std::size_t at_;
};

// How much of the text before comes again, then the rest (DELTA_BYTE_ARRAY).
class Prefixes : public Texts {
 public:
  explicit Prefixes(std::string_view bytes)
      : prefixes_(bytes), rests_(bytes.substr(prefixes_.size())) {}
  std::string_view next() override {
    const std::uint64_t kept = length_of(prefixes_.next());
    if (kept > text_.size()) throw Damaged{"repeats more of a text than there is"};
    text_.resize(static_cast<std::size_t>(kept));
    return text_ += rests_.next();
  }

 private:
  Deltas prefixes_;
  Lengths rests_;
  std::string text_;
};

}  // namespace

Runs::Runs(std::string_view bytes, int width) : bytes_(bytes), width_(width) {
  if (width > 32) throw Damaged{fmt::format("has numbers of {} bits", width)};
}

std::uint32_t Runs::next() {
  while (left_ == 0) {
    const std::uint64_t head = varint(bytes_, at_);
    packed_ = head & 1;
    left_ = head >> 1;
    if (packed_) {
      if (left_ >> 32) too_short();
      first_ = 8 * std::uint64_t{at_};
      // the last run may be cut where no number needs its bytes
      at_ += static_cast<std::size_t>(
          std::min<std::uint64_t>(left_ * static_cast<std::uint64_t>(width_), bytes_.size() - at_));
      left_ *= 8;
    } else {
      const auto bytes = static_cast<std::uint64_t>((width_ + 7) / 8);
      const std::string_view value = take(bytes_, at_, bytes);
      value_ = static_cast<std::uint32_t>(bits(value, 0, 8 * static_cast<int>(bytes)));
    }
  }
  --left_;
  if (!packed_) return value_;
  first_ += static_cast<std::uint64_t>(width_);
  return static_cast<std::uint32_t>(
      bits(bytes_, first_ - static_cast<std::uint64_t>(width_), width_));
}

Deltas::Deltas(std::string_view bytes) : bytes_(bytes) {
  if (bytes.empty()) return;  // of a page of nothing but nulls
  block_ = varint(bytes, at_), parts_ = varint(bytes, at_), count_ = varint(bytes, at_);
  value_ = zigzag(bytes, at_);
  if (parts_ == 0 || block_ == 0 || block_ % parts_ != 0 || block_ > 1 << 24 ||
      block_ / parts_ % 8 != 0)
    throw Damaged{fmt::format("has blocks of {} numbers in {} parts", block_, parts_)};
  in_block_ = block_;
}

void Deltas::begin_block() {
  least_ = zigzag(bytes_, at_);
  widths_ = at_;
  take(bytes_, at_, parts_);
  in_block_ = 0, part_ = at_;
}

std::int64_t Deltas::next() {
  if (given_ == count_) too_short();
  if (given_++ == 0) return static_cast<std::int64_t>(value_);
  if (in_block_ == block_) at_ = part_ > 0 ? part_ : at_, begin_block();
  const std::uint64_t size = block_ / parts_, inside = in_block_ % size;
  const int width = static_cast<std::uint8_t>(bytes_[widths_ + in_block_ / size]);
  if (width > 64) throw Damaged{fmt::format("has numbers of {} bits", width)};
  value_ += least_ +
            bits(bytes_, 8 * std::uint64_t{part_} + inside * static_cast<unsigned>(width), width);
  ++in_block_;
  if (in_block_ % size == 0) part_ += size / 8 * static_cast<std::size_t>(width);
  return static_cast<std::int64_t>(value_);
}

std::size_t Deltas::size() const {
  Deltas all(bytes_);
  std::size_t at = all.at_;
  for (std::uint64_t left = std::max<std::uint64_t>(count_, 1) - 1; left > 0;) {
    zigzag(bytes_, at);
    const std::string_view widths = take(bytes_, at, parts_);
    for (const char width : widths) {  // parts that no number needs have no bytes
      if (left == 0) break;
      take(bytes_, at, block_ / parts_ / 8 * static_cast<std::uint8_t>(width));
      left -= std::min(left, block_ / parts_);
    }
  }
  return at;
}

Dictionary dictionary_of(std::string_view bytes, std::int64_t count) {
  Dictionary out;
  std::size_t at = 0;
  for (std::int64_t i = 0; i < count; ++i) out.push_back(plain(bytes, at));
  return out;
}

std::unique_ptr<Texts> texts_of(std::int64_t encoding, std::string_view bytes,
                                const Dictionary* dictionary) {
  switch (encoding) {
    case 0: return std::make_unique<Plain>(bytes);
    case 2:  // its old number
    case 8:
      if (!dictionary) throw Damaged{"needs a dictionary, and there is none before it"};
      return std::make_unique<Named>(bytes, *dictionary);
    case 6: return std::make_unique<Lengths>(bytes);
    case 7: return std::make_unique<Prefixes>(bytes);
    default:
      throw Damaged{fmt::format("has texts in encoding {}, which is none of texts", encoding)};
  }
}

}  // namespace pesuite::data::parquet
