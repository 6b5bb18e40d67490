// The published JSON schemas, in those parts that follow from the program's own lists of fields and
// protocols.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace pesuite {

const std::vector<std::string>& made_schemas();  // names of the files
// A schema with these parts brought up to date; the others stay as they are written.
Json made_schema(const std::string& name, Json schema);
// The text of such a file: lines of at most 120 characters where that is possible.
std::string schema_text(const Json&);

}  // namespace pesuite
