// bisect: the commit that made something worse.
#include "history/bisect.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/arguments.h"

namespace pesuite::cli {

namespace {

int print_result(const Bisected& b) {
  const std::string tried =
      fmt::format("{} tried, {} skipped", counted(b.tried, "commit"), b.skipped);
  switch (b.end) {
    case Bisected::End::found:
      fmt::print("first bad commit: {} {} ({})\n", b.first_bad.id, b.first_bad.subject,
                 b.first_bad.date);
      fmt::print(stderr, "{}\n", tried);
      return 0;
    case Bisected::End::skipped:
      fmt::print("the first bad commit is one of these, of which none could be tried: {}\n",
                 join(b.candidates, ", "));
      fmt::print(stderr, "{}\n", tried);
      return static_cast<int>(Exit::inconclusive);
    case Bisected::End::stopped: break;
  }
  fmt::print(stderr, "stopped; {}\n", tried);
  return static_cast<int>(Exit::interrupted);
}

}  // namespace

int bisect_verb(const std::vector<std::string>& words) {
  Arguments a("bisect GOOD BAD -- COMMAND [flags]",
              "Finds the first commit for which COMMAND fails, by git bisect in a work tree of its "
              "own, so yours stays as it is.\nCOMMAND runs at the top of that tree: 0 is good, 125 "
              "cannot be tried, anything else is bad. With --gate its exit codes\nare pesuite's: 1 "
              "and 8 are bad, the others cannot be tried. GOOD and BAD are tried first. Exit code "
              "7 where all that\nis left cannot be tried.");
  a.flags()("gate", po::bool_switch(), "COMMAND is a gate, such as ./pesuite regress --baseline X")(
      "build", po::value<std::string>(),
      "command before it, e.g. './pesuite version'; a commit for which it fails is skipped")(
      "trust", po::bool_switch(), "do not try GOOD and BAD themselves")(
      "repository", po::value<std::string>()->default_value("."), "of the commits");
  a.positional("good");
  a.positional("bad");
  a.positional("command", -1);
  if (!a.parse(words)) return 0;
  a.require("good", "a commit that is good");
  a.require("bad", "a commit that is bad");
  a.require("command", "the command, behind '--'");
  BisectOrder order;
  order.repository = a.text("repository");
  order.good = a.text("good"), order.bad = a.text("bad");
  order.command = a.texts("command"), order.build = a.text("build");
  order.gate = a.flag("gate"), order.trust = a.flag("trust");
  return print_result(
      bisect(order, [](const std::string& line) { fmt::print(stderr, "bisect: {}\n", line); }));
}

}  // namespace pesuite::cli
