// What an earlier report of the same run left beside the files of this one.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace pesuite {

// Removes from `folder` every NAME.EXTENSION of the names that are not `kept`. Only names of which
// all files of `marks` stand there are taken for a report's: what else somebody put beside them
// stays.
void remove_earlier(const std::filesystem::path& folder, const std::set<std::string>& kept,
                    const std::vector<std::string>& marks,
                    const std::vector<std::string>& extensions);

}  // namespace pesuite
