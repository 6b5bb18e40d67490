// A folder with suites and what `pesuite run` makes of them.
#pragma once

#include <fmt/format.h>

#include <map>
#include <set>
#include <thread>

#include "base/json.h"
#include "model/metrics.h"
#include "tests/cli/command.h"

namespace pesuite::testing {

class Run : public ::testing::Test {
 protected:
  Ended pesuite(std::vector<std::string> arguments, std::vector<std::string> environment = {}) {
    return Command(folder_, std::move(arguments), std::move(environment)).wait();
  }
  fs::path write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  // One cell of `steps` steps with an encoding and what else is to be said.
  fs::path suite(const std::vector<std::string>& encodings, int steps, const std::string& more = "",
                 const std::string& defaults = "") {
    std::string text = fmt::format(
        "name = \"t\"\n[defaults]\nseeds = [1]\n{}\n[model.micro]\npreset = "
        "\"micro\"\n[train]\nsteps = {}\nbatch = 4\n"
        "checkpoint_every = 5\nlog_every = 5\neval_every = 10\nvalidation_examples = 4\n",
        defaults, steps);
    for (const std::string& e : encodings) text += fmt::format("[[encoding]]\nexpr = \"{}\"\n", e);
    text +=
        "[[task]]\ntask = \"toylag\"\noptions = {document = 128}\ntrain_len = "
        "16\n[[eval]]\nlengths = [16, 32]\nexamples = 4\n" +
        more;
    return write("s.toml", text);
  }
  fs::path run_folder(const std::string& out = "results") const {
    fs::path found;
    for (const auto& item : fs::directory_iterator(folder_ / out / "runs")) {
      EXPECT_TRUE(found.empty()) << "two run folders";
      found = item.path();
    }
    return found;
  }
  // Returns when the first checkpoint of a run is there, or the run has ended.
  void await_checkpoint(Command& c) const {
    for (int i = 0; i < 3000 && c.running(); ++i) {
      std::error_code error;  // folders come and go meanwhile
      for (const auto& item :
           fs::recursive_directory_iterator(folder_ / "results" / "store", error))
        if (item.path().filename() == "last.safetensors") return;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
  std::vector<Json> records(const std::string& out = "results") const {
    std::vector<Json> all;
    std::ifstream in(run_folder(out) / "records.jsonl");
    for (std::string line; std::getline(in, line);) all.push_back(Json::parse(line));
    return all;
  }
  // What must be equal between two runs: all but times, memory and where results lie.
  static std::multiset<std::string> numbers(const std::vector<Json>& all) {
    std::multiset<std::string> out;
    for (Json j : all) {
      if (is_cost(j["metric"].get<std::string>())) continue;
      for (const char* key : {"wall_s", "ts"}) j.erase(key);
      out.insert(j.dump());
    }
    return out;
  }
  std::string status_of(const std::string& encoding) const {
    std::string status;
    for (const Json& j : records())
      if (j["encoding"]["id"] == encoding && (j["metric"] == "cell" || j["metric"] == "nll"))
        status = j["status"];
    return status;
  }
  std::string reason_of(const std::string& encoding) const {
    for (const Json& j : records())
      if (j["encoding"]["id"] == encoding && j.contains("reason")) return j["reason"];
    return "";
  }

  // Training steps that were really taken, from the workers' logs of runs with log_every = 1.
  int steps_taken(const std::string& out = "results") const {
    int steps = 0;
    for (const auto& item : fs::recursive_directory_iterator(folder_ / out / "store"))
      if (item.path().filename() == "log.txt") {
        std::ifstream in(item.path());
        for (std::string line; std::getline(in, line);)
          steps += line.find(" | train loss ") != std::string::npos ? 1 : 0;
      }
    return steps;
  }
  // Records of one encoding, without what differs between runs on purpose.
  static std::multiset<std::string> numbers_of(const std::vector<Json>& all,
                                               const std::string& encoding) {
    std::vector<Json> own;
    for (const Json& j : all)
      if (j["encoding"]["id"] == encoding) own.push_back(j);
    EXPECT_FALSE(own.empty()) << encoding;
    return numbers(own);
  }

  const Scratch folder_;
};

}  // namespace pesuite::testing
