// bundle: a run as one file.
#include "bundle/bundle.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "cli/find_run.h"
#include "cli/steps.h"
#include "run/environment.h"

namespace pesuite::cli {

int bundle_verb(const std::vector<std::string>& words) {
  Arguments a("bundle RUN [flags]",
              "Packs a run's folder into one tar.zst, with the SHA-256 of every file; the same run "
              "gives the same bytes.\n'pesuite import' unpacks it, 'pesuite reproduce' computes it "
              "again.");
  a.flags()("out", po::value<std::string>()->default_value("results"), "folder of the results")(
      "output,o", po::value<std::string>(), "file to write (default NAME.tar.zst)")(
      "weights", po::bool_switch(), "also what its cells left in the store: results and weights");
  a.positional("run");
  if (!a.parse(words)) return 0;
  a.require("run", "the run");
  const fs::path run = find_run(a.text("run"), a.text("out"));
  const std::string name = fs::weakly_canonical(run).filename().string();
  const fs::path file = a.text("output", name + ".tar.zst");
  if (fs::exists(file))
    fail(Exit::usage, "{} is there already; remove it, or name another file by --output",
         file.string());
  const Store store(fs::path(a.text("out")) / "store");
  const Steps steps("packing " + run.string());
  const BundleSummary b =
      write_bundle(run, file, a.flag("weights") ? &store : nullptr, build_summary());
  fmt::print("{}  {}\n", b.digest, file.string());
  fmt::print(stderr, "{} with {} of run {}\n", counted(b.files, "file"),
             format_bytes(static_cast<double>(b.bytes)), b.name);
  return 0;
}

}  // namespace pesuite::cli
