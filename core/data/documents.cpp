#include "data/documents.h"

#include <simdjson.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "data/packed.h"
#include "data/parquet.h"

namespace pesuite::data {

namespace {

constexpr std::size_t longest_line = 1 << 30;
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

// A file's content, read ahead in pieces.
class Window {
 public:
  Window(const fs::path& path, std::uint64_t skip) : stream_(open_stream(path)) {
    if (skip > 0) stream_->skip(skip);
    at_ = skip;
    if (skip == 0 && ahead(3).starts_with(byte_order_mark)) drop(3);
  }
  // What comes next, at least n bytes of it unless the content ends.
  std::string_view ahead(std::size_t n) {
    while (buffer_.size() - first_ < n && !ended_) more(n);
    return std::string_view(buffer_).substr(first_);
  }
  void drop(std::size_t n) { first_ += n, at_ += n; }
  std::uint64_t at() const { return at_; }  // into the content
  std::uint64_t packed_read() const { return stream_->packed_read(); }

  // Bytes up to and with the next line end, or to the end of the content.
  std::size_t line_length(std::size_t from, std::size_t most) {
    for (std::size_t looked = from;;) {
      const std::string_view text = ahead(looked + 1);
      const std::size_t end = text.find('\n', looked);
      if (end != std::string_view::npos) return end + 1;
      looked = text.size();
      if (ended_ || looked > most) return looked;
    }
  }
  bool ends_within(std::size_t n) { return ahead(n + 1).size() <= n; }

 private:
  void more(std::size_t n) {
    buffer_.erase(0, first_);
    first_ = 0;
    const std::size_t had = buffer_.size();
    buffer_.resize(std::max(n, had + (1 << 18)));
    const std::size_t got = stream_->read(buffer_.data() + had, buffer_.size() - had);
    ended_ = got < buffer_.size() - had;
    buffer_.resize(had + got);
  }

  std::unique_ptr<ByteStream> stream_;
  std::string buffer_;
  std::size_t first_ = 0;
  std::uint64_t at_ = 0;
  bool ended_ = false;
};

// Where a text that goes on may be cut: behind the last line of the first `longest` bytes that a
// line follows which begins with no space, so that no run of white space is torn; else between two
// characters.
std::size_t cut_of(std::string_view text, std::size_t longest) {
  const auto is_space = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  for (std::size_t i = longest; i > longest / 2; --i)
    if (text[i - 1] == '\n' && !is_space(text[i]) && (text[i] & 0x80) == 0 &&
        !is_space(text[i - 2]))
      return i;
  std::size_t i = longest;
  while (i > longest - 4 && (text[i] & 0xC0) == 0x80) --i;
  return i;
}

// No NUL, and of ten bytes at least nine that belong to UTF-8: old text in another code passes, a
// program or a picture does not.
bool begins_like_text(const fs::path& file) {
  std::string begin(1 << 16, '\0');
  begin.resize(open_stream(file)->read(begin.data(), begin.size()));
  if (begin.find('\0') != std::string::npos) return false;
  std::size_t wrong = 0;
  for (std::string_view rest = begin; !rest.empty(); ++wrong) {
    rest.remove_prefix(utf8_prefix(rest));
    if (rest.empty()) break;
    rest.remove_prefix(1);
  }
  return wrong * 10 <= begin.size();
}

class Reader : public Documents {
 public:
  Reader(std::vector<fs::path> files, std::set<fs::path> of_folders, const DocumentOptions& options,
         const Cursor& cursor)
      : files_(std::move(files)),
        of_folders_(std::move(of_folders)),
        options_(options),
        file_(cursor.file),
        start_(cursor.bytes) {
    for (std::size_t i = 0; i < files_.size(); ++i) {
      std::error_code gone;
      const std::uintmax_t size = fs::file_size(files_[i], gone);
      bytes_ += gone ? 0 : size;
      if (i < file_) before_ += gone ? 0 : size;
    }
  }

