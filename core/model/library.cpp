#include "model/library.h"

#define BOOST_DLL_USE_STD_FS
#include <algorithm>
#include <boost/dll/shared_library.hpp>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>

#include "base/error.h"
#include "base/text.h"

namespace pesuite {

struct Library::Handle {
  boost::dll::shared_library library;
};

Library::Library(fs::path path, std::unique_ptr<Handle> handle, const pes_library* entry)
    : path_(std::move(path)), handle_(std::move(handle)), entry_(entry) {}
Library::Library(Library&&) noexcept = default;
Library& Library::operator=(Library&&) noexcept = default;
Library::~Library() = default;

namespace {

template <class T>
std::vector<const T*> list_of(const T* const* list) {
  std::vector<const T*> out;
  if (list != nullptr)
    for (; *list != nullptr; ++list) out.push_back(*list);
  return out;
}

void check_card(const pes_card* card, std::string_view kind, std::string_view where) {
  if (card == nullptr || card->name == nullptr || *card->name == 0)
    fail(Exit::plugin, "{}: an {} without a card or a name", where, kind);
  for (const char* c = card->name; *c != 0; ++c)
    if (!(std::islower(static_cast<unsigned char>(*c)) != 0 || *c == '_' ||
          (c != card->name && std::isdigit(static_cast<unsigned char>(*c)) != 0)))
      fail(Exit::plugin, "{}: the name '{}' is not lower_snake", where, card->name);
  if (card->summary == nullptr || card->version == nullptr || card->taxonomy == nullptr)
    fail(Exit::plugin, "{}: the card of '{}' lacks a summary, a version or a taxonomy", where,
         card->name);
  if (card->options != nullptr)
    for (const pes_option* const* o = card->options; *o != nullptr; ++o)
      if ((*o)->name == nullptr || (*o)->value == nullptr || (*o)->help == nullptr)
        fail(Exit::plugin, "{}: an option of '{}' lacks a name, a default or a help text", where,
             card->name);
}

}  // namespace

void check_entry(const pes_library& entry, std::string_view where) {
  if (entry.size < offsetof(pes_library, name))
    fail(Exit::plugin, "{}: its entry is {} bytes long, too short to hold a version", where,
         entry.size);
  if (entry.abi_major != PES_ABI_MAJOR)
    fail(Exit::plugin, "{}: built for plugin ABI {}.{}, this pesuite has {}.{}; {}", where,
         entry.abi_major, entry.abi_minor, PES_ABI_MAJOR, PES_ABI_MINOR,
         entry.abi_major > PES_ABI_MAJOR
             ? "use a newer pesuite, or rebuild the plugin against this one's headers"
             : "rebuild the plugin against this pesuite's headers");
  if (!PES_HAS(&entry, tasks) || entry.name == nullptr || entry.version == nullptr)
    fail(Exit::plugin, "{}: its entry is incomplete ({} bytes, a name and a version are needed)",
         where, entry.size);
  for (const pes_encoding* e : list_of(entry.encodings)) {
    check_card(e->card, "encoding", where);
    if (!PES_HAS(e, rewrite) || e->create == nullptr || e->destroy == nullptr)
      fail(Exit::plugin, "{}: encoding '{}' cannot be created", where, e->card->name);
  }
  for (const pes_task* t : list_of(entry.tasks)) {
    check_card(t->card, "task", where);
    if (!PES_HAS(t, chance) || t->create == nullptr || t->destroy == nullptr ||
        t->sample == nullptr)
      fail(Exit::plugin, "{}: task '{}' cannot be created or sampled", where, t->card->name);
  }
}

Library Library::open(const fs::path& file) {
  std::error_code missing;
  if (!fs::is_regular_file(file, missing))
    fail(Exit::plugin, "{}: there is no such plugin file", file.string());
  auto handle = std::make_unique<Handle>();
  boost::dll::fs::error_code error;
  handle->library.load(fs::absolute(file), error,
                       boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local);
  if (error)
    fail(Exit::plugin, "{}: cannot be loaded as a shared library: {}", file.string(),
         error.message());
  if (!handle->library.has("pes_entry"))
    fail(Exit::plugin, "{}: exports no 'pes_entry', so it is no plugin of pesuite", file.string());
  const pes_library& entry = handle->library.get<const pes_library>("pes_entry");
  check_entry(entry, file.string());
  return {file, std::move(handle), &entry};
}

std::vector<const pes_encoding*> Library::encodings() const {
  return list_of(entry_->encodings);
}
std::vector<const pes_task*> Library::tasks() const {
  return list_of(entry_->tasks);
}

namespace {

template <class T, class Members>
Catalog::Found<T> find(const Catalog& c, std::string_view name, Members members,
                       std::string_view kind, const std::vector<std::string>& names) {
  for (const Library& library : c.libraries)
    for (const T* d : members(library))
      if (name == d->card->name) return {d, &library};
  const std::string near = did_you_mean(name, names);
  fail(Exit::plugin, "there is no {} '{}'{}", kind, name,
       near.empty() ? fmt::format("; 'pesuite list {}' shows all", kind) : near);
}

template <class Members>
std::vector<std::string> names_of(const Catalog& c, Members members) {
  std::set<std::string> names;
  for (const Library& library : c.libraries)
    for (const auto* d : members(library)) names.insert(d->card->name);
  return {names.begin(), names.end()};
}

}  // namespace

Catalog::Found<pes_encoding> Catalog::encoding(std::string_view name) const {
  return find<pes_encoding>(*this, name, std::mem_fn(&Library::encodings), "encoding",
                            encoding_names());
}
Catalog::Found<pes_task> Catalog::task(std::string_view name) const {
  return find<pes_task>(*this, name, std::mem_fn(&Library::tasks), "task", task_names());
}
std::vector<std::string> Catalog::encoding_names() const {
  return names_of(*this, std::mem_fn(&Library::encodings));
}
std::vector<std::string> Catalog::task_names() const {
  return names_of(*this, std::mem_fn(&Library::tasks));
}

fs::path program_folder() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::current_path() : program.parent_path();
}

