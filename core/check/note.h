// What a check is doing right now.
#pragma once

#include <cstddef>
#include <string>

namespace pesuite::checks {

// What a check is doing, in memory that its process shares with the one that waits for it: the end
// of the sentence when the check crashes.
class Note {
 public:
  Note();
  ~Note();
  Note(const Note&) = delete;
  Note& operator=(const Note&) = delete;
  void say(const std::string& what);
  std::string text() const;
  void clear() { say(""); }

 private:
  static constexpr std::size_t size = 512;
  char* memory_;
};

}  // namespace pesuite::checks
