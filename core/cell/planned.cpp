#include "cell/planned.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace pesuite {

namespace {

constexpr std::array texts = {"cell", "training", "expression", "encoding", "task", "model"};

// The first digits of a digest, which also name a folder of the store.
bool is_id(const Json& text) {
  const auto id = text.get<std::string>();
  return id.size() == 16 && id.find_first_not_of("0123456789abcdef") == std::string::npos;
}
bool is_cell(const Json& c) {
  return c.is_object() && c.value("seed", Json()).is_number_integer() &&
         c.value("config", Json()).is_object() && c.value("evals", Json()).is_array() &&
         std::all_of(texts.begin(), texts.end(),
                     [&](const char* key) { return c.value(key, Json()).is_string(); }) &&
         is_id(c["cell"]) && is_id(c["training"]);
}

}  // namespace

Json read_plan(const fs::path& run) {
  const fs::path file = run / plan_file;
  if (!fs::exists(file))
    fail(Exit::data, "{} is missing: a run's folder has it, and it says what was computed",
         file.string());
  Json plan = Json::parse(read_file(file), nullptr, false);
  if (!plan.is_object())
    fail(Exit::data, "{} is damaged: it is no JSON object; take the folder from a copy",
         file.string());
  if (const Json schema = plan.value("schema", Json()); schema != plan_schema)
    fail(Exit::data, "{}: this is no plan that this program knows ({})", file.string(),
         plan_schema);
  const Json& cells = plan["cells"];
  if (!cells.is_array() || !std::all_of(cells.begin(), cells.end(), is_cell))
    fail(Exit::data,
         "{} is damaged: it does not say what its cells are; take the folder from a copy",
         file.string());
  return plan;
}

std::vector<std::string> cell_words(std::string name) {
  constexpr std::string_view dot = "·";
  for (std::size_t at; (at = name.find(dot)) != std::string::npos;)
    name.replace(at, dot.size(), "/");
  return split(name, '/');
}

}  // namespace pesuite
