#include "cell/record_stream.h"

#include <fmt/format.h>

#include <fstream>
#include <map>

#include "base/error.h"

namespace pesuite {

namespace fs = std::filesystem;

namespace {

std::string_view text(const RecordView& j, const char* key) {
  std::string_view out;
  return j[key].get(out) == simdjson::SUCCESS ? out : std::string_view();
}
bool is_record(const RecordView& j) {
  std::string_view part;
  const auto has = [&](const char* key) { return j[key].error() == simdjson::SUCCESS; };
  return j.is_object() && j["cell"].is_string() && has("metric") &&
         (!has("part") || j["part"].get(part) == simdjson::SUCCESS);
}

// body(number of the line from 1 on, what stands in it, or null) for each line that is wanted and
// not empty.
template <class Wanted, class F>
void each_line(const fs::path& path, Wanted wanted, F body) {
  std::ifstream in(path, std::ios::binary);
  if (!in) fail(Exit::data, "{} cannot be read", path.string());
  constexpr std::size_t buffer = std::size_t{1} << 20;
  std::vector<char> memory(buffer);
  in.rdbuf()->pubsetbuf(memory.data(), static_cast<std::streamsize>(buffer));
  simdjson::dom::parser parser;
  std::string line;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    if (line.empty() || !wanted(line)) continue;
    line.reserve(line.size() + simdjson::SIMDJSON_PADDING);
    RecordView j;
    const bool good = parser.parse(line).get(j) == simdjson::SUCCESS && is_record(j);
    body(number, good ? &j : nullptr);
  }
  if (in.bad()) fail(Exit::data, "{} could not be read to its end", path.string());
}

constexpr std::string_view failure = "failure";

// Lines of failures that count: behind the last training of their cell.
std::map<std::size_t, bool> failures_of(const fs::path& path) {
  std::map<std::string, std::vector<std::size_t>, std::less<>> failed;
  std::map<std::size_t, bool> counts;
  // Before the first failure no training matters.
  const auto wanted = [&](const std::string& line) {
    return !failed.empty() || line.find(failure) != std::string::npos;
  };
  each_line(path, wanted, [&](std::size_t number, const RecordView* j) {
    if (j == nullptr) return;
    const std::string_view part = text(*j, "part");
    if (part == failure) {
      failed[std::string(text(*j, "cell"))].push_back(number);
      counts[number] = true;
    } else if (part == "train") {
      if (const auto it = failed.find(text(*j, "cell")); it != failed.end()) {
        for (const std::size_t n : it->second) counts[n] = false;
        failed.erase(it);
      }
    }
  });
  return counts;
}

}  // namespace

void each_record(const fs::path& path, std::vector<std::string>& notes,
                 const std::function<void(const RecordView&)>& body) {
  const std::map<std::size_t, bool> counts = failures_of(path);
  const auto all = [](const std::string&) { return true; };
  each_line(path, all, [&](std::size_t number, const RecordView* j) {
    if (j == nullptr)
      notes.push_back(fmt::format("{}:{}: not a record, skipped", path.string(), number));
    else if (const auto it = counts.find(number); it == counts.end() || it->second)
      body(*j);
  });
}

}  // namespace pesuite
