// Equal results again, in another order, in another thread; and no memory left behind.
#include <malloc.h>

#include <unistd.h>
#include <fstream>
#include <functional>
#include <thread>

#include "base/text.h"
#include "check/checks.h"

namespace pesuite::checks {

namespace {

struct Case {
  Pass pass;
  Inputs inputs;
};

// Passes that differ in all that a hook may look at.
std::vector<Case> cases(const Instance& instance, const ModelShape& m) {
  std::vector<Case> out;
  for (int i = 0; i < 5; ++i) {
    Pass p;
    p.length = i == 2 ? m.train_length : i == 3 ? 1 : 5 + i;
    p.batch = 1 + i % 2;
    p.phase = i % 2 == 0 ? PES_TRAIN : PES_EVAL;
    p.step = 20 * i;
    p.seed = 100 + static_cast<std::uint64_t>(i);
    out.push_back({p, draw_inputs(instance, p.batch, p.length, p.seed)});
  }
  return out;
}

}  // namespace

std::string check_deterministic(const Subject& s) {
  const auto backend = open_backend("cpu", {});
  Instance one(s.encoding, s.values, s.model), two(s.encoding, s.values, s.model);
  const std::vector<Case> all = cases(one, s.model);
  for (const Case& c : all) {
    const std::string difference = first_difference(run(*backend, one, c.inputs, c.pass),
                                                    run(*backend, two, c.inputs, c.pass));
    require(difference.empty(), "two instances disagree at length {}, seed {}: {}", c.pass.length,
            c.pass.seed, difference);
  }
  return fmt::format("Two instances agree bit for bit over {}.", counted(all.size(), "step"));
}

std::string check_pure(const Subject& s) {
  const auto backend = open_backend("cpu", {});
  Instance instance(s.encoding, s.values, s.model);
  const std::vector<Case> all = cases(instance, s.model);
  std::vector<Outputs> first;
  for (const Case& c : all) {
    first.push_back(run(*backend, instance, c.inputs, c.pass));
    const std::string difference =
        first_difference(first.back(), run(*backend, instance, c.inputs, c.pass));
    require(difference.empty(), "the same step twice in a row differs: {}", difference);
  }
  for (std::size_t i = all.size(); i-- > 0;) {
    const std::string difference =
        first_difference(first[i], run(*backend, instance, all[i].inputs, all[i].pass));
    require(difference.empty(), "a step of length {} differs after other steps ran: {}",
            all[i].pass.length, difference);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    Instance fresh(s.encoding, s.values, s.model);
    const std::string difference =
        first_difference(first[i], run(*backend, fresh, all[i].inputs, all[i].pass));
    require(difference.empty(),
            "a step of length {} differs in an instance that has run no step before, as after a "
            "resumed training: {}",
            all[i].pass.length, difference);
  }
  return "Steps give the same bits twice in a row, in reverse order and in a fresh instance.";
}

std::string check_threads(const Subject& s) {
  constexpr int rounds = 6;
  const auto work = [&](std::vector<Outputs>& out, std::string& problem) {
    try {
      const auto backend = open_backend("cpu", {});
      Instance instance(s.encoding, s.values, s.model);
      for (int r = 0; r < rounds; ++r)
        for (const Case& c : cases(instance, s.model))
          out.push_back(run(*backend, instance, c.inputs, c.pass));
    } catch (const std::exception& e) {
      problem = e.what();
    }
  };
  std::vector<Outputs> alone, results[2];
  std::string problems[3];
  work(alone, problems[2]);
  {
    std::jthread a([&] { work(results[0], problems[0]); });
    std::jthread b([&] { work(results[1], problems[1]); });
  }
  for (const std::string& p : problems) require(p.empty(), "{}", p);
  for (const auto& r : results)
    for (std::size_t i = 0; i < alone.size(); ++i) {
      const std::string difference = first_difference(alone[i], r[i]);
      require(difference.empty(), "beside another thread's instance, {}", difference);
    }
  return fmt::format("Two instances in two threads: {} with the bits of one.",
                     counted(2 * alone.size(), "step"));
}

namespace {

// Bytes that the process has taken and not given back. Where a sanitizer has replaced the
// allocator, pages instead.
double bytes_in_use(bool& exact) {
#ifdef PESUITE_SANITIZED
  exact = false;
  long pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE));
#else
  exact = true;
  const struct mallinfo2 info = ::mallinfo2();
  return static_cast<double>(info.uordblks) + static_cast<double>(info.hblkhd);
#endif
}

// What `body`, run `count` times, leaves behind after as many rounds of warming up as asked for. A
// leak grows again when it is given another chance; caches of the allocator do not.
void expect_no_growth(const char* what, int warm, int count, const std::function<void(int)>& body) {
  int next = 0;
  const auto run_some = [&](int n) {
    for (const int end = next + n; next < end; ++next) body(next);
  };
  run_some(warm);
  double grown = 0, allowed = 0;
  for (int attempt = 0; attempt < 3; ++attempt) {
    bool exact = true;
    const double before = bytes_in_use(exact);
    run_some(count);
    grown = bytes_in_use(exact) - before;
    // less than the smallest block of the allocator each; pages come in larger steps
    allowed = exact ? 16.0 * count : 8e6;
    if (grown <= allowed) return;
  }
  fault("{} {} leave {} behind, {:.0f} bytes each", count, what, format_bytes(grown),
        grown / count);
}

}  // namespace

std::string check_memory(const Subject& s) {
  const auto backend = open_backend("cpu", {});
  {
    Instance instance(s.encoding, s.values, s.model);
    std::vector<Inputs> inputs;
    for (int length = 1; length <= 8; ++length)
      inputs.push_back(draw_inputs(instance, 1, length, 9));
    // Lengths and seeds vary, so that a table for each seed counts as growth.
    const auto step = [&](int i) {
      Pass p;
      p.batch = 1, p.length = 8 - i % 8, p.phase = i % 2 == 0 ? PES_TRAIN : PES_EVAL;
      p.step = i, p.steps = 2000, p.seed = static_cast<std::uint64_t>(i);
      run(*backend, instance, inputs[static_cast<std::size_t>(p.length - 1)], p);
    };
    s.note.say("1,000 steps");
    expect_no_growth("steps", 200, 1000, step);
  }
  s.note.say("1,000 instances");
  const Pass p{.batch = 1, .length = 4};
  expect_no_growth("instances", 200, 1000, [&](int) {
    Instance instance(s.encoding, s.values, s.model);
    run(*backend, instance, draw_inputs(instance, 1, 4, 9), p);
  });
  return "1,000 steps and 1,000 instances leave nothing behind.";
}

}  // namespace pesuite::checks
