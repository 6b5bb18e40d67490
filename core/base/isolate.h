// Runs code that may crash, such as a plugin's create(), in a child process of its own.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace pesuite {

struct Isolated {
  enum class End { returned, threw, crashed, timed_out } end = End::returned;
  std::string text;  // what body returned, or the sentence of what went wrong
  int code = 0;      // Exit code of the Error that was thrown, or the signal
};

// Forks, calls body, and hands back its result. To be used before threads exist: a lock that one of
// them holds is never released in the child. Once more where it got SIGKILL: nobody kills itself
// so, and perhaps another process took the memory.
Isolated run_isolated(const std::function<std::string()>& body, double seconds);

// The same for each of `bodies`, `at_once` of them side by side.
std::vector<Isolated> run_isolated(const std::vector<std::function<std::string()>>& bodies,
                                   double seconds, int at_once);

std::string signal_name(int signal);  // "SIGSEGV (segmentation fault)"

// For a child: who asks for more gets none, instead of another process being ended for it.
void limit_memory(double bytes);

double peak_memory();     // most bytes that this process has used

}  // namespace pesuite
