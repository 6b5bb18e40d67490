// The documentation text of Debian packages.
#pragma once

#include "data/dataset.h"

namespace pesuite::data {

// A part for each package, those that a package without text depends on (linux-doc) instead of it.
// Packages are fetched with apt-get into `downloads` and unpacked there; .deb files may be named,
// too. Error (data) with the reason where that fails. What counts as text: .rst, .txt, .md and
// .pod, packed or not, and .html where a document has no other form; no licences, indices, other
// languages than English, and nothing under 200 bytes or twice.
std::vector<Part> debian_parts(const std::vector<std::string>& names, const fs::path& downloads);

// Below an unpacked package. With `note` of what was left out.
std::vector<fs::path> documentation_files(const fs::path& folder);
// As plain text: HTML without its marks, reStructuredText without the lines that are for machines.
std::string documentation_text(const fs::path& file);
// The licences that a package's copyright file names.
std::string licence_note(const std::string& copyright);

}  // namespace pesuite::data
