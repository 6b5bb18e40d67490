// Reports as Markdown, for GitHub and editors.
#pragma once

#include <set>
#include <string>

#include "report/document.h"

namespace pesuite {

std::string markdown(const Text&);
std::string markdown(const Table&);
// `drawn` names the figures of which there is a picture in figures/. A section whose evidence
// stands in another file ends with a link to it, where `evidence` names that file.
std::string markdown(const Document&, const std::set<std::string>& drawn);

struct MarkdownPages {
  std::string page, evidence;  // the first links the second
};
MarkdownPages markdown_pages(const Document&, const std::set<std::string>& drawn,
                             const std::string& evidence_file);

}  // namespace pesuite
