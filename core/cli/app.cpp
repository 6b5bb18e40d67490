// app: the page on the loopback.
#include <fmt/format.h>

#include "base/error.h"
#include "cli/arguments.h"
#include "cli/verbs.h"
#ifdef PESUITE_HAS_APP
#include <openssl/rand.h>

#include "app/address.h"
#include "app/server.h"
#endif

namespace pesuite::cli {

#ifdef PESUITE_HAS_APP
namespace {

// 128 bits that nobody can guess.
std::string new_token() {
  unsigned char bytes[16];
  if (::RAND_bytes(bytes, sizeof bytes) != 1)
    fail(Exit::internal, "no random numbers are to be had");
  std::string out;
  for (const unsigned char b : bytes) out += fmt::format("{:02x}", b);
  return out;
}

}  // namespace
#endif

int app_verb(const std::vector<std::string>& words) {
  Arguments a(
      "app [flags]",
      "Serves a page on which experiments are chosen, run, watched and compared. It answers "
      "this machine alone,\nand does nothing that the command line cannot: each experiment is a "
      "suite, which it hands out.");
  a.flags()("out", po::value<std::string>()->default_value("results"), "folder of the results")(
      "baselines", po::value<std::string>()->default_value("baselines"), "folder of the baselines")(
      "port", po::value<int>()->default_value(8642), "port; 0: any that is free")(
      "listen", po::value<std::string>()->default_value("127.0.0.1"),
      "address; another than this machine's own asks every visitor for a token, which is printed");
  if (!a.parse(words)) return 0;
#ifdef PESUITE_HAS_APP
  app::ServerOptions o;
  o.out = fs::absolute(a.folder("out"));
  o.baselines = fs::absolute(a.text("baselines"));
  o.port = a.count("port");
  if (o.port > 65535) fail(Exit::usage, "--port {}: wants at most 65535", o.port);
  o.listen = a.text("listen");
  if (!app::is_loopback(o.listen)) o.token = new_token();
  o.program = fs::canonical("/proc/self/exe");
  o.plugin_path = a.plugin_path();
  const Catalog catalog = open_catalog(plugin_search_path(a.plugin_path()));
  app::serve(o, catalog, [&](int port) {
    fmt::print(stderr, "http://{}:{}/{}   (Ctrl-C ends it; a run goes on when it starts again)\n",
               app::host_of_url(o.listen), port, o.token.empty() ? "" : "?token=" + o.token);
    std::fflush(stderr);
  });
  return 0;
#else
  fail(Exit::usage, "this build has no app: libcpp-httplib-dev was not there when it was built");
#endif
}

}  // namespace pesuite::cli
