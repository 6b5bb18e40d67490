#include "data/thrift.h"

namespace pesuite::data::thrift {

namespace {

constexpr int deepest = 64;

Type type_of(unsigned code) {
  if (code > static_cast<unsigned>(Type::structure)) throw Damaged{"a field of no known type"};
  return static_cast<Type>(code);
}

}  // namespace

Reader::Depth::Depth(Reader& r) : reader(r) {
  if (++reader.depth_ > deepest) throw Damaged{"values in values without end"};
}

void Reader::expect(bool holds) {
  if (!holds) throw Damaged{"a field of another type than the format gives it"};
}

std::uint8_t Reader::byte() {
  if (at_ >= bytes_.size()) throw Ends{};
  return static_cast<std::uint8_t>(bytes_[at_++]);
}

std::uint64_t Reader::varint() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const std::uint8_t b = byte();
    value |= static_cast<std::uint64_t>(b & 0x7F) << shift;
    if (b < 0x80) return value;
  }
  throw Damaged{"a number that does not end"};
}

std::int64_t Reader::zigzag() {
  const std::uint64_t u = varint();
  return static_cast<std::int64_t>(u >> 1) ^ -static_cast<std::int64_t>(u & 1);
}

std::string_view Reader::take(std::uint64_t n) {
  if (n > bytes_.size() - at_) throw Ends{};
  at_ += static_cast<std::size_t>(n);
  return bytes_.substr(at_ - static_cast<std::size_t>(n), static_cast<std::size_t>(n));
}

Type Reader::begin_field(int& id) {
  const unsigned head = byte();
  const Type type = type_of(head & 15);
  if (type == Type::stop) return type;
  const std::int64_t next = head >> 4 ? id + static_cast<int>(head >> 4) : zigzag();
  if (next < INT16_MIN || next > INT16_MAX) throw Damaged{"a field of no possible number"};
  id = static_cast<int>(next);
  return type;
}

std::uint64_t Reader::begin_list(Type& of) {
  const unsigned head = byte();
  of = type_of(head & 15);
  const std::uint64_t n = head >> 4 == 15 ? varint() : head >> 4;
  expect(n == 0 || of != Type::stop);  // without a byte of its own it would go on for ever
  return n;
}

std::int64_t Reader::integer(Type type) {
  expect(type == Type::i16 || type == Type::i32 || type == Type::i64 || type == Type::byte);
  return type == Type::byte ? static_cast<std::int8_t>(byte()) : zigzag();
}

bool Reader::flag(Type type) {
  expect(type == Type::yes || type == Type::no);
  return type == Type::yes;
}

std::string_view Reader::text(Type type) {
  expect(type == Type::binary);
  return take(varint());
}

void Reader::pass(Type type) {
  const Depth depth(*this);
  // The truth of a field stands in its type, that of an item in a byte.
  const auto pass_item = [this](Type of) {
    of == Type::yes || of == Type::no ? static_cast<void>(byte()) : pass(of);
  };
  Type key{}, value{};
  switch (type) {
    case Type::stop:
    case Type::yes:
    case Type::no: return;
    case Type::byte: byte(); return;
    case Type::i16:
    case Type::i32:
    case Type::i64: varint(); return;
    case Type::real: take(8); return;
    case Type::binary: take(varint()); return;
    case Type::list:
    case Type::set:
      for (std::uint64_t n = begin_list(value); n > 0; --n) pass_item(value);
      return;
    case Type::map:
      if (std::uint64_t n = varint(); n > 0) {
        const unsigned types = byte();
        key = type_of(types >> 4), value = type_of(types & 15);
        expect(key != Type::stop && value != Type::stop);
        for (; n > 0; --n) pass_item(key), pass_item(value);
      }
      return;
    case Type::structure: fields(type, [](int, Type) { return false; });
  }
}

}  // namespace pesuite::data::thrift
