#include "cell/schema.h"

#include <algorithm>

#include "base/error.h"
#include "model/fields.h"
#include "suite/suite.h"

namespace pesuite {

namespace {

// Describes fields as a suite may write them, with defaults, or as a cell holds them.
class SchemaWalk {
 public:
  enum class Of { suite, model_of_suite, cell };  // defaults of a suite's models are their preset's
  SchemaWalk(Of of, Json& schema) : of_(of), schema_(schema) {}

  template <class T>
  void operator()(const Field& f, const T& value) {
    if constexpr (std::is_same_v<T, bool>)
      add(f, {{"type", "boolean"}}, value);
    else if constexpr (std::is_enum_v<T>)
      add(f, {{"enum", value_names(value)}}, value_names(value)[static_cast<std::size_t>(value)]);
    else if constexpr (std::is_same_v<T, Extent>)
      add(f, {{"$ref", "#/definitions/extent"}}, value.text());
    else
      add(f, number(f, std::is_integral_v<T>), value);
  }
  void either(const Field& f, bool value, const char* no, const char* yes) {
    add(f, {{"enum", {no, yes}}}, value ? yes : no);
  }
  void pair(const Field& f, double a, double b) {
    add(f,
        {{"type", "array"},
         {"items", {{"type", "number"}, {"minimum", 0}, {"exclusiveMaximum", 1}}},
         {"minItems", 2},
         {"maxItems", 2}},
        {a, b});
  }
  void extents(const Field& f, const std::vector<Extent>&) {
    add(f, {{"type", "array"}, {"items", {{"$ref", "#/definitions/extent"}}}}, nullptr);
  }
  void constant(const Field& f, const char* text) { add(f, {{"const", text}}, nullptr); }
  template <class Body>
  void group(const Field& f, bool, Body body) {
    Json table = {{"type", "object"}};
    if (*f.help != 0) table["description"] = f.help;
    table["additionalProperties"] = false;
    SchemaWalk inner(of_, table);
    body(inner);
    properties()[f.name] = std::move(table);
    require(f);
  }

 private:
  Json number(const Field& f, bool whole) const {
    if (of_ != Of::cell && f.low >= 0) return {{"$ref", "#/definitions/number"}};
    Json j = {{"type", whole ? "integer" : "number"}};
    if (f.optional && !whole)  // where it is not 0
      j["exclusiveMinimum"] = 0;
    else
      j["minimum"] = static_cast<std::int64_t>(f.optional ? std::max(f.low, 1.0) : f.low);
    if (f.high <= 1) j["maximum"] = f.high;  // others bound what suites ask for
    return j;
  }
  void add(const Field& f, Json said, const Json& usual) {
    if (*f.help != 0) said["description"] = f.help;
    if (of_ == Of::suite && !usual.is_null()) said["default"] = usual;
    properties()[f.name] = std::move(said);
    require(f);
  }
  void require(const Field& f) {
    if (of_ != Of::cell || f.optional) return;
    Json& all = schema_["required"];
    if (std::find(all.begin(), all.end(), f.name) == all.end()) all.push_back(f.name);
  }
  Json& properties() { return schema_["properties"]; }

  Of of_;
  Json& schema_;
};

void describe_cells(Json& schema) {
  Json& model = schema["properties"]["model"];
  SchemaWalk of_model(SchemaWalk::Of::cell, model);
  const ModelConfig m;
  walk_model(m, of_model);
  walk_alphabet(m, of_model);
  Json& train = schema["properties"]["train"];
  SchemaWalk of_training(SchemaWalk::Of::cell, train);
  const TrainConfig t;
  walk_steps(t, of_training);
  walk_training(t, of_training);
  SchemaWalk of_schedule(SchemaWalk::Of::cell, schema["definitions"]["schedule"]);
  walk_schedule(t.schedule, of_schedule);
}

void describe_suites(Json& schema) {
  Json& definitions = schema["definitions"];
  SchemaWalk of_model(SchemaWalk::Of::model_of_suite,
                      definitions["models"]["additionalProperties"]);
  const ModelConfig m;
  walk_model(m, of_model);
  SchemaWalk of_training(SchemaWalk::Of::suite, definitions["train"]);
  TrainSettings t;
  t.lengths.kind = LengthKind::uniform;  // where the table is written
  walk_training(t, of_training);
  definitions["protocol"]["pattern"] = protocol_pattern("[0-9.]+(e[+]?[0-9]+)?[kKM]?");
  definitions["protocol"]["description"] = protocol_help();
}

}  // namespace

const std::vector<std::string>& made_schemas() {
  static const std::vector<std::string> all = {"cell.schema.json", "suite.schema.json",
                                               "record.schema.json"};
  return all;
}

Json made_schema(const std::string& name, Json schema) {
  if (name == "cell.schema.json")
    describe_cells(schema);
  else if (name == "suite.schema.json")
    describe_suites(schema);
  else if (name == "record.schema.json")
    schema["properties"]["coords"]["properties"]["protocol"]["pattern"] =
        protocol_pattern("[0-9]+") + "|^reported$";  // of imported results that do not say
  else
    PES_CHECK(false);
  return schema;
}

namespace {

constexpr std::size_t page = 120;

std::string on_one_line(const Json& j) {
  if (!j.is_structured()) return j.dump();
  std::string out;
  for (const auto& [key, value] : j.items())
    out += (out.empty() ? "" : ", ") + (j.is_object() ? Json(key).dump() + ": " : "") +
           on_one_line(value);
  return j.is_object() ? "{" + out + "}" : "[" + out + "]";
}

// `used`: characters of the line before and behind the value.
void write(const Json& j, std::size_t indent, std::size_t used, std::string& out) {
  const std::string line = on_one_line(j);
  if (!j.is_structured() || (used + line.size() <= page && indent > 0)) {
    out += line;
    return;
  }
  const bool flows =
      std::none_of(j.begin(), j.end(), [](const Json& e) { return e.is_structured(); });
  const std::string margin(indent + 2, ' ');
  out += j.is_object() ? "{" : "[";
  std::size_t left = j.size(), column = page;  // full: begin a line
  for (const auto& [key, value] : j.items()) {
    const std::string name = j.is_object() ? Json(key).dump() + ": " : "";
    const std::string end = --left > 0 ? "," : "";
    const std::size_t width = name.size() + on_one_line(value).size() + end.size();
    if (j.is_object() || !flows || column + 1 + width > page) {
      out += "\n" + margin + name;
      column = margin.size();
    } else {
      out += " ";
      ++column;
    }
    write(value, margin.size(), margin.size() + name.size() + end.size(), out);
    out += end;
    column += width;
  }
  out += "\n" + std::string(indent, ' ') + (j.is_object() ? "}" : "]");
}

}  // namespace

std::string schema_text(const Json& schema) {
  std::string out;
  write(schema, 0, 0, out);
  return out + "\n";
}

}  // namespace pesuite
