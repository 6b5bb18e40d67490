// What it costs that nothing is lost: the digests of a checkpoint as a share of its time, and a
// run's processor time against that of another program, such as one from before.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <stdexcept>

#include "base/file.h"
#include "base/seal.h"
#include "model/safetensors.h"
#include "tests/reliability/campaign.h"
#include "tests/scratch.h"

namespace pesuite::reliability {
namespace {

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}
double median(std::vector<double> all) {
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

// 16 tensors of a million numbers, on whatever disk TMPDIR is.
void measure_checkpoint(int times) {
  const testing::Scratch folder;
  constexpr int count = 16, rows = 1024;
  std::vector<TensorToWrite> tensors;
  for (int i = 0; i < count; ++i) tensors.push_back({fmt::format("t{}", i), {rows, rows}});
  std::vector<double> values(rows * rows);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 1.0 / static_cast<double>(1 + i);
  const std::vector<float> narrow(values.begin(), values.end());
  const std::string_view bytes(reinterpret_cast<const char*>(narrow.data()),
                               narrow.size() * sizeof(float));
  std::vector<double> whole, digests;
  std::size_t letters = 0;  // so that no digest is left out
  for (int t = 0; t < times; ++t) {
    whole.push_back(seconds_of([&] {
      write_safetensors(folder / "c", tensors, {}, false, [&](std::size_t) { return values; });
    }));
    digests.push_back(seconds_of([&] {
      for (int i = 0; i < count; ++i) letters += checksum(bytes).size();
    }));
  }
  // the fastest of each: others may be at work
  const double all = *std::min_element(whole.begin(), whole.end());
  const double own = *std::min_element(digests.begin(), digests.end());
  fmt::print("checkpoint of {} MB: {:.1f} ms, of which digests {:.2f} ms: {:.2f} % ({} letters)\n",
             count * bytes.size() / 1000000, all * 1e3, own * 1e3, 100 * own / all, letters);
}

// One cell of nothing but training, as most are, long enough to say something.
fs::path write_cell(const fs::path& folder) {
  const fs::path file = folder / "cell.toml";
  write_file_atomic(file, R"(name = "cell"
[defaults]
seeds = [1]
[model.m]
preset = "micro"
[train]
steps = 300
batch = 8
log_every = 50
eval_every = 100
checkpoint_every = 50
validation_examples = 8
[[encoding]]
expr = "rope"
[[task]]
task = "kback_copy"
train_len = 64
[[eval]]
lengths = ["1x", "2x"]
examples = 16
)");
  return file;
}

double time_of(const fs::path& program, const fs::path& suite, const fs::path& folder) {
  const fs::path out = folder / "out";
  fs::remove_all(out);
  const auto spent = [] {
    rusage u{};
    ::getrusage(RUSAGE_CHILDREN, &u);
    const auto seconds = [](const timeval& t) {
      return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
    };
    return seconds(u.ru_utime) + seconds(u.ru_stime);
  };
  const double before = spent();
  Command run(run_words(program, suite, out, 1), {}, folder / "said");
  run.wait(600);
  if (run.code() != 0) throw std::runtime_error(program.string() + ": " + run.said());
  return spent() - before;
}

void measure_runs(const fs::path& program, const fs::path& other, int pairs) {
  const testing::Scratch folder;
  const fs::path suite = write_cell(folder);
  std::vector<double> ratios, own;
  time_of(program, suite, folder), time_of(other, suite, folder);  // files are read for once
  for (int i = 0; i < pairs; ++i) {
    const bool first = i % 2 == 0;  // in turn, so that a machine that warms up favours neither
    const double a = time_of(first ? program : other, suite, folder);
    const double b = time_of(first ? other : program, suite, folder);
    own.push_back(first ? a : b);
    ratios.push_back(first ? a / b : b / a);
  }
  std::sort(ratios.begin(), ratios.end());
  fmt::print(
      "processor time of a run: {:.2f} s, {:+.2f} % against {} (median of {} pairs, quartiles "
      "{:+.2f} and {:+.2f} %)\n",
      median(own), 100 * (median(ratios) - 1), other.string(), pairs,
      100 * (ratios[ratios.size() / 4] - 1), 100 * (ratios[ratios.size() * 3 / 4] - 1));
}

}  // namespace
}  // namespace pesuite::reliability

int main(int argc, char** argv) {
  using namespace pesuite::reliability;
  try {
    measure_checkpoint(21);
    if (argc > 2)
      measure_runs(pesuite::fs::absolute(argv[1]), pesuite::fs::absolute(argv[2]),
                   argc > 3 ? std::atoi(argv[3]) : 20);
    return 0;
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\nusage: reliability_overhead [PROGRAM OTHER [PAIRS]]\n", e.what());
    return 2;
  }
}
