// Texts of one column of a Parquet file, row by row, page after page.
// https://parquet.apache.org/docs/file-format/
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/file.h"

namespace pesuite::data {

bool is_parquet(const fs::path&);  // by its name

class ParquetTexts {
 public:
  // `column`: its name, behind those of the groups it stands in: "text", "meta.title". Goes on at
  // `first_row`. Error (data) with the file's name for what is damaged, encrypted, or has no such
  // column of texts, with the names of those it has.
  ParquetTexts(const fs::path&, const std::string& column, std::uint64_t first_row = 0);
  ~ParquetTexts();
  // False at the end. Error (data) with the row for what is damaged, packed in a way that is not
  // read (LZO, LZ4 in Hadoop's frames), or null.
  bool next(std::string& text);
  std::uint64_t row() const;          // of the next text
  std::uint64_t packed_read() const;  // bytes of the file so far, other columns included

 private:
  class Column;
  std::unique_ptr<Column> column_;
};

}  // namespace pesuite::data
