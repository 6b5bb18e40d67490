#include "data/debian.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/program.h"
#include "base/text.h"
#include "data/html.h"
#include "data/likeness.h"
#include "data/packed.h"

namespace pesuite::data {

namespace {

constexpr std::size_t shortest = 200;  // bytes; less is no document
constexpr std::size_t longest_file = 64 << 20;

std::string content_of(const fs::path& file) {
  const auto stream = open_stream(file);
  std::string out;
  std::size_t had = 0;
  do {
    had = out.size();
    out.resize(had + (1 << 20));
    out.resize(had + stream->read(out.data() + had, 1 << 20));
  } while (out.size() > had && out.size() < longest_file);
  return out;
}

// A component like "fr", "pt-br" or "de_AT" that is not English.
bool is_of_another_language(const fs::path& inside) {
  static const std::set<std::string> languages = {
      "ar", "bg", "ca", "cs", "da", "de", "el", "eo", "es", "fa", "fi", "fr",
      "gl", "he", "hr", "hu", "id", "it", "ja", "ko", "lt", "nb", "nl", "pl",
      "pt", "ro", "ru", "sk", "sl", "sr", "sv", "tr", "uk", "vi", "zh"};
  const auto is_one = [&](std::string word) {
    for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (word.size() > 2 && word[2] != '-' && word[2] != '_') return false;
    return languages.contains(word.substr(0, 2)) && word.size() <= 7;
  };
  for (const fs::path& component : inside) {
    if (is_one(component.string())) return true;
    for (const std::string& word : split(component.string(), '.'))  // index.html.de
      if (word != component.string() && is_one(word)) return true;
  }
  return inside.string().find("translations") != std::string::npos;
}

bool is_index(const std::string& stem) {
  for (const char* name : {"genindex", "search", "py-modindex", "copyright", "license", "licence",
                           "changelog", "doc-base", "objects", "robots", "manifest", "sitemap"})
    if (stem.starts_with(name)) return true;
  return false;
}

// "x/html/_sources/a/b.rst.txt", "x/Documentation/a/b.rst.gz" and "x/html/a/b.html" are one
// document.
std::string document_name(const fs::path& file) {
  std::string name = file.string();
  for (const char* part : {"/_sources/", "/html/", "/Documentation/"})
    if (const std::size_t at = name.find(part); at != std::string::npos)
      name.replace(at, std::string_view(part).size(), "/");
  for (bool again = true; again;) {
    again = false;
    for (const char* end : {".gz", ".txt", ".rst", ".html", ".md", ".pod", ".htm"})
      if (name.ends_with(end))
        name.resize(name.size() - std::string_view(end).size()), again = true;
  }
  return name;
}

// Which form of a document is read: lower comes first; -1: none.
int rank_of(const fs::path& file) {
  const std::string name = unpacked_name(file).filename().string();
  const auto ends = [&](const char* end) { return name.ends_with(end); };
  if (ends(".rst.txt")) return 1;
  if (ends(".rst") || ends(".md") || ends(".pod")) return 0;
  if (ends(".txt")) return 2;
  if ((ends(".html") || ends(".htm") || ends(".html.en")) && reads_html()) return 3;
  return -1;
}

// Lines of reStructuredText that speak to programs.
std::string without_marks(const std::string& text) {
  std::string out;
  for (const std::string& line : split(text, '\n')) {
    const std::string t = trim(line);
    if (t.starts_with(".. SPDX-") || t.starts_with(".. include::") || t.starts_with(".. _") ||
        t.starts_with(".. toctree::") || t.starts_with(":maxdepth:") || t.starts_with(".. index::"))
      continue;
    out += line + "\n";
  }
  if (!text.ends_with('\n') && !out.empty()) out.pop_back();
  return out;
}

class Documentation : public Documents {
 public:
  Documentation(std::vector<fs::path> files, const Cursor& cursor) : files_(std::move(files)) {
    for (const fs::path& f : files_) bytes_ += fs::file_size(f);
    Document away;  // what came before counts among the copies
    while (at_ < cursor.file && read(away)) {
    }
  }
  bool next(Document& d) override {
    while (at_ < files_.size())
      if (read(d)) return true;
    return false;
  }
  Cursor cursor() const override { return {at_, 0}; }
  bool inside() const override { return false; }
  const std::vector<fs::path>& files() const override { return files_; }
  std::uint64_t bytes() const override { return bytes_; }
  std::uint64_t bytes_read() const override { return read_; }
  std::uint64_t skipped() const override { return skipped_; }

