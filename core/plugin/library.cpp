#include "plugin/library.h"

#define BOOST_DLL_USE_STD_FS
#include <dlfcn.h>

#include <algorithm>
#include <boost/dll/shared_library.hpp>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>

#include "base/elf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/isolate.h"
#include "base/text.h"
#include "plugin/card.h"

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

// What problems say that may be why a name is not found.
constexpr std::string_view refusal = "plugin refused: ";
constexpr std::string_view emptiness = ": this folder for plugins holds none (NAME.plugin.so)";

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

void check_abi(std::uint32_t major, std::uint32_t minor, std::uint32_t needs,
               std::string_view where) {
  if (major != PES_ABI_MAJOR)
    fail(Exit::plugin, "{}: built for plugin ABI {}.{}, this pesuite has {}.{}; {}", where, major,
         minor, PES_ABI_MAJOR, PES_ABI_MINOR,
         major > PES_ABI_MAJOR
             ? "use a newer pesuite, or rebuild the plugin against this one's headers"
             : "rebuild the plugin against this pesuite's headers");
  if (needs > PES_ABI_MINOR)
    fail(Exit::plugin,
         "{}: needs plugin ABI {}.{} or newer, this pesuite has {}.{}; use a newer pesuite", where,
         major, needs, PES_ABI_MAJOR, PES_ABI_MINOR);
}

}  // namespace

std::uint32_t needs_minor_of(const pes_library& entry) {
  return PES_HAS(&entry, needs_minor) ? entry.needs_minor : 0;
}

