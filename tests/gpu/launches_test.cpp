// Lists of launches, and which of them run as graphs: with a stand-in for a device, which writes
// down what it would have run.
#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "backend/cuda/launches.h"

namespace pesuite::cuda {
namespace {

using ::testing::ElementsAre;

class Device final : public Starter {
 public:
  std::vector<int> ran;     // arguments, in the order in which they ran
  std::vector<int> graphs;  // lengths of those that ran
  bool can_capture = true;
  int made = 0, alive = 0;

  void start(const Launch&, const void* argument) override {
    ran.push_back(*static_cast<const int*>(argument));
  }
  std::unique_ptr<LaunchGraph> graph(const LaunchList& list) override {
    if (!can_capture) return nullptr;
    ++made;
    return std::make_unique<Copy>(*this, list);
  }

 private:
  struct Copy final : LaunchGraph {
    Copy(Device& d, const LaunchList& l) : device(d), list(l) { ++device.alive; }
    ~Copy() override { --device.alive; }
    void change(std::size_t i, const Launch&, const void* argument) override {
      list.replace_argument(i, argument);
    }
    void run() override {
      device.graphs.push_back(static_cast<int>(list.size()));
      for (std::size_t i = 0; i < list.size(); ++i) device.start(list.launch(i), list.argument(i));
    }
    Device& device;
    LaunchList list;
  };
};

const void* function(int number) {
  static const char all[20000] = {};
  return all + number;
}
Launch kernel(int number) {
  return {Launch::What::kernel, function(number), 3, 32, 0, sizeof(int)};
}
Launch call(int number) {
  return {Launch::What::call, function(number), 0, 0, 0, sizeof(int)};
}
Launch upload(int number) {
  return {Launch::What::upload, function(number), 0, 0, 0, sizeof(int)};
}

// n launches with arguments first, first + 1, ...
void step(Launches& all, int first, int n = 10, Launch (*launch)(int) = kernel) {
  for (int i = 0; i < n; ++i) {
    const int argument = first + i;
    all.add(launch(i), &argument);
  }
  all.end();
}
std::vector<int> row(int first, int n = 10) {
  std::vector<int> all;
  for (int i = 0; i < n; ++i) all.push_back(first + i);
  return all;
}

class LaunchesTest : public ::testing::Test {
 protected:
  Device device;
  Launches launches{device, 64};
  // what ran since the last call
  std::vector<int> ran() { return std::exchange(device.ran, {}); }
};

TEST_F(LaunchesTest, StartAtOnceUntilAListCameBefore) {
  const int argument = 7;
  launches.add(kernel(0), &argument);
  EXPECT_THAT(ran(), ElementsAre(7));
  EXPECT_FALSE(launches.waits());
}

TEST_F(LaunchesTest, ThatComeAgainRunAsOneGraphWithTheirOwnArguments) {
  for (const int first : {0, 100, 200, 300, 400}) {
    step(launches, first);
    EXPECT_EQ(ran(), row(first));
  }
  // the first is new, the second is seen to come again, the third waits and becomes a graph
  EXPECT_THAT(device.graphs, ElementsAre(10, 10, 10));
  EXPECT_EQ(device.made, 1);
  EXPECT_EQ(launches.counts().changes, 20);
}

TEST_F(LaunchesTest, WithUploadsOfOtherContentsStayOneGraph) {
  for (const int first : {0, 100, 200, 300}) {
    step(launches, first, 10, upload);
    EXPECT_EQ(ran(), row(first));
  }
  EXPECT_EQ(device.made, 1);
}

TEST_F(LaunchesTest, WithCallsOfOtherArgumentsAreOtherLists) {
  for (int i = 0; i < 5; ++i) {
    step(launches, 0, 10, call);
    EXPECT_EQ(ran(), row(0));
  }
  EXPECT_THAT(device.graphs, ElementsAre(10, 10, 10));
  step(launches, 1, 10, call);
  EXPECT_EQ(ran(), row(1));
  EXPECT_EQ(device.graphs.size(), 3u);
}

TEST_F(LaunchesTest, OfOtherSizesAreOtherLists) {
  for (int i = 0; i < 4; ++i) step(launches, 0);
  const std::size_t before = device.graphs.size();
  for (const auto change :
       {+[](Launch& l) { l.blocks = 4; }, +[](Launch& l) { l.threads = 64; },
        +[](Launch& l) { l.shared = 8; }, +[](Launch& l) { l.function = function(99); },
        +[](Launch& l) { l.what = Launch::What::upload; }}) {
    for (int i = 0; i < 10; ++i) {
      Launch l = kernel(i);
      if (i == 5) change(l);
      launches.add(l, &i);
    }
    launches.end();
  }
  EXPECT_EQ(device.graphs.size(), before);
}

TEST_F(LaunchesTest, AreStartedInPiecesOfLongSteps) {
  for (int i = 0; i < 4; ++i) {
    ran();
    step(launches, 1000 * i, 150);
    EXPECT_EQ(ran(), row(1000 * i, 150));
  }
  EXPECT_EQ(device.made, 3);  // of 64, 64 and 22
  // in the second step the first of them shows that they come again
  EXPECT_THAT(device.graphs, ElementsAre(64, 22, 64, 64, 22, 64, 64, 22));
}

TEST_F(LaunchesTest, OfShortListsAreNoGraphs) {
  for (int i = 0; i < 6; ++i) step(launches, 0, static_cast<int>(Launches::fewest) - 1);
  EXPECT_EQ(device.made, 0);
  EXPECT_EQ(device.ran.size(), 6 * (Launches::fewest - 1));
}

TEST_F(LaunchesTest, ThatCannotBeCapturedAreStartedAndNotTriedAgain) {
  device.can_capture = false;
  for (const int first : {0, 100, 200, 300}) {
    step(launches, first);
    EXPECT_EQ(ran(), row(first));
  }
  device.can_capture = true;
  step(launches, 0);
  EXPECT_EQ(device.made, 0);
}

TEST_F(LaunchesTest, WaitForNothingAgainWhereListsNeverComeBack) {
  for (int i = 0; i < 3; ++i) step(launches, 0);
  ran();
  for (int n = 1; n < 100; ++n) {
    for (int i = 0; i < 10; ++i) launches.add(kernel(10 * n + i), &i);
    launches.end();
    EXPECT_EQ(ran(), row(0));
  }
  const int argument = 7;
  launches.add(kernel(0), &argument);
  EXPECT_FALSE(launches.waits());
}

TEST_F(LaunchesTest, KeepNoMoreGraphsThanTheyMay) {
  const auto many = static_cast<int>(Launches::graphs) + 50;
  const auto cycle = [&] {
    for (int n = 0; n < many; ++n) {
      const int at = 10 * n;
      for (int i = 0; i < 10; ++i) launches.add(kernel(at + i), &i);
      launches.end();
      EXPECT_EQ(ran(), row(0));
    }
  };
  for (int i = 0; i < 3; ++i) cycle();
  EXPECT_EQ(device.alive, static_cast<int>(Launches::graphs));
  // All come again too soon for one to make room: none is made only to be dropped.
  const int made = device.made;
  for (int i = 0; i < 3; ++i) cycle();
  EXPECT_EQ(device.made, made);
  // New ones take the place of those that stay away.
  for (int i = 0; i < 2000; ++i) step(launches, 0, 11);
  ran();
  EXPECT_EQ(device.made, made + 1);
  EXPECT_EQ(device.alive, static_cast<int>(Launches::graphs));
}

TEST_F(LaunchesTest, AreForgottenWhereOneFails) {
  struct Failing final : Starter {
    int started = 0;
    void start(const Launch&, const void*) override {
      if (++started == 25) throw std::string("no");
    }
    std::unique_ptr<LaunchGraph> graph(const LaunchList&) override { return nullptr; }
  } failing;
  Launches all(failing, 64);
  step(all, 0), step(all, 0);
  EXPECT_THROW(step(all, 0), std::string);
  EXPECT_FALSE(all.waits());
  all.end();
  EXPECT_EQ(failing.started, 25);
}

TEST_F(LaunchesTest, ThatAreDroppedAreNotStarted) {
  for (int i = 0; i < 3; ++i) step(launches, 0);
  ran();
  for (int i = 0; i < 5; ++i) launches.add(kernel(i), &i);
  EXPECT_TRUE(launches.waits());
  launches.drop();
  launches.end();
  EXPECT_TRUE(ran().empty());
  step(launches, 100);  // a list of its own, which came before
  EXPECT_EQ(ran(), row(100));
  EXPECT_EQ(device.graphs.size(), 2u);
}

TEST_F(LaunchesTest, WithoutGraphsEachStartsAtOnce) {
  Launches none(device, 0);
  for (int i = 0; i < 5; ++i) step(none, 0);
  EXPECT_EQ(device.made, 0);
  EXPECT_EQ(device.ran.size(), 50u);
}

}  // namespace
}  // namespace pesuite::cuda
