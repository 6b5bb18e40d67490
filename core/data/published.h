// Published data sets of text, by the layouts that their owners give them.
#pragma once

#include "data/dataset.h"

namespace pesuite::data {

struct PublishedOptions {
  std::string base = "https://huggingface.co";  // or a mirror of it
  int most_shards = 0;                          // of the training text; 0: all
  fs::path list;  // of addresses, one a line, with a SHA-256 behind it or not, instead of its own
  fs::path downloads;
  const std::atomic<bool>* stop = nullptr;
  std::function<void(const std::string&)> say;  // what is fetched now
};

bool is_published(const std::string& name);
std::vector<std::string> published_names();
// Its parts; files are fetched when a part is opened. Error (data, usage) where it is not there.
std::vector<Part> published_parts(const std::string& name, const PublishedOptions&);

// Articles of WikiText: a line " = Title = " begins one.
std::vector<std::string> wikitext_articles(const std::string& text);

}  // namespace pesuite::data
