// A document as one page that asks nobody for anything: style, script and drawings are in it. What a
// reader needs is open, the evidence folded; without scripts it is complete.
#pragma once

#include <string>

#include "report/renderer.h"

namespace pesuite {

std::string html(const Document&, const Pictures&);

}  // namespace pesuite
