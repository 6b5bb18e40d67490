// What plugins say of a suite's tasks and encodings, each question asked once, in a child process:
// a plugin that crashes when asked fails its cells and no others.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "suite/suite.h"

namespace pesuite {

// Of a plugin: its definition, the library that has it, the bytes of that library, and the digest
// of what it reads.
using PluginIdentity = std::map<std::string, std::string>;

struct TaskFacts {  // what is not set is what holds for one that crashed
  std::string text, family;
  PluginIdentity identity;
  std::string note;
  bool crashed = false;
  int inputs = 1, outputs = 1, positions = 0, head = PES_LM;
  std::int64_t document = 0;
  std::array<std::int64_t, 3> documents{};  // by split
  struct AxisFacts {
    std::vector<double> values;
    std::vector<std::string> labels;
  };
  std::map<std::string, AxisFacts> axes;
  std::string refuses_fill, refuses_shots;  // why, as the end of a sentence
};

struct EncodingFacts {
  std::string text, written;      // the expression with all options, and as it was written
  std::string first, evaluation;  // its parts, with all options
  std::vector<std::string> switches;
  std::map<std::string, PluginIdentity> identity;  // by the encoding's name
  std::string note;
  bool crashed = false;
  double parameters = 0;  // of those that train last
};

class Facts {
 public:
  // Both on loan. What plugins refuse is a problem of the suite's line, reported once.
  Facts(const Catalog& catalog, Problems& problems) : catalog_(catalog), problems_(problems) {}

  // Null where the plugin refused. Lengths in tokens.
  const TaskFacts* task(const SuiteTask&, int train_length, int max_length, int reached);
  const EncodingFacts* encoding(const SuiteEncoding&, const ModelConfig&, int train_length,
                                int max_length);
  // Any other question with a number as its answer; nothing where it was refused.
  std::optional<int> number(const std::string& key, const std::string& where, int if_crashed,
                            const std::function<int()>& question);
  // Error where the question throws one.
  void try_out(const std::function<void()>& question) const;
  // The same with an answer.
  std::vector<int> numbers(const std::function<std::vector<int>()>& question) const;

  // What can be said about the expressions of a suite that cannot be planned.
  void check_names(const Suite&);

 private:
  template <class T>
  const T* once(std::map<std::string, std::optional<T>>& known, const std::string& key,
                const std::string& where, const std::function<void(T&)>& question);
  std::string text_of(const Expression& task) const;
  double parameters_of(const EncodingExpression&, const std::vector<const Sum*>&,
                       const ModelShape&) const;
  std::string unread_positions(const Sum&, const ModelConfig&) const;

  const Catalog& catalog_;
  Problems& problems_;
  std::map<std::string, std::optional<TaskFacts>> tasks_;
  std::map<std::string, std::optional<EncodingFacts>> encodings_;
  struct Number {
    int value = 0;
    bool crashed = false;
    std::string note;
  };
  std::map<std::string, std::optional<Number>> numbers_;
};

}  // namespace pesuite
