#include "app/jobs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace pesuite::app {

namespace {

using Clock = std::chrono::steady_clock;

// A child with stdout and stderr in a file, in a group of its own.
pid_t start(const std::vector<std::string>& words, const fs::path& out, const fs::path& errors) {
  std::vector<char*> arguments;
  for (const std::string& w : words) arguments.push_back(const_cast<char*>(w.c_str()));
  arguments.push_back(nullptr);
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  constexpr int anew = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
  const int to = ::open(out.c_str(), anew, 0644);
  const int told = errors == out ? ::dup(to) : ::open(errors.c_str(), anew, 0644);
  const pid_t parent = ::getpid();
  const pid_t child = nothing < 0 || to < 0 || told < 0 ? -1 : ::fork();
  if (child != 0) {
    for (const int file : {nothing, to, told}) ::close(file);
    if (child < 0) fail(Exit::internal, "no process could be started that writes {}", out.string());
    return child;
  }
  ::setpgid(0, 0);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);  // a thread of the app waits for what it blocks
  ::prctl(PR_SET_PDEATHSIG, SIGINT);           // where the app is killed, it keeps a checkpoint
  if (::getppid() != parent) ::_exit(127);
  ::dup2(nothing, STDIN_FILENO), ::dup2(to, STDOUT_FILENO), ::dup2(told, STDERR_FILENO);
  ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);  // sockets
  ::execvp(arguments[0], arguments.data());
  ::_exit(127);
}

// Its exit code, or 128 and the signal; -1: it is at work.
int ended(pid_t child) {
  int status = 0;
  if (::waitpid(child, &status, WNOHANG) == 0) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::set<std::string> runs_in(const fs::path& out) {
  std::set<std::string> all;
  std::error_code error;
  for (const auto& item : fs::directory_iterator(out / "runs", error))
    all.insert(item.path().filename().string());
  return all;
}

// The last lines of a file, of at most 2000 bytes.
std::string end_of(const fs::path& file) {
  std::error_code error;
  if (!fs::exists(file, error)) return "";
  const std::string text = trim(read_file(file));
  return text.size() <= 2000 ? text : "... " + text.substr(text.size() - 2000);
}

// The run that a text names, as "OUT/runs/NAME/report.md": of a suite that was run before.
std::string run_named_in(const std::string& text) {
  constexpr std::string_view mark = "/runs/";
  const std::size_t at = text.rfind(mark);
  if (at == std::string::npos) return "";
  const std::string rest = text.substr(at + mark.size());
  return rest.substr(0, rest.find_first_of("/\n "));
}

constexpr auto tick = std::chrono::milliseconds(100);

}  // namespace

Json to_json(const Job& j) {
  return {{"id", j.id},   {"name", j.name}, {"state", j.state}, {"device", j.device},
          {"run", j.run}, {"why", j.why},   {"form", j.form}};
}

