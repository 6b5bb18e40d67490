#include "tests/reliability/campaign.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "model/metrics.h"
#include "model/safetensors.h"

namespace pesuite::reliability {

Command::Command(const std::vector<std::string>& words, const std::vector<std::string>& environment,
                 const fs::path& said)
    : said_(said) {
  std::vector<std::string> texts = words, variables = environment;
  std::vector<char*> argv;
  for (std::string& word : texts) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_ = ::fork();
  PES_CHECK(pid_ >= 0);
  if (pid_ > 0) return;
  ::setpgid(0, 0);
  const int output = ::open(said.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  for (std::string& v : variables) ::putenv(v.data());
  ::execv(argv[0], argv.data());
  ::_exit(127);
}

bool Command::running() {
  if (!ended_) ended_ = ::waitpid(pid_, &status_, WNOHANG) == pid_;
  return !ended_;
}

void Command::wait(double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (running()) {
    if (Clock::now() > end && !hung_) {
      hung_ = true;
      for (const pid_t child : children_of(pid_)) ::kill(child, SIGKILL);
      ::kill(pid_, SIGKILL);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

int Command::code() const {
  PES_CHECK(ended_);
  return WIFEXITED(status_) ? WEXITSTATUS(status_) : -WTERMSIG(status_);
}
std::string Command::said() const {
  return read_file(said_);
}

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> out;
  std::ifstream in(fmt::format("/proc/{0}/task/{0}/children", parent));
  for (pid_t child; in >> child;) out.push_back(child);
  return out;
}

fs::path write_suite(const fs::path& folder) {
  const fs::path file = folder / "tiny.toml";
  write_file_atomic(file, R"(name = "tiny"
[defaults]
seeds = [1]
[model.tiny]
preset = "micro"
layers = 1
width  = 16
heads  = 2
[train]
steps      = 40
batch      = 2
log_every  = 10
eval_every = 20
checkpoint_every    = 4
validation_examples = 2
[[encoding]]
expr = "rope"
[[encoding]]
expr = "rope -> linear(factor=2) @ 50%"
id   = "switched"
[[task]]
task      = "kback_copy"
options   = {k = 2, symbols = 8}
train_len = 16
[[eval]]
lengths  = ["1x", "2x"]
examples = 4
[[eval]]
lengths = ["1x"]
probes  = ["maps"]
)");
  return file;
}

std::vector<std::string> run_words(const fs::path& program, const fs::path& suite,
                                   const fs::path& out, int jobs) {
  return {program,       "run",        suite,  "--out", out, "--jobs", std::to_string(jobs),
          "--no-report", "--progress", "plain"};
}

namespace {

// Lines of records without what no computation yields.
std::multiset<std::string> lines_in(const fs::path& file) {
  std::multiset<std::string> out;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    Json j = Json::parse(line, nullptr, false);
    if (!j.is_object()) {
      out.insert("no record: " + line);
      continue;
    }
    const Json metric = j.value("metric", Json());
    if (metric.is_null() || is_cost(metric.get<std::string>())) continue;
    for (const char* key : {"ts", "wall_s"}) j.erase(key);
    out.insert(j.dump());
  }
  return out;
}

std::multiset<std::string> weights_in(const fs::path& file) {
  std::multiset<std::string> out;
  const std::string bytes = read_file(file);
  const SafetensorsReader reader(file);
  for (const auto& [name, t] : reader.tensors())
    out.insert(name + " " + sha256(std::string_view(bytes).substr(t.begin, t.end - t.begin)));
  return out;
}

}  // namespace

Numbers numbers_in(const fs::path& out) {
  Numbers all;
  for (const auto& item : fs::recursive_directory_iterator(out)) {
    const fs::path& file = item.path();
    std::string name = fs::relative(file, out);
    if (name.starts_with("runs/"))  // whose names begin with a time
      name = "records/" + name.substr(std::min(name.size(), name.find('-')));
    if (file.filename() == "status.jsonl") continue;  // of a finished cell nobody needs it
    if (file.extension() == ".jsonl") all[name] = lines_in(file);
    if (file.extension() == ".safetensors") all[name] = weights_in(file);
  }
  return all;
}

std::string difference(const Numbers& wanted, const Numbers& found) {
  for (const auto& [name, lines] : wanted) {
    const auto it = found.find(name);
    if (it == found.end()) return name + " is missing";
    if (it->second == lines) continue;
    if (it->second.size() != lines.size())
      return fmt::format("{} holds {} lines or tensors, wanted {}", name, it->second.size(),
                         lines.size());
    for (const std::string& line : it->second)
      if (!lines.contains(line)) return fmt::format("{} holds {}", name, line);
    return name + " holds a line twice";
  }
  for (const auto& [name, lines] : found)
    if (!wanted.contains(name)) return name + " is there, and should not";
  return "";
}

std::vector<std::string> litter_in(const fs::path& out) {
  std::vector<std::string> litter;
  for (const auto& item : fs::recursive_directory_iterator(out))
    if (item.path().extension() == ".tmp") litter.push_back(fs::relative(item.path(), out));
  return litter;
}

}  // namespace pesuite::reliability
