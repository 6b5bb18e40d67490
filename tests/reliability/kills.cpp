// A campaign of SIGKILLs and requests to stop at random moments: reliability_kills PESUITE [KILLS
// [SEED [FOLDER]]]. A tiny suite runs until somebody, a worker, the runner or both at once, is
// killed, or the runner is asked to stop; the same command goes on, and is killed again, until a
// run comes through. Then every number and every weight must be that of a run that nobody
// disturbed. Exit code 1 where one is not, or where a cell crashed that was asked.
#include <signal.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <random>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "tests/reliability/campaign.h"
#include "tests/scratch.h"

namespace {

using namespace pesuite;
using namespace pesuite::reliability;

enum Victim { worker, runner, all, asked, victims };  // asked: to stop, the runner

// Why a cell of an output folder crashed, by itself and whichever run saw it; "" where none has.
std::string crash_in(const fs::path& out) {
  std::error_code ignored;
  for (const auto& item : fs::recursive_directory_iterator(out / "store", ignored))
    if (item.path().filename() == "status.jsonl")
      for (const std::string& line : split(read_file(item.path()), '\n'))
        if (line.find("\"kind\":\"crash\"") != std::string::npos &&
            line.find("SIGKILL") == std::string::npos)
          return line;
  return "";
}

class Campaign {
 public:
  Campaign(fs::path program, fs::path folder, unsigned seed)
      : program_(std::move(program)),
        folder_(std::move(folder)),
        suite_(write_suite(folder_)),
        random_(seed) {
    const auto start = std::chrono::steady_clock::now();
    const Command c = finished("calm");
    seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (c.code() != 0) fail(Exit::data, "the run that nobody kills ended with {}", c.code());
    wanted_ = numbers_in(folder_ / "calm");
  }

  // Kills until a run comes through, and compares.
  void round() {
    std::error_code ignored;
    fs::remove_all(folder_ / "out", ignored);
    for (int tries = 0; tries < 200; ++tries) {
      Command c = started("out");
      const std::optional<Victim> who = disturb(c);
      c.wait();
      check(c, who);
      if (c.code() == 0) break;
    }
    const Command last = finished("out");  // what failed runs again, else there is nothing to do
    if (last.code() != 0) complain(last, "an undisturbed run did not come through");
    if (const std::string other = difference(wanted_, numbers_in(folder_ / "out")); !other.empty())
      complain(last, other);
    const std::vector<std::string> litter = litter_in(folder_ / "out");
    litter_ += static_cast<int>(litter.size());
    ++rounds_;
  }

  int kills() const { return std::accumulate(std::begin(kills_), std::end(kills_), 0); }
  int failures() const { return failures_; }
  std::string text() const {
    return fmt::format(
        "{} ends ({} of a worker, {} of the runner and {} of all by SIGKILL, {} by request), "
        "{}: {} went wrong, {} left over",
        kills(), kills_[worker], kills_[runner], kills_[all], kills_[asked],
        counted(static_cast<std::size_t>(rounds_), "finished run"), failures_,
        counted(static_cast<std::size_t>(litter_), "temporary file"));
  }

 private:
  Command started(const std::string& out) const {
    std::vector<std::string> words = run_words(program_, suite_, folder_ / out, 2);
    words.insert(words.end(), {"--rerun", "failed"});
    return Command(words, {}, folder_ / "said");
  }
  Command finished(const std::string& out) const {
    Command c = started(out);
    c.wait();
    return c;
  }

  // At a moment of the run, which for workers begins when there are some. False when it had ended
  // before.
  std::optional<Victim> disturb(Command& c) {
    const auto victim =
        static_cast<Victim>(std::uniform_int_distribution<>(0, victims - 1)(random_));
    const double moment = std::uniform_real_distribution<>(0, seconds_)(random_);
    while (victim != runner && c.running() && children_of(c.pid()).empty())
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(
        std::chrono::duration<double>(victim == runner ? moment : moment / 2));
    const std::vector<pid_t> children = children_of(c.pid());
    if (!c.running() || (victim == worker && children.empty())) return {};
    if (victim == worker) {
      ::kill(children[random_() % children.size()], SIGKILL);
    } else if (victim == asked) {
      ::kill(c.pid(), random_() % 2 == 0 ? SIGINT : SIGTERM);
    } else {
      ::kill(c.pid(), SIGKILL);
      if (victim == all)
        for (const pid_t child : children) ::kill(child, SIGKILL);
    }
    ++kills_[victim];
    return victim;
  }

  void check(const Command& c, std::optional<Victim> who) {
    const int code = c.code();
    const bool good = code == 0 || code == static_cast<int>(Exit::cells_failed) ||
                      (who == asked && (code == static_cast<int>(Exit::interrupted) ||
                                        code == static_cast<int>(Exit::terminated) ||
                                        code == -SIGINT || code == -SIGTERM)) ||  // at its start
                      (who && code == -SIGKILL);
    if (who == asked)
      if (const std::string crash = crash_in(folder_ / "out"); !crash.empty())
        complain(c, "a cell crashed that was asked to stop: " + crash);
    if (c.hung())
      complain(c, "did not end within two minutes");
    else if (!good)
      complain(c, fmt::format("ended with {}", code));
  }

  void complain(const Command& c, const std::string& what) {
    ++failures_;
    fmt::print("after {} kills: {}\nit had said:\n{}\n", kills(), what, c.said());
  }

  fs::path program_, folder_, suite_;
  std::mt19937 random_;
  double seconds_ = 0;  // of a run that nobody kills
  Numbers wanted_;
  int kills_[victims] = {}, rounds_ = 0, failures_ = 0, litter_ = 0;
};

}  // namespace

int main(int count, char** words) {
  if (count < 2) {
    std::fputs("reliability_kills PESUITE [KILLS [SEED [FOLDER]]]\n", stderr);
    return 2;
  }
  const int wanted = count > 2 ? std::atoi(words[2]) : 1000;
  const unsigned seed = count > 3 ? static_cast<unsigned>(std::atoi(words[3])) : 1;
  const pesuite::testing::Scratch own;
  try {
    const fs::path folder = count > 4 ? fs::path(words[4]) : fs::path(own);
    Campaign campaign(fs::absolute(words[1]), fs::absolute(folder), seed);
    while (campaign.kills() < wanted) {
      campaign.round();
      fmt::print(stderr, "{}\n", campaign.text());
    }
    fmt::print("{}\n", campaign.text());
    return campaign.failures() == 0 ? 0 : 1;
  } catch (const std::exception& e) {
    fmt::print(stderr, "reliability_kills: {}\n", e.what());
    return 2;
  }
}
