// Tables that other programs write: CSV, TSV, JSON.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace pesuite {

namespace fs = std::filesystem;

struct ForeignTable {
  struct Row {
    std::size_t line = 0;                       // of the file; of one JSON text, its number from 1
    std::map<std::string, std::string> fields;  // by column; none where it is empty
  };
  std::vector<std::string> columns;  // in their order
  std::vector<Row> rows;
};

// .csv and .tsv with a header (separated by what occurs most in it: comma, semicolon or tab; RFC
// 4180's quotes), .jsonl, or .json, an array of objects; an object in an object gives columns
// "a.b". Error (data) with the line.
ForeignTable read_foreign_table(const fs::path&);
bool is_foreign_table(const fs::path&);  // by its name

}  // namespace pesuite
