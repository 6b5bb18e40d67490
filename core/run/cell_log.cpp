#include "run/cell_log.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace pesuite {

namespace {

fs::path file_in(const fs::path& run) {
  return run / cell_log_name;
}
std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
  return text;
}
std::string ended_line(const std::string& cell, PlannedCell::State state,
                       const std::string& reason) {
  return fmt::format("ended\t{}\t{}\t{}\t{}\n", cell, state_name(state), utc_timestamp(),
                     one_line(reason));
}
bool is_over(PlannedCell::State s) {
  return s != PlannedCell::State::planned && s != PlannedCell::State::begun;
}

double number(std::string_view text) {
  double x = 0;
  std::from_chars(text.data(), text.data() + text.size(), x);
  return x;
}

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> out;
  for (std::size_t at = 0; at <= line.size();) {
    const std::size_t end = std::min(line.find('\t', at), line.size());
    out.push_back(line.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

void note_line(RunStanding& s, std::unordered_map<std::string, std::size_t>& places,
               std::string_view line) {
  const std::vector<std::string_view> f = fields_of(line);
  if (f.size() == 5 && f[0] == "cell") {
    CellStanding c;
    c.id = f[1], c.label = f[2], c.is_trunk = f[3] == "trunk", c.seconds = number(f[4]);
    places[c.id] = s.cells.size();
    s.cells.push_back(std::move(c));
  } else if (f.size() == 5 && f[0] == "ended") {
    const auto at = places.find(std::string(f[1]));
    if (at == places.end()) return;
    CellStanding& c = s.cells[at->second];
    c.state = f[2], c.since = f[3], c.reason = f[4];
  }
}

}  // namespace

void write_cell_log(const fs::path& run, const std::vector<PlannedCell>& cells) {
  std::string text;
  for (const PlannedCell& c : cells)
    text += fmt::format("cell\t{}\t{}\t{}\t{:.6g}\n", c.id, one_line(c.label()),
                        c.is_trunk ? "trunk" : "cell", c.seconds);
  for (const PlannedCell& c : cells)
    if (is_over(c.state)) text += ended_line(c.id, c.state, c.reason);
  write_file_atomic(file_in(run), text);
}

void log_cell(const fs::path& run, const std::string& cell, PlannedCell::State state,
              const std::string& reason) {
  append_file(file_in(run), ended_line(cell, state, reason));
}

RunStanding read_standing(const fs::path& run, const Store& store) {
  if (!fs::exists(file_in(run)))
    fail(Exit::data, "{} has no list of its cells; 'pesuite run' of its suite writes it",
         run.string());
  const std::string text = read_file(file_in(run));
  RunStanding s;
  std::unordered_map<std::string, std::size_t> places;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    note_line(s, places, std::string_view(text).substr(at, end - at));
    at = end + 1;
  }
  for (CellStanding& c : s.cells) {
    if (c.state != "done" && c.state != "diverged") c.holder = read_lease(store, c.id);
    if (c.holder && is_gone(*c.holder)) c.holder.reset();
    if (c.holder) {
      ++s.running;
      s.work_left += c.holder->seconds_left;
    } else if (c.state == "done" || c.state == "diverged" || c.state == "failed") {
      if (!c.is_trunk) ++(c.state == "done" ? s.done : c.state == "failed" ? s.failed : s.diverged);
    } else {
      s.left += c.is_trunk ? 0 : 1;
      s.work_left += c.seconds;
    }
  }
  if (s.running > 0) s.seconds_left = s.work_left / static_cast<double>(s.running);
  return s;
}

}  // namespace pesuite
