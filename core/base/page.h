// A page of HTML in the dress that reports, comparisons and histories share: complete in itself,
// light or dark, printable. It asks nobody for anything.
#pragma once

#include <string>

namespace pesuite {

struct PageParts {
  std::string title;  // plain text
  std::string style;  // rules of CSS of its own, after those of all pages
  std::string index;  // <li>s of links: the sections of this page, other pages
  std::string bar;    // buttons that switch something on and off everywhere
  std::string body;   // the rest; tables in <div class="table">, each with a <thead> and a <tbody>
};

std::string html_page(const PageParts&);
const char* page_style();  // rules of CSS

}  // namespace pesuite
