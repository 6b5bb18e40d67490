// plugin bench: what a library's encodings cost.
#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "bench/bench.h"
#include "cli/arguments.h"
#include "cli/plugin.h"
#include "cli/steps.h"
#include "plugin/library.h"
#include "run/progress.h"

namespace pesuite::cli {

int plugin_bench(const std::vector<std::string>& words) {
  Arguments a(
      "plugin bench LIBRARY [flags]",
      "What each encoding of a library adds to a forward pass: milliseconds in its hooks and "
      "in attention, and the\nwhole pass against that without an encoding, window by window. "
      "'pesuite bench overhead' has more flags.");
  a.flags()("config", po::value<std::string>()->default_value("B"),
            "A, B or C (docs/performance.md), or a model preset")(
      "lengths", po::value<std::string>()->default_value("1024"), "tokens, e.g. 1024,4096")(
      "threads", po::value<int>()->default_value(1), "threads")(
      "repetitions", po::value<int>()->default_value(9), "windows of each")(
      "window", real_value(0.3), "seconds of a window");
  a.positional("library");
  if (!a.parse(words)) return 0;
  a.require("library", "a plugin file (X.plugin.so)");
  const fs::path file = a.text("library");
  const Library library = Library::open(file);

  bench::Settings s;
  s.config = a.text("config");
  s.threads = std::max(1, a.threads());
  s.plan.repetitions = a.count("repetitions", 1);
  s.plan.window = a.get<double>("window");
  for (const pes_encoding* e : library.encodings()) s.encodings.emplace_back(e->card->name);
  if (s.encodings.empty())
    fail(Exit::usage, "{} offers tasks only; there is nothing to time", file.string());
  for (const std::string& l : split(a.text("lengths"), ',')) {
    double length = 0;
    if (!parse_count(trim(l), length) || length < 1 || length > 1 << 24)
      fail(Exit::usage, "--lengths: '{}' is no length", l);
    s.lengths.push_back(static_cast<int>(length));
  }
  // the library first, so that its names mean its own encodings
  std::vector<std::string> path = {file.string()};
  for (const std::string& p : a.plugin_path()) path.push_back(p);
  const Catalog catalog = open_catalog(plugin_search_path(path));
  std::optional<Steps> steps(std::in_place, "plugin bench: preparing");
  s.plan.progress = [&](const std::string& what) { steps->at("plugin bench: " + what); };
  const bench::Result r = bench::bench_overhead(catalog, s);
  steps.reset();
  fmt::print("{}\n{}, {}, config {}\n", r.table, s.backend,
             counted(static_cast<std::size_t>(s.threads), "thread"), s.config);
  return 0;
}

}  // namespace pesuite::cli
