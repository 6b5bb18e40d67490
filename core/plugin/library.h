// Plugin libraries: found on the search path, known by their manifests, opened when they are
// needed.
#pragma once

#include <pesuite/pesuite.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "plugin/manifest.h"

namespace pesuite {

class Library {
 public:
  // Error (plugin) when the file is missing, is no plugin, or was built for another ABI; the
  // sentence names both versions and what to do.
  static Library open(const fs::path& file);
  Library(Library&&) noexcept;
  Library& operator=(Library&&) noexcept;
  ~Library();

  const pes_library& entry() const { return *entry_; }
  const fs::path& path() const { return path_; }
  std::vector<const pes_encoding*> encodings() const;
  std::vector<const pes_task*> tasks() const;

 private:
  struct Handle;
  Library(fs::path path, std::unique_ptr<Handle> handle, const pes_library* entry);

  fs::path path_;
  std::unique_ptr<Handle> handle_;
  const pes_library* entry_;
};

// The oldest minor of a host that it works with; 0 where it was built before 1.4.
std::uint32_t needs_minor_of(const pes_library&);
// Throws what is wrong with a file that should be a library: missing, a folder, a pipe.
void expect_file(const fs::path& file);
// Throws what is wrong with `entry`, as Library::open does. `where` starts the sentence.
void check_entry(const pes_library& entry, std::string_view where);

// A library on the search path: what its manifest says of it, and itself once that is asked for.
class Offer {
 public:
  // `tried`: it is known that loading it does not crash.
  Offer(fs::path path, Manifest manifest, bool tried)
      : path_(std::move(path)), manifest_(std::move(manifest)), tried_(tried) {}
  explicit Offer(Library library);

  const fs::path& path() const { return path_; }
  const Manifest& manifest() const { return manifest_; }
  // Loads it at the first call, after it was opened once in a process of its own: constructors of a
  // library may do anything, and a file that is cut ends who maps it. Errors as ask_library.
  const Library& library() const;

 private:
  fs::path path_;
  Manifest manifest_;
  bool tried_ = true;
  mutable std::unique_ptr<Library> library_;
};

// All that the search path offers. Names and cards come from manifests; a library is loaded when
// one of its encodings or tasks is asked for, and not before.
struct Catalog {
  std::vector<Offer> offers;
  std::vector<std::string> problems;  // refusals and duplicates, a sentence each
  std::vector<std::string> notes;     // manifests that are missing or wrong, likewise
  // Those problems that may be why a name is not found, each behind a line break.
  std::string refused() const;

  template <class T>
  struct Found {
    const T* descriptor = nullptr;
    const Library* library = nullptr;
  };
  // Error (plugin) with the nearest name.
  Found<pes_encoding> encoding(std::string_view name) const;
  Found<pes_task> task(std::string_view name) const;
  std::vector<std::string> encoding_names() const;
  std::vector<std::string> task_names() const;

  // A card with what is to be said of its library. Loads nothing; errors as above.
  Json encoding_card(std::string_view name) const;
  Json task_card(std::string_view name) const;
};

// Folders and files, in the order they are searched: `extra` (--plugin-path), the environment's
// PESUITE_PLUGIN_PATH, the build tree, the install tree. The first one to offer a name wins. Error
// (usage) where one of `extra` is not there.
std::vector<fs::path> plugin_search_path(const std::vector<std::string>& extra);

// A library without a manifest of its own is loaded for what it offers, in another process.
// `tried`: whoever asks has seen all that it needs load before.
Catalog open_catalog(const std::vector<fs::path>& search_path, bool tried = false);
// The same for listings: loads nothing. A library without a manifest is left out; one with that of
// another build is listed as the manifest says. A note tells of both.
Catalog list_catalog(const std::vector<fs::path>& search_path);

// A library that crashed, or did not come back, when it was opened.
struct Unloadable : Error {
  using Error::Error;
};
// What a library offers, asked in a process of its own, where it may crash or never come back.
// Errors as Library::open, and Unloadable.
Manifest ask_library(const fs::path& file);
// Writes it beside the library.
void write_manifest(const fs::path& library);

}  // namespace pesuite