  bool next(Document& d) override {
    while (file_ < files_.size()) {
      if (open() && read(d)) return true;
      before_ += packed_read();
      window_.reset(), rows_.reset(), ++file_, start_ = 0, line_ = 0;
    }
    return false;
  }
  Cursor cursor() const override {
    return {file_, window_ ? window_->at() : rows_ ? rows_->row() : start_};
  }
  bool inside() const override { return !rest_.empty(); }
  const std::vector<fs::path>& files() const override { return files_; }
  std::uint64_t bytes() const override { return bytes_; }
  std::uint64_t bytes_read() const override { return before_ + packed_read(); }
  std::uint64_t skipped() const override { return skipped_; }

 private:
  std::uint64_t packed_read() const {
    return window_ ? window_->packed_read() : rows_ ? rows_->packed_read() : 0;
  }

  bool open() {
    if (window_ || rows_) return true;
    if (is_parquet(files_[file_])) {
      rows_.emplace(files_[file_], options_.field, start_);
      return true;
    }
    const bool passes = options_.only_text || of_folders_.contains(files_[file_]);
    if (passes && !begins_like_text(files_[file_])) {
      ++skipped_;
      return false;
    }
    window_.emplace(files_[file_], start_);
    return true;
  }

  bool read(Document& d) {
    d.file = files_[file_];
    d.text.clear();
    if (!rest_.empty()) return take_rest(d);
    if (rows_) return rows_->next(d.text) && whole_or_cut(d);
    const std::string kind = unpacked_name(d.file).extension();
    if (kind == ".jsonl" || kind == ".ndjson") return read_json(d);
    return options_.separator.empty() ? read_whole(d) : read_part(d);
  }

  // A file, or the next `longest` bytes of it.
  bool read_whole(Document& d) {
    const std::string_view text = window_->ahead(options_.longest + 1);
    if (text.empty()) return false;
    d.text = text.substr(
        0, text.size() <= options_.longest ? text.size() : cut_of(text, options_.longest));
    window_->drop(d.text.size());
    return true;
  }

  // Lines up to the separator, which belongs to no document.
  bool read_part(Document& d) {
    if (window_->ahead(1).empty()) return false;
    std::size_t size = 0;
    while (true) {
      const std::size_t end = window_->line_length(size, longest_line);
      std::string_view line = window_->ahead(end).substr(size, end - size);
      if (line.empty()) break;
      while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
      if (line == options_.separator) {
        d.text = window_->ahead(end).substr(0, size);
        window_->drop(end);
        return true;
      }
      size = end;
      if (size > options_.longest) {
        d.text =
            window_->ahead(size + 1).substr(0, cut_of(window_->ahead(size + 1), options_.longest));
        window_->drop(d.text.size());
        return true;
      }
    }
    d.text = window_->ahead(size).substr(0, size);
    window_->drop(size);
    return true;
  }

  bool read_json(Document& d) {
    while (true) {
      const std::size_t size = window_->line_length(0, longest_line);
      if (size == 0) return false;
      ++line_;
      if (size > longest_line) refuse("has more than a gigabyte");
      const std::string_view line = window_->ahead(size).substr(0, size);
      const bool blank = line.find_first_not_of(" \t\r\n") == std::string_view::npos;
      if (!blank) parse(line, d);
      window_->drop(size);
      if (blank) continue;
      return whole_or_cut(d);
    }
  }
  void parse(std::string_view line, Document& d) {
    simdjson::dom::element element;
    if (const auto error = parser_.parse(line.data(), line.size()).get(element); error)
      refuse(fmt::format("is no JSON: {}", simdjson::error_message(error)));
    simdjson::dom::object object;
    if (element.get(object) != simdjson::SUCCESS) refuse("is no JSON object");
    std::string_view text;
    const auto error = object[options_.field].get(text);
    if (error == simdjson::NO_SUCH_FIELD)
      refuse(fmt::format("has no field '{}'; --field names another", options_.field));
    if (error) refuse(fmt::format("has no text in its field '{}'", options_.field));
    d.text = text;
  }
  [[noreturn]] void refuse(const std::string& why) const {
    fail(Exit::data, "{}: line {}{} {}", files_[file_].string(), line_,
         start_ > 0 ? " behind where it was interrupted" : "", why);
  }

