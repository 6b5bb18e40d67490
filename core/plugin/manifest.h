// The manifest of a plugin library, X.plugin.toml beside X.plugin.so: what the library offers,
// known without running its code. The build makes it from the library's own descriptors. It names
// that build, which shows a manifest that a newer build left behind, and holds a digest of itself,
// which shows one that is cut or edited.
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
  std::uint32_t abi_major = 0, abi_minor = 0, needs_minor = 0;
  std::string build;                   // of the file it was made from, by build_of()
  std::vector<Json> encodings, tasks;  // cards, by encoding_json() and card_json()
};

// Tells builds of a library apart, stripped or not: "gnu:" and the linker's build id, or "sha256:"
// and the file's digest where there is none. Error (plugin) as build_id().
std::string build_of(const fs::path& library);

fs::path manifest_path(const fs::path& library);  // X.plugin.so -> X.plugin.toml
Manifest make_manifest(const Library&);

// `library` is named at the head.
std::string to_toml(const Manifest&, const fs::path& library);
// Reads what to_toml() wrote. Error (plugin) that starts with `file`, and with line and column
// where the text is not TOML.
Manifest parse_manifest(const std::string& text, const std::string& file);

// The first difference between what two manifests say of their libraries, as a clause that begins
// with its place; "" when there is none. `found` stands beside the library, `wanted` is its own.
std::string difference(const Manifest& found, const Manifest& wanted);

}  // namespace pesuite
