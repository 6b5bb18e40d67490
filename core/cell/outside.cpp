#include "cell/outside.h"

#include <sys/stat.h>

#include "base/error.h"
#include "base/file.h"

namespace pesuite {

namespace {

// What of a file changes with its content, without reading it.
std::string mark_of(const fs::path& file) {
  struct stat s {};
  if (::stat(file.c_str(), &s) != 0) return "";
  return fmt::format("{} {} {} {}.{:09} {}.{:09}", s.st_dev, s.st_ino, s.st_size, s.st_mtim.tv_sec,
                     s.st_mtim.tv_nsec, s.st_ctim.tv_sec, s.st_ctim.tv_nsec);
}

// The digest as it was when it was first asked for, or as it is `now`. A file is not read again
// before it has changed.
std::string digest_of(const fs::path& file, bool now) {
  struct Known {
    std::string mark, digest;
  };
  static std::map<fs::path, Known> all;
  const std::string mark = mark_of(file);
  const auto it = all.find(file);
  if (it != all.end() && (!now || it->second.mark == mark)) return it->second.digest;
  const std::string digest = "sha256:" + sha256_file(file).substr(0, 16);
  all[file] = {mark, digest};
  return digest;
}

// What is loaded stays what it is, whatever happens to its file.
template <class D>
Identity identity_of_library(const D& found, bool now) {
  return {{"version", found.descriptor->card->version},
          {"library", found.library->entry().name},
          {"build", digest_of(found.library->path(), now)}};
}

constexpr std::string_view file_key = "file ";

// Only regular files: what a folder or a pipe holds, a plugin that reads them has to tell itself.
void add_files(Identity& identity, const pes_card& card, const Options& given, bool now) {
  const std::span<const pes_option* const> options = options_of(card);
  const std::vector<std::string> values = resolve_options(card, given, card.name);
  for (std::size_t i = 0; i < options.size(); ++i) {
    std::error_code error;
    if (options[i]->type != PES_TEXT || values[i].empty()) continue;
    if (fs::is_fifo(values[i], error))
      fail(Exit::data,
           "{}={}: this is a pipe, and files are read more than once; give a regular file",
           options[i]->name, values[i]);
    if (fs::is_regular_file(values[i], error))
      identity[std::string(file_key) + values[i]] = digest_of(values[i], now);
  }
}

void add_files_of(Identity& identity, const Catalog& catalog, const Sum& sum,
                  const std::string& name, bool now) {
  for (const Sum::Factor& f : sum.factors) {
    for (const Sum& layer : f.pattern) add_files_of(identity, catalog, layer, name, now);
    if (f.pattern.empty() && f.term.name == name)
      add_files(identity, *catalog.encoding(name).descriptor->card, f.term.options, now);
  }
}

// `planned` may hold more: files that the same encoding reads at another time.
void compare_identity(const Identity& now, const Identity& planned, const std::string& reader) {
  for (const auto& [key, value] : now) {
    const bool is_file = key.starts_with(file_key);
    if (!is_file && key != "build") continue;
    const auto it = planned.find(key);
    if (it == planned.end() && !is_file) continue;  // not known when it was planned
    if (it != planned.end() && it->second == value) continue;
    fail(Exit::data,
         "{} has changed since the cell was planned, and {} reads it; run the suite again, which "
         "plans a cell for what it is now",
         is_file ? key.substr(file_key.size()) : "a plugin's library", reader);
  }
  for (const auto& [key, value] : planned)
    if (key.starts_with(file_key) && !fs::exists(key.substr(file_key.size())))
      fail(Exit::data, "{} is gone since the cell was planned, and {} reads it; put it back",
           key.substr(file_key.size()), reader);
}

Identity encoding_identity(const Catalog& catalog, const Sum& sum, const std::string& name,
                           bool now) {
  Identity identity = identity_of_library(catalog.encoding(name), now);
  add_files_of(identity, catalog, sum, name, now);
  return identity;
}

Identity task_identity(const Catalog& catalog, const Expression& task, bool files, bool now) {
  const auto found = catalog.task(task.name);
  Identity identity = identity_of_library(found, now);
  if (files) add_files(identity, *found.descriptor->card, task.options, now);
  return identity;
}

Identity weights_identity(const std::string& folder, bool now) {
  Identity identity;
  std::error_code error;  // of a folder that is gone nothing is left
  for (const auto& item : fs::directory_iterator(folder, error)) {
    const std::string name = item.path().filename().string();
    if (name == "config.json" || name == "model.safetensors.index.json" ||
        item.path().extension() == ".safetensors")
      identity[std::string(file_key) + item.path().string()] = digest_of(item.path(), now);
  }
  return identity;
}

}  // namespace

Identity identity_of_weights(const std::string& folder) {
  return weights_identity(folder, false);
}
void check_unchanged_weights(const CellConfig& c) {
  if (!c.weights.empty())
    compare_identity(weights_identity(c.weights, true), c.weights_identity, "the model");
}

Identity identity_of_encoding(const Catalog& catalog, const Sum& sum, const std::string& name) {
  return encoding_identity(catalog, sum, name, false);
}
Identity identity_of_task(const Catalog& catalog, const Expression& task, bool files) {
  return task_identity(catalog, task, files, false);
}

void check_unchanged(const Catalog& catalog, const CellConfig& c, const std::string& encoding) {
  const Sum sum = parse_encoding(encoding).first;
  for (const std::string& name : names_of(sum)) {
    const auto planned = c.encoding_identity.find(name);
    if (planned == c.encoding_identity.end()) continue;
    compare_identity(encoding_identity(catalog, sum, name, true), planned->second,
                     "encoding '" + name + "'");
  }
}

void check_unchanged(const Catalog& catalog, const Task& task, const std::string& text,
                     const Identity& planned) {
  const Expression x = parse_expression(text, "task");
  const std::string reader = "task '" + x.name + "'";
  const auto digest = planned.find("digest");
  if (digest != planned.end() &&
      digest->second != (task.info().digest != nullptr ? task.info().digest : ""))
    fail(Exit::data,
         "the text that {} reads has changed since the cell was planned; run the suite again, "
         "which plans a cell for what it is now",
         reader);
  compare_identity(task_identity(catalog, x, digest == planned.end(), true), planned, reader);
}

}  // namespace pesuite
