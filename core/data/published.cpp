#include "data/published.h"

#include <algorithm>

#include "base/text.h"
#include "data/download.h"
#include "data/fetched.h"
#include "data/hub.h"
#include "data/packed.h"

namespace pesuite::data {

namespace {

enum class Layout { documents, wikitext };

struct Set {
  std::string name, repository, licence;
  // what the paths of its files begin with; one file each where they have its ending
  std::vector<std::string> train, validation;
  std::string separator;
  Layout layout = Layout::documents;
  std::string wanted;    // ending of the files
  std::string bucket{};  // where its files lie if not on the hub, which has lists of their paths
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

// The files of the hub whose paths begin so, in the order of their names.
std::vector<Remote> listed(const Set& set, const std::string& begin, const PublishedOptions& o) {
  std::vector<Remote> out;
  const std::string folder = begin.substr(0, begin.rfind('/'));
  for (auto& [path, remote] : hub_files(o.base, set.repository, folder, false, *o.stop))
    if (path.starts_with(begin) && path.ends_with(set.wanted)) out.push_back(remote);
  return out;
}

// The files that a list on the hub names by their paths in a bucket.
std::vector<Remote> of_bucket(const Set& set, const std::string& list, const PublishedOptions& o) {
  const std::string root = o.base == hub ? "https://storage.googleapis.com" : o.base;
  std::vector<Remote> out;
  const std::string address = hub_address(o.base, set.repository, list);
  for (const std::string& line : split(fetched_text(address, *o.stop).text, '\n'))
    if (const std::string path = trim(line); path.ends_with(set.wanted))
      out.push_back({fmt::format("{}/{}/{}", root, set.bucket, path), "", 0});
  if (out.empty()) fail(Exit::data, "{} names no files", address);
  return out;
}

std::vector<Remote> files_of(const Set& set, const std::vector<std::string>& places,
                             const PublishedOptions& o, int most) {
  std::vector<Remote> out;
  for (const std::string& place : places) {
    if (most > 0 && std::ssize(out) >= most) break;
    if (!set.bucket.empty()) {
      for (Remote& r : of_bucket(set, place, o)) out.push_back(std::move(r));
    } else if (place.ends_with(set.wanted)) {
      out.push_back({hub_address(o.base, set.repository, place), "", 0});
    } else {
      for (Remote& r : listed(set, place, o)) out.push_back(std::move(r));
    }
  }
  if (most > 0 && std::ssize(out) > most) out.resize(static_cast<std::size_t>(most));
  return out;
}

// --- any data set of the hub: "hub:OWNER/NAME", and what the paths of its files begin with

constexpr std::string_view hub_prefix = "hub:";

Set set_of_hub(const std::string& name) {
  const std::vector<std::string> words = split(name.substr(hub_prefix.size()), '/');
  if (words.size() < 2 || words[0].empty() || words[1].empty())
    fail(Exit::usage,
         "'{}' names no data set: hub:OWNER/NAME, or hub:OWNER/NAME/BEGIN for those of its files "
         "whose paths begin with BEGIN",
         name);
  Set set;
  set.name = name, set.repository = words[0] + "/" + words[1];
  set.licence = "see the data set's page";
  set.train = {join(std::vector<std::string>(words.begin() + 2, words.end()), "/")};
  return set;
}

// What a path says of itself: "data/validation-00000.parquet" is held out.
bool has_word(const std::string& path, const std::vector<std::string>& words) {
  std::string word;
  for (const char c : path + "/") {
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    if (lower >= 'a' && lower <= 'z') {
      word += lower;
    } else {
      if (std::find(words.begin(), words.end(), word) != words.end()) return true;
      word.clear();
    }
  }
  return false;
}

struct Files {
  std::vector<Remote> train, validation;
};

// Of the first kind of file that there is, since data sets have the same texts in several. What
// tests is left out, unless it was asked for by name.
Files files_of_hub(const Set& set, const PublishedOptions& o) {
  const std::string& begin = set.train.front();
  const std::size_t slash = begin.rfind('/');
  const auto all =
      hub_files(o.base, set.repository, slash == std::string::npos ? "" : begin.substr(0, slash),
                true, *o.stop);
  for (const char* kind : {".parquet", ".jsonl", ".txt"}) {
    Files files;
    bool some = false;
    for (const auto& [path, remote] : all) {
      if (!path.starts_with(begin) || unpacked_name(path).extension() != kind) continue;
      some = true;
      const std::string rest = path.substr(begin.size());
      if (has_word(rest, {"test"})) continue;
      const bool held_out = has_word(rest, {"validation", "valid", "val", "dev"});
      (held_out ? files.validation : files.train).push_back(remote);
    }
    if (!some) continue;
    if (files.train.empty()) std::swap(files.train, files.validation);
    if (files.train.empty()) break;
    if (o.most_shards > 0 && std::ssize(files.train) > o.most_shards)
      files.train.resize(static_cast<std::size_t>(o.most_shards));
    return files;
  }
  fail(Exit::data, "{} has no file to train on{}: .parquet, .jsonl or .txt, and no test set",
       set.repository, begin.empty() ? "" : " whose path begins with '" + begin + "'");
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
  part.open = [files = std::move(files), o, set](const Cursor& cursor) {
    Fetching f{files, o.downloads, o.keep_downloads, o.documents, o.stop, o.say};
    if (!set.separator.empty()) f.documents.separator = set.separator;
    if (set.layout == Layout::documents) return fetched_documents(std::move(f), cursor);
    f.documents.longest = 1 << 30;  // lines are whole
    f.keep = true;                  // articles are counted from the first
    return wikitext_articles(fetched_documents(std::move(f)), cursor);
  };
  return part;
}

}  // namespace

bool is_published(const std::string& name) {
  return name.starts_with(hub_prefix) ||
         std::any_of(sets().begin(), sets().end(), [&](const Set& s) { return name == s.name; });
}
std::vector<PublishedSet> published_sets() {
  std::vector<PublishedSet> out;
  for (const Set& s : sets())
    out.push_back({s.name, fmt::format("{}/datasets/{}", hub, s.repository), s.licence, s.wanted});
  return out;
}
std::vector<std::string> published_names() {
  std::vector<std::string> out;
  for (const Set& s : sets()) out.emplace_back(s.name);
  return out;
}

std::vector<Part> published_parts(const std::string& name, const PublishedOptions& o) {
  const bool of_hub = name.starts_with(hub_prefix);
  const Set set = of_hub ? set_of_hub(name) : set_of(name);
  if (!o.list.empty()) {
    std::vector<Remote> files = files_of_list(o.list);
    if (o.most_shards > 0 && std::ssize(files) > o.most_shards)
      files.resize(static_cast<std::size_t>(o.most_shards));
    return {part_of(set, "documents", std::move(files), o)};
  }
  Files files;
  if (of_hub)
    files = files_of_hub(set, o);
  else
    files = {files_of(set, set.train, o, o.most_shards), files_of(set, set.validation, o, 0)};
  if (files.train.empty())
    fail(Exit::data,
         "{} lists none of the files that '{}' is published in; has their place changed?", o.base,
         name);
  std::vector<Part> parts = {part_of(set, "documents", std::move(files.train), o)};
  if (!files.validation.empty())
    parts.push_back(part_of(set, "validation", std::move(files.validation), o));
  return parts;
}

std::unique_ptr<Documents> wikitext_articles(std::unique_ptr<Documents> texts,
                                             const Cursor& cursor) {
  return std::make_unique<Articles>(std::move(texts), cursor);
}

}  // namespace pesuite::data
