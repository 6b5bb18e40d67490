// docs: what of the documentation is made from descriptors.
#include <fmt/format.h>

#include <functional>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "cli/guide_topics.h"
#include "model/card.h"

namespace pesuite::cli {

namespace {

// `page` with `content` between the lines <!-- mark --> and <!-- /mark -->.
std::string filled(const std::string& page, const std::string& mark, const std::string& content,
                   const fs::path& file) {
  const std::string first = fmt::format("<!-- {} -->\n", mark),
                    last = fmt::format("<!-- /{} -->", mark);
  const std::size_t from = page.find(first), to = page.find(last);
  if (from == std::string::npos || to == std::string::npos || to < from)
    fail(Exit::data,
         "{}: lacks the lines <!-- {} --> and <!-- /{} -->; what stands between them "
         "is written here",
         file.string(), mark, mark);
  return page.substr(0, from + first.size()) + content + page.substr(to);
}

// Calls body for each encoding, family by family.
void each_encoding(const Catalog& catalog,
                   const std::function<void(const pes_encoding&, const Library&)>& body) {
  for (const Library& library : catalog.libraries)
    for (const pes_encoding* e : library.encodings())
      if (catalog.encoding(e->card->name).descriptor == e) body(*e, library);
}

std::string table_of_encodings(const Catalog& catalog) {
  std::vector<std::vector<std::string>> rows = {
      {"encoding", "taxonomy", "acts on", "cost", "library", "paper"}};
  each_encoding(catalog, [&](const pes_encoding& e, const Library& library) {
    const pes_card& c = *e.card;
    const std::string places = join(places_of(e), ", ");
    rows.push_back({fmt::format("[`{0}`](docs/encodings/{0}.md)", c.name), c.taxonomy,
                    places.empty() ? "nothing" : places, cost_of(c), library.entry().name,
                    c.paper == nullptr ? "" : c.paper});
  });
  return markdown_text_table(rows);
}

std::string index_of_encodings(const Catalog& catalog) {
  std::string out, family;
  each_encoding(catalog, [&](const pes_encoding& e, const Library& library) {
    if (family != library.entry().name) {
      out += fmt::format("{}*{}*\n\n", out.empty() ? "" : "\n", library.entry().name);
      family = library.entry().name;
    }
    out += fmt::format("* [{0}](encodings/{0}.md): {1}.\n", e.card->name, e.card->summary);
  });
  return out;
}

}  // namespace

int docs_verb(const std::vector<std::string>& words) {
  Arguments a("docs ROOT [--check]",
              "Writes those parts of the documentation below ROOT, the repository, that are made "
              "from the libraries' descriptors:\nthe cards in docs/encodings, the lists of "
              "encodings in README.md and docs/README.md, and docs/guide.md.");
  a.flags()("check", po::bool_switch(), "only say which files are not what the libraries say");
  a.positional("root");
  if (!a.parse(words)) return 0;
  a.require("root", "the repository's folder");
  const fs::path root = a.text("root");
  const Catalog catalog = open_catalog(plugin_search_path(a.plugin_path()));
  int stale = 0;
  const auto bring = [&](const fs::path& file, const std::string& made, const std::string& was) {
    if (made == was) return;
    ++stale;
    fmt::print("{} {}\n", a.flag("check") ? "stale" : "written", file.string());
    if (!a.flag("check")) write_file_atomic(file, made);
  };
  const auto fill = [&](const fs::path& file, const char* mark, const std::string& content) {
    const std::string page = read_file(file);
    bring(file, filled(page, mark, content, file), page);
  };
  each_encoding(catalog, [&](const pes_encoding& e, const Library&) {
    fill(root / "docs" / "encodings" / (std::string(e.card->name) + ".md"), "card",
         card_markdown(e));
  });
  fill(root / "README.md", "encodings", table_of_encodings(catalog));
  fill(root / "docs" / "README.md", "encodings", index_of_encodings(catalog));
  const fs::path guide = root / "docs" / "guide.md";
  bring(guide, guide_page(catalog), fs::exists(guide) ? read_file(guide) : "");
  if (a.flag("check") && stale > 0)
    fail(Exit::data, "{} differ from the libraries; 'pesuite docs {}' writes them",
         counted(static_cast<std::size_t>(stale), "file"), a.text("root"));
  return 0;
}

}  // namespace pesuite::cli
