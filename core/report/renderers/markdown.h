// Reports as Markdown, for GitHub and editors.
#pragma once

#include <set>
#include <string>

#include "report/document.h"

namespace pesuite {

std::string markdown(const Text&);
std::string markdown(const Table&);
// `drawn` names the figures of which there is a picture in figures/.
std::string markdown(const Document&, const std::set<std::string>& drawn);

}  // namespace pesuite
