// --help=complete: what may stand next on a verb's command line; completions/ has what asks in
// shells.
#include <algorithm>
#include <set>

#include "base/error.h"
#include "cli/arguments.h"
#include "cli/catalog.h"
#include "cli/verbs.h"
#include "model/preset.h"

namespace pesuite::cli {

// The words before the one that is completed, read as far as they are there.
class Completion {
 public:
  Completion(const Arguments& a, const std::vector<std::string>& words) : a_(a) {
    begun_ = words.empty() ? "" : words.back();
    for (std::size_t i = 0; i + 1 < words.size(); ++i) read(words[i]);
  }

  void print() const {
    const std::size_t equals = begun_.find('=');
    if (!awaited_.empty())
      offer_values(awaited_, begun_, "");
    else if (begun_.starts_with("--") && equals != std::string::npos)
      offer_values(begun_.substr(2, equals - 2), begun_.substr(equals + 1),
                   begun_.substr(0, equals + 1));
    else if (begun_.starts_with("-"))
      for (const auto& o : a_.flags_.options())
        offer(begun_, "--" + o->long_name(), o->description());
    else
      offer_positional();
  }

 private:
  void read(const std::string& word) {
    if (!awaited_.empty()) {
      given_[awaited_].push_back(word);
      awaited_.clear();
    } else if (word.starts_with("-")) {
      for (const auto& o : a_.flags_.options()) {
        const std::string flag = "--" + o->long_name();
        if (word.starts_with(flag + "="))
          given_[o->long_name()].push_back(word.substr(flag.size() + 1));
        else if (o->semantic()->min_tokens() > 0 &&
                 (word == flag || word == o->canonical_display_name(dashes)))
          awaited_ = o->long_name();
      }
    } else {
      places_.push_back(word);
    }
  }

  void offer_positional() const {
    std::vector<std::string> usage;  // its words behind those that name the verb
    for (const std::string& word : split(trim(a_.usage_.substr(a_.verb().size())), ' '))
      if (!word.starts_with("[--") && word != "[flags]") usage.push_back(word);
    if (places_.size() < usage.size()) {
      std::string words = usage[places_.size()];
      std::erase_if(words, [](char c) { return c == '[' || c == ']'; });
      if (std::none_of(words.begin(), words.end(), [](char c) { return c >= 'A' && c <= 'Z'; }))
        for (const std::string& word : split(words, '|')) offer(begun_, word, "");
    }
    if (const unsigned most = a_.positional_.max_total_count(); places_.size() < most)
      offer_values(a_.positional_.name_for_position(static_cast<unsigned>(places_.size())), begun_,
                   "");
  }

  // What a flag or a positional argument may be, with `before` in front.
  void offer_values(const std::string& name, const std::string& begun,
                    const std::string& before) const {
    const auto each = [&](const std::vector<std::string>& all) {
      for (const std::string& word : all)
        if (word.starts_with(begun)) offer("", before + word, "");
    };
    if (const auto it = a_.choices_.find(name); it != a_.choices_.end()) each(it->second);
    if (name == "suite") each(suites());
    if (name == "profile" && !places_.empty())
      each(load_suite(find_suite(places_.back())).profiles);
    if (name == "model-size") each(models());
    if (name == "name" && !places_.empty()) offer_values(places_.back(), begun, before);
    if (name == "model" && !places_.empty() && places_.back() == name) each(models());
    if (name == "encoding" || name == "pe-type" || name == "embedding" || name == "pretrained")
      each(catalog().encoding_names());
    if (name == "task") each(catalog().task_names());
  }

  Catalog catalog() const {
    const auto it = given_.find("plugin-path");
    return list_catalog(
        plugin_search_path(it == given_.end() ? std::vector<std::string>() : it->second));
  }
  static std::vector<std::string> suites() {
    std::set<std::string> names;  // one may lie in ./suites and beside the program
    for (const fs::path& file : known_suites()) names.insert(file.stem().string());
    return {names.begin(), names.end()};
  }
  static std::vector<std::string> models() {
    std::vector<std::string> names;
    for (const Preset& p : presets()) names.emplace_back(p.name);
    return names;
  }

  static constexpr int dashes = po::command_line_style::allow_dash_for_short;
  const Arguments& a_;
  std::string begun_, awaited_;  // the word to complete; the flag that it is the value of
  std::map<std::string, std::vector<std::string>> given_;
  std::vector<std::string> places_;
};

// A shell that completes has no use for errors: then there is nothing to offer.
void complete(const Arguments& a, const std::vector<std::string>& words) try {
  Completion(a, words).print();
} catch (const Error&) {
}

}  // namespace pesuite::cli
