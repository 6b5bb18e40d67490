// What a Parquet file says of itself, as far as reading a column of texts needs it.
// https://parquet.apache.org/docs/file-format/metadata/
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/thrift.h"

namespace pesuite::data::parquet {

struct Node {  // a column, or a group of them
  std::string name;
  std::size_t above = 0;  // the group it stands in; the first node is the root, above itself
  std::int64_t type = -1, repetition = 0, children = 0, converted = -1;
};

struct Leaf {  // a column
  std::size_t node = 0;
  bool bytes = false;  // of texts, as far as the format tells
  bool list = false;
  int levels = 0;  // how many of the groups it stands in, and itself, may be missing
};

struct Chunk {                                                   // of a column in a group of rows
  std::int64_t codec = 0, values = 0, data = 0, dictionary = 0;  // places in the file
  bool here = false, encrypted = false;
};

struct Group {
  std::int64_t rows = 0;
  std::vector<Chunk> chunks;  // a column each
};

struct Footer {
  std::vector<Node> nodes;
  std::vector<Leaf> leaves;
  std::vector<Group> groups;

  // Its name behind those of the groups it stands in: "meta.title". A small file can name much, so
  // names are put together where they are wanted.
  std::string name_of(const Leaf&) const;
  std::size_t name_size(const Leaf&) const;
};

struct Page {
  enum Kind { data = 0, dictionary = 2, data_2 = 3 };
  std::int64_t kind = -1, size = -1, packed = -1, values = -1, encoding = -1;
  std::int64_t level_encoding = 3, level_bytes = 0, list_level_bytes = 0;
  std::optional<std::uint32_t> crc;
  bool is_packed = true;
};

// Both throw Damaged, of here or of Thrift, or thrift::Ends.
Footer footer_of(std::string_view bytes);
Page page_of(thrift::Reader&);

}  // namespace pesuite::data::parquet
