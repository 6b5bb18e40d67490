// merge and gc: results of several machines made one, and what of them nobody needs.
#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "run/merge.h"

namespace pesuite::cli {

int merge_verb(const std::vector<std::string>& words) {
  Arguments a("merge RESULTS... [flags]",
              "Takes the cells and runs of other folders of results into this one. Results that "
              "both have are compared number\nby number: what is here stays, what differs is "
              "reported with both numbers, and the exit code is 8. Then\n'pesuite run SUITE' "
              "computes what is still missing, and reports.");
  a.flags()("out", po::value<std::string>()->default_value("results"),
            "folder of the results, which takes up the others");
  a.positional("results", -1);
  if (!a.parse(words)) return 0;
  a.require("results", "a folder to merge");
  std::size_t different = 0;
  for (const std::string& from : a.texts("results")) {
    const MergeResult r = merge_results(from, a.text("out"));
    fmt::print("{}: {} new with {}, {} new; {} here already, the same\n", from,
               counted(r.cells, "cell"), counted(r.files, "file"), counted(r.runs, "run"),
               counted(r.equal, "result"));
    for (const std::string& d : r.different) fmt::print("not the same: {}\n", printable(d));
    different += r.different.size();
  }
  return different == 0 ? 0 : static_cast<int>(Exit::determinism);
}

int gc_verb(const std::vector<std::string>& words) {
  Arguments a("gc [flags]",
              "Finds cells of the store that no run has in its plan any more, and with --delete "
              "removes them. What somebody\ncomputes now stays.");
  a.flags()("out", po::value<std::string>()->default_value("results"), "folder of the results")(
      "keep-baselines", po::bool_switch(), "also keep the cells that baselines were measured on")(
      "baselines", po::value<std::string>()->default_value("baselines"), "folder of the baselines")(
      "delete", po::bool_switch(), "remove them; without it they are only counted");
  if (!a.parse(words)) return 0;
  std::vector<fs::path> baselines;
  std::error_code error;
  if (a.flag("keep-baselines"))
    for (const auto& item : fs::directory_iterator(a.text("baselines"), error))
      if (item.path().extension() == ".json") baselines.push_back(item.path());
  const Garbage g = find_garbage(a.text("out"), baselines);
  if (a.flag("delete"))
    for (const fs::path& node : g.nodes) fs::remove_all(node);
  fmt::print("{} of no run {} {}, {} kept{}\n", counted(g.nodes.size(), "cell"),
             a.flag("delete") ? "removed:" : "would be removed:",
             format_bytes(static_cast<double>(g.bytes)), g.kept,
             g.nodes.empty() || a.flag("delete") ? "" : "; --delete removes them");
  return 0;
}

}  // namespace pesuite::cli
