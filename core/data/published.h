// Published data sets of text, by the layouts that their owners give them.
#pragma once

#include "data/dataset.h"
#include "data/hub.h"

namespace pesuite::data {

struct PublishedOptions {
  std::string base = hub;     // or a mirror of it
  DocumentOptions documents;  // where the layout does not say another separator
  int most_shards = 0;        // of the training text; 0: all
  fs::path list;  // of addresses, one a line, with a SHA-256 behind it or not, instead of its own
  fs::path downloads;
  bool keep_downloads = false;  // else a file goes when it has been read
  const std::atomic<bool>* stop = nullptr;
  std::function<void(const std::string&)> say;  // what is fetched now
};

struct PublishedSet {
  std::string name, origin, licence, files;  // address of its page; ".parquet"
};
std::vector<PublishedSet> published_sets();
bool is_published(const std::string& name);
std::vector<std::string> published_names();
// Its parts, or those of "hub:OWNER/NAME/BEGIN", any data set of the hub: its files of Parquet,
// else JSON lines, else text, whose paths begin so. Files are fetched when they are reached. Error
// (data, usage) where it is not there.
std::vector<Part> published_parts(const std::string& name, const PublishedOptions&);

// Articles of WikiText, which stands as lines or as files of them: a line " = Title = " begins one.
std::unique_ptr<Documents> wikitext_articles(std::unique_ptr<Documents> texts, const Cursor& = {});

}  // namespace pesuite::data
