// The records of a run: what supersedes what, and what is never lost.
#include "cell/record.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "tests/scratch.h"

namespace pesuite::testing {
namespace {

Json line(const std::string& cell, const std::string& part, const std::string& status = "ok") {
  return {{"cell", cell}, {"part", part}, {"metric", "nll"}, {"status", status}};
}

class RecordsOfARun : public ::testing::Test {
 protected:
  std::vector<std::string> parts() const {
    std::vector<std::string> out;
    for (const Json& j : read_records(file_).all)
      out.push_back(j["cell"].get<std::string>() + "/" + j["part"].get<std::string>());
    return out;
  }
  const Scratch folder_;
  const fs::path file_ = folder_ / "records.jsonl";
  std::vector<std::string> notes_;
};

// A length that was added to a finished cell ran out of memory: its training stands before that.
TEST_F(RecordsOfARun, KeepTheFailureOfACellThatWasTrainedBefore) {
  RecordFile records(file_, notes_);
  records.add("a", "train", {line("a", "train")});
  records.add("a", "failure", {line("a", "failure", "oom")});
  EXPECT_EQ(parts(), (std::vector<std::string>{"a/train", "a/failure"}));
}

TEST_F(RecordsOfARun, DropTheFailureOfACellThatWasTrainedAfterIt) {
  RecordFile records(file_, notes_);
  records.add("a", "failure", {line("a", "failure", "crash")});
  records.add("a", "train", {line("a", "train")});
  EXPECT_EQ(parts(), std::vector<std::string>{"a/train"});
}

TEST_F(RecordsOfARun, LoseNoLineOfOthersWhenAPartIsWrittenAgain) {
  {
    RecordFile records(file_, notes_);
    records.add("a", "train", {line("a", "train")});
    records.add("a", "failure", {line("a", "failure", "oom")});
    records.add("b", "train", {line("b", "train"), line("b", "train")});
  }
  RecordFile again(file_, notes_);
  EXPECT_FALSE(again.changed());
  again.add("b", "train", {line("b", "train")});  // a crash had left another number of lines
  EXPECT_TRUE(again.changed());
  EXPECT_EQ(parts(), (std::vector<std::string>{"a/train", "a/failure", "b/train"}));
  again.forget("a", "failure");
  again.forget("nobody");
  EXPECT_EQ(parts(), (std::vector<std::string>{"a/train", "b/train"}));
}

}  // namespace
}  // namespace pesuite::testing
