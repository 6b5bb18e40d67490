// What campaigns against the program share: a tiny suite, runs of it with a time limit, and the
// comparison of what two of them have left.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace pesuite::reliability {

namespace fs = std::filesystem;

class Command {  // a process, in a group of its own
 public:
  Command(const std::vector<std::string>& words, const std::vector<std::string>& environment,
          const fs::path& said);  // where its output goes
  bool running();
  // Waits, and ends it with SIGKILL after `seconds`.
  void wait(double seconds = 120);
  pid_t pid() const { return pid_; }
  // Exit code, or minus the signal. Only when it has ended.
  int code() const;
  bool hung() const { return hung_; }
  std::string said() const;

 private:
  pid_t pid_;
  fs::path said_;
  int status_ = 0;
  bool ended_ = false, hung_ = false;
};

std::vector<pid_t> children_of(pid_t);

// Two cells with one trunk, an evaluation at two lengths and attention maps: about a second.
fs::path write_suite(const fs::path& folder);
// `program` run SUITE --out OUT, one cell at a time or several.
std::vector<std::string> run_words(const fs::path& program, const fs::path& suite,
                                   const fs::path& out, int jobs);

// All numbers of an --out folder, as texts: records without times and memory, the bytes of weights.
// By file, for the names of cells are the same in each.
using Numbers = std::map<std::string, std::multiset<std::string>>;
Numbers numbers_in(const fs::path& out);
// The first difference, in a sentence; "" where all is equal.
std::string difference(const Numbers& wanted, const Numbers& found);
// Files that nothing will ever read again.
std::vector<std::string> litter_in(const fs::path& out);

}  // namespace pesuite::reliability
