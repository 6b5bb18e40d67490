// Reports as Markdown, for GitHub and editors.
#pragma once

#include <string>

#include "report/renderer.h"

namespace pesuite {

std::string markdown(const Text&);
std::string markdown(const Table&);
// `drawn`: the figures of which there is a picture in figures/.
std::string markdown(const Document&, const Pictures& drawn);

}  // namespace pesuite
