// Runs another program to its end.
#pragma once

#include <string>
#include <vector>

namespace pesuite {

struct Printed {
  std::string out, err;
  int code = 0;  // 128 + the signal that ended it
};
// What `words`, a program (a file, or a name on PATH) and its arguments, print; stdin is empty.
// Error (data) with the reason where it cannot be started.
Printed printed_by(const std::vector<std::string>& words);

}  // namespace pesuite
