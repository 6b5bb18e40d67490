#include "cli/list_parts.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/text.h"
#include "data/published.h"
#include "run/doctor.h"

namespace pesuite::cli {

namespace {

// All of them as JSON, or as a table with what to do with them below.
int show(const Arguments& a, const Json& all, const std::vector<std::vector<std::string>>& rows,
         const char* how) {
  if (a.flag("json"))
    fmt::print("{}\n", all.dump(1));
  else
    fmt::print("{}\n{}\n", plain_table(rows), how);
  return 0;
}

}  // namespace

int list_backends(const Arguments& a) {
  Json all = Json::array();
  std::vector<std::vector<std::string>> rows = {{"backend", "precisions here", "about"}};
  for (const BackendFound& b : examine_backends()) {
    all.push_back({{"name", b.name}, {"precisions", b.precisions}, {"about", b.text}});
    rows.push_back({b.name, b.precisions.empty() ? "none" : join(b.precisions, ", "), b.text});
  }
  return show(a, all, rows,
              "'pesuite run SUITE --device NAME' chooses one, --set defaults.precision=bf16 its "
              "precision.");
}

int list_data(const Arguments& a) {
  Json all = Json::array();
  std::vector<std::vector<std::string>> rows = {{"data", "licence", "files", "from"}};
  for (const data::PublishedSet& s : data::published_sets()) {
    all.push_back(
        {{"name", s.name}, {"licence", s.licence}, {"files", s.files}, {"from", s.origin}});
    rows.push_back({s.name, s.licence, s.files, s.origin});
  }
  return show(a, all, rows,
              "'pesuite data import NAME --output FOLDER' fetches one. It also takes files, Debian "
              "packages and\nhub:OWNER/NAME, any data set of the Hugging Face hub.");
}

}  // namespace pesuite::cli
