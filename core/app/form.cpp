#include "app/form.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "report/lines.h"

namespace pesuite::app {

namespace {

namespace fs = std::filesystem;

// Sections of a task's page: its headline, what to expect, how to read it.
Json pages_of(const fs::path& file) {
  Json out = Json::object();
  std::error_code error;
  if (!fs::exists(file, error)) return out;
  const std::string text = read_file(file);
  for (const auto& [key, title] : {std::pair{"why", "**Why it matters.**"},
                                   {"expect", "**In and out of distribution.**"},
                                   {"read", "**Reading the result.**"},
                                   {"chance", "**Chance and shortcuts.**"}}) {
    const std::size_t at = text.find(title);
    if (at == std::string::npos) continue;
    const std::size_t from = at + std::string_view(title).size();
    std::string paragraph = trim(text.substr(from, text.find("\n\n", from) - from));
    std::erase(paragraph, '`');
    std::replace(paragraph.begin(), paragraph.end(), '\n', ' ');
    out[key] = paragraph;
  }
  return out;
}

fs::path task_pages() {
  std::error_code error;
  for (const fs::path& p : {program_folder() / PESUITE_DOCS_DIR, fs::path(PESUITE_DOCS_SOURCE_DIR)})
    if (fs::exists(p / "tasks", error)) return p / "tasks";
  return {};
}

// A text as TOML writes it.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      out += '\\', out += c;
    else if (u < 0x20 || u == 0x7f)
      out += fmt::format("\\u{:04X}", u);
    else
      out += c;
  }
  return out + "\"";
}

[[noreturn]] void refuse(const std::string& key, const char* wanted) {
  fail(Exit::usage, "'{}' wants {}", key, wanted);
}

class Form {
 public:
  explicit Form(const Json& j) : j_(j) {
    if (!j.is_object()) fail(Exit::usage, "a form is an object of names and values");
  }
  std::string text(const char* key, const std::string& otherwise) const {
    if (!j_.contains(key)) return otherwise;
    constexpr std::size_t longest = 2000;
    if (!j_[key].is_string() || j_[key].get<std::string>().size() > longest)
      refuse(key, "a text of at most 2000 bytes");
    const std::string s = j_[key].get<std::string>();
    if (!is_utf8(s)) refuse(key, "UTF-8");
    return s;
  }
  std::string number(const char* key, double otherwise) const {
    if (!j_.contains(key)) return format_number(otherwise);
    if (!j_[key].is_number() || !std::isfinite(j_[key].get<double>())) refuse(key, "a number");
    return j_[key].is_number_integer() ? j_[key].dump() : format_number(j_[key].get<double>());
  }
  bool flag(const char* key, bool otherwise) const {
    if (!j_.contains(key)) return otherwise;
    if (!j_[key].is_boolean()) refuse(key, "true or false");
    return j_[key].get<bool>();
  }
  // At most 64 texts or whole numbers.
  std::vector<std::string> list(const char* key, std::vector<std::string> otherwise) const {
    if (!j_.contains(key) && !otherwise.empty()) return otherwise;
    constexpr std::size_t most = 64;
    if (!j_.contains(key) || !j_[key].is_array() || j_[key].empty() || j_[key].size() > most)
      refuse(key, "a list of 1 to 64");
    std::vector<std::string> out;
    for (const Json& item : j_[key])
      if (item.is_number_integer())
        out.push_back(item.dump());
      else if (item.is_string() && is_utf8(item.get<std::string>()))
        out.push_back(quoted(item.get<std::string>()));
      else
        refuse(key, "texts or whole numbers");
    return out;
  }
  // An inline table.
  std::string options() const {
    std::vector<std::string> out;
    if (!j_.contains("options")) return "";
    if (!j_["options"].is_object()) refuse("options", "an object");
    for (const auto& [name, value] : j_["options"].items())
      if (value.is_string() && is_utf8(value.get<std::string>()))
        out.push_back(quoted(name) + " = " + quoted(value.get<std::string>()));
      else if (value.is_boolean() || (value.is_number() && std::isfinite(value.get<double>())))
        out.push_back(quoted(name) + " = " + value.dump());
      else
        refuse("options." + name, "a text, a number, true or false");
    return out.empty() ? "" : "options   = {" + join(out, ", ") + "}\n";
  }

