// Who computes a cell just now. Processes of several machines run the same suite into one store:
// each takes a lease of a cell before it starts it and renews it while it goes on, as a file in the
// cell's folder. One that is no longer renewed has lapsed, and another process may take it; should
// two compute the same cell nevertheless, they write the same.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "cell/cell.h"

namespace pesuite {

struct Holder {
  std::string host, since, heard;  // since when, and when it last renewed its lease; UTC
  std::string phase;               // "train" or "eval 1024"; "": it has not begun
  long pid = 0;
  std::int64_t started = 0;  // of that process, in ticks since its machine did
  std::int64_t step = 0, steps = 0;
  double share = 0;         // of the whole cell
  double seconds_left = 0;  // estimated; 0: unknown
};

class Leases {
 public:
  static constexpr std::chrono::seconds lapse{60}, renewal{5};

  explicit Leases(const Store& store) : store_(store) {}

  // True where it is this process's now. A lease of a process of this machine that is gone has
  // lapsed at once; of another machine's, when it was not renewed for `lapse` while this object
  // looked: clocks of machines differ.
  bool claim(const std::string& cell);
  void renew(const std::string& cell, const Holder& now);  // host, pid and times are filled in
  void release(const std::string& cell);
  // Another process whose lease has not lapsed.
  std::optional<Holder> other(const std::string& cell);

 private:
  struct Seen {
    std::string text;
    std::chrono::steady_clock::time_point since;
  };
  bool lapsed(const std::string& cell, const std::string& text);

  const Store& store_;
  std::map<std::string, Seen> seen_;         // leases of other machines
  std::map<std::string, std::string> mine_;  // cells, and since when
};

// What a lease says, whoever looks; nothing where there is none.
std::optional<Holder> read_lease(const Store&, const std::string& cell);
// Whether its process is known to be gone, which only its own machine knows.
bool is_gone(const Holder&);

}  // namespace pesuite
