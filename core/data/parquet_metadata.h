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

struct Leaf {          // a column
  std::string name;    // behind those of the groups it stands in: "meta.title"
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
  std::vector<Leaf> leaves;
  std::vector<Group> groups;
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