 private:
  const Json& j_;
};

// Of an encoding that stands alone, in every report.
std::size_t place_of(const std::string& name) {
  RunData alone;
  alone.encodings = alone.expressions = {name};
  const SeriesStyle style = styles_of(alone)[0];
  std::size_t i = 0;
  while (i + 1 < palette_size && series_style(i) != style) ++i;
  return i;
}

}  // namespace

Json choices(const Catalog& catalog) {
  Json out = {{"tasks", Json::array()}, {"encodings", Json::array()}, {"palette", Json::array()}};
  for (std::size_t i = 0; i < palette_size; ++i)
    out["palette"].push_back({{"colour", series_style(i).colour}, {"dash", series_style(i).dash}});
  const fs::path pages = task_pages();
  for (const std::string& name : catalog.task_names()) {
    Json card = catalog.task_card(name);
    card["page"] = pages_of(pages / (name + ".md"));
    card.erase("library");
    out["tasks"].push_back(std::move(card));
  }
  for (const std::string& name : catalog.encoding_names()) {
    Json card = catalog.encoding_card(name);
    card.erase("library"), card.erase("bibtex");
    card["place"] = place_of(name);
    out["encodings"].push_back(std::move(card));
  }
  out["defaults"] = {
      {"name", "app"}, {"task", "kback_copy"}, {"train_len", 64}, {"lengths", {"1x", "2x"}},
      {"steps", 300},  {"batch", 64},          {"width", 128},    {"layers", 2},
      {"heads", 4},    {"dropout", 0.1},       {"lr", 3e-4},      {"seeds", {1337}},
      {"maps", true},  {"examples", 640}};
  return out;
}

std::string suite_text(const Json& form) {
  const Form f(form);
  std::string out = "schema = \"pesuite.suite/1\"\n";
  out += "name   = " + quoted(f.text("name", "app")) + "\n";
  out += fmt::format("\n[defaults]\nseeds = [{}]\n", join(f.list("seeds", {"1337"}), ", "));
  out += fmt::format(
      "\n[model.app]\npreset  = \"sandbox\"\nwidth   = {}\nlayers  = {}\nheads   = {}\n"
      "dropout = {}\n",
      f.number("width", 128), f.number("layers", 2), f.number("heads", 4),
      f.number("dropout", 0.1));
  out += fmt::format(
      "\n[train]\nbudget     = \"{} steps\"\nbatch      = {}\n"
      "optimizer  = {{lr = {}, weight_decay = 0.0, betas = [0.9, 0.999], eps = 1e-8, clip = 1.0}}\n"
      "schedule   = {{kind = \"constant\", warmup = \"0 steps\"}}\neval_every = \"10%\"\n",
      f.number("steps", 300), f.number("batch", 64), f.number("lr", 3e-4));
  for (const std::string& e : f.list("encodings", {}))
    out += fmt::format("\n[[encoding]]\nexpr = {}\n", e);
  out += fmt::format("\n[[task]]\ntask      = {}\n{}train_len = {}\n",
                     quoted(f.text("task", "kback_copy")), f.options(), f.number("train_len", 64));
  out +=
      fmt::format("\n[[eval]]\nlengths  = [{}]\nexamples = {}\n",
                  join(f.list("lengths", {"\"1x\"", "\"2x\""}), ", "), f.number("examples", 640));
  if (f.flag("maps", true)) out += "\n[[eval]]\nlengths = [\"1x\"]\nprobes  = [\"maps\"]\n";
  return out;
}

}  // namespace pesuite::app