 private:
  bool read(Document& d) {
    d.file = files_[at_++];
    read_ += fs::file_size(d.file);
    d.text = documentation_text(d.file);
    if (d.text.size() >= shortest && is_utf8(d.text) && known_.insert(content_hash(d.text)))
      return true;
    ++skipped_;
    return false;
  }
  std::vector<fs::path> files_;
  std::size_t at_ = 0;
  std::uint64_t bytes_ = 0, read_ = 0, skipped_ = 0;
  HashSet known_;
};

std::string run(const std::vector<std::string>& words, const std::string& why) {
  const Printed p = printed_by(words);
  if (p.code != 0) {
    const std::vector<std::string> lines = split(trim(p.err.empty() ? p.out : p.err), '\n');
    fail(Exit::data, "{}: {}", why, printable(lines.empty() ? words[0] : lines.back()));
  }
  return p.out;
}

// The package's file, fetched where it is not there.
fs::path fetched(const std::string& name, const fs::path& downloads) {
  if (name.ends_with(".deb")) {
    if (!fs::exists(name)) fail(Exit::data, "there is no {}", name);
    return name;
  }
  const auto is_it = [&](const fs::path& file) {
    return file.extension() == ".deb" && file.filename().string().starts_with(name + "_");
  };
  for (const auto& item : fs::directory_iterator(downloads))
    if (is_it(item.path())) return item.path();
  const fs::path old = fs::current_path(), part = downloads / "part";
  fs::create_directories(part);
  run({"sh", "-c", "cd \"$1\" && exec apt-get download -q \"$2\"", "sh", part.string(), name},
      fmt::format("apt-get cannot fetch the package '{}'", name));
  for (const auto& item : fs::directory_iterator(part))
    if (is_it(item.path())) {
      fs::rename(item.path(), downloads / item.path().filename());
      return downloads / item.path().filename();
    }
  fail(Exit::data, "apt-get wrote no package '{}' into {}", name, part.string());
}

// Packages of the same documentation that this one stands for: linux-doc depends on linux-doc-6.1.
std::vector<std::string> stands_for(const fs::path& deb, const std::string& name) {
  std::vector<std::string> out;
  for (const std::string& one : split(
           run({"dpkg-deb", "-f", deb.string(), "Depends"}, "dpkg-deb cannot read " + deb.string()),
           ',')) {
    const std::string other = split(trim(one), ' ').front();
    const std::string stem = name.substr(0, name.find('-'));
    const std::size_t digits = stem.find_first_of("0123456789");
    if (other.starts_with(stem.substr(0, digits)) && other.find("doc") != std::string::npos)
      out.push_back(other);
  }
  return out;
}

}  // namespace

std::vector<fs::path> documentation_files(const fs::path& folder) {
  std::map<std::string, fs::path> documents;  // by what they are
  for (const auto& item : fs::recursive_directory_iterator(folder)) {
    if (!item.is_regular_file() || item.is_symlink()) continue;
    const fs::path inside = item.path().lexically_relative(folder);
    std::string stem = item.path().filename().string();
    for (char& c : stem) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (rank_of(inside) < 0 || is_index(stem) || is_of_another_language(inside)) continue;
    const auto [it, is_new] = documents.emplace(document_name(inside), item.path());
    if (!is_new &&
        std::pair(rank_of(item.path()), item.path()) < std::pair(rank_of(it->second), it->second))
      it->second = item.path();
  }
  std::vector<fs::path> files;
  for (const auto& [name, file] : documents) files.push_back(file);
  return files;
}

std::string documentation_text(const fs::path& file) {
  const std::string content = content_of(file);
  const int rank = rank_of(file);
  if (rank == 3) return text_of_html(content);
  return rank <= 1 ? without_marks(content) : content;
}

std::string licence_note(const std::string& copyright) {
  std::vector<std::string> found;
  for (const std::string& line : split(copyright, '\n')) {
    if (!line.starts_with("License:")) continue;
    const std::string name = trim(line.substr(8));
    const bool is_name = !name.empty() && std::count(name.begin(), name.end(), ' ') < 5;
    if (is_name && std::find(found.begin(), found.end(), name) == found.end())
      found.push_back(name);
  }
  constexpr std::size_t shown = 6;
  const std::size_t more = found.size() > shown ? found.size() - shown : 0;
  found.resize(found.size() - more);
  if (found.empty()) return "see the package's copyright file";
  return join(found, ", ") + (more > 0 ? fmt::format(" and {} more", more) : "");
}

std::vector<Part> debian_parts(const std::vector<std::string>& names, const fs::path& downloads) {
  fs::create_directories(downloads);
  std::vector<Part> parts;
  std::vector<std::string> waiting = names;
  std::set<std::string> seen;
  while (!waiting.empty()) {
    const std::string name = waiting.front();
    waiting.erase(waiting.begin());
    if (!seen.insert(name).second) continue;
    const fs::path deb = fetched(name, downloads);
    const std::string what = "dpkg-deb cannot read " + deb.string();
    const std::string package = trim(run({"dpkg-deb", "-f", deb.string(), "Package"}, what));
    const fs::path unpacked = downloads / ("unpacked-" + file_name_of(package));
    fs::create_directories(unpacked);
    run({"dpkg-deb", "-x", deb.string(), unpacked.string()}, what);
    std::vector<fs::path> files = documentation_files(unpacked);
    if (files.empty()) {
      const std::vector<std::string> others = stands_for(deb, package);
      if (others.empty())
        fail(Exit::data, "the package '{}' holds no documentation in .rst, .txt, .md, .pod{}",
             package,
             reads_html() ? " or .html" : "; this build reads no HTML, which needs libgumbo-dev");
      waiting.insert(waiting.begin(), others.begin(), others.end());
      continue;
    }
    Part part;
    part.prefix = file_name_of(package);
    part.source.name = package, part.source.origin = "Debian package " + package;
    part.source.version = trim(run({"dpkg-deb", "-f", deb.string(), "Version"}, what));
    const fs::path copyright = unpacked / "usr/share/doc" / package / "copyright";
    part.source.licence = fs::exists(copyright) ? licence_note(read_file(copyright))
                                                : "see the package's copyright file";
    part.open = [files = std::move(files)](const Cursor& cursor) {
      return std::make_unique<Documentation>(files, cursor);
    };
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace pesuite::data
