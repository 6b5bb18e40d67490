#include "data/published.h"

#include <algorithm>
#include <deque>

#include "base/text.h"
#include "data/download.h"
#include "data/packed.h"

namespace pesuite::data {

namespace {

struct Remote {
  std::string url, sha256;
  std::uint64_t bytes = 0;
};

enum class Layout { documents, wikitext };

struct Set {
  const char *name, *repository, *licence;
  // folders of the hub, or one file each where they have an ending
  std::vector<std::string> train, validation;
  const char* separator;
  Layout layout;
  const char* wanted;  // ending of the files
};

const std::vector<Set>& sets() {
  static const std::vector<Set> all = {
      {"tinystories",
       "roneneldan/TinyStories",
       "CDLA-Sharing-1.0",
       {"TinyStoriesV2-GPT4-train.txt"},
       {"TinyStoriesV2-GPT4-valid.txt"},
       "<|endoftext|>",
       Layout::documents,
       ".txt"},
      {"slimpajama",
       "cerebras/SlimPajama-627B",
       "of its sources, see the data set's page",
       {"train/chunk1", "train/chunk2", "train/chunk3", "train/chunk4", "train/chunk5",
        "train/chunk6", "train/chunk7", "train/chunk8", "train/chunk9", "train/chunk10"},
       {"validation/chunk1"},
       "",
       Layout::documents,
       ".jsonl.zst"},
      {"fineweb-edu",
       "HuggingFaceFW/fineweb-edu",
       "ODC-By 1.0",
       {"sample/10BT"},
       {},
       "",
       Layout::documents,
       ".parquet"},
      {"wikitext-103",
       "EleutherAI/wikitext_document_level",
       "CC-BY-SA-3.0 and GFDL",
       {"wikitext-103-raw/wiki.train.raw"},
       {"wikitext-103-raw/wiki.valid.raw"},
       "",
       Layout::wikitext,
       ".raw"},
      {"pg-19",
       "deepmind/pg19",
       "Apache-2.0; texts in the public domain",
       {"data/train"},
       {"data/validation"},
       "",
       Layout::documents,
       ".txt"}};
  return all;
}

const Set& set_of(const std::string& name) {
  for (const Set& s : sets())
    if (name == s.name) return s;
  fail(Exit::usage, "there is no published data set '{}'{}; known are {}", name,
       did_you_mean(name, published_names()), join(published_names(), ", "));
}

// The files of a folder of the hub, in the order of their names, by its listing.
std::vector<Remote> listed(const Set& set, const std::string& folder, const PublishedOptions& o) {
  const std::string listing =
      fmt::format("{}/api/datasets/{}/tree/main/{}", o.base, set.repository, folder);
  const Json j = Json::parse(fetched_text(listing, *o.stop), nullptr, false);
  if (!j.is_array()) fail(Exit::data, "{} is no list of files", listing);
  std::vector<std::pair<std::string, Remote>> found;
  for (const Json& f : j) {
    const std::string path = f.value("path", "");
    if (f.value("type", "") != "file" || !path.ends_with(set.wanted)) continue;
    Remote r{fmt::format("{}/datasets/{}/resolve/main/{}", o.base, set.repository, path), "",
             f.value("size", std::uint64_t{0})};
    if (f.contains("lfs") && f["lfs"].is_object()) r.sha256 = f["lfs"].value("oid", "");
    found.emplace_back(path, std::move(r));
  }
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Remote> out;
  for (auto& [path, remote] : found) out.push_back(std::move(remote));
  return out;
}

std::vector<Remote> files_of(const Set& set, const std::vector<std::string>& places,
                             const PublishedOptions& o, int most) {
  std::vector<Remote> out;
  for (const std::string& place : places) {
    if (most > 0 && std::ssize(out) >= most) break;
    if (place.ends_with(set.wanted)) {
      out.push_back(
          {fmt::format("{}/datasets/{}/resolve/main/{}", o.base, set.repository, place), "", 0});
      continue;
    }
    for (Remote& r : listed(set, place, o)) out.push_back(std::move(r));
  }
  if (most > 0 && std::ssize(out) > most) out.resize(static_cast<std::size_t>(most));
  return out;
}

std::vector<Remote> files_of_list(const fs::path& list) {
  std::vector<Remote> out;
  for (const std::string& line : split(read_file(list), '\n')) {
    const std::string t = trim(line);
    if (t.empty() || t.starts_with("#")) continue;
    const std::size_t space = t.find(' ');
    out.push_back({t.substr(0, space), space == std::string::npos ? "" : trim(t.substr(space)), 0});
  }
  if (out.empty()) fail(Exit::data, "{} names no address", list.string());
  return out;
}

std::string name_of(const std::string& url) {
  const std::string path = url.substr(0, url.find_first_of("?#"));
  return file_name_of(path.substr(path.find_last_of('/') + 1));
}

// Articles of the files of WikiText, one after the other.
class Articles : public Documents {
 public:
  Articles(std::vector<fs::path> files, const Cursor& cursor)
      : files_(std::move(files)), file_(cursor.file) {
    for (const fs::path& f : files_) bytes_ += fs::file_size(f);
    for (std::uint64_t skip = cursor.bytes; skip > 0; --skip) {
      Document away;
      next(away);
    }
  }
  bool next(Document& d) override {
    while (waiting_.empty()) {
      if (file_ >= files_.size()) return false;
      read_ += fs::file_size(files_[file_]);
      for (std::string& a : wikitext_articles(read_file(files_[file_])))
        waiting_.push_back(std::move(a));
      of_ = files_[file_];
      given_ = 0;
      if (waiting_.empty()) ++file_;
    }
    d.file = of_;
    d.text = std::move(waiting_.front());
    waiting_.pop_front();
    ++given_;
    if (waiting_.empty()) ++file_, given_ = 0;
    return true;
  }
  Cursor cursor() const override { return {file_, given_}; }
  bool inside() const override { return false; }
  const std::vector<fs::path>& files() const override { return files_; }
  std::uint64_t bytes() const override { return bytes_; }
  std::uint64_t bytes_read() const override { return read_; }
  std::uint64_t skipped() const override { return 0; }

