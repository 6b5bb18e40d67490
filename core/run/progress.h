// What a user sees while cells run: lines that redraw themselves on a terminal, plain lines
// elsewhere, JSON events for programs.
#pragma once

#include <chrono>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "run/work.h"

namespace pesuite {

enum class ProgressMode { automatic, terminal, plain, json, none };
inline const std::vector<std::string> progress_modes = {"auto", "tty", "plain", "json", "none"};
ProgressMode parse_progress(std::string_view name);  // Error (usage)
bool use_color(std::FILE*);  // a terminal that is not told otherwise by NO_COLOR or TERM=dumb

class Progress {
 public:
  // `work` is the FLOPs of everything that is left to do.
  Progress(ProgressMode mode, std::size_t cells, std::size_t done, double work);
  ~Progress();

  void started(const std::string& cell, const std::string& label, double work);
  void update(const std::string& cell, const CellProgress&);
  void finished(const std::string& cell, const std::string& outcome, const std::string& detail);
  void say(const std::string& line);  // a line that stays
  void tick();                        // redraws when it is time

 private:
  struct Running {
    std::string label;
    CellProgress at;
    double work = 0, first_share = -1;
    std::chrono::steady_clock::time_point start;
  };
  double eta() const;  // seconds
  std::string line_of(const Running&) const;
  std::string total_line() const;
  void erase();
  void draw();
  void event(Json);

  ProgressMode mode_;
  std::size_t cells_, done_, failed_ = 0;
  double work_, finished_work_ = 0;
  std::chrono::steady_clock::time_point start_, last_draw_, last_plain_;
  std::map<std::string, Running> running_;
  std::size_t drawn_ = 0;  // lines on the terminal that will be redrawn
};

}  // namespace pesuite
