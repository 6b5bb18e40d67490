// Processes that add up over NCCL: all of it but NCCL and the device themselves, in two processes
// with a library that stands in for NCCL, on kernels of the CUDA backend that run on the host.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <numeric>

#include "backend/cuda/nccl_group.h"
#include "base/error.h"
#include "base/file.h"
#include "model/preset.h"
#include "model/train.h"
#include "tests/catalog.h"
#include "tests/gpu/subject.h"
#include "tests/scratch.h"

namespace pesuite::testing {
namespace {

using cuda::Nccl;
using cuda::NcclGroup;

// What each of the processes returns.
std::vector<std::string> in_processes(int n, const std::function<std::string(int rank)>& body) {
  const Scratch folder;
  std::vector<pid_t> all;
  for (int rank = 0; rank < n; ++rank) {
    const pid_t child = ::fork();
    if (child == 0) {
      std::string said;
      try {
        said = body(rank);
      } catch (const std::exception& e) {
        said = std::string("threw: ") + e.what();
      }
      write_file_atomic(folder / std::to_string(rank), said);
      ::_exit(0);
    }
    all.push_back(child);
  }
  std::vector<std::string> said;
  for (int rank = 0; rank < n; ++rank) {
    int status = 0;
    ::waitpid(all[static_cast<std::size_t>(rank)], &status, 0);
    said.push_back(status == 0 ? read_file(folder / std::to_string(rank)) : "crashed");
  }
  return said;
}

// Each meeting has a name of its own, as a cell has a port.
std::string next_meeting() {
  static int meetings = 0;
  return fmt::format("{}:{}", ::getpid(), ++meetings);
}
std::unique_ptr<Group> join(const std::string& meeting, int rank, int size) {
  ::setenv("NCCL_COMM_ID", meeting.c_str(), 1);
  const Nccl nccl(PESUITE_FAKE_NCCL);
  return std::make_unique<NcclGroup>(nccl, nccl.make_id(), rank, size, rank, 0);
}

TEST(NcclGroup, AddsUpValuesOfTheProgram) {
  const std::string meeting = next_meeting();
  const auto said = in_processes(2, [&](int rank) {
    const auto group = join(meeting, rank, 2);
    std::vector<double> large(20000);
    std::iota(large.begin(), large.end(), rank);
    group->sum(large);
    std::vector<float> few = {0.1f, static_cast<float>(rank)};
    group->sum(few);
    group->wait();
    const std::vector<double> all = group->gather(10 + rank);
    return fmt::format("{} {} {} | {} {} {} {} | {} {} {} | {}", large[0], large[1], large[19999],
                       few[0], few[1], all[0], all[1], group->size(), group->device() == rank,
                       group->leads() == (rank == 0), group->description());
  });
  for (const std::string& s : said)
    EXPECT_EQ(s, "1 3 39999 | 0.2 1 10 11 | 2 true true | 2 processes over NCCL 2.99.3");
}

TEST(NcclGroup, AddsUpWhatABackendHolds) {
  const std::string meeting = next_meeting();
  const auto said = in_processes(2, [&](int rank) {
    const auto group = join(meeting, rank, 2);
    const auto backend = subject(Precision::fp32);
    const Shape shape = {30000};
    void* const memory = backend->allocate(30000 * sizeof(float));
    backend->fill({memory, shape}, rank + 1);
    const std::span all(static_cast<float*>(memory), 30000);
    group->begin_sum(*backend, all.first(20000));
    group->begin_sum(*backend, all.subspan(20000));
    group->advance();
    group->finish_sums(*backend);
    std::vector<double> values(30000);
    backend->download(values.data(), View{memory, shape});
    backend->release(memory);
    return fmt::format("{} {}", *std::min_element(values.begin(), values.end()),
                       *std::max_element(values.begin(), values.end()));
  });
  EXPECT_THAT(said, ::testing::Each("3 3"));
}

std::string course(int rank, int processes, const std::string& meeting, const char* encoding,
                   int batch) {
  const auto group = processes > 1 ? join(meeting, rank, processes) : std::make_unique<Group>();
  const auto backend = subject(Precision::fp32);
  ModelConfig c = preset("micro").config;
  const Task task(built_catalog(), {"kback_copy", {}}, 16, 16);
  c.vocabulary = task.info().inputs, c.classes = task.info().outputs, c.tied = false;
  Model model(*backend, c, compose(built_catalog(), encoding, shape_of(c, 16, 16)), 1);
  TrainConfig config;
  config.length = 16, config.batch = batch, config.micro_batch = 1, config.steps = 6;
  config.log_every = 2, config.eval_every = 3, config.validation_examples = 4;
  config.keep_best = false, config.optimizer.lr = 3e-3;
  TrainState state;
  train(model, Mixture(task), config, 1, "", {}, {}, state, *group);
  std::string all;
  for (const Observation& o : state.observations)
    if (o.metric == "nll" || o.metric == "grad_norm")
      all += fmt::format("{} {} {:.17g}\n", o.metric, o.step, o.value);
  return all;
}

void expect_close(const std::string& actual, const std::string& wanted) {
  std::istringstream a(actual), w(wanted);
  std::string metric, step, wanted_metric, wanted_step;
  double x = 0, y = 0;
  int n = 0;
  while (w >> wanted_metric >> wanted_step >> y) {
    ASSERT_TRUE(a >> metric >> step >> x) << actual;
    EXPECT_EQ(metric + step, wanted_metric + wanted_step);
    EXPECT_NEAR(x, y, 2e-5 * std::max(1.0, std::abs(y))) << metric << " at step " << step;
    ++n;
  }
  EXPECT_GE(n, 8) << wanted;
}

TEST(NcclGroup, TrainsAsOneProcessDoes) {
  for (const char* encoding : {"rope", "learned", "t5"})
    for (const int batch : {3, 1}) {  // 1: nothing to do for the second process
      const auto alone = in_processes(1, [&](int) { return course(0, 1, "", encoding, batch); });
      const std::string meeting = next_meeting();
      const auto both =
          in_processes(2, [&](int rank) { return course(rank, 2, meeting, encoding, batch); });
      EXPECT_EQ(both[0], both[1]) << "the same bits in both";
      expect_close(both[0], alone[0]);
    }
}

std::string refusal(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Exit::device);
    return e.what();
  }
  return "";
}

