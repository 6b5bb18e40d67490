#include "data/published.h"

#include <algorithm>
#include <map>
#include <set>

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
  // what the paths of its files begin with; one file each where they have its ending
  std::vector<std::string> train, validation;
  const char* separator;
  Layout layout;
  const char* wanted;       // ending of the files
  const char* bucket = "";  // where its files lie if not on the hub, which has lists of their paths
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
       {"train/chunk1/", "train/chunk2/", "train/chunk3/", "train/chunk4/", "train/chunk5/",
        "train/chunk6/", "train/chunk7/", "train/chunk8/", "train/chunk9/", "train/chunk10/"},
       {"validation/chunk1/"},
       "",
       Layout::documents,
       ".jsonl.zst"},
      {"fineweb-edu",
       "HuggingFaceFW/fineweb-edu",
       "ODC-By 1.0",
       {"sample/10BT/"},
       {},
       "",
       Layout::documents,
       ".parquet"},
      {"wikitext-103",
       "Salesforce/wikitext",
       "CC-BY-SA-3.0 and GFDL",
       {"wikitext-103-raw-v1/train-"},
       {"wikitext-103-raw-v1/validation-"},
       "",
       Layout::wikitext,
       ".parquet"},
      {"pg-19",
       "deepmind/pg19",
       "Apache-2.0; texts in the public domain",
       {"data/train_files.txt"},
       {"data/validation_files.txt"},
       "",
       Layout::documents,
       ".txt",
       "deepmind-gutenberg"}};
  return all;
}

const Set& set_of(const std::string& name) {
  for (const Set& s : sets())
    if (name == s.name) return s;
  fail(Exit::usage, "there is no published data set '{}'{}; known are {}", name,
       did_you_mean(name, published_names()), join(published_names(), ", "));
}

std::string address_of(const Set& set, const PublishedOptions& o, const std::string& path) {
  return fmt::format("{}/datasets/{}/resolve/main/{}", o.base, set.repository, path);
}

void add_listed(const Set& set, const PublishedOptions& o, const std::string& begin,
                const Json& page, std::map<std::string, Remote>& found) {
  for (const Json& f : page) {
    const std::string path = f.value("path", "");
    if (f.value("type", "") != "file" || !path.starts_with(begin) || !path.ends_with(set.wanted))
      continue;
    Remote r{address_of(set, o, path), "", f.value("size", std::uint64_t{0})};
    if (f.contains("lfs") && f["lfs"].is_object()) r.sha256 = f["lfs"].value("oid", "");
    found.emplace(path, std::move(r));
  }
}

// The files of the hub whose paths begin so, in the order of their names, by the listing of their
// folder, which comes in pages.
std::vector<Remote> listed(const Set& set, const std::string& begin, const PublishedOptions& o) {
  std::map<std::string, Remote> found;
  std::string page = fmt::format("{}/api/datasets/{}/tree/main/{}", o.base, set.repository,
                                 begin.substr(0, begin.rfind('/')));
  for (std::set<std::string> seen; !page.empty() && seen.insert(page).second;) {
    const Answer answer = fetched_text(page, *o.stop);
    const Json j = Json::parse(answer.text, nullptr, false);
    if (!j.is_array()) fail(Exit::data, "{} is no list of files", page);
    add_listed(set, o, begin, j, found);
    page = answer.next;
  }
  std::vector<Remote> out;
  for (auto& [path, remote] : found) out.push_back(std::move(remote));
  return out;
}

// The files that a list on the hub names by their paths in a bucket.
std::vector<Remote> of_bucket(const Set& set, const std::string& list, const PublishedOptions& o) {
  const std::string root = o.base == hub ? "https://storage.googleapis.com" : o.base;
  std::vector<Remote> out;
  for (const std::string& line : split(fetched_text(address_of(set, o, list), *o.stop).text, '\n'))
    if (const std::string path = trim(line); path.ends_with(set.wanted))
      out.push_back({fmt::format("{}/{}/{}", root, set.bucket, path), "", 0});
  if (out.empty()) fail(Exit::data, "{} names no files", address_of(set, o, list));
  return out;
}

std::vector<Remote> files_of(const Set& set, const std::vector<std::string>& places,
                             const PublishedOptions& o, int most) {
  std::vector<Remote> out;
  for (const std::string& place : places) {
    if (most > 0 && std::ssize(out) >= most) break;
    if (*set.bucket != 0) {
      for (Remote& r : of_bucket(set, place, o)) out.push_back(std::move(r));
    } else if (place.ends_with(set.wanted)) {
      out.push_back({address_of(set, o, place), "", 0});
    } else {
      for (Remote& r : listed(set, place, o)) out.push_back(std::move(r));
    }
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

bool is_blank(const std::string& text) {
  return text.find_first_not_of(" \t\r\n") == std::string::npos;
}
bool is_title(const std::string& line) {
  const std::string t = trim(line);
  return t.size() > 4 && t.starts_with("= ") && t.ends_with(" =") && !t.starts_with("= =");
}

class Articles : public Documents {
 public:
  Articles(std::unique_ptr<Documents> texts, const Cursor& cursor) : texts_(std::move(texts)) {
    Document away;
    while (given_ < cursor.bytes && next(away)) {
    }
  }
  bool next(Document& d) override {
    d.text = std::move(begun_);
    begun_.clear();
    d.file = of_.file;
    for (std::string line; take(line);) {
      if (is_title(line) && !is_blank(d.text)) {
        begun_ = std::move(line);
        ++given_;
        return true;
      }
      if (is_title(line)) d.text.clear(), d.file = of_.file;
      d.text += line;
    }
    given_ += is_blank(d.text) ? 0 : 1;
    return !is_blank(d.text);
  }
  Cursor cursor() const override { return {0, given_}; }
  bool inside() const override { return false; }
  const std::vector<fs::path>& files() const override { return texts_->files(); }
  std::uint64_t bytes() const override { return texts_->bytes(); }
  std::uint64_t bytes_read() const override { return texts_->bytes_read(); }
  std::uint64_t skipped() const override { return texts_->skipped(); }

 private:
  // The next line, with its end, which rows of tables lack where they are empty.
  bool take(std::string& line) {
    if (at_ == of_.text.size()) {
      at_ = 0;
      if (!texts_->next(of_)) return of_.text.clear(), false;
      if (!of_.text.ends_with('\n')) of_.text += '\n';
    }
    const std::size_t end = of_.text.find('\n', at_) + 1;
    line = of_.text.substr(at_, end - at_);
    at_ = end;
    return true;
  }

  std::unique_ptr<Documents> texts_;
  Document of_;  // what lines are taken from, from at_ on
  std::size_t at_ = 0;
  std::string begun_;  // the title of the next article
  std::uint64_t given_ = 0;
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
    if (set.layout == Layout::documents) return open_documents(here, options, cursor);
    options.longest = 1 << 30;  // its lines are whole
    return wikitext_articles(open_documents(here, options), cursor);
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

std::unique_ptr<Documents> wikitext_articles(std::unique_ptr<Documents> texts,
                                             const Cursor& cursor) {
  return std::make_unique<Articles>(std::move(texts), cursor);
}

}  // namespace pesuite::data