int run_program(const std::vector<std::string>& words, std::string& said, double seconds) {
  static std::atomic<int> number = 0;
  const fs::path file =
      fs::temp_directory_path() / fmt::format("pesuite_app_{}_{}", ::getpid(), ++number);
  const pid_t child = start(words, file, file);
  const Clock::time_point end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                   std::chrono::duration<double>(seconds));
  int code = -1;
  while ((code = ended(child)) < 0) {
    if (Clock::now() > end) ::kill(-child, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  std::error_code error;
  said += read_file(file).substr(0, 1 << 16);
  fs::remove(file, error);
  return code;
}

Jobs::Jobs(fs::path program, fs::path out, std::vector<std::string> flags)
    : program_(std::move(program)),
      out_(std::move(out)),
      folder_(out_ / "app"),
      flags_(std::move(flags)) {
  fs::create_directories(folder_);
  for (const auto& item : fs::directory_iterator(folder_)) {
    if (item.path().extension() != ".json") continue;
    const Json j = Json::parse(read_file(item.path()), nullptr, false);
    if (!j.is_object() || !j.contains("id") || !j["id"].is_string()) continue;
    Job job{j["id"],
            j.value("name", ""),
            j.value("state", ""),
            j.value("device", ""),
            j.value("run", ""),
            j.value("why", ""),
            j.value("form", Json())};
    if (job.state == "running") job.state = "queued";  // the app ended before it did
    jobs_.push_back(std::move(job));
  }
  std::sort(jobs_.begin(), jobs_.end(), [](const Job& a, const Job& b) {
    return std::pair(a.id.size(), a.id) < std::pair(b.id.size(), b.id);
  });
  worker_ = std::thread([this] { work(); });
}

Jobs::~Jobs() {
  {
    const std::lock_guard held(lock_);
    ends_ = true;
  }
  changed_.notify_all();
  worker_.join();
}

void Jobs::keep(const Job& j) {
  write_file_atomic(folder_ / (j.id + ".json"), to_json(j).dump(1) + "\n");
}

Job* Jobs::at(const std::string& id) {
  const auto it =
      std::find_if(jobs_.begin(), jobs_.end(), [&](const Job& j) { return j.id == id; });
  return it == jobs_.end() ? nullptr : &*it;
}

Job Jobs::add(const std::string& suite, const std::string& name, const std::string& device,
              Json form) {
  const std::lock_guard held(lock_);
  std::int64_t last = 0;
  for (const Job& j : jobs_) last = std::max<std::int64_t>(last, std::atoll(j.id.c_str()));
  Job j{std::to_string(last + 1), name, "queued", device, "", "", std::move(form)};
  write_file_atomic(suite_of(j.id), suite);
  keep(j);
  jobs_.push_back(j);
  changed_.notify_all();
  return j;
}

std::vector<Job> Jobs::all() const {
  const std::lock_guard held(lock_);
  return jobs_;
}

std::optional<Job> Jobs::find(const std::string& id) const {
  const std::lock_guard held(lock_);
  const auto it =
      std::find_if(jobs_.begin(), jobs_.end(), [&](const Job& j) { return j.id == id; });
  return it == jobs_.end() ? std::nullopt : std::optional(*it);
}

bool Jobs::cancel(const std::string& id) {
  const std::lock_guard held(lock_);
  Job* j = at(id);
  if (j == nullptr || (j->state != "queued" && j->state != "running")) return false;
  if (j->state == "running") {
    cancelled_ = id;
  } else {
    j->state = "cancelled";
    keep(*j);
  }
  return true;
}

std::string Jobs::said(const std::string& id, std::size_t from) const {
  std::ifstream log(folder_ / (id + ".log"), std::ios::binary);
  log.seekg(static_cast<std::streamoff>(from));
  const std::string more{std::istreambuf_iterator<char>(log), {}};
  return more.substr(0, more.rfind('\n') + 1);  // nothing where no line has ended
}

void Jobs::work() {
  for (;;) {
    Job next;
    {
      std::unique_lock held(lock_);
      const auto waiting = [&] {
        return std::find_if(jobs_.begin(), jobs_.end(),
                            [](const Job& j) { return j.state == "queued"; });
      };
      changed_.wait(held, [&] { return ends_ || waiting() != jobs_.end(); });
      if (ends_) return;
      const auto it = waiting();
      it->state = "running";
      keep(*it);
      next = *it;
    }
    run(next);
  }
}

void Jobs::run(Job j) {
  const std::set<std::string> before = runs_in(out_);
  std::vector<std::string> words = {program_.string(),
                                    "run",
                                    suite_of(j.id).string(),
                                    "--out",
                                    out_.string(),
                                    "--progress",
                                    "json",
                                    "--rerun",
                                    "failed"};  // who asks again means it
  if (!j.device.empty()) words.insert(words.end(), {"--device", j.device});
  words.insert(words.end(), flags_.begin(), flags_.end());
  const fs::path errors = folder_ / (j.id + ".errors");
  const pid_t child = start(words, folder_ / (j.id + ".log"), errors);
  int code = -1;
  bool asked = false, ends = false, cancelled = false;
  while ((code = ended(child)) < 0) {
    std::this_thread::sleep_for(tick);
    const std::lock_guard held(lock_);
    ends = ends_, cancelled = cancelled_ == j.id;
    if ((ends || cancelled) && !std::exchange(asked, true))
      ::kill(child, SIGINT);  // it keeps a checkpoint
    if (j.run.empty())
      for (const std::string& name : runs_in(out_))
        if (!before.contains(name)) {
          at(j.id)->run = j.run = name;
          keep(*at(j.id));
        }
  }
  const std::lock_guard held(lock_);
  Job& job = *at(j.id);
  cancelled_.clear();
  job.state = cancelled ? "cancelled" : ends ? "queued" : code == 0 ? "done" : "failed";
  job.why = job.state == "failed" ? end_of(errors) : "";
  if (job.run.empty()) job.run = run_named_in(end_of(errors));
  keep(job);
}

}  // namespace pesuite::app
