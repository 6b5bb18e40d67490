// The guide's topics, whose lists of encodings come from the cards and what was measured.
#pragma once

#include <string>

#include "plugin/guide.h"

namespace pesuite::cli {

// "taxonomy", "extension", "pitfalls" or "trends", as Markdown that reads well on a terminal. Error
// (usage) for others.
std::string guide_topic(const std::string& topic, const Catalog&, const Question&, const Measured&);
// All of the guide: docs/guide.md.
std::string guide_page(const Catalog&, const Measured&);

}  // namespace pesuite::cli
