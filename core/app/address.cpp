#include "app/address.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

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

void check_address(const std::string& address) {
  constexpr const char* usual = "127.0.0.1 is this machine's own, 0.0.0.0 every one that it has";
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM, wanted.ai_flags = AI_PASSIVE;
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
