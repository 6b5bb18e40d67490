// Lets the operating system refuse a call, one after the other, while a tiny suite runs:
// reliability_sweep PESUITE FAULTS.so [EVERY [FOLDER]]; EVERY 1 tries each call, 20 each twentieth.
// The run that meets the fault ends with a sentence and a code of its own, or has lost nothing; the
// same command afterwards leaves what a run without faults leaves. Exit code 1 where that is not
// so.
#include <cstdio>
#include <cstdlib>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "tests/reliability/campaign.h"
#include "tests/scratch.h"

namespace {

using namespace pesuite;
using namespace pesuite::reliability;

struct Kind {
  const char* call;
  const char* error;
  bool stays;  // all calls behind it fail, too: a disk stays full
};
constexpr Kind kinds[] = {
    {"mkdir", "EACCES", false}, {"rename", "EACCES", false}, {"ftruncate", "ENOSPC", false},
    {"fsync", "EIO", false},    {"mmap", "ENOMEM", false},   {"open", "EMFILE", false},
    {"write", "ENOSPC", false}, {"open", "EACCES", true},    {"write", "ENOSPC", true}};

class Sweep {
 public:
  Sweep(fs::path program, fs::path faults, fs::path folder)
      : program_(std::move(program)),
        faults_(std::move(faults)),
        folder_(std::move(folder)),
        suite_(write_suite(folder_)) {
    const Command c = finished("calm", {});
    if (c.code() != 0)
      fail(Exit::data, "the run without faults ended with {}:\n{}", c.code(), c.said());
    wanted_ = numbers_in(folder_ / "calm");
  }

  void of(const Kind& kind, long every) {
    const long calls = calls_of(kind);
    long tried = 0;
    for (long n = 1; n <= calls; n += every, ++tried) try_out(kind, n);
    fmt::print("{:<9} {:<6}{} {:4} calls, {:4} tried\n", kind.call, kind.error,
               kind.stays ? " from then on" : "             ", calls, tried);
    std::fflush(stdout);
  }
  int failures() const { return failures_; }
  std::string text() const {
    std::string codes;
    for (const auto& [code, times] : codes_)
      codes += fmt::format("{}exit code {} {} times", codes.empty() ? "" : ", ", code, times);
    return fmt::format("{}; {} wrong", codes, failures_);
  }

 private:
  Command finished(const std::string& out, const std::vector<std::string>& environment) const {
    std::vector<std::string> words = run_words(program_, suite_, folder_ / out, 1);
    words.insert(words.end(), {"--rerun", "failed"});
    Command c(words, environment, folder_ / "said");
    c.wait();
    return c;
  }

  Command faulty(const Kind& kind, long n) {
    std::error_code ignored;
    fs::remove_all(folder_ / "out", ignored);
    const fs::path count = folder_ / "count";
    write_file_atomic(count, std::string(sizeof(long), '\0'));
    return finished("out", {"LD_PRELOAD=" + faults_.string(),
                            fmt::format("PESUITE_FAULT={}:{}{}:{}", kind.call, n,
                                        kind.stays ? "+" : "", kind.error),
                            "PESUITE_FAULT_COUNT=" + count.string()});
  }
  long calls_of(const Kind& kind) {
    const Command c = faulty({kind.call, kind.error, false}, -1);
    if (c.code() != 0) fail(Exit::data, "counting calls ended with {}:\n{}", c.code(), c.said());
    const std::string bytes = read_file(folder_ / "count");
    long calls = 0;
    std::memcpy(&calls, bytes.data(), sizeof calls);
    return calls;
  }

  void try_out(const Kind& kind, long n) {
    const Command hit = faulty(kind, n);
    const std::string said = hit.said();
    const auto wrong = [&](const std::string& what) {
      ++failures_;
      fmt::print("{} {} {}{}: {}\nit had said:\n{}\n", kind.call, n, kind.error,
                 kind.stays ? " from then on" : "", what, said);
      std::fflush(stdout);
    };
    const int code = hit.code();
    ++codes_[code];
    if (hit.hung()) return wrong("the run did not end within two minutes");
    if (code < 0 || code == static_cast<int>(Exit::internal))
      wrong(fmt::format("ended with {}", code));
    else if (code == 0 && difference(wanted_, numbers_in(folder_ / "out")) != "")
      wrong("ended well, but " + difference(wanted_, numbers_in(folder_ / "out")));
    else if (code != 0 && said.find("error: ") == std::string::npos &&
             said.find("failed: ") == std::string::npos)
      wrong(fmt::format("ended with {} and said no reason", code));
    const Command again = finished("out", {});
    if (again.code() != 0) {
      wrong(fmt::format("the run after it ended with {}: {}", again.code(), again.said()));
    } else if (const std::string other = difference(wanted_, numbers_in(folder_ / "out"));
               !other.empty()) {
      wrong("the run after it: " + other);
    }
  }

  fs::path program_, faults_, folder_, suite_;
  Numbers wanted_;
  std::map<int, int> codes_;
  int failures_ = 0;
};

}  // namespace

int main(int count, char** words) {
  if (count < 3) {
    std::fputs("reliability_sweep PESUITE FAULTS.so [EVERY [FOLDER]]\n", stderr);
    return 2;
  }
  const long every = count > 3 ? std::max(1L, std::atol(words[3])) : 1;
  const pesuite::testing::Scratch own;
  try {
    const fs::path folder = count > 4 ? fs::path(words[4]) : fs::path(own);
    Sweep sweep(fs::absolute(words[1]), fs::absolute(words[2]), fs::absolute(folder));
    for (const Kind& kind : kinds) sweep.of(kind, every);
    fmt::print("{}\n", sweep.text());
    return sweep.failures() == 0 ? 0 : 1;
  } catch (const std::exception& e) {
    fmt::print(stderr, "reliability_sweep: {}\n", e.what());
    return 2;
  }
}
