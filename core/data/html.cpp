#include "data/html.h"

#ifdef PESUITE_HAS_GUMBO
#include <gumbo.h>
#endif

#include <array>

#include "base/error.h"

namespace pesuite::data {

#ifdef PESUITE_HAS_GUMBO

namespace {

std::string_view attribute(const GumboElement& e, const char* name) {
  const GumboAttribute* a = gumbo_get_attribute(&e.attributes, name);
  return a == nullptr ? std::string_view() : std::string_view(a->value);
}

// What stands around the text on every page of a manual.
bool is_furniture(const GumboElement& e) {
  switch (e.tag) {
    case GUMBO_TAG_SCRIPT:
    case GUMBO_TAG_STYLE:
    case GUMBO_TAG_NAV:
    case GUMBO_TAG_HEADER:
    case GUMBO_TAG_FOOTER:
    case GUMBO_TAG_HEAD:
    case GUMBO_TAG_SVG:
    case GUMBO_TAG_NOSCRIPT:
    case GUMBO_TAG_BUTTON:
    case GUMBO_TAG_FORM: return true;
    default: break;
  }
  if (attribute(e, "role") == "navigation" || attribute(e, "role") == "search") return true;
  constexpr std::array names = {"nav",    "footer", "sidebar",    "related", "toc", "menu",
                                "header", "banner", "breadcrumb", "langs",   "up",  "path"};
  for (const char* key : {"class", "id"}) {
    const std::string_view value = attribute(e, key);
    const bool heading = value.find("headerlink") != std::string_view::npos;
    if (heading) return true;
    for (const std::string_view name : names)
      if (value == name || value.starts_with(std::string(name) + " ") ||
          (name.size() > 4 && value.find(name) != std::string_view::npos))
        return true;
  }
  return false;
}

bool breaks_lines(GumboTag tag) {
  switch (tag) {
    case GUMBO_TAG_P:
    case GUMBO_TAG_DIV:
    case GUMBO_TAG_SECTION:
    case GUMBO_TAG_H1:
    case GUMBO_TAG_H2:
    case GUMBO_TAG_H3:
    case GUMBO_TAG_H4:
    case GUMBO_TAG_H5:
    case GUMBO_TAG_H6:
    case GUMBO_TAG_UL:
    case GUMBO_TAG_OL:
    case GUMBO_TAG_DL:
    case GUMBO_TAG_PRE:
    case GUMBO_TAG_TABLE:
    case GUMBO_TAG_BLOCKQUOTE: return true;
    default: return false;
  }
}

bool begins_a_line(GumboTag tag) {
  return tag == GUMBO_TAG_LI || tag == GUMBO_TAG_DT || tag == GUMBO_TAG_DD || tag == GUMBO_TAG_TR ||
         tag == GUMBO_TAG_BR;
}

class Writer {
 public:
  std::string out;

  void node(const GumboNode& n, bool preformatted, int depth) {
    if (depth > 400) return;  // hostile pages
    if (n.type == GUMBO_NODE_TEXT || n.type == GUMBO_NODE_WHITESPACE || n.type == GUMBO_NODE_CDATA)
      return text(n.v.text.text, preformatted);
    if (n.type != GUMBO_NODE_ELEMENT || is_furniture(n.v.element)) return;
    const GumboElement& e = n.v.element;
    const bool paragraph = breaks_lines(e.tag);
    if (paragraph) blank_line();
    if (begins_a_line(e.tag)) new_line();
    if (e.tag == GUMBO_TAG_LI) out += "* ";
    if ((e.tag == GUMBO_TAG_TD || e.tag == GUMBO_TAG_TH) && !out.ends_with('\n')) out += "  ";
    const bool pre = preformatted || e.tag == GUMBO_TAG_PRE;
    for (unsigned i = 0; i < e.children.length; ++i)
      node(*static_cast<const GumboNode*>(e.children.data[i]), pre, depth + 1);
    if (paragraph) blank_line();
  }

 private:
  void trim_spaces() {
    while (!out.empty() && out.back() == ' ') out.pop_back();
  }
  void new_line() {
    trim_spaces();
    if (!out.empty() && out.back() != '\n') out += '\n';
  }
  void blank_line() {
    new_line();
    if (!out.empty() && !out.ends_with("\n\n")) out += '\n';
  }
  void text(std::string_view s, bool preformatted) {
    if (preformatted) {
      out += s;
      return;
    }
    for (const char c : s) {
      const bool space = c == ' ' || (c >= '\t' && c <= '\r');
      if (!space)
        out += c;
      else if (!out.empty() && out.back() != ' ' && out.back() != '\n')
        out += ' ';
    }
  }
};

// The part that the page itself calls its main one.
const GumboNode* main_part(const GumboNode* n, int depth = 0) {
  if (n->type != GUMBO_NODE_ELEMENT || depth > 40) return nullptr;
  const GumboElement& e = n->v.element;
  if (e.tag == GUMBO_TAG_MAIN || e.tag == GUMBO_TAG_ARTICLE || attribute(e, "role") == "main")
    return n;
  for (unsigned i = 0; i < e.children.length; ++i)
    if (const GumboNode* found =
            main_part(static_cast<const GumboNode*>(e.children.data[i]), depth + 1))
      return found;
  return nullptr;
}

}  // namespace

bool reads_html() {
  return true;
}

std::string text_of_html(std::string_view page) {
  GumboOptions options = kGumboDefaultOptions;
  options.max_errors = 0;
  GumboOutput* parsed = gumbo_parse_with_options(&options, page.data(), page.size());
  Writer writer;
  const GumboNode* main = main_part(parsed->root);
  writer.node(main != nullptr ? *main : *parsed->root, false, 0);
  gumbo_destroy_output(&options, parsed);
  return std::move(writer.out);
}

#else

bool reads_html() {
  return false;
}
std::string text_of_html(std::string_view) {
  fail(
      Exit::data,
      "reading HTML needs Gumbo, which this build does not have; install libgumbo-dev (Debian) and "
      "build again");
}

#endif

}  // namespace pesuite::data
