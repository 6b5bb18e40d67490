// Tasks: [[task]].
#include <algorithm>
#include <cmath>

#include "suite/read.h"

namespace pesuite {

namespace {

// An option's value as the text that plugins read.
std::string option_text(const Json& j) {
  if (j.is_string()) return j.get<std::string>();
  if (j.is_array()) {
    std::vector<std::string> parts;
    for (const Json& e : j) parts.push_back(e.dump());
    return "[" + join(parts, ", ") + "]";
  }
  return j.dump();
}

}  // namespace

void read_task(Reader& r, const std::string& name, SuiteTask& t) {
  t.id = r.text("id", name);
  t.where = r.where("task");
  try {
    t.expression = parse_expression(r.text("task", name), "task");
  } catch (const Error& e) {
    r.problem("task", fmt::format("is no task: {}", e.what()));
  }
  r.table("options", [&](Reader& o) {
    for (const auto& [key, value] : o.json().items()) {
      o.find(key);
      if (!t.expression.options.emplace(key, option_text(value)).second)
        o.problem(key, "is given twice, here and in 'task'");
    }
  });
  if (r.find("train_len") != nullptr)  // else the model's
    t.train_length = static_cast<int>(r.integer("train_len", 0, 0, 1 << 24));
  t.trained_on = r.text("trained_on", "");
  r.number("weight", 0, 0, 1e6);  // of reports, which read it themselves
  t.exact_match = r.choice("score", {"acc", "em"}, 0) == 1;
  r.table("train", [&](Reader& s) {
    s.defaults_are("");  // those of [train], which are noted there
    read_train(s, t.train);
  });
}

}  // namespace pesuite
