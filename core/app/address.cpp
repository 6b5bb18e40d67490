#include "app/address.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <memory>

#include "base/error.h"
#include "base/text.h"

namespace pesuite::app {

std::string host_of_url(const std::string& address) {
  return address.find(':') == std::string::npos ? address : "[" + address + "]";
}
bool is_loopback(const std::string& address) {
  return address == "127.0.0.1" || address == "localhost" || address == "::1";
}
bool is_every_address(const std::string& address) {
  return address == "0.0.0.0" || address == "::";
}

// What could be a name is looked up, which may take seconds.
static bool is_like_a_name(const std::string& address) {
  const auto is_letter = [](unsigned char c) { return std::isalpha(c) != 0; };
  const auto may_stand = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_';
  };
  return std::any_of(address.begin(), address.end(), is_letter) &&
         std::all_of(address.begin(), address.end(), may_stand);
}

void check_address(const std::string& address) {
  constexpr const char* usual = "127.0.0.1 is this machine's own, 0.0.0.0 every one that it has";
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = is_like_a_name(address) ? AI_PASSIVE : AI_PASSIVE | AI_NUMERICHOST;
  addrinfo* found = nullptr;
  if (address.empty() || ::getaddrinfo(address.c_str(), nullptr, &wanted, &found) != 0)
    fail(Exit::usage, "--listen '{}': there is no such address; {}", printable(address), usual);
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, ::freeaddrinfo);
  bool free = false;  // some port of it
  for (const addrinfo* a = found; a != nullptr && !free; a = a->ai_next) {
    const int s = ::socket(a->ai_family, a->ai_socktype, a->ai_protocol);
    if (s < 0) continue;
    free = ::bind(s, a->ai_addr, a->ai_addrlen) == 0;
    ::close(s);
  }
  if (!free) fail(Exit::usage, "--listen {}: this machine does not have it; {}", address, usual);
}

}  // namespace pesuite::app