  bool whole_or_cut(Document& d) {
    if (d.text.size() <= options_.longest) return true;
    rest_ = std::move(d.text);
    return take_rest(d);
  }
  // Of a text of JSON or Parquet that is longer than a document may be. Its parts have one place.
  bool take_rest(Document& d) {
    const std::string_view left = std::string_view(rest_).substr(rest_at_);
    const std::size_t size =
        left.size() <= options_.longest ? left.size() : cut_of(left, options_.longest);
    d.text = left.substr(0, size);
    rest_at_ += size;
    if (rest_at_ == rest_.size()) rest_.clear(), rest_at_ = 0;
    return true;
  }

  std::vector<fs::path> files_;
  std::set<fs::path> of_folders_;
  DocumentOptions options_;
  std::size_t file_;
  std::uint64_t start_, line_ = 0, bytes_ = 0, before_ = 0, skipped_ = 0;
  std::optional<Window> window_;      // of a file of text, or
  std::optional<ParquetTexts> rows_;  // of a table
  std::string rest_;  // of a text that was cut, from rest_at_ on
  std::size_t rest_at_ = 0;
  simdjson::dom::parser parser_{longest_line + 1};
};

// What the folder of an import says it holds; what lies beside it is not text to train on.
std::vector<fs::path> files_of_import(const fs::path& folder, const Json& source) {
  std::vector<fs::path> files;
  for (const Json& f : source.value("files", Json::array())) {
    const bool named = f.is_object() && f.contains("file") && f["file"].is_string();
    const auto name = named ? f["file"].get<std::string>() : std::string();
    if (name.empty() || fs::path(name).filename() != name || !fs::exists(folder / name))
      fail(Exit::data, "{} names a file '{}', which is not there; import the text again",
           (folder / "source.json").string(), name);
    files.push_back(folder / name);
  }
  return files;
}

std::vector<fs::path> files_of_folder(const fs::path& folder) {
  if (fs::exists(folder / "import.state"))
    fail(Exit::data, "{} holds an import that did not end; the same 'data import' goes on with it",
         folder.string());
  std::vector<fs::path> inside;
  const fs::path source = folder / "source.json";
  const Json j = fs::exists(source) ? Json::parse(read_file(source), nullptr, false) : Json();
  if (j.is_object() && j.contains("pesuite_text")) {
    inside = files_of_import(folder, j);
  } else {
    std::error_code error;
    const auto links = fs::directory_options::skip_permission_denied;
    for (const auto& item : fs::recursive_directory_iterator(folder, links))
      if (item.is_regular_file(error) && item.path() != source) inside.push_back(item.path());
  }
  std::sort(inside.begin(), inside.end());
  return inside;
}

}  // namespace

std::unique_ptr<Documents> open_documents(const std::vector<fs::path>& paths,
                                          const DocumentOptions& options, const Cursor& cursor) {
  std::vector<fs::path> files;
  std::set<fs::path> of_folders;
  for (const fs::path& p : paths) {
    std::error_code error;
    if (!fs::exists(p, error)) fail(Exit::data, "there is no {}", p.string());
    if (!fs::is_directory(p, error)) {
      files.push_back(p);
      continue;
    }
    const std::vector<fs::path> inside = files_of_folder(p);
    of_folders.insert(inside.begin(), inside.end());
    files.insert(files.end(), inside.begin(), inside.end());
  }
  if (files.empty())
    fail(Exit::data, "{} holds no file", paths.empty() ? "nothing" : paths[0].string());
  return std::make_unique<Reader>(std::move(files), std::move(of_folders), options, cursor);
}

}  // namespace pesuite::data
