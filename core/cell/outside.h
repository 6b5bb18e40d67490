// What a cell's numbers follow from and its configuration only names: the libraries of its plugins,
// and the files that options name. Their digests stand in the cell's identity.
#pragma once

#include <map>
#include <string>

#include "cell/cell.h"

namespace pesuite {

using Identity = std::map<std::string, std::string>;

// Version, library and build of an encoding or a task; "file PATH" of each file that an option of
// type text names, where `files`.
Identity identity_of_encoding(const Catalog&, const Sum&, const std::string& name);
Identity identity_of_task(const Catalog&, const Expression&, bool files);

// Of the folder that a model's weights are in: its description and the files with tensors.
Identity identity_of_weights(const std::string& folder);

// Error (data) when something is not what it was when the cell was planned: the numbers of the new
// would be filed under the old. To be called when what is read has been read, and again before what
// was computed is written.
void check_unchanged(const Catalog&, const CellConfig&, const std::string& encoding);
void check_unchanged(const Catalog&, const Task&, const std::string& text, const Identity& planned);
void check_unchanged_weights(const CellConfig&);

}  // namespace pesuite
