#include "run/merge.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/seal.h"
#include "base/text.h"
#include "cell/lease.h"
#include "model/metrics.h"
#include "model/safetensors.h"

namespace pesuite {

namespace {

// What two computations of the same numbers may have different.
const std::set<std::string>& of_the_clock() {
  static const std::set<std::string> keys = {"ts", "wall_s", "tokens_per_s", "determinism"};
  return keys;
}

bool is_passing(const std::string& name) {
  return name.starts_with("lease.json") || name == ".lock" || name == "work.json" ||
         name.ends_with(".tmp") || name == "log.txt" || name == "status.jsonl";
}
bool is_sound(const fs::path& file) {
  return file.extension() == ".safetensors" ? is_sound_safetensors(file)
         : file.extension() == ".jsonl"     ? is_kept(file)
                                            : true;
}

void copy_whole(const fs::path& from, const fs::path& to) {
  write_file_atomic(to, read_file(from));
}

std::string said(const Json& j, const std::string& key) {
  return j.contains(key) ? j[key].dump() : "nothing";
}

// Lines of a result but for what it cost.
std::vector<Json> numbers_of(const fs::path& file) {
  std::vector<Json> all = read_observations(file);
  std::erase_if(all, [](const Json& j) { return is_cost(j.value("metric", std::string())); });
  return all;
}

// The first difference of two results in words; "" where there is none.
std::string difference(const fs::path& a, const fs::path& b) {
  const std::vector<Json> one = numbers_of(a), two = numbers_of(b);
  if (one.size() != two.size())
    return fmt::format("{} here, {} there", counted(one.size(), "line"), two.size());
  for (std::size_t i = 0; i < one.size(); ++i) {
    std::set<std::string> keys;
    for (const Json* j : {&one[i], &two[i]})
      for (const auto& [key, value] : j->items()) keys.insert(key);
    for (const std::string& key : keys)
      if (!of_the_clock().contains(key) && said(one[i], key) != said(two[i], key))
        return fmt::format("{} of {} in line {} is {} here, {} there", key,
                           one[i].value("metric", std::string("it")), i + 1, said(one[i], key),
                           said(two[i], key));
  }
  return "";
}

void merge_file(const fs::path& from, const fs::path& to, MergeResult& r, bool& is_new) {
  if (!is_sound(from)) return;
  if (!fs::exists(to) || !is_sound(to)) {
    copy_whole(from, to);
    ++r.files;
    is_new = true;
    return;
  }
  if (from.extension() != ".jsonl") return;  // weights say what their records say
  const std::string how = difference(to, from);
  if (how.empty())
    ++r.equal;
  else
    r.different.push_back(fmt::format("{}: {}", to.string(), how));
}

void merge_node(const fs::path& from, const fs::path& to, MergeResult& r) {
  bool is_new = false;
  std::vector<fs::path> files;
  for (const auto& item : fs::recursive_directory_iterator(from))
    if (item.is_regular_file() && !item.is_symlink() &&
        !is_passing(item.path().filename().string()))
      files.push_back(item.path());
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files)
    merge_file(file, to / file.lexically_relative(from), r, is_new);
  for (const char* name : {"status.jsonl", "log.txt"})  // of the process that computed it
    if (is_new && !fs::exists(to / name) && fs::exists(from / name))
      copy_whole(from / name, to / name);
  r.cells += is_new ? 1 : 0;
}

template <class F>
void each_node(const fs::path& store, F body) {
  std::error_code error;
  for (const auto& shelf : fs::directory_iterator(store / "nodes", error))
    if (shelf.is_directory())
      for (const auto& node : fs::directory_iterator(shelf.path()))
        if (node.is_directory()) body(node.path());
}

// Ids of 16 hexadecimal digits that a text names, whatever else it says.
void note_ids(const std::string& text, std::set<std::string>& ids) {
  std::size_t run = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ' ';
    if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')) {
      ++run;
      continue;
    }
    if (run == 16) ids.insert(text.substr(i - 16, 16));
    run = 0;
  }
}

std::uintmax_t bytes_below(const fs::path& folder) {
  std::uintmax_t bytes = 0;
  std::error_code error;
  for (const auto& item : fs::recursive_directory_iterator(folder, error))
    if (item.is_regular_file(error)) bytes += item.file_size(error);
  return bytes;
}

// Whether a run of the same suite is there, whatever its time: runs are named TIME-SUITE-DIGEST,
// and 'pesuite run' brings its records up to what the store has.
bool has_run_of(const fs::path& results, const fs::path& run) {
  const std::string name = run.filename().string();
  const std::string ending = name.substr(std::min(name.find('-'), name.size()));
  std::error_code error;
  for (const auto& item : fs::directory_iterator(results / "runs", error))
    if (item.path().filename().string().ends_with(ending)) return true;
  return false;
}

}  // namespace

MergeResult merge_results(const fs::path& from, const fs::path& to) {
  if (!fs::is_directory(from / "store") && !fs::is_directory(from / "runs"))
    fail(Exit::data, "{} holds no results: neither store nor runs is in it", from.string());
  std::error_code error;
  if (fs::equivalent(from, to, error))
    fail(Exit::usage, "{} is where the others are merged into", from.string());
  MergeResult r;
  each_node(from / "store",
            [&](const fs::path& node) { merge_node(node, to / node.lexically_relative(from), r); });
  for (const auto& run : fs::directory_iterator(from / "runs", error)) {
    const fs::path own = to / "runs" / run.path().filename();
    if (!run.is_directory() || has_run_of(to, run.path())) continue;
    fs::create_directories(own.parent_path());
    fs::copy(run.path(), own, fs::copy_options::recursive | fs::copy_options::skip_symlinks);
    ++r.runs;
  }
  return r;
}

Garbage find_garbage(const fs::path& out, const std::vector<fs::path>& baselines) {
  std::set<std::string> needed;
  std::error_code error;
  for (const auto& run : fs::directory_iterator(out / "runs", error))
    for (const char* name : {"plan.json", "cells.tsv", "records.jsonl"})
      if (fs::exists(run.path() / name)) note_ids(read_file(run.path() / name), needed);
  for (const fs::path& b : baselines) note_ids(read_file(b), needed);
  Garbage g;
  const Store store(out / "store");
  each_node(store.root(), [&](const fs::path& node) {
    const std::string id = node.filename().string();
    const std::optional<Holder> holder = read_lease(store, id);
    if (needed.contains(id) || (holder && !is_gone(*holder))) {
      ++g.kept;
      return;
    }
    g.bytes += bytes_below(node);
    g.nodes.push_back(node);
  });
  std::sort(g.nodes.begin(), g.nodes.end());
  return g;
}

}  // namespace pesuite
