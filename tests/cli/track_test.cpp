// Trackers that hear of a run while it goes on.
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "tests/cli/fixture.h"

namespace pesuite::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Track : public Run {
 protected:
  std::string events(const fs::path& folder) const {
    std::string all;
    if (fs::exists(folder))
      for (const auto& item : fs::recursive_directory_iterator(folder))
        if (item.path().string().find("/steps/") != std::string::npos) all += slurp(item.path());
    return all;
  }
};

TEST_F(Track, TensorBoardSeesCellsAtWorkAndThenAllOfThem) {
  const fs::path s =
      suite({"sleeps", "rope"}, 400, "[track]\nto = [\"tensorboard\", \"wandb\"]\nevery_s = 0.2\n");
  Command c(folder_, {"run", s.string(), "--jobs", "1", "--no-report"});
  await_checkpoint(c);
  std::string seen;
  for (int i = 0; i < 600 && c.running() && seen.find("train/nll") == std::string::npos; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    seen = events(run_folder() / "trackers/tensorboard");
  }
  EXPECT_THAT(seen, HasSubstr("train/nll")) << "of a cell at work";
  EXPECT_THAT(seen, Not(HasSubstr("length/nll")));
  c.signal(SIGINT);
  EXPECT_EQ(c.wait().code, 130);
  const Ended e = pesuite({"run", s, "--set", "train.steps=20", "--no-report"});
  EXPECT_EQ(e.code, 0) << e.err;
  EXPECT_THAT(e.err, Not(HasSubstr("was not told")));
  fs::path folder;  // of the second run, which has other settings
  for (const auto& item : fs::directory_iterator(folder_ / "results/runs"))
    if (fs::exists(item.path() / "digests.json") &&
        slurp(item.path() / "records.jsonl").find("eval-") != std::string::npos)
      folder = item.path();
  seen = events(folder / "trackers/tensorboard");
  EXPECT_THAT(seen, HasSubstr("length/nll"));
  EXPECT_THAT(seen, HasSubstr("_hparams_/session_end_info"));
  EXPECT_TRUE(fs::exists(folder / "trackers/wandb/wandb_sync.py"));
}

// Somebody listens and never answers.
TEST_F(Track, OneThatHangsCostsTheRunNothing) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET, address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(listener, 8), 0);
  ASSERT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::string track =
      fmt::format("[track]\nto = [\"mlflow\"]\nurl = \"http://127.0.0.1:{}\"\npatience_s = 1\n",
                  ntohs(address.sin_port));
  const fs::path s = suite({"rope"}, 20, track);
  const Ended e = pesuite({"run", s, "--no-report"});
  ::close(listener);
  EXPECT_EQ(e.code, 0) << e.err;
  EXPECT_THAT(e.err, HasSubstr("mlflow was not told everything (it took more than 1 s"));
  // who hears of it changes no folder
  EXPECT_EQ(pesuite({"run", suite({"rope"}, 20), "--no-report"}).code, 0);
  run_folder();
}

// Nobody listens.
TEST_F(Track, OneThatFailsIsToldWithoutProgressToo) {
  const std::string track = "[track]\nto = [\"mlflow\"]\nurl = \"http://127.0.0.1:1\"\n";
  const Ended e = pesuite({"run", suite({"rope"}, 20, track), "--no-report", "--progress", "none"});
  EXPECT_EQ(e.code, 0) << e.err;
  EXPECT_THAT(e.err, HasSubstr("note: mlflow was not told everything (see "));
  EXPECT_THAT(e.err, HasSubstr("pesuite export "));
}

TEST_F(Track, WhatIsAskedForIsChecked) {
  const Ended none = pesuite({"validate", suite({"rope"}, 20, "[track]\nto = [\"tensorbord\"]\n")});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err + none.out, HasSubstr("'tensorboard'"));
  const Ended url = pesuite({"validate", suite({"rope"}, 20, "[track]\nto = [\"mlflow\"]\n")});
  EXPECT_EQ(url.code, 2);
  EXPECT_THAT(url.err + url.out, HasSubstr("needs 'url'"));
}

}  // namespace
}  // namespace pesuite::testing
