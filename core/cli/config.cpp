// config show: every value of a suite as it will be used, and where it comes from.
#include <fmt/format.h>

#include "base/text.h"
#include "cli/arguments.h"
#include "cli/suite_flags.h"

namespace pesuite::cli {

namespace {

// "train", or "task.copy" of "task.copy.train_len": what belongs together.
std::string group_of(const ReadValue& v) {
  const std::vector<std::string> keys = split(v.path, '.');
  const bool named =
      keys.size() > 2 && (keys[0] == "model" || keys[0] == "encoding" || keys[0] == "task" ||
                          keys[0] == "eval" || keys[0] == "hypothesis");
  return keys.size() < 2 ? "" : named ? keys[0] + "." + keys[1] : keys[0];
}

// On one line, and short enough for a table.
std::string value_text(const Json& v) {
  constexpr std::size_t widest = 48;
  std::string text = v.is_string()         ? v.get<std::string>()
                     : v.is_number_float() ? format_number(v.get<double>())
                                           : v.dump();
  for (char& c : text)
    if (c == '\n') c = ' ';
  std::size_t end = widest;
  while (end < text.size() && (text[end] & 0xC0) == 0x80) --end;  // not inside a character
  return text.size() <= widest ? text : text.substr(0, end) + "…";
}

void print_values(const Suite& suite) {
  std::vector<std::vector<std::string>> rows = {{"key", "value", "from"}};
  std::vector<std::string> groups;
  for (const ReadValue& v : suite.values) {
    rows.push_back({v.path, value_text(v.value), v.origin});
    groups.push_back(group_of(v));
  }
  const std::vector<std::string> lines = split(trim(plain_table(rows)), '\n');
  const std::size_t head = lines.size() - groups.size();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::size_t at = i - head;
    if (i > head && groups[at] != groups[at - 1]) fmt::print("\n");
    fmt::print("{}\n", lines[i]);
  }
}

}  // namespace

int config_verb(const std::vector<std::string>& words) {
  Arguments a(
      "config show SUITE [flags]",
      "Prints every value of a suite as it will be used, and where it comes from: file, line "
      "and column, a flag, a profile, a preset or the default.");
  add_suite_flags(a);
  a.flags()("json", po::bool_switch(), "a list of {key, value, origin}");
  a.positional("what");
  a.positional("suite");
  if (!a.parse(words)) return 0;
  a.require("what", "what to do ('show')");
  if (a.text("what") != "show")
    fail(Exit::usage, "config has no '{}'; it has show: pesuite config show SUITE", a.text("what"));
  a.require("suite", "the suite");
  const Suite suite = load_suite(find_suite(a.text("suite")), suite_choices(a));
  if (!a.flag("json")) {
    print_values(suite);
    for (const std::string& filter : a.texts("only"))
      fmt::print("\ncells left by --only {}\n", filter);
    return 0;
  }
  Json out = {{"schema", "pesuite.config/1"}, {"suite", suite.name}, {"values", Json::array()}};
  for (const ReadValue& v : suite.values)
    out["values"].push_back({{"key", v.path}, {"value", v.value}, {"origin", v.origin}});
  fmt::print("{}\n", out.dump(1));
  return 0;
}

}  // namespace pesuite::cli
