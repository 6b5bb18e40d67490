#include "base/page.h"

#include <fmt/format.h>

#include "base/text.h"

namespace pesuite {

namespace {

constexpr const char* style_of_all =
#include "page_style.inc"
    ;
constexpr const char* script_of_all =
#include "page_script.inc"
    ;

}  // namespace

const char* page_style() {
  return style_of_all;
}

std::string html_page(const PageParts& p) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action "
      "'none'\">\n"
      "<meta name=\"generator\" content=\"pesuite\">\n<title>{} · pesuite</title>\n"
      "<style>\n{}{}</style>\n"
      "</head>\n<body>\n<a class=\"skip\" href=\"#main\">to the page</a>\n"
      "<nav aria-label=\"sections\"><ol>\n{}</ol></nav>\n"
      "<section class=\"bar\" aria-label=\"encodings\" hidden>\n{}"
      "<span class=\"all\"></span></section>\n<main "
      "id=\"main\">\n{}</main>\n<script>\n{}</script>\n</body>\n</html>\n",
      xml_text(p.title), style_of_all, p.style, p.index, p.bar, p.body, script_of_all);
}

}  // namespace pesuite
