#include "cell/record.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
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
    encoding["switches"].push_back({{"step", s.step}, {"encoding", s.encoding}});
  if (!config.evaluation.empty()) encoding["evaluation"] = config.evaluation;
  return {{"schema", "pesuite.record/1"},
          {"suite", c.suite},
          {"cell", c.id},
          {"part", part},
          {"series", c.series},
          {"encoding", encoding},
          {"model", c.model},
          {"task", c.task},
          {"task_expr", config.task},
          {"task_version", identity(config.task_identity, "version")},
          {"seed", c.seed},
          {"backend", config.backend},
          {"precision", precision_name(config.precision)},
          {"determinism", c.determinism}};
}

bool is_record(const Json& j) {
  const auto is_text = [&](const char* key) { return j.contains(key) && j[key].is_string(); };
  return j.is_object() && is_text("cell") && j.contains("metric") &&
         (!j.contains("part") || is_text("part"));
}

// Every line that is a record, superseded or not.
Records read_lines(const fs::path& path) {
  Records out;
  const std::string text = read_file(path);
  std::size_t number = 0;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    ++number;
    const std::string_view line = std::string_view(text).substr(start, end - start);
    start = end + 1;
    if (line.empty()) continue;
    Json j = Json::parse(line, nullptr, false);
    if (!is_record(j)) {
      out.notes.push_back(fmt::format("{}:{}: not a record, skipped", path.string(), number));
      continue;
    }
    out.all.push_back(std::move(j));
  }
  return out;
}

std::string key_of(const std::string& cell, const std::string& part) {
  return cell + "/" + part;
}

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
  std::string out = fmt::format("{}_{}_{}_s{}_{}_{}", encoding, task, model, seed, length, part);
  for (char& c : out)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '-' && c != '.')
      c = '-';
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
    text.resize(whole);
  }
  for (const Json& j : read_lines(path_).all)
    ++lines_[key_of(j.value("cell", std::string()), j.value("part", std::string()))];
}

void RecordFile::add(const std::string& cell, const std::string& part,
                     const std::vector<Json>& records) {
  const std::size_t known = lines_[key_of(cell, part)];
  if (known == records.size()) return;
  if (known > 0) rewrite_without(cell, part);  // only a part of it is there
  append(cell, part, records);
}

void RecordFile::forget(const std::string& cell, const std::string& part) {
  const bool known = std::any_of(lines_.begin(), lines_.end(), [&](const auto& l) {
    return part.empty() ? l.first.starts_with(cell + "/") : l.first == key_of(cell, part);
  });
  if (known) rewrite_without(cell, part);
}

void RecordFile::rewrite_without(const std::string& cell, const std::string& part) {
  std::string rest;
  lines_.clear();
  for (const Json& j : read_lines(path_).all) {
    const std::string c = j.value("cell", std::string()), p = j.value("part", std::string());
    if (c == cell && (part.empty() || p == part)) continue;
    rest += j.dump() + "\n";
    ++lines_[key_of(c, p)];
  }
  write_file_atomic(path_, rest);
  changed_ = true;
}

void RecordFile::append(const std::string& cell, const std::string& part,
                        const std::vector<Json>& records) {
  std::string lines;
  for (const Json& j : records) lines += j.dump() + "\n";
  append_file(path_, lines);
  changed_ = true;
  lines_[key_of(cell, part)] += records.size();
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
    if (j.value("part", std::string()) != "failure") return false;
    const auto it = trained.find(j["cell"].get<std::string>());
    return it != trained.end() && it->second > at;
  });
  return out;
}

}  // namespace pesuite