TEST(Nccl, SaysWhyItCannotBeUsed) {
  using ::testing::AllOf;
  using ::testing::HasSubstr;
  EXPECT_THAT(refusal([] { const Nccl nccl("libnccl-of-nobody.so.2"); }),
              AllOf(HasSubstr("libnccl-of-nobody.so.2"), HasSubstr("libnccl2"),
                    HasSubstr("LD_LIBRARY_PATH")));
  EXPECT_THAT(refusal([] { const Nccl nccl("libm.so.6"); }),
              HasSubstr("libm.so.6 is no NCCL: it has no ncclGetVersion"));
  const auto said = in_processes(1, [](int) {
    ::setenv("FAKE_NCCL_FAILS", "1", 1);
    return refusal([] { join("nowhere", 0, 1); });
  });
  EXPECT_EQ(said[0],
            "NCCL 2.99.3: joining the group failed: a failure that a test asked for; "
            "NCCL_DEBUG=INFO says more");
}

// The only thing that NCCL itself can do without a device.
TEST(Nccl, MakesEqualIdsInProcessesThatMeet) {
  try {
    const Nccl nccl;
  } catch (const Error& e) {
    GTEST_SKIP() << e.what();
  }
  const auto ids = [](const std::vector<std::string>& meetings) {
    return in_processes(static_cast<int>(meetings.size()), [&](int rank) {
      ::setenv("NCCL_COMM_ID", meetings[static_cast<std::size_t>(rank)].c_str(), 1);
      const cuda::NcclId id = Nccl().make_id();
      std::string text;
      for (const char c : id.bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
      return text;
    });
  };
  const auto same = ids({"127.0.0.1:29501", "127.0.0.1:29501"});
  EXPECT_EQ(same[0].size(), 256u) << same[0];
  EXPECT_EQ(same[0], same[1]);
  EXPECT_NE(ids({"127.0.0.1:29502"})[0], same[0]) << "another cell's";
}

}  // namespace
}  // namespace pesuite::testing
