#include "cell/record.h"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <future>
#include <iterator>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/machine.h"
#include "base/seal.h"
#include "base/text.h"

namespace pesuite {

namespace {

Json context(const CellContext& c, const std::string& part) {
  const CellConfig& config = *c.config;
  const auto identity = [](const std::map<std::string, std::string>& m, const char* key) {
    const auto it = m.find(key);
    return it == m.end() ? std::string() : it->second;
  };
  Json plugins = Json::array();
  for (const auto& [name, m] : config.encoding_identity)
    plugins.push_back({{"encoding", name},
                       {"id", identity(m, "library")},
                       {"version", identity(m, "version")},
                       {"build", identity(m, "build")}});
  Json encoding = {{"id", c.encoding}, {"expr", c.expression}, {"plugins", plugins}};
  if (!config.switches.empty() || !config.evaluation.empty()) encoding["trunk"] = config.encoding;
  for (const SwitchConfig& s : config.switches)
    if (s.trunk_steps == 0)  // a branch of the learning rate changes no encoding
      encoding["switches"].push_back({{"step", s.step}, {"encoding", s.encoding}});
  if (!config.evaluation.empty()) encoding["evaluation"] = config.evaluation;
  return {
      {"schema", "pesuite.record/1"},
      {"suite", c.suite},
      {"cell", c.id},
      {"part", part},
      {"series", c.series},
      {"encoding", encoding},
      {"model", c.model},
      {"task", c.task},
      {"task_expr", config.asked.empty() ? config.task : config.asked},
      {"task_version",
       identity(config.asked.empty() ? config.task_identity : config.asked_identity, "version")},
      {"seed", c.seed},
      {"backend", config.backend},
      {"precision", precision_name(config.precision)},
      {"determinism", c.determinism}};
}

// What every reader takes for granted: these fields have these kinds wherever they are.
enum class Kind { text, number, whole, object };
bool is_of(Kind kind, const Json& value) {
  switch (kind) {
    case Kind::text: return value.is_string();
    case Kind::number: return value.is_number();
    case Kind::whole: return value.is_number_integer();
    case Kind::object: return value.is_object();
  }
  return false;
}
bool has_kinds(const Json& object, const std::map<std::string_view, Kind>& kinds) {
  return std::all_of(object.items().begin(), object.items().end(), [&](const auto& field) {
    const auto kind = kinds.find(field.key());
    return kind == kinds.end() || is_of(kind->second, field.value());
  });
}
bool is_record(const Json& j) {
  using enum Kind;
  static const std::map<std::string_view, Kind> fields = {
      {"suite", text},      {"cell", text},     {"part", text},      {"series", text},
      {"encoding", object}, {"model", text},    {"task", text},      {"task_expr", text},
      {"seed", whole},      {"backend", text},  {"precision", text}, {"metric", text},
      {"split", text},      {"coords", object}, {"step", whole},     {"tokens", whole},
      {"wall_s", number},   {"status", text},   {"reason", text},    {"ts", text}};
  static const std::map<std::string_view, Kind> encoding = {
      {"id", text}, {"expr", text}, {"trunk", text}};
  static const std::map<std::string_view, Kind> coords = {{"train_len", whole},
                                                          {"eval_len", whole}};
  return j.is_object() && j.contains("cell") && j.contains("metric") && j.contains("encoding") &&
         j.contains("coords") && has_kinds(j, fields) && has_kinds(j["encoding"], encoding) &&
         has_kinds(j["coords"], coords);
}

// Every line that is a record, superseded or not.
struct Line {
  std::size_t number;  // from 1 on
  std::string_view text;
};
std::vector<Line> lines_of(const std::string& text) {
  std::vector<Line> out;
  std::size_t number = 0;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    ++number;
    if (end > start) out.push_back({number, std::string_view(text).substr(start, end - start)});
    start = end + 1;
  }
  return out;
}

Records parse_lines(std::span<const Line> lines, const std::string& path) {
  Records out;
  out.all.reserve(lines.size());
  for (const Line& line : lines) {
    Json j = Json::parse(line.text, nullptr, false);
    if (is_record(j))
      out.all.push_back(std::move(j));
    else
      out.notes.push_back(fmt::format("{}:{}: not a record, skipped", path, line.number));
  }
  return out;
}

// Parsing takes most of the time of a large report: each thread has a part of the lines.
Records read_lines(const fs::path& path) {
  const std::string text = read_file(path);
  const std::vector<Line> lines = lines_of(text);
  constexpr std::size_t worth_a_thread = 20'000;
  const std::size_t parts =
      std::clamp<std::size_t>(lines.size() / worth_a_thread, 1, std::min(usable_cores(), 8));
  std::vector<std::future<Records>> parsed;
  for (std::size_t i = 0; i < parts; ++i) {
    const std::size_t first = lines.size() * i / parts, end = lines.size() * (i + 1) / parts;
    parsed.push_back(
        std::async(parts > 1 ? std::launch::async : std::launch::deferred, [&, first, end] {
          return parse_lines(std::span(lines).subspan(first, end - first), path.string());
        }));
  }
  Records out = parsed[0].get();
  for (std::size_t i = 1; i < parts; ++i) {
    Records more = parsed[i].get();
    std::move(more.all.begin(), more.all.end(), std::back_inserter(out.all));
    std::move(more.notes.begin(), more.notes.end(), std::back_inserter(out.notes));
  }
  return out;
}

std::string key_of(const std::string& cell, const std::string& part) {
  return cell + "/" + part;
}

std::map<std::string, std::string> checksums_of(const std::vector<Json>& records) {
  std::map<std::string, std::string> out;
  for (const Json& j : records)
    out[key_of(j.value("cell", std::string()), j.value("part", std::string()))] += j.dump() + "\n";
  for (auto& [key, lines] : out) lines = checksum(lines);
  return out;
}

constexpr const char *digests = "digests.json", *failure_part = "failure";
constexpr const char* sealed_files[] = {"records.jsonl", "plan.json", "suite.resolved.toml",
                                        "env.json", "tuning.json"};

}  // namespace