void check_entry(const pes_library& entry, std::string_view where) {
  if (entry.size < offsetof(pes_library, name))
    fail(Exit::plugin, "{}: its entry is {} bytes long, too short to hold a version", where,
         entry.size);
  check_abi(entry.abi_major, entry.abi_minor, needs_minor_of(entry), where);
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

void expect_file(const fs::path& file) {
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (fs::is_regular_file(status)) return;
  fail(Exit::plugin, "{}: {}", file.string(),
       !fs::exists(status)        ? "there is no such plugin file"
       : fs::is_directory(status) ? "is a folder; name the libraries in it, FOLDER/*.plugin.so"
                                  : "is no regular file, so it is no plugin");
}

Library Library::open(const fs::path& file) {
  expect_file(file);
  expect_whole(file);
  auto handle = std::make_unique<Handle>();
  boost::dll::fs::error_code error;
  // It stays in memory until the process ends: a thread that it has started may still run in it.
  constexpr auto stays = static_cast<boost::dll::load_mode::type>(RTLD_NODELETE);
  handle->library.load(fs::absolute(file), error,
                       boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local | stays);
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

Offer::Offer(Library library)
    : path_(library.path()),
      manifest_(make_manifest(library)),
      library_(std::make_unique<Library>(std::move(library))) {}

const Library& Offer::library() const {
  if (!library_) {
    if (!tried_) ask_library(path_);
    library_ = std::make_unique<Library>(Library::open(path_));
  }
  return *library_;
}

namespace {

using Cards = std::vector<Json> Manifest::*;

std::vector<std::string> names_of(const Catalog& c, Cards cards) {
  std::set<std::string> names;
  for (const Offer& offer : c.offers)
    for (const Json& card : offer.manifest().*cards) names.insert(card.at("name"));
  return {names.begin(), names.end()};
}

// The first offer of a name, and its card there.
std::pair<const Offer*, const Json*> find(const Catalog& c, std::string_view name, Cards cards,
                                          std::string_view kind) {
  for (const Offer& offer : c.offers)
    for (const Json& card : offer.manifest().*cards)
      if (card.at("name") == name) return {&offer, &card};
  const std::vector<std::string> names = names_of(c, cards);
  std::string instead = did_you_mean(name, names);
  if (names.empty())
    instead = fmt::format(
        ", nor any other: no library with {}s was found; name a folder of libraries by "
        "--plugin-path or PESUITE_PLUGIN_PATH",
        kind);
  else if (instead.empty())
    instead = fmt::format("; 'pesuite list {}' shows all", kind);
  fail(Exit::plugin, "there is no {} '{}'{}{}", kind, name, instead, c.refused());
}

template <class T>
Catalog::Found<T> load(const Offer& offer, std::string_view name,
                       std::vector<const T*> (Library::*members)() const) {
  for (const T* d : (offer.library().*members)())
    if (name == d->card->name) return {d, &offer.library()};
  fail(Exit::plugin,
       "{}: its manifest offers '{}', and it does not; 'pesuite plugin manifest {}'"
       " writes what it offers",
       offer.path().string(), name, offer.path().string());
}

Json card_of(const Catalog& c, std::string_view name, Cards cards, std::string_view kind) {
  const auto [offer, card] = find(c, name, cards, kind);
  Json out = *card;
  const Manifest& m = offer->manifest();
  out["library"] = {{"name", m.name},
                    {"version", m.version},
                    {"licence", m.licence},
                    {"abi", fmt::format("{}.{}", m.abi_major, m.abi_minor)},
                    {"file", offer->path().string()}};
  return out;
}

}  // namespace

std::string Catalog::refused() const {
  std::string out;
  for (const std::string& p : problems)
    if (p.starts_with(refusal) || p.ends_with(emptiness)) out += "\n" + p;
  return out;
}

Catalog::Found<pes_encoding> Catalog::encoding(std::string_view name) const {
  return load(*find(*this, name, &Manifest::encodings, "encoding").first, name,
              &Library::encodings);
}
Catalog::Found<pes_task> Catalog::task(std::string_view name) const {
  return load(*find(*this, name, &Manifest::tasks, "task").first, name, &Library::tasks);
}
std::vector<std::string> Catalog::encoding_names() const {
  return names_of(*this, &Manifest::encodings);
}
std::vector<std::string> Catalog::task_names() const {
  return names_of(*this, &Manifest::tasks);
}
Json Catalog::encoding_card(std::string_view name) const {
  return card_of(*this, name, &Manifest::encodings, "encoding");
}
Json Catalog::task_card(std::string_view name) const {
  return card_of(*this, name, &Manifest::tasks, "task");
}

std::vector<fs::path> plugin_search_path(const std::vector<std::string>& extra) {
  std::vector<fs::path> out;
  const auto add = [&](std::string_view paths) {
    for (const std::string& p : split(paths, ':'))
      if (!p.empty()) out.emplace_back(p);
  };
  for (const std::string& paths : extra) add(paths);
  for (const fs::path& p : out)
    if (std::error_code error; !fs::exists(p, error))
      fail(Exit::usage, "--plugin-path {}: there is no such folder or file", p.string());
  if (const char* environment = std::getenv("PESUITE_PLUGIN_PATH")) add(environment);
  const fs::path here = program_folder();
  for (const char* folder : {"../plugins", "../lib/pesuite/plugins", PESUITE_PLUGIN_INSTALL_DIR}) {
    std::error_code error;
    const fs::path p = fs::weakly_canonical(here / folder, error);
    if (!error && fs::is_directory(p, error)) out.push_back(p);
  }
  return out;
}

Manifest ask_library(const fs::path& file) {
  constexpr double seconds = 20;
  const Isolated r =
      run_isolated([&] { return to_toml(make_manifest(Library::open(file)), file); }, seconds);
  if (r.end == Isolated::End::threw) throw Error(static_cast<Exit>(r.code), r.text);
  if (r.end != Isolated::End::returned)
    throw Unloadable(Exit::plugin, fmt::format("{}: {} when it was loaded", file.string(), r.text));
  return parse_manifest(r.text, file.string());
}

void write_manifest(const fs::path& library) {
  write_file_atomic(manifest_path(library), to_toml(ask_library(library), library));
}

namespace {

struct Beside {
  std::optional<Manifest> manifest;
  std::string complaint;  // why it is missing, or not to be relied on; "": it is
};

Beside read_beside(const fs::path& library) {
  const fs::path file = manifest_path(library);
  std::error_code error;
  expect_file(library);
  if (!fs::is_regular_file(file, error))
    return {{}, fmt::format("{}: has no manifest {}", library.string(), file.filename().string())};
  const std::string build = build_of(library);
  try {
    Manifest m = parse_manifest(read_file(file), file.string());
    const bool same = m.build == build;
    return {std::move(m), same ? ""
                               : fmt::format("{}: is of another build of {}", file.string(),
                                             library.filename().string())};
  } catch (const Error& e) {
    return {{}, e.what()};
  }
}

enum class Loading { never, asked, trusted };

void add_library(Catalog& catalog, const fs::path& file, Loading loading) {
  try {
    bool tried = loading == Loading::trusted;
    Beside beside = read_beside(file);
    if (!beside.complaint.empty()) {
      const char* then = beside.manifest ? "what is listed is what that build offers"
                                         : "what the library offers is not listed";
      if (loading != Loading::never) {
        tried = true;
        beside.manifest = ask_library(file);
        then = "the library was asked itself";
      }
      catalog.notes.push_back(fmt::format("{}; {}; 'pesuite plugin manifest {}' writes it",
                                          beside.complaint, then, file.string()));
    }
    if (!beside.manifest) return;
    const Manifest& m = *beside.manifest;
    check_abi(m.abi_major, m.abi_minor, m.needs_minor, file.string());
    catalog.offers.emplace_back(file, std::move(*beside.manifest), tried);
  } catch (const Error& e) {
    catalog.problems.push_back(fmt::format("{}{}", refusal, e.what()));
  }
}

// What a library offers under names that an earlier one has: a sentence for each two libraries.
void report_duplicates(Catalog& catalog) {
  std::map<std::string, std::string> owners;
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> shadowed;  // by the two
  const auto claim = [&](const char* kind, const Json& card, const fs::path& path) {
    const std::string what = fmt::format("{} '{}'", kind, card.at("name").get<std::string>());
    const auto [it, fresh] = owners.emplace(what, path.string());
    if (!fresh) shadowed[{path.string(), it->second}].push_back(what);
  };
  for (const Offer& offer : catalog.offers) {
    for (const Json& card : offer.manifest().encodings) claim("encoding", card, offer.path());
    for (const Json& card : offer.manifest().tasks) claim("task", card, offer.path());
  }
  for (const auto& [libraries, names] : shadowed) {
    const bool one = names.size() == 1;
    catalog.problems.push_back(
        fmt::format("{}{} of {} {} not used: {} comes first on the search path", names[0],
                    one ? "" : fmt::format(" and {}", counted(names.size() - 1, "other")),
                    libraries.first, one ? "is" : "are", libraries.second));
  }
}

Catalog scan(const std::vector<fs::path>& search_path, Loading loading) {
  Catalog catalog;
  std::set<fs::path> seen;
  const auto add = [&](const fs::path& file) {
    std::error_code error;
    const fs::path canonical = fs::weakly_canonical(file, error);
    if (seen.insert(error ? file : canonical).second) add_library(catalog, file, loading);
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
    if (files.empty()) catalog.problems.push_back(place.string() + std::string(emptiness));
    std::sort(files.begin(), files.end());
    for (const fs::path& file : files) add(file);
  }
  report_duplicates(catalog);
  return catalog;
}

}  // namespace

Catalog open_catalog(const std::vector<fs::path>& search_path, bool tried) {
  return scan(search_path, tried ? Loading::trusted : Loading::asked);
}
Catalog list_catalog(const std::vector<fs::path>& search_path) {
  return scan(search_path, Loading::never);
}

}  // namespace pesuite
