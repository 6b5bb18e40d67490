#include "data/dataset.h"

#include <zstd.h>

#include <memory>

#include "base/seal.h"
#include "base/text.h"
#include "data/packed.h"

namespace pesuite::data {

namespace {

constexpr int level = 6;

std::string packed(std::string_view text) {
  std::string out(::ZSTD_compressBound(text.size()), '\0');
  const std::size_t n = ::ZSTD_compress(out.data(), out.size(), text.data(), text.size(), level);
  PES_CHECK(!::ZSTD_isError(n));
  out.resize(n);
  return out;
}

// Invalid UTF-8 cannot stand in JSON.
std::string line_of(const Document& d, const std::string& source) {
  return Json{{"text", d.text}, {"source", source}}.dump(-1, ' ', false,
                                                         Json::error_handler_t::replace) +
         "\n";
}

class Import {
 public:
  Import(const std::vector<Part>& parts, const std::string& what, const fs::path& folder,
         std::uint64_t file_bytes)
      : parts_(parts), what_(sha256(what)), folder_(folder), file_bytes_(file_bytes) {}

  bool all(const std::atomic<bool>& stop,
           const std::function<void(const ImportProgress&)>& progress, Imported& out) {
    if (fs::exists(folder_ / "source.json")) return finished(out);
    fs::create_directories(folder_);
    sweep_temporaries(folder_);
    resume();
    for (; part_ < parts_.size(); next_part()) {
      if (parts_[part_].open == nullptr) continue;
      if (!read(stop, progress)) return false;
    }
    finish(out);
    return true;
  }

  bool finished(Imported& out) const {
    const Json j = Json::parse(read_file(folder_ / "source.json"), nullptr, false);
    if (j.is_discarded() || j.value("what", "") != what_)
      fail(Exit::data, "{} holds another import already; name another folder", folder_.string());
    for (const Json& s : j.at("sources"))
      out.sources.push_back({s.at("name"), s.at("origin"), s.at("version"), s.at("licence"),
                             s.at("documents"), s.at("bytes"), s.at("sha256")});
    for (const Json& f : j.at("files"))
      out.files.push_back(f.at("file")), out.documents += f.at("documents").get<std::uint64_t>(),
          out.bytes += f.at("bytes").get<std::uint64_t>();
    return true;
  }

 private:
  fs::path state_file() const { return folder_ / "import.state"; }

  void resume() {
    if (!fs::exists(state_file())) return;
    const Json s = Json::parse(read_sealed(state_file()));
    if (s.at("what") != what_)
      fail(Exit::data,
           "{} holds what another, interrupted import left; remove it or name another folder",
           folder_.string());
    part_ = s.at("part"), number_ = s.at("number"), files_ = s.at("files");
    cursor_ = {s.at("file"), s.at("bytes")};
    sources_ = s.at("sources");
    source_ = {s.at("documents"), s.at("text"), s.at("hashes")};
  }

  void checkpoint() const {
    write_sealed(state_file(), Json{{"what", what_},
                                    {"part", part_},
                                    {"number", number_},
                                    {"files", files_},
                                    {"file", cursor_.file},
                                    {"bytes", cursor_.bytes},
                                    {"sources", sources_},
                                    {"documents", source_.documents},
                                    {"text", source_.bytes},
                                    {"hashes", source_.hashes}}
                                   .dump());
  }

  bool read(const std::atomic<bool>& stop,
            const std::function<void(const ImportProgress&)>& progress) {
    const Part& part = parts_[part_];
    progress({part.source.name, documents_, bytes_});
    const auto documents = part.open(cursor_);
    std::string lines;
    std::uint64_t text = 0, held = 0;
    const auto write = [&] {
      if (!lines.empty()) write_lines(part, lines, held, text);
      lines.clear(), text = held = 0;
    };
    for (Document d; documents->next(d);) {
      if (d.text.empty()) continue;
      lines += line_of(d, part.source.name);
      text += d.text.size(), ++held;
      ++documents_, bytes_ += d.text.size();
      if (documents_ % 64 == 0) progress({part.source.name, documents_, bytes_});
      if (stop) return false;  // what is not written yet is read again
      if (text < file_bytes_ || documents->inside()) continue;
      cursor_ = documents->cursor();
      write();
      checkpoint();
    }
    write();
    return true;
  }

  void write_lines(const Part& part, const std::string& lines, std::uint64_t held,
                   std::uint64_t text) {
    const std::string name = fmt::format("{}-{:05}.jsonl.zst", part.prefix, number_++);
    const std::string bytes = packed(lines);
    write_file_atomic(folder_ / name, bytes);
    const std::string hash = sha256(bytes);
    files_.push_back({{"file", name}, {"documents", held}, {"bytes", text}, {"sha256", hash}});
    source_.documents += held, source_.bytes += text;
    source_.hashes = sha256(source_.hashes + sha256(lines));
  }

  void next_part() {
    const Source& s = parts_[part_].source;
    sources_.push_back({{"name", s.name},
                        {"origin", s.origin},
                        {"version", s.version},
                        {"licence", s.licence},
                        {"documents", source_.documents},
                        {"bytes", source_.bytes},
                        {"sha256", source_.hashes}});
    source_ = {};
    cursor_ = {};
    ++part_;
    if (part_ < parts_.size() && parts_[part_].prefix != parts_[part_ - 1].prefix) number_ = 0;
    checkpoint();
  }

  void finish(Imported& out) {
    if (files_.empty()) fail(Exit::data, "nothing to import: there is no text in what was named");
    const Json j = {{"pesuite_text", 1}, {"what", what_}, {"sources", sources_}, {"files", files_}};
    write_file_atomic(folder_ / "source.json", j.dump(2) + "\n");
    fs::remove(state_file());
    finished(out);
  }

  const std::vector<Part>& parts_;
  const std::string what_;
  const fs::path folder_;
  const std::uint64_t file_bytes_;
  std::size_t part_ = 0, number_ = 0;
  Cursor cursor_;
  Json files_ = Json::array(), sources_ = Json::array();
  struct {
    std::uint64_t documents = 0, bytes = 0;
    std::string hashes;                      // SHA-256 of those of its files' lines, chained
  } source_;                                 // of the part that is read
  std::uint64_t documents_ = 0, bytes_ = 0;  // read in this call
};

}  // namespace

bool is_imported(const std::string& what, const fs::path& folder, Imported& out) {
  return fs::exists(folder / "source.json") && Import({}, what, folder, 0).finished(out);
}

bool import_parts(const std::vector<Part>& parts, const std::string& what, const fs::path& folder,
                  const std::atomic<bool>& stop,
                  const std::function<void(const ImportProgress&)>& progress, Imported& out,
                  std::uint64_t file_bytes) {
  return Import(parts, what, folder, file_bytes).all(stop, progress, out);
}

}  // namespace pesuite::data
