#include "cell/lease.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <random>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace pesuite {

namespace {

// When a process began; 0 where there is none of that number. Numbers are used again.
std::int64_t start_of(long pid) {
  try {
    const std::string text = read_file(fmt::format("/proc/{}/stat", pid));
    const std::size_t name = text.rfind(')');
    if (name == std::string::npos) return 0;
    const std::vector<std::string> fields = split(text.substr(name + 2), ' ');
    return fields.size() > 19 ? std::stoll(fields[19]) : 0;
  } catch (const std::exception&) {
    return 0;
  }
}

std::string to_text(const Holder& h) {
  return Json{{"host", h.host},       {"pid", h.pid},
              {"started", h.started}, {"since", h.since},
              {"heard", h.heard},     {"phase", h.phase},
              {"step", h.step},       {"steps", h.steps},
              {"share", h.share},     {"seconds_left", h.seconds_left}}
             .dump() +
         "\n";
}
std::optional<Holder> holder_of(const std::string& text) {
  const Json j = Json::parse(text, nullptr, false);
  if (!j.is_object()) return std::nullopt;
  try {
    Holder h;
    h.host = j.at("host"), h.pid = j.at("pid"), h.started = j.at("started"),
    h.since = j.at("since"), h.heard = j.at("heard");
    h.phase = j.at("phase"), h.step = j.at("step"), h.steps = j.at("steps");
    h.share = j.at("share"), h.seconds_left = j.at("seconds_left");
    return h;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

fs::path file_of(const Store& store, const std::string& cell) {
  return store.cell(cell) / "lease.json";
}
std::optional<std::string> text_of(const fs::path& file) {
  std::error_code error;
  if (!fs::exists(file, error)) return std::nullopt;
  try {
    return read_file(file);
  } catch (const Error&) {  // it went away meanwhile
    return std::nullopt;
  }
}

// Makes a file that is not there; false where it is.
bool create(const fs::path& file, const std::string& text) {
  const int to = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (to < 0) {
    if (errno == EEXIST) return false;
    fail(Exit::data, "cannot create {}: {}", file.string(), std::strerror(errno));
  }
  const bool whole = ::write(to, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(to);
  return whole;
}

}  // namespace

bool is_gone(const Holder& h) {
  return h.host == host_name() && start_of(h.pid) != h.started;
}

std::optional<Holder> read_lease(const Store& store, const std::string& cell) {
  const auto text = text_of(file_of(store, cell));
  return text ? holder_of(*text) : std::nullopt;
}

bool Leases::lapsed(const std::string& cell, const std::string& text) {
  const std::optional<Holder> holder = holder_of(text);
  if (holder && is_gone(*holder)) return true;
  const bool of_this_machine = holder && holder->host == host_name();
  const auto now = std::chrono::steady_clock::now();
  Seen& seen = seen_[cell];
  if (seen.text != text) seen = {text, now};
  // Of this machine a process that is there may be stopped, but goes on.
  return !of_this_machine && now - seen.since > lapse;
}

bool Leases::claim(const std::string& cell) {
  if (mine_.contains(cell)) return true;
  const fs::path file = file_of(store_, cell);
  fs::create_directories(file.parent_path());
  Holder me;
  me.host = host_name(), me.pid = ::getpid(), me.started = start_of(me.pid);
  me.since = me.heard = utc_timestamp();
  if (!create(file, to_text(me))) {
    const auto text = text_of(file);
    if (text && !lapsed(cell, *text)) return false;
    // Of several that find it lapsed one alone can take it away.
    std::random_device random;
    const fs::path away = fs::path(file) += fmt::format(".{:08x}", random());
    std::error_code error;
    fs::rename(file, away, error);
    if (error) return false;
    fs::remove(away, error);
    if (!create(file, to_text(me))) return false;
  }
  seen_.erase(cell);
  mine_[cell] = me.since;
  return true;
}

void Leases::renew(const std::string& cell, const Holder& now) {
  const auto mine = mine_.find(cell);
  if (mine == mine_.end()) return;
  Holder h = now;
  h.host = host_name(), h.pid = ::getpid(), h.started = start_of(h.pid);
  h.since = mine->second, h.heard = utc_timestamp();
  try {
    write_file_atomic(file_of(store_, cell), to_text(h));
  } catch (const Error&) {  // a full disk: the lease may lapse, and nothing else is lost
  }
}

void Leases::release(const std::string& cell) {
  if (mine_.erase(cell) == 0) return;
  std::error_code ignored;
  fs::remove(file_of(store_, cell), ignored);
}

std::optional<Holder> Leases::other(const std::string& cell) {
  if (mine_.contains(cell)) return std::nullopt;
  const auto text = text_of(file_of(store_, cell));
  if (!text || lapsed(cell, *text)) return std::nullopt;
  const std::optional<Holder> holder = holder_of(*text);
  return holder ? holder : Holder{};
}

}  // namespace pesuite
