#include "run/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

#include "base/error.h"
#include "base/text.h"

namespace pesuite {

using Clock = std::chrono::steady_clock;

namespace {

double seconds_since(Clock::time_point t) {
  return std::chrono::duration<double>(Clock::now() - t).count();
}

std::size_t terminal_columns() {
  winsize w{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 20 ? w.ws_col : 100;
}

std::string fitted(std::string line, std::size_t columns) {
  if (display_width(line) < columns) return line;
  std::size_t width = 0, at = 0;
  while (at < line.size() && width + 2 < columns) {
    ++at;
    while (at < line.size() && (line[at] & 0xC0) == 0x80) ++at;
    ++width;
  }
  return line.substr(0, at) + "…";
}

std::string bar(double share, std::size_t width) {
  const auto full =
      static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * static_cast<double>(width));
  std::string out;
  for (std::size_t i = 0; i < width; ++i) out += i < full ? "█" : "░";
  return out;
}

}  // namespace

bool use_color(std::FILE* file) {
  const char* term = std::getenv("TERM");
  const char* no_color = std::getenv("NO_COLOR");
  return isatty(fileno(file)) != 0 && (no_color == nullptr || *no_color == 0) && term != nullptr &&
         std::string_view(term) != "dumb";
}

ProgressMode parse_progress(std::string_view name) {
  for (std::size_t i = 0; i < progress_modes.size(); ++i)
    if (name == progress_modes[i]) return static_cast<ProgressMode>(i);
  fail(Exit::usage, "there is no progress mode '{}'; known are {}", name,
       join(progress_modes, ", "));
}

Progress::Progress(ProgressMode mode, std::size_t cells, std::size_t done, double work)
    : mode_(mode),
      cells_(cells),
      done_(done),
      work_(work),
      start_(Clock::now()),
      last_plain_(start_) {
  if (mode_ == ProgressMode::automatic) {
    const char* term = std::getenv("TERM");
    const bool terminal = isatty(STDERR_FILENO) != 0 && std::getenv("CI") == nullptr &&
                          term != nullptr && std::string_view(term) != "dumb";
    mode_ = terminal ? ProgressMode::terminal : ProgressMode::plain;
  }
}
Progress::~Progress() {
  erase();
}

double Progress::eta() const {
  double done = finished_work_;
  for (const auto& [id, r] : running_)
    done += r.first_share < 0 ? 0 : (r.at.share - r.first_share) * r.work;
  const double spent = seconds_since(start_);
  return done > 0 && spent > 0.5 ? (work_ - done) * spent / done : Observation::none;
}

std::string Progress::line_of(const Running& r) const {
  std::string at = r.at.phase.empty() ? "starting" : r.at.phase;
  if (r.at.phase == "train")
    at = fmt::format("step {}/{}  loss {:.3f}  {} tok/s", r.at.step, r.at.steps, r.at.loss,
                     format_count(r.at.tokens_per_second));
  return fmt::format("{}  {}", r.label, at);
}

std::string Progress::total_line() const {
  return fmt::format("[{}/{}]{}  elapsed {}  ETA {}", done_, cells_,
                     failed_ > 0 ? fmt::format("  {} failed", failed_) : "",
                     format_seconds(seconds_since(start_)), format_seconds(eta()));
}

void Progress::event(Json j) {
  std::fputs((j.dump() + "\n").c_str(), stdout);
  std::fflush(stdout);
}

void Progress::started(const std::string& cell, const std::string& label, double work) {
  running_[cell] = {label, {}, work, -1, Clock::now()};
  if (mode_ == ProgressMode::json) event({{"event", "started"}, {"cell", cell}, {"label", label}});
  if (mode_ == ProgressMode::plain) say(fmt::format("{}  started", label));
  tick();
}

void Progress::update(const std::string& cell, const CellProgress& p) {
  const auto it = running_.find(cell);
  if (it == running_.end()) return;
  if (it->second.first_share < 0) it->second.first_share = p.share;
  it->second.at = p;
  tick();
}

void Progress::finished(const std::string& cell, const std::string& outcome,
                        const std::string& detail) {
  const auto it = running_.find(cell);
  if (it == running_.end()) return;
  const Running r = it->second;
  running_.erase(it);
  finished_work_ += r.work;
  const bool good = outcome == "done" || outcome == "diverged";
  done_ += good ? 1 : 0;
  failed_ += good || outcome == "stopped" ? 0 : 1;
  if (mode_ == ProgressMode::json) {
    event({{"event", "finished"},
           {"cell", cell},
           {"label", r.label},
           {"outcome", outcome},
           {"detail", detail},
           {"seconds", seconds_since(r.start)}});
  } else if (mode_ != ProgressMode::none) {
    say(fmt::format("[{}/{}] {}  {} in {}{}", done_, cells_, r.label, outcome,
                    format_seconds(seconds_since(r.start)), detail.empty() ? "" : ": " + detail));
  }
}

void Progress::say(const std::string& line) {
  if (mode_ == ProgressMode::none) return;
  erase();
  std::fputs((printable(line) + "\n").c_str(), stderr);
  std::fflush(stderr);
  if (mode_ == ProgressMode::terminal) draw();
}

void Progress::erase() {
  if (drawn_ == 0) return;
  std::fputs(fmt::format("\x1b[{}F\x1b[J", drawn_).c_str(), stderr);
  drawn_ = 0;
}

void Progress::draw() {
  const std::size_t columns = terminal_columns();
  std::string text;
  for (const auto& [id, r] : running_) {
    text += fitted(fmt::format("{} {}", bar(r.at.share, 12), line_of(r)), columns) + "\n";
    ++drawn_;
  }
  text += fitted(total_line(), columns) + "\n";
  ++drawn_;
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
}

void Progress::tick() {
  if (mode_ == ProgressMode::terminal && seconds_since(last_draw_) > 0.1) {
    erase();
    draw();
    last_draw_ = Clock::now();
  }
  const double pause = mode_ == ProgressMode::json ? 1 : 10;  // programs read faster than people
  if ((mode_ == ProgressMode::plain || mode_ == ProgressMode::json) &&
      seconds_since(last_plain_) > pause) {
    last_plain_ = Clock::now();
    for (const auto& [id, r] : running_) {
      if (mode_ == ProgressMode::plain) {
        say(line_of(r));
      } else {
        const double left = eta();
        event({{"event", "progress"},
               {"cell", id},
               {"label", r.label},
               {"phase", r.at.phase},
               {"step", r.at.step},
               {"steps", r.at.steps},
               {"loss", r.at.loss},
               {"tokens_per_s", r.at.tokens_per_second},
               {"eta_s", std::isfinite(left) ? Json(left) : Json(nullptr)}});
      }
    }
    if (mode_ == ProgressMode::plain && !running_.empty()) say(total_line());
  }
}

}  // namespace pesuite
