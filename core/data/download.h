// Files over HTTP, by libcurl.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "base/file.h"

namespace pesuite::data {

struct Download {
  std::string url;
  fs::path to;
  std::string sha256;                     // "": not known
  std::uint64_t most_bytes = 1ull << 40;  // more is an error
  double patience = 1;                    // factor of the waits between tries, for tests
};

// Fetches a file to "TO.part" and renames it when it is whole and, where its SHA-256 is known,
// right. What an interrupted call left is gone on with where the server can (Range), else begun
// anew. Tries five times what may pass: no connection, a time-out, 429 and 5xx. A file that is
// there already is left alone. Error (data) with the reason otherwise; false where `stop` became
// true.
bool download(const Download&, const std::atomic<bool>& stop,
              const std::function<void(std::uint64_t bytes)>& progress);

// A small answer as text, e.g. a list of files, and the address of the page that follows it, where
// its header has a Link to one.
struct Answer {
  std::string text, next;
};
Answer fetched_text(const std::string& url, const std::atomic<bool>& stop);

}  // namespace pesuite::data
