// The records of a run one after the other, as they stand in their lines: a million of them need
// neither the memory nor the time of as many values.
#pragma once

#include <simdjson.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace pesuite {

using RecordView = simdjson::dom::element;  // until the next one is read

// Those of read_records(), in the same order; `notes` grows by the lines that could not be read.
// Error (data) where the file cannot be read.
void each_record(const std::filesystem::path&, std::vector<std::string>& notes,
                 const std::function<void(const RecordView&)>& body);

}  // namespace pesuite
