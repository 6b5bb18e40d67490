#include "cell/outside.h"

#include "base/error.h"
#include "base/file.h"

namespace pesuite {

namespace {

std::string short_digest(const fs::path& file) {
  return "sha256:" + sha256_file(file).substr(0, 16);
}

template <class D>
Identity identity_of_library(const D& found) {
  static std::map<std::string, std::string>
      builds;  // of this process: a library that is loaded stays what it is
  const std::string path = found.library->path().string();
  auto it = builds.find(path);
  if (it == builds.end()) it = builds.emplace(path, short_digest(path)).first;
  return {{"version", found.descriptor->card->version},
          {"library", found.library->entry().name},
          {"build", it->second}};
}

constexpr std::string_view file_key = "file ";

// Only regular files: what a folder or a pipe holds, a plugin that reads them has to tell itself.
void add_files(Identity& identity, const pes_card& card, const Options& given) {
  const std::span<const pes_option* const> options = options_of(card);
  const std::vector<std::string> values = resolve_options(card, given, card.name);
  for (std::size_t i = 0; i < options.size(); ++i) {
    std::error_code error;
    if (options[i]->type == PES_TEXT && !values[i].empty() && fs::is_regular_file(values[i], error))
      identity[std::string(file_key) + values[i]] = short_digest(values[i]);
  }
}

void add_files_of(Identity& identity, const Catalog& catalog, const Sum& sum,
                  const std::string& name) {
  for (const Sum::Factor& f : sum.factors) {
    for (const Sum& layer : f.pattern) add_files_of(identity, catalog, layer, name);
    if (f.pattern.empty() && f.term.name == name)
      add_files(identity, *catalog.encoding(name).descriptor->card, f.term.options);
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

}  // namespace

Identity identity_of_encoding(const Catalog& catalog, const Sum& sum, const std::string& name) {
  Identity identity = identity_of_library(catalog.encoding(name));
  add_files_of(identity, catalog, sum, name);
  return identity;
}

Identity identity_of_task(const Catalog& catalog, const Expression& task, bool files) {
  const auto found = catalog.task(task.name);
  Identity identity = identity_of_library(found);
  if (files) add_files(identity, *found.descriptor->card, task.options);
  return identity;
}

void check_unchanged(const Catalog& catalog, const CellConfig& c, const std::string& encoding) {
  const Sum sum = parse_encoding(encoding).first;
  for (const std::string& name : names_of(sum)) {
    const auto planned = c.encoding_identity.find(name);
    if (planned == c.encoding_identity.end()) continue;
    compare_identity(identity_of_encoding(catalog, sum, name), planned->second,
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
  compare_identity(identity_of_task(catalog, x, digest == planned.end()), planned, reader);
}

}  // namespace pesuite
