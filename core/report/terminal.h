// Reports as plain lines of at most about 100 columns.
#pragma once

#include <string>

#include "report/document.h"

namespace pesuite {

inline constexpr std::size_t terminal_width = 100;

// Figures are left out, and columns of a table from its middle where it is too wide.
std::string terminal(const Document&);
std::string terminal(const Table&);

}  // namespace pesuite
