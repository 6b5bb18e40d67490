// A run as one file to hand on: NAME.tar.zst, whose first entry, bundle.json, lists every file with
// its size and SHA-256. docs/records.md has the format.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "cell/cell.h"

namespace pesuite {

namespace fs = std::filesystem;

struct BundleSummary {
  std::string name;  // of the run's folder
  std::size_t files = 0;
  std::uint64_t bytes = 0;  // unpacked
  std::string digest;       // SHA-256 of the bundle
  fs::path at;              // the bundle, or the folder of the run
  bool was_there = false;   // import: the same run lay there already
};

// Packs a run's folder; with a store also results and last weights of its cells. Error (data) where
// the folder holds what is neither file nor folder.
BundleSummary write_bundle(const fs::path& run, const fs::path& file, const Store* weights,
                           const std::string& program);

struct ImportOptions {
  std::string name;                                    // of the folder; "": the bundle's
  std::uint64_t most_bytes = std::uint64_t{16} << 30;  // unpacked
  std::string digest;                                  // that the bundle must have; "": any
};
// Unpacks to OUT/runs/NAME and OUT/store. All is checked before anything stands under its name:
// Error (data) for what is damaged, unlisted, a link, outside of the folder or too large, and where
// other files lie there. Nothing is overwritten.
BundleSummary import_bundle(const fs::path& file, const fs::path& out, const ImportOptions& = {});

}  // namespace pesuite
