// plugin golden: a folder of golden vectors, a line a case.
#include <fmt/format.h>

#include <cstdio>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "cli/catalog.h"
#include "cli/plugin.h"
#include "cli/steps.h"
#include "golden/golden.h"

namespace pesuite::cli {

namespace {

using golden::Status;

constexpr std::string_view status_name(Status s) {
  return s == Status::passed ? "passed" : s == Status::failed ? "failed" : "skipped";
}

Json to_json(const golden::Outcome& o) {
  Json j = {{"name", o.name},
            {"kind", o.kind},
            {"backend", o.backend},
            {"status", status_name(o.status)}};
  if (!o.encoding.empty()) j["encoding"] = o.encoding;
  if (!o.reason.empty()) j["reason"] = o.reason;
  if (!o.note.empty()) j["note"] = o.note;
  if (!o.worst.output.empty())
    j["worst"] = {
        {"output", o.worst.output}, {"error", o.worst.error}, {"tolerance", o.worst.tolerance}};
  return j;
}

void print_line(const golden::Outcome& o) {
  std::string text;
  if (!o.worst.output.empty())
    text = fmt::format("worst {:.1e} of {:.1e} in {}", o.worst.error, o.worst.tolerance,
                       o.worst.output);
  for (const std::string& more : {o.reason, o.note})
    if (!more.empty()) text += (text.empty() ? "" : "; ") + more;
  fmt::print("{:<40}{:<11}{:<9}{}\n", o.name, o.backend, status_name(o.status), text);
  std::fflush(stdout);
}

std::vector<std::unique_ptr<Backend>> backends_of(const std::string& chosen) {
  std::vector<std::unique_ptr<Backend>> backends;
  for (const char* name : {"reference", "cpu"})
    if (chosen == "both" || chosen == name) backends.push_back(open_backend(name, {}));
  if (backends.empty()) backends.push_back(open_backend(chosen, {}));
  return backends;
}

golden::Outcome unreadable(const fs::path& file, const Backend& backend,
                           const std::string& reason) {
  golden::Outcome o;
  o.name = file.stem();
  o.backend = backend.name();
  o.status = Status::failed;
  o.reason = reason;
  return o;
}

}  // namespace

int plugin_golden(const std::vector<std::string>& words) {
  Arguments a(
      "plugin golden FOLDER",
      "Runs encodings on the golden vectors of a folder, values and gradients, and says how "
      "far they are off.\nHow a vector becomes an expression stands in NAME.golden.toml "
      "beside each library (docs/plugins.md).\nExit code 0, or 4 when a case failed.");
  a.flags()("backend", po::value<std::string>()->default_value("both"),
            "reference (double, to the vectors' own tolerance), cpu (fp32), or both")(
      "filter", po::value<std::vector<std::string>>()->composing(),
      "only vectors whose names match, e.g. '*__attn*'; may be given again")(
      "failed", po::bool_switch(), "lines for cases that failed only")(
      "json", po::bool_switch(), "one JSON object instead of lines");
  a.positional("folder");
  if (!a.parse(words)) return 0;
  a.require("folder", "a folder of vectors");
  const Catalog catalog = catalog_of(a);
  const golden::Rules rules = golden::Rules::beside(catalog);
  const auto backends = backends_of(a.text("backend"));
  const std::vector<std::string> filters = a.texts("filter");
  std::size_t counts[3] = {};
  Json cases = Json::array();
  std::optional<Steps> steps;  // where no line a case says how far it is
  if (a.flag("json") || a.flag("failed")) steps.emplace("reading vectors");
  for (const fs::path& file : golden::vector_files(a.text("folder"))) {
    bool wanted = filters.empty();
    for (const std::string& f : filters) wanted |= glob_match(f, file.stem().string());
    if (!wanted) continue;
    if (steps) steps->at("checking " + file.stem().string());
    for (const auto& backend : backends) {
      golden::Outcome o;
      try {
        o = golden::check(golden::Vector::read(file), rules, catalog, *backend);
      } catch (const Error& e) {
        o = unreadable(file, *backend, e.what());
      }
      ++counts[static_cast<std::size_t>(o.status)];
      if (a.flag("json"))
        cases.push_back(to_json(o));
      else if (!a.flag("failed") || o.status == Status::failed)
        print_line(o);
    }
  }
  steps.reset();
  if (counts[0] + counts[1] + counts[2] == 0)
    fail(Exit::usage, "no vector of {} matches --filter {}", a.text("folder"), join(filters, " "));
  if (a.flag("json"))
    fmt::print("{}\n", Json({{"schema", 1},
                             {"passed", counts[0]},
                             {"failed", counts[1]},
                             {"skipped", counts[2]},
                             {"cases", cases}})
                           .dump(1));
  else
    fmt::print("{} passed, {} failed, {} skipped\n", counts[0], counts[1], counts[2]);
  return counts[1] > 0 ? static_cast<int>(Exit::plugin) : 0;
}

}  // namespace pesuite::cli
