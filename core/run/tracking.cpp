#include "run/tracking.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "base/file.h"
#include "base/text.h"
#include "cell/record.h"

namespace pesuite {

Tracking::~Tracking() {
  for (const Tracker& t : trackers_) {
    end_group(t.process.pid);
    ::waitpid(t.process.pid, nullptr, 0);
    ::close(t.process.output);
  }
}

fs::path Tracking::log(const std::string& tracker) const {
  return run_ / fmt::format("track-{}.log", tracker);
}

void Tracking::begin() {
  const TrackSettings& t = suite_.track;
  if (t.to.empty()) return;
  std::error_code error;
  fs::remove(run_ / live_file, error);
  for (const std::string& name : t.to) {
    const std::string folder = t.folder.empty() ? (run_ / "trackers" / name).string() : t.folder;
    WorkerCommand command;
    command.program = "/proc/self/exe";
    command.words = {"pesuite", "export", run_.string(), "--to", name};
    if (name == "mlflow")
      command.words.insert(command.words.end(), {"--url", t.url, "--experiment", t.collection});
    else
      command.words.insert(command.words.end(), {"-o", folder});
    const std::string at_once = join(command.words, " ");
    command.words.insert(command.words.end(), {"--follow", "--every", format_number(t.every)});
    command.log = log(name);
    fs::remove(command.log, error);
    trackers_.push_back({name, at_once, start_worker(command)});
  }
}

void Tracking::heard(const PlannedCell& c, const CellProgress& at) {
  if (trackers_.empty() || c.is_trunk || at.phase != "train" || at.step == 0) return;
  const auto now = std::chrono::steady_clock::now();
  auto& told = told_[c.id];
  if (now - told < std::chrono::seconds(1)) return;
  told = now;
  const TrainConfig& train = c.config.train;
  const Json line = make_record(context_of(suite_, c), "train",
                                {{"metric", "nll"},
                                 {"split", "train"},
                                 {"value", at.loss},
                                 {"coords", {{"train_len", train.length}}},
                                 {"step", at.step},
                                 {"tokens", at.step * train.batch * train.length},
                                 {"status", "ok"},
                                 {"ts", utc_timestamp()}});
  try {
    append_file(run_ / live_file, line.dump() + "\n");
  } catch (const std::exception&) {  // of a full disk, say: no reason to stop a training
  }
}

std::set<pid_t> Tracking::processes() const {
  std::set<pid_t> out;
  for (const Tracker& t : trackers_) out.insert(t.process.pid);
  return out;
}

std::vector<std::string> Tracking::end() {
  std::vector<std::string> notes;
  const auto until =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(suite_.track.patience);
  for (const Tracker& t : trackers_) {
    int status = 0;
    pid_t ended = 0;
    while ((ended = ::waitpid(t.process.pid, &status, WNOHANG)) == 0 &&
           std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (ended == 0) {
      end_group(t.process.pid);
      ::waitpid(t.process.pid, &status, 0);
    }
    ::close(t.process.output);
    if (ended != 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    notes.push_back(fmt::format(
        "{} was not told everything ({}); '{}' does that now", t.name,
        ended == 0 ? fmt::format("it took more than {} s after the run", suite_.track.patience)
                   : fmt::format("see {}", log(t.name).string()),
        t.export_command));
  }
  std::error_code error;
  if (!trackers_.empty()) fs::remove(run_ / live_file, error);
  trackers_.clear();
  return notes;
}

}  // namespace pesuite
