#include "data/download.h"

#ifdef PESUITE_HAS_CURL
#include <curl/curl.h>
#endif

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>

namespace pesuite::data {

#ifdef PESUITE_HAS_CURL

namespace {

struct Transfer {
  CURL* curl = nullptr;
  std::FILE* file = nullptr;
  std::string* text = nullptr;
  std::string next;  // page
  std::uint64_t start = 0, bytes = 0, most = 0;
  bool too_large = false, full = false, anew = false;
  const std::atomic<bool>* stop = nullptr;
  const std::function<void(std::uint64_t)>* progress = nullptr;
};

std::size_t take(char* data, std::size_t, std::size_t n, void* into) {
  Transfer& t = *static_cast<Transfer*>(into);
  t.bytes += n;
  t.too_large = t.start + t.bytes > t.most;
  if (t.too_large) return 0;
  if (t.text != nullptr) t.text->append(data, n);
  if (t.file != nullptr && std::fwrite(data, 1, n, t.file) != n) {
    t.full = true;
    return 0;
  }
  return n;
}

// Of "<https://...?cursor=x>; rel="next", <...>; rel="last"" the first address (RFC 8288).
std::size_t take_header(char* data, std::size_t, std::size_t n, void* into) {
  const std::string line(data, n);
  constexpr std::string_view name = "link:";
  if (line.size() < name.size() ||
      !std::equal(name.begin(), name.end(), line.begin(),
                  [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b + 32 : b); }))
    return n;
  for (std::size_t at = 0; (at = line.find('<', at)) != std::string::npos;) {
    const std::size_t end = line.find('>', at);
    if (end == std::string::npos) break;
    const std::string of = line.substr(end, line.find('<', end) - end);
    if (of.find("rel=\"next\"") != std::string::npos || of.find("rel=next") != std::string::npos)
      static_cast<Transfer*>(into)->next = line.substr(at + 1, end - at - 1);
    at = end;
  }
  return n;
}

int watch(void* of, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  const Transfer& t = *static_cast<const Transfer*>(of);
  if (t.progress != nullptr) (*t.progress)(t.start + t.bytes);
  return t.stop->load() ? 1 : 0;
}

enum class Result { whole, stopped, passing, refused };

Result attempt(const std::string& url, Transfer& t, std::string& why) {
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(curl_easy_init(),
                                                                 curl_easy_cleanup);
  if (curl == nullptr) fail(Exit::data, "libcurl does not start");
  CURL* c = t.curl = curl.get();
  char said[CURL_ERROR_SIZE] = "";
  curl_easy_setopt(c, CURLOPT_URL, url.c_str());
  curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(c, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(c, CURLOPT_MAXREDIRS, 10L);
  curl_easy_setopt(c, CURLOPT_USERAGENT, "pesuite");
  curl_easy_setopt(c, CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, 30L);
  curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, 60L);
  curl_easy_setopt(c, CURLOPT_RESUME_FROM_LARGE, static_cast<curl_off_t>(t.start));
  curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, take);
  curl_easy_setopt(c, CURLOPT_WRITEDATA, &t);
  curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, take_header);
  curl_easy_setopt(c, CURLOPT_HEADERDATA, &t);
  curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, watch);
  curl_easy_setopt(c, CURLOPT_XFERINFODATA, &t);
  curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(c, CURLOPT_ERRORBUFFER, said);
  const CURLcode result = curl_easy_perform(c);
  long code = 0;
  curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &code);
  if (result == CURLE_OK) return Result::whole;
  if (t.stop->load()) return Result::stopped;
  why = t.too_large  ? "it is larger than what was announced"
        : t.full     ? "the disk is full"
        : *said != 0 ? said
                     : curl_easy_strerror(result);
  if (t.too_large || t.full) return Result::refused;
  if (result == CURLE_RANGE_ERROR) {  // it knows no ranges: all of it again
    t.anew = true;
    return Result::passing;
  }
  if (code == 416) return Result::whole;  // nothing lies behind what is there
  const bool passes =
      code == 429 || code >= 500 ||
      (code < 400 && result != CURLE_UNSUPPORTED_PROTOCOL && result != CURLE_URL_MALFORMAT);
  return passes ? Result::passing : Result::refused;
}

void wait(double seconds, const std::atomic<bool>& stop) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!stop && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

constexpr int tries = 5;

}  // namespace

bool download(const Download& d, const std::atomic<bool>& stop,
              const std::function<void(std::uint64_t)>& progress) {
  if (fs::exists(d.to)) return true;
  fs::create_directories(d.to.parent_path());
  const fs::path part = fs::path(d.to) += ".part";
  std::string why;
  for (int n = 0; n < tries; ++n) {
    Transfer t;
    std::error_code none;
    t.start = fs::exists(part) ? fs::file_size(part, none) : 0;
    t.most = d.most_bytes, t.stop = &stop, t.progress = &progress;
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(part.c_str(), "ab"),
                                                               std::fclose);
    if (file == nullptr) fail(Exit::data, "cannot write {}", part.string());
    t.file = file.get();
    const Result result = attempt(d.url, t, why);
    std::fflush(t.file);
    if (t.anew) fs::remove(part, none);
    if (result == Result::stopped) return false;
    if (result == Result::refused) fail(Exit::data, "cannot fetch {}: {}", d.url, why);
    if (result == Result::whole) {
      const std::string found = d.sha256.empty() ? "" : sha256_file(part);
      if (found == d.sha256) {
        fs::rename(part, d.to);
        return true;
      }
      fs::remove(part, none);  // begun anew
      why = fmt::format("its SHA-256 is {}, and {} was announced", found, d.sha256);
    }
    if (n + 1 < tries) wait(d.patience * (1 << n), stop);
    if (stop) return false;
  }
  fail(Exit::data, "cannot fetch {} in {} tries: {}; the same command goes on", d.url, tries, why);
}

Answer fetched_text(const std::string& url, const std::atomic<bool>& stop) {
  std::string why;
  for (int n = 0; n < tries; ++n) {
    Transfer t;
    std::string text;
    t.text = &text, t.most = 256 << 20, t.stop = &stop;
    const Result result = attempt(url, t, why);
    if (result == Result::whole) return {text, t.next};
    if (result != Result::passing) break;
    if (n + 1 < tries) wait(0.2 * (1 << n), stop);
  }
  fail(Exit::data, "cannot fetch {}: {}", url, why);
}

#else

namespace {
[[noreturn]] void without_curl() {
  fail(Exit::data,
       "fetching files needs libcurl, which this build does not have; install "
       "libcurl4-openssl-dev (Debian) and build again");
}
}  // namespace

bool download(const Download&, const std::atomic<bool>&,
              const std::function<void(std::uint64_t)>&) {
  without_curl();
}
Answer fetched_text(const std::string&, const std::atomic<bool>&) {
  without_curl();
}

#endif

}  // namespace pesuite::data