Json make_record(const CellContext& c, const std::string& part, const Json& observation) {
  Json j = context(c, part);
  j.update(observation);
  return j;
}

Json failure_record(const CellContext& c, const std::string& kind, const std::string& reason) {
  Json j = context(c, "failure");
  j.update({{"metric", "cell"},
            {"unit", ""},
            {"direction", "none"},
            {"split", "train"},
            {"value", nullptr},
            {"coords", {{"train_len", c.config->train.length}}},
            {"step", 0},
            {"tokens", 0},
            {"flops", 0.0},
            {"wall_s", 0.0},
            {"status", kind},
            {"reason", reason},
            {"path", "none"},
            {"ts", utc_timestamp()}});
  return j;
}

std::string maps_name(const std::string& encoding, const std::string& task,
                      const std::string& model, std::uint64_t seed, int length,
                      const std::string& part) {
  const std::string name = fmt::format("{}_{}_{}", encoding, task, model);
  std::string out = file_name_of(name);
  // others may come to the same: task "a_b" and task "a" of model "b", or signs that are left out
  if (out != name || std::count(name.begin(), name.end(), '_') > 2)
    out += "-" + checksum(encoding + '\n' + task + '\n' + model);
  out += fmt::format("_s{}_{}_{}", seed, length, file_name_of(part));
  constexpr std::size_t longest = 200;  // a file's name has at most 255 bytes
  if (out.size() > longest) out = out.substr(0, longest - 17) + "-" + checksum(out);
  return out + ".safetensors";
}

RecordFile::RecordFile(fs::path path, std::vector<std::string>& notes) : path_(std::move(path)) {
  if (!fs::exists(path_)) return;
  std::string text = read_file(path_);
  const std::size_t end = text.rfind('\n');
  const std::size_t whole = end == std::string::npos ? 0 : end + 1;
  if (whole < text.size()) {
    notes.push_back(fmt::format("{}: the last line was torn by a crash ({} bytes) and is dropped",
                                path_.string(), text.size() - whole));
    fs::resize_file(path_, whole);
  }
  const Records lines = read_lines(path_);
  notes.insert(notes.end(), lines.notes.begin(), lines.notes.end());
  known_ = checksums_of(lines.all);
  note_place();
  if (!lines.notes.empty()) rewrite([](const auto&, const auto&) { return true; });
}

void RecordFile::note_place() {
  struct stat file {};
  const bool there = ::stat(path_.c_str(), &file) == 0;
  inode_ = there ? file.st_ino : 0, size_ = there ? static_cast<std::uintmax_t>(file.st_size) : 0;
}

void RecordFile::catch_up() {
  struct stat file {};
  const bool there = ::stat(path_.c_str(), &file) == 0;
  const std::uintmax_t inode = there ? file.st_ino : 0;
  const auto size = there ? static_cast<std::uintmax_t>(file.st_size) : 0;
  if (inode == inode_ && size == size_) return;
  if (inode == inode_ && size > size_) {  // lines behind those that are known
    std::ifstream in(path_, std::ios::binary);
    in.seekg(static_cast<std::streamoff>(size_));
    std::vector<Json> more;
    for (std::string line; std::getline(in, line);)
      if (Json j = Json::parse(line, nullptr, false); is_record(j)) more.push_back(std::move(j));
    for (auto& [key, sum] : checksums_of(more)) known_[key] = std::move(sum);
  } else {
    known_ = there ? checksums_of(read_lines(path_).all) : std::map<std::string, std::string>();
  }
  note_place();
}