 private:
  std::vector<fs::path> files_;
  std::size_t file_;
  fs::path of_;
  std::deque<std::string> waiting_;
  std::uint64_t given_ = 0, bytes_ = 0, read_ = 0;
};

Part part_of(const Set& set, const char* prefix, std::vector<Remote> files,
             const PublishedOptions& o) {
  Part part;
  part.prefix = prefix;
  part.source.name = set.name, part.source.licence = set.licence;
  part.source.origin = fmt::format("{}/datasets/{}", o.base, set.repository);
  part.open = [files = std::move(files), o, &set](const Cursor& cursor) {
    std::vector<fs::path> here;
    for (const Remote& r : files) {
      const fs::path to = o.downloads / fmt::format("{:05}-{}", here.size(), name_of(r.url));
      const auto progress = [&](std::uint64_t bytes) {
        o.say(fmt::format("fetching {}, {} of {} files: {}", name_of(r.url), here.size() + 1,
                          files.size(), format_bytes(static_cast<double>(bytes))));
      };
      Download d{r.url, to, r.sha256};
      if (!download(d, *o.stop, progress))
        fail(Exit::interrupted, "interrupted; the same command goes on");
      here.push_back(to);
    }
    DocumentOptions options;
    options.separator = set.separator;
    if (set.layout == Layout::wikitext)
      return std::unique_ptr<Documents>(std::make_unique<Articles>(here, cursor));
    return open_documents(here, options, cursor);
  };
  return part;
}

}  // namespace

bool is_published(const std::string& name) {
  return std::any_of(sets().begin(), sets().end(), [&](const Set& s) { return name == s.name; });
}
std::vector<std::string> published_names() {
  std::vector<std::string> out;
  for (const Set& s : sets()) out.emplace_back(s.name);
  return out;
}

std::vector<Part> published_parts(const std::string& name, const PublishedOptions& o) {
  const Set& set = set_of(name);
  if (!o.list.empty()) {
    std::vector<Remote> files = files_of_list(o.list);
    if (o.most_shards > 0 && std::ssize(files) > o.most_shards)
      files.resize(static_cast<std::size_t>(o.most_shards));
    return {part_of(set, "documents", std::move(files), o)};
  }
  std::vector<Part> parts = {
      part_of(set, "documents", files_of(set, set.train, o, o.most_shards), o)};
  if (!set.validation.empty())
    parts.push_back(part_of(set, "validation", files_of(set, set.validation, o, 0), o));
  return parts;
}

std::vector<std::string> wikitext_articles(const std::string& text) {
  std::vector<std::string> out;
  const auto is_title = [](const std::string& line) {
    const std::string t = trim(line);
    return t.size() > 4 && t.starts_with("= ") && t.ends_with(" =") && !t.starts_with("= =");
  };
  for (const std::string& line : split(text, '\n')) {
    if (is_title(line) || out.empty()) out.emplace_back();
    out.back() += line + "\n";
  }
  std::erase_if(out, [](const std::string& a) { return trim(a).empty(); });
  return out;
}

}  // namespace pesuite::data
