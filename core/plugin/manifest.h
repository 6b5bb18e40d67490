// The manifest of a plugin library, X.plugin.toml beside X.plugin.so: what the library offers, for
// who wants to know it without running a line of its code. It is made from the library's own
// descriptors when that is built. It names the build it was made from, so that one that a newer
// build has left behind is known for it, and carries a digest of itself, so that one that is cut or
// was edited is too.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"

namespace pesuite {

namespace fs = std::filesystem;

class Library;

struct Manifest {
  std::string name, version, licence;  // of the library
  std::uint32_t abi_major = 0, abi_minor = 0;
  std::string build;                   // of the file it was made from, by build_of()
  std::vector<Json> encodings, tasks;  // cards, by encoding_json() and card_json()
};

// What tells one build of a library from another, whether stripped or not: "gnu:" and the linker's
// build id, or "sha256:" and the file's digest where there is none. Error (plugin) as build_id().
std::string build_of(const fs::path& library);

fs::path manifest_path(const fs::path& library);  // X.plugin.so -> X.plugin.toml
Manifest make_manifest(const Library&);

// `library` is named at the head.
std::string to_toml(const Manifest&, const fs::path& library);
// Of what to_toml() wrote. Error (plugin) that starts with `file`, and with line and column where
// it is no TOML.
Manifest parse_manifest(const std::string& text, const std::string& file);

// The first difference between what two manifests say of their libraries, as a clause that begins
// with its place; "" when there is none. `found` stands beside the library, `wanted` is its own.
std::string difference(const Manifest& found, const Manifest& wanted);

}  // namespace pesuite
