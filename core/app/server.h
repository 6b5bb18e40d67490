// The app: a page on the loopback that offers what the command line can do, to one person. Nobody
// else reaches it: requests under another host's name, or that another site's page makes, are
// refused, and no path of a request leaves the store.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "plugin/library.h"

namespace pesuite::app {

namespace fs = std::filesystem;

struct ServerOptions {
  std::string listen = "127.0.0.1";
  int port = 8642;    // 0: any that is free
  std::string token;  // that requests need, in a cookie or as ?token=; "": none
  fs::path out = "results", baselines = "baselines";
  fs::path program;                      // pesuite
  std::vector<std::string> plugin_path;  // --plugin-path of what it starts
};

// Serves until a signal ends it. `ready` hears the port. Error (usage) where nothing can be served
// there.
void serve(const ServerOptions&, const Catalog&, const std::function<void(int port)>& ready);

}  // namespace pesuite::app
