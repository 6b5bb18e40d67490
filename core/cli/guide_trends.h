// Where research on encodings goes: the directions that its papers take, and what is open.
#pragma once

#include <string>

#include "plugin/measured.h"

namespace pesuite::cli {

// As Markdown that reads well on a terminal; lists of encodings come from the cards, and what was
// measured of them from kept runs.
std::string trends_text(const Catalog&, const Measured&);

}  // namespace pesuite::cli
