// Signals that come while kernels run: a request to stop, above all.
#include "base/signals.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "backend/backend.h"
#include "base/isolate.h"
#include "tests/support.h"

namespace pesuite::testing {
namespace {

volatile sig_atomic_t heard = 0, elsewhere = 0;  // elsewhere: not on the stack of handlers
void count(int) {
  stack_t now;
  ::sigaltstack(nullptr, &now);
  heard = heard + 1;
  if ((now.ss_flags & SS_ONSTACK) == 0) elsewhere = elsewhere + 1;
}

std::vector<float> product(Backend& backend, std::int64_t rows, std::int64_t inputs,
                           std::int64_t outputs) {
  const Shape x{rows, inputs}, w{outputs, inputs}, y{rows, outputs};
  void* memory[3];
  for (int i = 0; i < 3; ++i)
    memory[i] = backend.allocate(static_cast<std::size_t>((i == 0   ? x
                                                           : i == 1 ? w
                                                                    : y)
                                                              .count()) *
                                 backend.element_size());
  std::vector<double> numbers(static_cast<std::size_t>(std::max(x.count(), w.count())));
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<double>(i % 17) / 16 - 0.5;
  backend.upload(Out{memory[0], x}, numbers.data());
  backend.upload(Out{memory[1], w}, numbers.data());
  backend.linear_forward({memory[2], y}, {memory[0], x}, {memory[1], w}, {}, {});
  std::vector<float> out(static_cast<std::size_t>(y.count()));
  backend.download(out.data(), View{memory[2], y});
  for (void* m : memory) backend.release(m);
  return out;
}

// In a child, which memory that was overwritten ends.
void expect_nothing(const std::function<std::string()>& body) {
  const Isolated child = run_isolated(body, 120);
  EXPECT_EQ(child.end, Isolated::End::returned) << child.text;
  EXPECT_EQ(child.text, "");
}

// Some of oneDNN's products in fp32 let the stack pointer stand in a buffer on the heap.
TEST(Signals, LeaveProductsAndTheHeapAlone) {
  expect_nothing([]() -> std::string {
    const auto backend = open_backend("cpu", {});
    const std::int64_t shapes[][3] = {{128, 512, 32}, {128, 32, 512}, {50, 128, 32}, {37, 2100, 5}};
    std::vector<std::vector<float>> wanted;
    for (const auto& [rows, inputs, outputs] : shapes)
      wanted.push_back(product(*backend, rows, inputs, outputs));
    const SignalGuard guard(count, {SIGALRM});
    bool equal = true;
    for (int i = 0; i < 4000 && equal; ++i) {
      const itimerval once{{}, {0, 1 + i % 100}};  // microseconds
      ::setitimer(ITIMER_REAL, &once, nullptr);
      const auto& [rows, inputs, outputs] = shapes[i % 4];
      equal = product(*backend, rows, inputs, outputs) == wanted[static_cast<std::size_t>(i % 4)];
    }
    const itimerval never{};
    ::setitimer(ITIMER_REAL, &never, nullptr);
    if (!equal) return "a product changed";
    if (heard < 1000) return fmt::format("too few signals to say anything: {}", int{heard});
    return elsewhere > 0 ? fmt::format("{} of {} on the kernels' stack", int{elsewhere}, int{heard})
                         : "";
  });
}

// Not in a child: threads of OpenMP do not outlive a fork.
TEST(Signals, HaveAStackOfTheirOwnInEveryThread) {
  const auto backend = open_backend("cpu", {.threads = 3});
  const SignalGuard guard(count, {SIGUSR1});
  heard = 0;
  elsewhere = 0;
  int threads = 0;
  for (const auto& item : std::filesystem::directory_iterator("/proc/self/task")) {
    ASSERT_EQ(::syscall(SYS_tgkill, ::getpid(), std::stoi(item.path().filename()), SIGUSR1), 0);
    ++threads;
    for (int i = 0; heard < threads && i < 100000; ++i) ::usleep(100);
    ASSERT_EQ(heard, threads);
  }
  EXPECT_GE(threads, 3);
  EXPECT_EQ(elsewhere, 0);
}

}  // namespace
}  // namespace pesuite::testing
