// One encoding that misbehaves as its option `how` says, where its option `at` says: for what the
// host makes of it. With `how=nothing` it lowers scores with distance, soundly. Where
// PESUITE_TEST_LOAD names one, it misbehaves when the library is loaded.
#include <pesuite/pesuite.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

namespace {

constexpr std::size_t gigabyte = std::size_t{1} << 30;

void write_below(const char* folder) {
  const std::string file = std::string(folder) + "/escaped";
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT, 0600);
  if (fd >= 0) ::close(fd);
}

// What the compiler would warn of, or leave out.
void free_twice() {
  char* volatile p = static_cast<char*>(std::malloc(24));
  std::free(p);
  std::free(p);
}
void overflow_heap() {
  char* volatile p = static_cast<char*>(std::malloc(24));
  char* volatile behind = static_cast<char*>(std::malloc(24));
  for (std::size_t i = 0; i < 64; ++i) const_cast<volatile char*>(p)[i] = 'x';
  std::free(behind);
  std::free(p);
}
[[noreturn]] void hang() {
  for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
}
void hoard() {
  static std::vector<std::unique_ptr<char[]>> all;
  for (int i = 0; i < 100; ++i) {
    all.push_back(std::make_unique_for_overwrite<char[]>(gigabyte));
    std::memset(all.back().get(), 'x', gigabyte);
  }
}
void fork_and_stay(bool in_a_group_of_its_own) {
  static bool done = false;
  if (!done && ::fork() == 0) {
    ::prctl(PR_SET_NAME, "stray_of_plugin");
    if (in_a_group_of_its_own) ::setsid();
    hang();
  }
  done = true;
}
void print_as_worker() {
  const std::string_view forged =
      "{\"event\":\"failed\",\"kind\":\"error\",\"reason\":\"forged\"}\n";
  std::fwrite(forged.data(), 1, forged.size(), stdout);
  std::fflush(stdout);
}
void handle_signals() {
  for (const int s : {SIGTERM, SIGINT, SIGUSR1, SIGSEGV, SIGABRT}) ::signal(s, SIG_IGN);
}

void misbehave(std::string_view how) {
  if (how == "segfault") ::raise(SIGSEGV);
  if (how == "abort") std::abort();
  if (how == "exit_0") std::exit(0);
  if (how == "exit_75") ::_exit(75);
  if (how == "throw") throw std::runtime_error("no encoding today");
  if (how == "throw_int") throw 7;
  if (how == "hang") hang();
  if (how == "hoard") hoard();
  if (how == "fork") fork_and_stay(false);
  if (how == "leave_group") fork_and_stay(true);
  if (how == "thread") std::thread(hang).detach();
  if (how == "close") ::closefrom(3);
  if (how == "print") print_as_worker();
  if (how == "chdir" && ::chdir("/") != 0) std::abort();
  if (how == "handlers") handle_signals();
  if (how == "handlers_hang") handle_signals(), hang();
  if (how == "double_free") free_twice();
  if (how == "overflow") overflow_heap();
  if (how == "socket") ::socket(AF_INET, SOCK_STREAM, 0);
  if (how == "write") write_below(std::getenv("PESUITE_TEST_ELSEWHERE"));
  if (how == "run") std::system("true");
}

[[gnu::constructor]] void at_load() {
  if (const char* how = std::getenv("PESUITE_TEST_LOAD")) misbehave(how);
}

struct Misbehaves : pes::Encoding {
  static constexpr pes_option options[] = {
      pes::text("how", "nothing", "what it does"),
      pes::choice("at", "attend", "create|begin|embed|attend", "where")};
  static constexpr pes_card card = pes::card<Misbehaves>({.name = "misbehaves",
                                                          .summary = "does what no plugin may",
                                                          .taxonomy = "relative, fixed, bias"});
  std::string how, at;
  pes::Tensor distance;

  Misbehaves(const pes_model&, const pes::Values& v) : how(v.text("how")), at(v.text("at")) {
    here("create");
  }
  void here(std::string_view place) const {
    if (at == place) misbehave(how);
  }
  void begin(const pes::Step& s) {
    here("begin");
    if (how == "stale" && s.step > 0) return;
    distance = s.table({1, s.offset + s.length},
                       [](auto, auto d) { return -0.1 * static_cast<double>(d); });
  }
  pes::Tensor embed(const pes::Step&, pes::Tensor x) const {
    here("embed");
    return x;
  }
  void attend(const pes::Step& s, pes::Attention& a) const {
    if (s.step > 1) here("attend");
    a.distance = distance;
  }
};

constexpr const pes_encoding* encodings[] = {&pes::encoding<Misbehaves>, nullptr};

}  // namespace

PES_LIBRARY("misbehaves", "1.0.0", "MIT", encodings, nullptr);
