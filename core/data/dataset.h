// Datasets of text: what an import writes and `data tokenize` reads.
//
//   documents-00000.jsonl.zst ...   {"text": ..., "source": ...} a line, about 64 MB of text a file
//   validation-00000.jsonl.zst ...  the same, held out by whoever published the text
//   source.json                     where from, version, licence note, counts, SHA-256 of each file
#pragma once

#include <atomic>
#include <functional>

#include "data/documents.h"
#include "data/manifest.h"

namespace pesuite::data {

// What is imported one after the other.
struct Part {
  Source source;       // counts and digest are filled in
  std::string prefix;  // of its files' names
  // Opens its documents where an interrupted import stood; may download before.
  std::function<std::unique_ptr<Documents>(const Cursor&)> open;
};

struct ImportProgress {
  std::string part;
  std::uint64_t documents = 0, bytes = 0;  // of all parts so far
};

struct Imported {
  std::vector<Source> sources;
  std::uint64_t documents = 0, bytes = 0;
  std::vector<std::string> files;
};

// Whether the folder holds this import whole. Another import in it is an Error (data).
bool is_imported(const std::string& what, const fs::path& folder, Imported& out);

// Writes the folder, source.json last; files get their names when they are whole. Called again it
// goes on behind the last whole file. `what` names the import: another into the same folder is an
// Error (data). False where `stop` became true before the end.
bool import_parts(const std::vector<Part>&, const std::string& what, const fs::path& folder,
                  const std::atomic<bool>& stop,
                  const std::function<void(const ImportProgress&)>& progress, Imported& out,
                  std::uint64_t file_bytes = 64 << 20);

}  // namespace pesuite::data
