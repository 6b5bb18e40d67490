// The records of a run: what supersedes what, and what is never lost.
#include "cell/record.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "tests/scratch.h"

namespace pesuite::testing {
namespace {

Json line(const std::string& cell, const std::string& part, const std::string& status = "ok") {
  return {{"cell", cell},
          {"part", part},
          {"metric", "nll"},
          {"status", status},
          {"encoding", Json::object()},
          {"coords", Json::object()}};
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

// A failure counts by its place: what is written anew stands where the old stood.
TEST_F(RecordsOfARun, KeepAFailureWhenTheTrainingBeforeItIsWrittenAgain) {
  RecordFile records(file_, notes_);
  records.add("a", "train", {line("a", "train")});
  records.add("a", "failure", {line("a", "failure", "oom")});
  records.add("a", "train", {line("a", "train", "other")});
  EXPECT_EQ(parts(), (std::vector<std::string>{"a/train", "a/failure"}));
  records.add("a", "failure", {line("a", "failure", "crash")});
  EXPECT_EQ(read_records(file_).all.back()["status"], "crash");
}

TEST_F(RecordsOfARun, AreSealedWhileNoRunIsAtWork) {
  RecordFile(file_, notes_).add("a", "train", {line("a", "train")});
  EXPECT_TRUE(damaged_files(folder_).empty()) << "nobody has said what they are";
  write_file_atomic(folder_ / "plan.json", "{}");
  seal_run(folder_);
  EXPECT_TRUE(damaged_files(folder_).empty());
  write_file_atomic(folder_ / "plan.json", "[]");
  EXPECT_EQ(damaged_files(folder_), std::vector<std::string>{"plan.json"});
  fs::remove(folder_ / "plan.json");
  EXPECT_EQ(damaged_files(folder_), std::vector<std::string>{"plan.json"});
  write_file_atomic(folder_ / "digests.json", "{");
  EXPECT_EQ(damaged_files(folder_), std::vector<std::string>{"digests.json"});
  unseal_run(folder_);
  EXPECT_TRUE(damaged_files(folder_).empty());
}

}  // namespace
}  // namespace pesuite::testing
