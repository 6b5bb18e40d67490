// docs: what of the documentation is made from descriptors and from kept runs.
#include <fmt/format.h>

#include <functional>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "cell/schema.h"
#include "cli/arguments.h"
#include "cli/guide_topics.h"
#include "cli/measured.h"
#include "plugin/card.h"

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

// Calls body with the card of each encoding, family by family.
void each_encoding(const Catalog& catalog, const std::function<void(const Json&)>& body) {
  for (const Offer& offer : catalog.offers)
    for (const Json& e : offer.manifest().encodings) {
      const Json card = catalog.encoding_card(card_text(e, "name"));
      if (card["library"]["file"] == offer.path().string()) body(card);
    }
}

std::string table_of_encodings(const Catalog& catalog) {
  std::vector<std::vector<std::string>> rows = {
      {"encoding", "taxonomy", "acts on", "cost", "library", "paper"}};
  each_encoding(catalog, [&](const Json& card) {
    const std::string places = card_text(card, "acts_on");
    rows.push_back({fmt::format("[`{0}`](encodings/{0}.md)", card_text(card, "name")),
                    card_text(card, "taxonomy"), places.empty() ? "nothing" : places,
                    card_text(card, "cost"), card_text(card["library"], "name"),
                    card_text(card, "paper")});
  });
  return markdown_text_table(rows);
}

std::string index_of_encodings(const Catalog& catalog) {
  std::string out, family;
  each_encoding(catalog, [&](const Json& card) {
    const std::string library = card_text(card["library"], "name");
    if (family != library) {
      out += fmt::format("{}*{}*\n\n", out.empty() ? "" : "\n", library);
      family = library;
    }
    out += fmt::format("* [{0}](encodings/{0}.md): {1}.\n", card_text(card, "name"),
                       card_text(card, "summary"));
  });
  return out;
}

// Brings files up to date, or says which are not.
class Pages {
 public:
  Pages(fs::path root, bool check) : root_(std::move(root)), check_(check) {}
  void bring(const fs::path& file, const std::string& made) {
    const fs::path path = root_ / file;
    if (fs::exists(path) && read_file(path) == made) return;
    ++stale_;
    fmt::print("{} {}\n", check_ ? "stale" : "written", path.string());
    if (!check_) write_file_atomic(path, made);
  }
  // Marks of the page with what belongs between them; what else is to be done to it.
  using Parts = std::vector<std::pair<std::string, std::string>>;
  using More = std::function<std::string(const std::string&)>;
  void fill(const fs::path& file, const Parts& parts, const More& more = {}) {
    std::string page = read_file(root_ / file);
    for (const auto& [mark, content] : parts) page = filled(page, mark, content, root_ / file);
    bring(file, more ? more(page) : page);
  }
  void bring_schema(const std::string& name) {
    const fs::path file = fs::path("core") / "schemas" / name;
    const std::string was = read_file(root_ / file);
    const Json had = Json::parse(was), made = made_schema(name, had);
    bring(file, made == had ? was : schema_text(made));
  }
  std::size_t stale() const { return stale_; }

 private:
  fs::path root_;
  bool check_;
  std::size_t stale_ = 0;
};

}  // namespace

int docs_verb(const std::vector<std::string>& words) {
  Arguments a("docs ROOT [--check]",
              "Writes those parts of the documentation below ROOT, the repository, that are made "
              "from the libraries' descriptors:\nthe cards in docs/encodings, the lists of "
              "encodings in docs/encodings.md and docs/README.md, and docs/guide.md; those that\n"
              "are made from the runs kept in docs/results: docs/measured.json, its parts of pages "
              "and the verdicts in docs/results.md;\nand those of the schemas in core/schemas that "
              "follow from the program's lists of settings.");
  a.flags()("check", po::bool_switch(), "only say which files are not up to date");
  a.positional("root");
  if (!a.parse(words)) return 0;
  a.require("root", "the repository's folder");
  const Catalog catalog = open_catalog(plugin_search_path(a.plugin_path()));
  Pages pages(a.text("root"), a.flag("check"));
  const fs::path docs = "docs";
  std::vector<KeptRun> runs = kept_runs(fs::path(a.text("root")) / docs / "results");
  const Measured measured = measured_in(runs);
  pages.bring(docs / "measured.json", measured_text(measured));
  each_encoding(catalog, [&](const Json& card) {
    const std::string name = card_text(card, "name");
    pages.fill(docs / "encodings" / (name + ".md"),
               {{"card", card_markdown(card)}, {"measured", measured_markdown(card, measured)}});
  });
  std::vector<std::pair<std::string, std::string>> claims;
  for (const KeptRun& r : runs)
    if (const std::string table = claims_table(measured, r.data.folder); !table.empty())
      claims.emplace_back("claims " + r.data.folder, table);
  pages.fill(docs / "results.md", claims,
             [&](const std::string& page) { return with_verdicts(page, runs); });
  pages.fill(docs / "encodings.md", {{"encodings", table_of_encodings(catalog)}});
  pages.fill(docs / "README.md", {{"encodings", index_of_encodings(catalog)}});
  pages.bring(docs / "guide.md", guide_page(catalog, measured));
  for (const std::string& name : made_schemas()) pages.bring_schema(name);
  if (a.flag("check") && pages.stale() > 0)
    fail(Exit::data, "{} differ from libraries or kept runs; 'pesuite docs {}' writes them",
         counted(pages.stale(), "file"), a.text("root"));
  return 0;
}

}  // namespace pesuite::cli
