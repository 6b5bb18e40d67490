#include "bundle/bundle.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "bundle/archive.h"
#include "cell/planned.h"

namespace pesuite {

namespace {

constexpr const char* schema = "pesuite.bundle/1";
constexpr std::uint64_t most_of_the_list = 64 << 20;
constexpr std::size_t most_files = 1'000'000;

struct Listed {
  std::uint64_t bytes = 0;
  std::string digest;
};
using List = std::map<std::string, Listed>;  // by name in the archive: run/..., store/...

// ------------------------------------------------------------------------------------ packing

using Sources = std::map<std::string, fs::path>;

void add_folder(const fs::path& folder, const std::string& prefix, Sources& out) {
  for (const auto& item : fs::recursive_directory_iterator(folder)) {
    if (item.is_directory() && !item.is_symlink()) continue;
    const std::string name = item.path().lexically_relative(folder).generic_string();
    if (name == ".lock" || name == ".runners" || name.starts_with(".track-")) continue;
    if (item.is_symlink() || !item.is_regular_file() || !is_safe_path(name))
      fail(Exit::data, "{} is no plain file, which is all that a bundle can hold; remove it",
           item.path().string());
    out[prefix + name] = item.path();
  }
}

void add_store(const fs::path& run, const Store& store, Sources& out) {
  const Json plan = read_plan(run);
  for (const Json& c : plan["cells"])
    for (const char* key : {"cell", "training"}) {
      const auto id = c[key].get<std::string>();
      if (!fs::exists(store.cell(id))) continue;
      const std::string prefix = fmt::format("store/nodes/{}/{}/", id.substr(0, 2), id);
      for (const auto& item : fs::directory_iterator(store.cell(id)))
        if (item.is_regular_file() &&
            (item.path().extension() == ".jsonl" || item.path().filename() == "status.json"))
          out[prefix + item.path().filename().string()] = item.path();
      for (const fs::path& w : {store.checkpoint(id), store.best(id)})
        if (fs::exists(w)) out[prefix + "ckpt/" + w.filename().string()] = w;
    }
}

// With a digest of itself, as the rest hangs on it.
std::string list_text(Json list) {
  list["check"] = sha256(canonical(list));
  return list.dump(1) + "\n";
}

// ----------------------------------------------------------------------------------- unpacking

[[noreturn]] void refuse(const fs::path& file, const std::string& why) {
  fail(Exit::data, "{}: {}; nothing of it was taken", file.string(), why);
}

bool is_name(const std::string& name) {
  return is_safe_path(name) && name.find('/') == std::string::npos && name[0] != '.' &&
         name.size() <= 200;
}

Listed read_listed(const Json& f) {
  return {f.at("bytes").get<std::uint64_t>(), f.at("sha256").get<std::string>()};
}

Json read_list(ArchiveReader& archive, const fs::path& file, List& list) {
  const auto first = archive.next();
  if (!first || first->path != "bundle.json")
    refuse(file, "it does not begin with bundle.json: it is no bundle of a run");
  Json j = Json::parse(archive.read(most_of_the_list), nullptr, false);
  if (!j.is_object() || j.value("schema", Json()) != schema)
    refuse(file, fmt::format("bundle.json is damaged or not of this version ({})", schema));
  Json rest = j;
  rest.erase("check");
  if (j.value("check", Json()) != sha256(canonical(rest)))
    refuse(file, "bundle.json is damaged: its own digest differs");
  try {
    if (j.at("files").size() > most_files) refuse(file, "it lists too many files");
    for (const Json& f : j.at("files")) {
      const std::string path = f.at("path");
      if (!is_safe_path(path) || !(path.starts_with("run/") || path.starts_with("store/nodes/")))
        refuse(file, fmt::format("the name '{}' leads outside of the folder", path));
      if (!list.emplace(path, read_listed(f)).second)
        refuse(file, fmt::format("'{}' is listed twice", path));
    }
    if (!is_name(j.at("name").get<std::string>())) refuse(file, "its name is none of a folder");
  } catch (const Json::exception&) {
    refuse(file, "bundle.json is damaged");
  }
  return j;
}

// A folder beside the results that is removed again.
class Scaffold {
 public:
  explicit Scaffold(const fs::path& out)
      : path(out / fmt::format(".import-{}-{}", utc_timestamp_compact(), ::getpid())) {
    fs::create_directories(path);
  }
  ~Scaffold() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  Scaffold(const Scaffold&) = delete;
  Scaffold& operator=(const Scaffold&) = delete;
  const fs::path path;
};

void unpack(ArchiveReader& archive, const fs::path& file, const List& list, const fs::path& to) {
  std::set<std::string> seen;
  while (const auto entry = archive.next()) {
    const auto it = list.find(entry->path);
    if (it == list.end()) refuse(file, fmt::format("'{}' is not in its list", entry->path));
    if (!seen.insert(entry->path).second)
      refuse(file, fmt::format("'{}' occurs twice", entry->path));
    if (entry->bytes != it->second.bytes)
      refuse(file, fmt::format("'{}' has {} bytes, and its list says {}", entry->path, entry->bytes,
                               it->second.bytes));
    archive.read_into(to / entry->path, entry->bytes);
    if (sha256_file(to / entry->path) != it->second.digest)
      refuse(file, fmt::format("'{}' is damaged: its digest differs", entry->path));
  }
  for (const auto& [path, listed] : list)
    if (!seen.contains(path)) refuse(file, fmt::format("'{}' is missing", path));
}

// Whether the files below `folder` that the list has are there just so.
bool lies_there(const List& list, const std::string& prefix, const fs::path& folder) {
  return std::all_of(list.begin(), list.end(), [&](const auto& f) {
    if (!f.first.starts_with(prefix)) return true;
    const fs::path at = folder / f.first.substr(prefix.size());
    return fs::is_regular_file(at) && sha256_file(at) == f.second.digest;
  });
}

void move_store(const List& list, const fs::path& from, const fs::path& out) {
  for (const auto& [path, listed] : list) {
    if (!path.starts_with("store/") || fs::exists(out / path)) continue;
    fs::create_directories((out / path).parent_path());
    fs::rename(from / path, out / path);
  }
}

}  // namespace

BundleSummary write_bundle(const fs::path& run, const fs::path& file, const Store* weights,
                           const std::string& program) {
  FileLock lock(run / ".lock"), runners(run / ".runners");
  if (!lock.try_take() || !runners.is_free())
    fail(Exit::data, "{}: a run goes on in this folder; wait until it is over", run.string());
  Sources sources;
  add_folder(run, "run/", sources);
  if (weights != nullptr) add_store(run, *weights, sources);
  BundleSummary out;
  out.name = fs::weakly_canonical(run).filename().string(), out.at = file;
  if (!is_name(out.name)) fail(Exit::data, "'{}' cannot name a run; rename its folder", out.name);
  Json files = Json::array();
  for (const auto& [path, from] : sources) {
    const std::uint64_t bytes = fs::file_size(from);
    files.push_back({{"path", path}, {"bytes", bytes}, {"sha256", sha256_file(from)}});
    out.bytes += bytes;
  }
  out.files = sources.size();
  ArchiveWriter archive(file);
  archive.add("bundle.json", list_text({{"schema", schema},
                                        {"name", out.name},
                                        {"program", program},
                                        {"bytes", out.bytes},
                                        {"files", files}}));
  for (const Json& f : files)
    archive.add_file(f["path"], sources.at(f["path"]), f["bytes"].get<std::uint64_t>());
  archive.finish();
  out.digest = sha256_file(file);
  return out;
}

BundleSummary import_bundle(const fs::path& file, const fs::path& out,
                            const ImportOptions& options) {
  BundleSummary result;
  ArchiveReader archive(file);
  result.digest = sha256_file(file);
  if (!options.digest.empty() && options.digest != result.digest)
    refuse(file, fmt::format("its SHA-256 is {}, not {}", result.digest, options.digest));
  List list;
  const Json said = read_list(archive, file, list);
  for (const auto& [path, listed] : list) {
    if (listed.bytes > options.most_bytes - std::min(options.most_bytes, result.bytes))
      refuse(file, fmt::format("it holds more than {}; --max-size allows more",
                               format_bytes(static_cast<double>(options.most_bytes))));
    result.bytes += listed.bytes;
  }
  result.files = list.size();
  result.name = options.name.empty() ? said["name"].get<std::string>() : options.name;
  if (!is_name(result.name)) fail(Exit::usage, "'{}' cannot name a folder", result.name);
  result.at = out / "runs" / result.name;
  const Scaffold scaffold(out);
  unpack(archive, file, list, scaffold.path);
  for (const auto& [path, listed] : list)
    if (path.starts_with("store/") && fs::exists(out / path) &&
        sha256_file(out / path) != listed.digest)
      refuse(file, fmt::format("{} is there and differs", (out / path).string()));
  if (fs::exists(result.at)) {
    if (!lies_there(list, "run/", result.at))
      refuse(file, fmt::format("{} is there and differs; --as gives the run another name",
                               result.at.string()));
    result.was_there = true;
  }
  move_store(list, scaffold.path, out);
  if (!result.was_there) {
    fs::create_directories(result.at.parent_path());
    fs::create_directories(scaffold.path / "run");
    fs::rename(scaffold.path / "run", result.at);
  }
  return result;
}

}  // namespace pesuite
