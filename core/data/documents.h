// Documents of text, read one after the other from files of several layouts, never all at once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"

namespace pesuite::data {

struct Document {
  std::string text;  // the bytes of the file, or of the field; not always UTF-8
  fs::path file;     // that it stands in
};

// Where the next document begins; a reader that is opened there goes on as if it had never stopped.
struct Cursor {
  std::size_t file = 0;     // of files(), in their order
  std::uint64_t bytes = 0;  // into its content, unpacked; of .parquet, rows
};

struct DocumentOptions {
  std::string field = "text";  // of .jsonl and .parquet
  std::string separator;       // of .txt: a line that ends a document; "": each file is a document
  std::size_t longest = 4 << 20;  // bytes; what is longer is cut behind a line into several
  bool only_text = false;         // files that are named are passed over like those of folders
};

// Each .txt (and any other name that no rule below knows) is a document, or several where a line is
// the separator; each line of .jsonl is one, and each row of .parquet; .gz and .zst are unpacked as
// they are read. A byte order mark is dropped. A folder stands for the files in it and below it, in the order of their
// paths, without those that do not begin like text; a file that is named is read as it
// stands.
class Documents {
 public:
  virtual ~Documents() = default;
  // False at the end. Error (data) with file and line or row for what is damaged or no JSON, has no
  // such field, or has a line of more than a gigabyte.
  virtual bool next(Document&) = 0;
  virtual Cursor cursor() const = 0;
  virtual bool inside() const = 0;  // a document that was cut: cursor() lies behind all of it
  virtual const std::vector<fs::path>& files() const = 0;
  virtual std::uint64_t bytes() const = 0;       // of all files as they lie on the disk
  virtual std::uint64_t bytes_read() const = 0;  // of them, so far
  virtual std::uint64_t skipped() const = 0;     // files of folders that are no text
};

// Error (data) where one of `paths` does not exist, or none of them holds a file.
std::unique_ptr<Documents> open_documents(const std::vector<fs::path>& paths,
                                          const DocumentOptions& = {}, const Cursor& = {});

}  // namespace pesuite::data
