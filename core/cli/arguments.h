// Flags of a verb, by Boost.Program_options: hyphen and underscore are equal in names, unknown
// flags get the nearest known one, --help prints what there is: for people, as a man page, or what
// may stand next on the command line.
#pragma once

#include <boost/program_options.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"

namespace pesuite::cli {

namespace po = boost::program_options;

class Arguments {
 public:
  // `usage` is the line behind "usage: pesuite ". Its words in small letters are what may stand
  // there, as in "list encoding|task [--json]"; those in capitals stand for names.
  Arguments(std::string usage, std::string about);

  // Adds flags: arguments.flags()("jobs,j", po::value<int>(), "cells at a time").
  po::options_description_easy_init flags() { return flags_.add_options(); }
  // Names of positional arguments; the last may repeat.
  void positional(const std::string& name, int count = 1);

  // False when --help was asked for and printed. Error (usage) for anything unknown or missing.
  bool parse(std::vector<std::string> words);
  // What else a flag's value may be than a name of what completion knows; completion offers it.
  void choices(const std::string& name, std::vector<std::string> words) {
    choices_[name] = std::move(words);
  }

  bool has(const std::string& name) const { return values_.count(name) > 0; }
  template <class T>
  T get(const std::string& name) const {
    return values_[name].as<T>();
  }
  template <class T>
  T get(const std::string& name, T otherwise) const {
    return has(name) ? values_[name].as<T>() : otherwise;
  }
  bool flag(const std::string& name) const { return has(name) && values_[name].as<bool>(); }
  std::string text(const std::string& name, const std::string& otherwise = "") const {
    return get<std::string>(name, otherwise);
  }
  // A number of at least `low`; Error (usage) below. `otherwise` where the flag is not given.
  int count(const std::string& name, int low = 0, int otherwise = 0) const;
  // --threads, 0 where it is 0 or not given; Error (usage) for more than any machine has use for.
  int threads() const;
  // A folder to write to, which is made where it is missing; Error (usage) where that cannot be.
  std::string folder(const std::string& name) const;
  std::vector<std::string> texts(const std::string& name) const {
    return get<std::vector<std::string>>(name, {});
  }
  std::vector<std::string> plugin_path() const { return texts("plugin-path"); }
  void require(const std::string& name, const std::string& what) const;

 private:
  friend class Completion;
  std::string verb() const;  // "run", "plugin check"
  void print_manual(const std::string& summary) const;
  std::string usage_, about_;
  po::options_description flags_{"flags"};
  po::options_description hidden_;
  po::positional_options_description positional_;
  po::variables_map values_;
  std::map<std::string, std::vector<std::string>> choices_;
};

// Prints what may stand in place of the last of `words`, as Arguments would read them.
void complete(const Arguments&, const std::vector<std::string>& words);

// A number with a default, which help shows as it was written.
inline po::typed_value<double>* real_value(double otherwise) {
  return po::value<double>()->default_value(otherwise, format_number(otherwise));
}

// One function a verb: words behind the verb in, exit code out.
int run_verb(const std::vector<std::string>&);
int plan_verb(const std::vector<std::string>&);
int status_verb(const std::vector<std::string>&);
int merge_verb(const std::vector<std::string>&);
int gc_verb(const std::vector<std::string>&);
int slurm_verb(const std::vector<std::string>&);
int validate_verb(const std::vector<std::string>&);
int config_verb(const std::vector<std::string>&);
int list_verb(const std::vector<std::string>&);
int info_verb(const std::vector<std::string>&);
int compare_verb(const std::vector<std::string>&);
int baseline_verb(const std::vector<std::string>&);
int regress_verb(const std::vector<std::string>&);
int train_verb(const std::vector<std::string>&);
int eval_verb(const std::vector<std::string>&);
int report_verb(const std::vector<std::string>&);
int reproduce_verb(const std::vector<std::string>&);
int data_verb(const std::vector<std::string>&);
int model_verb(const std::vector<std::string>&);
int bundle_verb(const std::vector<std::string>&);
int import_verb(const std::vector<std::string>&);
int export_verb(const std::vector<std::string>&);
int history_verb(const std::vector<std::string>&);
int bisect_verb(const std::vector<std::string>&);
int task_verb(const std::vector<std::string>&);
int sample_verb(const std::vector<std::string>&);
int app_verb(const std::vector<std::string>&);
int search_verb(const std::vector<std::string>&);
int bench_verb(const std::vector<std::string>&);
int calibrate_verb(const std::vector<std::string>&);
int doctor_verb(const std::vector<std::string>&);
int docs_verb(const std::vector<std::string>&);
int guide_verb(const std::vector<std::string>&);
int plugin_verb(const std::vector<std::string>&);

}  // namespace pesuite::cli
