// Apache Thrift's compact protocol, as far as the metadata of Parquet needs it: structs are read
// field by field, and what nobody asks for is passed over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pesuite::data::thrift {

struct Ends {};  // thrown where the bytes end before the value does
struct Damaged {
  const char* what;
};

enum class Type : std::uint8_t {
  stop,
  yes,
  no,
  byte,
  i16,
  i32,
  i64,
  real,
  binary,
  list,
  set,
  map,
  structure
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  std::size_t at() const { return at_; }

  // Calls `field(id, type)` for each field of a struct; it reads the value, or says false and the
  // value is passed over.
  template <class Field>
  void fields(Type type, Field&& field) {
    expect(type == Type::structure);
    const Depth depth(*this);
    for (int id = 0;;) {
      const Type of = begin_field(id);
      if (of == Type::stop) return;
      if (!field(id, of)) pass(of);
    }
  }
  // Calls `item(type)` for each item of a list, which reads it.
  template <class Item>
  void items(Type type, Item&& item) {
    expect(type == Type::list);
    Type of{};
    for (std::uint64_t n = begin_list(of); n > 0; --n) item(of);
  }
  std::int64_t integer(Type);
  bool flag(Type);
  std::string_view text(Type);

 private:
  struct Depth {
    explicit Depth(Reader& r);
    ~Depth() { --reader.depth_; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;
    Reader& reader;
  };
  static void expect(bool holds);
  std::uint8_t byte();
  std::uint64_t varint();
  std::int64_t zigzag();
  std::string_view take(std::uint64_t n);
  Type begin_field(int& id);
  std::uint64_t begin_list(Type& of);
  void pass(Type);

  std::string_view bytes_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace pesuite::data::thrift
