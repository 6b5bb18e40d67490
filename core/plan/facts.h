// What plugins say of a suite's tasks and encodings, each question asked once, in a child process:
// a plugin that crashes when asked fails its cells and no others.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cell/outside.h"
#include "suite/suite.h"

namespace pesuite {

struct TaskFacts {  // what is not set is what holds for one that crashed
  std::string text, family;
  Identity identity;
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
  bool hangs = true;                        // on the longest length
};

struct EncodingFacts {
  std::string text, written;      // the expression with all options, and as it was written
  std::string first, evaluation;  // its parts, with all options
  std::vector<std::string> switches;
  std::map<std::string, Identity> identity;  // by the encoding's name
  std::string note;
  bool crashed = false;
  double parameters = 0;    // of those that train last
  std::vector<bool> hangs;  // on the longest length: first, switches, evaluation; none: all do
};

struct Lengths {  // tokens
  int train = 0;
  int trained = 0;  // longest that training shows, to any encoding of the suite
  int longest = 0;  // of training and evaluations
  int reached = 0;  // of a document, see CellEval::reach
};

class Facts {
 public:
  // Both on loan. What plugins refuse is a problem of the suite's line, reported once.
  // `limit`: seconds, and `memory`: bytes, that a suite gives each cell, in which it has to answer
  // too; 0: none for time, and most of the machine's memory.
  Facts(const Catalog& catalog, Problems& problems, double limit = 0, double memory = 0)
      : catalog_(catalog), problems_(problems), limit_(limit), memory_(memory) {}

  // Null where the plugin refused.
  const TaskFacts* task(const SuiteTask&, const Lengths&);
  const EncodingFacts* encoding(const SuiteEncoding&, const ModelConfig&, const Lengths&);
  // Any other question with a number as its answer; nothing where it was refused.
  std::optional<int> number(const std::string& key, const std::string& where, int if_crashed,
                            const std::function<int()>& question);
  // Error where the question throws one. Who crashes has said nothing; its cells will fail.
  void try_out(const std::function<void()>& question) const;
  // The same with an answer.
  std::vector<int> numbers(const std::function<std::vector<int>()>& question,
                           std::vector<int> if_crashed) const;

  // What can be said about the expressions of a suite that cannot be planned.
  void check_names(const Suite&);

 private:
  template <class T>
  const T* once(std::map<std::string, std::optional<T>>& known, const std::string& key,
                const std::string& where, const std::function<void(T&)>& question);
  // Asks in a process of its own. What was waited for once in vain is not waited for long again.
  Json ask(const std::string& whom, double seconds, const std::function<Json()>& question) const;
  std::string text_of(const Expression& task) const;
  double parameters_of(const EncodingExpression&, const std::vector<const Sum*>&, const ModelShape&,
                       QkNorm at_first) const;
  std::vector<bool> hang_of(const std::vector<const Sum*>&, const ModelShape&, int trained) const;
  std::string no_fast_pair(const Sum&, int train_length) const;
  std::string unread_positions(const Sum&, const ModelConfig&) const;

  const Catalog& catalog_;
  Problems& problems_;
  double limit_, memory_;
  mutable std::set<std::string> waited_in_vain_;
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
