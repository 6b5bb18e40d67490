// Documents of files elsewhere, each fetched when it is reached.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "data/documents.h"
#include "data/hub.h"

namespace pesuite::data {

struct Fetching {
  std::vector<Remote> files;
  fs::path folder;    // where they go
  bool keep = false;  // else each goes when the second after it is reached
  DocumentOptions documents;
  const std::atomic<bool>* stop = nullptr;
  std::function<void(const std::string&)> say;  // what is fetched now
};

// Reads as open_documents() does. Error (data) where a file cannot be fetched, (interrupted) where
// `stop` became true meanwhile. One that went is fetched again where a cursor needs it.
std::unique_ptr<Documents> fetched_documents(Fetching, const Cursor& = {});

}  // namespace pesuite::data
