// A run's folder: its report, and its records when it goes on. Parts of the input are its files,
// each behind a line "== NAME"; records stand first.
#include "base/text.h"
#include "cell/record.h"
#include "report/report.h"
#include "tests/fuzz/fuzz.h"

namespace pesuite {

namespace {

fs::path written_run(std::string_view input) {
  const fs::path run = fuzz::folder() / "run";
  fs::remove_all(run);
  fs::create_directories(run);
  std::string name = "records.jsonl";
  while (true) {
    const std::size_t end = std::min(input.find("\n== "), input.size());
    for (const char* known :
         {"records.jsonl", "plan.json", "suite.resolved.toml", "env.json", "tuning.json"})
      if (name == known)
        fuzz::file_of(std::string(input.substr(0, end)) + "\n", ("run/" + name).c_str());
    if (end == input.size()) return run;
    input.remove_prefix(end + 4);
    const std::size_t line = std::min(input.find('\n'), input.size());
    name = trim(input.substr(0, line));
    input.remove_prefix(std::min(line + 1, input.size()));
  }
}

}  // namespace

FUZZ_TARGET(records) {
  const fs::path run = written_run(input), file = run / "records.jsonl";
  write_report(run, {.expect = {}, .formats = {}});
  std::vector<std::string> notes;
  const std::vector<Json> all = read_records(file).all;
  if (all.empty()) return;
  const Json& first = all[0];
  const std::string cell = first.at("cell").get<std::string>();
  RecordFile records(file, notes);
  records.forget(cell);
  for (const Json& j : read_records(file).all) PES_CHECK(j.at("cell") != cell);
  records.add(cell, "train", {first});
  PES_CHECK(!read_records(file).all.empty());
}

}  // namespace pesuite
