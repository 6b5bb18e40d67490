#include "suite/keys.h"

#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "plugin/library.h"

namespace pesuite {

namespace {

Json read_schema() {
  for (const fs::path& folder :
       {program_folder() / PESUITE_SCHEMAS_DIR, fs::path(PESUITE_SCHEMAS_SOURCE_DIR)})
    if (fs::exists(folder / "suite.schema.json"))
      return Json::parse(read_file(folder / "suite.schema.json"));
  fail(Exit::data, "suite.schema.json is not beside the program: install pesuite as a whole");
}

// Walks the schema and collects keys.
class Walk {
 public:
  explicit Walk(const Json& schema) : schema_(schema) { visit(schema, ""); }
  std::vector<SuiteKey> keys;

 private:
  const Json& definition(const Json& node) const {
    if (!node.contains("$ref")) return node;
    return schema_.at(Json::json_pointer(node.at("$ref").get<std::string>().substr(1)));
  }

  void visit(const Json& node, const std::string& path) {
    const Json& d = definition(node);
    for (const char* children : {"items", "additionalProperties"})
      if (d.contains(children) && d.at(children).is_object()) visit(d.at(children), path);
    if (d.contains("oneOf"))
      for (const Json& choice : d.at("oneOf")) visit(choice, path);
    if (!d.contains("properties")) return;
    for (const auto& [key, child] : d.at("properties").items()) {
      const std::string name = path.empty() ? key : path + "." + key;
      keys.push_back({name, values(child), help(child)});
      if (name != "profile") visit(child, name);  // whose keys are those of the suite
    }
  }

  std::string values(const Json& node) const {
    if (node.contains("$ref")) {
      const std::string name = node.at("$ref").get<std::string>().substr(14);  // #/definitions/
      if (name == "number" || name == "protocol") return name;
      if (name == "extent") return "stretch";
    }
    const Json& d = definition(node);
    std::vector<std::string> all;
    if (d.contains("const")) return text(d.at("const"));
    if (d.contains("enum"))
      for (const Json& value : d.at("enum")) all.push_back(text(value));
    if (d.contains("oneOf"))
      for (const Json& choice : d.at("oneOf"))
        if (const std::string v = values(choice); all.empty() || all.back() != v) all.push_back(v);
    if (all.size() == 2 && all[1] == "list of " + all[0]) return all[0] + ", or a list";
    if (!all.empty()) return join(all, " | ");
    const Json types = d.value("type", Json("any"));
    if (types.is_array()) return join(types.get<std::vector<std::string>>(), " | ");
    const auto type = types.get<std::string>();
    if (type == "array" && d.contains("items")) return "list of " + values(d.at("items"));
    return type == "object" ? "table" : type == "string" ? "text" : type;
  }

  std::string help(const Json& node) const {
    const Json& d = definition(node);
    const std::string said = node.value("description", d.value("description", std::string()));
    const Json usual = node.value("default", d.value("default", Json()));
    if (usual.is_null()) return said;
    return fmt::format("{}{}Default: {}.", said, said.empty() ? "" : " ", text(usual));
  }

  static std::string text(const Json& value) {
    return value.is_string() ? value.get<std::string>() : value.dump();
  }

  const Json& schema_;
};

}  // namespace

std::vector<SuiteKey> suite_keys(const std::string& at) {
  const Json schema = read_schema();
  std::vector<SuiteKey> all = Walk(schema).keys, found;
  std::vector<std::string> names;
  for (SuiteKey& k : all) {
    names.push_back(k.name);
    if (at.empty() || k.name == at || k.name.starts_with(at + ".")) found.push_back(std::move(k));
  }
  if (found.empty()) fail(Exit::usage, "suites have no key '{}'{}", at, did_you_mean(at, names));
  return found;
}

}  // namespace pesuite
