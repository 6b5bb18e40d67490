#include "plugin/manifest.h"

#include <algorithm>
#include <stdexcept>

#include "base/elf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json_error.h"
#include "base/text.h"
#include "base/toml.h"
#include "plugin/card.h"
#include "plugin/library.h"

namespace pesuite {

namespace {

constexpr const char* schema = "pesuite.manifest/1";

// A text, number, boolean or list of them as TOML, which is JSON here but for one character.
std::string value_text(const Json& value) {
  std::string out = value.dump();
  for (std::size_t at = 0; (at = out.find('\x7f', at)) != std::string::npos;)
    out.replace(at, 1, "\\u007f");
  return out;
}

// Keys of plain values first, then tables: TOML counts what follows a table's heading as its own.
void write_table(std::string& out, const std::string& path, const Json& table) {
  for (const auto& [key, value] : table.items())
    if (!value.is_object() && !is_array_of_tables(value))
      out += fmt::format("{} = {}\n", key, value_text(value));
  for (const auto& [key, value] : table.items()) {
    const std::string inner = joined_path(path, key);
    if (value.is_object()) {
      out += fmt::format("\n[{}]\n", inner);
      write_table(out, inner, value);
    } else if (is_array_of_tables(value)) {
      for (const Json& item : value) {
        out += fmt::format("\n[[{}]]\n", inner);
        write_table(out, inner, item);
      }
    }
  }
}

// All that a manifest says, but for its digest.
Json document_of(const Manifest& m) {
  Json out = {{"schema", schema},
              {"build", m.build},
              {"library",
               {{"name", m.name},
                {"version", m.version},
                {"licence", m.licence},
                {"abi_major", m.abi_major},
                {"abi_minor", m.abi_minor}}}};
  if (m.needs_minor > 0) out["library"]["needs_minor"] = m.needs_minor;
  if (!m.encodings.empty()) out["encoding"] = m.encodings;
  if (!m.tasks.empty()) out["task"] = m.tasks;
  return out;
}

// Texts of plugins are bytes; what no reader should meet in them is marked as such.
Json readable(Json j) {
  if (j.is_string()) return printable(j.get_ref<const std::string&>(), true);
  if (j.is_structured())
    for (Json& part : j) part = readable(part);
  return j;
}

bool is_texts(const Json& j) {
  return j.is_array() &&
         std::all_of(j.begin(), j.end(), [](const Json& e) { return e.is_string(); });
}

// Throws Json::exception or std::out_of_range where a card lacks a field that every reader needs,
// or a field is of another kind than readers take it for.
void check_card(const Json& card) {
  const auto need = [](bool right, const std::string& key) {
    if (!right) throw std::out_of_range(fmt::format("'{}' is of the wrong kind", key));
  };
  for (const char* key : {"name", "summary", "version", "taxonomy"})
    need(card.at(key).is_string(), key);
  for (const auto& [key, value] : card.items())
    need(key == "options" || value.is_string() || is_texts(value), key);
  for (const Json& option : card.at("options")) {
    for (const char* key : {"name", "type", "default", "help"})
      need(option.at(key).is_string(), key);
    need(option.contains("low") == option.contains("high"), "low");
    for (const auto& [key, value] : option.items())
      need(value.is_string() || (key == "choices" ? is_texts(value) : value.is_number()), key);
  }
}

}  // namespace

std::string build_of(const fs::path& library) {
  const std::string id = build_id(library);
  return id.empty() ? "sha256:" + sha256_file(library) : "gnu:" + id;
}

fs::path manifest_path(const fs::path& library) {
  fs::path out = library;
  return out.replace_extension(".toml");
}

Manifest make_manifest(const Library& library) {
  const pes_library& e = library.entry();
  const Json names = readable({e.name, e.version, e.licence == nullptr ? "" : e.licence});
  Manifest m{.name = names[0],
             .version = names[1],
             .licence = names[2],
             .abi_major = e.abi_major,
             .abi_minor = e.abi_minor,
             .needs_minor = needs_minor_of(e),
             .build = build_of(library.path()),
             .encodings = {},
             .tasks = {}};
  for (const pes_encoding* d : library.encodings())
    m.encodings.push_back(readable(encoding_json(*d)));
  for (const pes_task* d : library.tasks()) m.tasks.push_back(readable(card_json(*d->card)));
  return m;
}

std::string to_toml(const Manifest& m, const fs::path& library) {
  std::string content;
  write_table(content, "", document_of(m));
  return fmt::format(
      "# What {} offers. Written by 'pesuite plugin manifest', and not to be edited.\n"
      "digest = \"{}\"\n{}",
      library.filename().string(), sha256(content), content);
}

Manifest parse_manifest(const std::string& text, const std::string& file) {
  const Toml toml = parse_toml(text, file, false);
  for (const Toml::Problem& p : toml.problems) fail(Exit::plugin, "{}: {}", p.where, p.what);
  const Json& j = toml.root;
  if (!j.contains("schema")) fail(Exit::plugin, "{}: names no schema, so it is no manifest", file);
  if (j["schema"] != schema)
    fail(Exit::plugin, "{}: has the schema {}, this pesuite reads \"{}\"", file, j["schema"].dump(),
         schema);
  try {
    const std::string digest = j.at("digest");  // of all that follows its line
    const std::size_t end = text.find('\n', text.find(digest));
    if (end == std::string::npos || digest != sha256(std::string_view(text).substr(end + 1)))
      fail(Exit::plugin, "{}: is cut or was edited: its digest is of something else", file);
    for (const char* kind : {"encoding", "task"})
      if (j.contains(kind))
        for (const Json& card : j[kind]) check_card(card);
    const Json& library = j.at("library");
    return {library.at("name"),
            library.at("version"),
            library.at("licence"),
            library.at("abi_major"),
            library.at("abi_minor"),
            library.value("needs_minor", 0u),
            j.at("build"),
            j.value("encoding", std::vector<Json>()),
            j.value("task", std::vector<Json>())};
  } catch (const Json::exception& e) {
    fail(Exit::plugin, "{}: is cut or was edited: {}", file, json_error(e));
  } catch (const std::out_of_range& e) {
    fail(Exit::plugin, "{}: is cut or was edited: {}", file, e.what());
  }
}

namespace {

// Cards by name, so that a place is "encoding/NAME/options/NAME/default".
Json by_name(const Json& j) {
  if (!is_array_of_tables(j) || !j[0].contains("name")) {
    if (!j.is_object()) return j;
    Json out = Json::object();
    for (const auto& [key, value] : j.items()) out[key] = by_name(value);
    return out;
  }
  Json out = Json::object();
  for (const Json& element : j) out[element.at("name").get<std::string>()] = by_name(element);
  return out;
}

std::string said(const Json& document, const Json::json_pointer& place) {
  return document.contains(place) ? document.at(place).dump() : "nothing";
}

}  // namespace

std::string difference(const Manifest& found, const Manifest& wanted) {
  const Json a = by_name(document_of(found)), b = by_name(document_of(wanted));
  const Json changes = Json::diff(a, b);
  if (changes.empty()) return "";
  const auto path = changes[0]["path"].get<std::string>();
  const Json::json_pointer place(path);
  return fmt::format("{}: it says {}, the library {}", path.substr(1), said(a, place),
                     said(b, place));
}

}  // namespace pesuite
