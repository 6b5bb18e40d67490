// Plugin libraries: found on the search path, opened, their descriptors read. Nothing of a plugin
// runs here.
#pragma once

#include <pesuite/pesuite.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace pesuite {

namespace fs = std::filesystem;

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

// Throws what `entry` does wrong, as Library::open does. `where` starts the sentence.
void check_entry(const pes_library& entry, std::string_view where);

// All that the search path offers.
struct Catalog {
  std::vector<Library> libraries;
  std::vector<std::string> problems;  // refusals and duplicates, a sentence each

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
};

// Folders and files, in the order they are searched: `extra` (--plugin-path), the environment's
// PESUITE_PLUGIN_PATH, the build tree, the install tree. The first one to offer a name wins.
std::vector<fs::path> plugin_search_path(const std::vector<std::string>& extra);
Catalog open_catalog(const std::vector<fs::path>& search_path);

// Folder of the running program.
fs::path program_folder();

}  // namespace pesuite
