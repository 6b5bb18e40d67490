// bundle and import: a run as one file, and back.
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

int import_verb(const std::vector<std::string>& words) {
  Arguments a(
      "import FILE [flags]",
      "Unpacks what 'pesuite bundle' packed into OUT/runs and OUT/store. A damaged bundle, "
      "links, names that lead\noutside, and more than --max-size are refused (exit code 5); "
      "then nothing of it stays. Nothing is overwritten.");
  a.flags()("out", po::value<std::string>()->default_value("results"), "folder of the results")(
      "as", po::value<std::string>(), "name of the run's folder instead of the bundle's")(
      "sha256", po::value<std::string>(), "digest that the file must have, as bundle printed it")(
      "max-size", po::value<std::string>()->default_value("16G"),
      "most bytes that it may unpack to, e.g. 500M");
  a.positional("file");
  if (!a.parse(words)) return 0;
  a.require("file", "the bundle");
  ImportOptions options;
  options.name = a.text("as"), options.digest = a.text("sha256");
  double most = 0;
  if (!parse_count(a.text("max-size"), most) || most < 1 || most > 1e18)
    fail(Exit::usage, "--max-size is '{}'; write a number of bytes, e.g. 500M or 16G",
         a.text("max-size"));
  options.most_bytes = static_cast<std::uint64_t>(most);
  const Steps steps("unpacking " + a.text("file"));
  const BundleSummary b = import_bundle(a.text("file"), a.folder("out"), options);
  fmt::print("{}\n", b.at.string());
  fmt::print(stderr, "{} with {}; {}\n", counted(b.files, "file"),
             format_bytes(static_cast<double>(b.bytes)),
             b.was_there ? "the same run was there already" : "every digest is right");
  return 0;
}

}  // namespace pesuite::cli
