// A folder with records made up for a test, and the report that is written of them.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "analysis/run_data.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "report/report.h"
#include "tests/scratch.h"

namespace pesuite::testing {

class Report : public ::testing::Test {
 protected:
  Json record(const std::string& encoding, int seed, const std::string& metric, double value,
              Json coords) {
    coords["train_len"] = train_length_;
    const char* status = std::isinf(value) ? "inf" : std::isnan(value) ? "nan" : "ok";
    return {{"schema", "pesuite.record/1"},
            {"suite", "t"},
            {"cell", fmt::format("{}{}{}{}", encoding, task_, model_, seed)},
            {"part", "eval"},
            {"encoding", {{"id", encoding}, {"expr", encoding + "(a=1)"}}},
            {"model", model_},
            {"task", task_},
            {"task_expr", expression_.empty() ? task_ : expression_},
            {"seed", seed},
            {"metric", metric},
            {"split", coords.value("eval_len", train_length_) > train_length_ ? "ood" : "id"},
            {"value", std::isfinite(value) ? Json(value) : Json(nullptr)},
            {"coords", coords},
            {"step", 10},
            {"status", status}};
  }
  void add(const Json& j) { lines_ += j.dump() + "\n"; }
  void nats(const std::string& encoding, int seed, int length, double value) {
    const Json at = {{"eval_len", length}, {"protocol", "non_overlapping"}};
    add(record(encoding, seed, "nll", value, at));
    add(record(encoding, seed, "optimum", 1.5, at));
    add(record(encoding, seed, "regret", value - 1.5, at));
  }
  void accuracy(const std::string& encoding, int seed, int length, double value, double low,
                double high) {
    Json j = record(encoding, seed, "acc", value, {{"eval_len", length}});
    j["low"] = low, j["high"] = high, j["chance"] = 0.5, j["n"] = 100;
    add(j);
  }
  void failure(const std::string& encoding, int seed, const std::string& status,
               const std::string& reason) {
    Json j = record(encoding, seed, "cell", Number::none, Json::object());
    j["part"] = "failure", j["status"] = status, j["reason"] = reason;
    add(j);
  }
  const fs::path& written() {
    std::ofstream(folder_ / "records.jsonl") << lines_;
    return folder_;
  }
  // The page with its evidence behind it.
  std::string page() {
    const fs::path page = write_report(written()).file;
    return read_file(page) + read_file(page.parent_path() / "details.md");
  }
  // The cells of the first row of any table of the page that starts with `name`.
  static std::vector<std::string> row(const std::string& page, const std::string& table,
                                      const std::string& name) {
    std::vector<std::string> cells;
    const std::size_t at = page.find("**" + table + "**");
    if (at == std::string::npos) return cells;
    for (const std::string& line : split(page.substr(at), '\n'))
      if (line.starts_with("| " + name + " ")) {
        for (const std::string& c : split(line, '|'))
          if (!trim(c).empty()) cells.emplace_back(trim(c));
        return cells;
      }
    return cells;
  }

  const Scratch folder_;
  std::string model_ = "nano", task_ = "corpus", expression_;  // "": the task's name
  int train_length_ = 64;
  std::string lines_;
};

}  // namespace pesuite::testing
