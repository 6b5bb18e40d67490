#include "cli/catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/error.h"
#include "base/text.h"

namespace pesuite::cli {

Catalog catalog_of(const Arguments& a) {
  Catalog catalog = open_catalog(plugin_search_path(a.plugin_path()));
  for (const std::string& p : catalog.problems) fmt::print(stderr, "note: {}\n", printable(p));
  return catalog;
}

std::vector<SuiteId> suite_ids(const Suite& s) {
  std::vector<SuiteId> out;
  for (const SuiteEncoding& e : s.encodings)
    if (e.id != e.expression) out.push_back({"encoding", e.id, e.expression, {s.name}});
  for (const SuiteTask& t : s.tasks)
    if (t.id != t.expression.name) out.push_back({"task", t.id, to_text(t.expression), {s.name}});
  for (const SuiteModel& m : s.models)
    if (m.id != m.preset) out.push_back({"model", m.id, m.preset, {s.name}});
  return out;
}

std::vector<SuiteId> suite_ids() {
  std::vector<SuiteId> out;
  for (const fs::path& file : known_suites()) {
    std::vector<SuiteId> here;
    try {
      here = suite_ids(load_suite(file));
    } catch (const Error&) {
      continue;  // 'list suite' tells of it
    }
    for (SuiteId& id : here) {
      const auto same = [&](const SuiteId& o) {
        return o.kind == id.kind && o.id == id.id && o.means == id.means;
      };
      const auto it = std::find_if(out.begin(), out.end(), same);
      if (it == out.end())
        out.push_back(std::move(id));
      else
        it->suites.push_back(id.suites[0]);
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const SuiteId& a, const SuiteId& b) {
    return std::tie(a.kind, a.id) < std::tie(b.kind, b.id);
  });
  return out;
}

}  // namespace pesuite::cli