void RecordFile::add(const std::vector<Part>& parts) {
  catch_up();
  std::map<std::string, std::string> replaced, sums;
  std::string lines;
  for (const Part& p : parts) {
    const std::string key = key_of(p.cell, p.part);
    std::string own;
    for (const Json& j : p.records) own += j.dump() + "\n";
    const std::string now = own.empty() ? "" : checksum(own);
    const auto known = known_.find(key);
    if (now == (known == known_.end() ? "" : known->second)) continue;
    // in the place of the old, since a failure counts by its place; a new failure stands last
    const bool in_place = known != known_.end() && p.part != failure_part;
    if (known != known_.end()) replaced[key] = in_place ? own : "";
    if (!in_place) lines += own, sums[key] = now;
  }
  if (!replaced.empty()) rewrite([](const auto&, const auto&) { return true; }, replaced);
  if (lines.empty()) return;
  append_file(path_, lines);
  known_.insert(sums.begin(), sums.end());
  note_place();
  changed_ = true;
}

void RecordFile::forget(const std::string& cell, const std::string& part) {
  catch_up();
  const auto first = known_.lower_bound(key_of(cell, part));
  if (first != known_.end() &&
      (part.empty() ? first->first.starts_with(cell + "/") : first->first == key_of(cell, part)))
    rewrite(
        [&](const auto& c, const auto& p) { return c != cell || (!part.empty() && p != part); });
}

std::vector<std::string> RecordFile::failed_cells() {
  catch_up();
  std::vector<std::string> out;
  for (const auto& [key, sum] : known_)
    if (const std::size_t at = key.rfind('/'); key.substr(at + 1) == failure_part)
      out.push_back(key.substr(0, at));
  return out;
}

void RecordFile::keep_results_of(const std::set<std::string>& cells) {
  rewrite([&](const auto& c, const auto& p) { return cells.contains(c) && p != failure_part; });
}

void RecordFile::rewrite(
    const std::function<bool(const std::string& cell, const std::string& part)>& keep,
    std::map<std::string, std::string> replaced) {
  std::string text;
  if (fs::exists(path_))
    for (const Json& j : read_lines(path_).all) {
      const std::string cell = j.value("cell", std::string()),
                        part = j.value("part", std::string());
      if (!keep(cell, part)) continue;
      const auto at = replaced.find(key_of(cell, part));
      text += at == replaced.end() ? j.dump() + "\n" : std::exchange(at->second, "");
    }
  write_file_atomic(path_, text);
  known_ = checksums_of(read_lines(path_).all);
  note_place();
  changed_ = true;
}

Records read_records(const fs::path& path) {
  Records out = read_lines(path);
  std::map<std::string, std::size_t> trained;  // the last line of a cell's training
  for (std::size_t i = 0; i < out.all.size(); ++i)
    if (out.all[i].value("part", std::string()) == "train")
      trained[out.all[i]["cell"].get<std::string>()] = i;
  std::size_t i = 0;
  std::erase_if(out.all, [&](const Json& j) {
    const std::size_t at = i++;
    if (j.value("part", std::string()) != failure_part) return false;
    const auto it = trained.find(j["cell"].get<std::string>());
    return it != trained.end() && it->second > at;
  });
  return out;
}

void seal_run(const fs::path& run) {
  Json files = Json::object();
  for (const char* name : sealed_files)
    if (fs::exists(run / name)) files[name] = "xxh3:" + checksum(read_file(run / name));
  write_file_atomic(
      run / digests,
      Json{{"schema", "pesuite.digests/1"}, {"files", std::move(files)}}.dump(1) + "\n");
}

void unseal_run(const fs::path& run) {
  std::error_code ignored;
  fs::remove(run / digests, ignored);
}

std::vector<std::string> damaged_files(const fs::path& run) {
  if (!fs::exists(run / digests)) return {};
  const Json all = Json::parse(read_file(run / digests), nullptr, false);
  if (!all.is_object() || !all.contains("files") || !all["files"].is_object()) return {digests};
  std::vector<std::string> out;
  for (const auto& [name, sum] : all["files"].items())
    if (!fs::is_regular_file(run / name) || sum != "xxh3:" + checksum(read_file(run / name)))
      out.push_back(name);
  return out;
}

}  // namespace pesuite