std::vector<fs::path> plugin_search_path(const std::vector<std::string>& extra) {
  std::vector<fs::path> out;
  const auto add = [&](std::string_view paths) {
    for (const std::string& p : split(paths, ':'))
      if (!p.empty()) out.emplace_back(p);
  };
  for (const std::string& paths : extra) add(paths);
  if (const char* environment = std::getenv("PESUITE_PLUGIN_PATH")) add(environment);
  const fs::path here = program_folder();
  for (const char* folder : {"../plugins", "../lib/pesuite/plugins", PESUITE_PLUGIN_INSTALL_DIR}) {
    std::error_code error;
    const fs::path p = fs::weakly_canonical(here / folder, error);
    if (!error && fs::is_directory(p, error)) out.push_back(p);
  }
  return out;
}

Catalog open_catalog(const std::vector<fs::path>& search_path) {
  Catalog catalog;
  std::set<fs::path> seen;
  const auto add = [&](const fs::path& file) {
    std::error_code error;
    const fs::path canonical = fs::weakly_canonical(file, error);
    if (!seen.insert(error ? file : canonical).second) return;
    try {
      catalog.libraries.push_back(Library::open(file));
    } catch (const Error& e) {
      catalog.problems.push_back(fmt::format("plugin refused: {}", e.what()));
    }
  };
  for (const fs::path& place : search_path) {
    std::error_code error;
    if (!fs::is_directory(place, error)) {
      add(place);
      continue;
    }
    std::vector<fs::path> files;
    for (const auto& item : fs::directory_iterator(place, error))
      if (item.path().string().ends_with(".plugin.so")) files.push_back(item.path());
    std::sort(files.begin(), files.end());
    for (const fs::path& file : files) add(file);
  }
  std::map<std::string, std::string> owners;
  const auto claim = [&](const std::string& what, const Library& library) {
    const auto [it, fresh] = owners.emplace(what, library.path().string());
    if (!fresh)
      catalog.problems.push_back(
          fmt::format("{} of {} is not used: {} comes first on the search path", what,
                      library.path().string(), it->second));
  };
  for (const Library& library : catalog.libraries) {
    for (const pes_encoding* e : library.encodings())
      claim(fmt::format("encoding '{}'", e->card->name), library);
    for (const pes_task* t : library.tasks())
      claim(fmt::format("task '{}'", t->card->name), library);
  }
  return catalog;
}

}  // namespace pesuite
