#include "cli/named_cell.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "cell/cell.h"
#include "cell/planned.h"
#include "cli/find_run.h"

namespace pesuite::cli {

namespace {

struct Names {
  fs::path run;
  std::vector<std::string> words;
};

Names names_of(const std::string& text) {
  Names out;
  fs::path folder;
  std::vector<std::string> behind;
  for (const std::string& part : cell_words(text)) {
    folder /= part.empty() && folder.empty() ? "/" : part;
    if (!part.empty()) behind.push_back(part);
    std::error_code error;
    if (fs::exists(folder / plan_file, error)) out.run = folder, behind.clear();
  }
  out.words = behind;
  if (out.run.empty() && !behind.empty()) {
    out.run = run_named(behind[0], "results", plan_file);
    out.words.erase(out.words.begin());
  }
  return out;
}

std::string name_of(const Json& cell) {
  return fmt::format("{}/{}/{}/{}", cell["encoding"].get<std::string>(),
                     cell["task"].get<std::string>(), cell["model"].get<std::string>(),
                     cell["seed"].get<std::int64_t>());
}
bool has_names(const Json& cell, const std::vector<std::string>& words) {
  const std::vector<std::string> names = split(name_of(cell), '/');
  return std::all_of(words.begin(), words.end(), [&](const std::string& w) {
    return std::find(names.begin(), names.end(), w) != names.end() || w == "s" + names.back();
  });
}
// So many of them that a reader finds his own.
std::string some(const std::vector<const Json*>& cells) {
  std::vector<std::string> names;
  for (const Json* c : cells) {
    if (names.size() == 8) {
      names.push_back(fmt::format("{} more", cells.size() - names.size()));
      break;
    }
    names.push_back(name_of(*c));
  }
  return join(names, ", ");
}

Json cell_named(const std::string& text, const Json& plan, const std::vector<std::string>& words) {
  std::vector<const Json*> all, found;
  for (const Json& c : plan["cells"]) {
    all.push_back(&c);
    if (has_names(c, words)) found.push_back(&c);
  }
  if (found.empty()) fail(Exit::usage, "{}: the run has no such cell; it has {}", text, some(all));
  if (found.size() > 1)
    fail(Exit::usage, "{} fits {} cells: {}; name one by its encoding, task, model and seed", text,
         found.size(), some(found));
  return *found[0];
}

std::string others_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& item : fs::directory_iterator(folder, error))
    names.push_back(item.path().stem().string());
  if (names.empty()) return "'pesuite run' of the suite computes what is missing";
  std::sort(names.begin(), names.end());
  return "there is " + join(names, ", ");
}

}  // namespace

std::optional<fs::path> checkpoint_of_cell(const std::string& name) {
  Names n = names_of(name);
  if (n.run.empty()) return std::nullopt;
  std::string which = "last";
  if (!n.words.empty() && (n.words.back() == "best" || n.words.back().starts_with("step_")))
    which = n.words.back(), n.words.pop_back();
  const Json cell = cell_named(name, read_plan(n.run), n.words);
  const auto training = cell["training"].get<std::string>();
  const fs::path folder = Store(fs::absolute(n.run).lexically_normal().parent_path() / "../store")
                              .checkpoints(training)
                              .lexically_normal();
  const fs::path found = folder / (which + ".safetensors");
  if (!fs::exists(found))
    fail(Exit::data, "{}: there is no {}; {}", name, found.string(), others_in(folder));
  const auto trained = cell["expression"].get<std::string>();
  if (const std::size_t swap = trained.find(" => "); swap != std::string::npos)
    fail(Exit::usage,
         "{} was evaluated with another encoding than it trained with; give {} and "
         "--encoding '{}'",
         name, found.string(), trained.substr(swap + 4));
  return found;
}

}  // namespace pesuite::cli
