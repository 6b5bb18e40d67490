// Records: one JSON line, one observation of one cell, or its failure, with the context it ran in.
// The schema is core/schemas/record.schema.json.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "cell/cell.h"

namespace pesuite {

namespace fs = std::filesystem;

// What a suite knows of a cell, which stands in each of its records.
struct CellContext {
  std::string suite, determinism;  // the level of lines that have none of their own
  std::string id, series;
  std::string encoding, task, model;  // ids in the suite
  std::string expression;             // of the encoding, with all options
  std::uint64_t seed = 0;
  const CellConfig* config = nullptr;  // on loan
};
// An observation line of the store with what the suite knows of its cell.
Json make_record(const CellContext&, const std::string& part, const Json& observation);
Json failure_record(const CellContext&, const std::string& kind, const std::string& reason);

// Beside the records while a run goes on: what cells at work say of their loss, in the same form.
inline constexpr const char* live_file = "live.jsonl";

// Name of a file of attention maps in the folder attention/ of a run.
std::string maps_name(const std::string& encoding, const std::string& task,
                      const std::string& model, std::uint64_t seed, int length,
                      const std::string& part);

// The records of a run: an append-only file. Several processes may write it, if each holds a lock
// of their own meanwhile: what others have written since is read first.
class RecordFile {
 public:
  // Opens `path`, which need not exist. A torn last line, left by a crash, and lines that are no
  // records are taken out and reported in `notes`.
  RecordFile(fs::path path, std::vector<std::string>& notes);

  struct Part {
    std::string cell, part;
    std::vector<Json> records;
  };
  // Appends the lines of each part in one write. Does nothing when they are there, and replaces
  // those that are others: a crash left only some, or they were computed again, or damaged.
  void add(const std::vector<Part>&);
  void add(const std::string& cell, const std::string& part, const std::vector<Json>& records) {
    add({{cell, part, records}});
  }
  // Takes out what is recorded of a cell that is to run again, or one part of it.
  void forget(const std::string& cell, const std::string& part = "");
  std::vector<std::string> failed_cells();
  // Takes out what is of no such cell, and all failures.
  void keep_results_of(const std::set<std::string>& cells);
  bool changed() const { return changed_; }  // since it was opened

 private:
  // `replaced`: lines for those of a cell and part.
  void rewrite(const std::function<bool(const std::string& cell, const std::string& part)>& keep,
               std::map<std::string, std::string> replaced = {});

  void catch_up();  // with what others have written
  void note_place();

  fs::path path_;
  std::map<std::string, std::string> known_;  // checksum of the lines of each cell and part
  std::uintmax_t inode_ = 0, size_ = 0;       // of the file, as far as it is known
  bool changed_ = false;
};

struct Records {
  std::vector<Json> all;           // in the order they were written
  std::vector<std::string> notes;  // lines that could not be read
};
// All records of a run; damaged lines are skipped and reported. A failure counts until the cell is
// trained after it: it is dropped where a training of the cell stands behind it in the file.
Records read_records(const fs::path& path);

// What a report reads in a run's folder has checksums in digests.json, which stand there while no
// run is at work: seal_run() writes them, unseal_run() takes them away.
void seal_run(const fs::path& run);
void unseal_run(const fs::path& run);
// Names of the files that are not what the run wrote. None where there are no checksums: a run was
// killed, is of before there were any, or was copied without them.
std::vector<std::string> damaged_files(const fs::path& run);

}  // namespace pesuite
